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

enum { STACK_RESERVE = 512, STACK_SLACK = 1 << 20, STACK_COLOURS = 32 };

struct nvw__request *nvw__self;

/* The running fiber. A process runs one emulation at a time, on one thread. */
static struct {
	struct nvw_machine *machine;
	struct emu_wavefront *wavefront;
	unsigned lane;
	uint64_t to_run; /* lanes still to run in this turn */
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

/* Switches from the running context to the next lane of this turn, or to the engine. */
static void switch_to_next(void **save)
{
	struct emu_wavefront *const wf = now.wavefront;

	if (now.to_run) {
		const unsigned lane = (unsigned)__builtin_ctzll(now.to_run);

		now.to_run &= now.to_run - 1;
		if (now.to_run) {
			const char *const after = wf->sp[__builtin_ctzll(now.to_run)];

			__builtin_prefetch(after);
			__builtin_prefetch(after + 64);
			__builtin_prefetch(after + 128);
		}
		now.lane = lane;
		nvw__self = &wf->requests[lane];
		emu_fiber_announce(stack_bottom(now.machine, wf, lane), now.machine->exec.stack_bytes);
		emu_fiber_switch(save, wf->sp[lane]);
	} else {
		emu_fiber_announce(now.engine_stack, now.engine_stack_bytes);
		emu_fiber_switch(save, now.engine);
	}
}

static void issue(void)
{
	struct emu_wavefront *const wf = now.wavefront;
	const unsigned lane = now.lane;
	const char *const here = __builtin_frame_address(0);

	if (here < stack_bottom(now.machine, wf, lane) + STACK_RESERVE) {
		overflow(now.machine, nvw__self);
	}
	switch_to_next(&wf->sp[lane]);
	emu_fiber_arrive(NULL, NULL);
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
		issue();
		*nvw__self = own;
	}
}

void nvw__issue(void)
{
	if (now.machine->inserted.count > 0) {
		meet_inserted();
	}
	issue();
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

void emu_wavefront_run(struct nvw_machine *m, struct emu_wavefront *wf)
{
	now.machine = m;
	now.wavefront = wf;
	now.to_run = wf->runnable;
	wf->posted |= wf->runnable;
	wf->runnable = 0;
	switch_to_next(&now.engine);
	emu_fiber_arrive(NULL, NULL);
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
	x->wavefronts = nvw__zeroed(x->wavefront_count * sizeof *x->wavefronts);
	x->slots = nvw__zeroed(x->wavefront_count * sizeof *x->slots);
	x->lanes_used = calloc(x->wavefront_count, sizeof *x->lanes_used);
	if (!x->wavefronts || !x->slots || !x->lanes_used) {
		return nvw_fail(NVW_E_MEMORY, "no memory for %u wavefronts", x->wavefront_count);
	}
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
