/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dgemm: result = alpha x left x right + beta x result, matrices of doubles (stc 6). A work-item computes one
 * element; rows of the left matrix and columns of the right one are reused only through the caches (sgemm.c
 * has tiles in registers).
 */
#include "dense.h"

enum { ROWS, COLUMNS, INNER };
enum { LEFT, RIGHT, RESULT }; /* rows x inner, inner x columns, rows x columns */

static const struct nvw_option options[] = {
	DENSE_SIZE("rows", "128", "of the result"),
	DENSE_SIZE("columns", "128", "of the result"),
	DENSE_SIZE("inner", "128", "terms of every sum"),
	DENSE_OPTIONS_END,
};

static void dgemm_shape(struct dense_plan *p)
{
	dense_read_only(p, LEFT, DENSE_DOUBLE, p->size[ROWS] * p->size[INNER], "left");
	dense_read_only(p, RIGHT, DENSE_DOUBLE, p->size[INNER] * p->size[COLUMNS], "right");
	dense_written(p, RESULT, DENSE_DOUBLE, p->size[ROWS] * p->size[COLUMNS], "result");
}

static void dgemm_fill(struct dense_plan *p)
{
	dense_fill_real(p, LEFT, -1, 1);
	dense_fill_real(p, RIGHT, -1, 1);
	dense_fill_real(p, RESULT, -1, 1);
}

static inline double combine(double product, double before)
{
	const double alpha = 0.75, beta = 0.5;

	return alpha * product + beta * before;
}

struct args {
	const double *left, *right;
	double *result;
	uint64_t rows, columns, inner;
};

DENSE_ITEMS(dgemm_element, a, id, a->rows * a->columns)
{
	const uint64_t row = id / a->columns, column = id % a->columns;
	double sum = 0;

	NVW_FOR(k, a->inner) {
		const double left = nvw_load_read_only(&a->left[row * a->inner + k]);

		sum += left * nvw_load_read_only(&a->right[k * a->columns + column]);
	}
	nvw_store(&a->result[id], combine(sum, nvw_load(&a->result[id])));
}

static int dgemm_run(struct dense_plan *p)
{
	const struct args args = {.left = p->device[LEFT],
		.right = p->device[RIGHT],
		.result = p->device[RESULT],
		.rows = p->size[ROWS],
		.columns = p->size[COLUMNS],
		.inner = p->size[INNER]};

	return dense_launch(p, dgemm_element, &args, args.rows * args.columns);
}

static void dgemm_expect(struct dense_plan *p)
{
	const uint64_t columns = p->size[COLUMNS], inner = p->size[INNER];
	const double *const left = p->expected[LEFT], *const right = p->expected[RIGHT];
	double *const result = p->expected[RESULT];

	assert(p->array[LEFT].count == p->size[ROWS] * inner);
	NVW_FOR(i, p->array[RESULT].count) {
		double sum = 0;

		NVW_FOR(k, inner) {
			sum += left[i / columns * inner + k] * right[k * columns + i % columns];
		}
		result[i] = combine(sum, result[i]);
	}
}

DENSE_WORKLOAD(dgemm, "dgemm", "product of two matrices of doubles");
