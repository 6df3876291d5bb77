/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A full-map directory that includes the L1s (hechtman14 3.3, 4.2): what an L1 asks of it. An entry has the
 * line's sharers and, in the grid's state for that, its owner. The messages to other L1s are in sharers.c.
 *
 * The entry is one of two things:
 *	- the line of the L2 (directory.lines 0): the L2 includes the L1s, and recalls the lines that it
 *	  replaces (hechtman14 3.3);
 *	- an entry of a directory of its own, in the L2's banks (hechtman14 4.2, Table 4.1). It includes the
 *	  L1s and the L2, and recalls a line from all of them when it needs room. The L2 replaces its lines
 *	  for itself. A line that the L2 has not comes from an L1 that has it, else from memory. Such an
 *	  entry has no data, and the events of the L2's grid.
 *
 * Guarantees
 *	(1) A line has one writer or many readers: an L1 is granted ownership when every other L1 has given
 *	    the line up.
 *	(2) Dirty bytes never change owners: a line that another L1 is going to write is written back first,
 *	    with its store records. So the NVW-FIFOs of an L1 and of the L2 name all that a CU has stored to
 *	    NVRAM.
 *	(3) What an L1 has not stored itself is in the L2, or in memory if the L2 does not have it: an
 *	    owner's dirty bytes over those of the L2 over those of memory are the line.
 *
 * The directory learns of replacements in L1s in no time.
 */
#include <stdlib.h>

#include "core/each.h"
#include "core/invariant.h"
#include "protocol.h"

int coh_directory_init(struct nvw_machine *m)
{
	const struct emu_directory_config *const config = &m->config.directory;
	const struct emu_cache_config cache = {.size = config->lines * EMU_LINE, .ways = config->ways};
	int r;

	if (!config->lines || !m->protocol->directory) {
		return 0;
	}
	r = emu_cache_init(&m->directory.cache, &cache);
	m->directory.mshrs = calloc(config->mshrs, sizeof *m->directory.mshrs);
	if (r || m->directory.mshrs) {
		return r;
	}
	return nvw_fail(NVW_E_MEMORY, "no memory for a directory");
}

void coh_directory_finish(struct nvw_machine *m)
{
	emu_cache_finish(&m->directory.cache);
	free(m->directory.mshrs);
}

/* ---- Entries of a directory of its own ----------------------------------------------------- */

static bool is_held(const struct nvw_machine *m, const struct emu_line *entry, emu_line_id id)
{
	return coh_has_sharers(entry) || coh_l2_line(m, id);
}

/* An entry whose line nobody has any more goes first, then the one that was asked least recently. */
static struct emu_line *victim(struct nvw_machine *m, emu_line_id id)
{
	struct emu_cache *const cache = &m->directory.cache;
	struct emu_line *const oldest = emu_cache_victim(cache, id);
	const uint32_t first = (uint32_t)(oldest - cache->lines) / cache->ways * cache->ways;

	for (uint32_t i = first; i < first + cache->ways; i++) {
		const emu_line_id old = emu_cache_tag_at(cache, i);

		if (old == EMU_NO_LINE || !is_held(m, &cache->lines[i], old)) {
			return &cache->lines[i];
		}
	}
	return oldest;
}

static struct emu_line *entry_of(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_cache *const cache = &m->directory.cache;
	struct emu_line *entry = emu_cache_find(cache, e->id);

	NVW_DEEP_INVARIANT(coh_has_directory(m) && m->directory.mshrs);

	if (!entry) {
		emu_line_id old;

		entry = victim(m, e->id);
		old = emu_cache_tag(cache, entry);
		if (old != EMU_NO_LINE && is_held(m, entry, old)) {
			m->stats.directory_evictions++;
			emu_cache_pin(cache, entry);
			e->t = coh_l2_event(m, entry, old, COH_L2_EVICT, COH_BY_RECALL, e->t);
		}
		NVW_DEEP_INVARIANT(old == EMU_NO_LINE || !is_held(m, entry, old));
		emu_cache_assign(cache, entry, e->id);
		e->t = coh_l2_event_by(m, e->cu, entry, e->id, COH_L2_ENTER, COH_BY_ACCESS, e->t);
	}
	return entry;
}

