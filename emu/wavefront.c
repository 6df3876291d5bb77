/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes of a wavefront: work-items as fibers, which run one after another up to their next request,
 * without returning to the engine in between.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "core/zeroed.h"
#include "fiber.h"
#include "machine.h"

/* STACK_CALLED: for what is called by code that asks how deep it may go (emu_fiber_limit()), and does not ask itself. */
enum {
	STACK_RESERVE = 512,
	STACK_CALLED = 16 << 10,
	STACK_SLACK = 2 << 20,
	STACK_GUARD = 1 << 16,
	STACK_COLOURS = 32
};
enum { HUGE_PAGE = 2 << 20, HUGE_AFTER = 1024 };

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* of Linux 6.1; others refuse it */
#endif

struct nvw__request *nvw__self;

/* The running fiber. A process runs one emulation at a time, on one thread. */
static struct {
	struct nvw_machine *machine;
	struct emu_wavefront *wavefront;
	uint64_t to_run;   /* lanes still to run in this turn */
	const char *floor; /* the stack of the running lane has overflowed if it goes deeper */
	unsigned lane;
	bool meets_inserted; /* requests may meet barriers that the source does not have */
	void *engine;
#ifdef EMU_ASAN
	const void *engine_stack;
	size_t engine_stack_bytes;
#endif
} now;

/* ---- Identity -------------------------------------------------------------------------------- */

uint64_t nvw_global_id(void)
{
	return now.wavefront->first_global + now.lane;
}

unsigned nvw_local_id(void)
{
	return now.wavefront->first_local + now.lane;
}

uint64_t nvw_group_id(void)
{
	return now.wavefront->group->id;
}

unsigned nvw_group_size(void)
{
	return now.machine->exec.group_size;
}

uint64_t nvw_group_count(void)
{
	return now.machine->exec.groups;
}

unsigned nvw_cu_id(void)
{
	return now.wavefront->group->slot->cu->id;
}

/* ---- Fibers -------------------------------------------------------------------------------- */

/* The stack of a lane. Tops are staggered, because otherwise all stacks would map to the same sets of the
 * host's caches. */
static char *stack_bottom(const struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane)
{
	return wf->stacks + lane * m->exec.stack_bytes;
}

static char *stack_top(const struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane)
{
	return stack_bottom(m, wf, lane) + m->exec.stack_bytes - 64 * (lane * 7 % STACK_COLOURS);
}

static void overflow(struct nvw_machine *m, const struct nvw__request *r)
{
	if (!m->error) {
		m->error = nvw_fail(NVW_E_KERNEL,
			"%s:%u: the work-item's stack of %llu bytes has overflowed; use less stack, or --set host.stack=...",
			r->site->file, r->site->line, (unsigned long long)m->exec.stack_bytes);
	}
}

/* The top of a suspended lane's stack: its registers, and the frame of the kernel above them. A lane beyond the last has none. */
static inline void prefetch_stack(const struct emu_wavefront *wf, unsigned lane)
{
	const uintptr_t sp = (uintptr_t)wf->sp[lane];

	__builtin_prefetch((const void *)sp);
	__builtin_prefetch((const void *)(sp + 64));
	__builtin_prefetch((const void *)(sp + 128));
}

/* Makes the next lane of this turn the running one; returns its context, or the engine's after the last. */
static inline void *next_context(void)
{
	struct emu_wavefront *const wf = now.wavefront;
	const uint64_t lanes = now.to_run;
	unsigned lane;

	if (!lanes) {
		emu_fiber_announce(now.engine_stack, now.engine_stack_bytes);
		return now.engine;
	}
	lane = (unsigned)__builtin_ctzll(lanes);
	prefetch_stack(wf, lane + EMU_LANES_AHEAD);
	now.to_run = lanes & (lanes - 1);
	now.lane = lane;
	now.floor = stack_bottom(now.machine, wf, lane) + STACK_RESERVE;
	emu_fiber_limit(now.floor + STACK_CALLED);
	nvw__self = &wf->requests[lane];
	emu_fiber_announce(now.floor - STACK_RESERVE, now.machine->exec.stack_bytes);
	return wf->sp[lane];
}

/* Here and in nvw__issue() the switch comes last: with a jump to it, nothing but the registers is put onto the lane's stack. */
static inline void issue(void)
{
	void **const save = &now.wavefront->sp[now.lane];

	emu_fiber_switch(save, next_context());
	emu_fiber_arrive(NULL, NULL);
}

