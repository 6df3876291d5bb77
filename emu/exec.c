/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Execution: fibers in wavefronts in work-groups.
 *
 * A wavefront that is popped from the event heap runs its runnable lanes up to their next request each,
 * one after the other, without coming back to the engine in between. Then it picks, among the lanes that
 * have posted a request, the group to issue: those that wait at one source place with one operation.
 *
 * Guarantees
 *   (1) Laggards first, so that diverged lanes meet again: the deepest stack goes first, then the smallest
 *       line number (a lane inside a branch or a callee is behind one that waits after it).
 *   (2) No starvation: after PASSED_OVER_MAX turns in which lanes were passed over, the next lane in rotation
 *       goes first (a lane may spin on what another lane of its wavefront is to store).
 */
#include <stdlib.h>
#include <sys/mman.h>

#include <nvw/random.h>

#include "core/stop.h"
#include "fiber.h"
#include "machine.h"
#include "persist/persist.h"

enum { PASSED_OVER_MAX = 64, STACK_RESERVE = 512, STACK_SLACK = 1 << 20, STACK_COLOURS = 32 };

struct nvw__request *nvw__self;

/* The fiber that runs now. One emulation at a time runs in a process, on one thread. */
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

/* ---- Who am I ------------------------------------------------------------------------------ */

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

/* The stack of a lane. Tops are staggered, or all stacks would fall into the same sets of the host's
 * caches. */
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

void nvw__issue(void)
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
		nvw__issue(); /* nobody resumes it */
	}
}

/* Runs every runnable lane to its next request. */
static void run_lanes(struct nvw_machine *m, struct emu_wavefront *wf)
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
	wf->live = lanes == EMU_LANES ? UINT64_MAX : (UINT64_C(1) << lanes) - 1;
	wf->runnable = wf->live;
	wf->posted = wf->parked = 0;
	wf->turns = wf->fair = wf->queued = 0;
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

/* ---- One turn of a wavefront --------------------------------------------------------------- */

static bool same_instruction(const struct nvw__request *a, const struct nvw__request *b)
{
	return a->site == b->site && a->op == b->op;
}

/* Those of the lanes that are at the same instruction as one of them. */
static uint64_t lanes_like(const struct emu_wavefront *wf, uint64_t lanes, unsigned lane)
{
	uint64_t like = 0;

	for (uint64_t rest = lanes; rest; rest &= rest - 1) {
		const unsigned other = (unsigned)__builtin_ctzll(rest);

		if (same_instruction(&wf->requests[other], &wf->requests[lane])) {
			like |= UINT64_C(1) << other;
		}
	}
	return like;
}

/* The lane deepest in calls, of these the one furthest behind in its source; a returning lane if all return. */
static unsigned laggard(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	unsigned found = (unsigned)__builtin_ctzll(lanes);
	uint64_t deepest = 0;

	for (uint64_t rest = lanes; rest; rest &= rest - 1) {
		const unsigned lane = (unsigned)__builtin_ctzll(rest);
		const uint64_t depth = emu_wavefront_stack_used(m, wf, lane);
		const struct nvw__request *const r = &wf->requests[lane];

		if (r->op == NVW__RETURN || depth < deepest ||
			(depth == deepest && r->site->line >= wf->requests[found].site->line)) {
			continue;
		}
		found = lane;
		deepest = depth;
	}
	return found;
}

/* The lane whose turn it is, whatever it does. */
static unsigned next_in_turn(struct emu_wavefront *wf, uint64_t lanes)
{
	const uint64_t from = lanes & (UINT64_MAX << wf->fair);
	const unsigned lane = (unsigned)__builtin_ctzll(from ? from : lanes);

	wf->fair = (lane + 1) % EMU_LANES;
	return lane;
}

static bool all_alike(const struct emu_wavefront *wf, uint64_t lanes)
{
	const struct nvw__request *const first = &wf->requests[__builtin_ctzll(lanes)];

	for (uint64_t rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
		if (!same_instruction(&wf->requests[__builtin_ctzll(rest)], first)) {
			return false;
		}
	}
	return true;
}

