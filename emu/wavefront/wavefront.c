/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes of a wavefront: work-items as fibers, which run one after another up to their next request,
 * without returning to the engine in between.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/zeroed.h"
#include "issue.h"
#include "../machine.h"

/* STACK_CALLED: for what is called by code that asks how deep it may go (emu_fiber_limit()), and does not ask
 * itself. */
enum { STACK_RESERVE = 512, STACK_CALLED = 16 << 10, STACK_GUARD = 1 << 16 };
/* Above any stack of a process. */
#define ALWAYS_RARE (UINTPTR_MAX / 2)

enum { RED_ZONE = 128, /* below its stack pointer a function may have variables */ SMALL_FRAME = 128 };
enum { HUGE_AFTER = 1024 };
enum { KEPT_MOST = 8 << 20 }; /* bytes of stacks that outlive their machine */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* of Linux 6.1; others refuse it */
#endif

struct nvw__request *nvw__self;

struct emu_now emu_now = {.by_call = nvw__issue};

/* ---- Identity -------------------------------------------------------------------------------- */

uint64_t nvw_global_id(void)
{
	return emu_now.wavefront->first_global + emu_lane();
}

unsigned nvw_local_id(void)
{
	return emu_now.wavefront->first_local + emu_lane();
}

uint64_t nvw_group_id(void)
{
	return emu_now.wavefront->group->id;
}

unsigned nvw_group_size(void)
{
	return emu_now.machine->exec.group_size;
}

uint64_t nvw_group_count(void)
{
	return emu_now.machine->exec.groups;
}

unsigned nvw_cu_id(void)
{
	return emu_now.wavefront->group->slot->cu->id;
}

/* ---- Fibers -------------------------------------------------------------------------------- */

/* The stack of a lane. */
static char *stack_bottom(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lane)
{
	NVW_DEEP_INVARIANT(lane < EMU_LANES);
	return wf->stacks + lane * m->exec.stack_bytes;
}

static char *stack_top(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lane)
{
	return stack_bottom(m, wf, lane) + m->exec.stack_bytes;
}

static void overflow(struct nvw_machine *m, const struct nvw__request *r)
{
	if (!m->error) {
		m->error = nvw_fail(NVW_E_KERNEL,
			"%s:%u: the work-item's stack of %llu bytes has overflowed; use less stack, or "
			"--set host.stack=...",
			r->site->file, r->site->line, (unsigned long long)m->config.stack);
	}
}

/* Makes the next lane of this turn the running one; returns its context, or the engine's after the last. */
static const struct emu_fiber *next_context(void)
{
	struct emu_wavefront *const wf = emu_now.wavefront;
	const uint64_t lanes = emu_now.turn.to_run;
	uint64_t lane;

	if (!lanes) {
		emu_fiber_announce(emu_now.engine_stack, emu_now.engine_stack_bytes);
		return &emu_now.engine;
	}
	lane = emu_now.turn.lane + 1 + emu_first(lanes);
	emu_now.turn.to_run = lanes >> __builtin_ctzll(lanes) >> 1;
	emu_now.turn.lane = lane;
	emu_now.floor = emu_now.floor_0 + lane * emu_now.stack_bytes;
	emu_fiber_limit(emu_now.limit_0 + lane * emu_now.stack_bytes);
	nvw__self = emu_request(wf, (unsigned)lane);
	emu_fiber_announce(stack_bottom(emu_now.machine, wf, lane), emu_now.machine->exec.stack_bytes);
	return emu_now.fiber = &wf->fibers[lane];
}

#ifdef EMU_ISSUE_BY_JUMP

/* What issue.S knows. */
#define AT(structure, field, offset) _Static_assert(offsetof(structure, field) == (offset), #field)
AT(struct emu_now, fiber, EMU_NOW_FIBER);
AT(struct emu_now, turn.to_run, EMU_NOW_TO_RUN);
AT(struct emu_now, floor, EMU_NOW_FLOOR);
AT(struct emu_now, stack_bytes, EMU_NOW_STACK_BYTES);
AT(struct emu_now, turn.lane, EMU_NOW_LANE);
AT(struct emu_now, cold, EMU_NOW_COLD);
AT(struct emu_now, by_call, EMU_NOW_BY_CALL);
AT(struct emu_now, engine, EMU_NOW_ENGINE);
AT(struct emu_fiber, sp, EMU_FIBER_SP);
AT(struct emu_fiber, ip, EMU_FIBER_IP);
_Static_assert(sizeof(struct emu_fiber) == 1 << EMU_FIBER_SHIFT, "size");

