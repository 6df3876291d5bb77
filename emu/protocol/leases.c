/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See leases.h. From top to bottom: what the L2 remembers, the prediction, lines, stores, invariants.
 *
 * Leases are compared with the time of events, not with the time that a transaction has come to: a store
 * changes bytes in the event in which it is carried out, and until that event L1s may be hit.
 */
#include "leases.h"

#include <stdlib.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"

enum { SHARED = UINT8_MAX }; /* in place of an owner: L1s of several CUs have had leases */

/* ---- What the L2 remembers ------------------------------------------------------------------- */

static struct leases_bank *bank_of(const struct nvw_machine *m, emu_line_id id)
{
	return &m->leases->bank[emu_line_number(id) % m->l2.banks];
}

/* Ends of leases ascend. */
__attribute__((unused)) static bool leases_are_valid(const struct leases_bank *bank)
{
	for (uint32_t i = 1; i < bank->count; i++) {
		if (bank->left[i - 1].until > bank->left[i].until) {
			return false;
		}
	}
	return bank->count <= bank->capacity;
}

/* The longest lease of the line from before it was replaced; NULL: none is remembered. */
static struct leases_left *left_of(const struct nvw_machine *m, emu_line_id id)
{
	const struct leases_bank *const bank = bank_of(m, id);

	for (uint32_t i = bank->count; i-- > 0;) {
		if (bank->left[i].line == id) {
			return &bank->left[i];
		}
	}
	return NULL;
}

/* When the line's last lease ends that is not by's alone. */
static emu_time leased_until(const struct nvw_machine *m, const struct emu_cu *by, emu_line_id id)
{
	const struct emu_line *const below = coh_l2_line(m, id);
	const struct leases_left *const left = left_of(m, id);
	emu_time until = 0;

	if (below && !(by && below->owner == by->id)) {
		until = below->lease;
	}
	if (left) {
		until = emu_later(until, left->until);
	}
	return until;
}

/* A store waits until then: no lease is given on the line. */
static void refuse_until(struct nvw_machine *m, emu_line_id id, emu_time until)
{
	struct emu_line *const below = coh_l2_line(m, id);
	struct leases_left *const left = left_of(m, id);

	if (below) {
		below->refuses = until;
	}
	if (left) {
		left->refuses = until;
	}
}

static bool is_refused(const struct nvw_machine *m, const struct emu_line *below, emu_line_id id)
{
	const struct leases_left *const left = left_of(m, id);
	emu_time until = below->refuses;

	if (left) {
		until = emu_later(until, left->refuses);
	}
	return until && m->now <= until;
}

/* The line is written: all leases on it have ended, or their L1 is the writer's. */
static void begin_anew(struct nvw_machine *m, emu_line_id id)
{
	struct emu_line *const below = coh_l2_line(m, id);

	if (below) {
		below->lease = 0;
	}
}

static void forget_ended(struct leases_bank *bank, emu_time now)
{
	uint32_t ended = 0;

	NVW_DEEP_INVARIANT(leases_are_valid(bank));
	while (ended < bank->count && bank->left[ended].until <= now) {
		ended++;
	}
	if (ended) {
		bank->count -= ended;
		memmove(bank->left, bank->left + ended, bank->count * sizeof *bank->left);
	}
}

static void insert(struct leases_bank *bank, struct leases_left entry)
{
	uint32_t i = bank->count++;

	NVW_INVARIANT(bank->count <= bank->capacity);
	for (; i && bank->left[i - 1].until > entry.until; i--) {
		bank->left[i] = bank->left[i - 1];
	}
	bank->left[i] = entry;
	NVW_DEEP_INVARIANT(leases_are_valid(bank));
}

/* ---- Prediction ------------------------------------------------------------------------------ */

static void lengthen(struct nvw_machine *m, struct leases_bank *bank)
{
	bank->prediction = nvw_min(bank->prediction + m->config.tcs.step, m->config.tcs.most);
}

