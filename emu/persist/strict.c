/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict persistency as hardware (gope18 2.2, 8.1): stores persist in the order in which they become visible.
 *
 * Every store to NVRAM, lane by lane, is also written through to the memory controller and waits there in one
 * queue for the whole machine. The device has one of them at a time: a store is durable before the next one
 * is sent. A wavefront stalls until all stores of its instruction are durable, so at a persist barrier the
 * work-items only have to meet. Data that leaves the L2 is durable or in the queue already, and is not
 * written again.
 */
#include <stdlib.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "../memory/device_memory.h"
#include "../protocol/protocol.h"
#include "persist.h"

/* A store that is not durable yet. */
struct store {
	emu_line_id line;
	uint64_t mask;
	uint32_t stores; /* its record */
	uint32_t wavefront;
	uint32_t cu;
	emu_time at; /* when it arrives at the controller; UINT64_MAX: its instruction is not complete */
	uint8_t data[EMU_LINE];
};

/* A wavefront that has such stores. */
struct waiting {
	uint32_t stores;
	uint32_t from; /* in the queue: all stores of the current instruction are at or after this */
	bool is_under_way;
	bool stalls;
	emu_time since;
};

struct strict {
	struct store *queue;           /* a ring */
	bool is_busy;                  /* the first is at the device */
	uint32_t first, end, capacity; /* a power of two */
	struct waiting *waiting;       /* by wavefront */
};

enum { QUEUE_MIN = 1024 };

static struct strict *strict_of(const struct nvw_machine *m)
{
	return m->persist_data;
}

static struct store *store_at(const struct strict *s, uint32_t i)
{
	NVW_DEEP_INVARIANT((s->capacity & (s->capacity - 1)) == 0);
	return &s->queue[i & (s->capacity - 1)];
}

/* ---- The queue ----------------------------------------------------------------------------- */

static int grow(struct strict *s)
{
	const uint32_t capacity = NVW_OR(2 * s->capacity, QUEUE_MIN);
	struct store *const grown = malloc(capacity * sizeof *grown);

	NVW_INVARIANT(s->end - s->first == s->capacity);
	NVW_ALLOCATED(grown, "no memory for %u stores that are not durable", capacity);
	for (uint32_t i = s->first; i != s->end; i++) {
		grown[i & (capacity - 1)] = *store_at(s, i);
	}
	free(s->queue);
	s->queue = grown;
	s->capacity = capacity;
	return 0;
}

/* Waits until the engine's time reaches the write's completion. */
static void complete(struct nvw_machine *m, void *unused)
{
}

static void send_first(struct nvw_machine *m)
{
	struct strict *const s = strict_of(m);
	const struct store *const store = store_at(s, s->first);

	if (s->first != s->end && !s->is_busy && store->at != UINT64_MAX) {
		s->is_busy = true;
		emu_nvram_write(m, store->line, store->data, store->mask, store->stores, 1,
			emu_later(m->now, store->at));
		emu_schedule(m, emu_nvram_settled_at(m), complete, NULL);
	}
}

static void done(struct nvw_machine *m, uint32_t tag)
{
	struct strict *const s = strict_of(m);
	const uint32_t wavefront = store_at(s, s->first++)->wavefront;
	struct waiting *const w = &s->waiting[wavefront];
	NVW_DEEP_INVARIANT(s->is_busy && w->stores > 0);

	s->is_busy = false;
	if (--w->stores == 0 && w->stalls) {
		const emu_time t = emu_later(m->now, w->since);

		w->stalls = false;
		m->stats.store_stall_ps += t - w->since;
		emu_wake(m, &m->exec.wavefronts[wavefront], t);
	}
	send_first(m);
}

/* ---- Stores -------------------------------------------------------------------------------- */

/* Takes the record of a store, which has travelled with the line so far. */
static uint32_t take_record(struct nvw_machine *m, struct emu_line *line, uint64_t mask)
{
	struct emu_line taken = {0};

	if (line->stores) {
		record_split(m, &taken, line, mask);
	}
	return taken.stores;
}

