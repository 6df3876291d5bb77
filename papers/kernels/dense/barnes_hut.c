/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * barnes-hut: bodies that attract each other (hechtman14 Table 3.2, a microbenchmark of the author). In each
 * step the host builds a tree of cells from the bodies' places; a launch computes the acceleration of every
 * body, in which a cell that is far away counts as one body; a second launch moves the bodies.
 *
 * The tree is an array of cells in depth-first order: behind a cell come its parts, and "skips" has the
 * number of the cell behind those. A work-item walks through it forwards without a stack. The bodies are
 * taken in the order of the tree, so that neighbours among the work-items are neighbours in space and take
 * similar ways.
 */
#include "dense.h"

#include <math.h>
#include <stdlib.h>

enum { BODIES, STEPS, THETA };
enum { MASSES, PLACES, VELOCITIES, ACCELERATIONS, ORDER, CELLS, SKIPS };
enum { DEPTH = 20, CELL = 5 }; /* of the tree at most; values of a cell: centre of mass, mass, width */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "768", "bodies"),
	DENSE_SIZE("steps", "2", "time steps, two launches per step"),
	DENSE_SIZE("theta", "50",
		"percent: a cell counts as one body if its width is below this part of its distance"),
	DENSE_OPTIONS_END,
};

static void barnes_hut_shape(struct dense_plan *p)
{
	const uint64_t n = p->size[BODIES];

	dense_read_only(p, MASSES, DENSE_FLOAT, n, "masses");
	dense_written(p, PLACES, DENSE_FLOAT, 3 * n, "places", "velocities", "accelerations");
	dense_written(p, ORDER, DENSE_UINT32, n, "order"); /* the bodies, cell by cell */
	/* Every cell but those of one body has two parts or more: there are fewer than twice as many as
	 * bodies. */
	dense_written(p, CELLS, DENSE_FLOAT, 2 * n * CELL, "cells");
	dense_written(p, SKIPS, DENSE_UINT32, 2 * n, "skips");
}

static void barnes_hut_fill(struct dense_plan *p)
{
	dense_fill_real(p, MASSES, 0.5, 1.5);
	dense_fill_real(p, PLACES, 0, 1);
	dense_fill_real(p, VELOCITIES, -0.1, 0.1);
}

/* ---- The tree, which the host builds --------------------------------------------------------------- */

struct tree {
	const float *masses, *places;
	float *cells;
	uint32_t *order, *skips;
	uint32_t count; /* cells */
};

struct cube {
	float corner[3], width;
};

/* The eighth of the cube that a body is in, and that eighth. */
static unsigned eighth_of(const float *place, const struct cube *cube)
{
	unsigned eighth = 0;

	NVW_FOR(d, 3) {
		eighth |= (unsigned)(place[d] >= cube->corner[d] + cube->width / 2) << d;
	}
	return eighth;
}

static struct cube eighth(const struct cube *cube, unsigned number)
{
	struct cube e = {.width = cube->width / 2};

	NVW_FOR(d, 3) {
		e.corner[d] = cube->corner[d] + (number >> d & 1 ? e.width : 0);
	}
	return e;
}

/* Sorts bodies first to end - 1 of the order by eighths; eighth i begins at starts[i]. */
static void split(struct tree *t, uint32_t first, uint32_t end, const struct cube *cube, uint32_t starts[9])
{
	for (unsigned e = 0; e < 8; e++) {
		starts[e] = first;
		for (uint32_t i = first; i < end; i++) {
			const uint32_t body = t->order[i];

			if (eighth_of(&t->places[3 * body], cube) == e) {
				t->order[i] = t->order[first];
				t->order[first++] = body;
			}
		}
	}
	assert(first == end);
	starts[8] = first;
}

/* The next cell: the bodies' centre of mass. */
static uint32_t add_cell(struct tree *t, uint32_t first, uint32_t end, float width)
{
	float *const cell = t->cells + t->count * CELL;

	assert(first < end);
	NVW_FOR(i, CELL) {
		cell[i] = 0;
	}
	for (uint32_t i = first; i < end; i++) {
		const float mass = t->masses[t->order[i]];

		NVW_FOR(d, 3) {
			cell[d] += mass * t->places[3 * t->order[i] + d];
		}
		cell[3] += mass;
	}
	NVW_FOR(d, 3) {
		cell[d] /= cell[3];
	}
	cell[4] = width;
	return t->count++;
}

