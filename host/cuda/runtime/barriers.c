/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers of blocks, with their votes, and of the grid: those who have returned do not count. */
#include "runtime.h"

/* True as soon as all are there: what the barrier was about is known then. */
static bool conclude(struct group *g)
{
	NVW_DEEP_INVARIANT(g->waiting <= g->live);
	NVW_INVARIANT((unsigned)g->counts <= g->waiting); /* who votes waits */
	if (!g->waiting || g->waiting < g->live) {
		return false;
	}
	g->result = (uint64_t)g->waiting << 32 | (unsigned)g->counts;
	g->waiting = 0;
	g->counts = 0;
	return true;
}

static void maybe_open_barrier(struct group *g)
{
	if (!conclude(g)) {
		return;
	}
	NVW_EACH(item, g->items, g->size) {
		if (item->state == AT_BARRIER) {
			item->result = g->result;
			nvw_cuda_wake(item);
		}
	}
}

/* The machine opens the barrier. */
void nvw_cuda_item_left_machine(struct group *g)
{
	(void)conclude(g);
}

static uint64_t barrier_on_machine(struct group *g, int predicate, const void *place)
{
	NVW_DEEP_INVARIANT(g->waiting < g->live && predicate >> 1 == 0);
	g->counts += predicate;
	g->waiting++;
	(void)conclude(g);
	nvw_cuda_machine_barrier(false, place);
	return g->result;
}

void nvw_cuda_lane_barrier(const struct nvw_site **site)
{
	struct group *const g = nvw_cuda_now->group;
	struct nvw__request *r;

	nvw_cuda_settle();
	if (!*site) {
		*site = nvw_cuda_machine->short_way->site(__builtin_return_address(0));
	}
	g->waiting++;
	(void)conclude(g);
	r = *nvw_cuda_lane_self;
	r->address = r->compare = 0;
	r->value = NVW_WORKGROUP;
	r->site = *site;
	r->op = NVW__OP_BARRIER;
}

static void wait_at_barrier(struct item *me, int predicate, const void *place)
{
	struct group *const g = me->group;

	NVW_DEEP_INVARIANT(me->state == RUNNABLE && g->waiting < g->live);
	g->counts += predicate;
	g->waiting++;
	me->state = AT_BARRIER;
	maybe_open_barrier(g);
	if (me->state == AT_BARRIER) {
		nvw_cuda_wait(AT_BARRIER, place);
	} else {
		nvw_cuda_next();
	}
}

int nvw_cuda_barrier_at(int kind, int predicate, const void *place)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_settle();
	if (nvw_cuda_machine) {
		me->result = barrier_on_machine(me->group, predicate, place);
	} else {
		wait_at_barrier(me, predicate, place);
	}
	const unsigned count = (unsigned)me->result, all = (unsigned)(me->result >> 32);

	if (kind == 1) {
		return (int)count;
	}
	return kind == 2 ? count == all : count != 0;
}

void nvw_cuda_sync_threads(void)
{
	(void)nvw_cuda_barrier_at(0, 0, __builtin_return_address(0));
}

int nvw_cuda_barrier(int kind, int predicate)
{
	return nvw_cuda_barrier_at(kind, predicate, __builtin_return_address(0));
}

static uint64_t live_items(void)
{
	uint64_t live = (nvw_cuda_launch.groups - nvw_cuda_running.started) * nvw_cuda_launch.group_size;
	const struct group *g = nvw_cuda_running.ring;

	if (g) {
		do {
			live += g->live;
			g = g->next;
		} while (g != nvw_cuda_running.ring);
	}
	NVW_INVARIANT(live >= nvw_cuda_running.at_grid_barrier);
	return live;
}

static void maybe_open_grid_barrier(void)
{
	struct group *g = nvw_cuda_running.ring;

	if (!nvw_cuda_running.at_grid_barrier || nvw_cuda_running.at_grid_barrier < live_items()) {
		return;
	}
	do {
		NVW_EACH(item, g->items, g->size) {
			if (item->state == AT_GRID_BARRIER) {
				nvw_cuda_wake(item);
			}
		}
		g = g->next;
	} while (g != nvw_cuda_running.ring);
	nvw_cuda_running.at_grid_barrier = 0;
}

void nvw_cuda_grid_barrier(void)
{
	struct item *const me = nvw_cuda_now;

	if (!nvw_cuda_launch.cooperative) {
		nvw_cuda_report(__builtin_return_address(0),
			"synchronizes the grid: launch it with cudaLaunchCooperativeKernel()");
		nvw_cuda_end_kernel(cudaErrorLaunchFailure);
	}
	nvw_cuda_settle();
	if (nvw_cuda_machine) {
		nvw_cuda_machine_barrier(true, __builtin_return_address(0));
		return;
	}
	nvw_cuda_running.at_grid_barrier++;
	me->state = AT_GRID_BARRIER;
	maybe_open_grid_barrier();
	if (me->state == AT_GRID_BARRIER) {
		nvw_cuda_wait(AT_GRID_BARRIER, __builtin_return_address(0));
	} else {
		nvw_cuda_next();
	}
}

void nvw_cuda_item_left(struct group *g)
{
	maybe_open_barrier(g);
	maybe_open_grid_barrier();
}
