/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Actions of instructions, named as in the papers.
 */
#include "core/each.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "../memory/device_memory.h"
#include "protocol.h"

#include "../persist/persist.h"

/* ---- At the L1 ----------------------------------------------------------------------------- */

static emu_time l1_port(const struct coh_request *r, emu_time t)
{
	return coh_l1_look_up(r->m, r->cu, t);
}

/* A line's registration may still be in flight: all work-items of its CU wait for it together. */
static emu_time wait_for_grant(const struct nvw_machine *m, const struct emu_line *line, emu_time t)
{
	if (!m->protocol->registration) {
		return t;
	}
	return emu_later(t, line->granted);
}

/* A store is about to change the line. */
static emu_time l1_write(const struct coh_request *r, struct emu_line *line, emu_time t)
{
	enum coh_l1_event event = COH_L1_STORE;
	NVW_DEEP_INVARIANT(r->bytes != 0);

	if (line->registered && !(r->bytes & ~line->registered)) {
		event = COH_L1_STORE_OWN;
		t = wait_for_grant(r->m, line, t);
	}
	return coh_l1_event_on(r->m, r->cu, line, r->line, event, COH_BY_ACCESS, r->bytes, t);
}

static emu_time hit_in_l1(const struct coh_request *r, struct emu_line *line, emu_time t)
{
	struct nvw_machine *const m = r->m;

	m->stats.l1_load_hits++;
	m->stats.l1_modified_hits += line->dirty != 0;
	t = coh_l1_event(m, r->cu, line, r->line, COH_L1_LOAD_HIT, COH_BY_ACCESS, wait_for_grant(m, line, t));
	m->stats.l1_read_only_hits += (line->read_only & r->bytes) == r->bytes;
	return t;
}

static struct emu_line *find_line(const struct coh_request *r, struct emu_cache *cache)
{
	return r->is_looked_up ? r->found : coh_l1_find(r->m, r->cu, cache, r->line);
}

/* The bytes are not in the read cache: the write cache has all of them and hits, or writes back its part of
 * the line. */
static struct emu_line *look_in_write_cache(const struct coh_request *r, emu_time *t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *const line = emu_cache_find(&r->cu->write, r->line);
	NVW_DEEP_INVARIANT(coh_is_apart_l1(r->cu));

	*t += m->config.l1.tag;
	if (line && !(r->bytes & ~line->dirty)) {
		m->stats.l1_write_hits++;
		*t = hit_in_l1(r, line, *t);
		return line;
	}
	if (line && line->dirty) {
		*t = coh_l1_event(m, r->cu, line, r->line, COH_L1_READ_BESIDE, COH_BY_READ, *t);
	}
	return NULL;
}

/* The line with the bytes of the request, fetched if need be. A miss has looked at the tags only. */
static struct emu_line *l1_read(const struct coh_request *r, emu_time *t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line = find_line(r, &r->cu->l1);

	if (line && coh_hits(m, r->cu, line, r->bytes)) {
		*t = hit_in_l1(r, line, *t);
		return line;
	}
	*t -= m->l1_spared;
	if (coh_is_apart_l1(r->cu)) {
		line = look_in_write_cache(r, t);
		if (line) {
			*t += m->l1_spared;
			return line;
		}
		line = coh_l1_find(m, r->cu, &r->cu->l1, r->line);
	}
	m->stats.l1_load_misses++;
	line = NVW_OR(line, coh_l1_replace(m, r->cu, &r->cu->l1, r->line, t));
	*t = coh_l1_event_on(m, r->cu, line, r->line, COH_L1_LOAD_MISS, COH_BY_ACCESS, r->bytes, *t);
	return line;
}

/* A line that has been read, as one that may be stored into: the write cache's, with the bytes that were
 * read. */
static struct emu_line *l1_writable(const struct coh_request *r, struct emu_line *read, emu_time *t)
{
	struct emu_line *line;

	if (!coh_is_apart_l1(r->cu) || emu_cache_has(&r->cu->write, read)) {
		return read;
	}
	line = coh_l1_obtain(r->m, r->cu, r->cu->stores, r->line, t);
	emu_copy_masked(line->data, read->data, r->bytes & ~line->dirty);
	return line;
}

static emu_time ld_l1(const struct coh_request *r, emu_time t)
{
	NVW_DEEP_INVARIANT(r->lanes != 0 && r->bytes != 0);

	struct emu_line *line;

	t = l1_port(r, t) + r->m->config.l1.latency;
	line = l1_read(r, &t);
	coh_lanes_load(r, line);
	if (r->kind == NVW__LOAD_READ_ONLY && r->m->protocol->keeps_read_only) {
		line->read_only |= r->bytes & ~(line->dirty | line->registered);
	}
	return t;
}

