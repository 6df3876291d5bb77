/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stc's kernels compute, by properties that neither the device's version nor the sequential one knows.
 */
#include "dense_test.h"

#include "core/each.h"

extern const struct nvw_workload nvw_workload_vec_cpy, nvw_workload_cache_reuse, nvw_workload_fg_share,
	nvw_workload_bc, nvw_workload_fw, nvw_workload_mis, nvw_workload_dgemm, nvw_workload_lulesh_proxy,
	nvw_workload_snap_proxy, nvw_workload_hpgmg_proxy;

TEST(vec_cpy_leaves_two_equal_vectors)
{
	RUN(t) = begin(&nvw_workload_vec_cpy, "size=1000", "gd");

	int32_t *const to = verified(&t, "to");
	assert_memory_equal(to, input(&t, "from"), 1000 * sizeof *to);
}

TEST(cache_reuse_adds_once_per_launch)
{
	RUN(t) = begin(&nvw_workload_cache_reuse, "size=100", "gd");
	uint32_t *const read = input(&t, "read"), *const before = input(&t, "updated");

	NVW_FOR(i, 100) {
		read[i] = i;
		before[i] = 7;
	}
	run_and_verify(&t);
	assert_int_equal(t.plan->launches, 10);
	uint32_t *const after = result(&t, "updated");
	NVW_FOR(i, 100) {
		assert_int_equal(after[i], 7 + 10 * i);
	}
}

/* Work-groups 0 to 8 add 1 to 9, three times, and account i has the factor 2 i + 1. */
TEST(fg_share_loses_no_update)
{
	RUN(t) = begin(&nvw_workload_fg_share, "groups=9 accounts=40 rounds=3 group-size=16", "dd");
	uint32_t *const before = input(&t, "ledger");

	memset(before, 0, 40 * sizeof *before);
	uint32_t *const after = verified(&t, "ledger");
	int32_t *const lock = result(&t, "lock");
	NVW_FOR(i, 40) {
		assert_int_equal(after[i], 3 * 45 * (2 * i + 1));
	}
	assert_int_equal(lock[0], 0);
}

/*
 * On a path of n nodes, node v is on the ways between the v before it and the n - 1 - v behind it, there and
 * back.
 */
TEST(bc_counts_the_ways_through_a_path)
{
	enum { N = 13 };
	RUN(t) = begin(&nvw_workload_bc, "graph=grid:13x1 sources=13", "gd");

	double *const centrality = verified(&t, "centrality");
	NVW_FOR(v, N) {
		assert_true(centrality[v] == 2.0 * v * (N - 1 - v));
	}
}

/*
 * Between opposite corners of a square there are two shortest paths: each other corner has half of one, there
 * and back.
 */
TEST(bc_divides_paths_of_equal_length)
{
	RUN(t) = begin(&nvw_workload_bc, "graph=grid:2x2 sources=4", "gd");

	double *const centrality = verified(&t, "centrality");
	NVW_EACH(one, centrality, 4) {
		assert_true(*one == 1);
	}
}

/* The certificate of distances: no edge is a short cut, and the last edge of a way exists. */
TEST(fw_finds_ways_that_no_edge_shortens)
{
	enum { N = 37, FAR = 1 << 29 };
	RUN(t) = begin(&nvw_workload_fw, "size=37", "gd");
	const int32_t *const weights = input(&t, "distances");
	unsigned ways = 0;

	int32_t *const distances = verified(&t, "distances");
	NVW_FOR(s, N) {
		assert_int_equal(distances[s * N + s], 0);
		NVW_FOR(v, N) {
			bool is_way = v == s || distances[s * N + v] == FAR;

			NVW_FOR(u, N) {
				const int32_t over = distances[s * N + u] + weights[u * N + v];

				assert_true(distances[s * N + v] <= over);
				is_way |= u != v && over == distances[s * N + v];
			}
			assert_true(is_way);
			ways += distances[s * N + v] < FAR && distances[s * N + v] < weights[s * N + v];
		}
	}
	assert_true(ways > N * N / 4);
}

TEST(mis_is_independent_and_maximal)
{
	RUN(t) = begin(&nvw_workload_mis, "graph=rmat:8:4", "gd");
	const struct graph *const g = &t.plan->graph;
	unsigned inside = 0;

	int32_t *const states = verified(&t, "states");
	NVW_FOR(v, g->nodes) {
		unsigned inside_beside = 0;

		GRAPH_EACH(i, g, v) {
			inside_beside += states[g->column[i]] == 1;
		}
		assert_true(states[v] == 1 ? inside_beside == 0 : inside_beside > 0);
		inside += states[v] == 1;
	}
	assert_in_range(inside, 1, g->nodes - 1);
}

TEST(dgemm_by_a_unit_matrix_adds_half_of_the_result)
{
	enum { ROWS = 9, COLUMNS = 7 };
	RUN(t) = begin(&nvw_workload_dgemm, "rows=9 columns=7 inner=7", "gd");
	const double *const left = input(&t, "left"), *const before = input(&t, "result");
	double *const right = input(&t, "right");

	NVW_FOR(i, COLUMNS * COLUMNS) {
		right[i] = i % COLUMNS == i / COLUMNS;
	}
	double *const after = verified(&t, "result");
	NVW_FOR(i, ROWS * COLUMNS) {
		assert_close(after[i], 0.75 * left[i] + 0.5 * before[i], 1e-15);
	}
}