/* No code that the compiler sees has a reference to it: kernels jump there in assembly. */
__attribute__((used)) static void (*const is_linked)(void) = nvw__issue_at;

#else

void emu_issue(void)
{
	struct emu_fiber *const me = emu_now.fiber;

	emu_fiber_switch(me, next_context());
	emu_fiber_arrive(NULL, NULL);
}

#endif

static __attribute__((noinline)) void issue_deeper(void)
{
	if (emu_fiber_here() <
		stack_bottom(emu_now.machine, emu_now.wavefront, emu_now.turn.lane) + STACK_RESERVE) {
		overflow(emu_now.machine, nvw__self);
	}
	emu_issue();
}

/* The barriers of another request come first; the request waits on this stack. */
static void meet_inserted(void)
{
	const struct emu_saved_request own = emu_request_save(emu_now.wavefront, emu_now.turn.lane);
	const uint32_t due = emu_inserted_before(emu_now.machine, nvw_global_id(), nvw__self);

	NVW_EACH_BIT(i, due) {
		nvw__self->site = &emu_now.machine->inserted.site[i];
		nvw__self->op = NVW__OP_P_BARRIER;
		nvw__self->address = 0;
		nvw__self->value = emu_now.machine->inserted.barrier[i].scope;
		issue_deeper();
		emu_request_restore(emu_now.wavefront, emu_now.turn.lane, own);
	}
}

static __attribute__((noinline, cold)) void issue_rarely(void)
{
	if (emu_now.machine->exec.resumable) {
		emu_resumable_issue();
		return;
	}
	if (emu_now.machine->inserted.count > 0) {
		meet_inserted();
	}
	issue_deeper();
}

void nvw__issue(void)
{
	if (__builtin_expect((uintptr_t)emu_fiber_here() < emu_now.floor, 0)) {
		issue_rarely();
	} else {
		emu_issue();
	}
}

void emu_post_return(void)
{
	static const struct nvw_site at_return = {.file = "(return)", .function = ""};

	nvw__self->site = &at_return;
	nvw__self->op = NVW__RETURN;
}

/* The first and last function on a work-item's stack. */
static void work_item(void)
{
	emu_lane_begins();
	emu_now.machine->exec.kernel(emu_now.machine->exec.args);
	emu_post_return();
	for (;;) {
		nvw__issue(); /* never resumed */
	}
}

/* ---- Huge pages ------------------------------------------------------------------------------ */

static uint32_t wavefronts_used(const struct emu_exec *x)
{
	uint32_t used = 0;

	NVW_EACH(lanes_used, x->lanes_used, x->wavefront_count) {
		used += *lanes_used != 0;
	}
	return used;
}

static bool are_used(const struct emu_exec *x, uint64_t from, uint64_t to)
{
	NVW_DEEP_INVARIANT(to <= x->wavefront_count);
	while (from < to && x->lanes_used[from]) {
		from++;
	}
	return from == to;
}

/*
 * The stacks of many work-items are in so many pages that the host's processor looks most of them up anew at
 * each switch. A huge page has those of 256. It has to be filled first, which pays once every wavefront has
 * had some hundred turns; before that a stack costs the pages that it touches. A host without huge pages goes
 * on with small ones.
 */
static void use_huge_pages(struct emu_exec *x)
{
	const uint64_t of_one = EMU_LANES * x->stack_bytes;
	char *const first = x->stacks + EMU_STACK_SLACK;

	for (char *at = first + -(uintptr_t)first % EMU_HUGE_PAGE;
		at + EMU_HUGE_PAGE <= first + x->wavefront_count * of_one; at += EMU_HUGE_PAGE) {
		const uint64_t offset = (uint64_t)(at - first);

		if (are_used(x, offset / of_one, (offset + EMU_HUGE_PAGE + of_one - 1) / of_one) &&
			madvise(at, EMU_HUGE_PAGE, MADV_COLLAPSE) < 0) {
			return;
		}
	}
}

/* So many turns have been taken since this was last asked. */
static __attribute__((noinline, cold)) void consider_huge_pages(struct emu_exec *x)
{
	const uint64_t enough = (uint64_t)HUGE_AFTER * wavefronts_used(x);

	x->turns += x->turns_asked;
	x->turns_asked = UINT64_MAX;
	if (x->turns < enough) {
		x->turns_asked = enough - x->turns;
	} else if (!x->huge_pages) {
		x->huge_pages = true;
		use_huge_pages(x);
	}
	x->turns_left = x->turns_asked;
}

/* Whether the wavefront's kernel has more on its stack than the way there, so that its lanes look at it when
 * they resume. */
