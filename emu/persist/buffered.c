/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered epoch persistency: the alternative implementation of gope18 6.1 (after BPFS). A barrier does not
 * wait; it only begins an epoch.
 *
 * Every dirty line of NVRAM carries a *tag*: the epochs, in their wavefront, work-group and kernel, of the
 * stores that made it dirty. (The wavefront represents its work-items: its barriers order a little more than
 * equation 1 requires.) A store of another epoch or wavefront may not mix with them; the older bytes leave
 * first (a conflict). Write-backs of the L2 enter a buffer and go to the NVRAM:
 *
 *	(1) after all buffered write-backs of the same bytes (coherence order);
 *	(2) when the earlier epochs of their three streams are over: no work-item can store in them any
 *	    more, and all their stores are durable (equations 1 to 3).
 *
 * Acknowledgements wait in the same way. Before a line leaves an L1, that L1's lines of earlier epochs leave
 * it (gope18 6.1: an eviction first triggers evictions of the blocks that must persist before it). The buffer
 * is volatile.
 *
 * The buffer holds persist.buffer lines. A wavefront whose instruction finds it full stalls until there is
 * room, and the lines that the buffer waits for are evicted from all caches. The stall also ends when no
 * write is in flight: the remaining entries then wait for work-items that have not reached their barrier, and
 * this model does not wait for that. Such lines stay blocked in the caches, whatever their number.
 *
 * Work-items that race across a kernel-wide persist barrier, without meeting, can require an order that
 * contradicts coherence order; the run then ends with a report.
 */
#include <stdlib.h>

#include "../memory/device_memory.h"
#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/rows.h"

#include "../protocol/protocol.h"
#include "../observe/record.h"
#include "persist.h"

enum { WAVEFRONT, GROUP, KERNEL, STREAMS };

/* One epoch of a stream. */
struct epoch {
	uint32_t inside; /* members that can still store in it */
	uint32_t tags;   /* tags of bytes that are not durable */
};

/* A wavefront, a work-group or the kernel, with the progress of its members through the epochs. */
struct stream {
	struct epoch *epochs;
	uint32_t count;   /* of epochs */
	uint32_t current; /* the first that is not over */
	uint32_t waiting; /* entries that wait for a later epoch */
	unsigned kind;    /* WAVEFRONT ... */
};

/* Shared by the lines that one wavefront made dirty in one epoch. */
struct tag {
	uint32_t stream[STREAMS], epoch[STREAMS];
	uint32_t carriers; /* dirty lines, entries and writes in flight with this tag */
	uint32_t users;    /* carriers, and a wavefront that may use it again */
};

/* A write-back that waits in the buffer; with an empty mask, an acknowledgement. */
struct entry {
	emu_line_id line;
	uint32_t tag, stores;
	uint32_t next;  /* in the list that it waits in */
	uint32_t older; /* the next in its hash chain, which begins with the newest */
	bool behind;    /* it waits for an older write-back of its line */
	uint64_t mask;
	struct record_ack ack;
	uint8_t data[EMU_LINE];
};

struct buffer {
	struct nvw_rows streams, tags, entries;
	uint32_t held;    /* write-backs in the buffer */
	uint64_t carried; /* dirty lines, write-backs in the buffer and writes in flight that have a tag */
	uint32_t kernel;
	bool refused;       /* a write-back has found the buffer full since the last instruction */
	bool advanced;      /* a stream has advanced since the caches were last searched */
	emu_time last_sent; /* when the controller accepts the latest write from the buffer */
	struct stalled {
		struct emu_wavefront *wf;
		emu_time since;
	} * stalled; /* wavefronts that wait for room, in order of arrival */
	uint32_t stalled_first, stalled_last;
	uint32_t *newest; /* chains of write-backs in the buffer, by hash of their line */
};

enum { HASH_BITS = 12 };

