/* SPDX-License-Identifier: BSD-3-Clause */
/* What hechtman14's kernels compute, by properties that neither device nor sequential version knows. */
#include "dense_test.h"

extern const struct nvw_workload nvw_workload_bfs, nvw_workload_kmeans, nvw_workload_histogram,
	nvw_workload_reduction, nvw_workload_dct, nvw_workload_spmv, nvw_workload_sort, nvw_workload_apsp;

/* On a grid the level is the number of steps to the right and down. */
static void bfs_levels_of_a_grid_are_distances(void **state)
{
	enum { WIDTH = 11, HEIGHT = 7 };
	struct test t = begin(&nvw_workload_bfs, "graph=grid:11x7", "gd");
	int32_t *levels;

	run_and_verify(&t);
	levels = result(&t, "levels");
	for (int i = 0; i < WIDTH * HEIGHT; i++) {
		assert_int_equal(levels[i], i % WIDTH + i / WIDTH);
	}
	assert_int_equal(t.plan->launches, 2 * (WIDTH - 1 + HEIGHT));
	free(levels);
	end(&t);
}

/* Points in three heaps far apart, in turns: the first three begin, and each takes its heap. */
static void kmeans_finds_heaps(void **state)
{
	enum { POINTS = 99, HEAPS = 3 };
	struct test t = begin(&nvw_workload_kmeans, "size=99 features=2 clusters=3", "gd");
	float *const given = input(&t, "given"), *centres;
	int32_t *membership;

	for (unsigned i = 0; i < POINTS; i++) {
		given[2 * i] = (float)(100 * (i % HEAPS) + i / HEAPS % 3);
		given[2 * i + 1] = 50;
	}
	memcpy(input(&t, "centres"), given, HEAPS * 2 * sizeof *given);
	run_and_verify(&t);
	membership = result(&t, "membership");
	for (unsigned i = 0; i < POINTS; i++) {
		assert_int_equal(membership[i], i % HEAPS);
	}
	centres = result(&t, "centres");
	for (unsigned c = 0; c < HEAPS; c++) {
		assert_close(centres[2 * c], 100 * c + 1, 1e-4);
		assert_close(centres[2 * c + 1], 50, 1e-4);
	}
	free(centres);
	free(membership);
	end(&t);
}

static void histogram_counts_every_value_once(void **state)
{
	struct test t = begin(&nvw_workload_histogram, "size=1000 batches=3", "gd");
	uint32_t *const values = input(&t, "values"), *bins;

	for (unsigned i = 0; i < 1000; i++) {
		values[i] = i % 250 + 6;
	}
	run_and_verify(&t);
	bins = result(&t, "bins");
	for (unsigned b = 0; b < 256; b++) {
		assert_int_equal(bins[b], b < 6 ? 0 : 4);
	}
	free(bins);
	end(&t);
}

static void reduction_adds_up_the_first_numbers(void **state)
{
	enum { N = 3001 };
	struct test t = begin(&nvw_workload_reduction, "size=3001 group-size=32", "gd");
	uint32_t *const values = input(&t, "values"), *sums;

	for (unsigned i = 0; i < N; i++) {
		values[i] = i + 1;
	}
	run_and_verify(&t);
	assert_int_equal(t.plan->launches, 2); /* 47 sums, then one */
	sums = result(&t, "odd");
	assert_int_equal(sums[0], N * (N + 1) / 2);
	free(sums);
	end(&t);
}

/* The basis is orthogonal: squares keep their sum, and the mean of a block is 1/8 of its first element. */
static void dct_keeps_energy_and_mean(void **state)
{
	enum { COLUMNS = 24, PIXELS = 16 * COLUMNS };
	struct test t = begin(&nvw_workload_dct, "rows=2 columns=3", "gd");
	const float *const image = input(&t, "image");
	double before = 0, after = 0, sum = 0;
	float *transform;

	run_and_verify(&t);
	transform = result(&t, "transform");
	for (unsigned i = 0; i < PIXELS; i++) {
		before += (double)image[i] * image[i];
		after += (double)transform[i] * transform[i];
		sum += i / COLUMNS < 8 && i % COLUMNS < 8 ? image[i] : 0;
	}
	assert_close(after / before, 1, 1e-5);
	assert_close(transform[0], sum / 8, 1e-2);
	free(transform);
	end(&t);
}

