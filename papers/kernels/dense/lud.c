/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lud: decomposition of a matrix in place, A = L x U without pivoting, in blocks. Three launches per step:
 * the block on the diagonal, the blocks to its right and below it, and all blocks right of and below those.
 *
 * Every element is reduced by its products one by one, in order, over all launches. So the result is bitwise
 * that of the elimination column by column.
 *
 * With a scratchpad work-groups load and store blocks as they lie in memory, and what their elements share
 * once, as in Rodinia.
 */
#include "dense.h"

enum { SIZE };
enum { MATRIX };
enum { BLOCK = 16 }; /* rows and columns of a block */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "256", "rows and columns of the matrix"),
	DENSE_SCRATCHPAD_OPTION,
	DENSE_OPTIONS_END,
};

static void lud_shape(struct dense_plan *p)
{
	dense_written(p, MATRIX, DENSE_FLOAT, p->size[SIZE] * p->size[SIZE], "matrix");
}

/* Diagonally dominant: needs no pivoting. */
static void lud_fill(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];
	float *const matrix = p->input[MATRIX];

	dense_fill_real(p, MATRIX, -1, 1);
	NVW_FOR(i, n) {
		matrix[i * n + i] += (float)n;
	}
}

/* A step covers "width" rows and columns from "first" on; "rest" come after those. */
struct args {
	float *matrix;
	uint64_t size, first, width, rest;
	char *scratchpads; /* NULL: there are none */
	uint64_t scratchpad_bytes;
};

/* The rest has rows of L that lie left of a block, and columns of U above it. The diagonal and the perimeter
 * have the diagonal block, as "rows", and the rows of L that the work-items of the group solve. */
struct scratchpad {
	float rows[BLOCK][BLOCK], columns[BLOCK][BLOCK];
	float solved[][BLOCK];
};

static inline struct scratchpad *scratchpad_of(const struct args *a)
{
	return (void *)(a->scratchpads + nvw_group_id() * a->scratchpad_bytes);
}

static inline float *at(const struct args *a, uint64_t row, uint64_t column)
{
	return a->matrix + row * a->size + column;
}

/* An element of the diagonal block. */
static inline float of_diagonal(const struct args *a, uint64_t row, uint64_t column)
{
	return a->scratchpads ? scratchpad_of(a)->rows[row][column] :
				nvw_load(at(a, a->first + row, a->first + column));
}

/* Its element number i, row by row: in the matrix, and where it is kept. */
static inline float *in_matrix(const struct args *a, uint64_t i)
{
	return at(a, a->first + i / a->width, a->first + i % a->width);
}

static inline float *in_scratchpad(const struct args *a, uint64_t i)
{
	return &scratchpad_of(a)->rows[i / a->width][i % a->width];
}

static void keep_diagonal(const struct args *a)
{
	DENSE_SHARE(uint64_t, i, a->width * a->width) {
		*in_scratchpad(a, i) = nvw_load(in_matrix(a, i));
	}
	nvw_barrier(NVW_WORKGROUP);
}

static void store_diagonal(const struct args *a)
{
	nvw_barrier(NVW_WORKGROUP);
	DENSE_SHARE(uint64_t, i, a->width * a->width) {
		nvw_store(in_matrix(a, i), *in_scratchpad(a, i));
	}
}

/* One work-item has the whole block in its registers. */
static void decompose_diagonal(const struct args *a)
{
	const uint64_t n = a->width;
	float block[BLOCK][BLOCK];

	NVW_FOR(i, n * n) {
		block[i / n][i % n] = of_diagonal(a, i / n, i % n);
	}
	NVW_FOR(k, n) {
		for (uint64_t i = k + 1; i < n; i++) {
			block[i][k] /= block[k][k];
			for (uint64_t j = k + 1; j < n; j++) {
				block[i][j] -= block[i][k] * block[k][j];
			}
		}
	}
	NVW_FOR(i, n * n) {
		if (a->scratchpads) {
			*in_scratchpad(a, i) = block[i / n][i % n];
		} else {
			nvw_store(in_matrix(a, i), block[i / n][i % n]);
		}
	}
}

DENSE_KERNEL(lud_diagonal, const struct args, a)
{
	if (a->scratchpads) {
		keep_diagonal(a);
	}
	if (nvw_global_id() == 0) {
		decompose_diagonal(a);
	}
	if (a->scratchpads) {
		store_diagonal(a);
	}
}

/* A column of U right of the diagonal block: solved from the top by the block's L. */
static void solve_column(const struct args *a, uint64_t column)
{
	float u[BLOCK];

	NVW_FOR(i, a->width) {
		u[i] = nvw_load(at(a, a->first + i, column));
		NVW_FOR(k, i) {
			u[i] -= of_diagonal(a, i, k) * u[k];
		}
		nvw_store(at(a, a->first + i, column), u[i]);
	}
}

/* A row of L below the diagonal block: solved from the left by the block's U. */
static void solve_row(const struct args *a, uint64_t row)
{
	float l[BLOCK];

	NVW_FOR(j, a->width) {
		l[j] = nvw_load(at(a, row, a->first + j));
		NVW_FOR(k, j) {
			l[j] -= l[k] * of_diagonal(a, k, j);
		}
		l[j] /= of_diagonal(a, j, j);
		nvw_store(at(a, row, a->first + j), l[j]);
	}
}

/* Element i of the rows that the group's work-items solve, row by row; NULL: its row is none of L. */
static inline float *of_rows(const struct args *a, uint64_t i)
{
	const uint64_t id = nvw_group_id() * nvw_group_size() + i / a->width;

	return id >= a->rest && id < 2 * a->rest ?
		       at(a, a->first + a->width + id - a->rest, a->first + i % a->width) :
		       NULL;
}