static struct buffer *buffer_of(const struct nvw_machine *m)
{
	return m->persist_data;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static struct stream *stream_at(const struct nvw_machine *m, uint32_t i)
{
	return nvw_row(&buffer_of(m)->streams, i);
}

static struct tag *tag_at(const struct nvw_machine *m, uint32_t i)
{
	return nvw_row(&buffer_of(m)->tags, i);
}

static struct entry *entry_at(const struct nvw_machine *m, uint32_t i)
{
	return nvw_row(&buffer_of(m)->entries, i);
}

static uint32_t row_take(struct nvw_machine *m, struct nvw_rows *rows)
{
	const uint32_t i = nvw_rows_take(rows);

	if (!i) {
		m->error = nvw_fail(
			NVW_E_MEMORY, "no memory for more than %u rows of buffered epochs", rows->count);
	}
	return i;
}

static uint32_t new_stream(struct nvw_machine *m, unsigned kind, uint32_t members)
{
	const uint32_t i = row_take(m, &buffer_of(m)->streams);
	struct stream *const s = stream_at(m, i);
	NVW_INVARIANT(kind < STREAMS);

	s->epochs = calloc(2, sizeof *s->epochs);
	if (!s->epochs) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for epochs");
		return 0;
	}
	s->count = 2;
	s->kind = kind;
	s->epochs[0].inside = members;
	return i;
}

static struct epoch *epoch_of(struct nvw_machine *m, uint32_t stream, uint32_t epoch)
{
	struct stream *const s = stream_at(m, stream);

	if (!NVW_ROOM(s->epochs, s->count, epoch + 1)) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for more than %u epochs", s->count);
		return s->epochs;
	}
	return &s->epochs[epoch];
}

/* ---- Tags ---------------------------------------------------------------------------------- */

static uint32_t wavefront_stream(struct nvw_machine *m, struct emu_wavefront *wf)
{
	if (!wf->persist_stream) {
		wf->persist_stream = new_stream(m, WAVEFRONT, 1);
		if (wf->persist_epoch) {
			epoch_of(m, wf->persist_stream, 0)->inside = 0;
			epoch_of(m, wf->persist_stream, wf->persist_epoch)->inside = 1;
			stream_at(m, wf->persist_stream)->current = wf->persist_epoch;
		}
	}
	return wf->persist_stream;
}

static uint32_t group_stream(struct nvw_machine *m, struct emu_group *group)
{
	if (!group->persist_stream) {
		group->persist_stream = new_stream(m, GROUP, group->size);
	}
	return group->persist_stream;
}

static void unuse(struct nvw_machine *m, uint32_t tag)
{
	NVW_DEEP_INVARIANT(tag == 0 || tag_at(m, tag)->users > 0);
	if (tag && --tag_at(m, tag)->users == 0) {
		nvw_rows_give(&buffer_of(m)->tags, tag);
	}
}

/* The tag of the lane's current store. */
static uint32_t tag_of(struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane)
{
	NVW_DEEP_INVARIANT(lane < NVW_COUNT(wf->epoch_kr));

	struct buffer *const b = buffer_of(m);
	const struct tag want = {
		.stream = {wavefront_stream(m, wf), group_stream(m, wf->group), b->kernel},
		.epoch = {wf->persist_epoch, wf->epoch_wg[lane], wf->epoch_kr[lane]},
	};
	uint32_t i = wf->persist_tag;

	if (i && !memcmp(tag_at(m, i)->stream, want.stream, sizeof want.stream) &&
		!memcmp(tag_at(m, i)->epoch, want.epoch, sizeof want.epoch)) {
		return i;
	}
	unuse(m, wf->persist_tag);
	i = row_take(m, &b->tags);
	*tag_at(m, i) = want;
	tag_at(m, i)->users = 1;
	wf->persist_tag = i;
	return i;
}

static void carry(struct nvw_machine *m, uint32_t tag)
{
	struct tag *const t = tag_at(m, tag);

	buffer_of(m)->carried++;
	t->users++;
	if (t->carriers++ == 0) {
		NVW_FOR(k, STREAMS) {
			epoch_of(m, t->stream[k], t->epoch[k])->tags++;
		}
	}
}

static void advance(struct nvw_machine *m, uint32_t stream);

