/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where lanes of a warp meet: votes, shuffles, __syncwarp().
 *
 * A meeting is known by its mask: lanes with different masks meet separately. It is complete when all lanes
 * of the mask that have not returned are there, and everyone's result is computed at that moment, so that a
 * fast lane may come back for the next one while a slow one has not yet left.
 *
 * The active mask is the set of lanes that ask for it at the same place: a lane that asks lets the others run
 * until they ask as well, or wait, or return. Lanes that spin on each other would hold that up for ever, so
 * it is given up after some turns.
 */

#include "../include/nvw_cuda_warp.h"
#include "runtime.h"

enum { PATIENCE = 256, PATIENCE_ON_MACHINE = 1 << 16 }; /* the machine prefers some lanes for a while */

/* The lanes of a mask. */
#define FOR_LANES(lane, mask)                                                                       \
	for (unsigned rest_ = (mask), lane; rest_ && (lane = (unsigned)__builtin_ctz(rest_), true); \
		rest_ &= rest_ - 1)

/* ---- Results ------------------------------------------------------------------------------------ */

static uint64_t ballot(const struct meeting *m)
{
	uint64_t result = 0;

	FOR_LANES(lane, m->arrived) {
		result |= (uint64_t)(m->value[lane] != 0) << lane;
	}
	return result;
}

static uint64_t same_as(const struct meeting *m, unsigned lane)
{
	uint64_t result = 0;

	FOR_LANES(other, m->arrived) {
		result |= (uint64_t)(m->value[lane] == m->value[other]) << other;
	}
	return result;
}