static emu_time st_l1(const struct coh_request *r, emu_time t)
{
	NVW_DEEP_INVARIANT(r->lanes != 0 && r->bytes != 0);

	struct nvw_machine *const m = r->m;
	struct emu_line *line;

	t = l1_port(r, t) + m->config.l1.occupancy;
	m->stats.l1_stores++;
	persist_prepare(r, r->cu, &t);
	line = find_line(r, r->cu->stores);
	if (!line) {
		line = coh_l1_replace(m, r->cu, r->cu->stores, r->line, &t);
		coh_l2_include(m, r->cu, r->line, t);
	}
	persist_mark(r, line);
	t = l1_write(r, line, t);
	coh_lanes_store(r, line);
	t = coh_l1_written_beside(m, r->cu, r->line, t);
	coh_dirtied_l1(m, r->cu, r->line, &t);
	return t;
}

/* The same for an instruction that is going to write it: a directory is asked for the right to write at
 * once. */
static struct emu_line *l1_own(const struct coh_request *r, emu_time *t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *const line = coh_l1_obtain(m, r->cu, &r->cu->l1, r->line, t);
	NVW_DEEP_INVARIANT(m->protocol->directory);

	++*(coh_hits(m, r->cu, line, r->bytes) ? &m->stats.l1_load_hits : &m->stats.l1_load_misses);
	m->stats.l1_modified_hits += line->dirty && coh_hits(m, r->cu, line, r->bytes);
	*t = coh_l1_event_on(m, r->cu, line, r->line, COH_L1_REGISTER, COH_BY_ATOMIC, r->bytes, *t);
	return line;
}

static emu_time rmw_l1(const struct coh_request *r, emu_time t)
{
	NVW_DEEP_INVARIANT(coh_is_atomic(r));

	struct nvw_machine *const m = r->m;
	struct emu_line *line;

	if (coh_is_locked_out(r)) {
		return coh_await_lock(r, t);
	}
	t = coh_l1_port(r->m, r->cu, emu_later(t, r->cu->rmw_free),
		    coh_lanes_serial(r) * m->config.l1.occupancy) +
	    m->config.l1.latency;
	m->stats.l1_atomics++;
	persist_prepare(r, r->cu, &t);
	if (m->protocol->directory) {
		line = l1_own(r, &t);
	} else {
		line = l1_writable(r, l1_read(r, &t), &t);
	}
	persist_mark(r, line);
	t = l1_write(r, line, t);
	coh_lanes_rmw(r, line);
	persist_settle(r->m, line);
	t = coh_l1_written_beside(m, r->cu, r->line, t);
	coh_dirtied_l1(m, r->cu, r->line, &t);
	if (r->again) {
		coh_passed_lock(m);
	}
	return t;
}

/* ---- At the L2 ----------------------------------------------------------------------------- */

static enum emu_message message_of(const struct coh_request *r)
{
	if (coh_is_atomic(r)) {
		return EMU_MESSAGE_ATOMIC;
	}
	if (r->kind == NVW__STORE) {
		return EMU_MESSAGE_WRITE;
	}
	return EMU_MESSAGE_READ;
}

static uint32_t touched(const struct coh_request *r)
{
	return emu_ones(r->bytes);
}

/* The local L1's copy leaves before an access at the L2: a work-item sees its own stores. */
static emu_time leave_l1(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line = NULL;

	if (coh_is_apart_l1(r->cu)) {
		line = coh_l1_find(m, r->cu, r->cu->stores, r->line);
	}
	if (line) {
		t = coh_l1_event(m, r->cu, line, r->line, COH_L1_EVICT, COH_BY_ATOMIC, t);
	}
	line = coh_l1_find(m, r->cu, &r->cu->l1, r->line);
	/* A line registered for other bytes stays in place: data next to an atomic (alsop16 III.C.1). */
	if (line && !(line->registered && !(line->registered & r->bytes))) {
		t = coh_l1_event(m, r->cu, line, r->line, COH_L1_EVICT, COH_BY_ATOMIC, t);
	}
	return t;
}

static bool is_load(const struct coh_request *r)
{
	return r->kind == NVW__LOAD || r->kind == NVW__LOAD_READ_ONLY || r->kind == NVW__ATOMIC_LOAD;
}

