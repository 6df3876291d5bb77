/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule of the undo log. See undo.h.
 *
 * The functions of nvw/epoch.h and nvw/heap.h tell what a work-item does with an epoch. A stream is known by
 * the address of its word in the epoch status table. What an epoch may store to, words that it has logged or
 * need not log and blocks that it has allocated, has a mark in one table: the stream, and the turn that it
 * was in. A stream's next turn makes its marks void, so that nothing has to be taken out.
 *
 * A stream that has never logged a word, nor emptied its log, does without one, and is not looked at.
 */
#include "undo.h"

#include <stdio.h>
#include <stdlib.h>

#include <nvw/epoch.h>
#include <nvw/random.h>

#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/search.h"
#include "../memory/device_memory.h"
#include "names.h"

enum { MARKS_MIN = 1 << 10, BLOCK = 64 };

struct undo_stream {
	uint32_t turn; /* epochs that have ended */
	uint32_t log;  /* times that its log was emptied */
	bool uses_log;
};

struct mark {
	uint64_t key; /* key_of_word(), key_of_line(), key_of_stream(); 0: none */
	uint32_t stream, turn, log;
};

/* What is kept for a work-item of the running kernel. */
struct member {
	uint64_t kernel; /* the one in which it was set */
	const struct nvw_site *begun;
	uint32_t stream;
};

struct emu_undo {
	struct undo_stream *streams;
	uint64_t stream_room;
	uint32_t stream_count;
	struct mark *marks;
	uint64_t mark_mask, mark_count;
	struct member *members; /* by global number */
	uint64_t member_room;
	struct emu_undo_report report;
};

static void out_of_memory(struct nvw_machine *m)
{
	if (!m->error) {
		m->error =
			nvw_fail(NVW_E_MEMORY, "no memory to check the undo log of kernel %s", m->exec.name);
	}
}

/* ---- Marks --------------------------------------------------------------------------------------- */

static uint64_t key_of_word(uint64_t address)
{
	return address | 1;
}

static uint64_t key_of_line(uint64_t address)
{
	return address | 2;
}

/* A stream's, by its word in the table: it is never void. */
static uint64_t key_of_stream(uint64_t status)
{
	return status | 4;
}

static struct mark *mark_slot(const struct emu_undo *u, uint64_t key)
{
	NVW_DEEP_INVARIANT(key != 0 && u->mark_count <= u->mark_mask);

	return &u->marks[NVW_PROBE(
		i, nvw_mix64(key), u->mark_mask + 1, u->marks[i].key == 0 || u->marks[i].key == key)];
}

static bool grow(struct emu_undo *u)
{
	struct mark *const old = u->marks;
	const uint64_t count = !old ? 0 : u->mark_mask + 1;
	const uint64_t room = count == 0 ? MARKS_MIN : 2 * count;
	struct mark *const marks = calloc(room, sizeof *marks);

	if (!marks) {
		return false;
	}
	u->marks = marks;
	u->mark_mask = room - 1;
	NVW_EACH(one, old, count) {
		if (one->key != 0) {
			*mark_slot(u, one->key) = *one;
		}
	}
	free(old);
	return true;
}

static void put_mark(struct nvw_machine *m, uint64_t key, uint32_t stream)
{
	NVW_DEEP_INVARIANT(stream < m->undo->stream_count);

	struct emu_undo *const u = m->undo;
	const struct undo_stream *const s = &u->streams[stream];

	if (2 * u->mark_count > u->mark_mask && !grow(u)) {
		out_of_memory(m);
		return;
	}
	struct mark *const mark = mark_slot(u, key);

	u->mark_count += mark->key == 0;
	*mark = (struct mark){key, stream, s->turn, s->log};
}

static void mark_words(struct nvw_machine *m, uint32_t stream, uint64_t address, uint64_t bytes)
{
	for (uint64_t at = (address & ~UINT64_C(7)); at < address + bytes; at += 8) {
		put_mark(m, key_of_word(at), stream);
	}
}

