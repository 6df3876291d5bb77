/* SPDX-License-Identifier: BSD-3-Clause */
/* trees-nqueens: the number of ways to place n queens on a board of n rows without attacking each other. A
 * task is a board with some rows filled; it forks one per place in the next row. There are no joins: an
 * atomic counts full boards. */
#include "tasks/programs.h"
#include "trees.h"

enum { N };
enum { SOLUTIONS };

static const struct nvw_option options[] = {
	{"n", NVW_OPTION_COUNT, "8", NULL, "queens"},
	TREES_OPTIONS_END,
};

static void trees_nqueens_shape(struct dense_plan *p)
{
	dense_written(p, SOLUTIONS, DENSE_INT32, 1, "solutions");
}

static void trees_nqueens_fill(struct dense_plan *p)
{
	(void)p;
}

static int trees_nqueens_run(struct dense_plan *p)
{
	const struct trees_queens data = {p->device[SOLUTIONS], (UINT32_C(1) << p->size[N]) - 1};

	return trees_run(p, &trees_queens_program, &data, trees_place, 0, 0, 0);
}

static void trees_nqueens_expect(struct dense_plan *p)
{
	((uint32_t *)p->expected[SOLUTIONS])[0] = trees_solutions((UINT32_C(1) << p->size[N]) - 1, 0, 0, 0);
}

TREES_WORKLOAD(
	trees_nqueens, "trees-nqueens", "tasks: placements of n queens, without joins", .most = {[N] = 14});