/* A cube with all bodies in one eighth is not a cell of its own. Bodies that DEPTH does not separate are
 * treated as one. */
static void build(struct tree *t, uint32_t first, uint32_t end, struct cube cube, unsigned depth)
{
	uint32_t starts[9], cell;
	unsigned occupied = 0;

	assert(first < end && depth <= DEPTH);
	if (end - first == 1 || depth == DEPTH) {
		cell = add_cell(t, first, end, 0);
		t->skips[cell] = t->count;
		return;
	}
	split(t, first, end, &cube, starts);
	NVW_FOR(e, 8) {
		occupied += starts[e] < starts[e + 1];
	}
	cell = occupied > 1 ? add_cell(t, first, end, cube.width) : UINT32_MAX;
	NVW_FOR(e, 8) {
		if (starts[e] < starts[e + 1]) {
			build(t, starts[e], starts[e + 1], eighth(&cube, e), depth + 1);
		}
	}
	if (cell != UINT32_MAX) {
		t->skips[cell] = t->count;
	}
}

/* The cube around all bodies, and its tree. Returns the number of cells. */
static uint32_t build_all(struct tree t, uint32_t bodies)
{
	const float *const first = t.places;
	struct cube cube = {{first[0], first[1], first[2]}, 0};
	float most[3] = {first[0], first[1], first[2]};

	NVW_FOR(i, 3 * bodies) {
		cube.corner[i % 3] = fminf(cube.corner[i % 3], t.places[i]);
		most[i % 3] = fmaxf(most[i % 3], t.places[i]);
		t.order[i / 3] = i / 3;
	}
	NVW_FOR(d, 3) {
		cube.width = fmaxf(cube.width, most[d] - cube.corner[d]);
	}
	build(&t, 0, bodies, cube, 0);
	assert(t.count < 2 * bodies);
	return t.count;
}

/* ---- Arithmetic of both sides ---------------------------------------------------------------------- */

struct vector {
	float x, y, z;
};