/* An L1 that shares the line answers in the place of the L2, which does not have it. */
static void ask_sharer(struct coh_event *e, const struct emu_line *entry)
{
	struct nvw_machine *const m = e->m;

	NVW_DEEP_INVARIANT(emu_cache_has(&m->directory.cache, entry));
	EMU_EACH_CU(cu, m) {
		const struct emu_line *const line = coh_l1_line(cu, e->id);

		if (~e->line->valid && cu != e->cu && line && coh_is_sharer(entry, cu)) {
			e->t = coh_to_cu(m, cu, e->id, 0, EMU_MESSAGE_CONTROL, e->t);
			e->t = coh_l1_look_up(m, cu, e->t) + m->config.l1.probe;
			emu_copy_masked(e->line->data, line->data, line->valid & ~e->line->valid);
			e->line->valid |= line->valid;
			e->t = coh_to_bank(m, cu, e->id, EMU_LINE, EMU_MESSAGE_CONTROL, e->t);
		}
	}
}

/* The bytes that are still missing: from the L2, which has them, or another L1; else from memory, by way of
 * the L2. */
static void bring_data(struct coh_event *e, const struct emu_line *entry)
{
	struct nvw_machine *const m = e->m;
	const struct emu_line *below = coh_l2_line(m, e->id);

	if (!below || ~below->valid) {
		ask_sharer(e, entry);
	}
	if (~e->line->valid) {
		e->t += m->config.l2.latency;
		below = coh_l2_obtain_by(m, e->cu, e->id, UINT64_MAX, &e->t);
		emu_copy_masked(e->line->data, below->data, ~e->line->valid);
		e->line->valid = UINT64_MAX;
	}
}

/* ---- Requests ------------------------------------------------------------------------------- */

/* A request to the line's bank; it has looked the entry up when it returns. */
static struct emu_line *ask(struct coh_event *e, enum emu_message message)
{
	struct nvw_machine *const m = e->m;
	emu_time *mshr;

	e->t = coh_to_bank(m, e->cu, e->id, 0, message, e->t);
	e->t = coh_l2_look_up(m, e->id, e->t);
	if (!coh_has_directory(m)) {
		return coh_l2_obtain_by(m, e->cu, e->id, message == EMU_MESSAGE_READ ? UINT64_MAX : 0, &e->t);
	}
	mshr = &m->directory.mshrs[m->directory.requests % m->config.directory.mshrs];
	e->t = emu_later(e->t - m->config.l2.latency, *mshr) + m->config.directory.latency;
	m->stats.directory_requests++;
	return entry_of(e);
}

static void answer(struct coh_event *e, uint32_t bytes, enum emu_message message)
{
	struct nvw_machine *const m = e->m;

	if (coh_has_directory(m)) {
		m->directory.mshrs[m->directory.requests++ % m->config.directory.mshrs] = e->t;
	}
	e->t = coh_to_cu(m, e->cu, e->id, bytes, message, e->t);
}

static bool has_other_sharers(const struct emu_line *entry, const struct emu_cu *cu)
{
	uint64_t others = 0;

	for (unsigned word = 0; word < EMU_CUS_MAX / 64; word++) {
		others |= entry->sharers[word] & ~((uint64_t)(cu->id / 64 == word) << cu->id % 64);
	}
	return others;
}

/* A run that ended for a missing cell, or from which a test took an action (emu_plant_fault()), owes
 * nothing. */
__attribute__((unused)) static bool is_broken(const struct nvw_machine *m)
{
	return m->error || m->fault.line;
}

static void grant(struct coh_event *e, struct emu_line *entry)
{
	NVW_DEEP_INVARIANT(coh_entry(e->m, e->id) == entry);
	coh_sharer_add(entry, e->cu);
	NVW_DEEP_INVARIANT(is_broken(e->m) || !has_other_sharers(entry, e->cu)); /* guarantee (1) */
	entry->owner = (uint8_t)e->cu->id;
	e->t = coh_l2_event_by(e->m, e->cu, entry, e->id, COH_L2_OWN, COH_BY_ACCESS, e->t);
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
	struct emu_line *const entry = ask(e, EMU_MESSAGE_READ);
	bool is_shared;

	if (coh_has_directory(m)) {
		e->t = coh_l2_event_by(m, e->cu, entry, e->id, COH_L2_READ_HIT, COH_BY_ACCESS, e->t);
		bring_data(e, entry);
	} else {
		take_data(e, entry);
	}
	NVW_DEEP_INVARIANT(is_broken(m) || ~e->line->valid == 0); /* a line comes whole */
	is_shared = has_other_sharers(entry, e->cu);
	coh_sharer_add(entry, e->cu);
	if (!is_shared) {
		grant(e, entry);
	}
	answer(e, EMU_LINE, EMU_MESSAGE_READ);
	e->t = coh_l1_event(
		m, e->cu, e->line, e->id, is_shared ? COH_L1_SHARED : COH_L1_ALONE, e->reason, e->t);
}

