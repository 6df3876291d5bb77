/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lulesh-proxy: the launch pattern of LULESH (stc 6), not its physics. It stands for many short launches per
 * time step, which go over the elements and the nodes of a mesh in turns, look their neighbours up in the
 * same read-only tables in every step, and update the same few arrays in place. A protocol that keeps the
 * tables in the L1s from launch to launch loads them once. Missing: the equation of state, viscosity,
 * hourglass forces, and a time step that follows from the flow.
 *
 * What it computes: a gas in a closed box, a cube of hexahedral elements. Four launches per step: the
 * pressure of an element from its energy and volume; the velocity of a node from the pressures around it; its
 * place; and the volume and energy of an element from the places of its nodes. stc's run has 3,380 launches:
 * 845 steps.
 */
#include "dense.h"

enum { SIZE, STEPS };
enum { CORNERS, AROUND, ENERGIES, VOLUMES, PRESSURES, VELOCITIES, PLACES };
enum { EIGHT = 8 }; /* corners of an element, and elements around a node */

#define NONE UINT32_MAX /* no element: the node is at the rim */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "12", "elements in each direction, at most 64"),
	DENSE_SIZE("steps", "30", "time steps, four launches per step"),
	DENSE_OPTIONS_END,
};

static uint64_t element_count(const struct dense_plan *p)
{
	return p->size[SIZE] * p->size[SIZE] * p->size[SIZE];
}

static uint64_t node_count(const struct dense_plan *p)
{
	const uint64_t nodes = p->size[SIZE] + 1;

	return nodes * nodes * nodes;
}

static void lulesh_proxy_shape(struct dense_plan *p)
{
	const uint64_t elements = element_count(p), nodes = node_count(p);

	dense_read_only(p, CORNERS, DENSE_UINT32, EIGHT * elements, "corners");
	dense_read_only(p, AROUND, DENSE_UINT32, EIGHT * nodes, "around");
	dense_written(p, ENERGIES, DENSE_DOUBLE, elements, "energies", "volumes", "pressures");
	dense_written(p, VELOCITIES, DENSE_DOUBLE, 3 * nodes, "velocities", "places");
}

/* Bit d of a corner's number: the corner is on the far side in direction d. The node at corner c has the
 * element at its corner 7 - c. */
static void fill_tables(struct dense_plan *p)
{
	uint32_t *const corners = p->input[CORNERS], *const around = p->input[AROUND];
	const uint32_t n = (uint32_t)p->size[SIZE];

	NVW_FOR(i, p->array[AROUND].count) {
		around[i] = NONE;
	}
	NVW_FOR(e, n * n * n) {
		const uint32_t x = e % n, y = e / n % n, z = e / n / n;

		NVW_FOR(c, EIGHT) {
			const uint32_t column = x + (c & 1), row = y + (c >> 1 & 1), layer = z + (c >> 2);
			const uint32_t node = (layer * (n + 1) + row) * (n + 1) + column;

			corners[EIGHT * e + c] = node;
			around[EIGHT * node + EIGHT - 1 - c] = e;
		}
	}
}

/* Elements of size 1, with a little energy; the first one has much, as in Sedov's blast. */
static void lulesh_proxy_fill(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE] + 1;
	double *const volumes = p->input[VOLUMES], *const places = p->input[PLACES];

	assert(p->array[PLACES].count == 3 * node_count(p));
	fill_tables(p);
	dense_fill_real(p, ENERGIES, 0.9, 1.1);
	((double *)p->input[ENERGIES])[0] = 3;
	NVW_FOR(e, element_count(p)) {
		volumes[e] = 1;
	}
	NVW_FOR(i, node_count(p)) {
		places[3 * i] = (double)(i % n);
		places[3 * i + 1] = (double)(i / n % n);
		places[3 * i + 2] = (double)(i / n / n);
	}
}

/* ---- Arithmetic of both sides ---------------------------------------------------------------------- */

static const double time_step = 0.02;

static inline double pressure(double energy, double volume)
{
	return 0.4 * energy / volume;
}

/* Contribution of the pressure of element number k around a node to the force in direction d: away from the
 * element. */
static inline double push(double pressure, unsigned k, unsigned d)
{
	return k >> d & 1 ? -0.25 * pressure : 0.25 * pressure;
}

/* The box holds nodes at its walls in the direction across: the place there is 0 or size. */
static inline double accelerate(double velocity, double force, uint64_t place, uint64_t size)
{
	return place == 0 || place == size ? 0 : velocity + time_step * force;
}

/* The extent of an element in direction d, four times: its far corners without its near ones. */
static inline double extent(const double places[EIGHT][3], unsigned d)
{
	double sum = 0;

	NVW_FOR(c, EIGHT) {
		sum += c >> d & 1 ? places[c][d] : -places[c][d];
	}
	return sum;
}

static inline double volume_of(const double places[EIGHT][3])
{
	return extent(places, 0) * extent(places, 1) * extent(places, 2) / 64;
}

/* ---- The GPU --------------------------------------------------------------------------------------- */

struct args {
	const uint32_t *corners, *around;
	double *energies, *volumes, *pressures, *velocities, *places;
	uint64_t elements, nodes, size;
};