/* The posted lanes that issue now: guarantees (1) and (2). */
static uint64_t pick_lanes(struct nvw_machine *m, struct emu_wavefront *wf)
{
	const uint64_t posted = wf->posted;
	unsigned leader;

	if (all_alike(wf, posted)) {
		wf->turns = 0;
		return posted;
	}
	if (wf->turns++ < PASSED_OVER_MAX) {
		leader = laggard(m, wf, posted);
	} else {
		leader = next_in_turn(wf, posted);
		wf->turns = 0;
	}
	m->stats.divergent_ops++;
	return lanes_like(wf, posted, leader);
}

/* Whether the lanes only issue a load, which they use later. */
static bool is_only_issued(const struct emu_wavefront *wf, uint64_t lanes)
{
	const struct nvw__request *const r = &wf->requests[__builtin_ctzll(lanes)];

	return (r->op & 0xff) == NVW__LOAD && r->compare;
}

static void tell_when_done(struct emu_wavefront *wf, uint64_t lanes, emu_time done)
{
	for (uint64_t rest = lanes; rest; rest &= rest - 1) {
		wf->requests[__builtin_ctzll(rest)].compare = done;
	}
}

static void issue_memory(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	const bool only_issued = is_only_issued(wf, lanes);
	const emu_time start = emu_reserve(&emu_cu_of(wf)->issue_free, t, m->config.issue);
	const emu_time done = emu_later(emu_access(m, wf, lanes, start), start + m->config.issue);

	wf->runnable |= lanes;
	if (only_issued) {
		tell_when_done(wf, lanes, wf->queued ? 0 : done);
	}
	if (wf->queued) {
		wf->served = done;
	} else if (only_issued) {
		persist_wake(m, wf, start + m->config.issue);
	} else {
		persist_wake(m, wf, done);
	}
}

static void issue_ack(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	for (uint64_t rest = lanes; rest; rest &= rest - 1) {
		const unsigned lane = (unsigned)__builtin_ctzll(rest);

		persist_acknowledge(m, wf, lane, wf->requests[lane].value, 1);
	}
	wf->runnable |= lanes;
	emu_wake(m, wf, t);
}

/* The wavefront goes on when the last of its lanes' loads is done. */
static void issue_use(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	emu_time ready = t;

	for (uint64_t rest = lanes; rest; rest &= rest - 1) {
		ready = emu_later(ready, wf->requests[__builtin_ctzll(rest)].value);
	}
	m->stats.use_ps += ready - t;
	wf->runnable |= lanes;
	emu_wake(m, wf, ready);
}

static void issue_return(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	struct emu_group *const group = wf->group;

	wf->live &= ~lanes;
	persist_returned(m, wf, lanes);
	group->returned += (uint32_t)__builtin_popcountll(lanes);
	if (wf->posted) {
		emu_wake(m, wf, t);
	}
	if (group->returned == group->size) {
		emu_group_finish(m, group, t);
	}
}

/* Barriers of the work-group and the kernel park lanes; the last one to arrive opens them. */
static void issue_barrier(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	const struct nvw__request *const first = &wf->requests[__builtin_ctzll(lanes)];
	const bool persist = (first->op & 0xff) == NVW__P_BARRIER;
	uint64_t same = 0;

	/* One instruction may name different scopes in different lanes. */
	for (uint64_t rest = lanes; rest; rest &= rest - 1) {
		const unsigned lane = (unsigned)__builtin_ctzll(rest);

		same |= (uint64_t)(wf->requests[lane].value == first->value) << lane;
	}
	wf->posted |= lanes & ~same;
	if (first->value > NVW_KERNEL) {
		m->error = nvw_fail(NVW_E_KERNEL, "%s:%u: %llu is not an execution group", first->site->file,
			first->site->line, (unsigned long long)first->value);
		return;
	}
	if (persist) {
		persist_barrier(m, wf, same, (enum nvw_group)first->value, t);
	} else if (first->value == NVW_WORKITEM) {
		wf->runnable |= same;
		emu_wake(m, wf, t);
	} else {
		emu_park(m, wf, same,
			first->value == NVW_WORKGROUP ? EMU_WAIT_BARRIER_WG : EMU_WAIT_BARRIER_KR, t);
	}
}

