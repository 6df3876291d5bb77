/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens to lines: the actions of the grids, and room in the caches.
 *
 * Time: a line action moves event->t to the instant from which what waits for it can go on. A write-back
 * is taken by the next level when its port (or its write queue) is free; nobody waits for the look-up there.
 */
#include "protocol.h"

#include "../persist/persist.h"
#include "../record.h"

uint32_t coh_bank_node(const struct nvw_machine *m, emu_line_id id)
{
	return emu_network_bank_node(m, emu_line_number(id) % m->l2.banks);
}

emu_time coh_l1_port(struct nvw_machine *m, struct emu_cu *cu, emu_time t, emu_time occupancy)
{
	m->stats.l1_accesses++;
	return emu_book(m, &cu->l1_port, t, occupancy);
}

emu_time coh_l2_access(struct nvw_machine *m, emu_line_id id, emu_time occupancy, emu_time t)
{
	m->stats.l2_accesses++;
	return emu_book(m, &m->l2.bank[emu_line_number(id) % m->l2.banks], t, occupancy) +
	       m->config.l2.latency;
}

/* ---- Events -------------------------------------------------------------------------------- */

/* The grid says that this cannot happen, so the protocol's table is wrong: the run ends. */
static emu_time never(struct coh_event *e, unsigned event)
{
	static const struct {
		const char *symbol, *text;
	} l1_events[] =
		{
#define X(name, text) {#name, text},
			COH_L1_EVENTS(X)
#undef X
		},
	  l2_events[] = {
#define X(name, text) {#name, text},
		  COH_L2_EVENTS(X)
#undef X
	  };
	const struct coh_protocol *const p = e->m->protocol;

	if (!e->m->error) {
		e->m->error = nvw_fail(NVW_E_MODEL,
			"protocol %s, line %#x: event %s (%s) in state %s of %s is NEVER in the protocol's table",
			p->name, e->id, e->cu ? l1_events[event].symbol : l2_events[event].symbol,
			e->cu ? l1_events[event].text : l2_events[event].text,
			e->cu ? p->l1_states[e->line->state] : p->l2_states[e->line->state],
			e->cu ? "an L1" : "the L2");
	}
	return e->t;
}

/* The store buffer has the words of an L1's line that were stored and neither written through nor registered. */
static void count_buffered(struct emu_cu *cu, struct emu_line *line)
{
	const uint64_t bytes = line->dirty & ~line->registered, halves = bytes | bytes >> 1,
		       words = (halves | halves >> 2) & UINT64_C(0x1111111111111111);
	const uint8_t count = (uint8_t)__builtin_popcountll(words);

	cu->buffered += count - (uint32_t)line->buffered;
	line->buffered = count;
}

static emu_time apply(struct coh_event *e, const struct coh_cell *cell, unsigned event)
{
	const unsigned before = e->line->state;

	if (!cell->possible) {
		return never(e, event);
	}
	for (unsigned i = 0; i < 3 && cell->actions[i]; i++) {
		if (cell->actions[i] != e->m->fault.line) {
			cell->actions[i](e);
		}
	}
	/* A line that was to stay as it is may have been written back meanwhile, for room that an action needed. */
	if (cell->next != before) {
		e->line->state = cell->next;
	}
	if (e->cu && e->line->buffered) {
		count_buffered(e->cu, e->line);
	}
	return e->t;
}

emu_time coh_l1_event_on(struct nvw_machine *m, struct emu_cu *cu, struct emu_line *line, emu_line_id id,
	enum coh_l1_event event, enum coh_reason reason, uint64_t bytes, emu_time t)
{
	struct coh_event e = {
		.m = m, .cu = cu, .line = line, .id = id, .bytes = bytes, .reason = reason, .t = t};

	return apply(&e, &m->protocol->l1[line->state * COH_L1_EVENT_COUNT + event], event);
}

emu_time coh_l1_event(struct nvw_machine *m, struct emu_cu *cu, struct emu_line *line, emu_line_id id,
	enum coh_l1_event event, enum coh_reason reason, emu_time t)
{
	return coh_l1_event_on(m, cu, line, id, event, reason, line->dirty, t);
}

emu_time coh_l2_event_by(struct nvw_machine *m, const struct emu_cu *by, struct emu_line *line,
	emu_line_id id, enum coh_l2_event event, enum coh_reason reason, emu_time t)
{
	struct coh_event e = {.m = m, .by = by, .line = line, .id = id, .reason = reason, .t = t};

	return apply(&e, &m->protocol->l2[line->state * COH_L2_EVENT_COUNT + event], event);
}

