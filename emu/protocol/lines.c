/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grids' actions on lines (those of registration are in registry.c, those on other L1s in sharers.c).
 *
 * Time: a line action advances event->t to the instant at which waiting requests can continue. The next level
 * accepts a write-back when its port (or its write queue) is free; the look-up there does not delay anything.
 *
 * Many events find nothing to do. What they would do is not inlined, so that they save no registers for it.
 */
#include "../memory/device_memory.h"
#include "core/each.h"
#include "core/invariant.h"
#include "leases.h"

#include "../persist/persist.h"
#include "../observe/record.h"

/* Fetches bytes of the event that other L1s have registered: each answers with its bytes of the line. */
static emu_time fetch_from_owners(struct coh_event *e, const struct emu_line *below, emu_time t)
{
	struct nvw_machine *const m = e->m;
	const uint32_t to = emu_network_cu_node(m, e->cu->id);
	emu_time last = t;
	struct emu_cu *owner;

	while ((owner = coh_registry_owner(m, below, e->bytes & ~e->line->valid))) {
		NVW_DEEP_INVARIANT(owner != e->cu);
		const struct emu_line *const line = coh_l1_line(owner, e->id);
		const uint32_t node = emu_network_cu_node(m, owner->id);
		const uint64_t got = coh_registry_owned(below, owner) & ~e->line->valid;
		emu_time at = coh_to_cu(m, owner, e->id, 0, EMU_MESSAGE_READ, t);

		at = coh_l1_look_up(m, owner, emu_later(at, line->granted)) + m->config.l1.probe;
		at = emu_network_send(m, node, to, emu_ones(got), EMU_MESSAGE_READ, at);
		emu_copy_masked(e->line->data, line->data, got);
		e->line->valid |= got;
		m->stats.l1_remote_reads++;
		last = emu_later(last, at);
	}
	return last;
}

/* Bytes of a request, and of its answer, besides the line's. */
static uint32_t timestamp(const struct nvw_machine *m)
{
	if (!m->protocol->leases) {
		return 0;
	}
	return LEASES_TIMESTAMP;
}

static __attribute__((noinline)) void fetch_from_l2(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *below;
	emu_time remote;

	e->t = coh_to_bank(m, e->cu, e->id, timestamp(m), EMU_MESSAGE_READ, e->t);
	e->t = coh_l2_look_up(m, e->id, e->t);
	below = coh_l2_obtain_by(m, e->cu, e->id, m->protocol->registration ? 0 : UINT64_MAX, &e->t);
	if (m->protocol->registration && (e->bytes & ~(e->line->valid | below->registered))) {
		coh_l2_obtain(m, e->id, UINT64_MAX,
			&e->t); /* if all bytes come from other L1s, the rest is not waited for */
	}
	if (!m->protocol->leases) {
		coh_sharer_add(below, e->cu);
	}
	emu_copy_masked(e->line->data, below->data, below->valid & ~e->line->valid);
	e->line->valid |= below->valid;
	remote = fetch_from_owners(e, below, e->t);
	if (remote > e->t) {
		e->t = remote;
	} else {
		e->t = coh_to_cu(m, e->cu, e->id, EMU_LINE + timestamp(m), EMU_MESSAGE_READ, e->t);
	}
}

