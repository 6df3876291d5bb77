/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srad: speckle reducing anisotropic diffusion of an image (Yu and Acton), two launches per iteration. The
 * first computes the differences of every pixel to its neighbours and a diffusion coefficient, which is small
 * where they indicate an edge; the second changes the pixel accordingly. Between iterations the host measures
 * the speckle of a part of the image assumed to be homogeneous, its upper left quarter.
 *
 * With a scratchpad work-groups keep blocks of 16 x 16 pixels or coefficients there with what lies around
 * them, as in the second version of Rodinia's program: every work-item loads its own element and those beside
 * the block in its row and its column.
 */
#include "dense.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS, COLUMNS, ITERATIONS };
enum { IMAGE, COEFFICIENTS, NORTH, SOUTH, WEST, EAST }; /* the last four: neighbour minus pixel */
enum { BLOCK = 16 };                                    /* with a scratchpad: rows and columns of a block */

static const struct nvw_option options[] = {
	DENSE_SIZE("rows", "256", "of the image"),
	DENSE_SIZE("columns", "256", "of the image"),
	DENSE_SIZE("iterations", "2", "two launches each"),
	DENSE_SCRATCHPAD_OPTION,
	DENSE_OPTIONS_END,
};

static void srad_shape(struct dense_plan *p)
{
	dense_written(p, IMAGE, DENSE_FLOAT, p->size[ROWS] * p->size[COLUMNS], "image", "coefficients",
		"north", "south", "west", "east");
}

/* An image whose brightness was logarithmic. */
static void srad_fill(struct dense_plan *p)
{
	float *const image = p->input[IMAGE];

	dense_fill_real(p, IMAGE, 0, 1);
	NVW_FOR(i, p->array[IMAGE].count) {
		image[i] = expf(image[i]);
	}
}

/* ---- Arithmetic shared by GPU and host ------------------------------------------------------------ */

struct differences {
	float north, south, west, east;
};

/* The diffusion coefficient; speckle is the squared coefficient of variation of a region with only noise. */
static inline float coefficient(float pixel, struct differences d, float speckle)
{
	const float squares = d.north * d.north + d.south * d.south + d.west * d.west + d.east * d.east;
	const float gradient = squares / (pixel * pixel);
	const float laplacian = (d.north + d.south + d.west + d.east) / pixel;
	const float scale = 1 + 0.25f * laplacian;
	const float variation = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (scale * scale);
	const float c = 1 / (1 + (variation - speckle) / (speckle * (1 + speckle)));

	if (c < 0) {
		return 0;
	}
	return c > 1 ? 1 : c;
}

/* The pixel after a step; its own coefficient is that of its north and west sides. */
static inline float diffuse(float pixel, struct differences d, float own, float south, float east)
{
	const float rate = 0.5f;

	return pixel + 0.25f * rate * (own * d.north + south * d.south + own * d.west + east * d.east);
}

/* The host's part of an iteration. */
static float speckle_of(const float *image, uint64_t rows, uint64_t columns)
{
	const uint64_t height = (rows + 1) / 2, width = (columns + 1) / 2;
	double sum = 0, squares = 0;

	assert(rows >= 3 && columns >= 3);
	NVW_FOR(y, height) {
		NVW_FOR(x, width) {
			const double pixel = image[y * columns + x];

			sum += pixel;
			squares += pixel * pixel;
		}
	}

	const double pixels = (double)(height * width), mean = sum / pixels;

	return (float)((squares / pixels - mean * mean) / (mean * mean));
}

/* ---- The GPU --------------------------------------------------------------------------------------- */

struct args {
	float *image, *coefficients, *north, *south, *west, *east;
	uint64_t rows, columns;
	float speckle;
	struct scratchpad *scratchpads;
};

static void store_coefficient(const struct args *a, uint64_t id, float pixel, struct differences d)
{
	nvw_store(&a->north[id], d.north);
	nvw_store(&a->south[id], d.south);
	nvw_store(&a->west[id], d.west);
	nvw_store(&a->east[id], d.east);
	nvw_store(&a->coefficients[id], coefficient(pixel, d, a->speckle));
}

static struct differences load_differences(const struct args *a, uint64_t id)
{
	return (struct differences){
		nvw_load(&a->north[id]),
		nvw_load(&a->south[id]),
		nvw_load(&a->west[id]),
		nvw_load(&a->east[id]),
	};
}

