/* SPDX-License-Identifier: BSD-3-Clause */
/* Which work-item runs: the next of its group, or, when its group's slice is over or nobody can run, whom
 * the engine chooses (schedule.c). */
#include "runtime.h"

struct item *nvw_cuda_now;
__thread bool nvw_cuda_in_kernel;
struct launch nvw_cuda_launch;
struct running nvw_cuda_running;
int nvw_cuda_turn;

bool nvw_cuda_is_stack_guard(const void *address)
{
	const struct item *const me = nvw_cuda_now;
	const char *const at = address;

	return me && me->stack && at >= me->stack && at < me->stack + STACK_GUARD;
}

static void append(struct group *g, struct item *item)
{
	NVW_DEEP_INVARIANT(item->group == g && item->state == RUNNABLE);
	item->next = NULL;
	if (g->first) {
		g->last->next = item;
	} else {
		g->first = item;
	}
	g->last = item;
}

/* On the stack of one that has returned, or on one of its own. False: there is no memory for one. */
static bool begin_item(struct item *item)
{
	char *const stack = nvw_cuda_take_stack();

	if (!stack) {
		return false;
	}
	item->stack = stack;
	item->lines.count = 0;
	item->fiber =
		emu_fiber_prepare(stack + STACK_GUARD, nvw_cuda_stack_top(stack), nvw_cuda_running.work_item);
	return true;
}

struct item *nvw_cuda_take(struct group *g)
{
	struct item *item = g->first;

	NVW_DEEP_INVARIANT(nvw_cuda_can_run(g) && g->begun <= g->size);
	nvw_cuda_turn = TURN;
	if (g->begun == g->size) {
		g->first = item->next;
	} else {
		item = &g->items[g->begun];
		if (!begin_item(item)) {
			nvw_cuda_running.error = cudaErrorMemoryAllocation;
			return NULL;
		}
		g->begun++;
	}
	emu_fiber_limit((uintptr_t)item->stack + STACK_GUARD);
	return item;
}

void nvw_cuda_wake(struct item *item)
{
	NVW_DEEP_INVARIANT(item->state != RUNNABLE);
	item->state = RUNNABLE;
	if (!nvw_cuda_machine) {
		append(item->group, item);
	}
}

static void switch_to_next(struct item *me)
{
	struct group *const g = me->group;

	nvw_cuda_now = nvw_cuda_can_run(g) && nvw_cuda_running.slice > 0 ? nvw_cuda_take(g) : NULL;
	if (nvw_cuda_now != me) {
		emu_fiber_switch(&me->fiber, nvw_cuda_now ? &nvw_cuda_now->fiber : &nvw_cuda_running.engine);
	}
}

/* Mostly to one that begins, on the same stack: where no work-item waits for another, all of them have
 * one. */
void nvw_cuda_pass_on(void)
{
	struct item *const me = nvw_cuda_now;
	struct group *const g = me->group;
	char *const stack = me->stack;

	me->stack = NULL;
	nvw_cuda_running.slice--;
	if (g->begun < g->size && nvw_cuda_running.slice > 0) {
		nvw_cuda_turn = TURN;
		nvw_cuda_now = &g->items[g->begun++];
		nvw_cuda_now->stack = stack;
		nvw_cuda_now->lines.count = 0;
		nvw_cuda_begin(nvw_cuda_running.work_item, nvw_cuda_stack_top(stack));
	}
	nvw_cuda_give_stack(stack); /* nobody takes it before the switch */
	switch_to_next(me);
	__builtin_unreachable();
}

void nvw_cuda_next(void)
{
	if (nvw_cuda_machine) {
		nvw_cuda_machine_pass(nvw_cuda_now->place);
		return;
	}
	nvw_cuda_running.slice--;
	switch_to_next(nvw_cuda_now);
}

void nvw_cuda_yield(void)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_settle();
	if (nvw_cuda_machine) {
		nvw_cuda_machine_pass(me->place);
		return;
	}
	nvw_cuda_running.slice--;
	if (nvw_cuda_can_run(me->group) || nvw_cuda_running.slice <= 0) {
		append(me->group, me);
		switch_to_next(me);
	}
}

void nvw_cuda_end_turn(void)
{
	nvw_cuda_turn = TURN;
	if (nvw_cuda_now && !nvw_cuda_machine) {
		nvw_cuda_yield();
	}
}

void nvw_cuda_wait(enum state state, const void *place)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_settle();
	me->state = state;
	me->place = place;
	while (nvw_cuda_machine && me->state != RUNNABLE) {
		nvw_cuda_machine_pass(place);
	}
	if (nvw_cuda_machine) {
		return;
	}
	nvw_cuda_running.slice--;
	switch_to_next(me);
}

_Noreturn void nvw_cuda_end_kernel(cudaError_t error)
{
	struct emu_fiber nobody;

	nvw_cuda_running.error = error;
	if (nvw_cuda_machine) {
		nvw_cuda_machine->abandon();
		__builtin_unreachable();
	}
	nvw_cuda_now = NULL;
	emu_fiber_switch(&nobody, &nvw_cuda_running.engine);
	__builtin_unreachable();
}