static void uncarry(struct nvw_machine *m, uint32_t tag)
{
	const struct tag t = *tag_at(m, tag);

	buffer_of(m)->carried--;
	if (--tag_at(m, tag)->carriers == 0) {
		NVW_FOR(k, STREAMS) {
			epoch_of(m, t.stream[k], t.epoch[k])->tags--;
		}
	}
	unuse(m, tag);
	if (t.carriers == 1) {
		NVW_EACH(stream, t.stream, STREAMS) {
			advance(m, *stream);
		}
	}
}

/* ---- The buffer ---------------------------------------------------------------------------- */

static uint32_t *newest_of(const struct nvw_machine *m, emu_line_id id)
{
	return &buffer_of(m)->newest[(id * 0x9e3779b1u) >> (32 - HASH_BITS)];
}

/* The stream that a write-back with this tag waits for, 0 if there is none: rule (2). */
static uint32_t blocked_by(const struct nvw_machine *m, const struct tag *t)
{
	NVW_FOR(k, STREAMS) {
		if (stream_at(m, t->stream[k])->current < t->epoch[k]) {
			return t->stream[k];
		}
	}
	return 0;
}

static void wait_for(struct nvw_machine *m, uint32_t stream, uint32_t entry)
{
	entry_at(m, entry)->next = stream_at(m, stream)->waiting;
	stream_at(m, stream)->waiting = entry;
}

static void acknowledge(struct nvw_machine *m, uint32_t i)
{
	const struct entry e = *entry_at(m, i);

	nvw_rows_give(&buffer_of(m)->entries, i);
	unuse(m, e.tag);
	persist_tell(m, &e.ack);
}

static void try_to_send(struct nvw_machine *m, uint32_t i);

/* Whether it overwrites bytes of an older write-back in the buffer: rule (1). */
static bool is_behind(const struct nvw_machine *m, uint32_t i)
{
	const struct entry *const e = entry_at(m, i);

	for (uint32_t k = e->older; k; k = entry_at(m, k)->older) {
		if (entry_at(m, k)->line == e->line && (entry_at(m, k)->mask & e->mask)) {
			return true;
		}
	}
	return false;
}

/* The oldest write-back of the line that is no longer behind another one, 0 if there is none. */
static uint32_t next_of_line(const struct nvw_machine *m, emu_line_id id)
{
	uint32_t found = 0;

	for (uint32_t i = *newest_of(m, id); i; i = entry_at(m, i)->older) {
		if (entry_at(m, i)->line == id && entry_at(m, i)->behind && !is_behind(m, i)) {
			found = i;
		}
	}
	return found;
}

static void unlink_entry(struct nvw_machine *m, uint32_t i)
{
	uint32_t *link = newest_of(m, entry_at(m, i)->line);

	while (*link != i) {
		link = &entry_at(m, *link)->older;
	}
	*link = entry_at(m, i)->older;
	buffer_of(m)->held--;
}

/* The entry arrives at the controller at t; returns when the controller has accepted it. */
static emu_time send(struct nvw_machine *m, uint32_t i, emu_time t)
{
	const struct entry e = *entry_at(m, i);
	uint32_t next;

	unlink_entry(m, i);
	nvw_rows_give(&buffer_of(m)->entries, i);
	t = emu_nvram_write(m, e.line, e.data, e.mask, e.stores, e.tag, t);
	buffer_of(m)->last_sent = emu_later(buffer_of(m)->last_sent, t);
	while ((next = next_of_line(m, e.line))) {
		entry_at(m, next)->behind = false;
		try_to_send(m, next);
	}
	return t;
}

/* The entry is not behind another of its line; sends it, or lets it wait for a stream. */
static void try_to_send(struct nvw_machine *m, uint32_t i)
{
	const uint32_t stream = blocked_by(m, tag_at(m, entry_at(m, i)->tag));

	if (stream) {
		wait_for(m, stream, i);
	} else if (entry_at(m, i)->mask) {
		send(m, i, m->now);
	} else {
		acknowledge(m, i);
	}
}

