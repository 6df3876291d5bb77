/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The third level: a memory-side cache below the L2, as an option of the machine (hechtman14 4).
 *
 * All reads and writes of the L2 pass through it, so it needs no coherence protocol: its content is that of
 * memory. It keeps stores to DRAM until they are replaced, its S-FIFO is full, or a protocol flushes it; with
 * l3.split in a separate write cache. Under a protocol with owners it has no S-FIFO: nothing is released.
 * Under a protocol that writes through, it passes them on, like those to NVRAM.
 *
 * Guarantee: it does not hold back stores to NVRAM. They go on to the device, with their records and tags,
 * and update its copy on the way; so persist barriers, persistency models and the durability checker do not
 * depend on it.
 */
#include <stdlib.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "../time/booking.h"
#include "device_memory.h"
#include "../machine.h"

/* The request is at the line's bank at t; returns when its look-up begins. */
static emu_time bank(struct nvw_machine *m, emu_line_id id, emu_time t)
{
	const uint32_t i = emu_line_number(id) % m->l3.banks;
	const emu_time start = emu_book_seen(
		m, &m->l3.bank[i], EMU_SIGHT_BANK, m->l2.banks + i, "L3", t, m->config.l3.occupancy);

	m->stats.l3_accesses++;
	return start;
}

static emu_time of_tags(const struct nvw_machine *m)
{
	NVW_DEEP_INVARIANT(m->l3.banks > 0);
	return NVW_OR(m->config.l3.tag, m->config.l3.latency);
}

/* ---- Lines that leave ---------------------------------------------------------------------- */

static emu_time write_out(
	struct nvw_machine *m, emu_line_id id, struct emu_line *line, uint64_t *cause, emu_time t)
{
	line->in_sfifo = false;
	if (!line->dirty) {
		return t;
	}
	++*cause;
	return emu_memory_write(m, id, line, t);
}

static struct emu_line *obtain(struct nvw_machine *m, struct emu_cache *cache, emu_line_id id, emu_time *t)
{
	struct emu_line *line = emu_cache_find(cache, id);

	if (!line) {
		emu_line_id old;

		line = emu_cache_victim(cache, id);
		old = emu_cache_tag(cache, line);
		if (old != EMU_NO_LINE) {
			m->stats.l3_evictions++;
			*t = write_out(m, old, line, &m->stats.l3_writeback_evict, *t);
		}
		emu_cache_assign(cache, line, id);
	}
	return line;
}

/* The oldest lines of the S-FIFO, until at most keep are left in it. */
static emu_time drain_sfifo(struct nvw_machine *m, uint32_t keep, uint64_t *cause, emu_time t)
{
	emu_time last = t;
	emu_line_id id;

	while (emu_fifo_length(&m->l3.sfifo) > keep && emu_fifo_pop(&m->l3.sfifo, &id)) {
		struct emu_line *const line = emu_cache_peek(m->l3.stores, id);

		if (line && line->in_sfifo) {
			last = emu_later(last, write_out(m, id, line, cause, bank(m, id, t)));
		}
	}
	return last;
}

emu_time emu_l3_flush(struct nvw_machine *m, emu_time t)
{
	NVW_DEEP_INVARIANT(m->l3.banks > 0);
	return drain_sfifo(m, 0, &m->stats.l3_writeback_release, t);
}

/* ---- Reads and writes of the L2 ------------------------------------------------------------ */

/* Bytes on their way to memory: the copy that is read has them, too. */
static void update_copy(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask)
{
	struct emu_line *const copy = emu_cache_peek(&m->l3.cache, id);

	if (copy) {
		emu_copy_masked(copy->data, data, mask);
		copy->valid |= mask;
	}
}

