/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pathfinder: the cheapest path down a grid of weights; each step goes one row down and at most one column
 * aside. Row by row: the cost of a cell is its weight plus the smallest cost of the three cells above it.
 */
#include "dense.h"

#include <string.h>

enum { ROWS, COLUMNS };
enum { WEIGHTS, EVEN, ODD }; /* costs of even and of odd rows, one row at a time */

static const struct nvw_option options[] = {
	DENSE_SIZE("rows", "10", "of the grid; each row after the first is a launch"),
	DENSE_SIZE("columns", "100k", "of the grid"),
	DENSE_OPTIONS_END,
};

static void pathfinder_shape(struct dense_plan *p)
{
	dense_read_only(p, WEIGHTS, DENSE_INT32, p->size[ROWS] * p->size[COLUMNS], "weights");
	dense_written(p, EVEN, DENSE_INT32, p->size[COLUMNS], "even", "odd");
}

static void pathfinder_fill(struct dense_plan *p)
{
	dense_fill_int(p, WEIGHTS, 0, 10);
	memcpy(p->input[EVEN], p->input[WEIGHTS], p->size[COLUMNS] * sizeof(int32_t));
}

static inline int32_t least(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

struct args {
	const int32_t *weights, *above; /* weights of the row; costs of the previous row */
	int32_t *costs;
	uint64_t columns;
};

DENSE_ITEMS(pathfinder_row, a, id, a->columns)
{
	int32_t cheapest = nvw_load(&a->above[id]);

	if (id > 0) {
		cheapest = least(cheapest, nvw_load(&a->above[id - 1]));
	}
	if (id + 1 < a->columns) {
		cheapest = least(cheapest, nvw_load(&a->above[id + 1]));
	}
	nvw_store(&a->costs[id], cheapest + nvw_load_read_only(&a->weights[id]));
}

static int pathfinder_run(struct dense_plan *p)
{
	const int32_t *const weights = p->device[WEIGHTS];

	for (uint64_t row = 1; row < p->size[ROWS]; row++) {
		const struct args args = {.weights = weights + row * p->size[COLUMNS],
			.above = p->device[ODD - row % 2],
			.costs = p->device[EVEN + row % 2],
			.columns = p->size[COLUMNS]};

		NVW_TRY(dense_launch(p, pathfinder_row, &args, args.columns));
	}
	return 0;
}

static void pathfinder_expect(struct dense_plan *p)
{
	const int32_t *weights = p->expected[WEIGHTS];
	const uint64_t last = p->size[COLUMNS] - 1;

	assert(p->array[EVEN].count == last + 1);
	for (uint64_t row = 1; row < p->size[ROWS]; row++) {
		const int32_t *const above = p->expected[ODD - row % 2];
		int32_t *const costs = p->expected[EVEN + row % 2];

		weights += p->size[COLUMNS];
		for (uint64_t x = 0; x <= last; x++) {
			const int32_t beside = least(above[x - (x > 0)], above[x + (x < last)]);

			costs[x] = weights[x] + least(above[x], beside);
		}
	}
}

DENSE_WORKLOAD(pathfinder, "pathfinder", "the cheapest way down a grid of weights, row by row");
