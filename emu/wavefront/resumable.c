/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes of a kernel whose work-items have no stacks of their own (emu_launch_resumable()).
 *
 * A carrier is a stack on which lanes run one after another: each is resumed, fills in its request and
 * returns, or goes on with the next one (emu_turn_next()). A lane whose request comes from the middle of a
 * call keeps the carrier, and the next lane has another one. When the lane has returned from the call, the
 * carrier goes on with the lanes behind it. So there are no more carriers than work-items that have begun.
 *
 * Carriers are the stacks that the lanes of other kernels have, in the order of their places, and then more
 * of them.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "core/bounds.h"
#include "../machine.h"

enum { AHEAD = 4, RESERVE = 512, CALLED = 16 << 10 };
#define ALWAYS_BY_CALL (UINTPTR_MAX / 2) /* above any stack of a process */

/* At the top of its stack. */
struct emu_carrier {
	struct emu_carrier *next; /* of the unused ones */
	uint64_t unused[7];       /* to the host's line, and so that the stack below it is aligned */
};

/* ---- Carriers -------------------------------------------------------------------------------- */

static char *bottom_of(const struct emu_exec *x, const struct emu_carrier *c)
{
	return (char *)(uintptr_t)(c + 1) - x->stack_bytes;
}

/* Stacks beyond those of the machine: of work-groups that are switched out in the middle of calls. */
struct emu_more_stacks {
	struct emu_more_stacks *next;
	char *stacks;
};

static uint64_t more_bytes(const struct emu_exec *x)
{
	return EMU_LANES * x->stack_bytes;
}

static bool add_stacks(struct emu_exec *x)
{
	struct emu_more_stacks *const more = malloc(sizeof *more);
	char *const stacks = mmap(NULL, more_bytes(x), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!more || stacks == MAP_FAILED) {
		free(more);
		return false;
	}
	*more = (struct emu_more_stacks){.next = x->more_stacks, .stacks = stacks};
	x->more_stacks = more;
	return true;
}

static void forget_more_stacks(struct emu_exec *x)
{
	while (x->more_stacks) {
		struct emu_more_stacks *const more = x->more_stacks;

		x->more_stacks = more->next;
		emu_fiber_clean(more->stacks, more_bytes(x));
		munmap(more->stacks, more_bytes(x));
		free(more);
	}
}

bool emu_is_more_stack(const struct emu_exec *x, const char *sp)
{
	for (const struct emu_more_stacks *more = x->more_stacks; more; more = more->next) {
		if (sp > more->stacks && sp <= more->stacks + more_bytes(x)) {
			return true;
		}
	}
	return false;
}

/* NULL: no memory, which ends the kernel. */
static struct emu_carrier *new_carrier(struct emu_exec *x)
{
	const uint32_t number = x->carrier_count++, place = number / EMU_LANES, lane = number % EMU_LANES;
	char *stacks;

	if (place < x->wavefront_count) {
		x->lanes_used[place] |= UINT64_C(1) << lane;
		stacks = emu_stacks_at(x, place);
	} else if (lane > 0 || add_stacks(x)) {
		stacks = x->more_stacks->stacks;
	} else {
		emu_now.machine->error = nvw_fail(
			NVW_E_MEMORY, "no memory for the stacks of work-items in the middle of calls");
		return NULL;
	}
	return (struct emu_carrier *)(void *)(stacks + (lane + 1) * x->stack_bytes) - 1;
}

static struct emu_carrier *take_carrier(struct emu_exec *x)
{
	struct emu_carrier *const c = x->carriers;

	if (!c) {
		return new_carrier(x);
	}
	x->carriers = c->next;
	return c;
}

static void give_carrier(struct emu_exec *x, struct emu_carrier *c)
{
	c->next = x->carriers;
	x->carriers = c;
}

static void run_on(const struct emu_exec *x, struct emu_carrier *c)
{
	char *const bottom = bottom_of(x, c);

	emu_now.carrier = c;
	emu_fiber_limit((uintptr_t)bottom + RESERVE + CALLED);
	emu_fiber_announce(bottom, x->stack_bytes);
}

/* ---- Lanes ------------------------------------------------------------------------------------- */

/* Makes the next lane of this turn the running one. False: the turn is over. */
static bool next_lane(void)
{
	const uint64_t lanes = emu_now.turn.to_run;
	struct emu_wavefront *const wf = emu_now.wavefront;

	if (!lanes) {
		return false;
	}
	const unsigned skipped = emu_first(lanes);

	emu_now.turn.lane += 1 + skipped;
	emu_now.turn.to_run = lanes >> skipped >> 1;
	emu_now.turn.plain = emu_now.turn.plain >> skipped >> 1;
	nvw__self = emu_request(wf, (unsigned)emu_now.turn.lane);
	const unsigned last = (unsigned)emu_now.turn.lane + emu_first(~emu_now.turn.plain);

	emu_now.turn.end = emu_request_behind(emu_request(wf, last));
	return true;
}

/* The running lane is one of the neighbours, which have gone on by themselves. */
static void find_running(void)
{
	const uint64_t lane = emu_lane();
	const unsigned gone = (unsigned)(lane - emu_now.turn.lane);

	emu_now.turn.lane = lane;
	emu_now.turn.to_run >>= gone;
	emu_now.turn.plain >>= gone;
}

static char *running_frame(void)
{
	return emu_now.wavefront->stacks + emu_now.turn.lane * emu_now.turn.frame_bytes;
}

static bool is_in_call(void)
{
	return emu_now.wavefront->in_call >> emu_now.turn.lane & 1;
}

