/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * snap-proxy: the launch pattern of SNAP (stc 6), not its physics. It stands for sweeps through a grid, one
 * launch per diagonal plane: launches that begin with one cell, grow to some hundred, and shrink again,
 * thousands per time step, and all read the same cross sections. Missing: energy groups, anisotropic
 * scattering, time.
 *
 * What it computes: the flux of particles that a source emits, that matter absorbs and scatters, and that
 * leave through the walls. In each iteration a launch computes what every cell emits and scatters; then come
 * eight sweeps, one per octant of directions, in which a cell takes in the flows through the three faces that
 * it faces and passes its own flow on. A cell of a plane needs only cells of the plane before.
 */
#include "dense.h"

enum { SIZE, ITERATIONS };
/* Emitted: by the source and by scattering. Flows: through the faces across x, y and z, for each direction of
 * an octant. */
enum { SOURCE, SECTIONS, EMITTED, FLUX, FLOW_X, FLOW_Y, FLOW_Z };
enum { OCTANTS = 8, DIRECTIONS = 3 };

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "12", "cells in each direction, at most 128"),
	DENSE_SIZE("iterations", "2", "of scattering: eight sweeps each"),
	DENSE_OPTIONS_END,
};

static uint64_t cells(const struct dense_plan *p)
{
	return p->size[SIZE] * p->size[SIZE] * p->size[SIZE];
}

static void snap_proxy_shape(struct dense_plan *p)
{
	const uint64_t flows = p->size[SIZE] * p->size[SIZE] * DIRECTIONS;

	dense_read_only(p, SOURCE, DENSE_DOUBLE, cells(p), "source", "cross sections");
	dense_written(p, EMITTED, DENSE_DOUBLE, cells(p), "emitted", "flux");
	dense_written(p, FLOW_X, DENSE_DOUBLE, flows, "flow x", "flow y", "flow z");
}

static void snap_proxy_fill(struct dense_plan *p)
{
	dense_fill_real(p, SOURCE, 0.5, 1.5);
	dense_fill_real(p, SECTIONS, 0.5, 1.5);
}

/* ---- Arithmetic of both sides ---------------------------------------------------------------------- */

/* Cosines of a direction with the axes; in turns they are the directions of an octant, of equal weight. */
static const double cosines[3] = {0.2, 0.4, 0.8944271909999159};

static inline double emission(double source, double section, double flux)
{
	const double scattered = 0.5; /* part of the flux that matter meets and does not absorb */

	return source + scattered * section * flux;
}

/* The flow out of a cell whose width is 1, in direction number d, from what comes in through three faces. */
static inline double flow(double emitted, double section, unsigned d, double x, double y, double z)
{
	const double mu = cosines[d], eta = cosines[(d + 1) % 3], xi = cosines[(d + 2) % 3];

	return (emitted + mu * x + eta * y + xi * z) / (section + mu + eta + xi);
}

static const double weight = 1.0 / (OCTANTS * DIRECTIONS);

/* Cell number i of a row, seen from the corner where the octant's sweep begins. */
static inline uint64_t seen(uint64_t i, unsigned octant, unsigned axis, uint64_t size)
{
	return octant >> axis & 1 ? size - 1 - i : i;
}

/* ---- The GPU --------------------------------------------------------------------------------------- */

struct args {
	const double *source, *sections;
	double *emitted, *flux, *flow_x, *flow_y, *flow_z;
	uint64_t size, plane;
	unsigned octant;
};

DENSE_ITEMS(snap_emit, a, cell, a->size * a->size * a->size)
{
	const double source = nvw_load_read_only(&a->source[cell]),
		     section = nvw_load_read_only(&a->sections[cell]);

	nvw_store(&a->emitted[cell], emission(source, section, nvw_load(&a->flux[cell])));
	nvw_store(&a->flux[cell], 0);
}

/* What comes in through a face: nothing, if the face is a wall. */
DENSE_BRANCH double incoming(const double *face, uint64_t i)
{
	return i == 0 ? 0 : nvw_load(face);
}

/* Work-item (y, z) has the cell of the plane whose places, seen from the sweep's corner, add up to the
 * plane's number. */
