/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of latencies. See latencies.h. */
#include "latencies.h"

#include <stdlib.h>
#include <string.h>

#include "core/each.h"
#include "core/histogram.h"
#include "core/invariant.h"
#include "core/print.h"

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
	const char *const *operations; /* names; NULL: none */
	unsigned operation_count;
	struct nvw_histogram of[]; /* WHICH, then all operations, then those of each name */
};

static unsigned count_names(const char *const *names)
{
	unsigned n = 0;

	while (names && names[n]) {
		n++;
	}
	return n;
}

int cli_latencies_create(const char *const *operations, struct cli_latencies **ret)
{
	const unsigned n = count_names(operations);
	struct cli_latencies *const l = calloc(1, sizeof *l + (WHICH + 1 + n) * sizeof *l->of);

	*ret = l;
	NVW_ALLOCATED(l, "no memory for histograms of latencies");
	l->operations = operations;
	l->operation_count = n;
	return 0;
}

void cli_latencies_free(struct cli_latencies *l)
{
	free(l);
}

/* ---- Sights -------------------------------------------------------------------------------------- */

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

	NVW_INVARIANT(s->from <= s->to);
	if (which != WHICH) {
		nvw_histogram_add(&l->of[which], s->to - s->from);
	}
	if (s->kind == EMU_SIGHT_OPERATION) {
		nvw_histogram_add(&l->of[WHICH], s->to - s->from);
	}
	if (s->kind == EMU_SIGHT_OPERATION && s->number < l->operation_count) {
		nvw_histogram_add(&l->of[WHICH + 1 + s->number], s->to - s->from);
	}
}

/* ---- Report -------------------------------------------------------------------------------------- */

static int describe_one(struct nvw_description *d, const char *of, const char *end, uint64_t value,
	const char *meaning, const char *kind)
{
	char name[96], text[160];

	NVW_PRINT(name, "latency.%s.%s", of, end);
	NVW_PRINT(text, "%s %s", meaning, kind);
	return nvw_describe_u64(d, name, value, strcmp(end, "count") ? "ps" : "count", text);
}

static int describe(
	struct nvw_description *d, const struct nvw_histogram *h, const char *of, const char *kind)
{
	NVW_INVARIANT(h->count > 0);
	NVW_TRY(describe_one(d, of, "p50", nvw_histogram_quantile(h, 500), "half of the", kind));
	NVW_TRY(describe_one(d, of, "p99", nvw_histogram_quantile(h, 990), "99 % of the", kind));
	NVW_TRY(describe_one(d, of, "p999", nvw_histogram_quantile(h, 999), "99.9 % of the", kind));
	return describe_one(d, of, "max", h->longest, "the longest of the", kind);
}

/* name NULL: of all names. */
static int describe_operation(struct nvw_description *d, const struct nvw_histogram *h, const char *name)
{
	char of[64] = "operation", kind[64] = "operations of the structure, from beginning to end";

	if (name) {
		NVW_PRINT(of, "operation.%s", name);
		NVW_PRINT(kind, "operations \"%s\"", name);
	}
	if (h->count == 0) {
		return 0;
	}
	NVW_TRY(describe_one(d, of, "count", h->count, "number of the", kind));
	return describe(d, h, of, kind);
}

int cli_latencies_describe(const struct cli_latencies *l, struct nvw_description *d)
{
	NVW_FOR(i, WHICH) {
		if (l->of[i].count) {
			NVW_TRY(describe(d, &l->of[i], kinds[i].name, kinds[i].meaning));
		}
	}
	NVW_TRY(describe_operation(d, &l->of[WHICH], NULL));
	NVW_FOR(i, l->operation_count) {
		NVW_TRY(describe_operation(d, &l->of[WHICH + 1 + i], l->operations[i]));
	}
	return 0;
}
