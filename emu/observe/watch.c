/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sights for the observer of a run (watch.h): what has a beginning that the machine itself does not keep.
 *
 * A wavefront stalls from the issue of an instruction to the issue of the next one; so one test per turn
 * suffices for it.
 */
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/each.h"
#include "watch.h"

#include <stdlib.h>

#include "../time/booking.h"
#include "../memory/device_memory.h"
#include "../wavefront/issue.h"
#include "../machine.h"
#include "names.h"

/* The instruction that a wavefront has issued last. */
struct turn {
	bool is_open;
	emu_time since;
	const char *what;
	const struct nvw_site *site;
};

struct emu_watch {
	void (*see)(void *context, const struct emu_sight *sight);
	void *context;
	struct turn *turn;  /* by wavefront */
	emu_time *resident; /* by first wavefront of a slot: since when its work-group is there */
};

/* ---- An observer --------------------------------------------------------------------------- */

void emu_watch_finish(struct nvw_machine *m)
{
	if (m->watch) {
		free(m->watch->turn);
		free(m->watch->resident);
		free(m->watch);
		m->watch = NULL;
	}
}

int emu_watch(struct nvw_machine *m, void (*see)(void *context, const struct emu_sight *sight), void *context)
{
	struct emu_watch *w;

	emu_watch_finish(m);
	if (!see) {
		return 0;
	}
	m->watch = w = calloc(1, sizeof *w);
	if (w) {
		*w = (struct emu_watch){.see = see,
			.context = context,
			.turn = calloc(m->exec.wavefront_count, sizeof *w->turn),
			.resident = calloc(m->exec.wavefront_count, sizeof *w->resident)};
	}
	if (w && w->turn && w->resident) {
		return 0;
	}
	return nvw_fail(NVW_E_MEMORY, "no memory to watch the machine");
}

void emu_tell(struct nvw_machine *m, const struct emu_sight *sight)
{
	NVW_DEEP_INVARIANT(sight->from <= sight->to);
	m->watch->see(m->watch->context, sight);
}

/* ---- Wavefronts and work-groups ------------------------------------------------------------ */

static uint32_t index_of(const struct nvw_machine *m, const struct emu_wavefront *wf)
{
	return (uint32_t)(wf - m->exec.wavefronts);
}

static void close_turn(struct nvw_machine *m, uint32_t wavefront, emu_time t)
{
	struct turn *const turn = &m->watch->turn[wavefront];
	NVW_DEEP_INVARIANT(wavefront < m->exec.wavefront_count);

	if (turn->is_open && turn->since < t) {
		emu_tell(m, &(struct emu_sight){.kind = EMU_SIGHT_STALL,
				    .unit = wavefront,
				    .from = turn->since,
				    .to = t,
				    .what = turn->what,
				    .site = turn->site});
	}
	turn->is_open = false;
}

static const char *name_of(const struct nvw__request *r)
{
	static const char *const barriers[] = {
		"barrier (work-item)", "barrier (work-group)", "barrier (kernel)"};
	static const char *const persist_barriers[] = {
		"persist barrier (work-item)", "persist barrier (work-group)", "persist barrier (kernel)"};
	const unsigned kind = r->op & 0xff;
	const bool has_scope = (kind == NVW__BARRIER || kind == NVW__P_BARRIER) && r->value <= NVW_KERNEL;

	if (!has_scope) {
		return emu_kind_names[kind];
	}
	if (kind == NVW__BARRIER) {
		return barriers[r->value];
	}
	return persist_barriers[r->value];
}

void emu_watch_issue(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	const struct nvw__request *const r = emu_request(wf, __builtin_ctzll(lanes));
	const uint32_t wavefront = index_of(m, wf);

	close_turn(m, wavefront, t);
	if ((r->op & 0xff) != NVW__RETURN) {
		m->watch->turn[wavefront] =
			(struct turn){.is_open = true, .since = t, .what = name_of(r), .site = r->site};
	}
}

void emu_watch_enter(struct nvw_machine *m, const struct emu_slot *slot, emu_time t)
{
	m->watch->resident[index_of(m, slot->wavefronts)] = t;
}

void emu_watch_leave(struct nvw_machine *m, const struct emu_slot *slot, emu_time t)
{
	const uint32_t first = index_of(m, slot->wavefronts);
	NVW_DEEP_INVARIANT(first + m->exec.group_wavefronts <= m->exec.wavefront_count);

	for (uint32_t i = first; i < first + m->exec.group_wavefronts; i++) {
		close_turn(m, i, t);
	}
	emu_tell(m, &(struct emu_sight){.kind = EMU_SIGHT_GROUP,
			    .unit = first,
			    .from = m->watch->resident[first],
			    .to = t,
			    .what = m->exec.name,
			    .number = slot->resident->id,
			    .units = m->exec.group_wavefronts});
}

void emu_watch_wait(struct nvw_machine *m, const struct emu_wavefront *wf, const char *cause,
	const struct nvw_site *site, emu_time from, emu_time to)
{
	emu_tell(m, &(struct emu_sight){.kind = EMU_SIGHT_WAIT,
			    .unit = index_of(m, wf),
			    .from = from,
			    .to = to,
			    .what = cause,
			    .site = site});
}

/* ---- Operations of the structure ----------------------------------------------------------- */

uint64_t nvw_operation_begin(void)
{
	return emu_now.machine->now;
}

void nvw_operation_end(unsigned operation, uint64_t begun)
{
	struct nvw_machine *const m = emu_now.machine;

	if (emu_is_watched(m)) {
		emu_tell(m, &(struct emu_sight){.kind = EMU_SIGHT_OPERATION,
				    .from = nvw_min(begun, m->now),
				    .to = m->now,
				    .number = operation});
	}
}

/* ---- What statistics count ----------------------------------------------------------------- */

static const char *stat_name(const struct nvw_machine *m, const uint64_t *stat)
{
	unsigned count;
	const struct emu_stat_info *const table = emu_stat_table(&count);
	const uint64_t offset = (uint64_t)((const char *)stat - (const char *)&m->stats);

	NVW_EACH(one, table, count) {
		if (one->offset == offset) {
			return one->name;
		}
	}
	return "";
}

void emu_watch_cache(struct nvw_machine *m, enum emu_sight_kind kind, const struct emu_cu *cu,
	const uint64_t *stat, emu_time from, emu_time to)
{
	NVW_DEEP_INVARIANT(cu->id < m->config.cus);
	emu_tell(
		m, &(struct emu_sight){
			   .kind = kind, .unit = cu->id, .from = from, .to = to, .what = stat_name(m, stat)});
}

emu_time emu_watch_book(struct nvw_machine *m, struct emu_resource *r, enum emu_sight_kind kind,
	uint32_t unit, const char *what, emu_time t, emu_time occupancy)
{
	const emu_time from = emu_book(m, r, t, occupancy);

	emu_tell(m, &(struct emu_sight){
			    .kind = kind, .unit = unit, .from = from, .to = from + occupancy, .what = what});
	return from;
}

/* ---- Memory -------------------------------------------------------------------------------- */

void emu_watch_memory(
	struct nvw_machine *m, enum emu_sight_kind kind, emu_line_id id, emu_time from, emu_time to)
{
	const unsigned device = emu_device_index(m, id);

	emu_tell(m, &(struct emu_sight){.kind = kind,
			    .unit = emu_first_channel(m, device) +
				    emu_channel_of(&m->device[device].channels, id),
			    .from = from,
			    .to = to,
			    .what = kind == EMU_SIGHT_READ ? "read" : "write",
			    .number = emu_line_off(m, id)});
}