static __attribute__((noinline)) void issue_deeper(void)
{
	if (emu_fiber_here() < now.floor) {
		overflow(now.machine, nvw__self);
	}
	issue();
}

/* The barriers of another request come first; the request waits on this stack. */
static void meet_inserted(void)
{
	const struct nvw__request own = *nvw__self;
	unsigned due = emu_inserted_before(now.machine, nvw_global_id(), &own);

	for (; due; due &= due - 1) {
		const unsigned i = (unsigned)__builtin_ctz(due);

		nvw__self->site = &now.machine->inserted.site[i];
		nvw__self->op = NVW__OP_P_BARRIER;
		nvw__self->address = 0;
		nvw__self->value = now.machine->inserted.barrier[i].scope;
		issue_deeper();
		*nvw__self = own;
	}
}

static __attribute__((noinline, cold)) void issue_rarely(void)
{
	if (now.meets_inserted) {
		meet_inserted();
	}
	issue_deeper();
}

void nvw__issue(void)
{
	if (__builtin_expect(emu_fiber_here() < now.floor || now.meets_inserted, 0)) {
		issue_rarely();
	} else {
		issue();
	}
}

/* The first and last function on a work-item's stack. */
static void work_item(void)
{
	static const struct nvw_site at_return = {"(return)", "", 0};

#ifdef EMU_ASAN
	/* The very first lane comes from the engine; later ones mostly from another lane. */
	if (!now.engine_stack) {
		emu_fiber_arrive(&now.engine_stack, &now.engine_stack_bytes);
	} else {
		emu_fiber_arrive(NULL, NULL);
	}
#endif
	now.machine->exec.kernel(now.machine->exec.args);
	nvw__self->site = &at_return;
	nvw__self->op = NVW__RETURN;
	for (;;) {
		nvw__issue(); /* never resumed */
	}
}

/* ---- Huge pages ------------------------------------------------------------------------------ */

static uint32_t wavefronts_used(const struct emu_exec *x)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < x->wavefront_count; i++) {
		used += x->lanes_used[i] != 0;
	}
	return used;
}

static bool are_used(const struct emu_exec *x, uint64_t from, uint64_t to)
{
	while (from < to && x->lanes_used[from]) {
		from++;
	}
	return from == to;
}

/*
 * The stacks of many work-items are in so many pages that the host's processor looks most of them up anew at each switch. A
 * huge page has those of 256. It has to be filled first, which pays once every wavefront has had some hundred turns; before that
 * a stack costs the pages that it touches. A host without huge pages goes on with small ones.
 */
