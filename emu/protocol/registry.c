/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registration: ownership of bytes by L1s (sinclair15 3, alsop16 II.E).
 *
 * The L2 is the registry. A byte is in the L2 (or below), or one L1 has registered it; then the L2 has no
 * data for it and keeps the CU's number instead. Requests are served in the order in which they reach the L2:
 * a request for bytes that an L1 is still waiting for is forwarded to it and waits there until it has
 * received them. Synchronization then forms a queue (queue.c).
 *
 * Guarantees
 *	(1) A byte is registered in one L1 at most.
 *	(2) The L2 has a line for every registered byte (inclusion); replacing it revokes the registration.
 *	(3) Dirty registered bytes of NVRAM never change owners: they are first written to the device's queue,
 *	    with the records of their stores; stores that only wait for registration stay where they are. So a
 *	    line that is revoked in the middle of an epoch keeps its persist order. The papers have no NVRAM;
 *	    dirty bytes of DRAM do change owners.
 *	(4) A store to NVRAM is written undivided, unless atomics are apart from data and share no
 *	    write: whole words are registered and taken, so all of a store waits for registration, or nothing.
 */
#include "core/bounds.h"
#include "core/invariant.h"
#include "../memory/device_memory.h"
#include "protocol.h"

#include "../persist/persist.h"
#include "../observe/record.h"

const struct coh_registration coh_registers_bytes = {0};
const struct coh_registration coh_registers_lines = {.also_registered = UINT64_MAX, .also_taken = UINT64_MAX};
const struct coh_registration coh_registers_atomics = {
	.also_taken = UINT64_MAX, .apart = true, .flushes_loser = true};

/* Bytes whose values an L1 waits for: bytes that it has stored over need not be sent. */
static uint64_t wanted(const struct emu_cu *cu, emu_line_id id, uint64_t bytes)
{
	const struct emu_line *line = NULL;

	if (cu) {
		line = coh_l1_line(cu, id);
	}
	if (line) {
		bytes &= ~line->dirty;
	}
	return bytes;
}

/* The arrival of a request that would arrive at t: a delayed request was sent earlier. */
static emu_time arrival(struct nvw_machine *m, emu_time t)
{
	return t - nvw_min(t - m->now, m->head_start);
}

extern inline struct emu_cu *coh_registry_other(
	struct nvw_machine *m, const struct emu_cu *cu, const struct emu_line *below, uint64_t bytes)
{
	if (!below) {
		return NULL;
	}
	if (cu) {
		bytes &= ~coh_registry_owned(below, cu);
	}
	return coh_registry_owner(m, below, bytes);
}

static __attribute__((noinline)) emu_time take_back(
	struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, uint64_t bytes, emu_time t)
{
	const uint32_t to = cu ? emu_network_cu_node(m, cu->id) : coh_bank_node(m, id);
	emu_time last = arrival(m, t);

	for (;;) {
		/* Looked up again each time, because an L1's write-backs may replace the line in the L2. */
		const struct emu_line *const below = coh_l2_line(m, id);
		struct emu_cu *const owner = coh_registry_other(m, cu, below, bytes);
		struct emu_line *line;
		uint64_t mask;
		emu_time at;

		if (!owner || m->error) {
			return last;
		}
		line = coh_l1_line(owner, id);
		mask = coh_registry_owned(below, owner) & coh_taken_with(m, coh_undivided(m, id, bytes));
		m->stats.l1_revocations++;
		at = coh_to_cu(m, owner, id, 0, EMU_MESSAGE_REGISTER, t);
		at = emu_later(arrival(m, at), line->granted);
		at = coh_l1_look_up(m, owner, at) + m->config.l1.probe;
		at = coh_l1_event_on(m, owner, line, id, COH_L1_REVOKE, COH_BY_REVOKE, mask, at);
		at = emu_network_send(m, emu_network_cu_node(m, owner->id), to,
			emu_ones(wanted(cu, id, mask)), EMU_MESSAGE_REGISTER, at);
		last = emu_later(last, at);
		if (!m->error && coh_l2_line(m, id) == below && (coh_registry_owned(below, owner) & mask)) {
			m->error = nvw_fail(NVW_E_MODEL,
				"protocol %s, line %#x: an L1 keeps words registered after their revocation",
				m->protocol->name, id);
		}
	}
}

emu_time coh_registry_take(
	struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, uint64_t bytes, emu_time t)
{
	if (!m->protocol->registration) {
		return t;
	}
	return take_back(m, cu, id, bytes, t);
}

extern inline struct emu_line *coh_registry_claim(
	struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, uint64_t bytes, uint64_t need, emu_time *t)
{
	struct emu_line *below;

	/* Buffered epochs: making room in the L2 sends other lines ahead, which may register bytes of this
	 * one. */
	do {
		*t = coh_registry_take(m, cu, id, bytes, *t);
		below = coh_l2_obtain(m, id, need, t);
	} while (!m->error && coh_registry_other(m, cu, below, bytes));
	return below;
}