/* Of a matrix and a vector of ones, the product is the number of neighbours. */
static void spmv_of_ones_counts_neighbours(void **state)
{
	enum { WIDTH = 9, HEIGHT = 4 };
	struct test t = begin(&nvw_workload_spmv, "graph=grid:9x4", "gd");
	float *const values = input(&t, "values"), *const vector = input(&t, "vector"), *product;

	for (unsigned i = 0; i < array_of(&t, "values")->count; i++) {
		values[i] = 1;
	}
	for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
		vector[i] = 1;
	}
	run_and_verify(&t);
	product = result(&t, "product");
	for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
		const unsigned x = i % WIDTH, y = i / WIDTH;

		assert_true(product[i] == (x > 0) + (x < WIDTH - 1) + (y > 0) + (y < HEIGHT - 1));
	}
	free(product);
	end(&t);
}

static int compare_keys(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort_sorts(void **state)
{
	enum { N = 301 };
	struct test t = begin(&nvw_workload_sort, "size=301", "gd");
	uint32_t *const before = input(&t, "keys"), sorted[N], *keys;

	before[7] = before[200] = before[3]; /* equal ones, and the ends of the range */
	before[100] = UINT32_MAX;
	before[101] = 0;
	memcpy(sorted, before, sizeof sorted);
	qsort(sorted, N, sizeof *sorted, compare_keys);
	run_and_verify(&t);
	keys = result(&t, "keys");
	assert_memory_equal(keys, sorted, sizeof sorted);
	free(keys);
	end(&t);
}

/* On a path there is one way; the weights there and back differ. */
static void apsp_walks_along_a_path(void **state)
{
	enum { N = 29 };
	struct test t = begin(&nvw_workload_apsp, "graph=grid:29x1", "gd");
	const int32_t *const weights = input(&t, "weights"); /* 0 to 1, 1 to 0, 1 to 2, 2 to 1 ... */
	int32_t *distances, right = 0, left = 0;

	run_and_verify(&t);
	distances = result(&t, "distances");
	for (unsigned v = 0; v < N; v++) {
		/* The weight into v is in the row of v. */
		assert_int_equal(distances[v], right);
		assert_int_equal(distances[v * N], left);
		right += v + 1 < N ? weights[2 * v + 1] : 0;
		left += v + 1 < N ? weights[2 * v] : 0;
	}
	free(distances);
	end(&t);
}

static void graphs_that_are_too_large_are_refused(void **state)
{
	void *plan;

	assert_int_equal(prepare(&nvw_workload_apsp, "graph=grid:4097x1", 1, &plan), NVW_E_USAGE);
	assert_string_equal(
		nvw_error_message(), "apsp: --graph: expected a graph of at most 4096 nodes, found 4097");
	assert_int_equal(prepare(&nvw_workload_bfs, "graph=grid:0x1", 1, &plan), NVW_E_USAGE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(bfs_levels_of_a_grid_are_distances),
		cmocka_unit_test(kmeans_finds_heaps),
		cmocka_unit_test(histogram_counts_every_value_once),
		cmocka_unit_test(reduction_adds_up_the_first_numbers),
		cmocka_unit_test(dct_keeps_energy_and_mean),
		cmocka_unit_test(spmv_of_ones_counts_neighbours),
		cmocka_unit_test(sort_sorts),
		cmocka_unit_test(apsp_walks_along_a_path),
		cmocka_unit_test(graphs_that_are_too_large_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
