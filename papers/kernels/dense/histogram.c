/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * histogram: how often each of 256 values occurs, as in the AMD APP SDK: every work-group counts in bins of
 * its own, and the host adds those up. The data come in batches, one launch each: the thesis (hechtman14
 * 4.5.1) says that the kernel is launched often and that host and device share data frequently, and no more.
 *
 * Without a scratchpad the groups' bins are in device memory; a group's work-items add to them by relaxed
 * atomics of work-group scope. With one (the original's) a group stores its bins when it has counted.
 * Additions of integers commute.
 */
#include "dense.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE, BATCHES };
enum { VALUES, GROUP_BINS, BINS };
enum { BIN_COUNT = 256, PER_ITEM = 8 }; /* values that a work-item counts in a launch, at most */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "64k", "values"),
	DENSE_SIZE("batches", "8", "parts of them, one launch each"),
	DENSE_SCRATCHPAD_OPTION,
	DENSE_OPTIONS_END,
};

static uint64_t batch_size(const struct dense_plan *p)
{
	return u64_parts(p->size[SIZE], p->size[BATCHES]);
}

static uint64_t group_count(const struct dense_plan *p)
{
	const uint64_t per_group = (uint64_t)p->group_size * PER_ITEM;

	return u64_parts(batch_size(p), per_group);
}

static void histogram_shape(struct dense_plan *p)
{
	dense_read_only(p, VALUES, DENSE_UINT32, p->size[SIZE], "values");
	dense_written(p, GROUP_BINS, DENSE_UINT32, group_count(p) * BIN_COUNT, "group bins");
	dense_written(p, BINS, DENSE_UINT32, BIN_COUNT, "bins");
}

/* Darker values are more frequent, as in a photograph. */
static void histogram_fill(struct dense_plan *p)
{
	uint32_t *const values = p->input[VALUES];

	NVW_FOR(i, p->size[SIZE]) {
		const double x = nvw_random_real(&p->random);

		values[i] = (uint32_t)(BIN_COUNT * x * x);
	}
}

struct args {
	const uint32_t *values;
	uint32_t *group_bins;
	uint64_t first, end;                /* of the batch */
	uint32_t (*scratchpads)[BIN_COUNT]; /* NULL: there are none */
};

/* A group's values are adjacent; in each turn neighbouring work-items take neighbouring values. */
DENSE_KERNEL(histogram_count, const struct args, a)
{
	const uint64_t group = nvw_group_id(), width = nvw_group_size();
	uint32_t *const bins = a->group_bins + group * BIN_COUNT;
	uint32_t *const kept = a->scratchpads ? a->scratchpads[group] : NULL;

	NVW_FOR(k, PER_ITEM) {
		const uint64_t i = a->first + (group * PER_ITEM + k) * width + nvw_local_id();

		if (i < a->end) {
			const uint32_t value = nvw_load_read_only(&a->values[i]);

			if (kept) {
				kept[value]++;
			} else {
				(void)nvw_atomic_add(&bins[value], 1, NVW_RELAXED, NVW_SCOPE_WORKGROUP);
			}
		}
	}
	if (kept) {
		nvw_barrier(NVW_WORKGROUP);
		for (uint64_t i = nvw_local_id(); i < BIN_COUNT; i += width) {
			nvw_store(&bins[i], kept[i]);
		}
	}
}

/* The host's part: the groups' bins are added to the histogram and emptied. */
static int collect(struct dense_plan *p)
{
	uint32_t bins[BIN_COUNT], *group_bins;
	void *copy = NULL;
	int r;

	assert(p->array[GROUP_BINS].count % BIN_COUNT == 0);
	NVW_TRY(dense_get(p, BINS, 0, BIN_COUNT, bins));
	NVW_TRY(dense_copy(p, GROUP_BINS, &copy));
	group_bins = copy;
	NVW_FOR(i, p->array[GROUP_BINS].count) {
		bins[i % BIN_COUNT] += group_bins[i];
		group_bins[i] = 0;
	}
	r = dense_put(p, GROUP_BINS, 0, p->array[GROUP_BINS].count, group_bins);
	free(copy);
	NVW_TRY(r);
	return dense_put(p, BINS, 0, BIN_COUNT, bins);
}

static int histogram_run(struct dense_plan *p)
{
	const uint64_t batch = batch_size(p);
	struct args args = {.values = p->device[VALUES], .group_bins = p->device[GROUP_BINS]};

	assert(batch * p->size[BATCHES] >= p->size[SIZE]);
	for (uint64_t first = 0; first < p->size[SIZE]; first += batch) {
		if (p->has_scratchpad) { /* emptied */
			NVW_TRY(dense_scratchpads(
				p, sizeof *args.scratchpads, group_count(p) * p->group_size));
			args.scratchpads = p->more;
		}
		args.first = first;
		args.end = u64_min(p->size[SIZE], first + batch);
		NVW_TRY(dense_launch(p, histogram_count, &args, group_count(p) * p->group_size));
		NVW_TRY(collect(p));
	}
	return 0;
}

static void histogram_expect(struct dense_plan *p)
{
	const uint32_t *const values = p->expected[VALUES];
	uint32_t *const bins = p->expected[BINS];

	NVW_FOR(i, p->size[SIZE]) {
		bins[values[i]]++;
	}
}

DENSE_WORKLOAD(histogram, "histogram",
	"how often 256 values occur, counted by work-groups and added up by the host");