static void take_turn(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t)
{
	uint64_t lanes;
	unsigned kind;

	if (wf->runnable) {
		run_lanes(m, wf);
		if (m->error) {
			return;
		}
	}
	lanes = pick_lanes(m, wf);
	wf->posted &= ~lanes;
	kind = wf->requests[__builtin_ctzll(lanes)].op & 0xff;
	if (kind <= NVW__COMPARE_EXCHANGE) {
		issue_memory(m, wf, lanes, t);
	} else if (kind == NVW__RETURN) {
		issue_return(m, wf, lanes, t);
	} else if (kind == NVW__ACK) {
		issue_ack(m, wf, lanes, t);
	} else if (kind == NVW__USE) {
		issue_use(m, wf, lanes, t);
	} else {
		issue_barrier(m, wf, lanes, t);
	}
}

static void cut_power(struct nvw_machine *m)
{
	emu_nvram_complete(m, m->cut.time_ps);
	emu_nvram_tear(m, m->cut.seed);
	m->cut.time_ps = UINT64_MAX;
	m->cut.die(m->cut.context);
}

int emu_run_events(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	while (x->event_count && !m->error) {
		struct emu_event event;

		if (__builtin_expect(nvw_stopping(), 0)) {
			return m->error = nvw_stop_error();
		}

		if (x->events[0].time > m->cut.time_ps) {
			cut_power(m);
			return m->error = nvw_fail(NVW_E_STOPPED, "the power was cut");
		}
		event = emu_events_take(m);
		event.time = emu_later(event.time, m->now);
		if (event.time >= m->nvram.next_done) {
			emu_nvram_complete(m, event.time);
		}
		m->now = event.time;
		if (event.wavefront) {
			take_turn(m, event.wavefront, event.time);
		} else {
			event.act(m, event.what);
		}
	}
	return m->error;
}

/* ---- Set-up -------------------------------------------------------------------------------- */

int emu_exec_init(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	x->wavefront_count = (uint32_t)(m->config.cus * m->config.wavefronts_per_cu);
	x->stack_bytes = m->config.stack;
#if defined(EMU_ASAN) || defined(NVW__TSAN)
	x->stack_bytes =
		x->stack_bytes < 65536 ? 65536 : x->stack_bytes; /* red zones; the run time's own frames */
#endif
	/* The first stack needs something below it that an overflow may hit before it is noticed. */
	x->stacks_bytes = STACK_SLACK + x->wavefront_count * EMU_LANES * x->stack_bytes;
	x->stacks = mmap(NULL, x->stacks_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->stacks == MAP_FAILED) {
		x->stacks = NULL;
		return nvw_fail_errno("no memory for the stacks of %u wavefronts", x->wavefront_count);
	}
	x->wavefronts = calloc(x->wavefront_count, sizeof *x->wavefronts);
	x->slots = calloc(x->wavefront_count, sizeof *x->slots);
	if (!x->wavefronts || !x->slots) {
		return nvw_fail(NVW_E_MEMORY, "no memory for %u wavefronts", x->wavefront_count);
	}
	for (uint32_t i = 0; i < x->wavefront_count; i++) {
		x->wavefronts[i].stacks = x->stacks + STACK_SLACK + (uint64_t)i * EMU_LANES * x->stack_bytes;
	}
	x->schedule.state = nvw_mix64(m->config.seed);
	return emu_events_init(m);
}

void emu_exec_finish(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	if (x->stacks) {
		emu_fiber_clean(x->stacks, x->stacks_bytes);
		munmap(x->stacks, x->stacks_bytes);
	}
	free(x->wavefronts);
	free(x->slots);
	emu_events_finish(m);
}
