/* SPDX-License-Identifier: BSD-3-Clause */
/* See store_buffer.h. Everything here happens only on machines with store_buffer.entries > 0. */
#include "core/each.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "store_buffer.h"

#include <stdlib.h>

#include "../protocol/protocol.h"

static struct emu_store_buffer *buffer_of(const struct nvw_machine *m, const struct emu_wavefront *wf)
{
	NVW_DEEP_INVARIANT(wf >= m->exec.wavefronts && wf < m->exec.wavefronts + m->exec.wavefront_count);
	return &m->store_buffers[wf - m->exec.wavefronts];
}

/* ---- Stores leave -------------------------------------------------------------------------- */

static void leave(struct nvw_machine *m, void *what)
{
	struct emu_stored *const e = what;
	struct coh_request r = {.m = m,
		.cu = emu_cu_of(e->buffer->wf),
		.wf = e->buffer->wf,
		.lanes = e->lanes,
		.bytes = e->bytes,
		.line = e->line,
		.kind = NVW__STORE,
		.size = e->size,
		.rows = coh_rows_of(m, NVW__STORE, NVW_RELAXED, NVW_SCOPE_WORKITEM),
		.stored = e};
	emu_time done;

	NVW_DEEP_INVARIANT(e->is_leaving && e->is_of_event);
	e->is_of_event = false;
	emu_stored_swap(e);
	done = coh_execute(&r, m->now);
	emu_stored_swap(e);
	if (done != COH_NOT_YET && !m->error) {
		emu_stored_done(m, e, done);
	}
}

static bool may_leave(const struct nvw_machine *m, const struct emu_stored *e)
{
	for (const struct emu_stored *older = e->buffer->oldest; older != e; older = older->younger) {
		if (m->config.store_buffer.order == EMU_STORES_fifo ||
			(older->line == e->line && older->bytes & e->bytes)) {
			return false;
		}
	}
	return !e->is_leaving;
}

static void let_leave(struct nvw_machine *m, struct emu_stored *e, emu_time t)
{
	if (may_leave(m, e)) {
		e->is_leaving = e->is_of_event = true;
		emu_schedule_open(m, t, leave, e);
	}
}

static void take_out(struct emu_store_buffer *b, const struct emu_stored *e)
{
	struct emu_stored **place = &b->oldest;

	NVW_DEEP_INVARIANT(b->count > 0);
	while (*place != e) {
		place = &(*place)->younger;
	}
	*place = e->younger;
	if (!*place) {
		b->end = place;
	}
	b->count--;
}

/* ---- Loads of buffered bytes --------------------------------------------------------------- */

struct look_up {
	bool is_found; /* the youngest store has all bytes: */
	uint64_t value;
	bool overlaps; /* some store has some of them, and no younger one has all */
};

static void look_at_store(struct look_up *found, const struct emu_saved_request *store, unsigned store_size,
	uint64_t address, unsigned size)
{
	NVW_DEEP_INVARIANT(size <= 8 && store_size <= 8);
	if (address >= store->address && address + size <= store->address + store_size) {
		const uint64_t value = store->value >> 8 * (address - store->address);

		*found = (struct look_up){.is_found = true, .value = value & nvw_low_bits(8 * size)};
	} else if (address < store->address + store_size && store->address < address + size) {
		*found = (struct look_up){.overlaps = true};
	}
}

/* The lane's own stores to bytes at the address, the oldest first. */
static struct look_up look_up(const struct emu_store_buffer *b, const struct coh_request *r, unsigned lane)
{
	NVW_DEEP_INVARIANT(lane < EMU_LANES);

	struct look_up found = {0};

