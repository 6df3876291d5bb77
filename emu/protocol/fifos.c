/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The FIFOs of both levels: S-FIFOs hold the dirty lines since the last release (gope18 3), NVW-FIFOs the
 * writes to NVRAM (gope18 6). Whole caches are flushed through them.
 */
#include "../memory/device_memory.h"
#include "core/each.h"
#include "core/invariant.h"
#include "protocol.h"

/*
 * What a FIFO is for: when it is empty, no line waits in the cache that it should have named. Bytes that an
 * L1 has registered wait for no release. It holds after the outermost drain: a line on its way out may need
 * room in the L2, whose victim's owner drains this cache once more while the line is still dirty. Planted
 * faults break it on purpose.
 */
__attribute__((unused)) static bool names_all_that_waits(
	const struct nvw_machine *m, const struct emu_cache *cache, bool of_nvram)
{
	if (m->error || m->fault.action || m->fault.line) {
		return true;
	}
	EMU_EACH_LINE(i, cache) {
		const struct emu_line *const line = &cache->lines[i];
		const uint64_t waits = of_nvram ? line->dirty : line->dirty & ~line->registered;

		if (waits && (!of_nvram || emu_is_persistent(m, emu_cache_tag_at(cache, i)))) {
			return false;
		}
	}
	return true;
}

/* Fetches the L2's line for the next line that leaves the L1, and only the tags for the one after it. */
static void prefetch_below(const struct nvw_machine *m, const struct emu_fifo *fifo)
{
	if (emu_fifo_length(fifo)) {
		emu_cache_prefetch_line(m->l2.stores, fifo->ring[fifo->head & fifo->mask]);
	}
	if (emu_fifo_length(fifo) > 1) {
		emu_cache_prefetch(m->l2.stores, fifo->ring[(fifo->head + 1) & fifo->mask]);
	}
}

emu_time coh_drain_l1(struct nvw_machine *m, struct emu_cu *cu, struct emu_fifo *fifo, uint32_t keep,
	enum coh_reason reason, emu_time t)
{
	const enum coh_l1_event event = reason == COH_BY_PERSIST ? COH_L1_PERSIST : COH_L1_FLUSH;
	emu_time last = t;
	emu_line_id id;

	cu->drains++;
	while (emu_fifo_length(fifo) > keep && emu_fifo_pop(fifo, &id)) {
		struct emu_line *const line = emu_cache_peek(cu->stores, id);

		if (!line) {
			continue;
		}
		if (fifo == &cu->sfifo) {
			line->in_sfifo = false;
			prefetch_below(m, fifo);
		}
		if (line->dirty) {
			t = coh_l1_look_up(m, cu, t) + m->config.l1.occupancy;
			last = emu_later(last, coh_l1_event(m, cu, line, id, event, reason, t));
		} else {
			/* After an atomic that stored nothing: the line waits for nothing, and the next store
			 * enters the FIFO again. */
			coh_l1_event(m, cu, line, id, event, reason, t);
		}
	}
	cu->drains--;
	NVW_DEEP_INVARIANT(keep || cu->drains || names_all_that_waits(m, cu->stores, fifo == &cu->nvw_fifo));
	return last;
}

emu_time coh_flush_whole_l1(struct nvw_machine *m, struct emu_cu *cu, uint64_t *cause, emu_time t)
{
	const emu_time done = emu_later(coh_drain_l1(m, cu, &cu->sfifo, 0, COH_BY_RELEASE, t), cu->taken);

	++*cause;
	if (emu_is_watched(m)) {
		emu_watch_cache(m, EMU_SIGHT_FLUSH, cu, cause, t, done);
	}
	return done;
}

/* The next line to leave the L2 was stored long ago: the host's caches have lost what is behind it. */
static void prefetch_oldest(const struct nvw_machine *m, const struct emu_fifo *fifo)
{
	if (emu_fifo_length(fifo)) {
		emu_memory_prefetch(m, fifo->ring[fifo->head & fifo->mask]);
	}
}

emu_time coh_drain_l2(
	struct nvw_machine *m, struct emu_fifo *fifo, uint32_t keep, enum coh_reason reason, emu_time t)
{
	emu_time last = t;
	emu_line_id id;

