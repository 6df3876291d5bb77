/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hotspot: temperatures of a chip computed from the power of its parts, on a grid, in time steps. The
 * temperature of a cell depends on its power, its four neighbours (at the edge: itself) and the air above it.
 *
 * With a scratchpad a launch computes two steps, as in Rodinia: a work-group loads a block, and each step is
 * good for a block that is one cell narrower on every side.
 */
#include "dense.h"

#include <string.h>

enum { ROWS, COLUMNS, ITERATIONS };
/* Temperatures before even and before odd steps: a step reads one array and writes the other. */
enum { POWER, EVEN, ODD };
enum { BLOCK = 16, STEPS = 2 }; /* with a scratchpad: rows and columns of a block, steps of a launch */

static const struct nvw_option options[] = {
	DENSE_SIZE("rows", "512", "of the grid"),
	DENSE_SIZE("columns", "512", "of the grid"),
	DENSE_SIZE("iterations", "2", "time steps, one launch per step, or per two with a scratchpad"),
	DENSE_SCRATCHPAD_OPTION,
	DENSE_OPTIONS_END,
};

static uint64_t launches_with_scratchpads(const struct dense_plan *p)
{
	return u64_parts(p->size[ITERATIONS], STEPS);
}

/* With a scratchpad only the last temperatures are compared: those before depend on the steps of a launch. */
static void hotspot_shape(struct dense_plan *p)
{
	const uint64_t cells = p->size[ROWS] * p->size[COLUMNS];

	dense_read_only(p, POWER, DENSE_FLOAT, cells, "power");
	dense_written(p, EVEN, DENSE_FLOAT, cells, "even", "odd");
	if (p->has_scratchpad) {
		p->array[ODD - launches_with_scratchpads(p) % 2].use = DENSE_SCRATCH;
	}
}

static void hotspot_fill(struct dense_plan *p)
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
	uint64_t steps; /* of the launch; with a scratchpad: 1 to STEPS */
	struct scratchpad *scratchpads;
};

/* temperature[i % 2]: before step i of the launch. */
struct scratchpad {
	float temperature[2][BLOCK][BLOCK], power[BLOCK][BLOCK];
};

DENSE_ITEMS(hotspot_step, a, id, a->rows * a->columns)
{
	const uint64_t row = id / a->columns, column = id % a->columns;
	const float *const from = a->from + id;
	const float here = nvw_load(from);
	const float north = DENSE_BESIDE(row > 0, from - a->columns, here);
	const float south = DENSE_BESIDE(row + 1 < a->rows, from + a->columns, here);
	const float west = DENSE_BESIDE(column > 0, from - 1, here);
	const float east = DENSE_BESIDE(column + 1 < a->columns, from + 1, here);

	nvw_store(&a->to[id], step(nvw_load_read_only(&a->power[id]), here, north, south, west, east));
}

/* A work-group's place in the grid: of its first cell, which may lie before the grid. */
struct place {
	int64_t top, left;
};

static inline bool is_inside(const struct args *a, int64_t row, int64_t column)
{
	return row >= 0 && column >= 0 && row < (int64_t)a->rows && column < (int64_t)a->columns;
}

static void keep_block(const struct args *a, struct scratchpad *pad, struct place at)
{
	DENSE_SHARE(unsigned, i, BLOCK * BLOCK) {
		const unsigned y = i / BLOCK, x = i % BLOCK;
		const int64_t row = at.top + y, column = at.left + x;

		if (is_inside(a, row, column)) {
			const uint64_t cell = (uint64_t)row * a->columns + (uint64_t)column;

			pad->temperature[0][y][x] = nvw_load(&a->from[cell]);
			pad->power[y][x] = nvw_load_read_only(&a->power[cell]);
		}
	}
	nvw_barrier(NVW_WORKGROUP);
}

static inline float step_kept(
	const struct args *a, const struct scratchpad *pad, struct place at, unsigned n, unsigned i)
{
	const unsigned y = i / BLOCK, x = i % BLOCK;
	const int64_t row = at.top + y, column = at.left + x;
	const float(*const t)[BLOCK] = pad->temperature[n % 2];

	return step(pad->power[y][x], t[y][x], t[y - (row > 0)][x], t[y + (row + 1 < (int64_t)a->rows)][x],
		t[y][x - (column > 0)], t[y][x + (column + 1 < (int64_t)a->columns)]);
}

