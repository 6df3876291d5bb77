/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who executes: wavefronts of work-items in lockstep (wavefront.c), work-groups and the slots where they are
 * resident (groups.c), and the barriers at which they wait (release.c).
 */
#ifndef EMU_WAVEFRONT_H
#define EMU_WAVEFRONT_H

#include <nvw/kernel.h>

#include "core/invariant.h"
#include "issue.h"
#include "../memory/levels.h"

struct emu_exec;
struct nvw_machine;

enum { EMU_LANES = NVW__LANES };

enum emu_wait {
	EMU_WAIT_NONE,
	EMU_WAIT_BARRIER_WG,
	EMU_WAIT_PERSIST_WG,
	EMU_WAIT_BARRIER_KR,
	EMU_WAIT_PERSIST_KR,
	EMU_WAIT_KINDS
};

/* The requests of a wavefront's lanes, field by field. */
struct __attribute__((__may_alias__)) emu_requests {
	uint64_t address[EMU_LANES], value[EMU_LANES], compare[EMU_LANES];
	const struct nvw_site *site[EMU_LANES];
	uint64_t op[EMU_LANES];
};

/* Two lanes' words at once, which each host's compiler can do. */
typedef uint64_t emu_pair __attribute__((vector_size(16), aligned(8), may_alias));

/* A request outside the arrays. */
struct emu_saved_request {
	uint64_t address, value, compare;
	const struct nvw_site *site;
	uint64_t op;
};

struct emu_wavefront {
	struct emu_requests requests;
	struct emu_fiber fibers[EMU_LANES + EMU_STACKS_AHEAD]; /* the last ones are only prefetched */
	uint64_t live;                                         /* lanes that have not returned */
	uint64_t runnable; /* lanes whose request is complete: they run when the wavefront is next popped */
	uint64_t posted;   /* lanes with a request that waits for its turn */
	uint64_t parked;   /* lanes at a barrier of the work-group or the kernel */
	uint64_t changed;  /* lanes whose last read-modify-write has changed the memory */
	/* Of a resumable kernel: lanes that have not begun; that are in the middle of a call
	 * (resumable.c). */
	uint64_t fresh, in_call;
	uint64_t first_global;
	unsigned first_local;
	uint32_t turns; /* since a posted lane was last passed over */
	uint64_t age;   /* oldest job first */
	struct emu_group *group;
	char *stacks; /* stack, or frame, of lane 0; the others follow */
	/* Number of persist barriers so far that order each lane's stores, by scope (equations 1 to 3). */
	uint32_t epoch_wi[EMU_LANES], epoch_wg[EMU_LANES], epoch_kr[EMU_LANES];
	uint32_t stream[EMU_LANES]; /* durability checker: per work-item, 0 until it stores to NVRAM */
	uint32_t persist_stream, persist_epoch, persist_tag; /* of the persistency model */
	unsigned fair;           /* the lane that guarantee (2) of exec.c prefers next */
	uint32_t queued;         /* delayed requests of the current instruction (protocol/wait.c) */
	emu_time issued, served; /* while some do: when it was issued, when those that do not are done */
	struct emu_carrier *carrier[EMU_LANES]; /* of lanes in_call */
};

/* Where a work-group can be resident: the wavefront contexts of a part of a CU. */
struct emu_slot {
	struct emu_cu *cu;
	struct emu_wavefront *wavefronts;
	struct emu_group *resident;
	struct emu_group *ready_first, *ready_last; /* switched out, to be resumed here */
	emu_time free_at;                           /* while a work-group is being switched */
};

struct emu_group {
	uint64_t id;
	struct emu_slot *slot;
	uint32_t size;     /* work-items */
	uint32_t returned; /* of them */
	uint32_t arrived[EMU_WAIT_KINDS];
	emu_time arrived_first;     /* at their barrier */
	struct emu_group *next;     /* in a slot's ready list */
	struct emu_group *next_all; /* in the kernel's list of live groups */
	struct emu_group *prev_all;
	char *saved;             /* contexts while switched out, NULL while resident */
	uint32_t persist_stream; /* of the persistency model */
	uint32_t stream;         /* durability checker: 0 until it stores to NVRAM */
};

/* A lane's request, as its work-item sees it. */
static inline struct nvw__request *emu_request(const struct emu_wavefront *wf, unsigned lane)
{
	NVW_DEEP_INVARIANT(lane < EMU_LANES);
	return (struct nvw__request *)(uintptr_t)&wf->requests.address[lane];
}

/* The running one. */
static inline unsigned emu_lane(void)
{
	return (unsigned)((uint64_t *)(void *)nvw__self - emu_now.wavefront->requests.address);
}

