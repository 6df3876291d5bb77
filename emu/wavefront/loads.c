/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads in flight: issued by a work-item (nvw_load_issue) and not complete. gpu.loads limits their number per
 * work-item, as outstanding misses of a hardware thread are limited. With a limit, synchronizing instructions
 * wait for them too: a fence completes all earlier loads (hechtman14 3, RMO). Without a limit they are not
 * counted.
 */
#include <stdlib.h>

#include "core/each.h"
#include "core/invariant.h"
#include "../machine.h"

int emu_loads_init(struct nvw_machine *m)
{
	const size_t count = (size_t)m->exec.wavefront_count * EMU_LANES * m->config.loads;

	m->loads = count ? calloc(count, sizeof *m->loads) : NULL;
	if (m->loads || !count) {
		return 0;
	}
	return nvw_fail(NVW_E_MEMORY, "no memory for %zu loads in flight", count);
}

void emu_loads_finish(struct nvw_machine *m)
{
	free(m->loads);
}

/* When each of the lane's latest loads is done, in no order. */
static emu_time *of_lane(const struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane)
{
	NVW_DEEP_INVARIANT(m->config.loads > 0 && lane < EMU_LANES);
	return m->loads + ((size_t)(wf - m->exec.wavefronts) * EMU_LANES + lane) * m->config.loads;
}

void emu_loads_forget(struct nvw_machine *m, const struct emu_wavefront *wf)
{
	if (m->loads) {
		memset(of_lane(m, wf, 0), 0, EMU_LANES * m->config.loads * sizeof *m->loads);
	}
}

static unsigned earliest(const emu_time *done, uint64_t count)
{
	unsigned found = 0;

	for (unsigned i = 1; i < count; i++) {
		if (done[i] < done[found]) {
			found = i;
		}
	}
	return found;
}

emu_time emu_loads_room(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	emu_time room = 0;

	NVW_EACH_BIT(lane, lanes) {
		const emu_time *const done = of_lane(m, wf, lane);

		room = emu_later(room, done[earliest(done, m->config.loads)]);
	}
	return room;
}

emu_time emu_loads_done(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	emu_time last = 0;

	NVW_EACH_BIT(lane, lanes) {
		const emu_time *const done = of_lane(m, wf, lane);

		NVW_EACH(one, done, m->config.loads) {
			last = emu_later(last, *one);
		}
	}
	return last;
}

void emu_loads_add(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes, emu_time done)
{
	NVW_EACH_BIT(lane, lanes) {
		emu_time *const of = of_lane(m, wf, lane);

		of[earliest(of, m->config.loads)] = done;
	}
}
