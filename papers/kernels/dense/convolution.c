/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convolution: 2D convolution of an image with a square filter (hechtman14 Table 3.2, a microbenchmark of the
 * author). Pixels outside the image are 0.
 *
 * The loads for one row of the filter are issued together and used afterwards: they are independent, and a
 * memory system that allows several loads under way per work-item can overlap them (3.4.3).
 */
#include "dense.h"

enum { ROWS, COLUMNS, WIDTH };
enum { IMAGE, FILTER, RESULT };
enum { WIDTH_MAX = 15 };

static const struct nvw_option options[] = {
	DENSE_SIZE("rows", "192", "of the image"),
	DENSE_SIZE("columns", "192", "of the image"),
	DENSE_SIZE("width", "5", "rows and columns of the filter, at most 15"),
	DENSE_OPTIONS_END,
};

static void convolution_shape(struct dense_plan *p)
{
	const uint64_t pixels = p->size[ROWS] * p->size[COLUMNS];

	dense_read_only(p, IMAGE, DENSE_FLOAT, pixels, "image");
	dense_read_only(p, FILTER, DENSE_FLOAT, p->size[WIDTH] * p->size[WIDTH], "filter");
	dense_written(p, RESULT, DENSE_FLOAT, pixels, "result");
}

static void convolution_fill(struct dense_plan *p)
{
	dense_fill_real(p, IMAGE, 0, 1);
	dense_fill_real(p, FILTER, -1, 1);
}

struct args {
	const float *image, *filter;
	float *result;
	uint64_t rows, columns, width;
};

/* Adds the products of row i of the filter; line is the image's row under it, and x its column under the
 * filter's first. */
static float add_row(const struct args *a, uint64_t i, const float *line, int64_t x, float sum)
{
	struct nvw_issued pixels[WIDTH_MAX], weights[WIDTH_MAX];
	const int64_t columns = (int64_t)a->columns;
	const unsigned first = x < 0 ? (unsigned)-x : 0;
	const unsigned end = (unsigned)(columns - x < (int64_t)a->width ? columns - x : (int64_t)a->width);

	for (unsigned j = first; j < end; j++) {
		pixels[j] = nvw_load_issue(&line[x + j]);
		weights[j] = nvw_load_issue(&a->filter[i * a->width + j]);
	}
	for (unsigned j = first; j < end; j++) {
		sum += nvw_load_use(weights[j], float) * nvw_load_use(pixels[j], float);
	}
	return sum;
}

DENSE_ITEMS(convolution_pixel, a, id, a->rows * a->columns)
{
	const uint64_t half = a->width / 2;
	const int64_t row = (int64_t)(id / a->columns - half), column = (int64_t)(id % a->columns - half);
	float sum = 0;

	NVW_FOR(i, a->width) {
		const int64_t y = row + (int64_t)i;

		if (y >= 0 && y < (int64_t)a->rows) {
			sum = add_row(a, i, a->image + (uint64_t)y * a->columns, column, sum);
		}
	}
	nvw_store(&a->result[id], sum);
}

static int convolution_run(struct dense_plan *p)
{
	const struct args args = {.image = p->device[IMAGE],
		.filter = p->device[FILTER],
		.result = p->device[RESULT],
		.rows = p->size[ROWS],
		.columns = p->size[COLUMNS],
		.width = p->size[WIDTH]};

	assert(args.width <= WIDTH_MAX);
	return dense_launch(p, convolution_pixel, &args, args.rows * args.columns);
}

/* Each element of the filter adds the shifted image: every sum still has its terms in order. */
static void convolution_expect(struct dense_plan *p)
{
	const uint64_t rows = p->size[ROWS], columns = p->size[COLUMNS], width = p->size[WIDTH];
	const float *const image = p->expected[IMAGE], *const filter = p->expected[FILTER];
	float *const sums = p->expected[RESULT];

	assert(p->array[RESULT].count == rows * columns);
	NVW_FOR(i, width * width) {
		const uint64_t down = i / width, right = i % width, half = width / 2;

		for (uint64_t y = half > down ? half - down : 0; y < rows && y + down < rows + half; y++) {
			const float *const line = image + (y + down - half) * columns;

			for (uint64_t x = half > right ? half - right : 0;
				x < columns && x + right < columns + half; x++) {
				sums[y * columns + x] += filter[i] * line[x + right - half];
			}
		}
	}
}

DENSE_WORKLOAD(convolution, "convolution", "2D convolution of an image with a filter",
	.most = {[WIDTH] = WIDTH_MAX});
