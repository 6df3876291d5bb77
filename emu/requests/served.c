/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion of a memory instruction: statistics, race detector, and continuation of its wavefront. */
#include "../machine.h"
#include "../time/order.h"
#include "../persist/persist.h"
#include "../races/races.h"
#include "../observe/undo.h"

/*
 * The next turn of a wavefront whose access the L1 has served at t. The way between the wavefront and its
 * L1 delays the wavefront, not the access: what others see, and when, is as if it were all behind the
 * access.
 */
extern inline void emu_wake_after_access(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t)
{
	persist_wake(m, wf, t + m->config.memory + m->config.instruction);
}

extern inline void emu_count_latency(struct nvw_machine *m, unsigned kind, emu_time ps)
{
	struct emu_stats *const s = &m->stats;
	const char *what = "atomic";

	if (kind == NVW__LOAD || kind == NVW__LOAD_READ_ONLY) {
		what = "load";
		s->loads++;
		s->load_ps += ps;
	} else if (kind == NVW__STORE) {
		what = "store";
		s->stores++;
		s->store_ps += ps;
	} else {
		s->atomics++;
		s->atomic_ps += ps;
	}
	if (emu_is_watched(m)) {
		emu_tell(m,
			&(struct emu_sight){
				.kind = EMU_SIGHT_ACCESS, .from = m->now, .to = m->now + ps, .what = what});
	}
}

extern inline void emu_tell_served(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	if (m->races && !m->error && lanes) {
		races_access(m, wf, lanes);
	}
	if (m->undo && !m->error && lanes) {
		emu_undo_served(m, wf, lanes);
	}
	if (m->order && !m->error && lanes) {
		emu_order_access(m, wf, lanes);
	}
}

void emu_access_served(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	wf->served = emu_later(wf->served, t);
	emu_tell_served(m, wf, lanes);
	if (--wf->queued == 0) {
		emu_count_latency(m, wf->requests.op[__builtin_ctzll(lanes)] & 0xff, wf->served - wf->issued);
		emu_wake_after_access(m, wf, wf->served);
	}
}
