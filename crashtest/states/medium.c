/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaying the NVRAM of a logged run. See medium.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/zeroed.h"

#include "files.h"
#include "medium.h"
#include "mixed.h"
#include "trust.h"

/* ---- Instants ------------------------------------------------------------------------------------------ */

static int apply(struct ct_medium *m, const struct nvw_log_record *r)
{
	__attribute__((unused)) const bool completes = ct_order_completes(m, r);
	__attribute__((unused)) const uint64_t durable = m->image.hash;

	if (m->seen) {
		m->seen(m->context, m, r);
	}
	m->time_ps = r->time_ps > m->rules.begin_ps ? r->time_ps - m->rules.begin_ps : 0;
	m->record++;
	if (r->kind == NVW_LOG_STORE) {
		m->newest_site = r->store.site;
	}
	int error = ct_order_apply(m, r);

	if (!error) {
		error = ct_trust_apply(m, r);
	}

	/* Else there should have been an instant before it, unless stores persist together. */
	NVW_INVARIANT(
		completes || m->image.hash == durable || ct_keeps_all(m) || m->joins || m->rules.limits);
	ct_image_commit(&m->image);
	return error;
}

/* The reader's buffers hold data only until its next call. */
static void keep_pending(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(!m->has_pending);
	m->pending = *r;
	if (r->kind == NVW_LOG_HOST) {
		memcpy(m->pending_data, r->host.data, r->host.bytes);
		m->pending.host.data = (const uint8_t *)m->pending_data;
	}
	m->has_pending = true;
}

static void leave_instant(struct ct_medium *m)
{
	NVW_INVARIANT(m->instant > 0);
	ct_trust_show(m);
	NVW_EACH(cell, m->cell, m->cell_count) {
		cell->old_count = cell->count;
	}
	m->old_stores = m->stores;
	m->changed = m->obliged = m->obliged_by_ack = false;
}

/* The states are of the intervals between fences. */
static bool of_intervals(const struct ct_medium *m)
{
	return ct_model_info(m->rules.model)->axioms & CT_A(INTERVAL);
}

/* Each cell is where its unit says, and its versions are in the order of their writes, old ones first. Only
 * an interval of pmreorder may have a cell without versions, whose stores change nothing. */
__attribute__((unused)) static bool cells_are_in_order(const struct ct_medium *m)
{
	const unsigned fewest = !of_intervals(m);

	NVW_FOR(i, m->cell_count) {
		const struct ct_cell *const c = &m->cell[i];

		if (m->cell_of[c->off / m->unit_bytes] != i + 1 || c->count < fewest ||
			c->old_count > c->count) {
			return false;
		}
		for (unsigned v = 1; v < c->count; v++) {
			if (c->write[v - 1] > c->write[v]) {
				return false;
			}
		}
	}
	return true;
}

/* Stores in flight have numbers without gaps, the newest is the newest store, and one that has landed is not
 * the first. Where they stay, each names its cell and version. */
__attribute__((unused)) static bool flights_are_in_order(const struct ct_medium *m)
{
	const uint64_t count = m->flight_count - m->flight_head;

	if (ct_model_info(m->rules.model)->axioms & CT_A(DEVICE)) {
		return true; /* write-backs, with numbers of the log */
	}
	NVW_FOR(i, count) {
		const struct ct_flight *const f = &m->flight[m->flight_head + i];

		if (f->write != m->stores - (count - 1 - i) || (i == 0 && f->done)) {
			return false;
		}
		if (ct_keeps_all(m) && (f->cell >= m->cell_count || f->version >= m->cell[f->cell].count ||
					       m->cell[f->cell].write[f->version] != f->write)) {
			return false;
		}
	}
	return true;
}

static int arrive(struct ct_medium *m)
{
	NVW_TRY(ct_order_at_instant(m));
	NVW_DEEP_INVARIANT(cells_are_in_order(m) && flights_are_in_order(m));
	NVW_TRY(ct_trust_hide(m));
	m->instant++;
	return 1;
}

int ct_medium_next(struct ct_medium *m)
{
	struct nvw_log_record r;
	int error;

	NVW_INVARIANT(m->image.undo_count == 0 && m->dropped.count == 0); /* no state is applied */
	if (m->at_end) {
		return 0;
	}
	if (m->instant > 0) {
		leave_instant(m);
	}
	if (m->has_pending) {
		m->has_pending = false;
		NVW_TRY(apply(m, &m->pending));
	}
	while ((error = nvw_log_next(m->reader, &r)) == 1) {
		if (m->record == m->first_record) {
			m->changed = m->obliged = true;
		}
		if (m->changed && m->record >= m->first_record && ct_order_completes(m, &r)) {
			keep_pending(m, &r);
			return arrive(m);
		}
		NVW_TRY(apply(m, &r));
	}
	if (error < 0) {
		return error;
	}
	m->at_end = true;
	if (m->changed && m->record >= m->first_record && !of_intervals(m)) {
		return arrive(m);
	}
	return 0;
}

/* ---- States -------------------------------------------------------------------------------------------- */

