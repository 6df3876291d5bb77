/* SPDX-License-Identifier: BSD-3-Clause */
/* trees-nqueens: the number of ways to place n queens on a board of n rows without attacking each other. A
 * task is a board with some rows filled; it forks one per place in the next row. There are no joins: an
 * atomic counts full boards. */
#include "trees.h"

enum { N };
enum { SOLUTIONS };

static const struct nvw_option options[] = {
	{"n", NVW_OPTION_COUNT, "8", NULL, "queens"},
	TREES_OPTIONS_END,
};

struct data {
	uint32_t *solutions;
	uint32_t all; /* one bit per column */
};

/* Words: the columns, and the two diagonals, with queens or attacked in the next row. */
static void place(struct nvw_task *t)
{
	const struct data *const d = nvw_task_data(t);
	const uint32_t columns = nvw_task_word(t, 0), left = nvw_task_word(t, 1), right = nvw_task_word(t, 2);

	if (columns == d->all) {
		(void)nvw_atomic_add(d->solutions, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
		return;
	}
	for (uint32_t open = d->all & ~(columns | left | right); open != 0; open &= open - 1) {
		const uint32_t queen = open & -open;

		nvw_fork(t, place, columns | queen, (left | queen) << 1, (right | queen) >> 1);
	}
}

static const struct nvw_task_program program = {
	.name = "nqueens",
	.functions = (const struct nvw_task_function[]){{"place", place, false}, {NULL, NULL, false}},
	.words = 3,
};

static void shape(struct dense_plan *p)
{
	dense_array(p, SOLUTIONS, "solutions", DENSE_INT32, DENSE_WRITTEN, 1);
}

static void fill(struct dense_plan *p)
{
	(void)p;
}

static int run(struct dense_plan *p)
{
	const struct data data = {p->array[SOLUTIONS].device, (UINT32_C(1) << p->size[N]) - 1};

	return trees_run(p, &program, &data, place, 0, 0, 0);
}

static int32_t solutions(uint32_t all, uint32_t columns, uint32_t left, uint32_t right)
{
	int32_t count = columns == all;

	for (uint32_t open = all & ~(columns | left | right); open != 0; open &= open - 1) {
		const uint32_t queen = open & -open;

		count += solutions(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
	}
	return count;
}

static void expect(struct dense_plan *p)
{
	((int32_t *)p->array[SOLUTIONS].expected)[0] = solutions((UINT32_C(1) << p->size[N]) - 1, 0, 0, 0);
}

static const struct dense_kernel kernel = {
	.name = "trees-nqueens",
	.options = options,
	.most = {[N] = 14},
	.shape = shape,
	.fill = fill,
	.run = run,
	.expect = expect,
	.report = trees_report,
};

TREES_WORKLOAD(
	trees_nqueens, "trees-nqueens", kernel, options, "tasks: placements of n queens, without joins");