/* Read-modify-writes of the same bytes are served one by one. */
static emu_time bank_occupancy(const struct coh_request *r)
{
	if (!coh_is_atomic(r) || is_load(r) || r->kind == NVW__ATOMIC_STORE) {
		return r->m->config.l2.occupancy;
	}
	return coh_lanes_serial(r) * r->m->config.l2.occupancy;
}

emu_time coh_send_to_l2(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	NVW_DEEP_INVARIANT(!r->is_at_l2);

	t = leave_l1(r, l1_port(r, t) + m->config.l1.occupancy);
	m->stats.l2_atomics += coh_is_atomic(r);
	t = coh_to_bank(m, r->cu, r->line, is_load(r) ? 0 : touched(r), message_of(r), t);
	return coh_l2_access(m, r->line, bank_occupancy(r), t);
}

/* The request's path to the bank, if it is not there. */
static emu_time to_l2(const struct coh_request *r, emu_time t)
{
	if (r->is_at_l2) {
		return leave_l1(r, t);
	}
	return coh_send_to_l2(r, t);
}

static emu_time from_l2(const struct coh_request *r, uint32_t bytes, emu_time t)
{
	return coh_to_cu(r->m, r->cu, r->line, bytes, message_of(r), t);
}

static emu_time ld_l2(const struct coh_request *r, emu_time t)
{
	NVW_DEEP_INVARIANT(r->lanes != 0 && r->bytes != 0);
	t = to_l2(r, t);
	coh_lanes_load(r, coh_registry_claim(r->m, NULL, r->line, r->bytes, r->bytes, &t));
	return from_l2(r, touched(r), t);
}

/* Stores into the L2's line; the store records and the dirty bytes start there. */
static emu_time change_l2(const struct coh_request *r, struct emu_line *line,
	void (*change)(const struct coh_request *, struct emu_line *), emu_time t)
{
	struct nvw_machine *const m = r->m;

	persist_mark(r, line);
	change(r, line);
	persist_settle(r->m, line);
	t = coh_l2_event(m, line, r->line, coh_is_atomic(r) ? COH_L2_ATOMIC : COH_L2_WRITE, COH_BY_ATOMIC, t);
	t = coh_l2_written_beside(m, r->line, t);
	coh_dirtied_l2(m, r->line, &t);
	return t;
}

static emu_time st_l2(const struct coh_request *r, emu_time t)
{
	NVW_DEEP_INVARIANT(r->lanes != 0 && r->bytes != 0);

	struct emu_line *line;

	t = to_l2(r, t);
	persist_prepare(r, NULL, &t);
	line = coh_registry_claim(r->m, NULL, r->line, r->bytes, 0, &t);
	t = change_l2(r, line, coh_lanes_store, t);
	return from_l2(r, 0, t);
}

/* As l1_writable(). */
static struct emu_line *l2_writable(const struct coh_request *r, struct emu_line *read, emu_time *t)
{
	struct emu_line *line;

	if (!coh_is_apart_l2(r->m) || emu_cache_has(&r->m->l2.write, read)) {
		return read;
	}
	line = coh_l2_obtain(r->m, r->line, 0, t);
	emu_copy_masked(line->data, read->data, r->bytes & ~line->dirty);
	return line;
}

static emu_time rmw_l2(const struct coh_request *r, emu_time t)
{
	NVW_DEEP_INVARIANT(coh_is_atomic(r));

	struct emu_line *line;

	t = to_l2(r, t);
	persist_prepare(r, NULL, &t);
	line = coh_registry_claim(r->m, NULL, r->line, r->bytes, r->bytes, &t);
	t = change_l2(r, l2_writable(r, line, &t), coh_lanes_rmw, t);
	return from_l2(r, touched(r), t);
}

/* ---- Whole caches -------------------------------------------------------------------------- */

static uint64_t *flush_cause(const struct coh_request *r)
{
	if (coh_is_of_kernel(r)) {
		return &r->m->stats.flushes_kernel;
	}
	return &r->m->stats.flushes_release;
}

static emu_time flush_l1(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	const emu_time taken = coh_flush_whole_l1(m, r->cu, flush_cause(r), t);

	if (taken == t) {
		return t;
	}
	return coh_to_cu(m, r->cu, r->line, 0, EMU_MESSAGE_CONTROL, taken + m->config.l2.latency);
}

/* Invalidations of copies that its lines have caused are a part of it. */
static emu_time flush_whole_l2(struct nvw_machine *m, emu_time t)
{
	t = coh_drain_l2(m, &m->l2.sfifo, 0, COH_BY_RELEASE, t);
	return emu_later(emu_later(t, m->l2.taken), m->l2.copies_gone);
}

