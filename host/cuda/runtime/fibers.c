/* SPDX-License-Identifier: BSD-3-Clause */
/* Which work-item runs: the next of its group, or, when its group's slice is over or nobody can run, whom the engine chooses (schedule.c). */
#include <stdlib.h>
#include <string.h>

#include "../../../emu/fiber.h"
#include "runtime.h"

struct item *nvw_cuda_now;
__thread bool nvw_cuda_in_kernel;
struct launch nvw_cuda_launch;
struct running nvw_cuda_running;

bool nvw_cuda_is_stack_guard(const void *address)
{
	const struct item *const me = nvw_cuda_now;
	const char *const at = address;

	return me && me->stack && at >= me->stack && at < me->stack + STACK_GUARD;
}

static void append(struct group *g, struct item *item)
{
	item->next = NULL;
	*(g->first ? &g->last->next : &g->first) = item;
	g->last = item;
}

struct item *nvw_cuda_take(struct group *g)
{
	struct item *const item = g->first;

	g->first = item->next;
	return item;
}

void nvw_cuda_wake(struct item *item)
{
	item->state = RUNNABLE;
	if (!nvw_cuda_machine) {
		append(item->group, item);
	}
}

static void switch_to_next(struct item *me)
{
	struct group *const g = me->group;

	if (g->first && nvw_cuda_running.slice > 0) {
		nvw_cuda_now = nvw_cuda_take(g);
		if (nvw_cuda_now != me) {
			emu_fiber_switch(&me->sp, nvw_cuda_now->sp);
		}
	} else {
		nvw_cuda_now = NULL;
		emu_fiber_switch(&me->sp, nvw_cuda_running.engine);
	}
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
	if (me->group->first || nvw_cuda_running.slice <= 0) {
		append(me->group, me);
		switch_to_next(me);
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
	void *nobody;

	nvw_cuda_running.error = error;
	if (nvw_cuda_machine) {
		nvw_cuda_machine->abandon();
		__builtin_unreachable();
	}
	nvw_cuda_now = NULL;
	emu_fiber_switch(&nobody, nvw_cuda_running.engine);
	__builtin_unreachable();
}

struct item *nvw_cuda_new_items(unsigned count)
{
	struct item *const items = aligned_alloc(_Alignof(struct item), count * sizeof *items);

	if (items) {
		memset(items, 0, count * sizeof *items);
	}
	return items;
}

void nvw_cuda_set_item(struct group *g, unsigned i)
{
	const struct extent *const block = &nvw_cuda_launch.block;
	struct item *const item = &g->items[i];

	item->group = g;
	item->warp = &g->warps[i / WARP];
	item->lane = (uint8_t)(i % WARP);
	item->thread = (struct extent){i % block->x, i / block->x % block->y, i / block->x / block->y};
	item->warp->item[item->lane] = item;
	item->warp->live |= 1u << item->lane;
}
