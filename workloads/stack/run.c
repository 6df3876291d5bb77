/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host side of a stack run: empty stacks, one launch, figures.
 *
 * After a crash the announcements that recovery has left name nodes that are on no stack. If the push of such
 * a node is acknowledged, it was taken, and the taking is acknowledged now: then the words are free for other
 * announcements. A node that is neither on a stack nor taken is pushed again.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

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

	assert((l.stacks | l.nodes) <= UINT32_MAX);
	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(nvw_heap_alloc_extent(machine, &pmem, stack_extent_bytes(&l), &words[STACK_EXTENT]));
	return roots_write(machine, &pmem, words, sizeof words / sizeof *words);
}

/* ---- The run -------------------------------------------------------------------------------------- */

/* A seeded bug may lose nodes in the run itself; only the crash states count. */
static int judge(const struct stack_plan *p)
{
	NVW_FAIL_IF(p->mutation == STACK_UNMUTATED && (p->stuck != 0 || p->pushed != p->count),
		NVW_E_INCONSISTENT,
		"stack: %" PRIu64 " of %" PRIu64 " nodes were pushed, %" PRIu64 " operations gave up",
		p->pushed, p->count, p->stuck);
	return 0;
}

static int launch(struct stack_plan *p, struct nvw_machine *machine, const uint8_t *does)
{
	struct stack_args a = {.plan = p,
		.replaced = stack_replaced(p->mutation),
		.layout = stack_layout_of(p),
		.does = does};

	assert(a.layout.work_items == p->groups * p->group_size);
	NVW_TRY(nvw_pmem_attach(machine, &a.pmem));
	p->pushed = p->taken = p->retries = p->empty = p->stuck = 0;
	NVW_TRY(roots_read(machine, &a.pmem, &a.layout.extent, 1));
	return nvw_launch(machine, "stack", stack_kernel, &a, p->groups * p->group_size, p->group_size);
}

int stack_run(void *plan, struct nvw_machine *machine)
{
	NVW_TRY(launch(plan, machine, NULL));
	NVW_TRY(nvw_persist(machine));
	return judge(plan);
}

/* ---- After a crash -------------------------------------------------------------------------------- */

struct rest {
	const struct stack_plan *plan;
	struct nvw_machine *machine;
	const struct nvw_acks *acks;
	struct stack_view v;
	uint8_t *does;
	bool *is_there; /* node on a stack */
};

static bool note(void *context, uint64_t stack, nvw_off off, uint64_t node)
{
	struct rest *const r = context;

	if (node != UINT64_MAX) {
		r->is_there[node] = true;
	}
	return true;
}

static bool is_acked(const struct rest *r, enum stack_operation operation, uint64_t node)
{
	assert(node < r->plan->count);
	return nvw_acked(r->acks, operation == STACK_OPERATION_PUSH ? node : r->plan->count + node);
}

/* What is on a stack is pushed, durably. */
static int acknowledge_pushes(const struct rest *r)
{
	NVW_FOR(node, r->plan->count) {
		if (r->is_there[node] && !is_acked(r, STACK_OPERATION_PUSH, node)) {
			NVW_TRY(nvw_acknowledge(r->machine, node, 1));
		}
	}
	return 0;
}

static int finish_taking(const struct stack_plan *p, struct nvw_machine *machine, uint64_t node)
{
	assert(node < p->count);
	return nvw_acknowledge(machine, p->count + node, 1);
}

static int finish_takings(const struct rest *r)
{
	const struct stack_steps *const replaced = stack_replaced(r->plan->mutation);
	const struct stack_layout *const l = &r->v.layout;
	static const uint64_t none = 0;
	struct nvw_pmem pmem;

	NVW_TRY(nvw_pmem_attach(r->machine, &pmem));
	NVW_FOR(i, l->work_items) {
		const uint64_t word = nvw_pool_word(r->v.pool, stack_announcement(l, i)),
			       node = (word & UINT32_MAX) - 1;

		if (word == 0) {
			continue;
		}
		if (is_acked(r, STACK_OPERATION_PUSH, node)) {
			NVW_TRY(STEP(replaced, finish_taking, r->plan, r->machine, node));
		}
		NVW_TRY(nvw_write(r->machine, pmem.base + stack_announcement(l, i), &none, sizeof none));
	}
	return nvw_persist(r->machine);
}

/* Pushes that are left, and the takings that follow them: at most so many. */
static void choose(const struct rest *r, uint64_t operations)
{
	uint64_t stack;

	for (uint64_t node = 0; node < r->plan->count && operations > 0; node++) {
		if (r->is_there[node] || is_acked(r, STACK_OPERATION_PUSH, node) ||
			is_acked(r, STACK_OPERATION_TAKE, node)) {
			continue;
		}
		r->does[node] = STACK_DOES_PUSH;
		operations--;
		if (operations > 0 && stack_takes_after(r->plan, node, &stack)) {
			r->does[node] |= STACK_DOES_TAKE;
			operations--;
		}
	}
}

static int go_on(struct rest *r, uint64_t operations)
{
	NVW_TRY(stack_view_open(nvw_machine_pool(r->machine), &r->v));
	NVW_FOR(s, r->v.layout.stacks) {
		stack_walk(&r->v, s, note, r);
	}
	NVW_TRY(acknowledge_pushes(r));
	NVW_TRY(finish_takings(r));
	choose(r, operations);
	return 0;
}

int stack_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations)
{
	struct stack_plan *const p = plan;
	struct rest r = {.plan = p,
		.machine = machine,
		.acks = acks,
		.does = calloc(p->count, 1),
		.is_there = calloc(p->count, sizeof *r.is_there)};
	int error = 0;

	if (!r.does || !r.is_there) {
		error = nvw_fail(NVW_E_MEMORY, "stack: no memory to go on with %" PRIu64 " nodes", p->count);
	}
	if (error == 0) {
		error = go_on(&r, operations);
	}
	if (error == 0) {
		error = launch(p, machine, r.does);
	}
	free(r.does);
	free(r.is_there);
	return error;
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