static emu_time flush_l2(const struct coh_request *r, emu_time t)
{
	return flush_whole_l2(r->m, t);
}

static emu_time flush_l3(const struct coh_request *r, emu_time t)
{
	if (!r->m->l3.banks) {
		return t;
	}
	return emu_l3_flush(r->m, t);
}

/* The marker has come to the end of the last S-FIFO; the acknowledgement wakes the instruction. */
static void acknowledge_marker(struct nvw_machine *m, struct coh_wait *w, emu_time t)
{
	const struct coh_request *const r = &w->request;

	coh_wake(m, w, coh_to_cu(m, r->cu, r->line, 0, EMU_MESSAGE_CONTROL, t));
}

/* It arrives at the L3. */
static void mark_l3_sfifo(struct nvw_machine *m, void *what)
{
	acknowledge_marker(m, what, emu_l3_flush(m, m->now));
}

/* It arrives at the L2. */
static void mark_l2_sfifo(struct nvw_machine *m, void *what)
{
	const emu_time taken = flush_whole_l2(m, m->now) + m->config.l2.latency;

	if (m->l3.banks) {
		emu_schedule(m, taken, mark_l3_sfifo, what);
	} else {
		acknowledge_marker(m, what, taken);
	}
}

/* Like the markers of persist barriers in the NVW-FIFOs (gope18 6.1): the lines ahead of the marker leave the
 * L1, then the L2. Other instructions continue in the meantime. */
static emu_time mark_sfifos(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct coh_wait *w;

	if (r->again || !(w = coh_put_off(r, EMU_CAUSE_marker, t))) {
		return t;
	}
	t = coh_flush_whole_l1(m, r->cu, flush_cause(r), t);
	t = coh_to_bank(m, r->cu, r->line, 0, EMU_MESSAGE_CONTROL, t);
	emu_schedule(m, t, mark_l2_sfifo, w);
	return COH_NOT_YET;
}

/* The store of a release (hechtman14 4.3.1): it drives out what the S-FIFOs hold, itself last, and nobody
 * waits. */
static emu_time push_sfifos(const struct coh_request *r, emu_time t)
{
	const emu_time taken = coh_flush_whole_l1(r->m, r->cu, flush_cause(r), t);

	flush_l3(r, flush_whole_l2(r->m, taken));
	return t;
}

/* An atomic takes a place in the S-FIFO although its bytes do not wait in the write cache. */
static emu_time enter_atomic(const struct coh_request *r, emu_time t)
{
	struct emu_fifo *const fifo = &r->cu->sfifo;

	emu_fifo_push(fifo, r->line);
	if (emu_fifo_length(fifo) <= fifo->capacity) {
		return t;
	}
	return coh_drain_l1(r->m, r->cu, fifo, fifo->capacity, COH_BY_SFIFO, t);
}

/* ---- Write-through (hechtman14 4.2.3) -------------------------------------------------------- */

/* The store's bytes leave the L1 at once. The wavefront waits until the L2 has accepted them; memory's
 * acknowledgement comes later. */
static emu_time send_stores(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	emu_time acknowledged;

	t = coh_drain_l1(m, r->cu, &r->cu->sfifo, 0, COH_BY_STORE, t);
	acknowledged = coh_to_cu(m, r->cu, r->line, 0, EMU_MESSAGE_CONTROL,
		emu_later(t, r->cu->accepted) + m->config.l2.latency);
	r->cu->acknowledged = emu_later(r->cu->acknowledged, acknowledged);
	return t;
}

/* Acknowledgements come in order: those of the CU's other wavefronts are waited for, too. */
static emu_time wait_stores(const struct coh_request *r, emu_time t)
{
	return emu_later(t, r->cu->acknowledged);
}

static void invalidate(struct nvw_machine *m, struct emu_cu *cu, uint64_t *cause, emu_time t)
{
	struct emu_cache *const l1 = &cu->l1;

	++*cause;
	if (emu_is_watched(m)) {
		emu_watch_cache(m, EMU_SIGHT_INVALIDATION, cu, cause, t, t);
	}
	if (++l1->generation == 0) {
		/* Lines that were not accessed since the count began must not become valid again. */
		EMU_EACH_LINE(i, l1) {
			l1->lines[i].generation = UINT32_MAX;
		}
	}
}

static uint64_t *invalidation_cause(const struct coh_request *r)
{
	const struct coh_protocol *const p = r->m->protocol;
	struct emu_stats *const s = &r->m->stats;

	if (coh_is_of_kernel(r)) {
		return &s->invalidations_kernel;
	}
	if (p->count_invalidation) {
		return p->count_invalidation(s);
	}
	return &s->invalidations_acquire;
}

