/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dct: discrete cosine transform of an image in blocks of 8 x 8 pixels, as in the AMD APP SDK and in JPEG: transform =
 * basis x block x basis transposed. The original keeps the first product in the scratchpad; here it is an array, and
 * each product is a launch.
 */
#include "dense.h"

#include <math.h>

enum { BLOCK_ROWS, BLOCK_COLUMNS };
enum { IMAGE, BASIS, HALF, TRANSFORM };
enum { BLOCK = 8 }; /* pixels, in rows and columns */

static const struct nvw_option options[] = {
	{"rows", NVW_OPTION_COUNT, "32", NULL, "blocks of 8 x 8 pixels from top to bottom"},
	{"columns", NVW_OPTION_COUNT, "32", NULL, "blocks from left to right"},
	DENSE_OPTIONS_END,
};

static uint64_t pixels(const struct dense_plan *p)
{
	return p->size[BLOCK_ROWS] * p->size[BLOCK_COLUMNS] * BLOCK * BLOCK;
}

static void shape(struct dense_plan *p)
{
	dense_array(p, IMAGE, "image", DENSE_FLOAT, DENSE_READ_ONLY, pixels(p));
	dense_array(p, BASIS, "basis", DENSE_FLOAT, DENSE_READ_ONLY, BLOCK * BLOCK);
	dense_array(p, HALF, "half", DENSE_FLOAT, DENSE_WRITTEN, pixels(p));
	dense_array(p, TRANSFORM, "transform", DENSE_FLOAT, DENSE_WRITTEN, pixels(p));
}

/* Row u of the basis: the cosine of frequency u at eight places, of length 1. */
static void fill(struct dense_plan *p)
{
	float *const basis = p->array[BASIS].input;

	dense_fill_real(p, IMAGE, 0, 255);
	for (unsigned i = 0; i < BLOCK * BLOCK; i++) {
		const unsigned u = i / BLOCK, x = i % BLOCK;

		basis[i] = (float)(sqrt((u ? 2.0 : 1.0) / BLOCK) * cos(M_PI * u * (2 * x + 1) / (2 * BLOCK)));
	}
}

struct args {
	const float *image, *basis;
	float *half, *transform;
	uint64_t rows, columns; /* in pixels */
};

/* half = basis x block: down the columns. */
static void dct_columns(const void *args)
{
	const struct args *const a = args;
	const uint64_t id = nvw_global_id(), row = id / a->columns, column = id % a->columns;
	float sum = 0;

	if (row >= a->rows) {
		return;
	}
	for (unsigned k = 0; k < BLOCK; k++) {
		const float basis = nvw_load_read_only(&a->basis[row % BLOCK * BLOCK + k]);

		sum += basis * nvw_load_read_only(&a->image[(row / BLOCK * BLOCK + k) * a->columns + column]);
	}
	nvw_store(&a->half[id], sum);
}

/* transform = half x basis transposed: along the rows. */
static void dct_rows(const void *args)
{
	const struct args *const a = args;
	const uint64_t id = nvw_global_id(), row = id / a->columns, column = id % a->columns;
	float sum = 0;

	if (row >= a->rows) {
		return;
	}
	for (unsigned k = 0; k < BLOCK; k++) {
		const float basis = nvw_load_read_only(&a->basis[column % BLOCK * BLOCK + k]);

		sum += nvw_load(&a->half[row * a->columns + column / BLOCK * BLOCK + k]) * basis;
	}
	nvw_store(&a->transform[id], sum);
}

static int run(struct dense_plan *p)
{
	const struct args args = {.image = p->array[IMAGE].device,
		.basis = p->array[BASIS].device,
		.half = p->array[HALF].device,
		.transform = p->array[TRANSFORM].device,
		.rows = p->size[BLOCK_ROWS] * BLOCK,
		.columns = p->size[BLOCK_COLUMNS] * BLOCK};
	const int r = dense_launch(p, dct_columns, &args, pixels(p));

	return r ? r : dense_launch(p, dct_rows, &args, pixels(p));
}

/* Block by block. */
static void expect_block(struct dense_plan *p, uint64_t corner, uint64_t columns)
{
	const float *const image = p->array[IMAGE].expected, *const basis = p->array[BASIS].expected;
	float *const half = p->array[HALF].expected, *const transform = p->array[TRANSFORM].expected;

	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < BLOCK * BLOCK; i++) {
			const unsigned y = i / BLOCK, x = i % BLOCK;
			float sum = 0;

			for (unsigned k = 0; k < BLOCK; k++) {
				sum += pass ? half[corner + y * columns + k] * basis[x * BLOCK + k] :
					      basis[y * BLOCK + k] * image[corner + k * columns + x];
			}
			(pass ? transform : half)[corner + y * columns + x] = sum;
		}
	}
}

static void expect(struct dense_plan *p)
{
	const uint64_t columns = p->size[BLOCK_COLUMNS] * BLOCK;

	for (uint64_t y = 0; y < p->size[BLOCK_ROWS]; y++) {
		for (uint64_t x = 0; x < p->size[BLOCK_COLUMNS]; x++) {
			expect_block(p, y * BLOCK * columns + x * BLOCK, columns);
		}
	}
}

static const struct dense_kernel kernel = {
	.name = "dct", .options = options, .shape = shape, .fill = fill, .run = run, .expect = expect};

DENSE_WORKLOAD(dct, "discrete cosine transform of an image in blocks of 8 x 8");