/* Retires the stream's completed epochs, and wakes the entries that waited for them. */
static void advance(struct nvw_machine *m, uint32_t stream)
{
	struct stream *s = stream_at(m, stream);
	const uint32_t before = s->current;
	uint32_t waiting, reversed = 0;

	while (s->current + 1 < s->count && !s->epochs[s->current].inside && !s->epochs[s->current].tags) {
		if (emu_is_watched(m)) {
			persist_watch_epoch(m, (enum nvw_group)s->kind, s->current);
		}
		s->current++;
	}
	if (s->current == before || !s->waiting) {
		return;
	}
	buffer_of(m)->advanced = true;
	/* First come, first served. */
	for (uint32_t i = s->waiting, next; i; i = next) {
		next = entry_at(m, i)->next;
		entry_at(m, i)->next = reversed;
		reversed = i;
	}
	s->waiting = 0;
	for (waiting = reversed; waiting;) {
		const uint32_t i = waiting;

		waiting = entry_at(m, i)->next;
		try_to_send(m, i);
	}
}

static emu_time write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, uint64_t mask,
	uint32_t stores, emu_time t)
{
	const uint32_t i = row_take(m, &buffer_of(m)->entries);
	struct entry *const e = entry_at(m, i);

	if (m->error) {
		return t;
	}
	*e = (struct entry){
		.line = id, .tag = line->tag, .stores = stores, .mask = mask, .older = *newest_of(m, id)};
	memcpy(e->data, line->data, EMU_LINE);
	line->tag = 0;
	*newest_of(m, id) = i;
	buffer_of(m)->held++;
	e->behind = is_behind(m, i);
	if (!e->behind && !blocked_by(m, tag_at(m, e->tag))) {
		return send(m, i, t);
	}
	if (!e->behind) {
		try_to_send(m, i);
	}
	buffer_of(m)->refused |= buffer_of(m)->held > m->config.buffer;
	return t;
}

/* ---- A full buffer ------------------------------------------------------------------------- */

/* Whether the buffer holds a write-back that must persist after this line. */
static bool is_waited_for(const struct nvw_machine *m, const struct emu_line *line)
{
	if (!line || !line->dirty || !line->tag) {
		return false;
	}
	NVW_FOR(k, STREAMS) {
		const struct tag *const t = tag_at(m, line->tag);
		const struct stream *const s = stream_at(m, t->stream[k]);

		if (s->waiting && s->current == t->epoch[k]) {
			return true;
		}
	}
	return false;
}

static void evict_from_l1(struct nvw_machine *m, struct emu_cu *cu)
{
	for (uint32_t i = cu->nvw_fifo.head; i != cu->nvw_fifo.tail && !m->error; i++) {
		const emu_line_id id = cu->nvw_fifo.ring[i & cu->nvw_fifo.mask];
		struct emu_line *const line = emu_cache_peek(cu->stores, id);

		if (is_waited_for(m, line)) {
			const emu_time t = coh_l1_look_up(m, cu, m->now);

			coh_l1_event(m, cu, line, id, COH_L1_PERSIST, COH_BY_PERSIST, t);
		}
	}
}

/* Evicts the lines that the buffer waits for (gope18 6.1); NVW-FIFOs tell which lines to examine. */
static void evict_what_goes_first(struct nvw_machine *m)
{
	const struct emu_fifo *const fifo = &m->l2.nvw_fifo;

	EMU_EACH_CU(cu, m) {
		evict_from_l1(m, cu);
	}
	for (uint32_t i = fifo->head; i != fifo->tail && !m->error; i++) {
		const emu_line_id id = fifo->ring[i & fifo->mask];
		struct emu_line *const line = emu_cache_peek(m->l2.stores, id);

		if (is_waited_for(m, line)) {
			const emu_time t = coh_l2_look_up(m, id, m->now);

			coh_l2_event(m, line, id, COH_L2_FLUSH, COH_BY_PERSIST, t - m->config.l2.latency);
		}
	}
}

