/* SPDX-License-Identifier: BSD-3-Clause */
/* trees-fib: the n-th Fibonacci number by its definition (hechtman14 5.6.3): a task does almost nothing, so
 * it measures forks and joins. Results are modulo 2^32. */
#include "tasks/programs.h"
#include "trees.h"

enum { N };
enum { RESULT };

static const struct nvw_option options[] = {
	{"n", NVW_OPTION_COUNT, "18", NULL, "which Fibonacci number"},
	TREES_OPTIONS_END,
};

static void trees_fib_shape(struct dense_plan *p)
{
	dense_written(p, RESULT, DENSE_INT32, 1, "result");
}

static void trees_fib_fill(struct dense_plan *p)
{
	(void)p;
}

static int trees_fib_run(struct dense_plan *p)
{
	NVW_TRY(trees_run(p, &trees_fib_program, NULL, trees_fib, (uint32_t)p->size[N]));
	return nvw_write(p->machine, p->device[RESULT], &trees_totals(p)->result[0], sizeof(uint32_t));
}

static void trees_fib_expect(struct dense_plan *p)
{
	uint32_t a = 0, b = 1;

	NVW_FOR(i, p->size[N]) {
		const uint32_t next = a + b;

		a = b;
		b = next;
	}
	((uint32_t *)p->expected[RESULT])[0] = a;
}

TREES_WORKLOAD(
	trees_fib, "trees-fib", "tasks: the n-th Fibonacci number by its definition", .most = {[N] = 40});