static inline struct emu_saved_request emu_request_save(const struct emu_wavefront *wf, unsigned lane)
{
	NVW_DEEP_INVARIANT(lane < EMU_LANES);

	const struct emu_requests *const r = &wf->requests;

	return (struct emu_saved_request){
		r->address[lane], r->value[lane], r->compare[lane], r->site[lane], r->op[lane]};
}

static inline void emu_request_restore(
	struct emu_wavefront *wf, unsigned lane, struct emu_saved_request request)
{
	NVW_DEEP_INVARIANT(lane < EMU_LANES);

	struct emu_requests *const r = &wf->requests;

	r->address[lane] = request.address;
	r->value[lane] = request.value;
	r->compare[lane] = request.compare;
	r->site[lane] = request.site;
	r->op[lane] = request.op;
}

/* The first lane behind the run of neighbours that begins with the lowest of the lanes. */
static inline unsigned emu_run_end(uint64_t lanes)
{
	const uint64_t others = ~(lanes | (lanes - 1));

	NVW_DEEP_INVARIANT(lanes);
	return others ? emu_first(others) : EMU_LANES;
}

/* Loops over lanes, upwards; declares lane. Nearly always they are neighbours. There is no way to leave it by
 * "break". */
#define EMU_FOR_LANES(lane, lanes)                                                                        \
	for (uint64_t rest_ = (lanes), end_; rest_; rest_ = end_ < EMU_LANES ? rest_ >> end_ << end_ : 0) \
		for (uint64_t lane = (end_ = emu_run_end(rest_), (uint64_t)__builtin_ctzll(rest_));       \
			lane < end_; lane++)

/* ---- wavefront.c: lanes as fibers ------------------------------------------------------------ */

int emu_wavefronts_init(struct nvw_machine *m);
void emu_wavefronts_finish(struct nvw_machine *m);
/* Sets up the first lanes of a wavefront context to run the kernel. */
void emu_wavefront_start(struct nvw_machine *m, struct emu_wavefront *wf, unsigned lanes);
/* Runs every runnable lane to its next request. */
void emu_wavefront_run(struct nvw_machine *m, struct emu_wavefront *wf);
/* It has its turn soon. */
void emu_wavefront_prefetch(const struct emu_wavefront *wf);
/* The live part of a suspended lane's stack, or its frame. */
uint64_t emu_wavefront_stack_used(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lane);
char *emu_wavefront_stack(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lane);
/* The CU a wavefront runs on. */
static inline struct emu_cu *emu_cu_of(const struct emu_wavefront *wf)
{
	return wf->group->slot->cu;
}
/* Whether the stack pointer is a work-item's. */
bool emu_is_lane_stack(const struct nvw_machine *m, const void *sp);
/* Called in a signal handler that interrupted a work-item: leaves the work-item for good and returns to the
 * engine, with m->error set. */
_Noreturn void emu_lane_abandon(void);

/* ---- resumable.c: lanes without stacks ------------------------------------------------------- */

int emu_resumable_begin(struct emu_exec *x);
void emu_resumable_finish(struct emu_exec *x);
/* Whether the stack pointer is in a stack that its kernels have beyond those of the machine. */
bool emu_is_more_stack(const struct emu_exec *x, const char *sp);
/* Runs the lanes of emu_now.turn.to_run. */
void emu_resumable_run(void);
/* The request of the running lane, in the middle of a call; returns at its completion. */
void emu_resumable_issue(void);

/* ---- release.c: barriers open ---------------------------------------------------------------- */

/* Lets the parked lanes of a group's wavefronts continue at t. */
void emu_group_release(struct nvw_machine *m, struct emu_group *group, emu_time t);
void emu_kernel_release(struct nvw_machine *m, emu_time t);

/* ---- groups.c: work-groups on slots ---------------------------------------------------------- */

/* Gives an empty slot to a work-group that waits for it, else to one that has not started. */
void emu_slot_fill(struct nvw_machine *m, struct emu_slot *slot, emu_time t);
/* The lanes wait at a barrier of this kind. The last one to arrive opens an execution barrier, or calls
 * persist_group_arrived() or persist_kernel_arrived() at a persist barrier. */
void emu_park(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum emu_wait wait, emu_time t);
/* All work-items of the group have returned. */
void emu_group_finish(struct nvw_machine *m, struct emu_group *group, emu_time t);
/* So many of its work-items have returned: the group may be finished, or a barrier open. */
void emu_group_returned(struct nvw_machine *m, struct emu_group *group, uint32_t work_items, emu_time t);
/* Work-groups that a kernel that did not end has left behind. */
void emu_groups_forget(struct nvw_machine *m);

#endif