static void wake_first(struct nvw_machine *m)
{
	struct buffer *const b = buffer_of(m);
	const struct stalled *const s = &b->stalled[b->stalled_first++ % m->exec.wavefront_count];
	const emu_time t = emu_later(m->now, emu_later(s->since, b->last_sent));

	m->stats.buffer_stall_ps += t - s->since;
	emu_wake(m, s->wf, t);
}

/* Wakes as many wavefronts as there is room for; retries when the device has completed another write. */
static void look_for_room(struct nvw_machine *m, void *unused)
{
	struct buffer *const b = buffer_of(m);

	if (b->advanced) {
		b->advanced = false;
		evict_what_goes_first(m);
		b->refused = false; /* not for an instruction */
	}
	for (uint64_t held = b->held;
		b->stalled_first != b->stalled_last && (held < m->config.buffer || !m->nvram.in_flight);
		held++) {
		wake_first(m);
	}
	if (b->stalled_first != b->stalled_last && !m->error) {
		emu_schedule(m, m->nvram.next_done, look_for_room, unused);
	}
}

static void stall(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t)
{
	struct buffer *const b = buffer_of(m);

	b->refused = false;
	m->stats.buffer_stalls++;
	b->stalled[b->stalled_last++ % m->exec.wavefront_count] = (struct stalled){wf, t};
	if (b->stalled_last - b->stalled_first == 1) {
		b->advanced = true;
		emu_schedule(m, m->now, look_for_room, NULL);
	}
}

static void wake(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t)
{
	if (buffer_of(m)->refused) {
		stall(m, wf, t);
	} else {
		emu_wake(m, wf, t);
	}
}

static void forward(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	uint64_t missing = UINT64_MAX;

	for (uint32_t i = *newest_of(m, id); i; i = entry_at(m, i)->older) {
		if (entry_at(m, i)->line == id) {
			emu_copy_masked(to, entry_at(m, i)->data, entry_at(m, i)->mask & missing);
			missing &= ~entry_at(m, i)->mask;
		}
	}
}

/* ---- Order of eviction --------------------------------------------------------------------- */

/* Whether the stores of a must persist before those of b (equations 1 to 3). */
static bool is_earlier(const struct tag *a, const struct tag *b)
{
	return NVW_ANY_BELOW(k, STREAMS, a->stream[k] == b->stream[k] && a->epoch[k] < b->epoch[k]);
}

static emu_time evict_earlier(struct nvw_machine *m, struct emu_cu *cu, uint32_t tag, emu_time t)
{
	const struct emu_fifo *const fifo = &cu->nvw_fifo;
	emu_time last = t;

	for (uint32_t i = fifo->head; tag && i != fifo->tail && !m->error; i++) {
		const emu_line_id id = fifo->ring[i & fifo->mask];
		struct emu_line *const line = emu_cache_peek(cu->stores, id);

		if (line && line->dirty && line->tag && is_earlier(tag_at(m, line->tag), tag_at(m, tag))) {
			t = coh_l1_look_up(m, cu, t) + m->config.l1.occupancy;
			last = emu_later(
				last, coh_l1_event(m, cu, line, id, COH_L1_PERSIST, COH_BY_PERSIST, t));
		}
	}
	return last;
}

/* ---- Stores -------------------------------------------------------------------------------- */

static void prepare(const struct coh_request *r, struct emu_cu *cu, emu_time *t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line;

	if (!emu_is_persistent(m, r->line)) {
		return;
	}
	if (!cu) {
		/* At the L2 the store must not overtake its CU's stores of earlier epochs. */
		*t = evict_earlier(m, emu_cu_of(r->wf), tag_of(m, r->wf, emu_first(r->lanes)), *t);
	}
	line = emu_cache_peek(cu ? cu->stores : m->l2.stores, r->line);
	if (line && line->dirty && line->tag != tag_of(m, r->wf, emu_first(r->lanes))) {
		m->stats.epoch_conflicts++;
		*t = cu ? coh_l1_event(m, cu, line, r->line, COH_L1_PERSIST, COH_BY_ACCESS, *t) :
			  coh_l2_event(m, line, r->line, COH_L2_FLUSH, COH_BY_PERSIST, *t);
	}
}