DENSE_ITEMS(lulesh_pressure, a, e, a->elements)
{
	const double energy = nvw_load(&a->energies[e]);

	nvw_store(&a->pressures[e], pressure(energy, nvw_load(&a->volumes[e])));
}

DENSE_BRANCH double pressure_of(const struct args *a, uint32_t element)
{
	return element == NONE ? 0 : nvw_load(&a->pressures[element]);
}

DENSE_ITEMS(lulesh_accelerate, a, i, a->nodes)
{
	const uint64_t n = a->size + 1;
	const uint64_t at[3] = {i % n, i / n % n, i / n / n};
	double force[3] = {0};

	NVW_FOR(k, EIGHT) {
		const double p = pressure_of(a, nvw_load_read_only(&a->around[EIGHT * i + k]));

		NVW_FOR(d, 3) {
			force[d] += push(p, k, d);
		}
	}
	NVW_FOR(d, 3) {
		const double velocity = nvw_load(&a->velocities[3 * i + d]);

		nvw_store(&a->velocities[3 * i + d], accelerate(velocity, force[d], at[d], a->size));
	}
}

/* One work-item per coordinate. */
DENSE_ITEMS(lulesh_move, a, i, 3 * a->nodes)
{
	const double velocity = nvw_load(&a->velocities[i]);

	nvw_store(&a->places[i], nvw_load(&a->places[i]) + time_step * velocity);
}

DENSE_ITEMS(lulesh_compress, a, e, a->elements)
{
	double places[EIGHT][3];

	NVW_FOR(c, EIGHT) {
		const uint32_t node = nvw_load_read_only(&a->corners[EIGHT * e + c]);

		NVW_FOR(d, 3) {
			places[c][d] = nvw_load(&a->places[3 * node + d]);
		}
	}

	const double volume = volume_of(places), growth = volume - nvw_load(&a->volumes[e]);
	const double energy = nvw_load(&a->energies[e]);

	nvw_store(&a->energies[e], energy - nvw_load(&a->pressures[e]) * growth);
	nvw_store(&a->volumes[e], volume);
}

static int lulesh_proxy_run(struct dense_plan *p)
{
	const struct args args = {.corners = p->device[CORNERS],
		.around = p->device[AROUND],
		.energies = p->device[ENERGIES],
		.volumes = p->device[VOLUMES],
		.pressures = p->device[PRESSURES],
		.velocities = p->device[VELOCITIES],
		.places = p->device[PLACES],
		.elements = element_count(p),
		.nodes = node_count(p),
		.size = p->size[SIZE]};

	NVW_FOR(i, p->size[STEPS]) {
		NVW_TRY(dense_launch(p, lulesh_pressure, &args, args.elements));
		NVW_TRY(dense_launch(p, lulesh_accelerate, &args, args.nodes));
		NVW_TRY(dense_launch(p, lulesh_move, &args, 3 * args.nodes));
		NVW_TRY(dense_launch(p, lulesh_compress, &args, args.elements));
	}
	return 0;
}

/* ---- The sequential version ------------------------------------------------------------------------ */

static void expect_node(struct dense_plan *p, uint64_t i)
{
	const uint64_t n = p->size[SIZE] + 1, at[3] = {i % n, i / n % n, i / n / n};
	const uint32_t *const around = (const uint32_t *)p->expected[AROUND] + EIGHT * i;
	const double *const pressures = p->expected[PRESSURES];
	double *const velocity = (double *)p->expected[VELOCITIES] + 3 * i;
	double *const place = (double *)p->expected[PLACES] + 3 * i;

	assert(i < node_count(p));
	NVW_FOR(d, 3) {
		double force = 0;

		NVW_FOR(k, EIGHT) {
			force += push(around[k] == NONE ? 0 : pressures[around[k]], k, d);
		}
		velocity[d] = accelerate(velocity[d], force, at[d], p->size[SIZE]);
		place[d] += time_step * velocity[d];
	}
}

static void expect_element(struct dense_plan *p, uint64_t e)
{
	const uint32_t *const corners = (const uint32_t *)p->expected[CORNERS] + EIGHT * e;
	double *const volumes = p->expected[VOLUMES], places[EIGHT][3];

	assert(e < element_count(p));
	NVW_FOR(c, EIGHT) {
		NVW_FOR(d, 3) {
			places[c][d] = ((double *)p->expected[PLACES])[3 * corners[c] + d];
		}
	}

	const double volume = volume_of(places), growth = volume - volumes[e];

	((double *)p->expected[ENERGIES])[e] -= ((double *)p->expected[PRESSURES])[e] * growth;
	volumes[e] = volume;
}

static void lulesh_proxy_expect(struct dense_plan *p)
{
	const double *const energies = p->expected[ENERGIES], *const volumes = p->expected[VOLUMES];

	NVW_FOR(step, p->size[STEPS]) {
		NVW_FOR(e, element_count(p)) {
			((double *)p->expected[PRESSURES])[e] = pressure(energies[e], volumes[e]);
		}
		NVW_FOR(i, node_count(p)) {
			expect_node(p, i);
		}
		NVW_FOR(e, element_count(p)) {
			expect_element(p, e);
		}
	}
}

DENSE_WORKLOAD(lulesh_proxy, "lulesh-proxy", "many short launches over the elements and nodes of a mesh",
	.most = {[SIZE] = 64});
