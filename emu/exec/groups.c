/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work-groups on slots, and their barriers.
 *
 * A CU is divided into slots, each with the wavefront contexts of one work-group. Work-groups start in order
 * of their numbers. A kernel-wide barrier works by preemption (gope18 footnote 4): a work-group whose
 * work-items all wait at it gives its slot to one that has not reached it yet. Its contexts are saved and
 * return to the same slot later, because pointers into the work-items' stacks must remain valid.
 *
 * Guarantees
 *   (1) A work-group barrier opens when all work-items of the group have arrived, a kernel-wide barrier
 *       when all work-items of the kernel have; a returned work-item never arrives. With
 *       emu_barriers_without_returned() none waits for those that have returned.
 *   (2) A slot whose work-group waits at a kernel-wide barrier is never idle while another work-group could
 *       use it.
 */
#include <stdlib.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "../wavefront/fiber.h"
#include "../machine.h"
#include "../persist/persist.h"
#include "../protocol/protocol.h"
#include "../races/races.h"
#include "../observe/record.h"

/* ---- Starting and ending work-groups ------------------------------------------------------- */

static unsigned width(const struct nvw_machine *m)
{
	return (unsigned)m->config.wavefront_width;
}

/* How many work-items a barrier waits for: those of the kernel, and those of a work-group. */
static uint64_t work_items_left(const struct nvw_machine *m)
{
	return m->exec.groups * m->exec.group_size - m->exec.without_returned * m->exec.returned;
}

static uint32_t work_items_of(const struct nvw_machine *m, const struct emu_group *group)
{
	return group->size - m->exec.without_returned * group->returned;
}

static void start_group(struct nvw_machine *m, struct emu_slot *slot, emu_time t)
{
	struct emu_exec *const x = &m->exec;
	struct emu_group *const group = calloc(1, sizeof *group);

	if (!group) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for a work-group");
		return;
	}
	group->id = x->groups_started++;
	group->slot = slot;
	group->size = x->group_size;
	group->next_all = x->live_groups;
	if (x->live_groups) {
		x->live_groups->prev_all = group;
	}
	x->live_groups = group;
	slot->resident = group;
	if (emu_is_watched(m)) {
		emu_watch_enter(m, slot, t);
	}
	m->stats.work_groups++;
	m->stats.work_items += group->size;
	NVW_FOR(i, x->group_wavefronts) {
		struct emu_wavefront *const wf = &slot->wavefronts[i];
		const unsigned first = i * width(m), rest = group->size - first;

		wf->group = group;
		wf->first_local = first;
		wf->first_global = group->id * x->group_size + first;
		wf->age = x->ages++;
		emu_wavefront_start(m, wf, (unsigned)nvw_min(rest, width(m)));
		emu_wake(m, wf, t);
	}
}

static void forget_group(struct nvw_machine *m, struct emu_group *group)
{
	struct emu_exec *const x = &m->exec;

	*(group->prev_all ? &group->prev_all->next_all : &x->live_groups) = group->next_all;
	if (group->next_all) {
		group->next_all->prev_all = group->prev_all;
	}
	record_close_group(m, group);
	free(group->saved);
	free(group);
}

void emu_group_finish(struct nvw_machine *m, struct emu_group *group, emu_time t)
{
	struct emu_slot *const slot = group->slot;

	NVW_INVARIANT(slot->resident == group);
	NVW_EACH(wavefront, slot->wavefronts, m->exec.group_wavefronts) {
		record_close_wavefront(m, wavefront);
	}
	if (emu_is_watched(m)) {
		emu_watch_leave(m, slot, t);
	}
	races_group_finish(m, group);
	m->exec.groups_done++;
	slot->resident = NULL;
	forget_group(m, group);
	emu_slot_fill(m, slot, t);
}

void emu_groups_forget(struct nvw_machine *m)
{
	while (m->exec.live_groups) {
		forget_group(m, m->exec.live_groups);
	}
}

/* ---- Preemption ---------------------------------------------------------------------------- */

