/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launching kernels: the CUs are cut into slots, work-groups start, and events run until none is left.
 *
 * Guarantee: when nothing can go on and work-items are left, the run ends with a report of who waits where.
 */
#include "machine.h"
#include "persist/persist.h"
#include "protocol/protocol.h"
#include "races/races.h"
#include "record.h"

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
		       "kernel %s is deadlocked in %llu of its %llu work-groups; %llu of their work-items have returned:%s%s",
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
			"kernel %s: a work-group of %u work-items needs %u wavefronts, but a CU has %llu "
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
	for (uint32_t i = 0; i < x->slot_count && !m->error; i++) {
		emu_slot_fill(m, &x->slots[i], m->now);
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
	emu_groups_forget(m);
	coh_queue_forget(m);
	emu_events_forget(m);
}

int nvw_launch(struct nvw_machine *m, const char *name, nvw_kernel kernel, const void *args,
	uint64_t work_items, unsigned group_size)
{
	const unsigned width = (unsigned)m->config.wavefront_width;
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
	x->group_wavefronts = (group_size + width - 1) / width;
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