emu_time emu_l3_read_here(struct nvw_machine *m, emu_line_id id, uint8_t *to, emu_time t)
{
	const struct emu_line *const written =
		m->l3.stores == &m->l3.cache ? NULL : emu_cache_find(&m->l3.write, id);
	struct emu_line *line;

	t = bank(m, id, t);
	if (written && written->dirty == UINT64_MAX) {
		m->stats.l3_load_hits++;
		memcpy(to, written->data, EMU_LINE);
		return t + of_tags(m) + m->config.l3.latency;
	}
	line = emu_cache_find(&m->l3.cache, id);
	if (line && line->valid == UINT64_MAX) {
		m->stats.l3_load_hits++;
		t += m->config.l3.latency;
	} else {
		uint8_t data[EMU_LINE];

		m->stats.l3_load_misses++;
		t += of_tags(m);
		if (!line) {
			line = obtain(m, &m->l3.cache, id, &t);
		}
		t = emu_memory_read(m, id, data, t);
		emu_copy_masked(line->data, data, ~line->valid);
		line->valid = UINT64_MAX;
	}
	if (written) {
		emu_copy_masked(
			line->data, written->data, written->dirty); /* also for those who read it later */
	}
	memcpy(to, line->data, EMU_LINE);
	return t;
}

emu_time emu_l3_write_here(struct nvw_machine *m, emu_line_id id, struct emu_line *from, emu_time t)
{
	struct emu_line *line;

	t = bank(m, id, t);
	if (m->l3.passes || emu_is_persistent(m, id)) {
		update_copy(m, id, from->data, from->dirty);
		return emu_memory_write(m, id, from, t + of_tags(m)) - of_tags(m);
	}
	m->stats.l3_writes++;
	line = obtain(m, m->l3.stores, id, &t);
	emu_copy_masked(line->data, from->data, from->dirty);
	line->valid |= from->dirty;
	line->dirty |= from->dirty;
	if (m->l3.stores != &m->l3.cache) {
		update_copy(m, id, from->data, from->dirty);
	}
	from->dirty = 0;
	if (!line->in_sfifo && m->l3.sfifo.capacity) {
		line->in_sfifo = true;
		emu_fifo_push(&m->l3.sfifo, id);
	}
	return drain_sfifo(m, m->l3.sfifo.capacity, &m->stats.l3_writeback_sfifo, t);
}

/* ---- The host's look ----------------------------------------------------------------------- */

void emu_l3_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	const struct emu_line *line = NULL;

	if (m->l3.banks) {
		line = emu_cache_peek(m->l3.stores, id);
	}
	if (line) {
		emu_copy_masked(to, line->data, line->dirty);
	}
}

void emu_l3_update(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask)
{
	if (m->l3.banks) {
		emu_cache_update(&m->l3.cache, id, data, mask);
		emu_cache_update(m->l3.stores, id, data, mask);
	}
}

static void forget_lines(struct nvw_machine *m, struct emu_cache *cache, emu_line_id first, emu_line_id end)
{
	EMU_EACH_LINE(i, cache) {
		const emu_line_id id = emu_cache_tag_at(cache, i);

		if (id >= first && id < end) {
			emu_cache_assign(cache, &cache->lines[i], EMU_NO_LINE);
		}
	}
}

void emu_l3_forget(struct nvw_machine *m, emu_line_id first, emu_line_id end)
{
	forget_lines(m, &m->l3.cache, first, end);
	forget_lines(m, &m->l3.write, first, end);
}

/* ---- A machine's life ---------------------------------------------------------------------- */

int emu_l3_init(struct nvw_machine *m)
{
	struct emu_l3 *const l3 = &m->l3;
	const struct emu_cache_config *const config = &m->config.l3;

	if (!config->size) {
		return 0;
	}
	l3->banks = (uint32_t)m->config.l3_banks;
	l3->bank = calloc(l3->banks, sizeof *l3->bank);
	NVW_ALLOCATED(l3->bank, "no memory for an L3");
	NVW_TRY(emu_caches_init(&l3->cache, &l3->write, config, &l3->stores));
	return emu_fifo_init(&l3->sfifo, (uint32_t)config->sfifo);
}

void emu_l3_finish(struct nvw_machine *m)
{
	emu_cache_finish(&m->l3.cache);
	emu_cache_finish(&m->l3.write);
	emu_fifo_finish(&m->l3.sfifo);
	emu_resources_finish(m->l3.bank, m->l3.banks);
	free(m->l3.bank);
}
