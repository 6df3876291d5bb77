/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sort: radix sort of 4-byte keys, byte by byte from the lowest on, as hechtman14 4.4.2 describes it. A pass
 * counts the keys per value of its byte; finds, for every place, the key that belongs there, by a search from
 * the first key on; moves the keys to their places; and swaps input and output.
 *
 * The counts are added up by relaxed atomics; additions of integers commute. As in the thesis, the search
 * takes time quadratic in the number of keys.
 */
#include "dense.h"

enum { SIZE };
enum { KEYS, OTHERS, COUNTS, FROM }; /* FROM: for each place, the number of the key that belongs there */
enum { PASSES = 4, VALUES = 256 };

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "2048", "keys"),
	DENSE_OPTIONS_END,
};

static void sort_shape(struct dense_plan *p)
{
	dense_written(p, KEYS, DENSE_UINT32, p->size[SIZE], "keys", "others");
	dense_written(p, COUNTS, DENSE_UINT32, PASSES * VALUES, "counts");
	dense_written(p, FROM, DENSE_UINT32, p->size[SIZE], "from");
}

static void sort_fill(struct dense_plan *p)
{
	uint32_t *const keys = p->input[KEYS];

	NVW_FOR(i, p->size[SIZE]) {
		keys[i] = (uint32_t)nvw_random_u64(&p->random);
	}
}

/* The byte that a pass looks at. */
static inline uint32_t byte_of(uint32_t key, unsigned pass)
{
	return key >> (8 * pass) & 0xff;
}

/* ---- The GPU --------------------------------------------------------------------------------------- */

struct args {
	const uint32_t *keys;
	uint32_t *others, *counts, *from; /* counts of this pass */
	uint64_t size;
	unsigned pass;
};

DENSE_ITEMS(sort_count, a, id, a->size)
{
	const uint32_t byte = byte_of(nvw_load(&a->keys[id]), a->pass);

	(void)nvw_atomic_add(&a->counts[byte], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

/* Place id has a key of the value whose counts reach beyond it, after as many as are left of id then. */
DENSE_ITEMS(sort_find, a, id, a->size)
{
	uint64_t before = id, i = 0;
	uint32_t byte = 0;

	for (uint32_t count; before >= (count = nvw_load(&a->counts[byte])); byte++) {
		before -= count;
	}
	while (byte_of(nvw_load(&a->keys[i]), a->pass) != byte || before-- > 0) {
		i++;
	}
	nvw_store(&a->from[id], (uint32_t)i);
}

DENSE_ITEMS(sort_move, a, id, a->size)
{
	nvw_store(&a->others[id], nvw_load(&a->keys[nvw_load(&a->from[id])]));
}

static int sort_run(struct dense_plan *p)
{
	uint32_t *const arrays[] = {p->device[KEYS], p->device[OTHERS]};

	NVW_FOR(pass, PASSES) {
		const struct args args = {.keys = arrays[pass % 2],
			.others = arrays[1 - pass % 2],
			.counts = (uint32_t *)p->device[COUNTS] + pass * VALUES,
			.from = p->device[FROM],
			.size = p->size[SIZE],
			.pass = pass};

		NVW_TRY(dense_launch(p, sort_count, &args, args.size));
		NVW_TRY(dense_launch(p, sort_find, &args, args.size));
		NVW_TRY(dense_launch(p, sort_move, &args, args.size));
	}
	return 0;
}

/* ---- The sequential version ------------------------------------------------------------------------ */

/* Each key goes to the next free place of its byte's value. */
static void expect_pass(struct dense_plan *p, unsigned pass)
{
	const uint32_t *const keys = p->expected[KEYS + pass % 2];
	uint32_t *const others = p->expected[OTHERS - pass % 2];
	uint32_t *const counts = (uint32_t *)p->expected[COUNTS] + pass * VALUES;
	uint32_t *const from = p->expected[FROM], next[VALUES] = {0};

	assert(pass < PASSES);
	NVW_FOR(i, p->size[SIZE]) {
		counts[byte_of(keys[i], pass)]++;
	}
	for (unsigned b = 1; b < VALUES; b++) {
		next[b] = next[b - 1] + counts[b - 1];
	}
	assert(next[VALUES - 1] + counts[VALUES - 1] == p->size[SIZE]);
	NVW_FOR(i, p->size[SIZE]) {
		const uint32_t place = next[byte_of(keys[i], pass)]++;

		from[place] = (uint32_t)i;
		others[place] = keys[i];
	}
}

static void sort_expect(struct dense_plan *p)
{
	NVW_FOR(pass, PASSES) {
		expect_pass(p, pass);
	}
}

DENSE_WORKLOAD(sort, "sort", "radix sort of 4-byte keys in four passes", .most = {[SIZE] = 1 << 16});
