/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launching kernels: the CUs are divided into slots, work-groups start, and events run until none is left.
 *
 * Guarantee: when no event is left but work-items are, the run ends with a report of where they wait.
 */
#include <sys/mman.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/each.h"
#include "../memory/device_memory.h"
#include "../machine.h"
#include "../persist/persist.h"
#include "../protocol/protocol.h"
#include "../races/races.h"
#include "../observe/record.h"
#include "store_buffer.h"

/* ---- Launch -------------------------------------------------------------------------------- */

/* The CU of the first work-group. */
static uint32_t first_cu(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	switch (m->config.first_cu) {
	case EMU_FIRST_next:
		if (x->number > 1) {
			return (uint32_t)((x->first_cu + x->groups_before) % m->config.cus);
		}
		return 0;
	case EMU_FIRST_random:
		if (m->config.seed) {
			return (uint32_t)nvw_random_below(&x->schedule, m->config.cus);
		}
		return 0;
	default:
		return 0;
	}
}

/* Divides the CUs into slots for this kernel's work-groups; slots of different CUs alternate. */
static int make_slots(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;

	NVW_INVARIANT(x->group_wavefronts > 0);
	const uint32_t per_cu = (uint32_t)(m->config.wavefronts_per_cu / x->group_wavefronts);

	NVW_FAIL_IF(!per_cu, NVW_E_USAGE,
		"kernel %s: a work-group of %u work-items needs %u wavefronts, but a CU has %llu "
		"(gpu.wavefronts_per_cu)",
		x->name, x->group_size, x->group_wavefronts, (unsigned long long)m->config.wavefronts_per_cu);
	x->first_cu = first_cu(m);
	x->slot_count = per_cu * (uint32_t)m->config.cus;
	NVW_FOR(i, x->slot_count) {
		const uint32_t cu = (uint32_t)((i + x->first_cu) % m->config.cus),
			       part = i / (uint32_t)m->config.cus;

		x->slots[i] = (struct emu_slot){
			.cu = &m->cus[cu],
			.wavefronts =
				&x->wavefronts[cu * m->config.wavefronts_per_cu + part * x->group_wavefronts],
		};
	}
	return 0;
}

enum { PAGE = 4096 };

/* The nearest huge page, so that no page of stacks is huge of which this kernel would use less than half. */
static char *nearest_huge_page(char *at)
{
	char *const next = at + -(uintptr_t)at % EMU_HUGE_PAGE;

	return next - at <= EMU_HUGE_PAGE / 2 ? next : next - EMU_HUGE_PAGE;
}

/*
 * Where the work-items of this kernel fill huge pages with their stacks, these come from the host in huge
 * pages: one fault in place of 256. This is for stacks of which a work-item uses about half anyway, and for
 * wavefronts that have a work-item for every second stack. A host without huge pages uses small ones.
 */
static void expect_stacks(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;
	const uint64_t slots = nvw_min(x->groups, x->slot_count);
	const uint64_t used = slots * x->group_wavefronts, of_one = EMU_LANES * x->stack_bytes;
	char *const first = x->stacks + x->stacks_bytes - x->wavefront_count * of_one,
		    *const from = nearest_huge_page(first),
		    *const to = nearest_huge_page(first + used * of_one);
	NVW_INVARIANT(used <= x->wavefront_count);

	if (used <= x->expected || m->config.stack > 2 * PAGE ||
		2 * x->group_size < x->group_wavefronts * EMU_LANES) {
		return;
	}
	x->expected = (uint32_t)used;
	if (from < to) {
		(void)madvise(from, (size_t)(to - from), MADV_HUGEPAGE);
	}
}

static emu_time on_every_cu(struct nvw_machine *m, const coh_action *steps)
{
	emu_time last = m->now;

	EMU_EACH_CU(cu, m) {
		last = emu_later(last, coh_run_steps(m, cu, steps, m->now));
	}
	return last;
}

static int run_kernel(struct nvw_machine *m)
{
	struct emu_exec *const x = &m->exec;
	NVW_INVARIANT(x->groups_started == 0 && x->groups_done == 0);

	m->now = on_every_cu(m, m->protocol->kernel_begin);
	for (uint32_t i = 0; i < x->slot_count && !m->error; i++) {
		emu_slot_fill(m, &x->slots[i], m->now);
	}
	coh_turns_launch(m);
	if (m->error || emu_run_events(m) < 0) {
		emu_faults_tell(m);
		return m->error;
	}
	if (x->groups_done < x->groups) {
		return emu_deadlock(m);
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
	coh_lock_forget(m);
	coh_waits_forget(m);
	coh_turns_forget(m);
	emu_store_buffers_forget(m);
	emu_late_forget(m);
	emu_events_forget(m);
}

/* Inlined, so that a debugger shows which function of the interface it is. */
static inline __attribute__((always_inline)) int launch(
	struct nvw_machine *m, const char *name, uint64_t work_items, unsigned group_size)
{
	const unsigned width = (unsigned)m->config.wavefront_width;
	struct emu_exec *const x = &m->exec;
	emu_time begin;
	int r;

	if (m->error) {
		return m->error;
	}
	NVW_FAIL_IF(!group_size || !work_items, NVW_E_USAGE,
		"kernel %s: %llu work-items in groups of %u: both must be at least 1", name,
		(unsigned long long)work_items, group_size);
	x->name = name;
	x->number++;
	x->group_size = group_size;
	x->group_wavefronts = (group_size + width - 1) / width;
	x->groups_before = x->groups;
	x->groups = (work_items + group_size - 1) / group_size;
	x->groups_started = x->groups_done = 0;
	x->epoch_kr = 0;
	emu_late_forget(m);
	memset(x->arrived, 0, sizeof x->arrived);
	x->returned = 0;
	NVW_TRY(make_slots(m));
	if (x->resumable) {
		NVW_TRY(emu_resumable_begin(x));
	} else {
		expect_stacks(m);
	}
	m->stats.kernels++;
	m->stats.host_launch_ps += m->config.launch;
	emu_spend(m, m->config.launch);
	record_launch(m, x->groups * group_size);
	races_launch(m);
	persist_launch(m);
	coh_hits_launch(m);
	begin = m->now;
	r = run_kernel(m);
	if (emu_is_watched(m)) {
		emu_tell(m, &(struct emu_sight){.kind = EMU_SIGHT_KERNEL,
				    .from = begin,
				    .to = m->now,
				    .what = name,
				    .number = x->number});
	}
	if (r < 0) {
		emu_forget_kernel(m);
		return r;
	}
	record_kernel_finish(m);
	return m->error;
}

int nvw_launch(struct nvw_machine *m, const char *name, nvw_kernel kernel, const void *args,
	uint64_t work_items, unsigned group_size)
{
	m->exec.kernel = kernel;
	m->exec.resumable = NULL;
	emu_now.by_call = nvw__issue;
	m->exec.args = args;
	return launch(m, name, work_items, group_size);
}

int emu_launch_resumable(struct nvw_machine *m, const char *name, const struct emu_resumable *kernel,
	const void *args, uint64_t work_items, unsigned group_size)
{
	m->exec.resumable = kernel;
	m->exec.args = args;
	return launch(m, name, work_items, group_size);
}
