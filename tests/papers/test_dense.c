/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The small kernels on the emulated machine: they compute what the host computes, under every protocol and at
 * sizes that fill no work-group and no block; and what sinclair15's compute is what is asked for, by
 * properties that neither side knows. (hechtman14's: test_dense_hechtman14.c, stc's: test_dense_stc.c.)
 */
#include "dense_test.h"

#include "common/skip.h"

/* Each with sizes that are multiples of nothing, and with its smallest ones. */
#define KERNELS(X)                                                                                     \
	X(backprop, "size=213", "size=1")                                                              \
	X(pathfinder, "rows=7 columns=301", "rows=1 columns=1")                                        \
	X(lud, "size=53", "size=1")                                                                    \
	X(nw, "size=37", "size=1")                                                                     \
	X(sgemm, "rows=37 columns=51 inner=23", "rows=1 columns=1 inner=1")                            \
	X(stencil, "rows=13 columns=19 depth=5 iterations=3", "rows=3 columns=3 depth=3 iterations=1") \
	X(hotspot, "rows=23 columns=31 iterations=3", "rows=1 columns=1 iterations=1")                 \
	X(nn, "size=1013", "size=1")                                                                   \
	X(srad, "rows=23 columns=31 iterations=3", "rows=3 columns=3 iterations=1")                    \
	X(lavamd, "size=3 particles=5", "size=1 particles=1")                                          \
	X(bfs, "graph=rmat:7:4", "graph=grid:1x1")                                                     \
	X(kmeans, "size=213 features=3 clusters=4", "size=1 features=1 clusters=1 iterations=1")       \
	X(histogram, "size=1013 batches=3", "size=1 batches=1")                                        \
	X(reduction, "size=3013", "size=1")                                                            \
	X(dct, "rows=3 columns=5", "rows=1 columns=1")                                                 \
	X(spmv, "graph=rmat:7:4", "graph=grid:1x1")                                                    \
	X(sort, "size=97", "size=1")                                                                   \
	X(apsp, "graph=road:23", "graph=grid:1x1")                                                     \
	X(convolution, "rows=23 columns=31 width=4", "rows=1 columns=1 width=1")                       \
	X(fft, "stages=7", "stages=1")                                                                 \
	X(barnes_hut, "size=53 steps=3", "size=1 steps=1")                                             \
	X(dijkstra, "size=37", "size=1")                                                               \
	X(vec_cpy, "size=1013", "size=1")                                                              \
	X(cache_reuse, "size=301 launches=3", "size=1 launches=1")                                     \
	X(fg_share, "groups=5 accounts=23 rounds=2", "groups=1 accounts=1 rounds=1")                   \
	X(bc, "graph=rmat:6:4 sources=3", "graph=grid:1x1 sources=1")                                  \
	X(fw, "size=17", "size=1")                                                                     \
	X(mis, "graph=rmat:6:4", "graph=grid:1x1")                                                     \
	X(dgemm, "rows=13 columns=19 inner=11", "rows=1 columns=1 inner=1")                            \
	X(lulesh_proxy, "size=3 steps=3", "size=1 steps=1")                                            \
	X(snap_proxy, "size=3 iterations=2", "size=1 iterations=1")                                    \
	X(hpgmg_proxy, "levels=3 cycles=1", "levels=1 cycles=1")

#define X(name, sizes, smallest) extern const struct nvw_workload nvw_workload_##name;
KERNELS(X)
#undef X

static const struct kernel {
	const struct nvw_workload *workload;
	const char *sizes, *smallest;
} kernels[] = {
#define X(name, sizes, smallest) {&nvw_workload_##name, sizes, smallest},
	KERNELS(X)
#undef X
};

enum { KERNELS = NVW_COUNT(kernels) };

/* ---- Device and host ------------------------------------------------------------------------------- */

TEST(kernels_compute_under_every_protocol_what_the_host_computes)
{
	for_each_protocol_name(at, NEXT_PROTOCOL) {
		NVW_EACH(kernel, kernels, KERNELS) {
			RUN(t) = begin(kernel->workload, kernel->sizes, at.name);

			run_and_verify(&t);
		}
	}
}

TEST(results_do_not_depend_on_the_size_of_work_groups)
{
	NVW_EACH(kernel, kernels, KERNELS) {
		static const char *const group_sizes[] = {"1", "7", "1024"};

		for_each(group_size, group_sizes) {
			RUN(t) = begin(kernel->workload,
				formatted("%s group-size=%s", kernel->sizes, *group_size), "gd");

			run_and_verify(&t);
		}
	}
}

TEST(smallest_sizes_work)
{
	NVW_EACH(kernel, kernels, KERNELS) {
		RUN(t) = begin(kernel->workload, kernel->smallest, "gd");

		run_and_verify(&t);
	}
}

