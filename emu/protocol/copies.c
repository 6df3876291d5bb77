/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Separate read and write caches (hechtman14 4): updating the copy of a line in a read cache when the line
 * changes in the write cache at the same level, or in write caches above.
 */
#include "core/each.h"
#include "core/invariant.h"
#include "protocol.h"

emu_time coh_l1_copy_is_old(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time t)
{
	struct emu_line *const copy = coh_l1_line(cu, id);

	if (copy) {
		return coh_l1_event(m, cu, copy, id, COH_L1_WRITTEN_BESIDE, COH_BY_ACCESS, t);
	}
	return t;
}

emu_time coh_l2_copy_is_old(struct nvw_machine *m, emu_line_id id, emu_time t)
{
	struct emu_line *const copy = coh_l2_line(m, id);

	if (copy) {
		return coh_l2_event(m, copy, id, COH_L2_WRITTEN_BESIDE, COH_BY_ACCESS, t);
	}
	return t;
}

static bool forget_in_l1(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time *t)
{
	struct emu_line *const copy = coh_l1_line(cu, id);

	if (copy) {
		*t = coh_l1_event(m, cu, copy, id, COH_L1_LEFT_BESIDE, COH_BY_REVOKE, *t);
	}
	return copy;
}

/* A line without stored bytes, after an atomic that has failed, leaves copies as they are. */
void coh_line_drop_copy(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;

	if (!e->line->dirty) {
		return;
	}
	if (e->cu) {
		forget_in_l1(m, e->cu, e->id, &e->t);
	} else {
		struct emu_line *const copy = coh_l2_line(m, e->id);

		if (copy) {
			e->t = coh_l2_event(m, copy, e->id, COH_L2_LEFT_BESIDE, COH_BY_REVOKE, e->t);
		}
	}
}

/* One message that the network copies, without answers. The line does not wait for it; releases wait until
 * the last copy has arrived (hechtman14 4.3.1: "the invalidations only delay synchronization completion"). */
void coh_line_drop_copies(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	emu_time arrivals[EMU_CUS_MAX];
	NVW_DEEP_INVARIANT(!e->cu);

	if (!e->line->dirty) {
		return;
	}
	m->stats.l1_probes += m->config.cus;
	emu_network_broadcast(m, coh_bank_node(m, e->id), EMU_MESSAGE_CONTROL, e->t, arrivals);
	EMU_EACH_CU(cu, m) {
		emu_time t = coh_l1_look_up(m, cu, arrivals[cu->id]) + m->config.l1.occupancy;

		m->stats.l1_invalidated += forget_in_l1(m, cu, e->id, &t);
		m->l2.copies_gone = emu_later(m->l2.copies_gone, t);
	}
}