	for (const struct emu_stored *e = b->oldest; e; e = e->younger) {
		if (e->line == r->line && e->lanes >> lane & 1) {
			look_at_store(&found, &e->lane[lane].request, e->size, r->wf->requests.address[lane],
				r->size);
		}
	}
	return found;
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static emu_time put_off(const struct coh_request *r, enum emu_cause cause, emu_time t,
	emu_time (*resume)(struct coh_request *, emu_time, emu_time))
{
	struct emu_store_buffer *const b = buffer_of(r->m, r->wf);
	struct coh_wait **end = &b->waiting;
	struct coh_request late = *r;
	struct coh_wait *w;

	late.steps = NULL;
	late.resume = resume;
	w = coh_put_off(&late, cause, t);
	if (!w) {
		return t;
	}
	while (*end) {
		end = &(*end)->next;
	}
	*end = w;
	return COH_NOT_YET;
}

/* A delayed request is executed as if it had just been issued. */
static emu_time begin(struct coh_request *r, emu_time waited, emu_time t)
{
	return coh_execute(r, t);
}

/* Whether the buffer has a store to some of the bytes of a lane, but not all; any: or to all of them. */
static bool has_stores_of(const struct emu_store_buffer *b, const struct coh_request *r, bool any)
{
	NVW_EACH_BIT(lane, r->lanes) {
		const struct look_up found = look_up(b, r, lane);

		if (found.overlaps || (found.is_found && any)) {
			return true;
		}
	}
	return false;
}

static bool is_ready(const struct nvw_machine *m, const struct emu_store_buffer *b, const struct coh_wait *w)
{
	if (w->cause == EMU_CAUSE_room) {
		return b->count < m->config.store_buffer.entries;
	}
	if (w->cause == EMU_CAUSE_overlap) {
		return !has_stores_of(b, &w->request, true);
	}
	return !b->count;
}

static void wake_ready(struct nvw_machine *m, struct emu_store_buffer *b)
{
	for (struct coh_wait **place = &b->waiting; *place;) {
		struct coh_wait *const w = *place;

		if (!is_ready(m, b, w)) {
			place = &w->next;
			continue;
		}
		*place = w->next;
		b->count += w->cause == EMU_CAUSE_room;
		coh_wake(m, w, m->now);
	}
	if (b->stalls && !b->count) {
		emu_count_wait(m, b->wf, b->stalls, EMU_CAUSE_drain, b->since, m->now);
		b->stalls = NULL;
		emu_wake(m, b->wf, m->now);
	}
}

/* A store is done. */
static void left(struct nvw_machine *m, void *what)
{
	struct emu_stored *const e = what;
	struct emu_store_buffer *const b = e->buffer;

	NVW_DEEP_INVARIANT(e->is_leaving);
	take_out(b, e);
	free(e);
	for (struct emu_stored *next = b->oldest; next; next = next->younger) {
		let_leave(m, next, m->now);
	}
	wake_ready(m, b);
}

bool emu_store_buffer_holds(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	NVW_DEEP_INVARIANT(lanes != 0);

	struct emu_store_buffer *const b = buffer_of(m, wf);

	if (!b->count) {
		return false;
	}
	wf->posted |= lanes;
	b->stalls = wf->requests.site[__builtin_ctzll(lanes)];
	b->since = t;
	return true;
}

bool emu_store_buffer_has_lines_of(
	const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	if (!m->store_buffers) {
		return false;
	}
	for (const struct emu_stored *e = buffer_of(m, wf)->oldest; e; e = e->younger) {
		NVW_EACH_BIT(lane, lanes & e->lanes) {
			if (wf->requests.address[lane] / EMU_LINE ==
				e->lane[lane].request.address / EMU_LINE) {
				return true;
			}
		}
	}
	return false;
}

/* ---- Requests ------------------------------------------------------------------------------ */

/* The store takes a place that has been counted already. */
static emu_time enter(struct coh_request *r, emu_time waited, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct emu_store_buffer *const b = buffer_of(m, r->wf);
	struct emu_stored *const e = calloc(1, sizeof *e + m->config.wavefront_width * sizeof *e->lane);

	if (!e) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for a store buffer");
		return t;
	}
	e->buffer = b;
	e->line = r->line;
	e->lanes = r->lanes;
	e->bytes = r->bytes;
	e->size = r->size;
	NVW_EACH_BIT(lane, r->lanes) {
		e->lane[lane].request = emu_request_save(r->wf, lane);
		e->lane[lane].epoch_wi = r->wf->epoch_wi[lane];
		e->lane[lane].epoch_wg = r->wf->epoch_wg[lane];
		e->lane[lane].epoch_kr = r->wf->epoch_kr[lane];
	}
	*b->end = e;
	b->end = &e->younger;
	m->stats.buffered_stores++;
	let_leave(m, e, t);
	return t;
}