static void mark_block(struct nvw_machine *m, uint32_t stream, uint64_t address, uint64_t bytes)
{
	NVW_DEEP_INVARIANT(address % BLOCK == 0);
	for (uint64_t at = address; at < address + bytes; at += BLOCK) {
		put_mark(m, key_of_line(at), stream);
	}
}

/* Any stream's: whose entry it is, recovery does not ask. */
static bool is_marked(const struct emu_undo *u, uint64_t word)
{
	NVW_DEEP_INVARIANT(word % 8 == 0);

	const struct mark *const w = mark_slot(u, key_of_word(word));
	const struct mark *const line = mark_slot(u, key_of_line(word & ~(uint64_t)(BLOCK - 1)));

	return (w->key != 0 && w->turn == u->streams[w->stream].turn &&
		       w->log == u->streams[w->stream].log) ||
	       (line->key != 0 && line->turn == u->streams[line->stream].turn);
}

/* ---- What epochs tell ---------------------------------------------------------------------------- */

static bool find_stream(struct nvw_machine *m, uint64_t status, uint32_t *ret_stream)
{
	struct emu_undo *const u = m->undo;
	const struct mark *const known = mark_slot(u, key_of_stream(status));

	*ret_stream = known->stream;
	if (known->key != 0) {
		return true;
	}
	if (!NVW_ROOM(u->streams, u->stream_room, u->stream_count + UINT64_C(1))) {
		out_of_memory(m);
		return false;
	}
	*ret_stream = u->stream_count++;
	put_mark(m, key_of_stream(status), *ret_stream);
	return true;
}

static bool is_in_epoch(const struct nvw_machine *m, uint64_t item)
{
	const struct emu_undo *const u = m->undo;

	return item < u->member_room && u->members[item].kernel == m->exec.number &&
	       u->streams[u->members[item].stream].uses_log;
}

/* Finds the stream of the running work-item. */
static bool find_own_stream(const struct nvw_machine *m, uint32_t *ret_stream)
{
	const uint64_t id = nvw_global_id();

	if (!is_in_epoch(m, id)) {
		return false;
	}
	*ret_stream = m->undo->members[id].stream;
	return true;
}

static void join(struct nvw_machine *m, uint32_t stream, const struct nvw_site *site)
{
	NVW_DEEP_INVARIANT(stream < m->undo->stream_count);

	struct emu_undo *const u = m->undo;
	const uint64_t id = nvw_global_id();

	if (!NVW_ROOM(u->members, u->member_room, id + 1)) {
		out_of_memory(m);
		return;
	}
	u->members[id] = (struct member){m->exec.number, site, stream};
}

void nvw__epoch_tell(const struct nvw__epoch_told *told)
{
	struct nvw_machine *const m = emu_now.machine;

	if (!m || !m->undo || m->error) {
		return;
	}
	const uint64_t address = (uint64_t)(uintptr_t)told->at;
	uint32_t stream = 0;

	if (!told->status ? !find_own_stream(m, &stream) :
			    !find_stream(m, (uint64_t)(uintptr_t)told->status, &stream)) {
		return;
	}
	struct undo_stream *const s = &m->undo->streams[stream];

	switch (told->what) {
	case NVW__EPOCH_JOINED:
		join(m, stream, told->site);
		break;
	case NVW__EPOCH_EMPTIED:
		s->uses_log = true;
		s->log++;
		break;
	case NVW__EPOCH_LOGGED:
		s->uses_log = true;
		mark_words(m, stream, address, told->bytes);
		break;
	case NVW__EPOCH_SPARED:
		mark_words(m, stream, address, told->bytes);
		break;
	case NVW__EPOCH_ALLOCATED:
		mark_block(m, stream, address, told->bytes);
		break;
	case NVW__EPOCH_COMPLETED:
		s->turn++;
		break;
	}
}

/* ---- Instructions -------------------------------------------------------------------------------- */

static struct emu_unlogged *place_for(
	struct emu_undo_report *r, const struct nvw_site *store, const struct nvw_site *begun)
{
	NVW_EACH(one, r->store, r->count) {
		if (one->store == store && one->begun == begun) {
			return one;
		}
	}
	if (r->count == EMU_UNLOGGED_MAX) {
		return NULL;
	}
	r->store[r->count] = (struct emu_unlogged){.store = store, .begun = begun};
	return &r->store[r->count++];
}

