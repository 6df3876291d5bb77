/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trees-matmul: C = A B by blocks. A task multiplies two blocks into a third: it halves the longest side
 * until the block is small. Halves of rows and columns are forked together; halves of the inner side run in
 * sequence, the second by a continuation, because both add to the same elements. So every sum has the order
 * of the sequential version.
 */
#include "trees.h"

enum { SIZE };
enum { A, B, C };
enum { BLOCK = 4 };

static const struct nvw_option options[] = {
	{"size", NVW_OPTION_COUNT, "32", NULL, "rows and columns"},
	TREES_OPTIONS_END,
};

struct data {
	const float *a, *b;
	float *c;
	uint32_t size;
};

/* A range of rows, columns, or the inner side: the first in the low half of a word, the length in the high
 * half. */
static uint32_t range(uint32_t first, uint32_t length)
{
	assert((first | length) <= UINT16_MAX);
	return first | length << 16;
}

static uint32_t first_of(uint32_t r)
{
	return r & 0xffff;
}

static uint32_t length_of(uint32_t r)
{
	return r >> 16;
}

static uint32_t low_half(uint32_t r)
{
	return range(first_of(r), length_of(r) / 2);
}

static uint32_t high_half(uint32_t r)
{
	return range(first_of(r) + length_of(r) / 2, length_of(r) - length_of(r) / 2);
}

static void multiply_block(const struct data *d, uint32_t rows, uint32_t columns, uint32_t inner)
{
	for (uint32_t i = first_of(rows); i < first_of(rows) + length_of(rows); i++) {
		for (uint32_t j = first_of(columns); j < first_of(columns) + length_of(columns); j++) {
			float sum = nvw_load(&d->c[i * d->size + j]);

			for (uint32_t k = first_of(inner); k < first_of(inner) + length_of(inner); k++) {
				sum += nvw_load(&d->a[i * d->size + k]) * nvw_load(&d->b[k * d->size + j]);
			}
			nvw_store(&d->c[i * d->size + j], sum);
		}
	}
}

static void multiply(struct nvw_task *t)
{
	const uint32_t rows = nvw_task_word(t, 0), columns = nvw_task_word(t, 1), inner = nvw_task_word(t, 2);
	const uint64_t longest = u64_max(length_of(rows), length_of(columns));

	if (longest <= BLOCK && length_of(inner) <= BLOCK) {
		multiply_block(nvw_task_data(t), rows, columns, inner);
	} else if (length_of(inner) > longest) {
		nvw_fork(t, multiply, rows, columns, low_half(inner));
		nvw_join(t, multiply, rows, columns, high_half(inner));
	} else if (length_of(rows) == longest) {
		nvw_fork(t, multiply, low_half(rows), columns, inner);
		nvw_fork(t, multiply, high_half(rows), columns, inner);
	} else {
		nvw_fork(t, multiply, rows, low_half(columns), inner);
		nvw_fork(t, multiply, rows, high_half(columns), inner);
	}
}

static const struct nvw_task_program program = {
	.name = "matmul",
	.functions = (const struct nvw_task_function[]){{"multiply", multiply, false}, {NULL, NULL, false}},
	.words = 3,
};

static void trees_matmul_shape(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE] * p->size[SIZE];

	dense_read_only(p, A, DENSE_FLOAT, n, "a", "b");
	dense_written(p, C, DENSE_FLOAT, n, "c");
}

static void trees_matmul_fill(struct dense_plan *p)
{
	dense_fill_real(p, A, -1, 1);
	dense_fill_real(p, B, -1, 1);
}

static int trees_matmul_run(struct dense_plan *p)
{
	const uint32_t all = range(0, (uint32_t)p->size[SIZE]);
	const struct data data = {p->device[A], p->device[B], p->device[C], (uint32_t)p->size[SIZE]};

	return trees_run(p, &program, &data, multiply, all, all, all);
}

static void trees_matmul_expect(struct dense_plan *p)
{
	const float *const a = p->expected[A], *const b = p->expected[B];
	float *const c = p->expected[C];
	const uint64_t n = p->size[SIZE];

	NVW_FOR(i, n * n) {
		NVW_FOR(k, n) {
			c[i] += a[i / n * n + k] * b[k * n + i % n];
		}
	}
}

TREES_WORKLOAD(
	trees_matmul, "trees-matmul", "tasks: matrix multiplication by blocks", .most = {[SIZE] = 1024});