void ct_medium_apply(struct ct_medium *m, const unsigned *levels)
{
	ct_medium_set_levels(m, levels);
	if (ct_keeps_all(m)) {
		ct_order_drop_told(m, levels);
	}
}

void ct_medium_undo(struct ct_medium *m)
{
	const struct ct_told *told = m->dropped.at;

	NVW_INVARIANT(m->dropped.count <= m->dropped.capacity);
	ct_image_undo(&m->image, 0);
	NVW_EACH(one, told, m->dropped.count) {
		nvw__acks_restore(&m->acks, one->first, one->count);
	}
	m->dropped.count = 0;
}

uint64_t ct_medium_key(const struct ct_medium *m)
{
	return m->image.hash ^ m->acks.hash;
}

/* ---- Beginning and end --------------------------------------------------------------------------------- */

/* What persists in order, or together: a line of a host program, what a device completes at once, else a
 * word. */
static unsigned unit_of(const struct ct_rules *rules, unsigned of_log)
{
	const struct ct_model_info *const model = ct_model_info(rules->model);

	if (model->axioms & CT_A(LINE)) {
		return NVW_LOG_LINE_BYTES;
	}
	if (model->axioms & CT_A(SECTOR)) {
		return rules->unit_bytes ? rules->unit_bytes : 512;
	}
	if (rules->mixed || (model->of_runs && !model->of_programs)) {
		return 8;
	}
	return rules->unit_bytes ? rules->unit_bytes : of_log;
}

static int make_memory(struct ct_medium *m)
{
	m->cell_of = nvw__zeroed(m->image.bytes / m->unit_bytes * sizeof *m->cell_of);
	if (m->rules.mixed) {
		m->completed = ct_mixed_completed;
		m->mixed = calloc(1, sizeof *m->mixed);
	}
	NVW_FAIL_IF(!m->cell_of || (m->rules.mixed && !m->mixed), NVW_E_MEMORY,
		"no memory for the stores in flight");
	return 0;
}

static int fill_medium(struct ct_medium *m, const void *initial, uint64_t bytes)
{
	const struct nvw_log_info *const log = nvw_log_info(m->reader);
	const uint32_t axioms = ct_model_info(m->rules.model)->axioms;

	m->unit_bytes = unit_of(&m->rules, log->atomicity);
	m->by_bytes = m->rules.mixed || axioms & CT_A(BYTES);
	m->joins = (axioms & CT_A(SECTOR)) ||
		   ((axioms & (CT_A(LINE) | CT_A(AT_ONCE))) && ct_model_names_threads(log->model) &&
			   log->atomicity == 64);
	NVW_FAIL_IF(log->pool_bytes != bytes || bytes % m->unit_bytes != 0, NVW_E_INPUT,
		"persist log: expected one of a pool of %llu bytes in units of %u, found %llu",
		(unsigned long long)bytes, m->unit_bytes, (unsigned long long)log->pool_bytes);
	NVW_TRY(ct_image_create(initial, m->rules.filled, bytes, &m->image));
	NVW_TRY(ct_files_begin(m));
	return make_memory(m);
}

int ct_medium_create(int log_fd, const void *initial, uint64_t bytes, uint64_t first_record,
	const struct ct_rules *rules, struct ct_medium *ret_medium)
{
	*ret_medium = (struct ct_medium){.rules = *rules, .first_record = first_record};
	NVW_TRY(nvw_log_open_fd(dup(log_fd), "persist log", &ret_medium->reader));
	const int error = fill_medium(ret_medium, initial, bytes);

	if (error) {
		ct_medium_destroy(ret_medium);
	}
	return error;
}

unsigned ct_medium_atomicity(const struct ct_medium *m)
{
	if (ct_model_info(m->rules.model)->axioms & (CT_A(LINE) | CT_A(SECTOR))) {
		return nvw_log_info(m->reader)->atomicity;
	}
	return m->unit_bytes;
}

void ct_medium_destroy(struct ct_medium *m)
{
	nvw_log_reader_close(m->reader);
	nvw__zeroed_free(
		m->cell_of, m->image.bytes / (m->unit_bytes ? m->unit_bytes : 1) * sizeof *m->cell_of);
	ct_image_destroy(&m->image);
	nvw__acks_free(&m->acks);
	free(m->changed_words.at);
	free(m->changed_acks.at);
	NVW_EACH(cell, m->cell, m->cell_capacity) {
		free(cell->write);
		free(cell->content);
		free(cell->made);
	}
	free(m->cell);
	free(m->flight);
	free(m->newest.at);
	free(m->owed_item.at);
	free(m->owed_group.at);
	free(m->told.at);
	free(m->dropped.at);
	free(m->flush.at);
	free(m->element.at);
	free(m->growth.at);
	free(m->need.at);
	free(m->cut.at);
	free(m->settled.at);
	free(m->landed.at);
	ct_trust_free(m);
	if (m->mixed) {
		ct_mixed_free(m->mixed);
		free(m->mixed);
	}
	*m = (struct ct_medium){0};
}