static inline struct vector minus(struct vector a, struct vector b)
{
	return (struct vector){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline float square(struct vector v)
{
	return v.x * v.x + v.y * v.y + v.z * v.z;
}

/* The body itself, and bodies at its place, do not count. */
static inline bool counts_as_one(float width, struct vector away, float theta)
{
	return width * width < theta * theta * square(away);
}

/* The acceleration towards a mass; softened, so that bodies that meet do not fly apart. */
static inline struct vector pull(struct vector acceleration, struct vector away, float mass)
{
	const float softened = square(away) + 1e-4f, g = 1e-4f;
	const float strength = g * mass / (softened * sqrtf(softened));

	return (struct vector){acceleration.x + strength * away.x, acceleration.y + strength * away.y,
		acceleration.z + strength * away.z};
}

static const float time_step = 0.05f;

/* ---- The GPU --------------------------------------------------------------------------------------- */

struct args {
	const float *cells;
	const uint32_t *order, *skips;
	float *places, *velocities, *accelerations;
	uint64_t bodies, cell_count;
	float theta;
};

DENSE_ITEMS(barnes_hut_accelerate, a, id, a->bodies)
{
	struct vector sum = {0};
	const uint32_t body = nvw_load(&a->order[id]);
	const float *const at = a->places + 3 * body;
	const struct vector here = {nvw_load(at), nvw_load(at + 1), nvw_load(at + 2)};

	for (uint64_t i = 0; i < a->cell_count;) {
		const float *const cell = a->cells + i * CELL;
		const struct vector centre = {nvw_load(cell), nvw_load(cell + 1), nvw_load(cell + 2)};
		const struct vector away = minus(centre, here);

		const float mass = nvw_load(cell + 3);
		const bool is_one = counts_as_one(nvw_load(cell + 4), away, a->theta);
		const uint32_t skip = nvw_load(&a->skips[i]);

		if (is_one) {
			sum = pull(sum, away, mass);
			i = skip;
		} else {
			i++;
		}
	}
	nvw_store(&a->accelerations[3 * body], sum.x);
	nvw_store(&a->accelerations[3 * body + 1], sum.y);
	nvw_store(&a->accelerations[3 * body + 2], sum.z);
}

/* One work-item per coordinate. */
DENSE_ITEMS(barnes_hut_move, a, id, 3 * a->bodies)
{
	const float speed = nvw_load(&a->velocities[id]) + time_step * nvw_load(&a->accelerations[id]);

	nvw_store(&a->velocities[id], speed);
	nvw_store(&a->places[id], nvw_load(&a->places[id]) + time_step * speed);
}

/* The host's part of a step. */
static int build_on_device(struct dense_plan *p, uint64_t *ret_cells)
{
	void *copy[SKIPS + 1] = {NULL};
	int r = dense_copy(p, PLACES, &copy[PLACES]);

	for (unsigned i = ORDER; r == 0 && i <= SKIPS; i++) {
		r = dense_copy(p, i, &copy[i]);
	}
	if (r == 0) {
		*ret_cells = build_all((struct tree){p->input[MASSES], copy[PLACES], copy[CELLS], copy[ORDER],
					       copy[SKIPS], 0},
			(uint32_t)p->size[BODIES]);
	}
	for (unsigned i = ORDER; r == 0 && i <= SKIPS; i++) {
		r = dense_put(p, i, 0, p->array[i].count, copy[i]);
	}
	for (unsigned i = PLACES; i <= SKIPS; i++) {
		free(copy[i]);
	}
	return r;
}

static float theta(const struct dense_plan *p)
{
	return (float)p->size[THETA] / 100;
}

static int barnes_hut_run(struct dense_plan *p)
{
	struct args args = {.cells = p->device[CELLS],
		.order = p->device[ORDER],
		.skips = p->device[SKIPS],
		.places = p->device[PLACES],
		.velocities = p->device[VELOCITIES],
		.accelerations = p->device[ACCELERATIONS],
		.bodies = p->size[BODIES],
		.theta = theta(p)};

	NVW_FOR(i, p->size[STEPS]) {
		NVW_TRY(build_on_device(p, &args.cell_count));
		NVW_TRY(dense_launch(p, barnes_hut_accelerate, &args, args.bodies));
		NVW_TRY(dense_launch(p, barnes_hut_move, &args, 3 * args.bodies));
	}
	return 0;
}

/* ---- The sequential version ------------------------------------------------------------------------ */

static struct vector expect_acceleration(const struct dense_plan *p, struct vector here, uint32_t cells)
{
	const float *const cell = p->expected[CELLS];
	const uint32_t *const skips = p->expected[SKIPS];
	struct vector sum = {0};

	assert(cells <= p->array[SKIPS].count);
	for (uint32_t i = 0; i < cells;) {
		const float *const c = cell + i * CELL;
		const struct vector away = minus((struct vector){c[0], c[1], c[2]}, here);

		if (counts_as_one(c[4], away, theta(p))) {
			sum = pull(sum, away, c[3]);
			i = skips[i];
		} else {
			i++;
		}
	}
	return sum;
}

static void barnes_hut_expect(struct dense_plan *p)
{
	const uint32_t n = (uint32_t)p->size[BODIES];
	float *const places = p->expected[PLACES], *const velocities = p->expected[VELOCITIES];
	struct vector *const accelerations = p->expected[ACCELERATIONS];
	const struct tree tree = {
		p->expected[MASSES], places, p->expected[CELLS], p->expected[ORDER], p->expected[SKIPS], 0};

	assert(p->array[CELLS].count == CELL * p->array[SKIPS].count);
	NVW_FOR(t, p->size[STEPS]) {
		const uint32_t cells = build_all(tree, n);

		NVW_FOR(i, n) {
			const float *const at = places + 3 * i;

			accelerations[i] =
				expect_acceleration(p, (struct vector){at[0], at[1], at[2]}, cells);
		}
		NVW_FOR(i, 3 * n) {
			velocities[i] += time_step * ((float *)accelerations)[i];
			places[i] += time_step * velocities[i];
		}
	}
}

DENSE_WORKLOAD(barnes_hut, "barnes-hut", "bodies that attract each other, by a tree of cells",
	.most = {[THETA] = 100});