static bool has_frame(const struct nvw_machine *m, const struct emu_wavefront *wf)
{
	return emu_wavefront_stack_used(m, wf, emu_first(emu_now.turn.to_run)) > RED_ZONE + SMALL_FRAME;
}

extern inline void emu_wavefront_run(struct nvw_machine *m, struct emu_wavefront *wf)
{
	NVW_DEEP_INVARIANT(wf->runnable != 0 && (wf->runnable & ~wf->live) == 0);
	emu_now.machine = m;
	emu_now.wavefront = wf;
	emu_now.turn.lane = UINT64_MAX; /* lane 0 is behind it */
	emu_now.turn.to_run = wf->runnable;
	wf->posted |= wf->runnable;
	wf->runnable = 0;
	if (m->exec.resumable) {
		emu_resumable_run();
		return;
	}
	if (__builtin_expect(--m->exec.turns_left == 0, 0)) {
		consider_huge_pages(&m->exec);
	}
	emu_now.cold = has_frame(m, wf);
	emu_now.stack_bytes = m->exec.stack_bytes;
	emu_now.floor_0 = (uintptr_t)wf->stacks + STACK_RESERVE;
	emu_now.limit_0 = emu_now.floor_0 + STACK_CALLED;
	if (m->inserted.count > 0) {
		emu_now.floor_0 += ALWAYS_RARE; /* requests may meet barriers that the source does not have */
	}
	emu_fiber_switch(&emu_now.engine, next_context());
	emu_fiber_arrive(NULL, NULL);
}

void emu_wavefront_prefetch(const struct emu_wavefront *wf)
{
	NVW_EACH(fiber, wf->fibers, EMU_STACKS_AHEAD) {
		emu_prefetch(fiber);
	}
}

bool emu_is_lane_stack(const struct nvw_machine *m, const void *sp)
{
	const char *const at = sp;

	return (at > m->exec.stacks && at <= m->exec.stacks + m->exec.stacks_bytes) ||
	       emu_is_more_stack(&m->exec, at);
}

void emu_lane_abandon(void)
{
	NVW_DEEP_INVARIANT(emu_now.machine->error);

	struct emu_fiber nobody;

	emu_fiber_announce(emu_now.engine_stack, emu_now.engine_stack_bytes);
	emu_fiber_switch(&nobody, &emu_now.engine);
	__builtin_unreachable();
}

/*
 * Slots have their stacks one after the other, in the order in which they are filled. So the stacks of a
 * kernel are together, and share huge pages, also where its work-groups are too few for all contexts of a CU.
 */
static uint64_t place_of_stacks(const struct emu_exec *x, const struct emu_wavefront *wf)
{
	const struct emu_slot *const slot = wf->group->slot;

	return (uint64_t)(slot - x->slots) * x->group_wavefronts + (uint64_t)(wf - slot->wavefronts);
}

static void start_fibers(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t place)
{
	wf->stacks = emu_stacks_at(&m->exec, place);
	m->exec.lanes_used[place] |= wf->live;
	EMU_FOR_LANES(lane, wf->live)
	{
		char *const bottom = stack_bottom(m, wf, lane);

		emu_fiber_clean(bottom, m->exec.stack_bytes);
		wf->fibers[lane] = emu_fiber_prepare(bottom, stack_top(m, wf, lane), work_item);
	}
}

void emu_wavefront_start(struct nvw_machine *m, struct emu_wavefront *wf, unsigned lanes)
{
	const uint64_t place = place_of_stacks(&m->exec, wf);

	NVW_INVARIANT(lanes > 0 && lanes <= EMU_LANES);
	wf->live = wf->runnable = wf->fresh = nvw_low_bits(lanes);
	wf->posted = wf->parked = 0;
	wf->turns = wf->fair = wf->queued = 0;
	emu_loads_forget(m, wf);
	wf->persist_stream = wf->persist_epoch = wf->persist_tag = 0;
	wf->in_call = 0;
	if (m->exec.resumable) {
		wf->stacks = m->exec.frames + place * EMU_LANES * m->exec.frame_bytes;
	} else {
		start_fibers(m, wf, place);
	}
	NVW_FOR(lane, lanes) {
		wf->epoch_wi[lane] = wf->epoch_wg[lane] = wf->epoch_kr[lane] = 0;
		wf->stream[lane] = 0;
	}
}

extern inline uint64_t emu_wavefront_stack_used(
	const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lane)
{
	if (m->exec.resumable) {
		return m->exec.frame_bytes;
	}
#if defined(__x86_64__) && !defined(EMU_FIBER_UCONTEXT)
	return (uint64_t)(stack_top(m, wf, lane) - emu_wavefront_stack(m, wf, lane));
#else
	return m->exec.stack_bytes;
#endif
}