static inline void resume_lane(void)
{
	char *const its = running_frame();

	(**(void (**)(void *))(void *)its)(its);
	find_running();
}

static void begin_if_fresh(void)
{
	struct emu_wavefront *const wf = emu_now.wavefront;
	const uint64_t me = UINT64_C(1) << emu_now.turn.lane;

	if (wf->fresh & me) {
		wf->fresh &= ~me;
		emu_now.machine->exec.resumable->begin(emu_now.machine->exec.args, running_frame());
	}
}

struct emu_turn *emu_turn(void)
{
	return &emu_now.turn;
}

static const struct emu_fiber *engine(void)
{
	emu_fiber_announce(emu_now.engine_stack, emu_now.engine_stack_bytes);
	return &emu_now.engine;
}

static const struct emu_fiber *running_lane(void);

/* Runs lanes from the running one on. */
static void carry(void)
{
	struct emu_carrier *const me = emu_now.carrier;
	struct emu_fiber nobody;
	bool more;

	emu_lane_begins();
	do {
		begin_if_fresh();
		resume_lane();
		more = next_lane();
	} while (more && !is_in_call());
	give_carrier(&emu_now.machine->exec, me);
	emu_fiber_switch(&nobody, more ? running_lane() : engine());
	__builtin_unreachable();
}

/* The context that the running lane goes on in. */
static const struct emu_fiber *running_lane(void)
{
	static struct emu_fiber begins;
	struct emu_wavefront *const wf = emu_now.wavefront;
	struct emu_exec *const x = &emu_now.machine->exec;

	if (is_in_call()) {
		wf->in_call &= ~(UINT64_C(1) << emu_now.turn.lane);
		run_on(x, wf->carrier[emu_now.turn.lane]);
		emu_prefetch(wf->fibers[emu_now.turn.lane + EMU_STACKS_AHEAD].sp);
		return &wf->fibers[emu_now.turn.lane];
	}
	struct emu_carrier *const c = take_carrier(x);

	if (!c) {
		return engine();
	}
	run_on(x, c);
	begins = emu_fiber_prepare(bottom_of(x, c), (char *)c, carry);
	return &begins;
}

static const struct emu_fiber *next_resumed(void)
{
	return next_lane() ? running_lane() : engine();
}

static void report_overflow(void)
{
	if (!emu_now.machine->error) {
		emu_now.machine->error = nvw_fail(NVW_E_KERNEL,
			"%s:%u: a call's stack of %llu bytes has overflowed; use less stack, or "
			"--set host.stack=...",
			nvw__self->site->file, nvw__self->site->line,
			(unsigned long long)emu_now.machine->config.stack);
	}
}

void emu_resumable_issue(void)
{
	find_running();
	struct emu_wavefront *const wf = emu_now.wavefront;
	struct emu_carrier *const me = emu_now.carrier;
	struct emu_fiber *const own = &wf->fibers[emu_now.turn.lane];

	if (emu_fiber_here() < bottom_of(&emu_now.machine->exec, me) + RESERVE) {
		report_overflow();
	}
	wf->in_call |= UINT64_C(1) << emu_now.turn.lane;
	wf->carrier[emu_now.turn.lane] = me;
	emu_fiber_switch_alike(own, next_resumed());
	emu_fiber_arrive(NULL, NULL);
}

void emu_resumable_run(void)
{
	emu_now.floor = ALWAYS_BY_CALL;
	emu_now.by_call = emu_resumable_issue;
	emu_now.turn.frame_bytes = emu_now.machine->exec.frame_bytes;
	emu_now.turn.plain = emu_now.turn.to_run & ~(emu_now.wavefront->fresh | emu_now.wavefront->in_call);
	emu_fiber_switch(&emu_now.engine, next_resumed());
	emu_fiber_arrive(NULL, NULL);
}

void emu_leave_resumable(void)
{
	struct emu_carrier *const me = emu_now.carrier;
	struct emu_fiber nobody;

	struct emu_exec *const x = &emu_now.machine->exec;

	find_running();
	emu_fiber_clean(bottom_of(x, me), x->stack_bytes);
	give_carrier(x, me);
	emu_fiber_switch(&nobody, next_resumed());
	__builtin_unreachable();
}

/* ---- Set-up -------------------------------------------------------------------------------------- */

/* An odd number of the host's lines, as stacks have. */
static uint64_t frame_room(uint64_t bytes)
{
	const uint64_t lines = (bytes + EMU_HOST_LINE - 1) / EMU_HOST_LINE;

	return (lines | 1) * EMU_HOST_LINE;
}

static void forget_frames(struct emu_exec *x)
{
	if (x->frames) {
		munmap(x->frames, x->frames_bytes);
	}
	x->frames = NULL;
	x->frames_bytes = 0;
}

/* Frames for every lane of the machine; those that are not used take no memory. */
int emu_resumable_begin(struct emu_exec *x)
{
	const uint64_t bytes = frame_room(x->resumable->frame_bytes),
		       all = x->wavefront_count * EMU_LANES * bytes + AHEAD * bytes;

	x->carriers = NULL;
	x->carrier_count = 0;
	forget_more_stacks(x);
	if (x->frames && bytes == x->frame_bytes) {
		return 0;
	}
	forget_frames(x);
	x->frame_bytes = bytes;
	x->frames_bytes = all;
	x->frames =
		mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->frames == MAP_FAILED) {
		x->frames = NULL;
		return nvw_fail_errno("no memory for the frames of %u wavefronts", x->wavefront_count);
	}
	return 0;
}

void emu_resumable_finish(struct emu_exec *x)
{
	forget_frames(x);
	forget_more_stacks(x);
}