/* Size of the contexts and of the live part of each lane's stack. */
static uint64_t saved_bytes(const struct nvw_machine *m, const struct emu_slot *slot)
{
	uint64_t bytes = m->exec.group_wavefronts * sizeof(struct emu_wavefront);

	NVW_EACH(wavefront, slot->wavefronts, m->exec.group_wavefronts) {
		NVW_EACH_BIT(lane, wavefront->live) {
			bytes += emu_wavefront_stack_used(m, wavefront, lane);
		}
	}
	return bytes;
}

/* Copies the live part of the stacks of the slot's contexts out or back. */
static void copy_stacks(struct nvw_machine *m, struct emu_slot *slot, char *aside, bool out)
{
	NVW_EACH(wf, slot->wavefronts, m->exec.group_wavefronts) {
		if (!m->exec.resumable) {
			emu_fiber_clean(wf->stacks, EMU_LANES * m->exec.stack_bytes);
		}
		NVW_EACH_BIT(lane, wf->live) {
			const uint64_t bytes = emu_wavefront_stack_used(m, wf, lane);
			char *const stack = emu_wavefront_stack(m, wf, lane);

			if (out) {
				memcpy(aside, stack, bytes);
			} else {
				memcpy(stack, aside, bytes);
			}
			aside += bytes;
		}
	}
}

static void switch_out(struct nvw_machine *m, struct emu_slot *slot, emu_time t)
{
	const uint64_t contexts = m->exec.group_wavefronts * sizeof *slot->wavefronts;
	struct emu_group *const group = slot->resident;

	NVW_INVARIANT(group && !group->saved);
	if (emu_is_watched(m)) {
		emu_watch_leave(m, slot, t);
	}
	group->saved = malloc(saved_bytes(m, slot));
	if (!group->saved) {
		m->error =
			nvw_fail(NVW_E_MEMORY, "no memory to suspend a work-group at a kernel-wide barrier");
		return;
	}
	memcpy(group->saved, slot->wavefronts, contexts);
	copy_stacks(m, slot, group->saved + contexts, true);
	slot->resident = NULL;
	m->stats.preemptions++;
}

static void switch_in(struct nvw_machine *m, struct emu_slot *slot, emu_time t)
{
	const uint64_t contexts = m->exec.group_wavefronts * sizeof *slot->wavefronts;
	struct emu_group *const group = slot->ready_first;

	slot->ready_first = group->next;
	if (!slot->ready_first) {
		slot->ready_last = NULL;
	}
	slot->resident = group;
	if (emu_is_watched(m)) {
		emu_watch_enter(m, slot, t);
	}
	memcpy(slot->wavefronts, group->saved, contexts);
	copy_stacks(m, slot, group->saved + contexts, false);
	free(group->saved);
	group->saved = NULL;
	emu_group_release(m, group, t);
}

void emu_slot_fill(struct nvw_machine *m, struct emu_slot *slot, emu_time t)
{
	if (slot->ready_first) {
		switch_in(m, slot, t + m->config.preempt);
	} else if (m->exec.groups_started < m->exec.groups) {
		start_group(m, slot, t);
	}
}

/* The slot's work-group waits at a kernel-wide barrier: another one may use the slot in the meantime. */
static void yield_slot(struct nvw_machine *m, struct emu_slot *slot, emu_time t)
{
	if (slot->ready_first || m->exec.groups_started < m->exec.groups) {
		switch_out(m, slot, t);
		if (!m->error) {
			emu_slot_fill(m, slot, t + m->config.preempt);
		}
	}
}

/* ---- Barriers ------------------------------------------------------------------------------ */

static bool is_kernel_wide(enum emu_wait wait)
{
	return wait == EMU_WAIT_BARRIER_KR || wait == EMU_WAIT_PERSIST_KR;
}

static void open_kernel_barrier(struct nvw_machine *m, enum emu_wait wait, emu_time t)
{
	if (wait == EMU_WAIT_PERSIST_KR) {
		persist_kernel_arrived(m, t);
	} else {
		m->stats.barriers++;
		races_kernel_barrier(m);
		emu_kernel_release(m, t);
	}
}