/* The rows go to the scratchpad and come back as they lie in memory; each is solved there. */
static void solve_kept_rows(const struct args *a)
{
	struct scratchpad *const pad = scratchpad_of(a);
	const uint64_t elements = nvw_group_size() * a->width;
	float *const mine = pad->solved[nvw_local_id()];

	DENSE_SHARE(uint64_t, i, elements) {
		const float *const from = of_rows(a, i);

		if (from) {
			pad->solved[i / a->width][i % a->width] = nvw_load(from);
		}
	}
	nvw_barrier(NVW_WORKGROUP);
	NVW_FOR(j, a->width) {
		NVW_FOR(k, j) {
			mine[j] -= mine[k] * pad->rows[k][j];
		}
		mine[j] /= pad->rows[j][j];
	}
	nvw_barrier(NVW_WORKGROUP);
	DENSE_SHARE(uint64_t, i, elements) {
		float *const to = of_rows(a, i);

		if (to) {
			nvw_store(to, pad->solved[i / a->width][i % a->width]);
		}
	}
}

DENSE_KERNEL(lud_perimeter, const struct args, a)
{
	const uint64_t id = nvw_global_id(), after = a->first + a->width;

	if (a->scratchpads) {
		keep_diagonal(a);
		solve_kept_rows(a);
	}
	if (id < a->rest) {
		solve_column(a, after + id);
	} else if (!a->scratchpads && id < 2 * a->rest) {
		solve_row(a, after + id - a->rest);
	}
}

DENSE_ITEMS(lud_internal, a, id, a->rest * a->rest)
{
	const uint64_t after = a->first + a->width;
	const uint64_t row = after + id / a->rest, column = after + id % a->rest;
	float x = nvw_load(at(a, row, column));

	for (uint64_t k = a->first; k < after; k++) {
		const float l = nvw_load(at(a, row, k));

		x -= l * nvw_load(at(a, k, column));
	}
	nvw_store(at(a, row, column), x);
}

static uint64_t blocks_of(uint64_t elements)
{
	return u64_parts(elements, BLOCK);
}

/* A work-group has a block of the rest. */
DENSE_KERNEL(lud_internal_block, const struct args, a)
{
	const uint64_t group = nvw_group_id(), blocks = blocks_of(a->rest), after = a->first + a->width;
	const uint64_t top = after + group / blocks * BLOCK, left = after + group % blocks * BLOCK;
	struct scratchpad *const pad = scratchpad_of(a);

	DENSE_SHARE(uint64_t, i, BLOCK * BLOCK) {
		const uint64_t row = i / BLOCK, column = i % BLOCK;

		if (top + row < a->size && column < a->width) {
			pad->rows[row][column] = nvw_load(at(a, top + row, a->first + column));
		}
		if (left + column < a->size && row < a->width) {
			pad->columns[row][column] = nvw_load(at(a, a->first + row, left + column));
		}
	}
	nvw_barrier(NVW_WORKGROUP);
	DENSE_SHARE(uint64_t, i, BLOCK * BLOCK) {
		const uint64_t row = i / BLOCK, column = i % BLOCK;

		if (top + row < a->size && left + column < a->size) {
			float x = nvw_load(at(a, top + row, left + column));

			NVW_FOR(k, a->width) {
				x -= pad->rows[row][k] * pad->columns[k][column];
			}
			nvw_store(at(a, top + row, left + column), x);
		}
	}
}

static int launch_rest(struct dense_plan *p, const struct args *args)
{
	const uint64_t size = p->group_size, blocks = blocks_of(args->rest);

	assert(args->rest > 0 && args->first + args->width + args->rest == args->size);
	/* Whole groups are launched: all of their work-items meet at the barrier. */
	NVW_TRY(dense_launch(p, lud_perimeter, args, u64_parts(2 * args->rest, size) * size));
	if (!args->scratchpads) {
		return dense_launch(p, lud_internal, args, args->rest * args->rest);
	}
	return dense_launch(p, lud_internal_block, args, blocks * blocks * size);
}

static int lud_run(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];
	const uint64_t blocks = blocks_of(n);
	uint64_t bytes = 0;

	if (p->has_scratchpad) {
		bytes = sizeof(struct scratchpad) + p->group_size * sizeof(float[BLOCK]);
		NVW_TRY(dense_scratchpads(
			p, bytes, u64_max(blocks * blocks * p->group_size, 2 * n + p->group_size)));
	}
	for (uint64_t first = 0; first < n; first += BLOCK) {
		const uint64_t width = u64_min(n - first, BLOCK);
		const struct args args = {.matrix = p->device[MATRIX],
			.size = n,
			.first = first,
			.width = width,
			.rest = n - first - width,
			.scratchpads = p->more,
			.scratchpad_bytes = bytes};

		NVW_TRY(dense_launch(p, lud_diagonal, &args, p->has_scratchpad ? p->group_size : 1));
		if (args.rest > 0) {
			NVW_TRY(launch_rest(p, &args));
		}
	}
	return 0;
}

static void lud_expect(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];
	float *const m = p->expected[MATRIX];

	assert(p->array[MATRIX].count == n * n);
	NVW_FOR(k, n) {
		for (uint64_t i = k + 1; i < n; i++) {
			m[i * n + k] /= m[k * n + k];
			for (uint64_t j = k + 1; j < n; j++) {
				m[i * n + j] -= m[i * n + k] * m[k * n + j];
			}
		}
	}
}

DENSE_WORKLOAD(lud, "lud", "LU decomposition of a matrix, in blocks");