/* Every other L1 gives the line up, then it is read: from the L2, to which a former owner has written it
 * back. */
void coh_line_read_own(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *entry;

	m->stats.l1_owned++;
	entry = ask(e, EMU_MESSAGE_REGISTER);
	e->t = coh_l2_event_by(m, e->cu, entry, e->id, COH_L2_WANT, COH_BY_ACCESS, e->t);
	if (coh_has_directory(m)) {
		bring_data(e, entry);
	} else {
		entry = coh_l2_obtain_by(m, e->cu, e->id, UINT64_MAX, &e->t);
		take_data(e, entry);
	}
	grant(e, entry);
	answer(e, EMU_LINE, EMU_MESSAGE_REGISTER);
}

/* An L1's line is about to be written: the directory executes the grid's actions for that, and answers. */
void coh_line_own(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *entry;

	m->stats.l1_upgraded++;
	entry = ask(e, EMU_MESSAGE_REGISTER);
	coh_sharer_add(entry, e->cu);
	e->t = coh_l2_event_by(m, e->cu, entry, e->id, COH_L2_WANT, COH_BY_ACCESS, e->t);
	grant(e, entry);
	answer(e, 0, EMU_MESSAGE_REGISTER);
}

void coh_line_disown(struct coh_event *e)
{
	struct emu_line *const entry = coh_entry(e->m, e->id);

	if (entry) {
		e->t = coh_l2_event_by(e->m, e->cu, entry, e->id, COH_L2_DISOWN, e->reason, e->t);
	}
}

void coh_directory_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	const struct emu_line *entry = NULL, *line = NULL;

	if (m->protocol->directory) {
		entry = coh_entry(m, id);
	}
	if (entry) {
		line = coh_l1_line(&m->cus[entry->owner], id);
	}
	if (line) {
		emu_copy_masked(to, line->data, line->dirty);
	}
}

/* ---- Invariants ---------------------------------------------------------------------------- */

static const char *broken_copy(const struct nvw_machine *m, emu_line_id id, const struct emu_line *entry,
	const struct emu_cu *cu, bool is_owned)
{
	const struct emu_line *const line = coh_l1_line(cu, id);
	bool is_old;

	if (!line || !line->valid) {
		return NULL;
	}
	if (!entry || !coh_is_sharer(entry, cu)) {
		return "the directory does not know a line of an L1 (inclusion)";
	}
	if (line->dirty && !(is_owned && entry->owner == cu->id)) {
		return "an L1 has written a line that it does not own";
	}
	if (is_owned) {
		is_old = memcmp(line->data, coh_l1_line(&m->cus[entry->owner], id)->data, EMU_LINE) != 0;
	} else {
		is_old = coh_differs_below(m, line, id);
	}
	if (is_old) {
		return "an L1 has an old copy of a line";
	}
	return NULL;
}

const char *coh_broken_directory(const struct nvw_machine *m, emu_line_id id, unsigned owned)
{
	const struct emu_line *const entry = coh_entry(m, id);
	const bool is_owned = entry && entry->state == owned;
	const char *broken = NULL;

	if (is_owned && !coh_l1_line(&m->cus[entry->owner], id)) {
		return "the directory names an owner that does not have the line";
	}
	if (!entry && coh_l2_line(m, id)) {
		return "the directory does not know a line of the L2 (inclusion)";
	}
	for (unsigned i = 0; !broken && i < m->config.cus; i++) {
		broken = broken_copy(m, id, entry, &m->cus[i], is_owned);
	}
	return broken;
}
