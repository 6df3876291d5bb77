/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lavamd: forces between particles in a space of boxes. A particle interacts with all particles of its own
 * box and of the up to 26 boxes around it, itself included; boxes are visited in ascending order.
 */
#include "dense.h"

#include <math.h>

enum { BOXES, PARTICLES };
enum { PLACES, CHARGES, FORCES };

/* A position: x, y, z and half the sum of their squares; a force: x, y, z and the potential. Stored box by
 * box. */
enum { X, Y, Z, W, VECTOR };

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "2", "boxes in each of three directions"),
	DENSE_SIZE("particles", "100", "of a box"),
	DENSE_OPTIONS_END,
};

static uint64_t particle_count(const struct dense_plan *p)
{
	return p->size[BOXES] * p->size[BOXES] * p->size[BOXES] * p->size[PARTICLES];
}

static void lavamd_shape(struct dense_plan *p)
{
	dense_read_only(p, PLACES, DENSE_DOUBLE, VECTOR * particle_count(p), "places");
	dense_read_only(p, CHARGES, DENSE_DOUBLE, particle_count(p), "charges");
	dense_written(p, FORCES, DENSE_DOUBLE, VECTOR * particle_count(p), "forces");
}

static void lavamd_fill(struct dense_plan *p)
{
	assert(p->array[PLACES].count == VECTOR * p->array[CHARGES].count);
	dense_fill_real(p, PLACES, 0.1, 1);
	dense_fill_real(p, CHARGES, 0.1, 1);
	NVW_FOR(i, particle_count(p)) {
		double *const place = (double *)p->input[PLACES] + VECTOR * i;

		place[W] = (place[X] * place[X] + place[Y] * place[Y] + place[Z] * place[Z]) / 2;
	}
}

/* Adds to force the effect of a charge at "there". The potential decreases as a Gaussian of the distance. */
static inline void interact(
	double force[VECTOR], const double here[VECTOR], const double there[VECTOR], double charge)
{
	const double narrowness = 0.5;
	const double dot = here[X] * there[X] + here[Y] * there[Y] + here[Z] * there[Z];
	const double distance_squared = 2 * (here[W] + there[W] - dot);
	const double potential = charge * exp(-narrowness * distance_squared);

	force[W] += potential;
	for (unsigned i = X; i <= Z; i++) {
		force[i] += 2 * narrowness * potential * (here[i] - there[i]);
	}
}

struct args {
	const double *places, *charges;
	double *forces;
	uint64_t boxes, particles;
};

static inline void load_place(const struct args *a, uint64_t i, double place[VECTOR])
{
	for (unsigned k = X; k <= W; k++) {
		place[k] = nvw_load_read_only(&a->places[VECTOR * i + k]);
	}
}

static void add_box(const struct args *a, uint64_t box, const double here[VECTOR], double force[VECTOR])
{
	for (uint64_t i = box * a->particles; i < (box + 1) * a->particles; i++) {
		double there[VECTOR];

		load_place(a, i, there);
		interact(force, here, there, nvw_load_read_only(&a->charges[i]));
	}
}

/* The boxes from low to below high in one direction that touch box i. */
struct span {
	uint64_t low, high;
};

static inline struct span around(uint64_t i, uint64_t boxes)
{
	return (struct span){i - (i > 0), u64_min(i + 2, boxes)};
}

DENSE_ITEMS(lavamd_forces, a, id, a->boxes * a->boxes * a->boxes * a->particles)
{
	const uint64_t n = a->boxes, box = id / a->particles;
	const struct span x = around(box % n, n), y = around(box / n % n, n), z = around(box / n / n, n);
	double here[VECTOR], force[VECTOR] = {0};

	load_place(a, id, here);
	for (uint64_t k = z.low; k < z.high; k++) {
		for (uint64_t j = y.low; j < y.high; j++) {
			for (uint64_t i = x.low; i < x.high; i++) {
				add_box(a, (k * n + j) * n + i, here, force);
			}
		}
	}
	for (unsigned k = X; k <= W; k++) {
		nvw_store(&a->forces[VECTOR * id + k], force[k]);
	}
}

static int lavamd_run(struct dense_plan *p)
{
	const struct args args = {.places = p->device[PLACES],
		.charges = p->device[CHARGES],
		.forces = p->device[FORCES],
		.boxes = p->size[BOXES],
		.particles = p->size[PARTICLES]};

	return dense_launch(p, lavamd_forces, &args, particle_count(p));
}

static bool touches(uint64_t a, uint64_t b, uint64_t boxes)
{
	const uint64_t plane = boxes * boxes;
	const int64_t x = (int64_t)(a % boxes) - (int64_t)(b % boxes);
	const int64_t y = (int64_t)(a / boxes % boxes) - (int64_t)(b / boxes % boxes);
	const int64_t z = (int64_t)(a / plane) - (int64_t)(b / plane);

	return x * x <= 1 && y * y <= 1 && z * z <= 1;
}

static void lavamd_expect(struct dense_plan *p)
{
	const uint64_t particles = p->size[PARTICLES];
	const double *const places = p->expected[PLACES], *const charges = p->expected[CHARGES];
	double *const forces = p->expected[FORCES];

	assert(p->array[FORCES].count == p->array[PLACES].count);
	NVW_FOR(i, particle_count(p)) {
		NVW_FOR(j, particle_count(p)) {
			if (touches(i / particles, j / particles, p->size[BOXES])) {
				interact(forces + VECTOR * i, places + VECTOR * i, places + VECTOR * j,
					charges[j]);
			}
		}
	}
}

DENSE_WORKLOAD(lavamd, "lavamd", "forces between particles of neighbouring boxes", .most = {[BOXES] = 1024});