static emu_time store_into(const struct coh_request *r, emu_time t)
{
	struct emu_store_buffer *const b = buffer_of(r->m, r->wf);
	struct coh_request request = *r;

	if (b->count == r->m->config.store_buffer.entries) {
		return put_off(r, EMU_CAUSE_room, t, enter);
	}
	b->count++;
	return enter(&request, 0, t);
}

/* Gives the lanes the values of their own stores; returns the other lanes. */
static uint64_t forward(const struct emu_store_buffer *b, const struct coh_request *r)
{
	uint64_t others = 0;

	NVW_EACH_BIT(lane, r->lanes) {
		const struct look_up found = look_up(b, r, lane);

		if (found.is_found) {
			r->wf->requests.value[lane] = found.value;
			r->m->stats.buffer_forwards++;
		} else {
			others |= UINT64_C(1) << lane;
		}
	}
	return others;
}

static emu_time load_past(const struct coh_request *r, emu_time t, uint64_t *late)
{
	const struct emu_store_buffer *const b = buffer_of(r->m, r->wf);
	struct coh_request others = *r;

	if (b->count && r->m->config.store_buffer.loads == EMU_LOADS_wait) {
		return put_off(r, EMU_CAUSE_drain, t, begin);
	}
	if (has_stores_of(b, r, r->m->config.store_buffer.loads == EMU_LOADS_pass)) {
		return put_off(r, EMU_CAUSE_overlap, t, begin);
	}
	others.lanes = *late = forward(b, r);
	if (!others.lanes) {
		return t;
	}
	return coh_execute(&others, t);
}

emu_time emu_store_buffer_access(const struct coh_request *r, emu_time t, uint64_t *late)
{
	NVW_DEEP_INVARIANT(r->lanes != 0 && r->bytes != 0);

	struct coh_request request = *r;

	*late = r->lanes;
	if (r->kind == NVW__STORE) {
		return store_into(r, t);
	}
	if (!buffer_of(r->m, r->wf)->count) {
		return coh_execute(&request, t);
	}
	if (coh_is_atomic(r)) {
		return put_off(r, EMU_CAUSE_drain, t, begin);
	}
	return load_past(r, t, late);
}

/* ---- A machine's life ---------------------------------------------------------------------- */

int emu_store_buffers_init(struct nvw_machine *m)
{
	if (!m->config.store_buffer.entries) {
		return 0;
	}
	m->store_buffers = calloc(m->exec.wavefront_count, sizeof *m->store_buffers);
	NVW_ALLOCATED(m->store_buffers, "no memory for %u store buffers", m->exec.wavefront_count);
	NVW_FOR(i, m->exec.wavefront_count) {
		struct emu_store_buffer *const b = &m->store_buffers[i];

		b->wf = &m->exec.wavefronts[i];
		b->end = &b->oldest;
		b->left = left;
	}
	return 0;
}

static void forget_buffered(struct emu_store_buffer *b)
{
	while (b->oldest) {
		struct emu_stored *const e = b->oldest;

		b->oldest = e->younger;
		if (!e->is_of_event) {
			free(e);
		}
	}
	b->end = &b->oldest;
	b->count = 0;
	b->waiting = NULL;
	b->stalls = NULL;
}

void emu_store_buffers_forget(struct nvw_machine *m)
{
	for (uint32_t i = 0; m->store_buffers && i < m->exec.wavefront_count; i++) {
		forget_buffered(&m->store_buffers[i]);
	}
}

void emu_store_buffers_finish(struct nvw_machine *m)
{
	free(m->store_buffers);
}
