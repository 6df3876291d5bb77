/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Execution: events in their order, and the turns of wavefronts.
 *
 * In its turn, a wavefront runs each runnable lane up to its next request (wavefront.c). Then it picks the
 * lanes to issue among those with a posted request: a group with the same operation at the same source line.
 *
 * Guarantees
 *   (1) The slowest lanes first, so that diverged lanes meet again: the deepest stack goes first, then the
 *       smallest line number (a lane inside a branch or a callee is behind one that waits after it). The line
 *       alone counts where a kernel may run without stacks (emu_order_by_line()).
 *   (2) No starvation: after PASSED_OVER_MAX turns in which lanes were passed over, the next of these in
 *       rotation goes first (a lane may spin on a word that another lane of its wavefront stores). Not the
 *       next of all: where most lanes spin on a lock, its holder would have one turn in thousands.
 */
#include "core/bounds.h"
#include "core/each.h"
#include "core/stop.h"
#include "../memory/device_memory.h"
#include "../machine.h"
#include "../time/order.h"
#include "../persist/persist.h"
#include "store_buffer.h"
#include "../observe/undo.h"

enum { PASSED_OVER_MAX = 64 };

/* ---- One turn of a wavefront --------------------------------------------------------------- */

static bool same_instruction(const struct emu_requests *r, unsigned a, unsigned b)
{
	NVW_DEEP_INVARIANT(a < NVW_COUNT(r->op));
	NVW_DEEP_INVARIANT(b < NVW_COUNT(r->op));
	return r->site[a] == r->site[b] && r->op[a] == r->op[b];
}

/* The lanes at the same instruction as the given one. */
static uint64_t lanes_like(const struct emu_wavefront *wf, uint64_t lanes, unsigned lane)
{
	uint64_t like = 0;

	EMU_FOR_LANES(other, lanes)
	{
		like |= (uint64_t)same_instruction(&wf->requests, (unsigned)other, lane) << other;
	}
	return like;
}

/* How deep in calls a lane is: a stack pointer, as if on the stack of lane 0. */
static uintptr_t depth_of(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lane)
{
	if (m->exec.by_line) {
		return 0;
	}
	return (uintptr_t)emu_wavefront_stack(m, wf, lane) - lane * m->exec.stack_bytes;
}

/*
 * The lanes at the instruction of the laggard: this is the lane deepest in calls, or among several the
 * one furthest behind in its source. If all lanes return, those that return with the first.
 */
static uint64_t laggards(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	uint64_t op = NVW__RETURN, found = 0, before = 0;
	uintptr_t deepest = UINTPTR_MAX;
	const struct nvw_site *site = NULL;

	EMU_FOR_LANES(lane, lanes)
	{
		const struct nvw_site *const its = wf->requests.site[lane];
		const uintptr_t place = depth_of(m, wf, lane);

		if (its == site && wf->requests.op[lane] == op) {
			found |= UINT64_C(1) << lane;
			if (place < deepest) {
				deepest = place;
			}
		} else if (wf->requests.op[lane] != NVW__RETURN &&
			   (place < deepest || (place == deepest && its->line < site->line))) {
			found = UINT64_C(1) << lane;
			before = lanes & (found - 1);
			deepest = place;
			site = its;
			op = wf->requests.op[lane];
		}
	}
	if (found) {
		return found | lanes_like(wf, before, emu_first(found));
	}
	return lanes_like(wf, lanes, emu_first(lanes));
}

/* The lane whose turn it is, whatever its request. */
static unsigned next_in_turn(struct emu_wavefront *wf, uint64_t lanes)
{
	const uint64_t from = lanes & (UINT64_MAX << wf->fair);
	const unsigned lane = emu_first(NVW_OR(from, lanes));

	wf->fair = (lane + 1) % EMU_LANES;
	return lane;
}

/* Compares neighbours, two at once. */
static bool neighbours_alike(const struct emu_requests *r, unsigned first, unsigned end)
{
	const emu_pair site = {(uintptr_t)r->site[first], (uintptr_t)r->site[first]},
		       op = {r->op[first], r->op[first]};
	emu_pair differ = {0, 0};

#pragma GCC unroll 4
	for (unsigned i = first; i + 2 <= end; i += 2) {
		differ |= (*(const emu_pair *)&r->site[i] ^ site) | (*(const emu_pair *)&r->op[i] ^ op);
	}
	return !(differ[0] | differ[1]) && same_instruction(r, first, end - 1);
}

static bool all_alike(const struct emu_wavefront *wf, uint64_t lanes)
{
	const unsigned first = emu_first(lanes), end = emu_run_end(lanes);

	if (end == EMU_LANES || lanes >> end == 0) {
		return neighbours_alike(&wf->requests, first, end);
	}
	EMU_FOR_LANES(lane, lanes & (lanes - 1))
	{
		if (!same_instruction(&wf->requests, (unsigned)lane, first)) {
			return false;
		}
	}
	return true;
}

