/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of lines: executes the actions that a protocol's grid gives for an event; and the ports through
 * which events come.
 *
 * Only the tables know the actions: code that moves lines calls this file, and this file calls the actions
 * named in the table.
 */
#include "core/each.h"
#include "core/invariant.h"
#include "../time/booking.h"
#include "protocol.h"

/* ---- Ports --------------------------------------------------------------------------------- */

extern inline uint32_t coh_bank_node(const struct nvw_machine *m, emu_line_id id)
{
	return emu_network_bank_node(m, emu_interleave(emu_line_number(id), m->l2.banks));
}

extern inline emu_time coh_l1_port(struct nvw_machine *m, struct emu_cu *cu, emu_time t, emu_time occupancy)
{
	m->stats.l1_accesses++;
	return emu_book(m, &cu->l1_port, t, occupancy);
}

extern inline emu_time coh_l2_access(struct nvw_machine *m, emu_line_id id, emu_time occupancy, emu_time t)
{
	const uint32_t bank = emu_interleave(emu_line_number(id), m->l2.banks);
	const emu_time start = emu_book_seen(m, &m->l2.bank[bank], EMU_SIGHT_BANK, bank, "L2", t, occupancy);

	m->stats.l2_accesses++;
	return start + m->config.l2.latency;
}

/* ---- Events -------------------------------------------------------------------------------- */

/* The grid marks this as impossible, so the protocol's table is wrong: the run ends. */
static __attribute__((noinline, cold)) emu_time never(struct coh_event *e, unsigned event)
{
	static const char *const caches[] = {[EMU_GRID_L1] = "an L1", [EMU_GRID_L2] = "the L2"};
	const struct coh_protocol *const p = e->m->protocol;
	const char *const *const states[] = {[EMU_GRID_L1] = p->l1_states, [EMU_GRID_L2] = p->l2_states};
	enum emu_grid grid = EMU_GRID_L2;
	const struct emu_protocol_word *word;

	if (e->m->error) {
		return e->t;
	}
	if (e->cu) {
		grid = EMU_GRID_L1;
	}
	word = emu_protocol_event(grid, event);
	e->m->error = nvw_fail(NVW_E_MODEL,
		"protocol %s, line %#x: event %s (%s) in state %s of %s is NEVER in the protocol's table",
		p->name, e->id, word->name, word->text, states[grid][e->line->state], caches[grid]);
	return e->t;
}

void coh_count_buffered(struct emu_cu *cu, struct emu_line *line)
{
	const uint64_t bytes = line->dirty & ~line->registered, halves = bytes | bytes >> 1,
		       words = (halves | halves >> 2) & UINT64_C(0x1111111111111111);
	const uint8_t count = (uint8_t)emu_ones(words);

	cu->buffered += count - (uint32_t)line->buffered;
	line->buffered = count;
}

static __attribute__((noinline, cold)) void carry_out_but_the_fault(
	struct coh_event *e, const struct coh_cell *cell)
{
	for (unsigned i = 0; i < 3 && cell->actions[i]; i++) {
		if (cell->actions[i] != e->m->fault.line) {
			cell->actions[i](e);
		}
	}
}

/* Part of both kinds of events, which come several times an access. */
static inline __attribute__((always_inline)) void apply(
	struct coh_event *e, const struct coh_cell *cell, unsigned event)
{
	const unsigned before = e->line->state;
	const coh_line_action *const actions = cell->actions;

	NVW_DEEP_INVARIANT(e->line && (e->cu || !e->by || e->by->id < e->m->config.cus));
	if (__builtin_expect(!cell->possible, 0)) {
		never(e, event);
		return;
	}
	if (__builtin_expect(e->m->fault.line != NULL, 0)) {
		carry_out_but_the_fault(e, cell);
	} else if (actions[0]) {
		actions[0](e);
		if (actions[1]) {
			actions[1](e);
			if (actions[2]) {
				actions[2](e);
			}
		}
	}
	/* A line that was to stay unchanged may have been written back in the meantime, for room that an
	 * action needed. */
	if (cell->next != before) {
		e->line->state = cell->next;
	}
}

extern inline emu_time coh_l1_event_on(struct nvw_machine *m, struct emu_cu *cu, struct emu_line *line,
	emu_line_id id, enum coh_l1_event event, enum coh_reason reason, uint64_t bytes, emu_time t)
{
	const struct coh_cell *const cell = &m->protocol->l1[line->state * COH_L1_EVENT_COUNT + event];

	if (coh_is_nothing(cell, line)) {
		return t;
	}

	struct coh_event e = {
		.m = m, .cu = cu, .line = line, .id = id, .bytes = bytes, .reason = reason, .t = t};

	apply(&e, cell, event);
	if (cell->possible && line->buffered) {
		coh_count_buffered(cu, line);
	}
	return e.t;
}

extern inline emu_time coh_l1_event(struct nvw_machine *m, struct emu_cu *cu, struct emu_line *line,
	emu_line_id id, enum coh_l1_event event, enum coh_reason reason, emu_time t)
{
	return coh_l1_event_on(m, cu, line, id, event, reason, line->dirty, t);
}

extern inline emu_time coh_l2_event_by(struct nvw_machine *m, const struct emu_cu *by, struct emu_line *line,
	emu_line_id id, enum coh_l2_event event, enum coh_reason reason, emu_time t)
{
	const struct coh_cell *const cell = &m->protocol->l2[line->state * COH_L2_EVENT_COUNT + event];

	if (coh_is_nothing(cell, line)) {
		return t;
	}

	struct coh_event e = {.m = m, .by = by, .line = line, .id = id, .reason = reason, .t = t};

	apply(&e, cell, event);
	return e.t;
}

extern inline emu_time coh_l2_event(struct nvw_machine *m, struct emu_line *line, emu_line_id id,
	enum coh_l2_event event, enum coh_reason reason, emu_time t)
{
	return coh_l2_event_by(m, NULL, line, id, event, reason, t);
}