static emu_time invalidate_l1(const struct coh_request *r, emu_time t)
{
	invalidate(r->m, r->cu, invalidation_cause(r), t);
	return l1_port(r, t) + r->m->config.l1.occupancy;
}

static emu_time invalidate_unregistered(const struct coh_request *r, emu_time t)
{
	return invalidate_l1(r, t);
}

static emu_time forget_read_only(const struct coh_request *r, emu_time t)
{
	struct emu_cache *const l1 = &r->cu->l1;

	EMU_EACH_LINE(i, l1) {
		l1->lines[i].read_only = 0;
	}
	return t;
}

/* ---- Every L1 (alsop16 II.D) ---------------------------------------------------------------- */

/* Sends a message to every CU, which executes an action; returns when the last has answered. The sender needs
 * no answer. */
static emu_time broadcast(const struct coh_request *r,
	emu_time (*act)(struct nvw_machine *, struct emu_cu *, emu_time), emu_time t)
{
	struct nvw_machine *const m = r->m;
	const uint32_t here = emu_network_cu_node(m, r->cu->id);
	emu_time last = act(m, r->cu, t), arrivals[EMU_CUS_MAX];

	emu_network_broadcast(m, here, EMU_MESSAGE_CONTROL, t, arrivals);
	NVW_FOR(i, m->config.cus) {
		const uint32_t there = emu_network_cu_node(m, i);
		emu_time at;

		if (i == r->cu->id) {
			continue;
		}
		at = act(m, &m->cus[i], arrivals[i]);
		last = emu_later(last, emu_network_send(m, there, here, 0, EMU_MESSAGE_CONTROL, at));
	}
	return last;
}

static emu_time flush_one(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	const emu_time taken = coh_flush_whole_l1(m, cu, &m->stats.flushes_remote, t);

	if (taken == t) {
		return t;
	}
	return taken + m->config.l2.latency;
}

static emu_time invalidate_one(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	invalidate(m, cu, &m->stats.invalidations_remote, t);
	return coh_l1_look_up(m, cu, t) + m->config.l1.occupancy;
}

static emu_time lock_one(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	return emu_later(t, cu->rmw_free);
}

static emu_time unlock_one(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	cu->rmw_free = emu_later(cu->rmw_free, t);
	return t;
}

static emu_time flush_all_l1s(const struct coh_request *r, emu_time t)
{
	return broadcast(r, flush_one, t);
}

static emu_time invalidate_all_l1s(const struct coh_request *r, emu_time t)
{
	return broadcast(r, invalidate_one, t);
}

/* Where nothing comes between lock and unlock, the cost of the lock is that the read-modify-writes of other
 * CUs begin after the unlock has reached them. */
static emu_time lock_rmws(const struct coh_request *r, emu_time t)
{
	if (coh_is_locked_out(r)) {
		return coh_await_lock(r, t);
	}
	coh_take_lock(r);
	return broadcast(r, lock_one, t);
}

static emu_time unlock_rmws(const struct coh_request *r, emu_time t)
{
	broadcast(r, unlock_one, t);
	coh_open_lock(r->m);
	return t;
}

/* ---- Registration (registry.c) --------------------------------------------------------------- */

static emu_time register_l1(const struct coh_request *r, emu_time t)
{
	struct emu_line *line;

	t = l1_port(r, t) + r->m->config.l1.latency;
	persist_prepare(r, r->cu, &t);
	line = coh_l1_obtain(r->m, r->cu, &r->cu->l1, r->line, &t);
	return coh_l1_event_on(r->m, r->cu, line, r->line, COH_L1_REGISTER, COH_BY_ATOMIC, r->bytes, t);
}

static bool is_registered_here(const struct coh_request *r)
{
	return !coh_is_of_kernel(r) && coh_registry_place(r->m, r->cu, r->line, r->bytes) == COH_PLACE_L1;
}

/* A registration is its own acknowledgement: there is nothing more to wait for. It may replace the line that
 * the instruction works on in the L2; the L1 gets that back before it is used. */
static emu_time register_stores(const struct coh_request *r, emu_time t)
{
	const bool was_here = is_registered_here(r);

	t = coh_flush_whole_l1(r->m, r->cu, flush_cause(r), t);
	if (!was_here || is_registered_here(r)) {
		return t;
	}
	return register_l1(r, t);
}

/* ---- Names in the tables --------------------------------------------------------------------- */

#define X(name, text, part) const struct coh_action_info coh_##name = {name, text, COH_PART_##part};
COH_ACTIONS(X)
#undef X