/* The posted lanes that issue now: guarantees (1) and (2). */
static uint64_t pick_lanes(struct nvw_machine *m, struct emu_wavefront *wf)
{
	const uint64_t posted = wf->posted;
	uint64_t lanes;

	if (all_alike(wf, posted)) {
		wf->turns = 0;
		return posted;
	}
	lanes = laggards(m, wf, posted);
	if (wf->turns++ >= PASSED_OVER_MAX) {
		lanes = lanes_like(wf, posted, next_in_turn(wf, posted & ~lanes));
		wf->turns = 0;
	}
	m->stats.divergent_ops++;
	return lanes;
}

/* Whether the lanes only issue a load for later use. */
static bool is_only_issued(const struct emu_wavefront *wf, uint64_t lanes)
{
	const struct nvw__request *const r = emu_request(wf, __builtin_ctzll(lanes));

	return (r->op & 0xff) == NVW__LOAD && r->compare;
}

static void tell_when_done(struct emu_wavefront *wf, uint64_t lanes, emu_time done)
{
	NVW_EACH_BIT(lane, lanes) {
		wf->requests.compare[lane] = done;
	}
}

/* A load that is used later: the wavefront goes on as soon as it is issued. */
static void wake_after_issue(struct nvw_machine *m, struct emu_wavefront *wf, emu_time start)
{
	persist_wake(m, wf, start + emu_later(m->config.issue, m->config.instruction));
}

static void issue_memory(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	const bool only_issued = is_only_issued(wf, lanes);
	const emu_time start = emu_reserve(&emu_cu_of(wf)->issue_free, t, m->config.issue);

	if (only_issued && emu_late_issue(m, wf, lanes, start)) {
		wf->runnable |= lanes;
		wake_after_issue(m, wf, start);
		return;
	}
	const emu_time done = emu_later(emu_access(m, wf, lanes, start), start + m->config.issue);

	wf->runnable |= lanes;
	if (only_issued) {
		tell_when_done(wf, lanes, wf->queued ? 0 : done + m->config.memory);
		if (m->loads && !wf->queued) {
			emu_loads_add(m, wf, lanes, done);
		}
	}
	if (wf->queued) {
		wf->served = done;
	} else if (only_issued && !m->loads_complete) {
		wake_after_issue(m, wf, start);
	} else {
		emu_wake_after_access(m, wf, done);
	}
}

static void issue_ack(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	NVW_EACH_BIT(lane, lanes) {
		persist_acknowledge(m, wf, lane, wf->requests.value[lane], 1);
	}
	wf->runnable |= lanes;
	emu_wake(m, wf, t);
}

/* The wavefront executes as many instructions as its lane with the most. */
static void issue_work(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	uint64_t most = 0;

	NVW_EACH_BIT(lane, lanes) {
		most = nvw_max(most, wf->requests.value[lane]);
	}
	wf->runnable |= lanes;
	emu_wake(m, wf, t + most * m->config.instruction);
}

/* The wavefront continues when the last of its lanes' loads is complete. */
static void issue_use(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	emu_time ready = t;

	NVW_EACH_BIT(lane, lanes) {
		struct nvw__request *const r = emu_request(wf, lane);
		struct emu_late_result result = {r->compare, r->value};

		if (r->value == EMU_LATE) {
			result = m->late.results[r->compare];
		}
		ready = emu_later(ready, result.ready);
		r->value = result.value;
	}
	m->stats.use_ps += ready - t;
	wf->runnable |= lanes;
	emu_wake(m, wf, ready);
}

static void issue_return(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	wf->live &= ~lanes;
	persist_returned(m, wf, lanes);
	if (wf->posted) {
		emu_wake(m, wf, t);
	}
	emu_group_returned(m, wf->group, emu_ones(lanes), t);
}

static void issue_persist_barrier(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group, emu_time t)
{
	const enum emu_wait wait = persist_barrier(m, wf, lanes, group, t);

	if (wait != EMU_WAIT_NONE) {
		emu_park(m, wf, lanes, wait, t);
	}
}

/* Barriers of the work-group and the kernel park lanes; the last one to arrive opens them. */
static void issue_barrier(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	const struct nvw__request *const first = emu_request(wf, __builtin_ctzll(lanes));
	const bool persist = (first->op & 0xff) == NVW__P_BARRIER;
	uint64_t same = 0;

	/* One instruction may have different scopes in different lanes. */
	NVW_EACH_BIT(lane, lanes) {
		same |= (uint64_t)(wf->requests.value[lane] == first->value) << lane;
	}
	wf->posted |= lanes & ~same;
	if (first->value > NVW_KERNEL) {
		m->error = nvw_fail(NVW_E_KERNEL, "%s:%u: %llu is not an execution group", first->site->file,
			first->site->line, (unsigned long long)first->value);
		return;
	}
	if (persist) {
		issue_persist_barrier(m, wf, same, (enum nvw_group)first->value, t);
	} else if (first->value == NVW_WORKITEM) {
		wf->runnable |= same;
		emu_wake(m, wf, t);
	} else {
		emu_park(m, wf, same,
			first->value == NVW_WORKGROUP ? EMU_WAIT_BARRIER_WG : EMU_WAIT_BARRIER_KR, t);
	}
}