static void mark(const struct coh_request *r, struct emu_line *line)
{
	if (emu_is_persistent(r->m, r->line) && !line->tag) {
		line->tag = tag_of(r->m, r->wf, emu_first(r->lanes));
		carry(r->m, line->tag);
	}
}

static void settle(struct nvw_machine *m, struct emu_line *line)
{
	if (line->tag && !line->dirty) {
		const uint32_t tag = line->tag;

		line->tag = 0;
		uncarry(m, tag);
	}
}

static void split(struct nvw_machine *m, struct emu_line *line, emu_line_id id, emu_time *t)
{
	struct emu_line *const below = coh_l2_line(m, id);

	if (!line->dirty) {
		line->tag = 0;
	} else if (line->tag) {
		carry(m, line->tag);
	}
	if (below && below->dirty) {
		/* The L2's dirty bytes of this line may be of an earlier epoch: they leave first. */
		*t = coh_l2_event(m, below, id, COH_L2_FLUSH, COH_BY_PERSIST, *t);
	}
}

static void merge(
	struct nvw_machine *m, struct emu_line *below, emu_line_id id, struct emu_line *line, emu_time *t)
{
	const uint32_t tag = line->tag;

	line->tag = 0;
	if (!tag) {
		return;
	}
	if (below->dirty && below->tag == tag) {
		uncarry(m, tag); /* two carriers become one */
		return;
	}
	if (below->dirty) {
		m->stats.epoch_conflicts++;
		*t = coh_l2_event(m, below, id, COH_L2_FLUSH, COH_BY_PERSIST, *t);
	}
	below->tag = tag;
}

/* ---- Members move on ----------------------------------------------------------------------- */

static void move(struct nvw_machine *m, uint32_t stream, uint32_t from, bool out)
{
	epoch_of(m, stream, from)->inside--;
	if (!out) {
		epoch_of(m, stream, from + 1)->inside++;
	}
	advance(m, stream);
}

/* Wavefront instructions are counted and logged at every scope, because work-items do not meet here. */
static void barrier(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group, emu_time t)
{
	const struct persist_barrier reached = {.what = persist_describe(wf, lanes, group), .arrived = t};

	persist_count(m, &reached.what);
	NVW_EACH_BIT(lane, lanes) {
		wf->epoch_wi[lane]++;
		if (group >= NVW_WORKGROUP) {
			move(m, group_stream(m, wf->group), wf->epoch_wg[lane]++, false);
		}
		if (group == NVW_KERNEL) {
			move(m, buffer_of(m)->kernel, wf->epoch_kr[lane]++, false);
		}
	}
	if (wf->persist_stream) {
		move(m, wf->persist_stream, wf->persist_epoch, false);
	}
	wf->persist_epoch++;
	if (emu_is_watched(m)) {
		persist_watch(m, &reached, false, t);
	}
	persist_run_on(m, wf, lanes, t);
}

static void returned(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes)
{
	NVW_EACH_BIT(lane, lanes) {
		move(m, group_stream(m, wf->group), wf->epoch_wg[lane], true);
		move(m, buffer_of(m)->kernel, wf->epoch_kr[lane], true);
	}
	if (!wf->live) {
		if (wf->persist_stream) {
			move(m, wf->persist_stream, wf->persist_epoch, true);
		}
		unuse(m, wf->persist_tag);
		wf->persist_tag = 0;
	}
}

static void acknowledge_in_turn(
	struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, const struct record_ack *ack)
{
	const uint32_t tag = tag_of(m, wf, lane), i = row_take(m, &buffer_of(m)->entries);

	if (m->error) {
		return;
	}
	tag_at(m, tag)->users++;
	entry_at(m, i)->tag = tag;
	entry_at(m, i)->ack = *ack;
	try_to_send(m, i);
}

/* ---- Kernels ------------------------------------------------------------------------------- */