emu_time coh_l2_event(struct nvw_machine *m, struct emu_line *line, emu_line_id id, enum coh_l2_event event,
	enum coh_reason reason, emu_time t)
{
	return coh_l2_event_by(m, NULL, line, id, event, reason, t);
}

/* ---- Room ---------------------------------------------------------------------------------- */

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

/* Whether an L1 that loses this line's registration has to flush its stores first. */
static bool flushes_loser(const struct nvw_machine *m, const struct emu_line *line)
{
	return line->registered && m->protocol->registration->flushes_loser;
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
			m->stats.sync_evictions += flushes_loser(m, line);
			*t = coh_l1_event(m, cu, line, old, COH_L1_EVICT, COH_BY_EVICT, *t);
		}
		emu_cache_assign(&cu->l1, line, id);
	}
	return line;
}

static uint32_t length(const struct emu_fifo *fifo)
{
	return fifo->tail - fifo->head;
}

/* Replacing a registered atomic flushes the L1 that has it (alsop16 III.C.2). What that writes needs room in the
 * L2 as well: it goes first, and the choice is made again. True if there was anything to flush. */
static bool flush_owner(struct nvw_machine *m, const struct emu_line *victim, emu_time *t)
{
	struct emu_cu *const owner =
		flushes_loser(m, victim) ? coh_registry_owner(m, victim, UINT64_MAX) : NULL;

	if (!owner || !length(&owner->sfifo)) {
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

/* ---- Actions ------------------------------------------------------------------------------- */

/* Bytes that the event asks for and that other L1s have registered: each answers with what it has of the line. */
static emu_time fetch_from_owners(struct coh_event *e, const struct emu_line *below, emu_time t)
{
	struct nvw_machine *const m = e->m;
	const uint32_t to = emu_network_cu_node(m, e->cu->id), bank = coh_bank_node(m, e->id);
	emu_time last = t;
	struct emu_cu *owner;

	while ((owner = coh_registry_owner(m, below, e->bytes & ~e->line->valid))) {
		const struct emu_line *const line = emu_cache_peek(&owner->l1, e->id);
		const uint32_t node = emu_network_cu_node(m, owner->id);
		const uint64_t got = coh_registry_owned(below, owner) & ~e->line->valid;
		emu_time at = emu_network_send(m, bank, node, 0, EMU_MESSAGE_READ, t);

		at = coh_l1_port(m, owner, emu_later(at, line->granted), m->config.l1.occupancy) +
		     m->config.l1.probe;
		at = emu_network_send(m, node, to, (uint32_t)__builtin_popcountll(got), EMU_MESSAGE_READ, at);
		emu_copy_masked(e->line->data, line->data, got);
		e->line->valid |= got;
		m->stats.l1_remote_reads++;
		last = emu_later(last, at);
	}
	return last;
}

static void fetch_from_l2(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	const uint32_t cu = emu_network_cu_node(m, e->cu->id), bank = coh_bank_node(m, e->id);
	struct emu_line *below;
	emu_time remote;

	e->t = emu_network_send(m, cu, bank, 0, EMU_MESSAGE_READ, e->t);
	e->t = coh_l2_access(m, e->id, m->config.l2.occupancy, e->t);
	below = coh_l2_obtain_by(m, e->cu, e->id, m->protocol->registration ? 0 : UINT64_MAX, &e->t);
	if (m->protocol->registration && (e->bytes & ~(e->line->valid | below->registered))) {
		coh_l2_obtain(m, e->id, UINT64_MAX,
			&e->t); /* if all comes from other L1s, nobody waits for the rest */
	}
	coh_sharer_add(below, e->cu);
	emu_copy_masked(e->line->data, below->data, below->valid & ~e->line->valid);
	e->line->valid |= below->valid;
	remote = fetch_from_owners(e, below, e->t);
	e->t = remote > e->t ? remote : emu_network_send(m, bank, cu, EMU_LINE, EMU_MESSAGE_READ, e->t);
}

static void fetch_from_memory(struct coh_event *e)
{
	struct emu_line *const line = e->line;

	if (line->valid | line->registered) {
		uint8_t data[EMU_LINE];

		e->t = emu_memory_read(e->m, e->id, data, e->t);
		emu_copy_masked(line->data, data, ~(line->valid | line->registered));
	} else {
		e->t = emu_memory_read(e->m, e->id, line->data, e->t);
	}
	line->valid = ~line->registered;
}

void coh_line_fetch(struct coh_event *e)
{
	if (e->cu) {
		fetch_from_l2(e);
	} else {
		fetch_from_memory(e);
	}
}

static void count_l1_write_back(struct nvw_machine *m, enum coh_reason reason)
{
	uint64_t *const by_reason[] = {
		[COH_BY_ACCESS] = &m->stats.l1_flush_release,
		[COH_BY_RELEASE] = &m->stats.l1_flush_release,
		[COH_BY_SFIFO] = &m->stats.l1_flush_sfifo,
		[COH_BY_EVICT] = &m->stats.l1_flush_evict,
		[COH_BY_PERSIST] = &m->stats.l1_flush_persist,
		[COH_BY_ATOMIC] = &m->stats.l1_flush_atomic,
		[COH_BY_RECALL] = &m->stats.l1_recalls,
		[COH_BY_REVOKE] = &m->stats.l1_flush_revoke,
	};

	++*by_reason[reason];
}

void coh_merge_into_l2(struct nvw_machine *m, struct emu_line *below, struct emu_line *line)
{
	const uint64_t bytes = line->dirty | line->registered;

	emu_copy_masked(below->data, line->data, bytes);
	below->valid |= bytes;
	below->dirty |= line->dirty;
	below->registered &= ~bytes;
	line->dirty = line->registered = 0;
	record_move(m, below, line);
}

static void write_back_to_l2(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *const line = e->line;
	struct emu_line *below;
	enum coh_l2_event event;
	uint64_t bytes;
	emu_time t;

	if (e->reason != COH_BY_PERSIST && !m->recalling) {
		/* An eviction first evicts what must persist before it (gope18 6.1). */
		e->t = persist_evict_earlier(m, e->cu, line, e->t);
	}
	if (line->registered) {
		coh_settle_nvram(e);
	}
	bytes = line->dirty | line->registered;
	if (!bytes) {
		return;
	}
	count_l1_write_back(m, e->reason);
	m->stats.l2_writes++;
	t = emu_network_send(m, emu_network_cu_node(m, e->cu->id), coh_bank_node(m, e->id),
		(uint32_t)__builtin_popcountll(bytes), EMU_MESSAGE_WRITE, e->t);
	t = coh_l2_access(m, e->id, m->config.l2.occupancy, t) - m->config.l2.latency;
	below = coh_registry_claim(m, e->cu, e->id, bytes, 0, &t);
	persist_merge(m, below, e->id, line, &t);
	if (m->protocol->inclusive && line->valid) {
		coh_sharer_add(below, e->cu);
	}
	event = line->registered ? COH_L2_RETURN : COH_L2_WRITE;
	coh_merge_into_l2(m, below, line);
	coh_l2_event_by(m, e->cu, below, e->id, event, e->reason, t);
	coh_dirtied_l2(m, e->id, &t);
	e->t = emu_later(e->t, t);
}

static void write_back_to_memory(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	uint64_t *const by_reason[] = {
		[COH_BY_ACCESS] = &m->stats.l2_writeback_release,
		[COH_BY_RELEASE] = &m->stats.l2_writeback_release,
		[COH_BY_SFIFO] = &m->stats.l2_writeback_sfifo,
		[COH_BY_EVICT] = &m->stats.l2_writeback_evict,
		[COH_BY_PERSIST] = &m->stats.l2_writeback_persist,
		[COH_BY_ATOMIC] = &m->stats.l2_writeback_release,
		[COH_BY_RECALL] = &m->stats.l2_writeback_evict,
		[COH_BY_REVOKE] = &m->stats.l2_writeback_release,
	};

	++*by_reason[e->reason];
	e->t = emu_memory_write(m, e->id, e->line, e->t);
}

void coh_line_write_back(struct coh_event *e)
{
	if (e->cu && (e->line->dirty | e->line->registered)) {
		write_back_to_l2(e);
	} else if (e->line->dirty) {
		write_back_to_memory(e);
	}
}

void coh_line_note_dirty(struct coh_event *e)
{
	if (!e->line->in_sfifo) {
		e->line->in_sfifo = true;
		emu_fifo_push(e->cu ? &e->cu->sfifo : &e->m->l2.sfifo, e->id);
	}
}

void coh_line_drop_clean(struct coh_event *e)
{
	e->line->valid = e->line->dirty;
}

void coh_line_drop_unregistered(struct coh_event *e)
{
	e->line->valid &= e->line->dirty | e->line->registered | e->line->read_only;
}

/* A request that takes the line is a flush of the table (alsop16 Table 3), even if nothing waits. */
void coh_line_flush_cache(struct coh_event *e)
{
	if (length(&e->cu->sfifo) || e->reason == COH_BY_REVOKE) {
		e->t = coh_flush_whole_l1(e->m, e->cu, &e->m->stats.flushes_atomic_out, e->t);
	}
}

void coh_line_drop(struct coh_event *e)
{
	if (e->cu && e->m->protocol->inclusive && e->reason != COH_BY_RECALL) {
		struct emu_line *const below = emu_cache_peek(&e->m->l2.cache, e->id);

		if (below) {
			coh_sharer_remove(below, e->cu);
		}
	}
	emu_cache_assign(e->cu ? &e->cu->l1 : &e->m->l2.cache, e->line, EMU_NO_LINE);
}

/*
 * One L1 gives the line up to the L2, which is about to replace it. The bytes go straight into the L2's
 * line: it keeps its place until the last L1 has answered.
 */
static emu_time recall_from(
	struct nvw_machine *m, struct emu_cu *cu, struct emu_line *below, emu_line_id id, emu_time t)
{
	const uint32_t bank = coh_bank_node(m, id), node = emu_network_cu_node(m, cu->id);
	struct emu_line *const line = emu_cache_peek(&cu->l1, id);

	if (!line || !(m->protocol->inclusive || line->registered)) {
		return t;
	}
	m->stats.l1_recalls++;
	m->stats.sync_evictions += flushes_loser(m, line);
	if (line->dirty && !m->recalling && m->config.l2.ways > 1) {
		/* As in write_back_to_l2(); what the L2 replaces meanwhile is taken as it is. */
		m->recalling = true;
		persist_evict_earlier(m, cu, line, t);
		m->recalling = false;
	}
	t = emu_network_send(m, bank, node, 0, EMU_MESSAGE_CONTROL, t);
	t = coh_l1_port(m, cu, t, m->config.l1.occupancy) + m->config.l1.latency;
	t = emu_network_send(m, node, bank, (uint32_t)__builtin_popcountll(line->dirty | line->registered),
		EMU_MESSAGE_CONTROL, t);
	if (line->dirty && m->protocol->inclusive) {
		persist_merge(m, below, id, line, &t);
		coh_merge_into_l2(m, below, line);
	}
	coh_l1_event_on(m, cu, line, id, COH_L1_RECALL, COH_BY_RECALL, UINT64_MAX, t);
	return t;
}

void coh_line_recall(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	const bool was_recalling = m->recalling;
	emu_time last = e->t;

	/* What registered bytes wait for under buffered epochs, the buffer knows; sending it ahead would need room again. */
	m->recalling = was_recalling || m->protocol->registration;
	for (unsigned word = 0; word < EMU_CUS_MAX / 64; word++) {
		for (uint64_t rest = e->line->sharers[word]; rest; rest &= rest - 1) {
			const unsigned cu = 64 * word + (unsigned)__builtin_ctzll(rest);

			last = emu_later(last, recall_from(m, &m->cus[cu], e->line, e->id, e->t));
		}
	}
	m->recalling = was_recalling;
	e->t = last;
}

/* ---- FIFOs --------------------------------------------------------------------------------- */

emu_time coh_drain_l1(struct nvw_machine *m, struct emu_cu *cu, struct emu_fifo *fifo, uint32_t keep,
	enum coh_reason reason, emu_time t)
{
	const enum coh_l1_event event = reason == COH_BY_PERSIST ? COH_L1_PERSIST : COH_L1_FLUSH;
	emu_time last = t;
	emu_line_id id;

	while (length(fifo) > keep && emu_fifo_pop(fifo, &id)) {
		struct emu_line *const line = emu_cache_peek(&cu->l1, id);

		if (!line) {
			continue;
		}
		if (fifo == &cu->sfifo) {
			line->in_sfifo = false;
		}
		if (line->dirty) {
			t = coh_l1_port(m, cu, t, m->config.l1.occupancy) + m->config.l1.occupancy;
			last = emu_later(last, coh_l1_event(m, cu, line, id, event, reason, t));
		} else {
			/* An atomic that stored nothing: the line waits for nothing, and the next store queues up again. */
			coh_l1_event(m, cu, line, id, event, reason, t);
		}
	}
	return last;
}

emu_time coh_flush_whole_l1(struct nvw_machine *m, struct emu_cu *cu, uint64_t *cause, emu_time t)
{
	++*cause;
	return coh_drain_l1(m, cu, &cu->sfifo, 0, COH_BY_RELEASE, t);
}

emu_time coh_drain_l2(
	struct nvw_machine *m, struct emu_fifo *fifo, uint32_t keep, enum coh_reason reason, emu_time t)
{
	emu_time last = t;
	emu_line_id id;

	while (length(fifo) > keep && emu_fifo_pop(fifo, &id)) {
		struct emu_line *const line = emu_cache_peek(&m->l2.cache, id);

		if (!line) {
			continue;
		}
		if (fifo == &m->l2.sfifo) {
			line->in_sfifo = false;
		}
		if (line->dirty) {
			const emu_time start =
				coh_l2_access(m, id, m->config.l2.occupancy, t) - m->config.l2.latency;

			last = emu_later(last, coh_l2_event(m, line, id, COH_L2_FLUSH, reason, start));
		} else {
			coh_l2_event(m, line, id, COH_L2_FLUSH, reason, t); /* as in an L1 */
		}
	}
	return last;
}

static bool has_nvw_fifo(const struct nvw_machine *m, emu_line_id id)
{
	return emu_is_persistent(m, id) && m->config.domain != EMU_DOMAIN_eadr;
}

void coh_dirtied_l1(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time *t)
{
	if (m->config.l1.sfifo_unit == EMU_UNIT_words) {
		count_buffered(cu, emu_cache_peek(&cu->l1, id));
	}
	while (length(&cu->sfifo) > cu->sfifo.capacity ||
		(cu->buffered > cu->sfifo.capacity && length(&cu->sfifo))) {
		*t = coh_drain_l1(m, cu, &cu->sfifo, length(&cu->sfifo) - 1, COH_BY_SFIFO, *t);
	}
	if (has_nvw_fifo(m, id)) {
		m->stats.nvw_pushes_l1++;
		emu_fifo_push(&cu->nvw_fifo, id);
		if (length(&cu->nvw_fifo) > cu->nvw_fifo.capacity) {
			m->stats.nvw_overflows_l1++;
			*t = coh_drain_l1(m, cu, &cu->nvw_fifo, cu->nvw_fifo.capacity, COH_BY_PERSIST, *t);
		}
	}
}

void coh_dirtied_l2(struct nvw_machine *m, emu_line_id id, emu_time *t)
{
	struct emu_l2 *const l2 = &m->l2;

	if (length(&l2->sfifo) > l2->sfifo.capacity) {
		*t = coh_drain_l2(m, &l2->sfifo, l2->sfifo.capacity, COH_BY_SFIFO, *t);
	}
	if (has_nvw_fifo(m, id)) {
		m->stats.nvw_pushes_l2++;
		emu_fifo_push(&l2->nvw_fifo, id);
		if (length(&l2->nvw_fifo) > l2->nvw_fifo.capacity) {
			m->stats.nvw_overflows_l2++;
			*t = coh_drain_l2(m, &l2->nvw_fifo, l2->nvw_fifo.capacity, COH_BY_PERSIST, *t);
		}
	}
}

emu_time coh_flush_nvram(struct nvw_machine *m, emu_time t)
{
	emu_time last = t;

	for (unsigned i = 0; i < m->config.cus; i++) {
		struct emu_cu *const cu = &m->cus[i];

		for (uint32_t k = 0; k < cu->l1.sets * cu->l1.ways; k++) {
			struct emu_line *const line = &cu->l1.lines[k];

			if (line->dirty && emu_is_persistent(m, cu->l1.tags[k])) {
				last = emu_later(last, coh_l1_event(m, cu, line, cu->l1.tags[k],
							       COH_L1_PERSIST, COH_BY_PERSIST, t));
			}
		}
	}
	for (uint32_t k = 0; k < m->l2.cache.sets * m->l2.cache.ways; k++) {
		struct emu_line *const line = &m->l2.cache.lines[k];

		if (line->dirty && emu_is_persistent(m, m->l2.cache.tags[k])) {
			last = emu_later(last, coh_l2_event(m, line, m->l2.cache.tags[k], COH_L2_FLUSH,
						       COH_BY_PERSIST, last));
		}
	}
	return last;
}

/* ---- Invariants that protocols share ----------------------------------------------------------------------- */

const char *coh_broken_dirty(const struct nvw_machine *m, emu_line_id id, unsigned dirty)
{
	const struct emu_line *const below = emu_cache_peek(&m->l2.cache, id);

	if (below && (below->dirty & ~below->valid)) {
		return "a dirty byte of the L2 is not valid";
	}
	if (below && below->dirty && below->state != dirty) {
		return "a dirty line of the L2 is not in its dirty state";
	}
	for (unsigned i = 0; i < m->config.cus; i++) {
		const struct emu_line *const line = emu_cache_peek(&m->cus[i].l1, id);

		if (line && (line->dirty & ~line->valid)) {
			return "a dirty byte of an L1 is not valid";
		}
		if (line && line->dirty && line->state != dirty) {
			return "a dirty line of an L1 is not in its dirty state";
		}
	}
	return NULL;
}