DENSE_ITEMS(snap_sweep, a, id, a->size * a->size)
{
	const uint64_t n = a->size, y = id % n, z = id / n, x = a->plane - y - z;

	if (y + z > a->plane || x >= n) {
		return;
	}

	const uint64_t column = seen(x, a->octant, 0, n), row = seen(y, a->octant, 1, n);
	const uint64_t layer = seen(z, a->octant, 2, n), cell = (layer * n + row) * n + column;
	const double emitted = nvw_load(&a->emitted[cell]), section = nvw_load_read_only(&a->sections[cell]);
	double flux = nvw_load(&a->flux[cell]);

	NVW_FOR(d, DIRECTIONS) {
		double *const face_x = &a->flow_x[(z * n + y) * DIRECTIONS + d];
		double *const face_y = &a->flow_y[(z * n + x) * DIRECTIONS + d];
		double *const face_z = &a->flow_z[(y * n + x) * DIRECTIONS + d];
		const double in_x = incoming(face_x, x), in_y = incoming(face_y, y);
		const double out = flow(emitted, section, d, in_x, in_y, incoming(face_z, z));

		nvw_store(face_x, out);
		nvw_store(face_y, out);
		nvw_store(face_z, out);
		flux += weight * out;
	}
	nvw_store(&a->flux[cell], flux);
}

static int run_sweeps(struct dense_plan *p, struct args *args)
{
	const uint64_t planes = 3 * args->size - 2;
	assert(args->size > 0);

	NVW_TRY(dense_launch(p, snap_emit, args, cells(p)));
	NVW_FOR(i, OCTANTS * planes) {
		args->octant = (unsigned)(i / planes);
		args->plane = i % planes;
		NVW_TRY(dense_launch(p, snap_sweep, args, args->size * args->size));
	}
	return 0;
}

static int snap_proxy_run(struct dense_plan *p)
{
	struct args args = {.source = p->device[SOURCE],
		.sections = p->device[SECTIONS],
		.emitted = p->device[EMITTED],
		.flux = p->device[FLUX],
		.flow_x = p->device[FLOW_X],
		.flow_y = p->device[FLOW_Y],
		.flow_z = p->device[FLOW_Z],
		.size = p->size[SIZE]};

	NVW_FOR(i, p->size[ITERATIONS]) {
		NVW_TRY(run_sweeps(p, &args));
	}
	return 0;
}

/* ---- The sequential version: row by row ------------------------------------------------------------- */

static double flow_in(const double *face, uint64_t i)
{
	return i == 0 ? 0 : *face;
}

static void expect_cell(struct dense_plan *p, unsigned octant, uint64_t x, uint64_t y, uint64_t z)
{
	const uint64_t n = p->size[SIZE], column = seen(x, octant, 0, n), row = seen(y, octant, 1, n);
	const uint64_t cell = (seen(z, octant, 2, n) * n + row) * n + column;
	const double emitted = ((double *)p->expected[EMITTED])[cell];
	const double section = ((double *)p->expected[SECTIONS])[cell];

	assert(x < n && y < n && z < n);
	NVW_FOR(d, DIRECTIONS) {
		double *const fx = (double *)p->expected[FLOW_X] + (z * n + y) * DIRECTIONS + d;
		double *const fy = (double *)p->expected[FLOW_Y] + (z * n + x) * DIRECTIONS + d;
		double *const fz = (double *)p->expected[FLOW_Z] + (y * n + x) * DIRECTIONS + d;
		const double out = flow(emitted, section, d, flow_in(fx, x), flow_in(fy, y), flow_in(fz, z));

		*fx = *fy = *fz = out;
		((double *)p->expected[FLUX])[cell] += weight * out;
	}
}

static void snap_proxy_expect(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];
	const double *const source = p->expected[SOURCE], *const sections = p->expected[SECTIONS];
	double *const flux = p->expected[FLUX];

	assert(p->array[FLUX].count == n * n * n);
	NVW_FOR(t, p->size[ITERATIONS]) {
		NVW_FOR(i, cells(p)) {
			((double *)p->expected[EMITTED])[i] = emission(source[i], sections[i], flux[i]);
			flux[i] = 0;
		}
		NVW_FOR(i, OCTANTS * cells(p)) {
			const uint64_t cell = i % cells(p);

			expect_cell(p, (unsigned)(i / cells(p)), cell % n, cell / n % n, cell / n / n);
		}
	}
}

DENSE_WORKLOAD(snap_proxy, "snap-proxy", "sweeps through a grid, one launch per diagonal plane",
	.most = {[SIZE] = 128});