/* Step n is good for cells that are more than n from the block's border. */
DENSE_KERNEL(hotspot_steps, const struct args, a)
{
	const uint64_t width = BLOCK - 2 * a->steps, blocks = u64_parts(a->columns, width);
	const struct place at = {(int64_t)(nvw_group_id() / blocks * width - a->steps),
		(int64_t)(nvw_group_id() % blocks * width - a->steps)};
	struct scratchpad *const pad = a->scratchpads + nvw_group_id();

	keep_block(a, pad, at);
	NVW_FOR(n, a->steps) {
		DENSE_SHARE(unsigned, i, BLOCK * BLOCK) {
			const unsigned y = i / BLOCK, x = i % BLOCK;
			const int64_t row = at.top + y, column = at.left + x;

			if (y <= n || y >= BLOCK - 1 - n || x <= n || x >= BLOCK - 1 - n ||
				!is_inside(a, row, column)) {
				continue;
			}
			pad->temperature[(n + 1) % 2][y][x] = step_kept(a, pad, at, n, i);
			if (n + 1 == a->steps) {
				nvw_store(&a->to[(uint64_t)row * a->columns + (uint64_t)column],
					pad->temperature[(n + 1) % 2][y][x]);
			}
		}
		nvw_barrier(NVW_WORKGROUP);
	}
}

static uint64_t groups_with_scratchpads(const struct dense_plan *p, uint64_t steps)
{
	const uint64_t width = BLOCK - 2 * steps;

	assert(steps > 0 && steps <= STEPS);
	return u64_parts(p->size[ROWS], width) * u64_parts(p->size[COLUMNS], width);
}

static int launch_steps(struct dense_plan *p, const struct args *args)
{
	if (!p->has_scratchpad) {
		return dense_launch(p, hotspot_step, args, args->rows * args->columns);
	}
	return dense_launch(p, hotspot_steps, args, groups_with_scratchpads(p, args->steps) * p->group_size);
}

static int hotspot_run(struct dense_plan *p)
{
	const uint64_t steps = p->has_scratchpad ? STEPS : 1;

	if (p->has_scratchpad) { /* the more steps, the more groups */
		NVW_TRY(dense_scratchpads(
			p, sizeof(struct scratchpad), groups_with_scratchpads(p, STEPS) * p->group_size));
	}
	NVW_FOR(i, u64_parts(p->size[ITERATIONS], steps)) {
		const struct args args = {.power = p->device[POWER],
			.from = p->device[EVEN + i % 2],
			.to = p->device[ODD - i % 2],
			.rows = p->size[ROWS],
			.columns = p->size[COLUMNS],
			.steps = u64_min(p->size[ITERATIONS] - i * steps, steps),
			.scratchpads = p->more};

		NVW_TRY(launch_steps(p, &args));
	}
	return 0;
}

static void hotspot_expect(struct dense_plan *p)
{
	const uint64_t rows = p->size[ROWS], columns = p->size[COLUMNS];
	const float *const power = p->expected[POWER];

	assert(p->array[POWER].count == rows * columns);
	NVW_FOR(t, p->size[ITERATIONS]) {
		const float *const from = p->expected[EVEN + t % 2];
		float *const to = p->expected[ODD - t % 2];

		NVW_FOR(y, rows) {
			const float *const line = from + y * columns;
			const float *const above = line - (y > 0) * columns;
			const float *const below = line + (y < rows - 1) * columns;

			NVW_FOR(x, columns) {
				const uint64_t i = y * columns + x;

				to[i] = step(power[i], line[x], above[x], below[x], line[x - (x > 0)],
					line[x + (x < columns - 1)]);
			}
		}
	}
	if (p->has_scratchpad && (p->size[ITERATIONS] + launches_with_scratchpads(p)) % 2) {
		const uint64_t last = p->size[ITERATIONS] % 2;

		memcpy(p->expected[ODD - last], p->expected[EVEN + last], rows * columns * sizeof(float));
	}
}

DENSE_WORKLOAD(
	hotspot, "hotspot", "temperatures of a chip: a grid in which every cell follows its neighbours");