TEST(a_flipped_bit_in_any_array_is_a_violation)
{
	NVW_EACH(kernel, kernels, KERNELS) {
		RUN(t) = begin(kernel->workload, kernel->sizes, "gd");

		run_and_verify(&t);
		NVW_FOR(i, t.plan->arrays) {
			const struct dense_array *const a = &t.plan->array[i];
			uint8_t *const last = (uint8_t *)t.plan->device[i] + bytes_of(a) - 4;

			if (a->use == DENSE_SCRATCH) {
				continue;
			}
			flip(&t, last);
			assert_int_equal(verify(&t), NVW_E_INCONSISTENT);
			assert_int_equal(t.findings.count, 1);
			assert_has(t.findings.finding[0].text, a->name);
			flip(&t, last);
		}
		assert_int_equal(verify(&t), 0);
	}
}

TEST(real_graphs_are_computed_alike)
{
	static const struct {
		const struct nvw_workload *workload;
		const char *graph, *options;
	} real[] = {
		{&nvw_workload_bfs, "wiki-Vote.txt", ""},
		{&nvw_workload_spmv, "bips98_606.mtx", ""},
		{&nvw_workload_bc, "bips98_606.mtx", " sources=1"},
		{&nvw_workload_mis, "4elt.graph", ""},
	};
	for_each(row, real) {
		const char *const file = shared_data(formatted("graphs/%s", row->graph));

		if (!file) {
			skip_test("%s is not there", row->graph);
		}
		RUN(t) = begin(row->workload, formatted("graph=%s%s", file, row->options), "dd");
		run_and_verify(&t);
	}
}

/* ---- Plans ----------------------------------------------------------------------------------------- */

static bool has_same_inputs(const struct dense_plan *a, const struct dense_plan *b)
{
	NVW_FOR(i, a->arrays) {
		if (memcmp(a->input[i], b->input[i], bytes_of(&a->array[i])) != 0) {
			return false;
		}
	}
	return true;
}

TEST(inputs_follow_from_the_seed)
{
	NVW_EACH(kernel, kernels, KERNELS) {
		const struct nvw_workload *const w = kernel->workload;
		void *first, *again, *other;

		assert_int_equal(prepare_with(w, kernel->sizes, 1, -1, &first), 0);
		assert_int_equal(prepare_with(w, kernel->sizes, 1, -1, &again), 0);
		assert_int_equal(prepare_with(w, kernel->sizes, 2, -1, &other), 0);
		assert_true(has_same_inputs(first, again));
		assert_false(has_same_inputs(first, other));
		w->dispose(first);
		w->dispose(again);
		w->dispose(other);
	}
}

TEST(sizes_out_of_range_are_refused_by_name)
{
	static const struct {
		const struct nvw_workload *workload;
		const char *sizes, *says;
	} bad[] = {
		{&nvw_workload_nn, "size=0", "nn: --size: expected 1 to 1048576, found 0"},
		{&nvw_workload_nn, "size=2M", "nn: --size: expected 1 to 1048576, found 2000000"},
		{&nvw_workload_nn, "group-size=0", "nn: --group-size: expected 1 to 1024, found 0"},
		{&nvw_workload_stencil, "depth=2", "stencil: --depth: expected 3 to 1048576, found 2"},
		{&nvw_workload_lavamd, "size=1025", "lavamd: --size: expected 1 to 1024, found 1025"},
		{&nvw_workload_lavamd, "size=1024 particles=1M", "lavamd: expected arrays of at most 1 GiB"},
		{&nvw_workload_srad, "rows=1M columns=1M", "srad: expected arrays of at most 1 GiB"},
	};

	for_each(option, bad) {
		void *plan;

		assert_int_equal(prepare_with(option->workload, option->sizes, 1, -1, &plan), NVW_E_USAGE);
		assert_memory_equal(nvw_error_message(), option->says, strlen(option->says));
	}
}

/* ---- What is computed ------------------------------------------------------------------------------ */

/* The loss of backprop's perceptron, in double, of weights as they were. */
static double loss_of(const struct test *t, const float *weights)
{
	const float *const units = input(t, "units"), *const output = input(t, "output weights");
	double sum = output[16];

	NVW_FOR(j, 16) {
		double hidden = 0;

		NVW_FOR(i, t->plan->array[0].count) {
			hidden += (double)units[i] * weights[16 * i + j];
		}
		sum += output[j] / (1 + exp(-hidden));
	}
	return pow(0.1 - 1 / (1 + exp(-sum)), 2) / 2;
}