/* Records in the registry that an L1 gets bytes, and copies them: those of need come from the L2's line. */
static void hand_over(struct nvw_machine *m, struct emu_cu *cu, struct emu_line *below, struct emu_line *line,
	emu_line_id id, uint64_t mask, uint64_t need)
{
	uint8_t owner[EMU_LINE];

	NVW_DEEP_INVARIANT(!(need & ~mask) && !(need & ~below->valid) && !(mask & below->registered));
	if ((below->dirty & mask) && emu_is_persistent(m, id)) {
		coh_l2_event(m, below, id, COH_L2_FLUSH, COH_BY_PERSIST, m->now); /* guarantee (3) */
	}
	persist_latest(m, id, line, line->dirty & mask);
	emu_copy_masked(line->data, below->data, need);
	line->dirty |= below->dirty & need;
	line->valid |= mask;
	line->registered |= mask;
	below->dirty &= ~mask;
	below->valid &= ~mask;
	below->registered |= mask;
	coh_sharer_add(below, cu);
	memset(owner, (int)cu->id, sizeof owner);
	emu_copy_masked(below->data, owner, mask);
	coh_l2_event(m, below, id, COH_L2_REGISTER, COH_BY_ACCESS, m->now);
}

void coh_line_register(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *const line = e->line;
	const uint64_t grain = coh_undivided(m, e->id, e->bytes) | m->protocol->registration->also_registered;
	emu_time at, taken;
	struct emu_line *below;
	uint64_t mask, need;

	if (!e->bytes || !(grain & ~line->registered)) {
		return;
	}
	m->stats.l1_registrations++;
	at = coh_to_bank(m, e->cu, e->id, 0, EMU_MESSAGE_REGISTER, e->t);
	at = coh_l2_look_up(m, e->id, at);
	do {
		mask = grain & ~line->registered;
		if (!mask) {
			return; /* the lines sent ahead included this one */
		}
		taken = coh_registry_take(m, e->cu, e->id, coh_taken_with(m, mask), at);
		need = mask & ~line->dirty; /* a valid byte that is not registered may be stale */
		below = coh_l2_obtain(m, e->id, need, &at);
	} while (!m->error && (mask != (grain & ~line->registered) ||
				      coh_registry_other(m, e->cu, below, coh_taken_with(m, mask))));
	hand_over(m, e->cu, below, line, e->id, mask, need);
	at = coh_to_cu(m, e->cu, e->id, taken > at ? 0 : emu_ones(need), EMU_MESSAGE_REGISTER, at);
	e->t = line->granted = emu_later(arrival(m, at), taken);
	e->cu->taken = emu_later(e->cu->taken, e->t);
}

/* Dirty unregistered bytes stay: another L1 may have a dirty byte of the line that has to leave first. */
void coh_line_write_through(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *const line = e->line;
	struct emu_line leaving;
	emu_time t;

	if (e->reason != COH_BY_PERSIST && !m->recalling) {
		e->t = persist_evict_earlier(m, e->cu, line, e->t);
	}
	if (!(line->dirty & line->registered)) {
		return;
	}
	leaving = *line;
	leaving.dirty &= leaving.registered;
	line->dirty &= ~leaving.dirty;
	record_split(m, &leaving, line, leaving.dirty);
	persist_split(m, line, e->id, &e->t);
	m->stats.l2_writes++;
	m->stats.l2_writeback_persist++;
	++*(e->reason == COH_BY_PERSIST ? &m->stats.l1_flush_persist : &m->stats.l1_flush_revoke);
	t = coh_to_bank(m, e->cu, e->id, emu_ones(leaving.dirty), EMU_MESSAGE_WRITE, e->t);
	t = coh_l2_look_up(m, e->id, t) - m->config.l2.latency;
	e->t = emu_later(e->t, emu_l3_write(m, e->id, &leaving, t));
}

/* Guarantee (3): when a line of NVRAM is about to change owners, none of its registered bytes is dirty. */
void coh_settle_nvram(struct coh_event *e)
{
	if (emu_is_persistent(e->m, e->id)) {
		coh_line_write_through(e);
	}
}

void coh_line_yield(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *const line = e->line;
	struct emu_line *below;
	uint64_t mask;

	coh_settle_nvram(e);
	below = coh_l2_line(m, e->id);
	mask = e->bytes & line->registered;
	if (!below || !mask) {
		return; /* the L2 has replaced its line in the meantime, and revoked everything */
	}
	emu_copy_masked(below->data, line->data, mask);
	below->valid |= mask;
	below->registered &= ~mask;
	below->dirty |= line->dirty & mask;
	line->valid &= ~mask;
	line->registered &= ~mask;
	line->dirty &= ~mask;
	line->read_only &= ~mask;
	coh_l2_event(m, below, e->id, COH_L2_RETURN, e->reason, e->t);
	coh_dirtied_l2(m, e->id, &e->t);
}
