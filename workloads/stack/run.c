/* SPDX-License-Identifier: BSD-3-Clause */
/* The host side of a stack run: empty stacks, one launch, figures. */
#include <inttypes.h>

#include "common/figures.h"
#include "common/roots.h"
#include "steps.h"

/* ---- Set-up --------------------------------------------------------------------------------------- */

struct stack_layout stack_layout_of(const struct stack_plan *p)
{
	return (struct stack_layout){.stacks = p->stacks,
		.payload = p->payload,
		.nodes = p->count,
		.work_items = p->groups * p->group_size};
}

int stack_setup(void *plan, struct nvw_machine *machine)
{
	const struct stack_layout l = stack_layout_of(plan);
	uint64_t words[] = {
		[STACK_SHAPE] = l.stacks | l.payload << 32,
		[STACK_SIZES] = l.nodes | l.work_items << 32,
	};
	struct nvw_pmem pmem;

	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(nvw_heap_alloc_extent(machine, &pmem, stack_extent_bytes(&l), &words[STACK_EXTENT]));
	return roots_write(machine, &pmem, words, sizeof words / sizeof *words);
}

/* ---- The run -------------------------------------------------------------------------------------- */

/* A seeded bug may lose nodes in the run itself; only the crash states count. */
static int judge(const struct stack_plan *p)
{
	if (p->mutation == STACK_UNMUTATED && (p->stuck != 0 || p->pushed != p->count)) {
		return nvw_fail(NVW_E_INCONSISTENT,
			"stack: %" PRIu64 " of %" PRIu64 " nodes were pushed, %" PRIu64 " operations gave up",
			p->pushed, p->count, p->stuck);
	}
	return 0;
}

int stack_run(void *plan, struct nvw_machine *machine)
{
	struct stack_plan *const p = plan;
	struct stack_args a = {
		.plan = p, .replaced = stack_replaced(p->mutation), .layout = stack_layout_of(p)};
	NVW_TRY(nvw_pmem_attach(machine, &a.pmem));

	p->pushed = p->taken = p->retries = p->empty = p->stuck = 0;
	NVW_TRY(roots_read(machine, &a.pmem, &a.layout.extent, 1));
	NVW_TRY(nvw_launch(machine, "stack", stack_kernel, &a, p->groups * p->group_size, p->group_size));
	NVW_TRY(nvw_persist(machine));
	return judge(p);
}

/* ---- Figures -------------------------------------------------------------------------------------- */

int stack_report(void *plan, struct nvw_machine *machine, struct nvw_description *d)
{
	const struct stack_plan *const p = plan;
	const struct figure rows[] = {
		{"stack.pushed", p->pushed, "count", "nodes that were pushed"},
		{"stack.taken", p->taken, "count", "nodes that were taken"},
		{"stack.empty", p->empty, "count", "takings that found no node"},
		{"stack.retries", p->retries, "count", "compare-exchanges of a head that failed"},
	};

	return FIGURES_DESCRIBE(d, rows);
}