static void forget(struct buffer *b)
{
	for (uint32_t i = 1; i <= b->streams.count; i++) {
		free(((struct stream *)nvw_row(&b->streams, i))->epochs);
	}
	nvw_rows_reset(&b->streams);
	nvw_rows_reset(&b->tags);
	nvw_rows_reset(&b->entries);
	b->stalled_first = b->stalled_last = 0;
	b->refused = b->advanced = false;
	b->carried = 0;
}

static void launch(struct nvw_machine *m)
{
	assert(!buffer_of(m)->held);
	forget(buffer_of(m));
	buffer_of(m)->kernel = new_stream(m, KERNEL, (uint32_t)(m->exec.groups * m->exec.group_size));
}

/* A waiting write-back of a store, for the report of a contradiction. */
static void report_contradiction(struct nvw_machine *m)
{
	NVW_FOR(i, 1u << HASH_BITS) {
		const uint32_t held = buffer_of(m)->newest[i];

		if (held) {
			m->error = nvw_fail(NVW_E_KERNEL,
				"kernel %s: work-items race across a persist barrier of a scope in which "
				"they do not meet: "
				"the order that the barriers require contradicts the order of the stores "
				"to pool offset %#llx",
				m->exec.name, (unsigned long long)emu_line_off(m, entry_at(m, held)->line));
			return;
		}
	}
}

static void drain(struct nvw_machine *m)
{
	while (m->nvram.in_flight && !m->error) {
		m->now = emu_later(m->now, m->nvram.next_done);
		emu_nvram_complete(m, m->now);
	}
	/* Nothing is dirty and nothing in flight: a tag that is lost would look like a race. */
	NVW_INVARIANT(m->error || buffer_of(m)->carried == buffer_of(m)->held);
	if (buffer_of(m)->held && !m->error) {
		report_contradiction(m);
	}
}

static int init(struct nvw_machine *m)
{
	struct buffer *const b = calloc(1, sizeof *b);

	m->persist_data = b;
	if (b) {
		b->streams.row_bytes = sizeof(struct stream);
		b->tags.row_bytes = sizeof(struct tag);
		b->entries.row_bytes = sizeof(struct entry);
		b->newest = calloc(1u << HASH_BITS, sizeof *b->newest);
		b->stalled = calloc(m->exec.wavefront_count, sizeof *b->stalled);
	}
	if (b && b->newest && b->stalled) {
		return 0;
	}
	return nvw_fail(NVW_E_MEMORY, "no memory for buffered epochs");
}

static void finish(struct nvw_machine *m)
{
	struct buffer *const b = buffer_of(m);

	if (b) {
		forget(b);
		nvw_rows_finish(&b->streams);
		nvw_rows_finish(&b->tags);
		nvw_rows_finish(&b->entries);
		free(b->newest);
		free(b->stalled);
		free(b);
	}
}

/* ---- Stores of one instruction ------------------------------------------------------------- */

/* The lanes whose stores may share a line's dirty bytes: those in the same epochs as the first. */
static uint64_t together(const struct emu_wavefront *wf, uint64_t lanes)
{
	const unsigned first = emu_first(lanes);
	uint64_t same = 0;

	NVW_EACH_BIT(lane, lanes) {
		same |= (uint64_t)(wf->epoch_wg[lane] == wf->epoch_wg[first] &&
				   wf->epoch_kr[lane] == wf->epoch_kr[first])
			<< lane;
	}
	return same;
}

const struct persist_model persist_buffered = {
	.info = {.name = "buffered-epoch",
		.title = "gope18 6.1, alternative: a barrier only orders",
		.meets = false,
		.drains = true,
		.l2_ways = 2},
	.init = init,
	.finish = finish,
	.launch = launch,
	.together = together,
	.prepare = prepare,
	.mark = mark,
	.settle = settle,
	.evict_earlier = evict_earlier,
	.merge = merge,
	.split = split,
	.wake = wake,
	.barrier = barrier,
	.returned = returned,
	.acknowledge = acknowledge_in_turn,
	.write = write,
	.forward = forward,
	.done = uncarry,
	.drain = drain,
};