static __attribute__((noinline)) void fetch_from_memory(struct coh_event *e)
{
	struct emu_line *const line = e->line;

	if (line->valid | line->registered) {
		uint8_t data[EMU_LINE];

		e->t = emu_l3_read(e->m, e->id, data, e->t);
		emu_copy_masked(line->data, data, ~(line->valid | line->registered));
	} else {
		e->t = emu_l3_read(e->m, e->id, line->data, e->t);
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
	static const size_t by_reason[] = {
#define X(name, l1, l2) offsetof(struct emu_stats, l1),
		COH_REASONS(X)
#undef X
	};

	NVW_DEEP_INVARIANT(reason < NVW_COUNT(by_reason));
	++*emu_counter(m, by_reason[reason]);
}

/* The L2 takes over the dirty and the registered bytes of an L1's line. */
static void merge_into_l2(
	struct nvw_machine *m, struct emu_line *below, emu_line_id id, struct emu_line *line)
{
	const uint64_t bytes = line->dirty | line->registered;

	persist_latest(m, id, line, line->dirty);
	emu_copy_masked(below->data, line->data, bytes);
	below->valid |= bytes;
	below->dirty |= line->dirty;
	below->registered &= ~bytes;
	line->dirty = line->registered = 0;
	record_move(m, below, line);
}

static __attribute__((noinline)) void write_back_to_l2(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *const line = e->line;
	struct emu_line *below;
	enum coh_l2_event event;
	uint64_t bytes;
	emu_time t;

	if (e->reason != COH_BY_PERSIST && !m->recalling) {
		/* An eviction first evicts the lines that must persist before it (gope18 6.1). */
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
	t = coh_to_bank(m, e->cu, e->id, emu_ones(bytes), EMU_MESSAGE_WRITE, e->t);
	t = coh_l2_look_up(m, e->id, t) - m->config.l2.latency;
	below = coh_registry_claim(m, e->cu, e->id, bytes, 0, &t);
	persist_merge(m, below, e->id, line, &t);
	if (m->protocol->inclusive && line->valid && !coh_has_directory(m)) {
		coh_sharer_add(below, e->cu);
	}
	event = line->registered ? COH_L2_RETURN : COH_L2_WRITE;
	merge_into_l2(m, below, e->id, line);
	t = coh_l2_event_by(m, e->cu, below, e->id, event, e->reason, t);
	e->cu->accepted = emu_later(e->cu->accepted, t);
	coh_l2_written_beside(m, e->id, t);
	coh_dirtied_l2(m, e->id, &t);
	e->t = emu_later(e->t, t);
	e->cu->taken = emu_later(e->cu->taken, e->t);
}

static __attribute__((noinline)) void write_back_to_memory(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	static const size_t by_reason[] = {
#define X(name, l1, l2) offsetof(struct emu_stats, l2),
		COH_REASONS(X)
#undef X
	};
	NVW_DEEP_INVARIANT(e->reason < NVW_COUNT(by_reason));

	++*emu_counter(m, by_reason[e->reason]);
	e->t = emu_l3_write(m, e->id, e->line, e->t);
	m->l2.taken = emu_later(m->l2.taken, e->t);
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

/* A request that takes the line is a flush in the table (alsop16 Table 3), even if nothing waits. */
void coh_line_flush_cache(struct coh_event *e)
{
	if (emu_fifo_length(&e->cu->sfifo) || e->reason == COH_BY_REVOKE) {
		e->t = coh_flush_whole_l1(e->m, e->cu, &e->m->stats.flushes_atomic_out, e->t);
	}
}

static struct emu_cache *cache_of(const struct coh_event *e)
{
	if (e->cu) {
		if (coh_is_apart_l1(e->cu) && emu_cache_has(&e->cu->write, e->line)) {
			return &e->cu->write;
		}
		return &e->cu->l1;
	}
	if (coh_has_directory(e->m) && emu_cache_has(&e->m->directory.cache, e->line)) {
		return &e->m->directory.cache;
	}
	if (coh_is_apart_l2(e->m) && emu_cache_has(&e->m->l2.write, e->line)) {
		return &e->m->l2.write;
	}
	return &e->m->l2.cache;
}

/*
 * An L2 that sends messages to a line's sharers learns of what has left an L1, in no time. To any other the
 * sharers are L1s that may have the line: a recall looks, in no time and without a message, and finds
 * nothing.
 */
void coh_line_drop(struct coh_event *e)
{
	if (e->cu && e->m->tells_sharers && e->reason != COH_BY_RECALL) {
		struct emu_line *const below = coh_entry(e->m, e->id);

		if (below) {
			coh_sharer_remove(below, e->cu);
		}
	}
	emu_cache_assign(cache_of(e), e->line, EMU_NO_LINE);
}

/* The line in an L1 that has to give it up, or NULL. */
static struct emu_line *to_recall(const struct nvw_machine *m, const struct emu_cu *cu, emu_line_id id)
{
	struct emu_line *const line = coh_l1_line(cu, id);

	if (line && (m->protocol->inclusive || line->registered)) {
		return line;
	}
	return NULL;
}

/*
 * One L1 gives the line up to the L2, which is about to replace it. The bytes go straight to the L2's line,
 * which keeps its place until the last L1 has answered.
 */
static __attribute__((noinline)) emu_time recall_from(struct nvw_machine *m, struct emu_cu *cu,
	struct emu_line *line, struct emu_line *below, emu_line_id id, emu_time t)
{
	const bool was_recalling = m->recalling;

	/* Under buffered epochs the buffer knows which stores the registered bytes wait for; sending them
	 * ahead would need room again. */
	m->recalling = was_recalling || m->protocol->registration;
	m->stats.l1_recalls++;
	m->stats.sync_evictions += coh_flushes_loser(m, line);
	if (line->dirty && !m->recalling && m->config.l2.ways > 1) {
		/* As in write_back_to_l2(); lines that the L2 replaces in the meantime are taken as they
		 * are. */
		m->recalling = true;
		persist_evict_earlier(m, cu, line, t);
		m->recalling = false;
	}
	t = coh_to_cu(m, cu, id, 0, EMU_MESSAGE_CONTROL, t);
	t = coh_l1_look_up(m, cu, t) + m->config.l1.latency;
	t = coh_to_bank(m, cu, id, emu_ones(line->dirty | line->registered), EMU_MESSAGE_CONTROL, t);
	if (line->dirty && m->protocol->inclusive) {
		persist_merge(m, below, id, line, &t);
		merge_into_l2(m, below, id, line);
		/* The state is that of a line with dirty bytes: those of the next L1 may have to wait until
		 * these have left. */
		below->state = m->protocol->l2[below->state * COH_L2_EVENT_COUNT + COH_L2_WRITE].next;
	}
	coh_l1_event_on(m, cu, line, id, COH_L1_RECALL, COH_BY_RECALL, UINT64_MAX, t);
	m->recalling = was_recalling;
	return t;
}

void coh_line_recall(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	emu_time last = e->t;
	NVW_DEEP_INVARIANT(!e->cu);

	if (coh_has_directory(m) && emu_cache_has(&m->directory.cache, e->line)) {
		coh_recall_entry(e);
		return;
	}
	if (!coh_has_sharers(e->line)) {
		return;
	}
	for (unsigned word = 0; word <= (m->config.cus - 1) / 64; word++) {
		NVW_EACH_BIT(number, e->line->sharers[word]) {
			struct emu_cu *const cu = &m->cus[64 * word + number];
			struct emu_line *const line = to_recall(m, cu, e->id);

			if (line) {
				last = emu_later(last, recall_from(m, cu, line, e->line, e->id, e->t));
			}
		}
	}
	e->t = last;
}
