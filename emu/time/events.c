/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap of events, and wake-ups.
 *
 * All layers above schedule events here, and only exec.c takes them out and executes them. So nothing calls
 * upwards: code that has served a wavefront's request, or opened its barrier, leaves an event.
 *
 * Guarantee: only events determine the order, first by time, then by their order field; the same heap content
 * gives the same run.
 */
#include <stdlib.h>

#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "../machine.h"

enum { EVENTS_MIN = 1024 };

static inline void event_push(struct nvw_machine *m, struct emu_event event)
{
	struct emu_exec *const x = &m->exec;
	uint32_t i = x->event_count;

	if (!NVW_ROOM(x->events, x->event_capacity, i + 1)) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for more than %u events", i);
		return;
	}
	x->event_count++;
	for (; i && emu_event_before(&event, &x->events[(i - 1) / 4]); i = (i - 1) / 4) {
		x->events[i] = x->events[(i - 1) / 4];
	}
	/* Field by field: as a whole it is loaded in larger pieces than it has just been stored in, and the
	 * host waits. */
	x->events[i].time = event.time;
	x->events[i].order = event.order;
	x->events[i].wavefront = event.wavefront;
	x->events[i].act = event.act;
	x->events[i].what = event.what;
}

/* Removes event i from the heap. */
static inline struct emu_event event_take(struct emu_exec *x, uint32_t i)
{
	NVW_DEEP_INVARIANT(i < x->event_count);
	const struct emu_event taken = x->events[i], last = x->events[--x->event_count];

	if (i == x->event_count) {
		return taken;
	}
	for (; i && emu_event_before(&last, &x->events[(i - 1) / 4]); i = (i - 1) / 4) {
		x->events[i] = x->events[(i - 1) / 4];
	}
	for (;;) {
		const uint32_t child = 4 * i + 1;
		uint32_t least = child;

		if (child >= x->event_count) {
			break;
		}
		for (uint32_t c = child + 1; c < child + 4 && c < x->event_count; c++) {
			if (emu_event_before(&x->events[c], &x->events[least])) {
				least = c;
			}
		}
		if (!emu_event_before(&x->events[least], &last)) {
			break;
		}
		x->events[i] = x->events[least];
		i = least;
	}
	x->events[i] = last;
	return taken;
}

void emu_schedule(struct nvw_machine *m, emu_time t, void (*act)(struct nvw_machine *, void *), void *what)
{
	/* The memory system's own events precede the wavefronts of the same instant, in order. */
	event_push(m, (struct emu_event){.time = t, .order = m->exec.ages++, .act = act, .what = what});
}

void emu_schedule_open(
	struct nvw_machine *m, emu_time t, void (*act)(struct nvw_machine *, void *), void *what)
{
	event_push(m, (struct emu_event){
			      .time = t, .order = m->exec.ages++ | EMU_EVENT_OPEN, .act = act, .what = what});
}

extern inline void emu_wake(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t)
{
	/* Oldest job first; a seed shuffles wavefronts that are ready in the same cycle. */
	const uint64_t order = m->config.seed ? nvw_random_u64(&m->exec.schedule) : wf->age;

	event_push(m, (struct emu_event){.time = t, .order = order | UINT64_C(1) << 63, .wavefront = wf});
}

/* ---- Choosing the next event ------------------------------------------------------------ */

/* The number of events that precede event i by kind: the memory system's by time, then the wavefronts by
 * age. */
static uint32_t rank_of(const struct emu_exec *x, uint32_t i)
{
	const struct emu_event *const e = &x->events[i];
	uint32_t rank = 0;

	NVW_FOR(k, x->event_count) {
		const struct emu_event *const other = &x->events[k];

		rank += e->wavefront ? !other->wavefront || other->wavefront->age < e->wavefront->age ||
					       (other->wavefront == e->wavefront && k < i) :
				       !other->wavefront && emu_event_before(other, e);
	}
	return rank;
}

/* The earliest of the memory system's own events; the number of events if there is none. */
static uint32_t first_owed(const struct emu_exec *x)
{
	uint32_t first = x->event_count;

	NVW_FOR(i, x->event_count) {
		const struct emu_event *const e = &x->events[i];

		if (!e->wavefront && !(e->order & EMU_EVENT_OPEN) &&
			(first == x->event_count || emu_event_before(e, &x->events[first]))) {
			first = i;
		}
	}
	return first;
}

/* The next event when choose() decides instead of time. The memory system's own events go first, also before
 * open ones of an earlier instant. */
static uint32_t chosen_event(struct nvw_machine *m)
{
	const struct emu_exec *const x = &m->exec;
	const uint32_t owed = first_owed(x);
	uint32_t chosen = 0, i = 0;

	if (owed < x->event_count) {
		return owed;
	}
	if (x->event_count > 1) {
		chosen = m->scheduler.choose(m->scheduler.context, x->event_count);
		assert(chosen < x->event_count);
	}
	while (rank_of(x, i) != chosen) {
		i++;
	}
	return i;
}

void emu_set_scheduler(
	struct nvw_machine *m, unsigned (*choose)(void *context, unsigned count), void *context)
{
	m->scheduler.next = choose ? chosen_event : NULL;
	m->scheduler.choose = choose;
	m->scheduler.context = context;
}

extern inline struct emu_event emu_events_take(struct nvw_machine *m)
{
	if (m->scheduler.next) {
		return event_take(&m->exec, m->scheduler.next(m));
	}
	return event_take(&m->exec, 0);
}

/* ---- A machine's life ---------------------------------------------------------------------- */

int emu_events_init(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	NVW_FAIL_IF(!NVW_ROOM(x->events, x->event_capacity, EVENTS_MIN), NVW_E_MEMORY,
		"no memory for %d events", EVENTS_MIN);
	return 0;
}

void emu_events_forget(struct nvw_machine *m)
{
	NVW_EACH(event, m->exec.events, m->exec.event_count) {
		free(event->what);
	}
	m->exec.event_count = 0;
}

void emu_events_finish(struct nvw_machine *m)
{
	free(m->exec.events);
}
