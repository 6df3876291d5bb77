/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bitonic: the data-parallel counterpart of trees-msort (hechtman14 5.6.5): one launch per step of Batcher's
 * bitonic sort, one work-item per key. The keys are padded to a power of two with keys that sort last.
 *
 * trees-bitonic: the same algorithm as tasks, the thesis's merge sort with map. A task maps a chunk of each
 * step, and joins itself for the next one: so a step takes the launch of an epoch besides that of its maps,
 * and the launch of the epoch that the maps' entries make.
 */
#include "trees.h"

enum { SIZE };
enum { KEYS, PADDED };

static const struct nvw_option options[] = {
	{"size", NVW_OPTION_COUNT, "2k", NULL, "keys"},
	DENSE_OPTIONS_END,
};
static const struct nvw_option task_options[] = {
	{"size", NVW_OPTION_COUNT, "2k", NULL, "keys"},
	TREES_OPTIONS_END,
};

static uint64_t padded_size(uint64_t size)
{
	uint64_t n = 1;

	while (n < size) {
		n *= 2;
	}
	assert((n & (n - 1)) == 0);
	return n;
}

static uint64_t padded(const struct dense_plan *p)
{
	return padded_size(p->size[SIZE]);
}

static void bitonic_shape(struct dense_plan *p)
{
	dense_written(p, KEYS, DENSE_INT32, p->size[SIZE], "keys");
	dense_scratch(p, PADDED, DENSE_INT32, padded(p), "padded");
}

static void bitonic_fill(struct dense_plan *p)
{
	int32_t *const keys = p->input[PADDED];

	assert(p->array[PADDED].count >= p->size[SIZE]);
	dense_fill_int(p, KEYS, -1000000, 1000000);
	NVW_FOR(i, p->array[PADDED].count) {
		keys[i] = i < p->size[SIZE] ? ((const int32_t *)p->input[KEYS])[i] : INT32_MAX;
	}
}

struct args {
	int32_t *keys, *result;
	uint64_t size, block, distance;
};

/* Pair number id at the distance; blocks are sorted up and down alternately. */
static void order_pair(const struct args *a, uint64_t id)
{
	const uint64_t low = id / a->distance * 2 * a->distance + id % a->distance, high = low + a->distance;

	if (high < a->size) {
		const int32_t x = nvw_load(&a->keys[low]), y = nvw_load(&a->keys[high]);

		if ((x > y) == ((low & a->block) == 0)) {
			nvw_store(&a->keys[low], y);
			nvw_store(&a->keys[high], x);
		}
	}
}

static void give(const struct args *a, uint64_t id)
{
	if (id < a->size) {
		nvw_store(&a->result[id], nvw_load(&a->keys[id]));
	}
}

DENSE_KERNEL(bitonic_step, const struct args, a)
{
	order_pair(a, nvw_global_id());
}

DENSE_KERNEL(bitonic_result, const struct args, a)
{
	give(a, nvw_global_id());
}

static int bitonic_run(struct dense_plan *p)
{
	struct args a = {.keys = p->device[PADDED], .result = p->device[KEYS], .size = padded(p)};

	for (a.block = 2; a.block <= a.size; a.block *= 2) {
		for (a.distance = a.block / 2; a.distance > 0; a.distance /= 2) {
			NVW_TRY(dense_launch(p, bitonic_step, &a, a.size / 2));
		}
	}
	a.size = p->size[SIZE];
	return dense_launch(p, bitonic_result, &a, a.size);
}

/* ---- As tasks ------------------------------------------------------------------------------------- */

enum { CHUNK = 512 }; /* keys */

/* Words: the chunk; block; distance. */
static void order_chunk(struct nvw_task *t)
{
	const struct args *const d = nvw_task_data(t);
	const uint64_t first = nvw_task_word(t, 0) * (CHUNK / 2);
	const struct args a = {.keys = d->keys,
		.size = padded_size(d->size),
		.block = nvw_task_word(t, 1),
		.distance = nvw_task_word(t, 2)};

	DENSE_SHARE(uint64_t, i, CHUNK / 2) {
		order_pair(&a, first + i);
	}
}

static void give_chunk(struct nvw_task *t)
{
	const struct args *const d = nvw_task_data(t);
	const uint64_t first = nvw_task_word(t, 0) * CHUNK;

	DENSE_SHARE(uint64_t, i, CHUNK) {
		give(d, first + i);
	}
}

static void sort_chunk(struct nvw_task *t)
{
	const struct args *const d = nvw_task_data(t);
	const uint32_t chunk = nvw_task_word(t, 0), block = nvw_task_word(t, 1),
		       distance = nvw_task_word(t, 2);

	if (block > padded_size(d->size)) {
		nvw_map(t, give_chunk, chunk);
	} else {
		nvw_map(t, order_chunk, chunk, block, distance);
		if (distance > 1) {
			nvw_join(t, sort_chunk, chunk, block, distance / 2);
		} else {
			nvw_join(t, sort_chunk, chunk, 2 * block, block);
		}
	}
}

static void sort_all(struct nvw_task *t)
{
	const struct args *const d = nvw_task_data(t);

	NVW_FOR(i, u64_parts(padded_size(d->size), CHUNK)) {
		nvw_fork(t, sort_chunk, i, 2, 1);
	}
}

static const struct nvw_task_program program = {
	.name = "bitonic",
	.functions = (const struct nvw_task_function[]){{"sort_all", sort_all, false},
		{"sort_chunk", sort_chunk, false}, {"order_chunk", order_chunk, true},
		{"give_chunk", give_chunk, true}, {NULL, NULL, false}},
	.words = 3,
};

static int run_tasks(struct dense_plan *p)
{
	const struct args data = {
		.keys = p->device[PADDED], .result = p->device[KEYS], .size = p->size[SIZE]};

	return trees_run_words(p, &program, &data, sort_all, NULL, 0);
}

/* ---- Both ----------------------------------------------------------------------------------------- */

static void bitonic_expect(struct dense_plan *p)
{
	dense_sort(p->expected[KEYS], p->size[SIZE]);
}

DENSE_WORKLOAD(bitonic, "bitonic", "bitonic sort, a launch per step");
TREES_DEFINE(trees_bitonic, "trees-bitonic", "tasks: bitonic sort, a map operation per chunk and step",
	task_options, .shape = bitonic_shape, .fill = bitonic_fill, .run = run_tasks,
	.expect = bitonic_expect);