static void report_word(struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane,
	emu_line_id line, unsigned offset)
{
	NVW_DEEP_INVARIANT(wf->first_global + lane < m->undo->member_room);

	const struct nvw__request *const request = emu_request(wf, lane);
	struct emu_undo_report *const r = &m->undo->report;
	const uint64_t item = wf->first_global + lane;
	struct emu_unlogged *const x = place_for(r, request->site, m->undo->members[item].begun);

	r->unlogged++;
	if (!x) {
		r->unlisted++;
		return;
	}
	if (x->count++ == 0) {
		x->kind = emu_kind_names[request->op & 0xff];
		x->offset = emu_line_off(m, line) + offset;
		x->bytes = 1u << (request->op >> 8 & 0xff);
		x->work_item = item;
		x->group = wf->group->id;
		snprintf(x->kernel, sizeof x->kernel, "%s", m->exec.name);
	}
}

/* An access of up to 8 bytes that is not aligned has a part in two words. */
static bool is_logged(const struct emu_undo *u, uint64_t address, unsigned bytes)
{
	for (uint64_t word = address & ~UINT64_C(7); word < address + bytes; word += 8) {
		if (!is_marked(u, word)) {
			return false;
		}
	}
	return true;
}

static void look_at_lane(struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane)
{
	const struct nvw__request *const request = emu_request(wf, lane);
	const unsigned bytes = 1u << (request->op >> 8 & 0xff);
	emu_line_id line = EMU_NO_LINE;
	unsigned offset = 0;

	if (!is_in_epoch(m, wf->first_global + lane) ||
		!emu_locate(m, request->address, bytes, &line, &offset) || !emu_device_of(m, line)->pool) {
		return;
	}
	m->undo->report.stores++;
	if (!is_logged(m->undo, request->address, bytes)) {
		report_word(m, wf, lane, line, offset);
	}
}

static void look_at_lanes(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	NVW_EACH_BIT(lane, lanes) {
		look_at_lane(m, wf, lane);
	}
}

void emu_undo_issue(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	NVW_DEEP_INVARIANT(lanes != 0);

	const struct nvw__request *const request = emu_request(wf, emu_first(lanes));
	const unsigned kind = request->op & 0xff;
	const bool is_fence = kind == NVW__ATOMIC_STORE && request->compare != 0;

	if (kind == NVW__LOAD || kind == NVW__LOAD_READ_ONLY || kind == NVW__ATOMIC_LOAD ||
		kind == NVW__COMPARE_EXCHANGE || is_fence) {
		return;
	}
	look_at_lanes(m, wf, lanes);
}

static bool has_exchanged(const struct nvw__request *request)
{
	const unsigned bits = 8u << (request->op >> 8 & 0xff);

	return ((request->value ^ request->compare) << (64 - bits)) == 0;
}

void emu_undo_served(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	NVW_DEEP_INVARIANT(lanes != 0);
	if ((emu_request(wf, emu_first(lanes))->op & 0xff) != NVW__COMPARE_EXCHANGE) {
		return;
	}
	NVW_EACH_BIT(lane, lanes) {
		if (has_exchanged(emu_request(wf, lane))) {
			look_at_lane(m, wf, lane);
		}
	}
}

/* ---- A check's life ------------------------------------------------------------------------------ */

int emu_check_undo(struct nvw_machine *m)
{
	struct emu_undo *const u = calloc(1, sizeof *u);

	assert(m->exec.number == 0 && !m->undo);
	m->undo = u;
	NVW_FAIL_IF(!u || !grow(u), NVW_E_MEMORY, "no memory to check the undo log");
	return 0;
}

const struct emu_undo_report *emu_undo(const struct nvw_machine *m)
{
	if (!m->undo) {
		return NULL;
	}
	return &m->undo->report;
}

void emu_undo_finish(struct nvw_machine *m)
{
	if (!m->undo) {
		return;
	}
	free(m->undo->streams);
	free(m->undo->marks);
	free(m->undo->members);
	free(m->undo);
	m->undo = NULL;
}