DENSE_ITEMS(srad_coefficients, a, id, a->rows * a->columns)
{
	const uint64_t row = id / a->columns, column = id % a->columns;
	const float *const image = a->image + id;
	const float pixel = nvw_load(image);
	const struct differences d = {
		.north = DENSE_BESIDE(row > 0, image - a->columns, pixel) - pixel,
		.south = DENSE_BESIDE(row + 1 < a->rows, image + a->columns, pixel) - pixel,
		.west = DENSE_BESIDE(column > 0, image - 1, pixel) - pixel,
		.east = DENSE_BESIDE(column + 1 < a->columns, image + 1, pixel) - pixel,
	};

	store_coefficient(a, id, pixel, d);
}

DENSE_ITEMS(srad_diffuse, a, id, a->rows * a->columns)
{
	const uint64_t row = id / a->columns, column = id % a->columns;
	const float own = nvw_load(&a->coefficients[id]);
	const float south = DENSE_BESIDE(row + 1 < a->rows, &a->coefficients[id + a->columns], own);
	const float east = DENSE_BESIDE(column + 1 < a->columns, &a->coefficients[id + 1], own);
	const struct differences d = load_differences(a, id);

	nvw_store(&a->image[id], diffuse(nvw_load(&a->image[id]), d, own, south, east));
}

/* ---- With a scratchpad ----------------------------------------------------------------------------- */

/* A block, and an element beside each end of its rows and columns; pixels of the rim are their own
 * neighbours. */
struct scratchpad {
	float element[BLOCK + 2][BLOCK + 2];
};

static uint64_t blocks_of(uint64_t elements)
{
	return u64_parts(elements, BLOCK);
}

static inline struct dense_block block_of(const struct args *a)
{
	const uint64_t across = blocks_of(a->columns);

	return dense_block(
		nvw_group_id() / across * BLOCK, nvw_group_id() % across * BLOCK, BLOCK, a->rows, a->columns);
}

/* Row and column of a work-item's i-th element in the block; false: the image ends before it. */
static inline bool is_inside(struct dense_block b, uint64_t i, uint64_t *ret_y, uint64_t *ret_x)
{
	*ret_y = i / BLOCK;
	*ret_x = i % BLOCK;
	return *ret_y < b.rows && *ret_x < b.columns;
}

/* Nobody needs the coefficients to the north and to the west. */
static void keep_block(const struct args *a, const float *from, struct dense_block b, bool all)
{
	struct scratchpad *const pad = a->scratchpads + nvw_group_id();
	const uint64_t above = b.top - (b.top > 0), below = u64_min(b.top + b.rows, a->rows - 1);
	const uint64_t before = b.left - (b.left > 0), behind = u64_min(b.left + b.columns, a->columns - 1);
	uint64_t y, x;

	DENSE_SHARE(uint64_t, i, BLOCK * BLOCK) {
		if (!is_inside(b, i, &y, &x)) {
			continue;
		}

		const float *const row = from + (b.top + y) * a->columns, *const column = from + b.left + x;

		if (all) {
			pad->element[0][x + 1] = nvw_load(column + above * a->columns);
			pad->element[y + 1][0] = nvw_load(row + before);
		}
		pad->element[b.rows + 1][x + 1] = nvw_load(column + below * a->columns);
		pad->element[y + 1][b.columns + 1] = nvw_load(row + behind);
		pad->element[y + 1][x + 1] = nvw_load(row + b.left + x);
	}
	nvw_barrier(NVW_WORKGROUP);
}

DENSE_KERNEL(srad_coefficients_kept, const struct args, a)
{
	const struct dense_block b = block_of(a);
	float(*const element)[BLOCK + 2] = a->scratchpads[nvw_group_id()].element;
	uint64_t y, x;

	keep_block(a, a->image, b, true);
	DENSE_SHARE(uint64_t, i, BLOCK * BLOCK) {
		if (is_inside(b, i, &y, &x)) {
			const float pixel = element[y + 1][x + 1];
			const struct differences d = {element[y][x + 1] - pixel,
				element[y + 2][x + 1] - pixel, element[y + 1][x] - pixel,
				element[y + 1][x + 2] - pixel};

			store_coefficient(a, (b.top + y) * a->columns + b.left + x, pixel, d);
		}
	}
}

DENSE_KERNEL(srad_diffuse_kept, const struct args, a)
{
	const struct dense_block b = block_of(a);
	float(*const element)[BLOCK + 2] = a->scratchpads[nvw_group_id()].element;
	uint64_t y, x;

	keep_block(a, a->coefficients, b, false);
	DENSE_SHARE(uint64_t, i, BLOCK * BLOCK) {
		if (is_inside(b, i, &y, &x)) {
			const uint64_t id = (b.top + y) * a->columns + b.left + x;
			const struct differences d = load_differences(a, id);

			nvw_store(&a->image[id], diffuse(nvw_load(&a->image[id]), d, element[y + 1][x + 1],
							 element[y + 2][x + 1], element[y + 1][x + 2]));
		}
	}
}