static void shorten(struct nvw_machine *m, struct leases_bank *bank)
{
	const emu_time step = m->config.tcs.step;

	bank->prediction = emu_later(bank->prediction, m->config.tcs.least + step) - step;
	NVW_DEEP_INVARIANT(bank->prediction >= m->config.tcs.least);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Whether the L1 asks again for the same bytes because its lease has ended: its request carries the old
 * timestamp, and a line that was written since has none as late. */
static bool has_expired(
	const struct nvw_machine *m, const struct emu_cu *cu, const struct emu_line *below, emu_line_id id)
{
	const struct emu_line *const line = coh_l1_line(cu, id);

	return line && line->lease && line->lease <= m->now && line->lease <= below->lease;
}

/* Leases the L2's line to the L1 that reads it. */
void coh_line_lease(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *const line = e->line;
	const bool is_first = line->lease <= m->now;

	if (!e->by) {
		return;
	}
	NVW_DEEP_INVARIANT(emu_cache_has(&m->l2.cache, line));
	if (has_expired(m, e->by, line, e->id)) {
		m->stats.tcs_expired++;
		lengthen(m, bank_of(m, e->id));
	}
	if (is_refused(m, line, e->id)) {
		m->stats.tcs_refused++;
		return;
	}
	if (is_first) {
		line->owner = (uint8_t)e->by->id;
	} else if (line->owner != e->by->id) {
		line->owner = SHARED;
	}
	line->lease = emu_later(line->lease, e->t + bank_of(m, e->id)->prediction);
	m->stats.tcs_leases++;
}

/* Gives the L1's line the answer's timestamp as its lease. */
void coh_line_take_lease(struct coh_event *e)
{
	const struct emu_line *const below = coh_l2_line(e->m, e->id);

	e->line->lease = 0;
	if (below && !is_refused(e->m, below, e->id)) {
		e->line->lease = below->lease;
	}
}

/* When the L2's line leaves, its lease goes to an MSHR; if all are taken, it waits for the first to end. */
void coh_line_keep_lease(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct leases_bank *const bank = bank_of(m, e->id);
	const uint64_t room = m->config.tcs.mshrs;

	forget_ended(bank, m->now);
	if (e->line->lease <= m->now) {
		return;
	}
	shorten(m, bank);
	if (!NVW_ROOM(bank->left, bank->capacity, bank->count + 1)) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for more than %u leases", bank->count);
		return;
	}
	if (bank->count >= room) {
		m->stats.tcs_full++;
		e->t = emu_later(e->t, bank->left[bank->count - room].until);
	}
	insert(bank, (struct leases_left){e->id, e->line->lease, e->line->refuses});
	m->stats.tcs_mshr_most = emu_later(m->stats.tcs_mshr_most, bank->count);
}

/* ---- Stores ---------------------------------------------------------------------------------- */

/* A store, at first at its CU: if the line is leased, it goes to the L2 and waits there until it is not. */
static emu_time await_lease(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	const emu_time until = leased_until(m, r->cu, r->line);
	struct coh_wait *w;

	if (until <= m->now) {
		begin_anew(m, r->line);
		return t;
	}
	w = coh_put_off(r, EMU_CAUSE_lease, t);
	if (!w) {
		return t;
	}
	if (!r->is_at_l2) {
		w->request.is_at_l2 = true;
		coh_wake(m, w, coh_send_to_l2(r, t));
	} else {
		NVW_DEEP_INVARIANT(until > m->now);
		shorten(m, bank_of(m, r->line));
		refuse_until(m, r->line, until);
		coh_wake(m, w, until);
	}
	return COH_NOT_YET;
}

/* ---- Invariants ------------------------------------------------------------------------------ */

static const char *broken_lease(const struct nvw_machine *m, const struct emu_cu *cu, emu_line_id id)
{
	const struct emu_line *const line = coh_l1_line(cu, id);

	if (!line || !coh_is_leased(m, line)) {
		return NULL;
	}
	if (line->dirty) {
		return "an L1 keeps a store";
	}
	if (line->lease > leased_until(m, NULL, id)) {
		return "the L2 does not know how long an L1 keeps a line";
	}
	if (coh_differs_below(m, line, id)) {
		return "an L1 has an old byte while its lease runs";
	}
	return NULL;
}

const char *coh_leases_broken(const struct nvw_machine *m, emu_line_id id)
{
	const char *broken = NULL;

	for (unsigned i = 0; i < m->config.cus && !broken; i++) {
		broken = broken_lease(m, &m->cus[i], id);
	}
	return NVW_OR(broken, coh_broken_dirty(m, id, COH_LEASES_DIRTY));
}

/* ---- A machine's life ------------------------------------------------------------------------ */

int coh_leases_init(struct nvw_machine *m)
{
	if (!m->protocol->leases) {
		return 0;
	}
	m->leases = calloc(1, sizeof *m->leases);
	if (m->leases) {
		m->leases->bank = calloc(m->l2.banks, sizeof *m->leases->bank);
	}
	NVW_FAIL_IF(!m->leases || !m->leases->bank, NVW_E_MEMORY, "no memory for the leases of %u banks",
		m->l2.banks);
	NVW_EACH(bank, m->leases->bank, m->l2.banks) {
		bank->prediction = m->config.tcs.lease;
	}
	return 0;
}

void coh_leases_finish(struct nvw_machine *m)
{
	for (uint32_t i = 0; m->leases && m->leases->bank && i < m->l2.banks; i++) {
		free(m->leases->bank[i].left);
	}
	if (m->leases) {
		free(m->leases->bank);
	}
	free(m->leases);
}

/* ---- Names in the tables --------------------------------------------------------------------- */

#define X(name, text, part) const struct coh_action_info coh_##name = {name, text, COH_PART_##part};
COH_LEASE_ACTIONS(X)
#undef X
