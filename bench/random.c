/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random tester whose work is nothing but checked accesses of 4 bytes, to compare the emulator with other
 * simulators' testers of that kind: requests per second of processor time, at chosen CUs, lanes, caches and
 * footprint.
 *
 *	bench_random [NAME=VALUE...]
 *
 * Without arguments: a table under vi at 4 and 8 CUs, where nearly all requests miss, where the L2 serves
 * them, and where the L1s do. With arguments: one row of
 *
 *	footprint=BYTES, wavefronts=N (per CU), lanes=N (per wavefront), episodes=N, length=N (requests of a
 *	work-item in an episode), stores=PERCENT, seed=N, fault=ACTION (left out of the protocol:
 *	emu_plant_fault()), and any key of a machine file, as --set takes it: gpu.cus=8, l1.size=16KiB,
 *	protocol=dd
 *
 * Design
 *	A work-item loads and stores words at random. In an episode, one kernel, every second row of words (as
 *	long as there are work-items) is read only; each other word belongs to one work-item; the next
 *	episode exchanges rows and deals the words anew, to other CUs. So no two work-items race: each load
 *	has one right value, which an array of the host has. Every work-item ends an episode with an atomic
 *	add to one counter, which is checked as well.
 *
 * The exit status is 1 if a value was wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <emu.h>
#include <nvw/host.h>
#include <nvw/random.h>

#include "core/print.h"
#include "kernels.h"
#include "part.h"
#include "core/each.h"

enum { TEXT = 256, REQUESTS = 2000000 };

struct numbers {
	uint64_t footprint, wavefronts, lanes, episodes, length, stores, seed;
};

struct tester {
	struct numbers n;
	uint64_t items, rows; /* of words, one a work-item in each */
	uint32_t *words, *expected;
	uint64_t *counter;
	uint64_t episode, wrong;
	char first[TEXT]; /* the first wrong value */
};

/* ---- The kernel ------------------------------------------------------------------------------ */

static uint64_t next(uint64_t *state)
{
	return nvw_mix64(*state += 0x9e3779b97f4a7c15u);
}

static __attribute__((noinline)) void found(struct tester *t, uint64_t word, uint32_t value)
{
	if (!t->wrong++) {
		NVW_PRINT(t->first, "episode %llu, work-item %llu: word %llu is %u instead of %u",
			(unsigned long long)t->episode, (unsigned long long)nvw_global_id(),
			(unsigned long long)word, value, t->expected[word]);
	}
}

static void episode(const void *args)
{
	struct tester *const t = *(struct tester *const *)args;
	const uint64_t id = nvw_global_id(), own = (id + t->episode * (t->items / 2 + 1)) % t->items;
	uint64_t state = nvw_mix64(t->n.seed ^ id << 32 ^ t->episode);

	NVW_FOR(i, t->n.length) {
		const uint64_t random = next(&state), row = (random >> 32) % t->rows;
		const bool is_owned = (row + t->episode) % 2;
		const uint64_t column = is_owned ? own : next(&state) % t->items;
		const uint64_t word = row * t->items + column;

		/* There when the access is done: waiting for it is not what is measured. */
		__builtin_prefetch(&t->expected[word]);
		if (is_owned && random % 50 < t->n.stores) {
			t->expected[word] = (uint32_t)random;
			nvw_store(&t->words[word], (uint32_t)random);
		} else {
			const uint32_t value = nvw_load(&t->words[word]);

			if (value != t->expected[word]) {
				found(t, word, value);
			}
		}
	}
	nvw_atomic_add(t->counter, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
}

/* ---- A row of the table ---------------------------------------------------------------------- */

static double share(uint64_t part, uint64_t rest)
{
	if (part + rest == 0) {
		return 0;
	}
	return 100.0 * (double)part / (double)(part + rest);
}

static void print_head(void)
{
	printf("%-13s %4s %6s %10s %10s %14s %8s %8s %12s\n", "protocol", "CUs", "items", "footprint",
		"requests", "requests/CPU s", "L1 hits", "L2 hits", "peak memory");
}

static void print_row(
	const struct emu_config *c, const struct tester *t, const struct emu_stats *s, double took)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%-13s %4llu %6llu %6.1f MiB %10llu %14.0f %6.1f %% %6.1f %% %8.1f MiB\n", c->protocol,
		(unsigned long long)c->cus, (unsigned long long)t->items, (double)t->n.footprint / (1 << 20),
		(unsigned long long)s->work_item_ops, (double)s->work_item_ops / took,
		share(s->l1_load_hits, s->l1_load_misses), share(s->l2_load_hits, s->l2_load_misses),
		(double)usage.ru_maxrss / 1024);
	fflush(stdout);
}

static int run_episodes(struct nvw_machine *m, const struct emu_config *config, struct tester *t)
{
	struct tester *const args = t;
	uint64_t sum = 0;
	double begin;

	nvw_begin_measurement(m);
	begin = seconds();
	for (t->episode = 0; t->episode < t->n.episodes; t->episode++) {
		NVW_TRY(nvw_launch(m, "episode", episode, &args, t->items, (unsigned)t->n.lanes));
	}
	begin = seconds() - begin;
	NVW_TRY(nvw_read(m, &sum, t->counter, sizeof sum));
	print_row(config, t, emu_statistics(m), begin);
	if (sum != t->items * t->n.episodes && !t->wrong++) {
		NVW_PRINT(t->first, "the counter is %llu instead of %llu", (unsigned long long)sum,
			(unsigned long long)(t->items * t->n.episodes));
	}
	return 0;
}

