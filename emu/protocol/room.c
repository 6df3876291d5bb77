/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in the caches: looking lines up, and replacing others for them. */
#include "core/bounds.h"
#include "core/invariant.h"
#include "protocol.h"

extern inline struct emu_line *coh_l1_find(
	struct nvw_machine *m, struct emu_cu *cu, struct emu_cache *cache, emu_line_id id)
{
	struct emu_line *const line = emu_cache_find(cache, id);

	/* An acquire invalidates the whole cache in no time; each line is updated when it is next
	 * accessed. */
	if (line && line->generation != cache->generation) {
		if (m->renews) {
			coh_renew(m, line, id);
		} else {
			coh_l1_event(m, cu, line, id, COH_L1_INVALIDATE, COH_BY_ACCESS, 0);
		}
		line->generation = cache->generation;
	}
	return line;
}

extern inline struct emu_line *coh_l1_replace(
	struct nvw_machine *m, struct emu_cu *cu, struct emu_cache *cache, emu_line_id id, emu_time *t)
{
	struct emu_line *const line = emu_cache_victim(cache, id);
	const emu_line_id old = emu_cache_tag(cache, line);
	NVW_DEEP_INVARIANT(!emu_cache_peek(cache, id));

	if (old != EMU_NO_LINE) {
		m->stats.l1_evictions++;
		m->stats.sync_evictions += coh_flushes_loser(m, line);
		*t = coh_l1_event(m, cu, line, old, COH_L1_EVICT, COH_BY_EVICT, *t);
	}
	emu_cache_assign(cache, line, id);
	return line;
}

struct emu_line *coh_l1_obtain(
	struct nvw_machine *m, struct emu_cu *cu, struct emu_cache *cache, emu_line_id id, emu_time *t)
{
	struct emu_line *const line = coh_l1_find(m, cu, cache, id);

	return NVW_OR(line, coh_l1_replace(m, cu, cache, id, t));
}

/* Replacing a registered atomic flushes the L1 that has it (alsop16 III.C.2). That flush needs room in the L2
 * too, so it goes first, and the choice is repeated. True if anything was flushed. */
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

/*
 * A line of the L2's cache for id, which is not there; made room for. It is not there afterwards either: what
 * a recall makes an L1 send ahead of the old line (buffered epochs) is in the L2 already, which includes it,
 * and under protocols that register a recall sends nothing ahead (recall_from()).
 */
static struct emu_line *replace_in_l2(
	struct nvw_machine *m, struct emu_cache *cache, emu_line_id id, emu_time *t)
{
	struct emu_line *const line = emu_cache_victim(cache, id);
	const emu_line_id old = emu_cache_tag(cache, line);

	if (old != EMU_NO_LINE) {
		m->stats.l2_evictions++;
		emu_cache_pin(cache, line);
		*t = coh_l2_event(m, line, old, COH_L2_EVICT, COH_BY_EVICT, *t);
		NVW_DEEP_INVARIANT(m->error || !emu_cache_peek(cache, id));
	}
	emu_cache_assign(cache, line, id);
	return line;
}

/* The same, with a flush ahead of it where the victim asks for one; that may bring the line along. */
static struct emu_line *replace_or_flush(
	struct nvw_machine *m, struct emu_cache *cache, emu_line_id id, emu_time *t)
{
	struct emu_line *line = NULL;

	if (!m->protocol->registration || !m->protocol->registration->flushes_loser) {
		return replace_in_l2(m, cache, id, t);
	}
	while (!line && flush_owner(m, emu_cache_victim(cache, id), t)) {
		line = emu_cache_find(cache, id);
	}
	return NVW_OR(line, replace_in_l2(m, cache, id, t));
}

static void hit_in_l2(
	struct nvw_machine *m, const struct emu_cu *by, struct emu_line *line, emu_line_id id, emu_time *t)
{
	m->stats.l2_load_hits++;
	*t = coh_l2_event_by(m, by, line, id, COH_L2_READ_HIT, COH_BY_ACCESS, *t);
}

/* A miss has looked at the tags only. */
static void miss_in_l2(
	struct nvw_machine *m, const struct emu_cu *by, struct emu_line *line, emu_line_id id, emu_time *t)
{
	m->stats.l2_load_misses++;
	*t = coh_l2_event_by(m, by, line, id, COH_L2_READ_MISS, COH_BY_ACCESS, *t - m->l2_spared);
}

/* The read cache first, then the write cache, which has all bytes or writes back its part. */
static struct emu_line *read_apart(
	struct nvw_machine *m, const struct emu_cu *by, emu_line_id id, uint64_t bytes, emu_time *t)
{
	struct emu_line *line = emu_cache_find(&m->l2.cache, id), *written;

	if (line && coh_hits(m, NULL, line, bytes)) {
		hit_in_l2(m, by, line, id, t);
		return line;
	}
	written = emu_cache_find(&m->l2.write, id);
	*t += m->config.l2.tag;
	if (written && !(bytes & ~written->dirty)) {
		m->stats.l2_write_hits++;
		hit_in_l2(m, by, written, id, t);
		return written;
	}
	if (written && written->dirty) {
		*t = coh_l2_event(m, written, id, COH_L2_READ_BESIDE, COH_BY_READ, *t);
	}
	line = emu_cache_find(&m->l2.cache, id);
	if (!line) {
		line = replace_or_flush(m, &m->l2.cache, id, t);
	}
	miss_in_l2(m, by, line, id, t);
	return line;
}

struct emu_line *coh_l2_obtain_by(
	struct nvw_machine *m, const struct emu_cu *by, emu_line_id id, uint64_t bytes, emu_time *t)
{
	struct emu_line *line;

	if (bytes && coh_is_apart_l2(m)) {
		return read_apart(m, by, id, bytes, t);
	}
	line = emu_cache_find(m->l2.stores, id);
	if (!line) {
		line = replace_or_flush(m, m->l2.stores, id, t);
	}
	bytes &= ~line->registered;
	if (!bytes) {
		return line;
	}
	if (coh_hits(m, NULL, line, bytes)) {
		hit_in_l2(m, by, line, id, t);
	} else {
		miss_in_l2(m, by, line, id, t);
	}
	return line;
}

struct emu_line *coh_l2_obtain(struct nvw_machine *m, emu_line_id id, uint64_t bytes, emu_time *t)
{
	return coh_l2_obtain_by(m, NULL, id, bytes, t);
}

extern inline void coh_l2_include(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time t)
{
	if (m->protocol->inclusive && !m->protocol->directory) {
		t = coh_to_bank(m, cu, id, 0, EMU_MESSAGE_CONTROL, t);
		t = coh_l2_look_up(m, id, t);
		coh_sharer_add(coh_l2_obtain(m, id, 0, &t), cu);
	}
}
