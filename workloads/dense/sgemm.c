/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sgemm: product = left x right, matrices of floats. A work-item computes TILE x TILE elements in
 * registers, so that what it loads serves TILE times: rows below each other, and columns far apart, so that
 * neighbours among the work-items load neighbouring elements.
 */
#include "dense.h"

enum { ROWS, COLUMNS, INNER };
enum { LEFT, RIGHT, PRODUCT }; /* rows x inner, inner x columns, rows x columns */
enum { TILE = 8 };

static const struct nvw_option options[] = {
	{"rows", NVW_OPTION_COUNT, "1024", NULL, "of the product"},
	{"columns", NVW_OPTION_COUNT, "1056", NULL, "of the product"},
	{"inner", NVW_OPTION_COUNT, "992", NULL, "terms of every sum"},
	DENSE_OPTIONS_END,
};

static void shape(struct dense_plan *p)
{
	dense_array(p, LEFT, "left", DENSE_FLOAT, DENSE_READ_ONLY, p->size[ROWS] * p->size[INNER]);
	dense_array(p, RIGHT, "right", DENSE_FLOAT, DENSE_READ_ONLY, p->size[INNER] * p->size[COLUMNS]);
	dense_array(p, PRODUCT, "product", DENSE_FLOAT, DENSE_WRITTEN, p->size[ROWS] * p->size[COLUMNS]);
}

static void fill(struct dense_plan *p)
{
	dense_fill_real(p, LEFT, -1, 1);
	dense_fill_real(p, RIGHT, -1, 1);
}

struct args {
	const float *left, *right;
	float *product;
	uint64_t rows, columns, inner;
	uint64_t tile_rows, tile_columns; /* ceilings of rows / TILE and columns / TILE */
};

/* Rows and columns of a work-item's tile. Past the matrix its last ones are loaded, and nothing is stored. */
struct tile {
	uint64_t row[TILE], column[TILE];
};

static inline struct tile tile_of(const struct args *a, uint64_t id)
{
	struct tile t;

	for (unsigned i = 0; i < TILE; i++) {
		t.row[i] = id / a->tile_columns * TILE + i;
		t.column[i] = id % a->tile_columns + i * a->tile_columns;
	}
	return t;
}

static inline uint64_t within(uint64_t i, uint64_t count)
{
	return i < count ? i : count - 1;
}

/* Adds the products of term k to the sums. */
static inline void add_term(const struct args *a, const struct tile *t, uint64_t k, float sum[TILE][TILE])
{
	float right[TILE];

	for (unsigned j = 0; j < TILE; j++) {
		right[j] = nvw_load_read_only(&a->right[k * a->columns + within(t->column[j], a->columns)]);
	}
	for (unsigned i = 0; i < TILE; i++) {
		const float left = nvw_load_read_only(&a->left[within(t->row[i], a->rows) * a->inner + k]);

		for (unsigned j = 0; j < TILE; j++) {
			sum[i][j] += left * right[j];
		}
	}
}

static void sgemm_tile(const void *args)
{
	const struct args *const a = args;
	const uint64_t id = nvw_global_id();
	const struct tile t = tile_of(a, id);
	float sum[TILE][TILE] = {{0}};

	if (id >= a->tile_rows * a->tile_columns) {
		return;
	}
	for (uint64_t k = 0; k < a->inner; k++) {
		add_term(a, &t, k, sum);
	}
	for (unsigned i = 0; i < TILE; i++) {
		for (unsigned j = 0; j < TILE; j++) {
			if (t.row[i] < a->rows && t.column[j] < a->columns) {
				nvw_store(&a->product[t.row[i] * a->columns + t.column[j]], sum[i][j]);
			}
		}
	}
}

static int run(struct dense_plan *p)
{
	const struct args args = {.left = p->array[LEFT].device,
		.right = p->array[RIGHT].device,
		.product = p->array[PRODUCT].device,
		.rows = p->size[ROWS],
		.columns = p->size[COLUMNS],
		.inner = p->size[INNER],
		.tile_rows = (p->size[ROWS] + TILE - 1) / TILE,
		.tile_columns = (p->size[COLUMNS] + TILE - 1) / TILE};

	return dense_launch(p, sgemm_tile, &args, args.tile_rows * args.tile_columns);
}

/* Term by term over a whole row of the product: every sum still has its terms in order. */
static void expect(struct dense_plan *p)
{
	const uint64_t columns = p->size[COLUMNS], inner = p->size[INNER];
	const float *const left = p->array[LEFT].expected, *const right = p->array[RIGHT].expected;
	float *const product = p->array[PRODUCT].expected;

	for (uint64_t y = 0; y < p->size[ROWS]; y++) {
		for (uint64_t k = 0; k < inner; k++) {
			for (uint64_t x = 0; x < columns; x++) {
				product[y * columns + x] += left[y * inner + k] * right[k * columns + x];
			}
		}
	}
}

static const struct dense_kernel kernel = {
	.name = "sgemm", .options = options, .shape = shape, .fill = fill, .run = run, .expect = expect};

DENSE_WORKLOAD(sgemm, "product of two matrices of floats");
