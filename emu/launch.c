/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launching kernels: which work-group is where, and who waits for whom.
 *
 * A CU is divided into slots, each with the wavefront contexts of one work-group. Work-groups start in
 * order of their number. A kernel-wide barrier works by preemption (gope18 footnote 4): a work-group whose
 * work-items all wait at it gives its slot to one that has not been there yet. Its contexts are set aside
 * and come back to the same slot later, because pointers into the work-items' stacks must stay true.
 *
 * Guarantees
 *   (1) A work-group barrier opens when all work-items of the group are at one, a kernel-wide barrier when
 *       all work-items of the kernel are; a work-item that has returned is never there.
 *   (2) When nothing can go on and work-items are left, the run ends with a report of who waits where.
 *   (3) A slot whose work-group waits at a kernel-wide barrier is never idle while another work-group could
 *       use it.
 */
#include <stdlib.h>

#include "fiber.h"
#include "machine.h"
#include "persist/persist.h"
#include "protocol/protocol.h"
#include "races/races.h"
#include "record.h"

static void fill_slot(struct nvw_machine *m, struct emu_slot *slot, emu_time t);

/* ---- Starting and ending work-groups ------------------------------------------------------- */

static unsigned width(const struct nvw_machine *m)
{
	return (unsigned)m->config.wavefront_width;
}