static int iterate_kept(struct dense_plan *p, const struct args *args)
{
	const uint64_t work_items = blocks_of(args->rows) * blocks_of(args->columns) * p->group_size;

	NVW_TRY(dense_launch(p, srad_coefficients_kept, args, work_items));
	return dense_launch(p, srad_diffuse_kept, args, work_items);
}

static int srad_iterate(struct dense_plan *p, struct args *args, float *image)
{
	const uint64_t pixels = args->rows * args->columns;

	NVW_TRY(nvw_read(p->machine, image, args->image, pixels * sizeof(*image)));
	args->speckle = speckle_of(image, args->rows, args->columns);
	if (args->scratchpads) {
		return iterate_kept(p, args);
	}
	NVW_TRY(dense_launch(p, srad_coefficients, args, pixels));
	return dense_launch(p, srad_diffuse, args, pixels);
}

static int srad_run(struct dense_plan *p)
{
	float *const image = calloc(p->array[IMAGE].count, sizeof(*image)); /* the host's copy */
	struct args args = {.image = p->device[IMAGE],
		.coefficients = p->device[COEFFICIENTS],
		.north = p->device[NORTH],
		.south = p->device[SOUTH],
		.west = p->device[WEST],
		.east = p->device[EAST],
		.rows = p->size[ROWS],
		.columns = p->size[COLUMNS]};
	int r = image ? 0 : nvw_fail(NVW_E_MEMORY, "srad: no memory for the image");

	if (r == 0 && p->has_scratchpad) {
		r = dense_scratchpads(p, sizeof(struct scratchpad),
			blocks_of(args.rows) * blocks_of(args.columns) * p->group_size);
		args.scratchpads = p->more;
	}
	for (uint64_t i = 0; r == 0 && i < p->size[ITERATIONS]; i++) {
		r = srad_iterate(p, &args, image);
	}
	free(image);
	return r;
}

/* ---- The host -------------------------------------------------------------------------------------- */

static void expect_coefficients(struct dense_plan *p)
{
	const uint64_t rows = p->size[ROWS], columns = p->size[COLUMNS];
	const float *const image = p->expected[IMAGE];
	const float speckle = speckle_of(image, rows, columns);

	assert(p->array[COEFFICIENTS].count == rows * columns);
	NVW_FOR(y, rows) {
		const float *const line = image + y * columns;
		const float *const above = line - (y > 0) * columns;
		const float *const below = line + (y < rows - 1) * columns;

		NVW_FOR(x, columns) {
			const struct differences d = {above[x] - line[x], below[x] - line[x],
				line[x - (x > 0)] - line[x], line[x + (x < columns - 1)] - line[x]};
			const uint64_t i = y * columns + x;

			((float *)p->expected[NORTH])[i] = d.north;
			((float *)p->expected[SOUTH])[i] = d.south;
			((float *)p->expected[WEST])[i] = d.west;
			((float *)p->expected[EAST])[i] = d.east;
			((float *)p->expected[COEFFICIENTS])[i] = coefficient(line[x], d, speckle);
		}
	}
}

static void expect_diffuse(struct dense_plan *p)
{
	const uint64_t rows = p->size[ROWS], columns = p->size[COLUMNS];
	const float *const north = p->expected[NORTH], *const south = p->expected[SOUTH];
	const float *const west = p->expected[WEST], *const east = p->expected[EAST];
	const float *const c = p->expected[COEFFICIENTS];
	float *const image = p->expected[IMAGE];

	for (uint64_t y = 0, i = 0; y < rows; y++) {
		for (uint64_t x = 0; x < columns; x++, i++) {
			const struct differences d = {north[i], south[i], west[i], east[i]};

			image[i] = diffuse(
				image[i], d, c[i], c[i + (y < rows - 1) * columns], c[i + (x < columns - 1)]);
		}
	}
}

static void srad_expect(struct dense_plan *p)
{
	NVW_FOR(i, p->size[ITERATIONS]) {
		expect_coefficients(p);
		expect_diffuse(p);
	}
}

DENSE_WORKLOAD(srad, "srad", "speckle reducing anisotropic diffusion of an image",
	.least = {[ROWS] = 3, [COLUMNS] = 3},
	/* so that the quarter has a variance */);
