/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hotspot: temperatures of a chip computed from the power of its parts, on a grid, in time steps. The
 * temperature of a cell depends on its power, its four neighbours (at the edge: itself) and the air above it.
 */
#include "dense.h"

enum { ROWS, COLUMNS, ITERATIONS };
/* Temperatures before even and before odd steps: a step reads one array and writes the other. */
enum { POWER, EVEN, ODD };

static const struct nvw_option options[] = {
	{"rows", NVW_OPTION_COUNT, "512", NULL, "of the grid"},
	{"columns", NVW_OPTION_COUNT, "512", NULL, "of the grid"},
	{"iterations", NVW_OPTION_COUNT, "2", NULL, "time steps, one launch per step"},
	DENSE_OPTIONS_END,
};

static void shape(struct dense_plan *p)
{
	const uint64_t cells = p->size[ROWS] * p->size[COLUMNS];

	dense_array(p, POWER, "power", DENSE_FLOAT, DENSE_READ_ONLY, cells);
	dense_array(p, EVEN, "even", DENSE_FLOAT, DENSE_WRITTEN, cells);
	dense_array(p, ODD, "odd", DENSE_FLOAT, DENSE_WRITTEN, cells);
}

static void fill(struct dense_plan *p)
{
	dense_fill_real(p, POWER, 0, 0.01); /* W */
	dense_fill_real(p, EVEN, 323, 343); /* K */
}

/* The cell's temperature after one step; conductances in W/K, step over heat capacity in K/J. */
static inline float step(float power, float here, float north, float south, float west, float east)
{
	const float along = 0.1f, up = 0.0025f, air = 353, warming = 2;
	const float flow = (north + south - 2 * here) * along + (west + east - 2 * here) * along;

	return here + warming * (power + flow + (air - here) * up);
}

struct args {
	const float *power, *from;
	float *to;
	uint64_t rows, columns;
};

static void hotspot_step(const void *args)
{
	const struct args *const a = args;
	const uint64_t id = nvw_global_id();
	const uint64_t row = id / a->columns, column = id % a->columns;

	if (row >= a->rows) {
		return;
	}

	const float *const from = a->from + id;
	const float here = nvw_load(from);
	const float north = row > 0 ? nvw_load(from - a->columns) : here;
	const float south = row + 1 < a->rows ? nvw_load(from + a->columns) : here;
	const float west = column > 0 ? nvw_load(from - 1) : here;
	const float east = column + 1 < a->columns ? nvw_load(from + 1) : here;

	nvw_store(&a->to[id], step(nvw_load_read_only(&a->power[id]), here, north, south, west, east));
}

static int run(struct dense_plan *p)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < p->size[ITERATIONS]; i++) {
		const struct args args = {.power = p->array[POWER].device,
			.from = p->array[i % 2 ? ODD : EVEN].device,
			.to = p->array[i % 2 ? EVEN : ODD].device,
			.rows = p->size[ROWS],
			.columns = p->size[COLUMNS]};

		r = dense_launch(p, hotspot_step, &args, args.rows * args.columns);
	}
	return r;
}

static void expect(struct dense_plan *p)
{
	const uint64_t rows = p->size[ROWS], columns = p->size[COLUMNS];
	const float *const power = p->array[POWER].expected;

	for (uint64_t t = 0; t < p->size[ITERATIONS]; t++) {
		const float *const from = p->array[t % 2 ? ODD : EVEN].expected;
		float *const to = p->array[t % 2 ? EVEN : ODD].expected;

		for (uint64_t y = 0; y < rows; y++) {
			const float *const line = from + y * columns;
			const float *const above = y ? line - columns : line;
			const float *const below = y < rows - 1 ? line + columns : line;

			for (uint64_t x = 0; x < columns; x++) {
				const float west = line[x ? x - 1 : 0];
				const float east = line[x < columns - 1 ? x + 1 : x];
				const uint64_t i = y * columns + x;

				to[i] = step(power[i], line[x], above[x], below[x], west, east);
			}
		}
	}
}

static const struct dense_kernel kernel = {
	.name = "hotspot", .options = options, .shape = shape, .fill = fill, .run = run, .expect = expect};

DENSE_WORKLOAD(hotspot, "temperatures of a chip: a grid in which every cell follows its neighbours");
