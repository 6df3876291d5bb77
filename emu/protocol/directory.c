/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A full-map directory at the L2 that includes the L1s (hechtman14 3.3, 4.2): what an L1 asks of it. The L2's line has its
 * sharers and, in the grid's state for that, its owner. The messages to other L1s are in sharers.c.
 *
 * Guarantees
 *	(1) A line has one writer or many readers: an L1 is granted ownership when every other L1 has given the line up.
 *	(2) Dirty bytes never change owners: a line that another L1 is going to write is written back first, with its store
 *	    records. So the NVW-FIFOs of an L1 and of the L2 name all that a CU has stored to NVRAM.
 *
 * The directory learns of replacements in L1s in no time, as the inclusive L2 of vi does.
 */
#include "protocol.h"

/* A request to the line's bank, which has looked the directory up when it returns. */
static void ask(struct coh_event *e, enum emu_message message)
{
	struct nvw_machine *const m = e->m;

	e->t = emu_network_send(
		m, emu_network_cu_node(m, e->cu->id), coh_bank_node(m, e->id), 0, message, e->t);
	e->t = coh_l2_access(m, e->id, m->config.l2.occupancy, e->t);
}

static void answer(struct coh_event *e, uint32_t bytes, enum emu_message message)
{
	struct nvw_machine *const m = e->m;

	e->t = emu_network_send(
		m, coh_bank_node(m, e->id), emu_network_cu_node(m, e->cu->id), bytes, message, e->t);
}

static bool has_other_sharers(const struct emu_line *below, const struct emu_cu *cu)
{
	uint64_t others = 0;

	for (unsigned word = 0; word < EMU_CUS_MAX / 64; word++) {
		others |= below->sharers[word] & ~(cu->id / 64 == word ? UINT64_C(1) << cu->id % 64 : 0);
	}
	return others;
}

static void grant(struct coh_event *e, struct emu_line *below)
{
	coh_sharer_add(below, e->cu);
	below->owner = (uint8_t)e->cu->id;
	e->t = coh_l2_event_by(e->m, e->cu, below, e->id, COH_L2_OWN, COH_BY_ACCESS, e->t);
}

static void take_data(struct coh_event *e, const struct emu_line *below)
{
	emu_copy_masked(e->line->data, below->data, below->valid & ~e->line->valid);
	e->line->valid |= below->valid;
}

/* A line that nobody else has comes with the right to write. */
void coh_line_read_shared(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *below;
	bool is_shared;

	ask(e, EMU_MESSAGE_READ);
	below = coh_l2_obtain_by(m, e->cu, e->id, UINT64_MAX, &e->t);
	take_data(e, below);
	is_shared = has_other_sharers(below, e->cu);
	coh_sharer_add(below, e->cu);
	if (!is_shared) {
		grant(e, below);
	}
	answer(e, EMU_LINE, EMU_MESSAGE_READ);
	e->t = coh_l1_event(
		m, e->cu, e->line, e->id, is_shared ? COH_L1_SHARED : COH_L1_ALONE, e->reason, e->t);
}

/* Every other L1 gives the line up, then it is read: from the L2, to which a former owner has written it back. */
void coh_line_read_own(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *below;

	m->stats.l1_owned++;
	ask(e, EMU_MESSAGE_REGISTER);
	below = coh_l2_obtain_by(m, e->cu, e->id, 0, &e->t);
	e->t = coh_l2_event_by(m, e->cu, below, e->id, COH_L2_WANT, COH_BY_ACCESS, e->t);
	below = coh_l2_obtain_by(m, e->cu, e->id, UINT64_MAX, &e->t);
	take_data(e, below);
	grant(e, below);
	answer(e, EMU_LINE, EMU_MESSAGE_REGISTER);
}

/* An L1's line is about to be written: the L2 executes its grid's actions for that, and answers. */
void coh_line_own(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *below;

	m->stats.l1_upgraded++;
	ask(e, EMU_MESSAGE_REGISTER);
	below = coh_l2_obtain_by(m, e->cu, e->id, 0, &e->t);
	coh_sharer_add(below, e->cu);
	e->t = coh_l2_event_by(m, e->cu, below, e->id, COH_L2_WANT, COH_BY_ACCESS, e->t);
	grant(e, below);
	answer(e, 0, EMU_MESSAGE_REGISTER);
}

void coh_line_disown(struct coh_event *e)
{
	struct emu_line *const below = emu_cache_peek(&e->m->l2.cache, e->id);

	if (below) {
		e->t = coh_l2_event_by(e->m, e->cu, below, e->id, COH_L2_DISOWN, e->reason, e->t);
	}
}

void coh_directory_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	const struct emu_line *const below = m->protocol->inclusive ? emu_cache_peek(&m->l2.cache, id) : NULL;
	const struct emu_line *const line = below ? emu_cache_peek(&m->cus[below->owner].l1, id) : NULL;

	if (m->protocol->directory && line) {
		emu_copy_masked(to, line->data, line->dirty);
	}
}

/* ---- Invariants ---------------------------------------------------------------------------- */

static const char *broken_copy(const struct emu_line *below, const struct emu_line *line,
	const struct emu_cu *cu, const struct emu_line *latest, bool is_owned)
{
	const bool is_owner = is_owned && below->owner == cu->id;

	if (!(below->sharers[cu->id / 64] >> cu->id % 64 & 1)) {
		return "the directory does not know a line of an L1 (inclusion)";
	}
	if (line->dirty && !is_owner) {
		return "an L1 has written a line that it does not own";
	}
	return latest && memcmp(line->data, latest->data, EMU_LINE) != 0 ? "an L1 has an old copy of a line" :
									   NULL;
}

const char *coh_broken_directory(const struct nvw_machine *m, emu_line_id id, unsigned owned)
{
	const struct emu_line *const below = emu_cache_peek(&m->l2.cache, id);
	const bool is_owned = below && below->state == owned;
	const struct emu_line *latest = below, *line;
	const char *broken = NULL;

	if (is_owned) {
		latest = emu_cache_peek(&m->cus[below->owner].l1, id);
		if (!latest) {
			return "the directory names an owner that does not have the line";
		}
	}
	for (unsigned i = 0; !broken && i < m->config.cus; i++) {
		line = emu_cache_peek(&m->cus[i].l1, id);
		if (line && line->valid) {
			broken = below ? broken_copy(below, line, &m->cus[i], latest, is_owned) :
					 "the directory does not know a line of an L1 (inclusion)";
		}
	}
	return broken;
}