	while (emu_fifo_length(fifo) > keep && emu_fifo_pop(fifo, &id)) {
		struct emu_line *const line = emu_cache_peek(m->l2.stores, id);

		if (!line) {
			continue;
		}
		if (fifo == &m->l2.sfifo) {
			line->in_sfifo = false;
			prefetch_oldest(m, fifo);
		}
		if (line->dirty) {
			const emu_time start = coh_l2_look_up(m, id, t) - m->config.l2.latency;

			last = emu_later(last, coh_l2_event(m, line, id, COH_L2_FLUSH, reason, start));
		} else {
			coh_l2_event(m, line, id, COH_L2_FLUSH, reason, t); /* as in an L1 */
		}
	}
	NVW_DEEP_INVARIANT(keep || names_all_that_waits(m, m->l2.stores, fifo == &m->l2.nvw_fifo));
	return last;
}

static bool has_nvw_fifo(const struct nvw_machine *m, emu_line_id id)
{
	return emu_is_persistent(m, id) && m->config.nvram.domain != EMU_DOMAIN_eadr;
}

extern inline void coh_dirtied_l1(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time *t)
{
	if (m->config.l1.sfifo_unit == EMU_UNIT_words) {
		coh_count_buffered(cu, emu_cache_peek(cu->stores, id));
	}
	while (emu_fifo_length(&cu->sfifo) > cu->sfifo.capacity ||
		(cu->buffered > cu->sfifo.capacity && emu_fifo_length(&cu->sfifo))) {
		*t = coh_drain_l1(m, cu, &cu->sfifo, emu_fifo_length(&cu->sfifo) - 1, COH_BY_SFIFO, *t);
	}
	if (has_nvw_fifo(m, id)) {
		m->stats.nvw_pushes_l1++;
		emu_fifo_push(&cu->nvw_fifo, id);
		if (emu_fifo_length(&cu->nvw_fifo) > cu->nvw_fifo.capacity) {
			m->stats.nvw_overflows_l1++;
			*t = coh_drain_l1(m, cu, &cu->nvw_fifo, cu->nvw_fifo.capacity, COH_BY_PERSIST, *t);
		}
	}
}

extern inline void coh_dirtied_l2(struct nvw_machine *m, emu_line_id id, emu_time *t)
{
	struct emu_l2 *const l2 = &m->l2;

	if (emu_fifo_length(&l2->sfifo) > l2->sfifo.capacity) {
		*t = coh_drain_l2(m, &l2->sfifo, l2->sfifo.capacity, COH_BY_SFIFO, *t);
	}
	if (has_nvw_fifo(m, id)) {
		m->stats.nvw_pushes_l2++;
		emu_fifo_push(&l2->nvw_fifo, id);
		if (emu_fifo_length(&l2->nvw_fifo) > l2->nvw_fifo.capacity) {
			m->stats.nvw_overflows_l2++;
			*t = coh_drain_l2(m, &l2->nvw_fifo, l2->nvw_fifo.capacity, COH_BY_PERSIST, *t);
		}
	}
}

static uint32_t lines_of(const struct emu_cache *cache)
{
	return cache->sets * cache->ways;
}

static uint32_t next_dirty_of_nvram(const struct nvw_machine *m, const struct emu_cache *cache, uint32_t i)
{
	for (i = emu_cache_next(cache, i); i < lines_of(cache); i = emu_cache_next(cache, i + 1)) {
		if (cache->lines[i].dirty && emu_is_persistent(m, emu_cache_tag_at(cache, i))) {
			break;
		}
	}
	return i;
}

emu_time coh_flush_nvram(struct nvw_machine *m, emu_time t)
{
	struct emu_cache *const l2 = m->l2.stores;
	emu_time last = t;

	EMU_EACH_CU(cu, m) {
		for (uint32_t k = next_dirty_of_nvram(m, cu->stores, 0); k < lines_of(cu->stores);
			k = next_dirty_of_nvram(m, cu->stores, k + 1)) {
			last = emu_later(last,
				coh_l1_event(m, cu, &cu->stores->lines[k], emu_cache_tag_at(cu->stores, k),
					COH_L1_PERSIST, COH_BY_PERSIST, t));
		}
	}
	for (uint32_t k = next_dirty_of_nvram(m, l2, 0); k < lines_of(l2);
		k = next_dirty_of_nvram(m, l2, k + 1)) {
		last = emu_later(last, coh_l2_event(m, &l2->lines[k], emu_cache_tag_at(l2, k), COH_L2_FLUSH,
					       COH_BY_PERSIST, last));
	}
	return last;
}
