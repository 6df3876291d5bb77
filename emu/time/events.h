/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens when: the heap of events (events.c), and the kernel that runs by them (exec.c, launch.c).
 */
#ifndef EMU_EVENTS_H
#define EMU_EVENTS_H

#include <nvw/host.h>
#include <nvw/random.h>

#include "../wavefront/wavefront.h"

struct emu_event {
	emu_time time;
	uint64_t order;
	struct emu_wavefront *wavefront;                      /* resume this, or */
	void (*act)(struct nvw_machine *machine, void *what); /* or do this */
	void *what;
};

static inline bool emu_event_before(const struct emu_event *a, const struct emu_event *b)
{
	if (a->time != b->time) {
		return a->time < b->time;
	}
	return a->order < b->order;
}

/* In its order: such an event follows the memory system's own of its instant, and precedes the wavefronts. */
#define EMU_EVENT_OPEN (UINT64_C(1) << 62)

struct emu_exec {
	struct emu_event *events; /* a heap, [0] earliest */
	uint32_t event_count, event_capacity;
	uint32_t background; /* events that keep no kernel from ending (protocol/turns.c) */
	char *stacks;
	uint64_t stacks_bytes;
	uint64_t stack_bytes; /* of one work-item */
	struct emu_wavefront *wavefronts;
	uint32_t wavefront_count;
	uint64_t *lanes_used; /* by the place of a wavefront's stacks: lanes that ever had one */
	/* Frames of resumable kernels, likewise, and stacks that they run on (resumable.c). */
	char *frames;
	uint64_t frames_bytes, frame_bytes;
	struct emu_carrier *carriers; /* unused ones */
	uint32_t carrier_count;       /* so many stacks have been one */
	struct emu_more_stacks *more_stacks;
	/* Turns of wavefronts before huge pages were last considered, from then until the next time, and left
	 * until then. */
	uint64_t turns, turns_asked, turns_left;
	bool huge_pages;   /* have been asked for */
	uint32_t expected; /* places whose stacks come in huge pages (launch.c) */
	struct emu_slot *slots;
	uint32_t slot_count;
	uint64_t ages;

	/* the running kernel */
	nvw_kernel kernel;
	const struct emu_resumable *resumable; /* in its place: work-items have no stacks of their own */
	const void *args;
	const char *name;
	uint32_t number;
	uint32_t first_cu;                                           /* of its first work-group */
	uint64_t groups, groups_started, groups_done, groups_before; /* before: of the kernel before */
	unsigned group_size, group_wavefronts;
	uint64_t arrived[EMU_WAIT_KINDS]; /* work-items at kernel-wide barriers */
	uint64_t returned;                /* work-items */
	bool without_returned;            /* barriers do not wait for them */
	bool by_line;                     /* the order of diverged lanes */
	emu_time arrived_first;
	const struct nvw_site *barrier_site; /* source line of the kernel-wide persist barrier in progress */
	uint32_t epoch_kr;                   /* kernel-wide persist barriers so far */
	struct emu_group *live_groups;
	uint32_t stream;            /* durability checker */
	struct nvw_random schedule; /* seeded choices */
};

/* Memory before the first stack, which an overflow may hit before it is detected. */
enum { EMU_STACK_SLACK = 2 << 20 };
/* The stack of a wavefront's lane 0, by its place; the others follow. */
static inline char *emu_stacks_at(const struct emu_exec *x, uint64_t place)
{
	NVW_DEEP_INVARIANT(place < x->wavefront_count);
	return x->stacks + EMU_STACK_SLACK + place * EMU_LANES * x->stack_bytes;
}

/* ---- events.c: what happens when ------------------------------------------------------------- */

int emu_events_init(struct nvw_machine *m);
void emu_events_finish(struct nvw_machine *m);
/* Calls act(machine, what) at t. what is malloced; act frees it, or emu_events_forget() does if the run ends
 * before. */
void emu_schedule(struct nvw_machine *m, emu_time t, void (*act)(struct nvw_machine *, void *), void *what);
/* The same for an event that a scheduler may delay (emu_set_scheduler): it is a choice, like a wavefront. */
void emu_schedule_open(
	struct nvw_machine *m, emu_time t, void (*act)(struct nvw_machine *, void *), void *what);
/* At t, the wavefront has its turn. */
void emu_wake(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t);
/* The wavefront's access has been served at t, by its L1 or beyond. */
void emu_wake_after_access(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t);
/* Removes the next event: the earliest, or the one that the scheduler chooses. There must be one. */
struct emu_event emu_events_take(struct nvw_machine *m);
/* Removes and frees all events. */
void emu_events_forget(struct nvw_machine *m);

/* ---- exec.c, launch.c ------------------------------------------------------------------------ */

/* Runs events until none is left or the run fails. */
int emu_run_events(struct nvw_machine *m);
/* Frees the state of a kernel that did not finish. */
void emu_forget_kernel(struct nvw_machine *m);

#endif
