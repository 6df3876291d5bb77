/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache-reuse: ten launches that read the same array and update another one (stc 6). A protocol that keeps
 * the first array in the L1s from launch to launch loads it once.
 */
#include "dense.h"

enum { SIZE, LAUNCHES };
enum { READ, UPDATED };

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "16k", "elements of each array"),
	DENSE_SIZE("launches", "10", "updates of each element"),
	DENSE_OPTIONS_END,
};

static void cache_reuse_shape(struct dense_plan *p)
{
	dense_read_only(p, READ, DENSE_UINT32, p->size[SIZE], "read");
	dense_written(p, UPDATED, DENSE_UINT32, p->size[SIZE], "updated");
}

static void cache_reuse_fill(struct dense_plan *p)
{
	dense_fill_int(p, READ, 0, INT32_MAX);
	dense_fill_int(p, UPDATED, 0, INT32_MAX);
}

struct args {
	const uint32_t *read;
	uint32_t *updated;
	uint64_t size;
};

DENSE_ITEMS(cache_reuse_update, a, id, a->size)
{
	nvw_store(&a->updated[id], nvw_load(&a->updated[id]) + nvw_load_read_only(&a->read[id]));
}

static int cache_reuse_run(struct dense_plan *p)
{
	const struct args args = {
		.read = p->device[READ], .updated = p->device[UPDATED], .size = p->size[SIZE]};

	NVW_FOR(i, p->size[LAUNCHES]) {
		NVW_TRY(dense_launch(p, cache_reuse_update, &args, args.size));
	}
	return 0;
}

static void cache_reuse_expect(struct dense_plan *p)
{
	const uint32_t *const read = p->expected[READ];
	uint32_t *const updated = p->expected[UPDATED];

	NVW_FOR(i, p->size[SIZE]) {
		updated[i] += (uint32_t)p->size[LAUNCHES] * read[i];
	}
}

DENSE_WORKLOAD(cache_reuse, "cache-reuse", "launches that read one array and update another one");
