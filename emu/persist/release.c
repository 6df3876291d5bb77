/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers open: waiting work-items continue. */
#include "core/each.h"

#include "../machine.h"
#include "../protocol/protocol.h"

void emu_group_release(struct nvw_machine *m, struct emu_group *group, emu_time t)
{
	memset(group->arrived, 0, sizeof group->arrived);
	NVW_EACH(wf, group->slot->wavefronts, m->exec.group_wavefronts) {
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
	EMU_EACH_CU(cu, m) {
		coh_run_steps(m, cu, m->protocol->kernel_begin, t);
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