extern inline char *emu_wavefront_stack(
	const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lane)
{
	if (m->exec.resumable) {
		return wf->stacks + lane * m->exec.frame_bytes;
	}
#if defined(__x86_64__) && !defined(EMU_FIBER_UCONTEXT)
	return (char *)wf->fibers[lane].sp - RED_ZONE;
#else
	return stack_bottom(m, wf, lane);
#endif
}

/* ---- Set-up -------------------------------------------------------------------------------- */

/* The last machine's stacks, as zeros, while no machine has them: who explores schedules makes thousands of
 * small machines one after another, and the host's calls for their stacks took a third of the time. */
static struct {
	char *stacks;
	uint64_t bytes;
} kept;

static int take_stacks(struct emu_exec *x)
{
	if (kept.stacks && kept.bytes == x->stacks_bytes) {
		x->stacks = kept.stacks;
		kept.stacks = NULL;
		return 0;
	}
	x->stacks = mmap(NULL, x->stacks_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->stacks == MAP_FAILED) {
		x->stacks = NULL;
		return nvw_fail_errno("no memory for the stacks of %u wavefronts", x->wavefront_count);
	}
	mprotect(x->stacks, STACK_GUARD, PROT_NONE); /* and behind that, an end to endless recursion */
	return 0;
}

/* A kernel that has failed may have written below its stacks. */
static void give_stacks_back(const struct nvw_machine *m)
{
	const struct emu_exec *const x = &m->exec;

	if (m->error || x->stacks_bytes > KEPT_MOST) {
		munmap(x->stacks, x->stacks_bytes);
		return;
	}
	if (kept.stacks) {
		munmap(kept.stacks, kept.bytes);
	}
	kept.stacks = x->stacks;
	kept.bytes = x->stacks_bytes;
}

int emu_wavefronts_init(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	x->wavefront_count = (uint32_t)(m->config.cus * m->config.wavefronts_per_cu);
	/* An odd number of the host's lines, because otherwise all stacks would map to the same sets of its
	 * caches. */
	x->stack_bytes = m->config.stack | EMU_HOST_LINE;
#if defined(EMU_ASAN) || defined(NVW__TSAN)
	x->stack_bytes = x->stack_bytes < 65536 ? 65536 | EMU_HOST_LINE :
						  x->stack_bytes; /* red zones; the run time's own frames */
#elif defined(EMU_FIBER_UCONTEXT) || !defined(__x86_64__)
	x->stack_bytes = nvw_max(x->stack_bytes, 8192 | EMU_HOST_LINE); /* the context is on it (fiber.c) */
#endif
	/* Below the first stack there must be memory that an overflow may hit before it is detected. */
	x->stacks_bytes = EMU_STACK_SLACK + x->wavefront_count * EMU_LANES * x->stack_bytes;
	NVW_TRY(take_stacks(x));
	x->wavefronts = nvw__zeroed(x->wavefront_count * sizeof *x->wavefronts);
	x->slots = nvw__zeroed(x->wavefront_count * sizeof *x->slots);
	x->lanes_used = calloc(x->wavefront_count, sizeof *x->lanes_used);
	NVW_FAIL_IF(!x->wavefronts || !x->slots || !x->lanes_used, NVW_E_MEMORY,
		"no memory for %u wavefronts", x->wavefront_count);
	x->turns_left = x->turns_asked = HUGE_AFTER;
	x->schedule.state = nvw_mix64(m->config.seed);
	return 0;
}

/* Most stacks of a machine are never used, and cleaning them all took half the time of sanitized tests. */
static void clean_used_stacks(const struct emu_exec *x)
{
	const bool may_be_kept = x->stacks_bytes <= KEPT_MOST;

	for (uint32_t i = 0; x->lanes_used && i < x->wavefront_count; i++) {
		NVW_EACH_BIT(lane, x->lanes_used[i]) {
			char *const stack = emu_stacks_at(x, i) + lane * x->stack_bytes;

			emu_fiber_clean(stack, x->stack_bytes);
			if (may_be_kept) {
				memset(stack, 0, x->stack_bytes);
			}
		}
	}
}

void emu_wavefronts_finish(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	if (x->stacks) {
		clean_used_stacks(x);
		give_stacks_back(m);
	}
	nvw__zeroed_free(x->wavefronts, x->wavefront_count * sizeof *x->wavefronts);
	nvw__zeroed_free(x->slots, x->wavefront_count * sizeof *x->slots);
	free(x->lanes_used);
	emu_resumable_finish(x);
}