static uint64_t work_items_left(const struct nvw_machine *m)
{
	return m->exec.groups * m->exec.group_size;
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
	m->stats.work_groups++;
	m->stats.work_items += group->size;
	for (unsigned i = 0; i < x->group_wavefronts; i++) {
		struct emu_wavefront *const wf = &slot->wavefronts[i];
		const unsigned first = i * width(m), rest = group->size - first;

		wf->group = group;
		wf->first_local = first;
		wf->first_global = group->id * x->group_size + first;
		wf->age = x->ages++;
		emu_wavefront_start(m, wf, rest < width(m) ? rest : width(m));
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

	for (unsigned i = 0; i < m->exec.group_wavefronts; i++) {
		record_close_wavefront(m, &slot->wavefronts[i]);
	}
	races_group_finish(m, group);
	m->exec.groups_done++;
	slot->resident = NULL;
	forget_group(m, group);
	fill_slot(m, slot, t);
}

/* ---- Preemption ---------------------------------------------------------------------------- */

/* Contexts, then the live part of each lane's stack. */
static uint64_t saved_bytes(const struct nvw_machine *m, const struct emu_slot *slot)
{
	uint64_t bytes = m->exec.group_wavefronts * sizeof(struct emu_wavefront);

	for (unsigned i = 0; i < m->exec.group_wavefronts; i++) {
		for (uint64_t rest = slot->wavefronts[i].live; rest; rest &= rest - 1) {
			bytes += emu_wavefront_stack_used(
				m, &slot->wavefronts[i], (unsigned)__builtin_ctzll(rest));
		}
	}
	return bytes;
}

/* The live part of the stacks of the slot's contexts, to aside or back. */
static void copy_stacks(struct nvw_machine *m, struct emu_slot *slot, char *aside, bool out)
{
	for (unsigned i = 0; i < m->exec.group_wavefronts; i++) {
		struct emu_wavefront *const wf = &slot->wavefronts[i];

		emu_fiber_clean(wf->stacks, EMU_LANES * m->exec.stack_bytes);
		for (uint64_t rest = wf->live; rest; rest &= rest - 1) {
			const unsigned lane = (unsigned)__builtin_ctzll(rest);
			const uint64_t bytes = emu_wavefront_stack_used(m, wf, lane);
			char *const stack = emu_wavefront_stack(m, wf, lane);

			memcpy(out ? aside : stack, out ? stack : aside, bytes);
			aside += bytes;
		}
	}
}

static void switch_out(struct nvw_machine *m, struct emu_slot *slot)
{
	const uint64_t contexts = m->exec.group_wavefronts * sizeof *slot->wavefronts;
	struct emu_group *const group = slot->resident;

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
	memcpy(slot->wavefronts, group->saved, contexts);
	copy_stacks(m, slot, group->saved + contexts, false);
	free(group->saved);
	group->saved = NULL;
	emu_group_release(m, group, t);
}

/* Gives an empty slot to a work-group that waits for it, else to one that has not begun. */
static void fill_slot(struct nvw_machine *m, struct emu_slot *slot, emu_time t)
{
	if (slot->ready_first) {
		switch_in(m, slot, t + m->config.preempt);
	} else if (m->exec.groups_started < m->exec.groups) {
		start_group(m, slot, t);
	}
}

/* The slot's work-group waits at a kernel-wide barrier: another may use the slot meanwhile. */
static void yield_slot(struct nvw_machine *m, struct emu_slot *slot, emu_time t)
{
	if (slot->ready_first || m->exec.groups_started < m->exec.groups) {
		switch_out(m, slot);
		if (!m->error) {
			fill_slot(m, slot, t + m->config.preempt);
		}
	}
}

/* ---- Barriers ------------------------------------------------------------------------------ */

static bool is_kernel_wide(enum emu_wait wait)
{
	return wait == EMU_WAIT_BARRIER_KR || wait == EMU_WAIT_PERSIST_KR;
}

static void kernel_arrival(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum emu_wait wait, emu_time t)
{
	struct emu_exec *const x = &m->exec;
	struct emu_group *const group = wf->group;
	uint64_t there = 0;

	for (unsigned i = 0; i < EMU_WAIT_KINDS; i++) {
		there += x->arrived[i];
	}
	if (!there) {
		x->arrived_first = t;
	}
	x->arrived[wait] += (uint64_t)__builtin_popcountll(lanes);
	if (wait == EMU_WAIT_PERSIST_KR) {
		x->barrier_site = wf->requests[__builtin_ctzll(lanes)].site;
	}
	if (group->arrived[wait] < group->size) {
		return;
	}
	/* Visible to the kernel what the group stored, before the last one may open the barrier. */
	if (wait == EMU_WAIT_BARRIER_KR) {
		t = coh_run_steps(m, group->slot->cu, m->protocol->kernel_end, t);
	}
	if (x->arrived[wait] < work_items_left(m)) {
		yield_slot(m, group->slot, t);
	} else if (wait == EMU_WAIT_PERSIST_KR) {
		persist_kernel_arrived(m, t);
	} else {
		m->stats.barriers++;
		races_kernel_barrier(m);
		emu_kernel_release(m, t);
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
	group->arrived[wait] += (uint32_t)__builtin_popcountll(lanes);
	if (is_kernel_wide(wait)) {
		kernel_arrival(m, wf, lanes, wait, t);
	} else if (group->arrived[wait] == group->size) {
		if (wait == EMU_WAIT_PERSIST_WG) {
			persist_group_arrived(m, group, t);
		} else {
			m->stats.barriers++;
			races_group_barrier(m, group);
			emu_group_release(
				m, group, coh_run_steps(m, group->slot->cu, m->protocol->group_barrier, t));
		}
	}
}

void emu_group_release(struct nvw_machine *m, struct emu_group *group, emu_time t)
{
	memset(group->arrived, 0, sizeof group->arrived);
	for (unsigned i = 0; i < m->exec.group_wavefronts; i++) {
		struct emu_wavefront *const wf = &group->slot->wavefronts[i];

		wf->runnable |= wf->parked;
		wf->parked = 0;
		if (wf->runnable) {
			emu_wake(m, wf, t);
		}
	}
}

void emu_kernel_release(struct nvw_machine *m, emu_time t)
{
	struct emu_exec *const x = &m->exec;
	struct emu_group *oldest = x->live_groups;

	memset(x->arrived, 0, sizeof x->arrived);
	for (unsigned i = 0; i < m->config.cus; i++) {
		coh_run_steps(m, &m->cus[i], m->protocol->kernel_begin, t);
	}
	/* The list begins with the youngest. */
	while (oldest && oldest->next_all) {
		oldest = oldest->next_all;
	}
	for (struct emu_group *group = oldest; group; group = group->prev_all) {
		struct emu_slot *const slot = group->slot;

		if (group == slot->resident) {
			emu_group_release(m, group, t);
			continue;
		}
		group->next = NULL;
		*(slot->ready_last ? &slot->ready_last->next : &slot->ready_first) = group;
		slot->ready_last = group;
	}
}

/* ---- Deadlock ------------------------------------------------------------------------------ */

enum { REPORT_PLACES = 8 };

struct place {
	const struct nvw_site *site;
	uint64_t group, work_items;
};

/* Who waits where in a work-group, added to places; returns how many places there are. */
static unsigned collect(
	const struct nvw_machine *m, const struct emu_group *group, struct place *places, unsigned count)
{
	const struct emu_wavefront *const contexts =
		group->saved ? (const struct emu_wavefront *)(const void *)group->saved :
			       group->slot->wavefronts;

	for (unsigned i = 0; i < m->exec.group_wavefronts; i++) {
		for (uint64_t rest = contexts[i].parked; rest; rest &= rest - 1) {
			const struct nvw_site *const site = contexts[i].requests[__builtin_ctzll(rest)].site;
			unsigned k = 0;

			while (k < count && (places[k].site != site || places[k].group != group->id)) {
				k++;
			}
			if (k == count && count < REPORT_PLACES) {
				places[count++] = (struct place){.site = site, .group = group->id};
			}
			if (k < count) {
				places[k].work_items++;
			}
		}
	}
	return count;
}

static int report_deadlock(struct nvw_machine *m)
{
	struct place places[REPORT_PLACES];
	unsigned count = 0;
	uint64_t live = 0, returned = 0;
	char text[1024];
	int n = 0;

	for (const struct emu_group *g = m->exec.live_groups; g; g = g->next_all) {
		live++;
		returned += g->returned;
		count = collect(m, g, places, count);
	}
	for (unsigned i = 0; i < count && n >= 0 && (size_t)n < sizeof text; i++) {
		n += snprintf(text + n, sizeof text - (size_t)n,
			"%s\n  %llu work-items of work-group %llu wait at %s:%u (%s)", i ? "," : "",
			(unsigned long long)places[i].work_items, (unsigned long long)places[i].group,
			places[i].site->file, places[i].site->line, places[i].site->function);
	}
	return m->error = nvw_fail(NVW_E_DEADLOCK,
		       "kernel %s is deadlocked in %llu of its %llu work-groups, in which %llu work-items have returned:%s%s",
		       m->exec.name, (unsigned long long)live, (unsigned long long)m->exec.groups,
		       (unsigned long long)returned, text,
		       count == REPORT_PLACES ? "\n  and perhaps more" : "");
}

/* ---- Launch -------------------------------------------------------------------------------- */

/* Cuts the CUs into slots for this kernel's work-groups; slots of different CUs alternate. */
static int make_slots(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;
	const uint32_t per_cu = (uint32_t)(m->config.wavefronts_per_cu / x->group_wavefronts);
	const uint32_t first_cu =
		m->config.seed ? (uint32_t)nvw_random_below(&x->schedule, m->config.cus) : 0;

	if (!per_cu) {
		return nvw_fail(NVW_E_USAGE,
			"kernel %s: a work-group of %u work-items needs %u wavefronts, a CU has %llu "
			"(gpu.wavefronts_per_cu)",
			x->name, x->group_size, x->group_wavefronts,
			(unsigned long long)m->config.wavefronts_per_cu);
	}
	x->slot_count = per_cu * (uint32_t)m->config.cus;
	for (uint32_t i = 0; i < x->slot_count; i++) {
		const uint32_t cu = (uint32_t)((i + first_cu) % m->config.cus),
			       part = i / (uint32_t)m->config.cus;

		x->slots[i] = (struct emu_slot){
			.cu = &m->cus[cu],
			.wavefronts =
				&x->wavefronts[cu * m->config.wavefronts_per_cu + part * x->group_wavefronts],
		};
	}
	return 0;
}

static emu_time on_every_cu(struct nvw_machine *m, const coh_action *steps)
{
	emu_time last = m->now;

	for (unsigned i = 0; i < m->config.cus; i++) {
		last = emu_later(last, coh_run_steps(m, &m->cus[i], steps, m->now));
	}
	return last;
}

static int run_kernel(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	m->now = on_every_cu(m, m->protocol->kernel_begin);
	for (uint32_t i = 0; i < x->slot_count && x->groups_started < x->groups && !m->error; i++) {
		start_group(m, &x->slots[i], m->now);
	}
	if (m->error || emu_run_events(m) < 0) {
		emu_faults_tell(m);
		return m->error;
	}
	if (x->groups_done < x->groups) {
		return report_deadlock(m);
	}
	m->now = on_every_cu(m, m->protocol->kernel_end);
	if (m->persist->info.drains) {
		persist_everything(m);
	}
	emu_nvram_complete(m, m->now);
	return m->error;
}

void emu_forget_kernel(struct nvw_machine *m)
{
	while (m->exec.live_groups) {
		forget_group(m, m->exec.live_groups);
	}
	coh_queue_forget(m);
	emu_events_forget(m);
}

int nvw_launch(struct nvw_machine *m, const char *name, nvw_kernel kernel, const void *args,
	uint64_t work_items, unsigned group_size)
{
	struct emu_exec *const x = &m->exec;
	int r;

	if (m->error) {
		return m->error;
	}
	if (!group_size || !work_items) {
		return nvw_fail(NVW_E_USAGE,
			"kernel %s: %llu work-items in groups of %u: both must be at least 1", name,
			(unsigned long long)work_items, group_size);
	}
	x->kernel = kernel;
	x->args = args;
	x->name = name;
	x->number++;
	x->group_size = group_size;
	x->group_wavefronts = (group_size + width(m) - 1) / width(m);
	x->groups = (work_items + group_size - 1) / group_size;
	x->groups_started = x->groups_done = 0;
	x->epoch_kr = 0;
	memset(x->arrived, 0, sizeof x->arrived);
	r = make_slots(m);
	if (r < 0) {
		return r;
	}
	m->stats.kernels++;
	record_launch(m, x->groups * group_size);
	races_launch(m);
	persist_launch(m);
	r = run_kernel(m);
	if (r < 0) {
		emu_forget_kernel(m);
		return r;
	}
	record_kernel_finish(m);
	return m->error;
}