TEST(backprop_goes_down_the_gradient)
{
	RUN(t) = begin(&nvw_workload_backprop, "size=40", "gd");
	float *const before = input(&t, "weights");

	float *const after = verified(&t, "weights");
	for (unsigned i = 0; i < 41 * 16; i += 29) {
		const float weight = before[i], step = 1.0f / 64;
		double slope;

		before[i] = weight + step;
		slope = loss_of(&t, before);
		before[i] = weight - step;
		slope = (slope - loss_of(&t, before)) / (2 * (double)step);
		before[i] = weight;
		assert_close(after[i] - weight, -0.3 * slope, 1e-3 * fabs(slope) + 1e-7);
	}
}

TEST(pathfinder_finds_the_cheapest_way)
{
	static const int32_t weights[] = {3, 1, 9, 9, 2, //
		9, 9, 5, 1, 9,                           //
		9, 0, 9, 9, 9};
	static const int32_t costs[] = {10 + 9, 6 + 0, 3 + 9, 3 + 9, 3 + 9}; /* after 10 10 6 3 11 */
	RUN(t) = begin(&nvw_workload_pathfinder, "rows=3 columns=5", "gd");

	memcpy(input(&t, "weights"), weights, sizeof weights);
	memcpy(input(&t, "even"), weights, 5 * sizeof *weights);
	int32_t *const even = verified(&t, "even");
	assert_memory_equal(even, costs, sizeof costs);
}

TEST(lud_factors_multiply_to_the_matrix)
{
	enum { N = 53 };
	RUN(t) = begin(&nvw_workload_lud, "size=53", "gd");
	const float *const a = input(&t, "matrix");

	float *const lu = verified(&t, "matrix");
	for (unsigned i = 0; i < N; i++) {
		for (unsigned j = 0; j < N; j++) {
			double sum = i <= j ? lu[i * N + j] : 0; /* the diagonal of L is 1 */

			for (unsigned k = 0; k < i && k <= j; k++) {
				sum += (double)lu[i * N + k] * lu[k * N + j];
			}
			assert_close(sum, a[i * N + j], 1e-4);
		}
	}
}

/* The second sequence has lost a letter of the first: three are alike, and a gap. */
TEST(nw_aligns_across_a_gap)
{
	static const char *const first = "ABCD", *const second = "ACDE";
	RUN(t) = begin(&nvw_workload_nw, "size=4", "gd");
	int32_t *const similarity = input(&t, "similarity");

	NVW_FOR(i, 16) {
		similarity[i] = first[i / 4] == second[i % 4] ? 20 : -20;
	}
	int32_t *const scores = verified(&t, "scores");
	assert_int_equal(scores[4 * 5 + 3], 3 * 20 - 10);
	assert_int_equal(scores[4 * 5 + 4], 3 * 20 - 2 * 10);
}

TEST(sgemm_by_a_shifted_unit_matrix_shifts_columns)
{
	enum { ROWS = 37, COLUMNS = 51, INNER = 23 };
	RUN(t) = begin(&nvw_workload_sgemm, "rows=37 columns=51 inner=23", "gd");
	const float *const left = input(&t, "left");
	float *const right = input(&t, "right");

	NVW_FOR(i, INNER * COLUMNS) {
		right[i] = i % COLUMNS == i / COLUMNS + 3;
	}
	float *const product = verified(&t, "product");
	NVW_FOR(y, ROWS) {
		NVW_FOR(x, COLUMNS) {
			const bool is_inside = x >= 3 && x - 3 < INNER;

			assert_true(product[y * COLUMNS + x] == (is_inside ? left[y * INNER + x - 3] : 0));
		}
	}
}

/* x*x + 2*y*y + 3*z*z curves by 12 everywhere: a step leaves 12 / 36 of it inside, and the rim alone. */
TEST(stencil_measures_curvature)
{
	enum { ROWS = 5, COLUMNS = 7, DEPTH = 4 };
	RUN(t) = begin(&nvw_workload_stencil, "rows=5 columns=7 depth=4 iterations=1", "gd");
	float *const even = input(&t, "even"), *const odd = input(&t, "odd");

	NVW_FOR(i, ROWS * COLUMNS * DEPTH) {
		const unsigned x = i % COLUMNS, y = i / COLUMNS % ROWS, z = i / COLUMNS / ROWS;

		even[i] = odd[i] = (float)(x * x + 2 * y * y + 3 * z * z);
	}
	float *const after = verified(&t, "odd");
	NVW_FOR(i, ROWS * COLUMNS * DEPTH) {
		const unsigned x = i % COLUMNS, y = i / COLUMNS % ROWS, z = i / COLUMNS / ROWS;
		const bool is_inside = x % (COLUMNS - 1) && y % (ROWS - 1) && z % (DEPTH - 1);

		assert_close(after[i], is_inside ? 12.0 / 36 : even[i], 1e-4);
	}
}