static void stored(const struct coh_request *r, unsigned lane, struct emu_line *line, unsigned offset)
{
	struct nvw_machine *const m = r->m;
	struct strict *const s = strict_of(m);
	const uint64_t mask = ((UINT64_C(1) << r->size) - 1) << offset;
	const uint32_t wavefront = (uint32_t)(r->wf - m->exec.wavefronts);
	struct waiting *w;
	struct store *store;
	NVW_DEEP_INVARIANT(r->size > 0 && offset + r->size <= EMU_LINE);

	if (s->end - s->first == s->capacity) {
		const int error = grow(s);

		if (error) {
			m->error = error;
			return;
		}
	}
	w = &s->waiting[wavefront];
	if (!w->is_under_way) {
		w->from = s->end;
	}
	w->is_under_way = true;
	w->stores++;
	store = store_at(s, s->end++);
	*store = (struct store){.line = r->line,
		.mask = mask,
		.stores = take_record(m, line, mask),
		.wavefront = wavefront,
		.cu = r->cu->id,
		.at = UINT64_MAX};
	memcpy(store->data + offset, line->data + offset, r->size);
}

/* When the store is through the network to the L2's bank, and through the bank. */
static emu_time arrival(struct nvw_machine *m, const struct store *store, emu_time t)
{
	NVW_DEEP_INVARIANT(store->at == UINT64_MAX);
	t = coh_to_bank(m, &m->cus[store->cu], store->line, emu_ones(store->mask), EMU_MESSAGE_WRITE, t);
	return coh_l2_look_up(m, store->line, t);
}

/* The instruction completes at t: its stores leave the CU. */
static void let_go(struct nvw_machine *m, uint32_t wavefront, emu_time t)
{
	struct strict *const s = strict_of(m);
	struct waiting *const w = &s->waiting[wavefront];
	NVW_DEEP_INVARIANT(w->is_under_way);

	for (uint32_t i = w->from; i != s->end; i++) {
		struct store *const store = store_at(s, i);

		if (store->wavefront == wavefront) {
			store->at = arrival(m, store, t);
		}
	}
	w->is_under_way = false;
	send_first(m);
}

static void wake(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t)
{
	const uint32_t wavefront = (uint32_t)(wf - m->exec.wavefronts);
	struct waiting *const w = &strict_of(m)->waiting[wavefront];

	if (w->is_under_way) {
		let_go(m, wavefront, t);
	}
	if (w->stores) {
		w->stalls = true;
		w->since = t;
	} else {
		emu_wake(m, wf, t);
	}
}

static emu_time write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, uint64_t mask,
	uint32_t stores, emu_time t)
{
	return t;
}

static void forward(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	const struct strict *const s = strict_of(m);

	for (uint32_t i = s->first; i != s->end; i++) {
		const struct store *const store = store_at(s, i);

		if (store->line == id) {
			emu_copy_masked(to, store->data, store->mask);
		}
	}
}

/* ---- A machine's life ---------------------------------------------------------------------- */

static int init(struct nvw_machine *m)
{
	struct strict *const s = calloc(1, sizeof *s);

	m->persist_data = s;
	if (s) {
		s->waiting = calloc(m->exec.wavefront_count, sizeof *s->waiting);
	}
	if (s && s->waiting) {
		return grow(s);
	}
	return nvw_fail(NVW_E_MEMORY, "no memory for strict persistency");
}

static void finish(struct nvw_machine *m)
{
	struct strict *const s = strict_of(m);

	if (s) {
		free(s->queue);
		free(s->waiting);
		free(s);
	}
}

const struct persist_model persist_strict = {
	.info = {.name = "strict",
		.title = "gope18 2.2: each store is durable before the next one",
		.meets = true},
	.init = init,
	.finish = finish,
	.stored = stored,
	.wake = wake,
	.arrived = persist_release_at_once,
	.write = write,
	.forward = forward,
	.done = done,
};
