/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dct: discrete cosine transform of an image in blocks of 8 x 8 pixels, as in the AMD APP SDK and in JPEG:
 * transform = basis x block x basis transposed. The original keeps the first product in the scratchpad;
 * without one it is an array here, and each product is a launch.
 */
#include "dense.h"

#include <math.h>

enum { BLOCK_ROWS, BLOCK_COLUMNS };
enum { IMAGE, BASIS, HALF, TRANSFORM };
enum { BLOCK = 8 }; /* pixels, in rows and columns */

static const struct nvw_option options[] = {
	DENSE_SIZE("rows", "32", "blocks of 8 x 8 pixels from top to bottom"),
	DENSE_SIZE("columns", "32", "blocks from left to right"),
	DENSE_SCRATCHPAD_OPTION,
	DENSE_OPTIONS_END,
};

static uint64_t pixels(const struct dense_plan *p)
{
	return p->size[BLOCK_ROWS] * p->size[BLOCK_COLUMNS] * BLOCK * BLOCK;
}

static void dct_shape(struct dense_plan *p)
{
	dense_read_only(p, IMAGE, DENSE_FLOAT, pixels(p), "image");
	dense_read_only(p, BASIS, DENSE_FLOAT, BLOCK * BLOCK, "basis");
	DENSE_ADD(p, p->has_scratchpad ? DENSE_SCRATCH : DENSE_WRITTEN, HALF, DENSE_FLOAT, pixels(p), "half");
	dense_written(p, TRANSFORM, DENSE_FLOAT, pixels(p), "transform");
}

/* Row u of the basis: the cosine of frequency u at eight places, of length 1. */
static void dct_fill(struct dense_plan *p)
{
	float *const basis = p->input[BASIS];

	dense_fill_real(p, IMAGE, 0, 255);
	NVW_FOR(i, BLOCK * BLOCK) {
		const unsigned u = i / BLOCK, x = i % BLOCK;

		basis[i] = (float)(sqrt((u ? 2.0 : 1.0) / BLOCK) * cos(M_PI * u * (2 * x + 1) / (2 * BLOCK)));
	}
}

struct args {
	const float *image, *basis;
	float *half, *transform;
	uint64_t rows, columns; /* in pixels */
	float *scratchpads;
	uint64_t blocks; /* of a work-group with a scratchpad */
};

/* half = basis x block: down the columns. */
DENSE_ITEMS(dct_columns, a, id, a->rows * a->columns)
{
	const uint64_t row = id / a->columns, column = id % a->columns;
	float sum = 0;

	NVW_FOR(k, BLOCK) {
		const float basis = nvw_load_read_only(&a->basis[row % BLOCK * BLOCK + k]);

		sum += basis * nvw_load_read_only(&a->image[(row / BLOCK * BLOCK + k) * a->columns + column]);
	}
	nvw_store(&a->half[id], sum);
}

/* transform = half x basis transposed: along the rows. */
DENSE_ITEMS(dct_rows, a, id, a->rows * a->columns)
{
	const uint64_t row = id / a->columns, column = id % a->columns;
	float sum = 0;

	NVW_FOR(k, BLOCK) {
		const float basis = nvw_load_read_only(&a->basis[column % BLOCK * BLOCK + k]);

		sum += nvw_load(&a->half[row * a->columns + column / BLOCK * BLOCK + k]) * basis;
	}
	nvw_store(&a->transform[id], sum);
}

/* The corner of a work-group's block, as a place in the image; false: there is none. */
static inline bool corner_of(const struct args *a, uint64_t block, uint64_t *ret_corner)
{
	const uint64_t across = a->columns / BLOCK, i = nvw_group_id() * a->blocks + block;

	*ret_corner = i / across * BLOCK * a->columns + i % across * BLOCK;
	return i < across * (a->rows / BLOCK);
}

