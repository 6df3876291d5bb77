/* SPDX-License-Identifier: BSD-3-Clause */
/* What hechtman14's kernels compute, by properties that neither device nor sequential version knows. */
#include "dense_test.h"

#include "core/each.h"

extern const struct nvw_workload nvw_workload_bfs, nvw_workload_kmeans, nvw_workload_histogram,
	nvw_workload_reduction, nvw_workload_dct, nvw_workload_spmv, nvw_workload_sort, nvw_workload_apsp,
	nvw_workload_convolution, nvw_workload_fft, nvw_workload_barnes_hut, nvw_workload_dijkstra,
	nvw_workload_lud, nvw_workload_backprop, nvw_workload_nw, nvw_workload_hotspot, nvw_workload_srad;

/* On a grid the level is the number of steps to the right and down. */
TEST(bfs_levels_of_a_grid_are_distances)
{
	enum { WIDTH = 11, HEIGHT = 7 };
	RUN(t) = begin(&nvw_workload_bfs, "graph=grid:11x7", "gd");

	int32_t *const levels = verified(&t, "levels");
	NVW_FOR(i, WIDTH * HEIGHT) {
		assert_int_equal(levels[i], i % WIDTH + i / WIDTH);
	}
	assert_int_equal(t.plan->launches, 2 * (WIDTH - 1 + HEIGHT));
}

/* Points in three heaps far apart, in turns: the first three begin, and each takes its heap. */
TEST(kmeans_finds_heaps)
{
	enum { POINTS = 99, HEAPS = 3 };
	RUN(t) = begin(&nvw_workload_kmeans, "size=99 features=2 clusters=3", "gd");
	float *const given = input(&t, "given");

	NVW_FOR(i, POINTS) {
		given[2 * i] = (float)(100 * (i % HEAPS) + i / HEAPS % 3);
		given[2 * i + 1] = 50;
	}
	memcpy(input(&t, "centres"), given, HEAPS * 2 * sizeof *given);
	int32_t *const membership = verified(&t, "membership");
	NVW_FOR(i, POINTS) {
		assert_int_equal(membership[i], i % HEAPS);
	}
	float *const centres = result(&t, "centres");
	NVW_FOR(c, HEAPS) {
		assert_close(centres[2 * c], 100 * c + 1, 1e-4);
		assert_close(centres[2 * c + 1], 50, 1e-4);
	}
}

TEST(histogram_counts_every_value_once)
{
	RUN(t) = begin(&nvw_workload_histogram, "size=1000 batches=3", "gd");
	uint32_t *const values = input(&t, "values");

	NVW_FOR(i, 1000) {
		values[i] = i % 250 + 6;
	}
	uint32_t *const bins = verified(&t, "bins");
	NVW_FOR(b, 256) {
		assert_int_equal(bins[b], b < 6 ? 0 : 4);
	}
}

TEST(reduction_adds_up_the_first_numbers)
{
	enum { N = 3001 };
	RUN(t) = begin(&nvw_workload_reduction, "size=3001 group-size=32", "gd");
	uint32_t *const values = input(&t, "values");

	NVW_FOR(i, N) {
		values[i] = i + 1;
	}
	run_and_verify(&t);
	assert_int_equal(t.plan->launches, 2); /* 47 sums, then one */
	uint32_t *const sums = result(&t, "odd");
	assert_int_equal(sums[0], N * (N + 1) / 2);
}

/* The basis is orthogonal: squares keep their sum, and the mean of a block is 1/8 of its first element. */
TEST(dct_keeps_energy_and_mean)
{
	enum { COLUMNS = 24, PIXELS = 16 * COLUMNS };
	RUN(t) = begin(&nvw_workload_dct, "rows=2 columns=3", "gd");
	const float *const image = input(&t, "image");
	double before = 0, after = 0, sum = 0;

	float *const transform = verified(&t, "transform");
	NVW_FOR(i, PIXELS) {
		before += (double)image[i] * image[i];
		after += (double)transform[i] * transform[i];
		sum += i / COLUMNS < 8 && i % COLUMNS < 8 ? image[i] : 0;
	}
	assert_close(after / before, 1, 1e-5);
	assert_close(transform[0], sum / 8, 1e-2);
}

/* The product of a matrix and a vector of ones is the number of neighbours. */
TEST(spmv_of_ones_counts_neighbours)
{
	enum { WIDTH = 9, HEIGHT = 4 };
	RUN(t) = begin(&nvw_workload_spmv, "graph=grid:9x4", "gd");
	float *const values = input(&t, "values"), *const vector = input(&t, "vector");

	NVW_FOR(i, t.plan->array[array_of(&t, "values")].count) {
		values[i] = 1;
	}
	NVW_EACH(one, vector, WIDTH * HEIGHT) {
		*one = 1;
	}
	float *const product = verified(&t, "product");
	NVW_FOR(i, WIDTH * HEIGHT) {
		const unsigned x = i % WIDTH, y = i / WIDTH;

		assert_true(product[i] == (x > 0) + (x < WIDTH - 1) + (y > 0) + (y < HEIGHT - 1));
	}
}