static void use_huge_pages(struct emu_exec *x)
{
	const uint64_t of_one = EMU_LANES * x->stack_bytes;
	char *const first = x->stacks + STACK_SLACK;

	for (char *at = first + -(uintptr_t)first % HUGE_PAGE;
		at + HUGE_PAGE <= first + x->wavefront_count * of_one; at += HUGE_PAGE) {
		const uint64_t offset = (uint64_t)(at - first);

		if (are_used(x, offset / of_one, (offset + HUGE_PAGE + of_one - 1) / of_one) &&
			madvise(at, HUGE_PAGE, MADV_COLLAPSE) < 0) {
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

void emu_wavefront_run(struct nvw_machine *m, struct emu_wavefront *wf)
{
	if (__builtin_expect(--m->exec.turns_left == 0, 0)) {
		consider_huge_pages(&m->exec);
	}
	now.machine = m;
	now.wavefront = wf;
	now.meets_inserted = m->inserted.count > 0;
	now.to_run = wf->runnable;
	wf->posted |= wf->runnable;
	wf->runnable = 0;
	emu_fiber_switch(&now.engine, next_context());
	emu_fiber_arrive(NULL, NULL);
}

void emu_wavefront_prefetch(const struct emu_wavefront *wf)
{
	for (unsigned lane = 0; lane < EMU_LANES_AHEAD; lane++) {
		prefetch_stack(wf, lane);
	}
}

bool emu_is_lane_stack(const struct nvw_machine *m, const void *sp)
{
	return (const char *)sp > m->exec.stacks && (const char *)sp <= m->exec.stacks + m->exec.stacks_bytes;
}

void emu_lane_abandon(void)
{
	void *nobody;

	emu_fiber_announce(now.engine_stack, now.engine_stack_bytes);
	emu_fiber_switch(&nobody, now.engine);
	__builtin_unreachable();
}

void emu_wavefront_start(struct nvw_machine *m, struct emu_wavefront *wf, unsigned lanes)
{
	const uint64_t number = (uint64_t)(wf - m->exec.wavefronts);

	wf->stacks = m->exec.stacks + STACK_SLACK + number * EMU_LANES * m->exec.stack_bytes;
	wf->live = lanes == EMU_LANES ? UINT64_MAX : (UINT64_C(1) << lanes) - 1;
	wf->runnable = wf->live;
	m->exec.lanes_used[number] |= wf->live;
	wf->posted = wf->parked = 0;
	wf->turns = wf->fair = wf->queued = 0;
	emu_loads_forget(m, wf);
	wf->persist_stream = wf->persist_epoch = wf->persist_tag = 0;
	for (unsigned lane = 0; lane < lanes; lane++) {
		char *const bottom = stack_bottom(m, wf, lane);

		emu_fiber_clean(bottom, m->exec.stack_bytes);
		wf->sp[lane] = emu_fiber_prepare(bottom, stack_top(m, wf, lane), work_item);
		wf->epoch_wi[lane] = wf->epoch_wg[lane] = wf->epoch_kr[lane] = 0;
		wf->stream[lane] = 0;
	}
}

uint64_t emu_wavefront_stack_used(const struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane)
{
#if defined(__x86_64__) && !defined(EMU_FIBER_UCONTEXT)
	return (uint64_t)(stack_top(m, wf, lane) - (char *)wf->sp[lane]);
#else
	return m->exec.stack_bytes;
#endif
}

char *emu_wavefront_stack(const struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane)
{
#if defined(__x86_64__) && !defined(EMU_FIBER_UCONTEXT)
	return wf->sp[lane];
#else
	return stack_bottom(m, wf, lane);
#endif
}

/* ---- Set-up -------------------------------------------------------------------------------- */

int emu_wavefronts_init(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	x->wavefront_count = (uint32_t)(m->config.cus * m->config.wavefronts_per_cu);
	x->stack_bytes = m->config.stack;
#if defined(EMU_ASAN) || defined(NVW__TSAN)
	x->stack_bytes =
		x->stack_bytes < 65536 ? 65536 : x->stack_bytes; /* red zones; the run time's own frames */
#endif
	/* Below the first stack there must be memory that an overflow may hit before it is detected. */
	x->stacks_bytes = STACK_SLACK + x->wavefront_count * EMU_LANES * x->stack_bytes;
	x->stacks = mmap(NULL, x->stacks_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->stacks == MAP_FAILED) {
		x->stacks = NULL;
		return nvw_fail_errno("no memory for the stacks of %u wavefronts", x->wavefront_count);
	}
	mprotect(x->stacks, STACK_GUARD, PROT_NONE); /* and behind that, an end to endless recursion */
	x->wavefronts = nvw__zeroed(x->wavefront_count * sizeof *x->wavefronts);
	x->slots = nvw__zeroed(x->wavefront_count * sizeof *x->slots);
	x->lanes_used = calloc(x->wavefront_count, sizeof *x->lanes_used);
	if (!x->wavefronts || !x->slots || !x->lanes_used) {
		return nvw_fail(NVW_E_MEMORY, "no memory for %u wavefronts", x->wavefront_count);
	}
	x->turns_left = x->turns_asked = HUGE_AFTER;
	x->schedule.state = nvw_mix64(m->config.seed);
	return 0;
}

/* Most stacks of a machine are never used, and cleaning them all took half the time of sanitized tests. */
static void clean_used_stacks(struct nvw_machine *m)
{
	for (uint32_t i = 0; m->exec.lanes_used && i < m->exec.wavefront_count; i++) {
		for (uint64_t rest = m->exec.lanes_used[i]; rest; rest &= rest - 1) {
			emu_fiber_clean(
				stack_bottom(m, &m->exec.wavefronts[i], (unsigned)__builtin_ctzll(rest)),
				m->exec.stack_bytes);
		}
	}
}

void emu_wavefronts_finish(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	if (x->stacks) {
		clean_used_stacks(m);
		munmap(x->stacks, x->stacks_bytes);
	}
	nvw__zeroed_free(x->wavefronts, x->wavefront_count * sizeof *x->wavefronts);
	nvw__zeroed_free(x->slots, x->wavefront_count * sizeof *x->slots);
	free(x->lanes_used);
}
