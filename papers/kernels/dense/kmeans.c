/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kmeans: clusters of points as in Rodinia. The first launch turns the points' features around, so that
 * neighbours among the work-items load neighbouring features; each further one finds the nearest centre of
 * every point. In between the host moves each centre to the mean of its points, and stops when no point has
 * changed its cluster.
 */
#include "dense.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS, FEATURES, CLUSTERS, ITERATIONS };
enum { GIVEN, TURNED, CENTRES, MEMBERSHIP }; /* point x feature, feature x point, cluster x feature, point */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "4096", "points"),
	DENSE_SIZE("features", "8", "coordinates of a point"),
	DENSE_SIZE("clusters", "5", "of points, with a centre each"),
	DENSE_SIZE("iterations", "20", "launches at most that find the nearest centres"),
	DENSE_OPTIONS_END,
};

static void kmeans_shape(struct dense_plan *p)
{
	const uint64_t values = p->size[POINTS] * p->size[FEATURES];

	dense_read_only(p, GIVEN, DENSE_FLOAT, values, "given");
	dense_written(p, TURNED, DENSE_FLOAT, values, "turned");
	dense_written(p, CENTRES, DENSE_FLOAT, p->size[CLUSTERS] * p->size[FEATURES], "centres");
	dense_written(p, MEMBERSHIP, DENSE_INT32, p->size[POINTS], "membership");
}

/* The first points are the first centres. Of more clusters than points the last ones begin at 0. */
static void kmeans_fill(struct dense_plan *p)
{
	const uint64_t clusters = u64_min(p->size[CLUSTERS], p->size[POINTS]);

	assert(p->array[GIVEN].count == p->array[TURNED].count);
	dense_fill_real(p, GIVEN, 0, 1);
	memcpy(p->input[CENTRES], p->input[GIVEN], clusters * p->size[FEATURES] * sizeof(float));
	NVW_FOR(i, p->size[POINTS]) {
		((int32_t *)p->input[MEMBERSHIP])[i] = -1;
	}
}

/* ---- The host's part of an iteration ----------------------------------------------------------------- */

/* Whether a point is in another cluster than before; moves the centres, but leaves one without points where
 * it is. */
static bool move_centres(const struct dense_plan *p, const float *given, const int32_t *before,
	const int32_t *now, float *centres)
{
	const uint64_t points = p->size[POINTS], features = p->size[FEATURES];

	NVW_FOR(c, p->size[CLUSTERS]) {
		uint64_t members = 0;

		NVW_FOR(i, points) {
			members += (uint64_t)now[i] == c;
		}
		for (uint64_t f = 0; members && f < features; f++) {
			float sum = 0;

			NVW_FOR(i, points) {
				if ((uint64_t)now[i] == c) {
					sum += given[i * features + f];
				}
			}
			centres[c * features + f] = sum / (float)members;
		}
	}
	return memcmp(before, now, points * sizeof *now) != 0;
}

/* ---- The GPU --------------------------------------------------------------------------------------- */

struct args {
	const float *given, *centres;
	float *turned;
	int32_t *membership;
	uint64_t points, features, clusters;
};

DENSE_ITEMS(kmeans_turn, a, i, a->points)
{
	NVW_FOR(f, a->features) {
		nvw_store(&a->turned[f * a->points + i], nvw_load_read_only(&a->given[i * a->features + f]));
	}
}

DENSE_ITEMS(kmeans_assign, a, i, a->points)
{
	float least = 0;
	int32_t nearest = -1;

	NVW_FOR(c, a->clusters) {
		float distance = 0;

		NVW_FOR(f, a->features) {
			const float away = nvw_load(&a->turned[f * a->points + i]) -
					   nvw_load(&a->centres[c * a->features + f]);

			distance += away * away;
		}
		if (nearest < 0 || distance < least) {
			least = distance;
			nearest = (int32_t)c;
		}
	}
	nvw_store(&a->membership[i], nearest);
}

/* memberships: of this iteration, allocated here, in place of those of the one before. */
static int kmeans_iterate(
	struct dense_plan *p, const struct args *args, int32_t **memberships, bool *ret_changed)
{
	void *now = NULL, *centres = NULL;
	int r;

	NVW_TRY(dense_launch(p, kmeans_assign, args, args->points));
	NVW_TRY(dense_copy(p, MEMBERSHIP, &now));
	r = dense_copy(p, CENTRES, &centres);
	if (r == 0) {
		*ret_changed = move_centres(p, p->input[GIVEN], *memberships, now, centres);
		r = dense_put(p, CENTRES, 0, p->array[CENTRES].count, centres);
	}
	free(centres);
	free(*memberships);
	*memberships = now;
	return r;
}

static int kmeans_run(struct dense_plan *p)
{
	const struct args args = {.given = p->device[GIVEN],
		.centres = p->device[CENTRES],
		.turned = p->device[TURNED],
		.membership = p->device[MEMBERSHIP],
		.points = p->size[POINTS],
		.features = p->size[FEATURES],
		.clusters = p->size[CLUSTERS]};
	void *copy = NULL;
	int32_t *memberships;
	bool is_changed = true;
	int r = 0;

	NVW_TRY(dense_launch(p, kmeans_turn, &args, args.points));
	NVW_TRY(dense_copy(p, MEMBERSHIP, &copy));
	memberships = copy;
	for (uint64_t i = 0; r == 0 && is_changed && i < p->size[ITERATIONS]; i++) {
		r = kmeans_iterate(p, &args, &memberships, &is_changed);
	}
	free(memberships);
	return r;
}

/* ---- The sequential version ------------------------------------------------------------------------ */

static int32_t nearest_centre(const struct dense_plan *p, const float *point, const float *centres)
{
	float least = 0;
	int32_t nearest = -1;

	NVW_FOR(c, p->size[CLUSTERS]) {
		float distance = 0;

		NVW_FOR(f, p->size[FEATURES]) {
			const float away = point[f] - centres[c * p->size[FEATURES] + f];

			distance += away * away;
		}
		if (nearest < 0 || distance < least) {
			least = distance;
			nearest = (int32_t)c;
		}
	}
	assert(nearest >= 0);
	return nearest;
}

static void kmeans_expect(struct dense_plan *p)
{
	const uint64_t points = p->size[POINTS], features = p->size[FEATURES];
	const float *const given = p->expected[GIVEN];
	float *const turned = p->expected[TURNED], *const centres = p->expected[CENTRES];
	int32_t *const membership = p->expected[MEMBERSHIP];
	bool is_changed = true;

	NVW_FOR(i, points * features) {
		turned[i % features * points + i / features] = given[i];
	}
	for (uint64_t n = 0; is_changed && n < p->size[ITERATIONS]; n++) {
		is_changed = false;
		NVW_FOR(i, points) {
			const int32_t nearest = nearest_centre(p, &given[i * features], centres);

			is_changed |= nearest != membership[i];
			membership[i] = nearest;
		}
		(void)move_centres(p, given, membership, membership, centres);
	}
}

DENSE_WORKLOAD(kmeans, "kmeans", "clusters of points, whose centres the host moves after each launch");
