/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reduction: the sum of an array, as in the AMD APP SDK: a work-group adds up a part in a tree, with a
 * barrier between steps, and leaves one sum; the next launch does so with those, until one is left. Integers,
 * modulo 2^32.
 *
 * Without a scratchpad (the original has one) the tree is in device memory. A work-item adds the upper half's
 * elements to the lower half's; the barrier orders a step's loads after the stores of the one before.
 */
#include "dense.h"

enum { SIZE };
enum { VALUES, TREE, EVEN, ODD }; /* the last two: sums of groups after even launches and after odd ones */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "128k", "values"),
	DENSE_SCRATCHPAD_OPTION,
	DENSE_OPTIONS_END,
};

/* Work-groups of a launch over count values; one work-item has nothing to add, so groups of one take two. */
static uint64_t groups_of(uint64_t count, unsigned group_size)
{
	assert(group_size > 0);
	return u64_parts(count, 2 * (uint64_t)group_size);
}

static void reduction_shape(struct dense_plan *p)
{
	const uint64_t groups = groups_of(p->size[SIZE], p->group_size);

	dense_read_only(p, VALUES, DENSE_UINT32, p->size[SIZE], "values");
	dense_scratch(p, TREE, DENSE_UINT32, groups * p->group_size, "tree");
	dense_written(p, EVEN, DENSE_UINT32, groups, "even", "odd");
}

static void reduction_fill(struct dense_plan *p)
{
	dense_fill_int(p, VALUES, 0, INT32_MAX);
}

struct args {
	const uint32_t *from;
	uint32_t *tree, *to;
	uint64_t count;
	uint32_t *scratchpads; /* an element per work-item; NULL: there are none */
};

/* An element of a group's tree. */
static inline uint32_t of_tree(const struct args *a, uint64_t i)
{
	return a->scratchpads ? a->scratchpads[i] : nvw_load(&a->tree[i]);
}

static inline void to_tree(const struct args *a, uint64_t i, uint32_t sum)
{
	if (a->scratchpads) {
		a->scratchpads[i] = sum;
	} else {
		nvw_store(&a->tree[i], sum);
	}
}

/* A work-item begins with the sum of two values that lie a group's width apart. */
DENSE_KERNEL(reduction_sum, const struct args, a)
{
	const unsigned local = nvw_local_id(), size = nvw_group_size();
	const uint64_t first = 2 * nvw_group_id() * size + local;
	const uint64_t mine = nvw_group_id() * size + local;
	uint32_t sum = 0;

	if (first < a->count) {
		sum = nvw_load(&a->from[first]);
	}
	if (first + size < a->count) {
		sum += nvw_load(&a->from[first + size]);
	}
	to_tree(a, mine, sum);
	for (unsigned width = size; width > 1; width = (width + 1) / 2) {
		const unsigned half = (width + 1) / 2;

		nvw_barrier(NVW_WORKGROUP);
		if (local + half < width) {
			sum += of_tree(a, mine + half);
			to_tree(a, mine, sum);
		}
	}
	if (local == 0) {
		nvw_store(&a->to[nvw_group_id()], sum);
	}
}

static int reduction_run(struct dense_plan *p)
{
	struct args args = {.from = p->device[VALUES], .tree = p->device[TREE], .count = p->size[SIZE]};

	if (p->has_scratchpad) {
		NVW_TRY(dense_scratchpads(p, p->group_size * sizeof(uint32_t),
			groups_of(args.count, p->group_size) * p->group_size));
		args.scratchpads = p->more;
	}
	for (unsigned i = 0; i == 0 || args.count > 1; i++) {
		const uint64_t groups = groups_of(args.count, p->group_size);

		args.to = p->device[EVEN + i % 2];
		NVW_TRY(dense_launch(p, reduction_sum, &args, groups * p->group_size));
		args.from = args.to;
		args.count = groups;
	}
	assert(args.count == 1);
	return 0;
}

static void reduction_expect(struct dense_plan *p)
{
	const uint32_t *from = p->expected[VALUES];
	uint64_t count = p->size[SIZE];

	for (unsigned i = 0; i == 0 || count > 1; i++) {
		const uint64_t width = 2 * (uint64_t)p->group_size;
		uint32_t *const to = p->expected[EVEN + i % 2];

		NVW_FOR(k, count) {
			if (k % width == 0) {
				to[k / width] = 0;
			}
			to[k / width] += from[k];
		}
		from = to;
		count = groups_of(count, p->group_size);
	}
}

static int reduction_report(struct dense_plan *p, struct nvw_description *description)
{
	uint32_t sum = 0;

	NVW_TRY(dense_get(p, ODD - p->launches % 2, 0, 1, &sum));
	return nvw_describe_u64(description, "sum", sum, "", "of all values, modulo 2^32");
}

DENSE_WORKLOAD(
	reduction, "reduction", "the sum of an array, in trees of work-groups", .report = reduction_report);
