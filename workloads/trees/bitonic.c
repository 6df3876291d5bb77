/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bitonic: the data-parallel counterpart of trees-msort (hechtman14 5.6.5): one launch per step of Batcher's
 * bitonic sort, one work-item per key. The keys are padded to a power of two with keys that sort last.
 */
#include "trees.h"

#include <stdlib.h>

enum { SIZE };
enum { KEYS, PADDED };

static const struct nvw_option options[] = {
	{"size", NVW_OPTION_COUNT, "2k", NULL, "keys"},
	DENSE_OPTIONS_END,
};

static uint64_t padded(const struct dense_plan *p)
{
	uint64_t n = 1;

	while (n < p->size[SIZE]) {
		n *= 2;
	}
	return n;
}

static void shape(struct dense_plan *p)
{
	dense_array(p, KEYS, "keys", DENSE_INT32, DENSE_WRITTEN, p->size[SIZE]);
	dense_array(p, PADDED, "padded", DENSE_INT32, DENSE_SCRATCH, padded(p));
}

static void fill(struct dense_plan *p)
{
	int32_t *const keys = p->array[PADDED].input;

	dense_fill_int(p, KEYS, -1000000, 1000000);
	for (uint64_t i = 0; i < p->array[PADDED].count; i++) {
		keys[i] = i < p->size[SIZE] ? ((const int32_t *)p->array[KEYS].input)[i] : INT32_MAX;
	}
}

struct args {
	int32_t *keys, *result;
	uint64_t size, block, distance;
};

/* One work-item per pair at the distance; blocks are sorted up and down alternately. */
static void bitonic_step(const void *args)
{
	const struct args *const a = args;
	const uint64_t id = nvw_global_id(), low = id / a->distance * 2 * a->distance + id % a->distance,
		       high = low + a->distance;

	if (high < a->size) {
		const int32_t x = nvw_load(&a->keys[low]), y = nvw_load(&a->keys[high]);

		if ((x > y) == ((low & a->block) == 0)) {
			nvw_store(&a->keys[low], y);
			nvw_store(&a->keys[high], x);
		}
	}
}

static void bitonic_result(const void *args)
{
	const struct args *const a = args;

	if (nvw_global_id() < a->size) {
		nvw_store(&a->result[nvw_global_id()], nvw_load(&a->keys[nvw_global_id()]));
	}
}

static int run(struct dense_plan *p)
{
	struct args a = {.keys = p->array[PADDED].device, .result = p->array[KEYS].device, .size = padded(p)};
	int error = 0;

	for (a.block = 2; error == 0 && a.block <= a.size; a.block *= 2) {
		for (a.distance = a.block / 2; error == 0 && a.distance > 0; a.distance /= 2) {
			error = dense_launch(p, bitonic_step, &a, a.size / 2);
		}
	}
	a.size = p->size[SIZE];
	return error ? error : dense_launch(p, bitonic_result, &a, a.size);
}

static int ascending(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static void expect(struct dense_plan *p)
{
	qsort(p->array[KEYS].expected, p->size[SIZE], sizeof(int32_t), ascending);
}

static const struct dense_kernel kernel = {
	.name = "bitonic", .options = options, .shape = shape, .fill = fill, .run = run, .expect = expect};

TREES_RIVAL(bitonic, "bitonic", kernel, options, "bitonic sort, a launch per step");