static uint64_t reduce_two(int kind, uint64_t a, uint64_t b)
{
	switch (kind) {
	case NVW_CUDA_REDUCE_ADD:
		return a + b;
	case NVW_CUDA_REDUCE_MIN:
		return nvw_min((uint32_t)a, (uint32_t)b);
	case NVW_CUDA_REDUCE_MAX:
		return nvw_max((uint32_t)a, (uint32_t)b);
	case NVW_CUDA_REDUCE_SIGNED_MIN:
		return (int64_t)b < (int64_t)a ? b : a;
	case NVW_CUDA_REDUCE_SIGNED_MAX:
		return (int64_t)a < (int64_t)b ? b : a;
	case NVW_CUDA_REDUCE_AND:
		return a & b;
	case NVW_CUDA_REDUCE_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static uint64_t reduce(const struct meeting *m)
{
	NVW_DEEP_INVARIANT(m->arrived); /* whoever asks is among them */
	const unsigned first = (unsigned)__builtin_ctz(m->arrived);
	uint64_t result = m->value[first];

	FOR_LANES(lane, m->arrived & (m->arrived - 1)) {
		result = reduce_two(m->kind, result, m->value[lane]);
	}
	return result;
}

static uint64_t result_of(const struct meeting *m, unsigned lane)
{
	const unsigned from = m->argument[lane];

	switch (m->kind) {
	case NVW_CUDA_MEET:
		return 0;
	case NVW_CUDA_BALLOT:
		return ballot(m);
	case NVW_CUDA_SHUFFLE:
		return m->value[from < WARP && m->arrived >> from & 1 ? from : lane];
	case NVW_CUDA_MATCH_ANY:
		return same_as(m, lane);
	case NVW_CUDA_MATCH_ALL:
		return same_as(m, lane) == m->arrived ? m->arrived : 0;
	default:
		return reduce(m);
	}
}

/* ---- Meetings ----------------------------------------------------------------------------------- */

static void conclude(struct warp *w, struct meeting *m)
{
	NVW_DEEP_INVARIANT(m->arrived && !(m->arrived & ~m->mask) && w->meetings > 0);
	FOR_LANES(lane, m->arrived) {
		w->item[lane]->result = result_of(m, lane);
		nvw_cuda_wake(w->item[lane]);
	}
	m->arrived = 0;
	w->meetings--;
}

static bool is_complete(const struct warp *w, const struct meeting *m)
{
	return m->arrived && (m->mask & w->live & ~m->arrived) == 0;
}

void nvw_cuda_lane_left(struct warp *w)
{
	NVW_DEEP_INVARIANT(w->meetings <= MEETINGS);
	NVW_EACH(m, w->meeting, w->meetings ? MEETINGS : 0) {
		if (is_complete(w, m)) {
			conclude(w, m);
		}
	}
}

/* The one of this mask, or a free one: there are as many as lanes. */
static struct meeting *find(struct warp *w, unsigned mask)
{
	struct meeting *found = NULL;

	NVW_EACH_IN(m, w->meeting) {
		if (m->arrived && m->mask == mask) {
			return m;
		}
		if (!m->arrived && !found) {
			found = m;
		}
	}
	NVW_DEEP_INVARIANT(found); /* a lane is in one meeting at a time */
	found->mask = mask;
	return found;
}

uint64_t nvw_cuda_meet_at(int kind, unsigned mask, uint64_t value, unsigned argument, const void *place)
{
	struct item *const me = nvw_cuda_now;

	if (!(mask >> me->lane & 1)) {
		nvw_cuda_report(place, "lane %u is not in its own mask %#x", me->lane, mask);
		nvw_cuda_end_kernel(cudaErrorLaunchFailure);
	}
	/* In this order: others may run while a store is settled, and find the same free meeting. */
	nvw_cuda_settle();
	struct meeting *const m = find(me->warp, mask);

	if (m->arrived && m->kind != kind) {
		nvw_cuda_report(place,
			"lanes of mask %#x call different functions of their warp at the same time", mask);
		nvw_cuda_end_kernel(cudaErrorLaunchFailure);
	}
	NVW_DEEP_INVARIANT(!(m->arrived >> me->lane & 1) && me->state == RUNNABLE);
	me->place = place; /* one instruction of the machine for all lanes */
	me->warp->meetings += !m->arrived;
	m->kind = kind;
	m->value[me->lane] = value;
	m->argument[me->lane] = argument;
	m->arrived |= 1u << me->lane;
	me->state = MEETING;
	if (is_complete(me->warp, m)) {
		conclude(me->warp, m);
		nvw_cuda_next();
	} else {
		nvw_cuda_wait(MEETING, me->place);
	}
	return me->result;
}

uint64_t nvw_cuda_meet(int kind, unsigned mask, uint64_t value, unsigned argument)
{
	return nvw_cuda_meet_at(kind, mask, value, argument, __builtin_return_address(0));
}

unsigned nvw_cuda_lane(void)
{
	return nvw_cuda_now->lane;
}

/* ---- The active mask ---------------------------------------------------------------------------- */

/* Whether a lane may yet come to ask. */
static bool others_run(const struct warp *w)
{
	FOR_LANES(lane, w->live) {
		if (w->item[lane]->state == RUNNABLE && !w->asking[lane]) {
			return true;
		}
	}
	return false;
}

static void answer(struct warp *w, const void *place)
{
	unsigned mask = 0;

	NVW_FOR(lane, WARP) {
		mask |= (unsigned)(w->asking[lane] == place) << lane;
	}
	NVW_DEEP_INVARIANT(mask); /* whoever has lost patience asks itself */
	FOR_LANES(lane, mask) {
		w->asking[lane] = NULL;
		w->item[lane]->result = mask;
	}
}

unsigned nvw_cuda_active_mask_at(const void *place)
{
	struct item *const me = nvw_cuda_now;
	struct warp *const w = me->warp;

	me->place = place;
	w->asking[me->lane] = me->place;
	for (unsigned turns = nvw_cuda_machine ? PATIENCE_ON_MACHINE : PATIENCE;
		turns && w->asking[me->lane] && others_run(w); turns--) {
		nvw_cuda_yield();
	}
	if (w->asking[me->lane]) {
		answer(w, w->asking[me->lane]);
	}
	return (unsigned)me->result;
}

unsigned nvw_cuda_active_mask(void)
{
	return nvw_cuda_active_mask_at(__builtin_return_address(0));
}
