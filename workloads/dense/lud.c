/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lud: decomposition of a matrix in place, A = L x U without pivoting, in blocks. Three launches per step:
 * the block on the diagonal, the blocks to its right and below it, and all blocks right of and below those.
 *
 * Every element is reduced by its products one by one, in order, over all launches. So the result is bitwise
 * that of the elimination column by column.
 *
 * With a scratchpad a work-group loads what its elements share once, as in Rodinia: the block on the diagonal, and two blocks for
 * each block of the rest.
 */
#include "dense.h"

enum { SIZE };
enum { MATRIX };
enum { BLOCK = 16 }; /* rows and columns of a block */

static const struct nvw_option options[] = {
	{"size", NVW_OPTION_COUNT, "256", NULL, "rows and columns of the matrix"},
	DENSE_SCRATCHPAD_OPTION,
	DENSE_OPTIONS_END,
};

static void shape(struct dense_plan *p)
{
	dense_array(p, MATRIX, "matrix", DENSE_FLOAT, DENSE_WRITTEN, p->size[SIZE] * p->size[SIZE]);
}

/* Diagonally dominant: needs no pivoting. */
static void fill(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];
	float *const matrix = p->array[MATRIX].input;

	dense_fill_real(p, MATRIX, -1, 1);
	for (uint64_t i = 0; i < n; i++) {
		matrix[i * n + i] += (float)n;
	}
}

/* A step covers "width" rows and columns from "first" on; "rest" come after those. */
struct args {
	float *matrix;
	uint64_t size, first, width, rest;
	struct scratchpad *scratchpads; /* NULL: there are none */
};

/* Of the rest: rows of L that lie left of a block, columns of U above it. Of the perimeter: the diagonal block, as "rows". */
struct scratchpad {
	float rows[BLOCK][BLOCK], columns[BLOCK][BLOCK];
};

static inline float *at(const struct args *a, uint64_t row, uint64_t column)
{
	return a->matrix + row * a->size + column;
}

/* One work-item loads the whole block into its registers. */
static void lud_diagonal(const void *args)
{
	const struct args *const a = args;
	const uint64_t n = a->width;
	float block[BLOCK][BLOCK];

	if (nvw_global_id() != 0) {
		return;
	}
	for (uint64_t i = 0; i < n * n; i++) {
		block[i / n][i % n] = nvw_load(at(a, a->first + i / n, a->first + i % n));
	}
	for (uint64_t k = 0; k < n; k++) {
		for (uint64_t i = k + 1; i < n; i++) {
			block[i][k] /= block[k][k];
			for (uint64_t j = k + 1; j < n; j++) {
				block[i][j] -= block[i][k] * block[k][j];
			}
		}
	}
	for (uint64_t i = 0; i < n * n; i++) {
		nvw_store(at(a, a->first + i / n, a->first + i % n), block[i / n][i % n]);
	}
}

/* An element of the diagonal block. */
static inline float of_diagonal(const struct args *a, uint64_t row, uint64_t column)
{
	return a->scratchpads ? a->scratchpads[nvw_group_id()].rows[row][column] :
				nvw_load(at(a, a->first + row, a->first + column));
}

static void keep_diagonal(const struct args *a)
{
	for (uint64_t i = nvw_local_id(); i < a->width * a->width; i += nvw_group_size()) {
		a->scratchpads[nvw_group_id()].rows[i / a->width][i % a->width] =
			nvw_load(at(a, a->first + i / a->width, a->first + i % a->width));
	}
	nvw_barrier(NVW_WORKGROUP);
}

/* A column of U right of the diagonal block: solved from the top by the block's L. */
static void solve_column(const struct args *a, uint64_t column)
{
	float u[BLOCK];

	for (uint64_t i = 0; i < a->width; i++) {
		u[i] = nvw_load(at(a, a->first + i, column));
		for (uint64_t k = 0; k < i; k++) {
			u[i] -= of_diagonal(a, i, k) * u[k];
		}
		nvw_store(at(a, a->first + i, column), u[i]);
	}
}

/* A row of L below the diagonal block: solved from the left by the block's U. */
static void solve_row(const struct args *a, uint64_t row)
{
	float l[BLOCK];

	for (uint64_t j = 0; j < a->width; j++) {
		l[j] = nvw_load(at(a, row, a->first + j));
		for (uint64_t k = 0; k < j; k++) {
			l[j] -= l[k] * of_diagonal(a, k, j);
		}
		l[j] /= of_diagonal(a, j, j);
		nvw_store(at(a, row, a->first + j), l[j]);
	}
}

