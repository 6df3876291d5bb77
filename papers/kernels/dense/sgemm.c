/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sgemm: product = left x right, matrices of floats. A work-item computes TILE x TILE elements in registers,
 * so that each loaded element is used TILE times: adjacent rows, and distant columns, so that neighbouring
 * work-items load neighbouring elements.
 */
#include "dense.h"

enum { ROWS, COLUMNS, INNER };
enum { LEFT, RIGHT, PRODUCT }; /* rows x inner, inner x columns, rows x columns */
enum { TILE = 4 };

/* Half of Parboil's "medium" in each direction, an eighth of its work (docs/dense.md). */
static const struct nvw_option options[] = {
	DENSE_SIZE("rows", "512", "of the product"),
	DENSE_SIZE("columns", "528", "of the product"),
	DENSE_SIZE("inner", "496", "terms of every sum"),
	DENSE_OPTIONS_END,
};

static void sgemm_shape(struct dense_plan *p)
{
	dense_read_only(p, LEFT, DENSE_FLOAT, p->size[ROWS] * p->size[INNER], "left");
	dense_read_only(p, RIGHT, DENSE_FLOAT, p->size[INNER] * p->size[COLUMNS], "right");
	dense_written(p, PRODUCT, DENSE_FLOAT, p->size[ROWS] * p->size[COLUMNS], "product");
}

static void sgemm_fill(struct dense_plan *p)
{
	dense_fill_real(p, LEFT, -1, 1);
	dense_fill_real(p, RIGHT, -1, 1);
}

struct args {
	const float *left, *right;
	float *product;
	uint64_t rows, columns, inner;
	uint64_t tile_rows, tile_columns; /* rows / TILE and columns / TILE, rounded up */
};

/* Row and column i of a work-item's tile. Beyond the edge, the last row or column is loaded and nothing is
 * stored. */
static inline uint64_t row_of(const struct args *a, uint64_t id, unsigned i)
{
	return id / a->tile_columns * TILE + i;
}

static inline uint64_t column_of(const struct args *a, uint64_t id, unsigned i)
{
	return id % a->tile_columns + i * a->tile_columns;
}

/* Adds the products of term k to the sums. */
static inline void add_term(const struct args *a, uint64_t id, uint64_t k, float sum[TILE][TILE])
{
	float right[TILE];

	NVW_FOR(j, TILE) {
		const uint64_t column = u64_min(column_of(a, id, j), a->columns - 1);

		right[j] = nvw_load_read_only(&a->right[k * a->columns + column]);
	}
	NVW_FOR(i, TILE) {
		const uint64_t row = u64_min(row_of(a, id, i), a->rows - 1);
		const float left = nvw_load_read_only(&a->left[row * a->inner + k]);

		NVW_FOR(j, TILE) {
			sum[i][j] += left * right[j];
		}
	}
}

static void store_tile(const struct args *a, uint64_t id, float sum[TILE][TILE])
{
	for (unsigned i = 0; i < TILE && row_of(a, id, i) < a->rows; i++) {
		for (unsigned j = 0; j < TILE && column_of(a, id, j) < a->columns; j++) {
			const uint64_t element = row_of(a, id, i) * a->columns + column_of(a, id, j);

			nvw_store(&a->product[element], sum[i][j]);
		}
	}
}

DENSE_ITEMS(sgemm_tile, a, id, a->tile_rows * a->tile_columns)
{
	float sum[TILE][TILE] = {{0}};

	NVW_FOR(k, a->inner) {
		add_term(a, id, k, sum);
	}
	store_tile(a, id, sum);
}

static int sgemm_run(struct dense_plan *p)
{
	const struct args args = {.left = p->device[LEFT],
		.right = p->device[RIGHT],
		.product = p->device[PRODUCT],
		.rows = p->size[ROWS],
		.columns = p->size[COLUMNS],
		.inner = p->size[INNER],
		.tile_rows = u64_parts(p->size[ROWS], TILE),
		.tile_columns = u64_parts(p->size[COLUMNS], TILE)};

	assert(args.tile_rows * TILE >= args.rows && args.tile_columns * TILE >= args.columns);
	return dense_launch(p, sgemm_tile, &args, args.tile_rows * args.tile_columns);
}

/* Term by term over a whole row of the product; every sum keeps the order of its terms. */
static void sgemm_expect(struct dense_plan *p)
{
	const uint64_t columns = p->size[COLUMNS], inner = p->size[INNER];
	const float *const left = p->expected[LEFT], *const right = p->expected[RIGHT];
	float *const product = p->expected[PRODUCT];

	assert(p->array[PRODUCT].count == p->size[ROWS] * columns);
	NVW_FOR(y, p->size[ROWS]) {
		NVW_FOR(k, inner) {
			NVW_FOR(x, columns) {
				product[y * columns + x] += left[y * inner + k] * right[k * columns + x];
			}
		}
	}
}

DENSE_WORKLOAD(sgemm, "sgemm", "product of two matrices of floats");
