/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in the caches: lines are looked up, and others replaced for them. */
#include "protocol.h"

struct emu_line *coh_l1_find(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id)
{
	struct emu_line *const line = emu_cache_find(&cu->l1, id);

	/* An acquire invalidated the whole cache in no time; each line learns of it when it is next met. */
	if (line && line->generation != cu->l1.generation) {
		line->generation = cu->l1.generation;
		coh_l1_event(m, cu, line, id, COH_L1_INVALIDATE, COH_BY_ACCESS, 0);
	}
	return line;
}

struct emu_line *coh_l1_obtain(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time *t)
{
	struct emu_line *line = coh_l1_find(m, cu, id);

	if (!line) {
		emu_line_id old;

		line = emu_cache_victim(&cu->l1, id);
		old = emu_cache_tag(&cu->l1, line);
		if (old != EMU_NO_LINE) {
			m->stats.l1_evictions++;
			m->stats.sync_evictions += coh_flushes_loser(m, line);
			*t = coh_l1_event(m, cu, line, old, COH_L1_EVICT, COH_BY_EVICT, *t);
		}
		emu_cache_assign(&cu->l1, line, id);
	}
	return line;
}

/* Replacing a registered atomic flushes the L1 that has it (alsop16 III.C.2). What that writes needs room in the
 * L2 as well: it goes first, and the choice is made again. True if there was anything to flush. */
static bool flush_owner(struct nvw_machine *m, const struct emu_line *victim, emu_time *t)
{
	struct emu_cu *const owner =
		coh_flushes_loser(m, victim) ? coh_registry_owner(m, victim, UINT64_MAX) : NULL;

	if (!owner || !emu_fifo_length(&owner->sfifo)) {
		return false;
	}
	*t = coh_flush_whole_l1(m, owner, &m->stats.flushes_atomic_out, *t);
	return true;
}

/* A line of the L2 for id, which is not there; made room for. */
static struct emu_line *replace_in_l2(struct nvw_machine *m, emu_line_id id, emu_time *t)
{
	struct emu_line *const line = emu_cache_victim(&m->l2.cache, id);
	const emu_line_id old = emu_cache_tag(&m->l2.cache, line);

	if (old != EMU_NO_LINE) {
		struct emu_line *came;

		m->stats.l2_evictions++;
		emu_cache_pin(&m->l2.cache, line);
		*t = coh_l2_event(m, line, old, COH_L2_EVICT, COH_BY_EVICT, *t);
		came = emu_cache_find(&m->l2.cache, id);
		if (came) {
			return came; /* with what an L1 had to send ahead of the old line's bytes (buffered epochs) */
		}
	}
	emu_cache_assign(&m->l2.cache, line, id);
	return line;
}

struct emu_line *coh_l2_obtain_by(
	struct nvw_machine *m, const struct emu_cu *by, emu_line_id id, uint64_t bytes, emu_time *t)
{
	struct emu_line *line;

	do {
		line = emu_cache_find(&m->l2.cache, id);
	} while (!line && flush_owner(m, emu_cache_victim(&m->l2.cache, id), t));
	line = line ? line : replace_in_l2(m, id, t);
	bytes &= ~line->registered;
	if (!bytes) {
		return line;
	}
	if (coh_hits(m, NULL, line, bytes)) {
		m->stats.l2_load_hits++;
		*t = coh_l2_event_by(m, by, line, id, COH_L2_READ_HIT, COH_BY_ACCESS, *t);
	} else {
		m->stats.l2_load_misses++;
		*t = coh_l2_event_by(m, by, line, id, COH_L2_READ_MISS, COH_BY_ACCESS, *t);
	}
	return line;
}

struct emu_line *coh_l2_obtain(struct nvw_machine *m, emu_line_id id, uint64_t bytes, emu_time *t)
{
	return coh_l2_obtain_by(m, NULL, id, bytes, t);
}

void coh_l2_include(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time t)
{
	if (m->protocol->inclusive) {
		t = emu_network_send(
			m, emu_network_cu_node(m, cu->id), coh_bank_node(m, id), 0, EMU_MESSAGE_CONTROL, t);
		t = coh_l2_access(m, id, m->config.l2.occupancy, t);
		coh_sharer_add(coh_l2_obtain(m, id, 0, &t), cu);
	}
}