static void lud_perimeter(const void *args)
{
	const struct args *const a = args;
	const uint64_t id = nvw_global_id(), after = a->first + a->width;

	if (a->scratchpads) {
		keep_diagonal(a);
	}
	if (id < a->rest) {
		solve_column(a, after + id);
	} else if (id < 2 * a->rest) {
		solve_row(a, after + id - a->rest);
	}
}

static void lud_internal(const void *args)
{
	const struct args *const a = args;
	const uint64_t id = nvw_global_id(), after = a->first + a->width;
	const uint64_t row = after + id / a->rest, column = after + id % a->rest;

	if (id >= a->rest * a->rest) {
		return;
	}

	float x = nvw_load(at(a, row, column));

	for (uint64_t k = a->first; k < after; k++) {
		const float l = nvw_load(at(a, row, k));

		x -= l * nvw_load(at(a, k, column));
	}
	nvw_store(at(a, row, column), x);
}

static uint64_t blocks_of(uint64_t elements)
{
	return (elements + BLOCK - 1) / BLOCK;
}

/* A work-group has a block of the rest. */
static void lud_internal_block(const void *args)
{
	const struct args *const a = args;
	const uint64_t group = nvw_group_id(), blocks = blocks_of(a->rest), after = a->first + a->width;
	const uint64_t top = after + group / blocks * BLOCK, left = after + group % blocks * BLOCK;
	struct scratchpad *const pad = &a->scratchpads[group];

	for (uint64_t i = nvw_local_id(); i < BLOCK * BLOCK; i += nvw_group_size()) {
		const uint64_t row = i / BLOCK, column = i % BLOCK;

		if (top + row < a->size && column < a->width) {
			pad->rows[row][column] = nvw_load(at(a, top + row, a->first + column));
		}
		if (left + column < a->size && row < a->width) {
			pad->columns[row][column] = nvw_load(at(a, a->first + row, left + column));
		}
	}
	nvw_barrier(NVW_WORKGROUP);
	for (uint64_t i = nvw_local_id(); i < BLOCK * BLOCK; i += nvw_group_size()) {
		const uint64_t row = i / BLOCK, column = i % BLOCK;

		if (top + row < a->size && left + column < a->size) {
			float x = nvw_load(at(a, top + row, left + column));

			for (uint64_t k = 0; k < a->width; k++) {
				x -= pad->rows[row][k] * pad->columns[k][column];
			}
			nvw_store(at(a, top + row, left + column), x);
		}
	}
}

static int launch_rest(struct dense_plan *p, const struct args *args)
{
	const uint64_t size = p->group_size, blocks = blocks_of(args->rest);
	/* Whole groups: all of their work-items meet at the barrier. */
	const int r = dense_launch(p, lud_perimeter, args, (2 * args->rest + size - 1) / size * size);

	if (r != 0 || !args->scratchpads) {
		return r ? r : dense_launch(p, lud_internal, args, args->rest * args->rest);
	}
	return dense_launch(p, lud_internal_block, args, blocks * blocks * size);
}

static int run(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];
	const uint64_t blocks = blocks_of(n);
	int r = 0;

	if (p->has_scratchpad) {
		const uint64_t most = blocks * blocks * p->group_size;

		r = dense_scratchpads(p, sizeof(struct scratchpad), most > 2 * n ? most : 2 * n);
	}
	for (uint64_t first = 0; r == 0 && first < n; first += BLOCK) {
		const uint64_t width = n - first < BLOCK ? n - first : BLOCK;
		const struct args args = {.matrix = p->array[MATRIX].device,
			.size = n,
			.first = first,
			.width = width,
			.rest = n - first - width,
			.scratchpads = p->more};

		r = dense_launch(p, lud_diagonal, &args, 1);
		if (r == 0 && args.rest > 0) {
			r = launch_rest(p, &args);
		}
	}
	return r;
}

static void expect(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];
	float *const m = p->array[MATRIX].expected;

	for (uint64_t k = 0; k < n; k++) {
		for (uint64_t i = k + 1; i < n; i++) {
			m[i * n + k] /= m[k * n + k];
			for (uint64_t j = k + 1; j < n; j++) {
				m[i * n + j] -= m[i * n + k] * m[k * n + j];
			}
		}
	}
}

static const struct dense_kernel kernel = {
	.name = "lud", .options = options, .shape = shape, .fill = fill, .run = run, .expect = expect};

DENSE_WORKLOAD(lud, "LU decomposition of a matrix, in blocks");