/* Both products of some blocks. */
DENSE_KERNEL(dct_blocks, const struct args, a)
{
	const uint64_t pixels = a->blocks * BLOCK * BLOCK;
	float *const half = a->scratchpads + nvw_group_id() * pixels;
	uint64_t corner;

	DENSE_SHARE(uint64_t, i, pixels) {
		const uint64_t y = i / BLOCK % BLOCK, x = i % BLOCK;

		half[i] = 0;
		for (unsigned k = 0; k < BLOCK && corner_of(a, i / (BLOCK * BLOCK), &corner); k++) {
			const float basis = nvw_load_read_only(&a->basis[y * BLOCK + k]);

			half[i] += basis * nvw_load_read_only(&a->image[corner + k * a->columns + x]);
		}
	}
	nvw_barrier(NVW_WORKGROUP);
	DENSE_SHARE(uint64_t, i, pixels) {
		const uint64_t y = i / BLOCK % BLOCK, x = i % BLOCK;
		float sum = 0;

		if (!corner_of(a, i / (BLOCK * BLOCK), &corner)) {
			continue;
		}
		NVW_FOR(k, BLOCK) {
			sum += half[i - x + k] * nvw_load_read_only(&a->basis[x * BLOCK + k]);
		}
		nvw_store(&a->transform[corner + y * a->columns + x], sum);
	}
}

static int run_with_scratchpads(struct dense_plan *p, struct args *args)
{
	const uint64_t blocks = p->size[BLOCK_ROWS] * p->size[BLOCK_COLUMNS];
	uint64_t work_items;

	assert(args->rows % BLOCK == 0 && args->columns % BLOCK == 0);
	args->blocks = u64_max(p->group_size / (BLOCK * BLOCK), 1);
	work_items = u64_parts(blocks, args->blocks) * p->group_size;
	NVW_TRY(dense_scratchpads(p, args->blocks * BLOCK * BLOCK * sizeof(float), work_items));
	args->scratchpads = p->more;
	return dense_launch(p, dct_blocks, args, work_items);
}

static int dct_run(struct dense_plan *p)
{
	struct args args = {.image = p->device[IMAGE],
		.basis = p->device[BASIS],
		.half = p->device[HALF],
		.transform = p->device[TRANSFORM],
		.rows = p->size[BLOCK_ROWS] * BLOCK,
		.columns = p->size[BLOCK_COLUMNS] * BLOCK};

	if (p->has_scratchpad) {
		return run_with_scratchpads(p, &args);
	}
	NVW_TRY(dense_launch(p, dct_columns, &args, pixels(p)));
	return dense_launch(p, dct_rows, &args, pixels(p));
}

/* The sum of the products of elements that are so far apart. */
static float product(const float *a, uint64_t a_step, const float *b, uint64_t b_step)
{
	float sum = 0;

	NVW_FOR(k, BLOCK) {
		sum += a[k * a_step] * b[k * b_step];
	}
	return sum;
}

static void expect_block(struct dense_plan *p, uint64_t corner, uint64_t columns)
{
	const float *const image = p->expected[IMAGE], *const basis = p->expected[BASIS];
	float *const half = p->expected[HALF], *const transform = p->expected[TRANSFORM];

	NVW_FOR(i, BLOCK * BLOCK) {
		const unsigned y = i / BLOCK, x = i % BLOCK;

		half[corner + y * columns + x] = product(&basis[y * BLOCK], 1, &image[corner + x], columns);
	}
	NVW_FOR(i, BLOCK * BLOCK) {
		const uint64_t row = corner + i / BLOCK * columns, x = i % BLOCK;

		transform[row + x] = product(&half[row], 1, &basis[x * BLOCK], 1);
	}
}

static void dct_expect(struct dense_plan *p)
{
	const uint64_t columns = p->size[BLOCK_COLUMNS] * BLOCK;

	NVW_FOR(y, p->size[BLOCK_ROWS]) {
		NVW_FOR(x, p->size[BLOCK_COLUMNS]) {
			expect_block(p, y * BLOCK * columns + x * BLOCK, columns);
		}
	}
}

DENSE_WORKLOAD(dct, "dct", "discrete cosine transform of an image in blocks of 8 x 8");