/* Nobody of the group is still on the way. */
static void group_arrived_at_kernel_barrier(
	struct nvw_machine *m, struct emu_group *group, enum emu_wait wait, emu_time t)
{
	/* The group's stores become visible to the kernel before its last work-item may open the barrier. */
	if (wait == EMU_WAIT_BARRIER_KR) {
		t = coh_run_steps(m, group->slot->cu, m->protocol->kernel_end, t);
	}
	if (m->exec.arrived[wait] < work_items_left(m)) {
		yield_slot(m, group->slot, t);
	} else {
		open_kernel_barrier(m, wait, t);
	}
}

static void open_group_barrier(struct nvw_machine *m, struct emu_group *group, enum emu_wait wait, emu_time t)
{
	if (wait == EMU_WAIT_PERSIST_WG) {
		persist_group_arrived(m, group, t);
	} else {
		m->stats.barriers++;
		races_group_barrier(m, group);
		emu_group_release(m, group, coh_run_steps(m, group->slot->cu, m->protocol->group_barrier, t));
	}
}

static void kernel_arrival(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum emu_wait wait, emu_time t)
{
	struct emu_exec *const x = &m->exec;
	struct emu_group *const group = wf->group;
	uint64_t there = 0;

	NVW_EACH(arrived, x->arrived, EMU_WAIT_KINDS) {
		there += *arrived;
	}
	if (!there) {
		x->arrived_first = t;
	}
	x->arrived[wait] += emu_ones(lanes);
	if (wait == EMU_WAIT_PERSIST_KR) {
		x->barrier_site = wf->requests.site[__builtin_ctzll(lanes)];
	}
	if (group->arrived[wait] == work_items_of(m, group)) {
		group_arrived_at_kernel_barrier(m, group, wait, t);
	}
}

void emu_park(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum emu_wait wait, emu_time t)
{
	struct emu_group *const group = wf->group;

	wf->parked |= lanes;
	if (wf->posted) {
		emu_wake(m, wf, t);
	}
	if (!group->arrived[wait]) {
		group->arrived_first = t;
	}
	group->arrived[wait] += emu_ones(lanes);
	if (is_kernel_wide(wait)) {
		kernel_arrival(m, wf, lanes, wait, t);
	} else if (group->arrived[wait] == work_items_of(m, group)) {
		open_group_barrier(m, group, wait, t);
	}
}

/* Those who wait may have waited for nobody else. */
static void open_without_returned(struct nvw_machine *m, struct emu_group *group, emu_time t)
{
	for (unsigned wait = EMU_WAIT_NONE + 1; wait < EMU_WAIT_KINDS; wait++) {
		if (!group->arrived[wait] || group->arrived[wait] < work_items_of(m, group)) {
			continue;
		}
		if (is_kernel_wide((enum emu_wait)wait)) {
			group_arrived_at_kernel_barrier(m, group, (enum emu_wait)wait, t);
		} else {
			open_group_barrier(m, group, (enum emu_wait)wait, t);
		}
		return;
	}
}

void emu_group_returned(struct nvw_machine *m, struct emu_group *group, uint32_t work_items, emu_time t)
{
	struct emu_exec *const x = &m->exec;
	const bool is_last = (group->returned += work_items) == group->size;

	x->returned += work_items;
	if (is_last) {
		emu_group_finish(m, group, t);
	} else if (x->without_returned) {
		open_without_returned(m, group, t);
		return;
	}
	for (unsigned wait = EMU_WAIT_BARRIER_KR; x->without_returned && wait <= EMU_WAIT_PERSIST_KR;
		wait++) {
		if (x->arrived[wait] && x->arrived[wait] == work_items_left(m)) {
			open_kernel_barrier(m, (enum emu_wait)wait, t);
		}
	}
}

void emu_barriers_without_returned(struct nvw_machine *m)
{
	m->exec.without_returned = true;
}

void emu_order_by_line(struct nvw_machine *m)
{
	m->exec.by_line = true;
}
