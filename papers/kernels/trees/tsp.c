/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trees-tsp: the shortest round trip through cities of a map, by branch and bound. A task is a path from city
 * 0; it forks one longer path per city that is not on it, unless the path is as long as the shortest round
 * trip known. That bound begins with the round trip to the nearest city each time, and is read while others
 * lower it: which paths are cut depends on the schedule, the result does not.
 */
#include "trees.h"

#include <stdlib.h>

enum { CITIES };
enum { DISTANCES, SHORTEST };
enum { CITIES_MAX = 12, SIDE = 1000, NONE = 1 << 30 };

static const struct nvw_option options[] = {
	{"cities", NVW_OPTION_COUNT, "7", NULL, "cities"},
	TREES_OPTIONS_END,
};

struct data {
	const int32_t *distances; /* from a city to another */
	int32_t *shortest;
	uint32_t cities;
};

/* Words: the cities on the path, a bit each; the last of them; the length. */
static void extend(struct nvw_task *t)
{
	const struct data *const d = nvw_task_data(t);
	const uint32_t path = nvw_task_word(t, 0), last = nvw_task_word(t, 1);
	const int32_t length = (int32_t)nvw_task_word(t, 2);

	if (path == (UINT32_C(1) << d->cities) - 1) {
		(void)nvw_atomic_min(d->shortest,
			length + nvw_load_read_only(&d->distances[last * d->cities]), NVW_RELAXED,
			NVW_SCOPE_AGENT);
		return;
	}
	if (length >= nvw_atomic_load(d->shortest, NVW_RELAXED, NVW_SCOPE_AGENT)) {
		return;
	}
	for (uint32_t city = 1; city < d->cities; city++) {
		if ((path >> city & 1) == 0) {
			nvw_fork(t, extend, path | UINT32_C(1) << city, city,
				(uint32_t)(length +
					   nvw_load_read_only(&d->distances[last * d->cities + city])));
		}
	}
}

static const struct nvw_task_program program = {
	.name = "tsp",
	.functions = (const struct nvw_task_function[]){{"extend", extend, false}, {NULL, NULL, false}},
	.words = 3,
};

static void trees_tsp_shape(struct dense_plan *p)
{
	dense_read_only(p, DISTANCES, DENSE_INT32, p->size[CITIES] * p->size[CITIES], "distances");
	dense_written(p, SHORTEST, DENSE_INT32, 1, "shortest");
}

/* The round trip that always continues to the nearest city: an initial bound. */
static int32_t nearest_first(const int32_t *distances, uint64_t n)
{
	uint64_t last = 0, path = 1;
	int32_t length = 0;

	for (uint64_t i = 1; i < n; i++) {
		uint64_t nearest = n;

		for (uint64_t city = 1; city < n; city++) {
			if ((path >> city & 1) == 0 &&
				(nearest == n ||
					distances[last * n + city] < distances[last * n + nearest])) {
				nearest = city;
			}
		}
		assert(nearest < n);
		length += distances[last * n + nearest];
		path |= UINT64_C(1) << nearest;
		last = nearest;
	}
	return length + distances[last * n];
}

static void trees_tsp_fill(struct dense_plan *p)
{
	int32_t place[CITIES_MAX][2];
	const uint64_t n = p->size[CITIES];

	assert(n <= CITIES_MAX);
	NVW_FOR(i, n) {
		place[i][0] = (int32_t)nvw_random_below(&p->random, SIDE);
		place[i][1] = (int32_t)nvw_random_below(&p->random, SIDE);
	}
	NVW_FOR(i, n * n) {
		((int32_t *)p->input[DISTANCES])[i] =
			abs(place[i / n][0] - place[i % n][0]) + abs(place[i / n][1] - place[i % n][1]);
	}
	((int32_t *)p->input[SHORTEST])[0] = nearest_first(p->input[DISTANCES], n);
}

static int trees_tsp_run(struct dense_plan *p)
{
	const struct data data = {p->device[DISTANCES], p->device[SHORTEST], (uint32_t)p->size[CITIES]};

	return trees_run(p, &program, &data, extend, 1, 0, 0);
}

/* By dynamic programming over sets of cities (Held and Karp): not the tasks' way. */
static void trees_tsp_expect(struct dense_plan *p)
{
	const uint32_t n = (uint32_t)p->size[CITIES], sets = UINT32_C(1) << n;
	const int32_t *const distances = p->expected[DISTANCES];
	int32_t *const best = malloc(sizeof *best * sets * n), *const shortest = p->expected[SHORTEST];

	for (uint32_t i = 0; best && i < sets * n; i++) {
		best[i] = i == n ? 0 : NONE; /* the path of city 0 */
	}
	for (uint32_t set = 1; best && set < sets; set += 2) {
		NVW_FOR(last, n) {
			const int32_t length = best[set * n + last];

			if (set == sets - 1 && length + distances[last * n] < *shortest) {
				*shortest = length + distances[last * n];
			}
			for (uint32_t city = 1; city < n && length < NONE; city++) {
				int32_t *const longer = &best[(set | UINT32_C(1) << city) * n + city];

				if ((set >> city & 1) == 0 && length + distances[last * n + city] < *longer) {
					*longer = length + distances[last * n + city];
				}
			}
		}
	}
	free(best);
}

TREES_WORKLOAD(trees_tsp, "trees-tsp", "tasks: the shortest round trip, by branch and bound",
	.most = {[CITIES] = CITIES_MAX});
