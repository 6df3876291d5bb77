/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of latencies: 64 buckets of equal width for each power of two, so that a percentile is wrong by
 * 1/64 at most, and never too low.
 */
#include "latencies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"

enum { STEPS = 64, STEP_BITS = 6, POWERS = 64 - STEP_BITS };

enum which { LOAD, STORE, ATOMIC, BARRIER_WG, BARRIER_KR, PERSIST_WI, PERSIST_WG, PERSIST_KR, WHICH };

static const struct {
	const char *name, *meaning;
} kinds[WHICH] = {
	[LOAD] = {"load", "load instructions of wavefronts"},
	[STORE] = {"store", "store instructions of wavefronts"},
	[ATOMIC] = {"atomic", "atomic instructions of wavefronts"},
	[BARRIER_WG] = {"barrier_wg", "stalls of wavefronts at work-group barriers"},
	[BARRIER_KR] = {"barrier_kr", "stalls of wavefronts at kernel-wide barriers"},
	[PERSIST_WI] = {"persist_barrier_wi", "work-item persist barriers, from the first arrival on"},
	[PERSIST_WG] = {"persist_barrier_wg", "work-group persist barriers, from the first arrival on"},
	[PERSIST_KR] = {"persist_barrier_kr", "kernel persist barriers, from the first arrival on"},
};

struct cli_latencies {
	struct histogram {
		uint64_t count, longest;
		uint64_t bucket[(POWERS + 1) * STEPS];
	} of[WHICH];
};

int cli_latencies_create(struct cli_latencies **ret)
{
	*ret = calloc(1, sizeof **ret);
	if (!*ret) {
		return nvw_fail(NVW_E_MEMORY, "no memory for histograms of latencies");
	}
	return 0;
}

void cli_latencies_free(struct cli_latencies *l)
{
	free(l);
}

/* ---- Buckets ------------------------------------------------------------------------------- */

static unsigned bucket_of(uint64_t ps)
{
	if (ps < STEPS) {
		return (unsigned)ps;
	}
	const unsigned power = 64 - STEP_BITS - (unsigned)__builtin_clzll(ps);

	return power * STEPS + (unsigned)(ps >> (power - 1) & (STEPS - 1));
}

/* The longest latency in the bucket. */
static uint64_t end_of(unsigned bucket)
{
	const unsigned power = bucket / STEPS;
	const uint64_t step = bucket % STEPS;

	if (power == 0) {
		return step;
	}
	return ((STEPS + step + 1) << (power - 1)) - 1;
}

static uint64_t percentile(const struct histogram *h, unsigned percent)
{
	const uint64_t rank = (h->count * percent + 99) / 100;
	uint64_t seen = 0;

	for (unsigned i = 0; i < sizeof h->bucket / sizeof *h->bucket; i++) {
		seen += h->bucket[i];
		if (seen >= rank) {
			return end_of(i) < h->longest ? end_of(i) : h->longest;
		}
	}
	return h->longest;
}

/* ---- Sights -------------------------------------------------------------------------------- */

static enum which which_access(const char *what)
{
	switch (*what) {
	case 'l':
		return LOAD;
	case 's':
		return STORE;
	default:
		return ATOMIC;
	}
}

static enum which which_stall(const char *what)
{
	if (!strcmp(what, "barrier (work-group)")) {
		return BARRIER_WG;
	}
	return !strcmp(what, "barrier (kernel)") ? BARRIER_KR : WHICH;
}

static enum which which_of(const struct emu_sight *s)
{
	switch (s->kind) {
	case EMU_SIGHT_ACCESS:
		return which_access(s->what);
	case EMU_SIGHT_BARRIER:
		return (enum which)(PERSIST_WI + s->unit);
	case EMU_SIGHT_STALL:
		return which_stall(s->what);
	default:
		return WHICH;
	}
}

void cli_latencies_see(struct cli_latencies *l, const struct emu_sight *s)
{
	const enum which which = which_of(s);
	const uint64_t ps = s->to - s->from;

	NVW_INVARIANT(s->from <= s->to);
	if (which == WHICH) {
		return;
	}
	struct histogram *const h = &l->of[which];

	h->count++;
	if (ps > h->longest) {
		h->longest = ps;
	}
	h->bucket[bucket_of(ps)]++;
}

/* ---- Report -------------------------------------------------------------------------------- */

static int describe_one(
	struct nvw_description *d, unsigned which, const char *end, uint64_t value, const char *meaning)
{
	char name[64], text[128];

	snprintf(name, sizeof name, "latency.%s.%s", kinds[which].name, end);
	snprintf(text, sizeof text, "%s %s", meaning, kinds[which].meaning);
	return nvw_describe_u64(d, name, value, "ps", text);
}

int cli_latencies_describe(const struct cli_latencies *l, struct nvw_description *d)
{
	for (unsigned i = 0; i < WHICH; i++) {
		const struct histogram *const h = &l->of[i];

		if (h->count) {
			NVW_TRY(describe_one(d, i, "p50", percentile(h, 50), "half of the"));
			NVW_TRY(describe_one(d, i, "p99", percentile(h, 99), "99 % of the"));
			NVW_TRY(describe_one(d, i, "max", h->longest, "the longest of the"));
		}
	}
	return 0;
}
