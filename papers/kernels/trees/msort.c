/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trees-msort and trees-msort-map: merge sort (hechtman14 5.6.5). A task sorts a range: it forks the halves,
 * and its continuation merges them from one array into the other, by itself or by a map operation. At an even
 * depth the result goes to the first array, at an odd depth to the second.
 */
#include "trees.h"

enum { SIZE };
enum { KEYS, OTHER };

static const struct nvw_option options[] = {
	{"size", NVW_OPTION_COUNT, "2k", NULL, "keys"},
	TREES_OPTIONS_END,
};

struct data {
	int32_t *array[2];
	nvw_task_run merge;
};

static uint32_t middle(uint32_t first, uint32_t end)
{
	return first + (end - first) / 2;
}

/* Words: first, end, depth. */
static void sort(struct nvw_task *t)
{
	const struct data *const d = nvw_task_data(t);
	const uint32_t first = nvw_task_word(t, 0), end = nvw_task_word(t, 1), depth = nvw_task_word(t, 2);

	if (end - first == 1) {
		if (depth % 2 == 1) {
			nvw_store(&d->array[1][first], nvw_load(&d->array[0][first]));
		}
		return;
	}
	nvw_fork(t, sort, first, middle(first, end), depth + 1);
	nvw_fork(t, sort, middle(first, end), end, depth + 1);
	nvw_join(t, d->merge, first, end, depth);
}

static void merge(struct nvw_task *t)
{
	const struct data *const d = nvw_task_data(t);
	const uint32_t end = nvw_task_word(t, 1), depth = nvw_task_word(t, 2);
	const int32_t *const from = d->array[(depth + 1) % 2];
	uint32_t a = nvw_task_word(t, 0), to = a, b = middle(a, end);
	const uint32_t a_end = b;
	int32_t x = nvw_load(&from[a]), y = nvw_load(&from[b]);

	for (; to < end; to++) {
		if (b == end || (a < a_end && x <= y)) {
			nvw_store(&d->array[depth % 2][to], x);
			x = ++a < a_end ? nvw_load(&from[a]) : 0;
		} else {
			nvw_store(&d->array[depth % 2][to], y);
			y = ++b < end ? nvw_load(&from[b]) : 0;
		}
	}
}

/* The number of keys in a sorted range that are less than key, or equal to it. */
static uint32_t rank_of(int32_t key, const int32_t *from, uint32_t first, uint32_t end, bool or_equal)
{
	const uint32_t begin = first;

	while (first < end) {
		const uint32_t at = middle(first, end);
		const int32_t other = nvw_load(&from[at]);

		if (other < key || (or_equal && other == key)) {
			first = at + 1;
		} else {
			end = at;
		}
	}
	return first - begin;
}

/* Each key's place: the sum of its rank in its own half and its rank in the other. */
static void merge_together(struct nvw_task *t)
{
	const struct data *const d = nvw_task_data(t);
	const uint32_t first = nvw_task_word(t, 0), end = nvw_task_word(t, 1), depth = nvw_task_word(t, 2),
		       half = middle(first, end);
	const int32_t *const from = d->array[(depth + 1) % 2];

	for (uint32_t i = first + nvw_local_id(); i < end; i += nvw_group_size()) {
		const int32_t key = nvw_load(&from[i]);
		const uint32_t to = i < half ? i + rank_of(key, from, half, end, false) :
					       i - half + first + rank_of(key, from, first, half, true);

		nvw_store(&d->array[depth % 2][to], key);
	}
}

static void merge_by_map(struct nvw_task *t)
{
	nvw_map(t, merge_together, nvw_task_word(t, 0), nvw_task_word(t, 1), nvw_task_word(t, 2));
}

static const struct nvw_task_program program = {
	.name = "msort",
	.functions = (const struct nvw_task_function[]){{"sort", sort, false}, {"merge", merge, false},
		{"merge_by_map", merge_by_map, false}, {"merge_together", merge_together, true},
		{NULL, NULL, false}},
	.words = 3,
};

static void trees_msort_shape(struct dense_plan *p)
{
	dense_written(p, KEYS, DENSE_INT32, p->size[SIZE], "keys");
	dense_scratch(p, OTHER, DENSE_INT32, p->size[SIZE], "other");
}

static void trees_msort_fill(struct dense_plan *p)
{
	dense_fill_int(p, KEYS, -1000000, 1000000);
}

static int sort_by(struct dense_plan *p, nvw_task_run how)
{
	const struct data data = {{p->device[KEYS], p->device[OTHER]}, how};

	return trees_run(p, &program, &data, sort, 0, (uint32_t)p->size[SIZE], 0);
}

static int trees_msort_run(struct dense_plan *p)
{
	return sort_by(p, merge);
}

static int trees_msort_map_run(struct dense_plan *p)
{
	return sort_by(p, merge_by_map);
}

static void trees_msort_expect(struct dense_plan *p)
{
	dense_sort(p->expected[KEYS], p->size[SIZE]);
}

TREES_WORKLOAD(trees_msort, "trees-msort", "tasks: merge sort, each merge by one task");
TREES_DEFINE(trees_msort_map, "trees-msort-map", "tasks: merge sort, each merge by a map operation", options,
	.shape = trees_msort_shape, .fill = trees_msort_fill, .run = trees_msort_map_run,
	.expect = trees_msort_expect);
