/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stencil: heat on a three-dimensional grid, seven points: a point becomes a weighted sum of itself and its
 * six neighbours. Points at the edge keep their value.
 */
#include "dense.h"

#include <string.h>

enum { ROWS, COLUMNS, DEPTH, ITERATIONS };
/* The grid before even and before odd steps: plane by plane, row by row. */
enum { EVEN, ODD };

static const struct nvw_option options[] = {
	DENSE_SIZE("rows", "128", "of a plane"),
	DENSE_SIZE("columns", "128", "of a plane"),
	DENSE_SIZE("depth", "4", "planes"),
	DENSE_SIZE("iterations", "4", "steps, one launch per step"),
	DENSE_OPTIONS_END,
};

static void stencil_shape(struct dense_plan *p)
{
	const uint64_t points = p->size[ROWS] * p->size[COLUMNS] * p->size[DEPTH];

	dense_written(p, EVEN, DENSE_FLOAT, points, "even", "odd");
}

/* Both grids have the same initial content, so that both have the edge. */
static void stencil_fill(struct dense_plan *p)
{
	dense_fill_real(p, EVEN, 0, 1);
	memcpy(p->input[ODD], p->input[EVEN], p->array[EVEN].count * sizeof(float));
}

static inline float step(
	float here, float west, float east, float north, float south, float over, float under)
{
	return (west + east + north + south + over + under) * (1.0f / 36) - here * (1.0f / 6);
}

struct args {
	const float *from;
	float *to;
	uint64_t rows, columns, depth;
};

static uint64_t inner_points(const struct args *a)
{
	return (a->rows - 2) * (a->columns - 2) * (a->depth - 2);
}

DENSE_ITEMS(stencil_step, a, id, inner_points(a))
{
	const uint64_t inner_rows = a->rows - 2, inner_columns = a->columns - 2;
	const uint64_t x = 1 + id % inner_columns;
	const uint64_t y = 1 + id / inner_columns % inner_rows;
	const uint64_t z = 1 + id / inner_columns / inner_rows;
	const uint64_t plane = a->rows * a->columns, i = z * plane + y * a->columns + x;
	const float *const from = a->from + i;
	const float here = nvw_load(from), west = nvw_load(from - 1), east = nvw_load(from + 1);
	const float north = nvw_load(from - a->columns), south = nvw_load(from + a->columns);
	const float over = nvw_load(from - plane), under = nvw_load(from + plane);

	nvw_store(&a->to[i], step(here, west, east, north, south, over, under));
}

static int stencil_run(struct dense_plan *p)
{
	NVW_FOR(i, p->size[ITERATIONS]) {
		const struct args args = {.from = p->device[EVEN + i % 2],
			.to = p->device[ODD - i % 2],
			.rows = p->size[ROWS],
			.columns = p->size[COLUMNS],
			.depth = p->size[DEPTH]};

		NVW_TRY(dense_launch(p, stencil_step, &args, inner_points(&args)));
	}
	return 0;
}

static void stencil_expect(struct dense_plan *p)
{
	const uint64_t rows = p->size[ROWS], columns = p->size[COLUMNS], plane = rows * columns;

	assert(rows >= 3 && columns >= 3 && p->size[DEPTH] >= 3);
	NVW_FOR(i, p->size[ITERATIONS]) {
		const float *const from = p->expected[EVEN + i % 2];
		float *const to = p->expected[ODD - i % 2];

		for (uint64_t z = 1; z < p->size[DEPTH] - 1; z++) {
			for (uint64_t y = 1; y < rows - 1; y++) {
				for (uint64_t x = 1; x < columns - 1; x++) {
					const float *const f = from + z * plane + y * columns + x;

					to[f - from] = step(*f, f[-1], f[1], *(f - columns), f[columns],
						*(f - plane), f[plane]);
				}
			}
		}
	}
}

DENSE_WORKLOAD(stencil, "stencil", "seven-point stencil on a grid of three dimensions",
	.least = {[ROWS] = 3, [COLUMNS] = 3, [DEPTH] = 3});