/* Whether the instruction completes the loads before it. */
static bool is_fence(const struct nvw__request *r)
{
	const unsigned kind = r->op & 0xff;

	return kind == NVW__BARRIER || (kind >= NVW__ATOMIC_LOAD && kind <= NVW__COMPARE_EXCHANGE &&
					       (r->op >> 16 & 0xff) != NVW_RELAXED);
}

/* Whether lanes with too many loads in flight, or at a fence behind some, have to wait. They are posted
 * again. */
static bool loads_hold(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	const struct nvw__request *const r = emu_request(wf, __builtin_ctzll(lanes));
	emu_time until = 0;

	if (is_only_issued(wf, lanes)) {
		until = emu_loads_room(m, wf, lanes);
	} else if (is_fence(r)) {
		until = emu_loads_done(m, wf, lanes);
	}
	if (until <= t) {
		return false;
	}
	wf->posted |= lanes;
	emu_count_wait(m, wf, r->site, EMU_CAUSE_loads, t, until);
	emu_wake(m, wf, until);
	return true;
}

/* Memory instructions check this themselves. On a DRAM-only machine a persist barrier does nothing. */
static bool needs_empty_buffer(const struct nvw_machine *m, unsigned kind)
{
	return kind == NVW__BARRIER || kind == NVW__RETURN || (kind == NVW__P_BARRIER && !m->is_volatile);
}

static void take_turn(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t)
{
	uint64_t lanes;
	unsigned kind;

	if (wf->runnable) {
		emu_wavefront_run(m, wf);
		if (m->error) {
			return;
		}
	}
	if (m->order && emu_order_puts_off(m, wf)) {
		emu_wake(m, wf, t);
		return;
	}
	lanes = pick_lanes(m, wf);
	wf->posted &= ~lanes;
	kind = wf->requests.op[__builtin_ctzll(lanes)] & 0xff;
	if (emu_is_watched(m)) {
		emu_watch_issue(m, wf, lanes, t);
	}
	if (m->late.first) {
		emu_late_complete(m, wf, lanes);
	}
	if (m->store_buffers && needs_empty_buffer(m, kind) && emu_store_buffer_holds(m, wf, lanes, t)) {
		return;
	}
	if (m->loads && loads_hold(m, wf, lanes, t)) {
		return;
	}
	if (kind <= NVW__COMPARE_EXCHANGE) {
		if (m->undo) {
			emu_undo_issue(m, wf, lanes);
		}
		issue_memory(m, wf, lanes, t);
	} else if (kind == NVW__RETURN) {
		issue_return(m, wf, lanes, t);
	} else if (kind == NVW__ACK) {
		issue_ack(m, wf, lanes, t);
	} else if (kind == NVW__USE) {
		issue_use(m, wf, lanes, t);
	} else if (kind == NVW__WORK) {
		issue_work(m, wf, lanes, t);
	} else {
		issue_barrier(m, wf, lanes, t);
	}
}

static void cut_power(struct nvw_machine *m)
{
	emu_nvram_complete(m, m->cut.time_ps);
	emu_nvram_tear(m, m->cut.seed);
	m->cut.time_ps = UINT64_MAX;
	if (m->cut.die) {
		m->cut.die(m->cut.context);
	}
}

/* The next event, at t, is behind an alarm. */
static int sound_alarm(struct nvw_machine *m, emu_time t)
{
	while (m->clock.time_ps < t) {
		const int r = m->clock.ring(m->clock.context, t, &m->clock.time_ps);

		if (r < 0) {
			return m->error = r;
		}
	}
	if (t > m->cut.time_ps) {
		cut_power(m);
		return m->error = nvw_fail(NVW_E_STOPPED, "the power was cut");
	}
	m->alarm = nvw_min(m->cut.time_ps, m->clock.time_ps);
	return 0;
}

/* Events in the background go on only while there are other events, or work-groups that may wait for them. */
static bool has_events(const struct emu_exec *x)
{
	return x->event_count > x->background || (x->event_count && x->groups_done < x->groups);
}

int emu_run_events(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	while (has_events(x) && !m->error) {
		struct emu_event event;

		if (__builtin_expect(nvw_stopping(), 0)) {
			return m->error = nvw_stop_error();
		}

		if (__builtin_expect(x->events[0].time > m->alarm, 0) &&
			sound_alarm(m, x->events[0].time) < 0) {
			return m->error;
		}
		event = emu_events_take(m);
		if (x->event_count && x->events[0].wavefront) {
			emu_wavefront_prefetch(x->events[0].wavefront);
		}
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