/* Zeros, in huge pages where the host has them; NULL without memory. */
static void *array_of(size_t bytes)
{
	void *const array = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (array == MAP_FAILED) {
		return NULL;
	}
	(void)madvise(array, bytes, MADV_HUGEPAGE);
	return array;
}

static int run_on(struct nvw_machine *m, const struct emu_config *config, struct tester *t, const char *fault)
{
	t->words = nvw_alloc(m, t->n.footprint);
	t->counter = nvw_alloc(m, 64);
	NVW_ALLOCATED(t->words && t->counter, "the footprint is larger than the machine's DRAM");
	if (fault) {
		NVW_TRY(emu_plant_fault(m, fault));
	}
	return run_episodes(m, config, t);
}

/* On a machine of its own. */
static int run_apart(const struct emu_config *config, struct tester *t, const char *fault)
{
	struct nvw_machine *m;
	int r;

	NVW_TRY(emu_create(config, NULL, NULL, &m));
	r = run_on(m, config, t, fault);
	emu_destroy(m);
	return r;
}

/* 0, or an error whose message is set: also of a wrong value. */
static int test_random(const struct emu_config *config, const struct numbers *n, const char *fault)
{
	struct tester t = {.n = *n, .items = config->cus * n->wavefronts * n->lanes};
	size_t bytes;
	int r;

	if (t.items) {
		t.rows = n->footprint / sizeof *t.words / t.items;
	}
	NVW_FAIL_IF(!n->length || t.rows < 2, NVW_E_USAGE,
		"%llu work-items with %llu requests each need a footprint of two words each",
		(unsigned long long)t.items, (unsigned long long)n->length);
	bytes = t.rows * t.items * sizeof *t.expected;
	t.expected = array_of(bytes);
	NVW_ALLOCATED(t.expected, "no memory for %llu words", (unsigned long long)(t.rows * t.items));
	r = run_apart(config, &t, fault);
	munmap(t.expected, bytes);
	NVW_TRY(r);
	NVW_FAIL_IF(t.wrong, NVW_E_MODEL, "%llu wrong values; %s", (unsigned long long)t.wrong, t.first);
	return 0;
}

/* ---- The table, or the caller's row ---------------------------------------------------------- */

static int print_table(void)
{
	static const struct {
		const char *settings[3];
		uint64_t footprint, length;
	} rows[] = {
		{{"gpu.cus=4"}, 40 << 20, 100},
		{{"gpu.cus=4", "l2.size=2MiB"}, 1 << 20, 200},
		{{"gpu.cus=4", "l1.size=256KiB"}, 128 << 10, 2000},
		{{"gpu.cus=8"}, 40 << 20, 100},
		{{"gpu.cus=8", "l2.size=2MiB"}, 1 << 20, 200},
		{{"gpu.cus=8", "l1.size=256KiB"}, 128 << 10, 2000},
	};

	print_head();
	NVW_FOR(i, NVW_COUNT(rows)) {
		struct numbers n = {.footprint = rows[i].footprint,
			.wavefronts = 4,
			.lanes = 64,
			.length = part_of((unsigned)rows[i].length),
			.stores = 40,
			.seed = 1};
		struct emu_config config;

		emu_config_default(&config);
		for (unsigned k = 0; k < 3 && rows[i].settings[k]; k++) {
			NVW_TRY(emu_config_set(&config, rows[i].settings[k]));
		}
		n.episodes = 1 + part_of(REQUESTS) / (config.cus * n.wavefronts * n.lanes * n.length);
		NVW_TRY(test_random(&config, &n, NULL));
	}
	return 0;
}

static int read_number(const char *text, const char *argument, uint64_t most, uint64_t *ret)
{
	char *end;

	*ret = strtoull(text, &end, 10);
	NVW_FAIL_IF(end == text || *end || *ret > most, NVW_E_USAGE, "%s: a number up to %llu was expected",
		argument, (unsigned long long)most);
	return 0;
}

/* Whether the argument is one of the tester's own numbers. */
static bool takes(struct numbers *n, const char *argument, int *ret_error)
{
	const struct {
		const char *name;
		uint64_t *value, most;
	} names[] = {{"footprint=", &n->footprint, UINT64_C(1) << 32}, {"wavefronts=", &n->wavefronts, 1024},
		{"lanes=", &n->lanes, 64}, {"episodes=", &n->episodes, 1 << 20},
		{"length=", &n->length, 1 << 30}, {"stores=", &n->stores, 50},
		{"seed=", &n->seed, UINT64_MAX}};

	NVW_EACH(number, names, NVW_COUNT(names)) {
		const size_t length = strlen(number->name);

		if (strncmp(argument, number->name, length) == 0) {
			*ret_error = read_number(argument + length, argument, number->most, number->value);
			return true;
		}
	}
	return false;
}

static int print_chosen(int count, char **arguments)
{
	struct numbers n = {.footprint = 40 << 20,
		.wavefronts = 4,
		.lanes = 64,
		.episodes = 10,
		.length = 100,
		.stores = 40,
		.seed = 1};
	const char *fault = NULL;
	struct emu_config config;
	int r = 0;

	emu_config_default(&config);
	for (int i = 1; i < count && r == 0; i++) {
		if (strncmp(arguments[i], "fault=", 6) == 0) {
			fault = arguments[i] + 6;
		} else if (strncmp(arguments[i], "protocol=", 9) == 0) {
			NVW_PRINT(config.protocol, "%s", arguments[i] + 9);
		} else if (!takes(&n, arguments[i], &r)) {
			r = emu_config_set(&config, arguments[i]);
		}
	}
	if (r == 0) {
		print_head();
		r = test_random(&config, &n, fault);
	}
	return r;
}

int main(int argc, char **argv)
{
	return exit_status(argc > 1 ? print_chosen(argc, argv) : print_table());
}