/* Without power and at the temperature of the air nothing happens; heat spreads to four neighbours alike. */
TEST(hotspot_spreads_heat_evenly)
{
	enum { N = 5, MIDDLE = 12 };
	RUN(t) = begin(&nvw_workload_hotspot, "rows=5 columns=5 iterations=1", "gd");
	float *const power = input(&t, "power"), *const even = input(&t, "even");

	NVW_FOR(i, N * N) {
		power[i] = 0;
		even[i] = i == MIDDLE ? 363 : 353;
	}
	float *const after = verified(&t, "odd");
	NVW_FOR(i, N * N) {
		const unsigned away = i < MIDDLE ? MIDDLE - i : i - MIDDLE;
		const bool is_beside = away == 1 || away == N;

		/* To a neighbour goes 2 * 0.1 of the 10 K; the air takes 2 * 0.0025. */
		assert_close(after[i], i == MIDDLE ? 363 - 8 - 0.05 : is_beside ? 355 : 353, 1e-3);
	}
}

TEST(nn_measures_distances)
{
	RUN(t) = begin(&nvw_workload_nn, "size=3", "gd");
	float *const places = input(&t, "places");

	memcpy(places, (float[]){30, 90, 33, 94, 18, 85}, 6 * sizeof *places);
	float *const distances = verified(&t, "distances");
	assert_true(distances[0] == 0 && distances[1] == 5 && distances[2] == 13);
}

/* Diffusion moves brightness between neighbours: the sum stays, the variance shrinks. */
TEST(srad_smooths_and_keeps_the_brightness)
{
	enum { PIXELS = 32 * 32 };
	RUN(t) = begin(&nvw_workload_srad, "rows=32 columns=32 iterations=4", "gd");
	const float *const before = input(&t, "image");
	double sum[2] = {0}, squares[2] = {0};

	float *const after = verified(&t, "image");
	NVW_FOR(i, PIXELS) {
		sum[0] += before[i];
		sum[1] += after[i];
		squares[0] += before[i] * before[i];
		squares[1] += after[i] * after[i];
	}
	assert_close(sum[1], sum[0], 1e-4 * sum[0]);
	assert_true(squares[1] - sum[1] * sum[1] / PIXELS < 0.7 * (squares[0] - sum[0] * sum[0] / PIXELS));
}

/* The transposed image has the transposed coefficients, but for the order of sums. */
TEST(srad_treats_directions_alike)
{
	enum { N = 32 };
	RUN(t) = begin(&nvw_workload_srad, "rows=32 columns=32 iterations=1", "gd");
	float image[N * N], *const turned = input(&t, "image");

	run(&t);
	float *const before = result(&t, "coefficients");
	memcpy(image, turned, sizeof image);
	NVW_FOR(i, N * N) {
		turned[i] = image[i % N * N + i / N];
	}
	float *const after = verified(&t, "coefficients");
	NVW_FOR(i, N * N) {
		assert_close(after[i], before[i % N * N + i / N], 1e-4);
	}
}

/* Actio and reactio: weighted with the charges that they act on, forces cancel. */
TEST(lavamd_forces_cancel)
{
	enum { PARTICLES = 3 * 3 * 3 * 4 };
	RUN(t) = begin(&nvw_workload_lavamd, "size=3 particles=4", "gd");
	const double *const charges = input(&t, "charges");
	double sum[3] = {0}, most = 0;

	double *const forces = verified(&t, "forces");
	NVW_FOR(i, PARTICLES) {
		NVW_FOR(k, 3) {
			sum[k] += charges[i] * forces[4 * i + k];
			most = fmax(most, fabs(forces[4 * i + k]));
		}
	}
	assert_true(most > 0.1);
	NVW_EACH(one, sum, 3) {
		assert_close(*one, 0, 1e-10);
	}
}

TEST(lavamd_potential_is_gaussian)
{
	RUN(t) = begin(&nvw_workload_lavamd, "size=1 particles=2", "gd");
	double *const places = input(&t, "places"), *const charges = input(&t, "charges");

	memcpy(places, (double[]){0, 0, 0, 0, 2, 1, 2, 4.5}, 8 * sizeof *places); /* 3 apart */
	memcpy(charges, (double[]){0.25, 0.5}, 2 * sizeof *charges);
	double *const forces = verified(&t, "forces");
	assert_close(forces[0], -2 * 0.5 * exp(-4.5), 1e-12);
	assert_close(forces[3], 0.25 + 0.5 * exp(-4.5), 1e-12);
	assert_close(forces[7], 0.5 + 0.25 * exp(-4.5), 1e-12);
}