static int compare_keys(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

TEST(sort_sorts)
{
	enum { N = 301 };
	RUN(t) = begin(&nvw_workload_sort, "size=301", "gd");
	uint32_t *const before = input(&t, "keys"), sorted[N];

	before[7] = before[200] = before[3]; /* equal ones, and the ends of the range */
	before[100] = UINT32_MAX;
	before[101] = 0;
	memcpy(sorted, before, sizeof sorted);
	qsort(sorted, N, sizeof *sorted, compare_keys);
	uint32_t *const keys = verified(&t, "keys");
	assert_memory_equal(keys, sorted, sizeof sorted);
}

/* On a path there is one way; the weights there and back differ. */
TEST(apsp_walks_along_a_path)
{
	enum { N = 29 };
	RUN(t) = begin(&nvw_workload_apsp, "graph=grid:29x1", "gd");
	const int32_t *const weights = input(&t, "weights"); /* 0 to 1, 1 to 0, 1 to 2, 2 to 1 ... */
	int32_t right = 0, left = 0;

	int32_t *const distances = verified(&t, "distances");
	NVW_FOR(v, N) {
		/* The weight into v is in the row of v. */
		assert_int_equal(distances[v], right);
		assert_int_equal(distances[v * N], left);
		right += v + 1 < N ? weights[2 * v + 1] : 0;
		left += v + 1 < N ? weights[2 * v] : 0;
	}
}

/* A single bright pixel leaves the filter, turned around, about it. */
TEST(convolution_of_a_point_is_the_filter)
{
	enum { ROWS = 9, COLUMNS = 12, WIDTH = 3, Y = 5, X = 7 };
	RUN(t) = begin(&nvw_workload_convolution, "rows=9 columns=12 width=3", "gd");
	float *const image = input(&t, "image");
	const float *const filter = input(&t, "filter");

	NVW_FOR(i, ROWS * COLUMNS) {
		image[i] = i == Y * COLUMNS + X;
	}
	float *const sums = verified(&t, "result");
	NVW_FOR(y, ROWS) {
		NVW_FOR(x, COLUMNS) {
			const int i = Y - y + 1, j = X - x + 1;
			const bool is_inside = i >= 0 && i < WIDTH && j >= 0 && j < WIDTH;

			assert_true(sums[y * COLUMNS + x] == (is_inside ? filter[i * WIDTH + j] : 0));
		}
	}
}

/* A wave of frequency 5 is one line of the spectrum. */
TEST(fft_finds_the_frequency_of_a_wave)
{
	enum { N = 256, FREQUENCY = 5 };
	RUN(t) = begin(&nvw_workload_fft, "stages=8", "gd");
	float *const wave = input(&t, "even");

	NVW_FOR(i, N) {
		wave[2 * i] = (float)cos(2 * M_PI * FREQUENCY * i / N);
		wave[2 * i + 1] = (float)sin(2 * M_PI * FREQUENCY * i / N);
	}
	float *const spectrum = verified(&t, "even");
	NVW_FOR(i, N) {
		assert_close(spectrum[2 * i], i == FREQUENCY ? N : 0, 1e-3);
		assert_close(spectrum[2 * i + 1], 0, 1e-3);
	}
}

/* Accelerations by all other bodies, in double. */
TEST(barnes_hut_is_near_the_direct_sum)
{
	enum { N = 200 };
	RUN(t) = begin(&nvw_workload_barnes_hut, "size=200 steps=1", "gd");
	const float *const at = input(&t, "places"), *const masses = input(&t, "masses");
	double error = 0, sum = 0;

	float *const accelerations = verified(&t, "accelerations");
	NVW_FOR(i, N) {
		double direct[3] = {0};

		NVW_FOR(j, N) {
			double away[3], square = 1e-4;

			NVW_FOR(d, 3) {
				away[d] = (double)at[3 * j + d] - (double)at[3 * i + d];
				square += away[d] * away[d];
			}
			NVW_FOR(d, 3) {
				direct[d] += 1e-4 * masses[j] * away[d] / (square * sqrt(square));
			}
		}
		NVW_FOR(d, 3) {
			error += pow(accelerations[3 * i + d] - direct[d], 2);
			sum += direct[d] * direct[d];
		}
	}
	assert_true(sqrt(error / sum) < 0.02);
	assert_true(sqrt(error / sum) > 1e-4); /* cells did stand for bodies */
}

/* With a tiny theta no cell stands for bodies, and actions equal reactions: the momentum stays. */
TEST(barnes_hut_without_cells_keeps_the_momentum)
{
	enum { N = 60 };
	RUN(t) = begin(&nvw_workload_barnes_hut, "size=60 steps=2 theta=1", "gd");
	const float *const before = input(&t, "velocities"), *const masses = input(&t, "masses");

	float *const after = verified(&t, "velocities");
	NVW_FOR(d, 3) {
		double momentum[2] = {0}, change = 0;

		NVW_FOR(i, N) {
			momentum[0] += (double)masses[i] * before[3 * i + d];
			momentum[1] += (double)masses[i] * after[3 * i + d];
			change += masses[i] * fabs((double)after[3 * i + d] - before[3 * i + d]);
		}
		assert_true(change > 1e-3);
		assert_close(momentum[1], momentum[0], 1e-4 * change);
	}
}

/* The certificate of distances: no edge is a short cut, and the last edge of a way exists. */
TEST(dijkstra_finds_ways_that_no_edge_shortens)
{
	enum { N = 41, FAR = 1 << 29 };
	RUN(t) = begin(&nvw_workload_dijkstra, "size=41", "gd");
	const int32_t *const weights = input(&t, "weights");
	unsigned ways = 0;

	int32_t *const distances = verified(&t, "distances");
	NVW_FOR(s, N) {
		assert_int_equal(distances[s * N + s], 0);
		NVW_FOR(v, N) {
			bool is_way = v == s || distances[v * N + s] == FAR;

			NVW_FOR(u, N) {
				const int32_t over = distances[u * N + s] + weights[u * N + v];

				assert_true(distances[v * N + s] <= over);
				is_way |= over == distances[v * N + s];
			}
			assert_true(is_way);
			ways += distances[v * N + s] < FAR;
		}
	}
	assert_true(ways > N * N / 2);
}

/* Without that a launch would go one step along the path; the last launch finds nothing. */
TEST(apsp_sees_distances_that_others_find_in_the_same_launch)
{
	static const char *const options[] = {"graph=grid:29x1 sweeps=1", "graph=grid:29x1 sweeps=4"};
	static const uint64_t most[] = {29, 29 / 2};

	NVW_FOR(i, 2) {
		RUN(t) = begin(&nvw_workload_apsp, options[i], "gd");

		run_and_verify(&t);
		assert_true(t.plan->launches <= most[i]);
	}
}

/* Also where a work-group has parts of a block, or several blocks; and nothing of it goes through a cache. */
TEST(scratchpads_change_no_result_and_save_accesses)
{
	static const struct {
		const struct nvw_workload *workload;
		const char *sizes;
		bool saves; /* line requests; no: tiny, or rows of blocks lie across lines */
	} cases[] = {{&nvw_workload_lud, "size=53", true},
		{&nvw_workload_histogram, "size=1013 batches=3", true},
		{&nvw_workload_reduction, "size=3013", true}, {&nvw_workload_dct, "rows=3 columns=5", true},
		{&nvw_workload_backprop, "size=213", true}, {&nvw_workload_backprop, "size=1", false},
		{&nvw_workload_nw, "size=37", true}, {&nvw_workload_nw, "size=1", false},
		{&nvw_workload_hotspot, "rows=23 columns=31 iterations=1", true},
		{&nvw_workload_hotspot, "rows=23 columns=31 iterations=2", true},
		{&nvw_workload_hotspot, "rows=23 columns=31 iterations=5", true},
		{&nvw_workload_srad, "rows=32 columns=48 iterations=2", true},
		{&nvw_workload_srad, "rows=23 columns=31 iterations=3", false}};
	static const char *const group_sizes[] = {"1", "7", "100", "256", "1024"};

	NVW_FOR(i, NVW_COUNT(cases) * 5) {
		uint64_t requests[2];

		NVW_FOR(on, 2) {
			RUN(t) = begin(cases[i / 5].workload,
				formatted("%s group-size=%s scratchpad=%s", cases[i / 5].sizes,
					group_sizes[i % 5], on ? "on" : "off"),
				"quickrelease");

			run_and_verify(&t);
			requests[on] = emu_statistics(t.machine)->line_requests;
		}
		assert_true(i % 5 < 3 || !cases[i / 5].saves || requests[1] < requests[0]);
	}
}

/* hotspot compares that of its two arrays which has the last temperatures, whatever the number of launches.
 * */
TEST(hotspot_compares_the_last_temperatures_with_scratchpads)
{
	static const struct {
		const char *sizes, *array;
	} cases[] = {{"rows=23 columns=31 iterations=1 scratchpad=on", "odd"},
		{"rows=23 columns=31 iterations=2 scratchpad=on", "odd"},
		{"rows=23 columns=31 iterations=3 scratchpad=on", "even"}};

	NVW_EACH(one, cases, 3) {
		RUN(t) = begin(&nvw_workload_hotspot, one->sizes, "gd");

		run_and_verify(&t);
		flip(&t, t.plan->device[array_of(&t, one->array)]);
		assert_int_equal(verify(&t), NVW_E_INCONSISTENT);
	}
}

TEST(graphs_that_are_too_large_are_refused)
{
	void *plan;

	assert_int_equal(prepare_with(&nvw_workload_apsp, "graph=grid:4097x1", 1, -1, &plan), NVW_E_USAGE);
	assert_string_equal(
		nvw_error_message(), "apsp: --graph: expected a graph of at most 4096 nodes, found 4097");
	assert_int_equal(prepare_with(&nvw_workload_bfs, "graph=grid:0x1", 1, -1, &plan), NVW_E_USAGE);
}
