/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nn: nearest neighbour. The GPU computes the distance of every record, a position on a map, from one
 * position; the host then finds the smallest.
 */
#include "dense.h"

#include <math.h>
#include <stdlib.h>

enum { RECORDS };
enum { PLACES, DISTANCES }; /* per record: latitude and longitude in degrees; distance in degrees */

static const float here_latitude = 30, here_longitude = 90;

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "171k", "records"),
	DENSE_OPTIONS_END,
};

static void nn_shape(struct dense_plan *p)
{
	dense_read_only(p, PLACES, DENSE_FLOAT, 2 * p->size[RECORDS], "places");
	dense_written(p, DISTANCES, DENSE_FLOAT, p->size[RECORDS], "distances");
}

static void nn_fill(struct dense_plan *p)
{
	dense_fill_real(p, PLACES, 0, 180);
}

static inline float distance(float latitude, float longitude)
{
	const float north = latitude - here_latitude, east = longitude - here_longitude;

	return sqrtf(north * north + east * east);
}

struct args {
	const float *places;
	float *distances;
	uint64_t records;
};

DENSE_ITEMS(nn_distance, a, id, a->records)
{
	const float latitude = nvw_load_read_only(&a->places[2 * id]);

	nvw_store(&a->distances[id], distance(latitude, nvw_load_read_only(&a->places[2 * id + 1])));
}

static int nn_run(struct dense_plan *p)
{
	const struct args args = {
		.places = p->device[PLACES], .distances = p->device[DISTANCES], .records = p->size[RECORDS]};

	return dense_launch(p, nn_distance, &args, args.records);
}

static void nn_expect(struct dense_plan *p)
{
	const float *const places = p->expected[PLACES];
	float *const distances = p->expected[DISTANCES];

	assert(p->array[PLACES].count == 2 * p->array[DISTANCES].count);
	NVW_FOR(i, p->size[RECORDS]) {
		distances[i] = distance(places[2 * i], places[2 * i + 1]);
	}
}

static int nn_report(struct dense_plan *p, struct nvw_description *description)
{
	uint64_t nearest = 0;
	void *copy;
	int r;

	NVW_TRY(dense_copy(p, DISTANCES, &copy));

	float *const distances = copy;

	for (uint64_t i = 1; i < p->size[RECORDS]; i++) {
		if (distances[i] < distances[nearest]) {
			nearest = i;
		}
	}
	r = nvw_describe_u64(description, "nearest", nearest, "", "number of the nearest record");
	if (r == 0) {
		r = nvw_describe_real(description, "distance", (double)distances[nearest], "degrees",
			"of the nearest record");
	}
	free(distances);
	return r;
}

DENSE_WORKLOAD(nn, "nn", "distances of records from a place, for the nearest neighbour", .report = nn_report);