/* ---- The proxies ----------------------------------------------------------------------------------- */

/* Element (x, y, z) and element (y, x, z) have the same blast, if they begin alike. */
TEST(lulesh_blast_is_the_same_in_all_directions)
{
	enum { N = 5, ELEMENTS = N * N * N };
	RUN(t) = begin(&nvw_workload_lulesh_proxy, "size=5 steps=20", "gd");
	double *const before = input(&t, "energies"), reached = 0;

	for (unsigned e = 1; e < ELEMENTS; e++) {
		before[e] = 1;
	}
	double *const energies = verified(&t, "energies");
	double *const places = result(&t, "places");
	NVW_FOR(e, ELEMENTS) {
		const unsigned x = e % N, y = e / N % N, z = e / N / N;

		assert_close(energies[e], energies[(z * N + x) * N + y], 1e-12);
		assert_close(energies[e], energies[(x * N + y) * N + z], 1e-12);
		reached = fmax(reached, e ? energies[e] - 1 : 0);
	}
	assert_true(
		energies[0] < 3 && reached > 1e-3); /* the blast leaves its element and compresses others */
	assert_true(places[0] == 0 && places[3 * (N + 1) - 3] == N);
}

/* Energy becomes motion, and little is lost: forces and volumes belong together. */
TEST(lulesh_keeps_energy)
{
	enum { N = 5, NODES = (N + 1) * (N + 1) * (N + 1) };
	RUN(t) = begin(&nvw_workload_lulesh_proxy, "size=5 steps=30", "gd");
	double *const before = input(&t, "energies"), sum[2] = {0}, motion = 0;

	double *const energies = verified(&t, "energies");
	double *const velocities = result(&t, "velocities");
	NVW_FOR(e, N * N * N) {
		sum[0] += before[e];
		sum[1] += energies[e];
	}
	NVW_EACH(velocity, velocities, 3 * NODES) {
		motion += *velocity * *velocity / 2;
	}
	assert_true(motion > 1e-3);
	assert_close(sum[1] + motion, sum[0], 0.2 * motion);
}

enum { SNAP_WIDTH = 5, SNAP_CELLS = SNAP_WIDTH * SNAP_WIDTH * SNAP_WIDTH };

/* The flux in uniform matter. */
static double *snap_flux(struct test *t, const char *sizes, double source, double section)
{
	*t = begin(&nvw_workload_snap_proxy, sizes, "gd");
	double *const sources = input(t, "source"), *const sections = input(t, "cross sections");

	NVW_FOR(i, SNAP_CELLS) {
		sources[i] = source;
		sections[i] = section;
	}
	return verified(t, "flux");
}

/* The flux is the same seen from all corners, as the directions are, and largest in the middle. */
TEST(snap_flux_is_symmetric)
{
	enum { N = SNAP_WIDTH };
	RUN(t);
	double *const flux = snap_flux(&t, "size=5 iterations=3", 1, 1);

	NVW_FOR(i, SNAP_CELLS) {
		const unsigned x = i % N, y = i / N % N, z = i / N / N;

		assert_close(flux[i], flux[SNAP_CELLS - 1 - i], 1e-12);
		assert_close(flux[i], flux[(x * N + z) * N + y], 1e-12);
		assert_true(flux[i] <= flux[SNAP_CELLS / 2] + 1e-12);
	}
	assert_int_equal(t.plan->launches, 3 * (1 + 8 * (3 * N - 2)));
}

/* Far from the walls of thick matter, what is emitted is absorbed: the flux is the emission over the cross
 * section. */
TEST(snap_flux_in_thick_matter_is_local)
{
	RUN(t);
	double *const flux = snap_flux(&t, "size=5 iterations=1", 300, 100);

	assert_close(flux[SNAP_CELLS / 2], 3, 1e-4);
}

/* The greatest difference between right-hand side and minus the Laplacian, on the finest level of width n. */
static double defect(const double *u, const double *right_side, int n)
{
	double most = 0;

	NVW_FOR(i, n * n * n) {
		const int at[3] = {i % n, i / n % n, i / n / n}, stride[3] = {1, n, n * n};
		double sum = 0;

		NVW_FOR(d, 3) {
			sum += 2 * u[i] - (at[d] > 0 ? u[i - stride[d]] : -u[i]);
			sum -= at[d] < n - 1 ? u[i + stride[d]] : -u[i];
		}
		most = fmax(most, fabs(right_side[i] - sum));
	}
	return most;
}

TEST(hpgmg_halves_the_defect_in_each_cycle)
{
	static const char *const options[] = {"levels=4 cycles=1", "levels=4 cycles=3", "levels=4 cycles=5"};
	double last = 0;

	NVW_FOR(i, 3) {
		RUN(t) = begin(&nvw_workload_hpgmg_proxy, options[i], "gd");
		const double *const right_side = input(&t, "right-hand side");
		double now;

		double *const solution = verified(&t, "solution");
		now = defect(solution, right_side, 16);
		assert_true(i == 0 || now < last / 4);
		last = now;
	}
}
