/* SPDX-License-Identifier: BSD-3-Clause */
/* Two stores exchanged; a flush or a fence behind a line. See edit.h. */
#include <stdlib.h>

#include "edit_runs.h"

/* ---- Exchange --------------------------------------------------------------------------------------------------- */

static bool touch(const struct nvw_log_record *a, const struct nvw_log_record *b)
{
	return a->kind == NVW_LOG_STORE && b->kind == NVW_LOG_STORE &&
	       (a->store.off & ~(nvw_off)7) == (b->store.off & ~(nvw_off)7);
}

/* True if somebody stores to a word of the run between two places, other than the run itself. */
static bool is_crossed(const struct edit_log *log, const struct run *run, const struct ct_line *line,
	uint64_t from, uint64_t to)
{
	for (uint64_t i = run->first; i <= run->last; i++) {
		if (!edit_run_has(log, i, run, line)) {
			continue;
		}
		for (uint64_t k = from; k <= to; k++) {
			if (touch(&edit_entry_at(log, i)->record, &edit_entry_at(log, k)->record) &&
				!edit_run_has(log, k, run, line)) {
				return true;
			}
		}
	}
	return false;
}

static void take_epochs(struct nvw_log_record *to, const struct nvw_log_record *from)
{
	const uint32_t wi = from->kind == NVW_LOG_ACK ? from->ack.epoch_wi : from->store.epoch_wi,
		       wg = from->kind == NVW_LOG_ACK ? from->ack.epoch_wg : from->store.epoch_wg,
		       kr = from->kind == NVW_LOG_ACK ? from->ack.epoch_kr : from->store.epoch_kr;

	if (to->kind == NVW_LOG_ACK) {
		to->ack.epoch_wi = wi;
		to->ack.epoch_wg = wg;
		to->ack.epoch_kr = kr;
	} else {
		to->store.epoch_wi = wi;
		to->store.epoch_wg = wg;
		to->store.epoch_kr = kr;
	}
}

static void move_run(
	struct edit_log *log, const struct run *run, const struct ct_line *line, uint64_t to, bool behind)
{
	for (uint64_t i = run->first; i <= run->last; i++) {
		if (edit_run_has(log, i, run, line)) {
			take_epochs(&edit_entry_at(log, i)->record, &edit_entry_at(log, to)->record);
			edit_log_move(log, i, to, behind);
		}
	}
}

/* The run at b that follows one at a, before the actor's next one at a. */
static const struct run *partner(const struct run *a, const struct runs *at_b)
{
	uint64_t low = 0, high = at_b->run.count;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (run_at(at_b, middle)->first > a->last) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	for (uint64_t k = low; k < at_b->run.count && run_at(at_b, k)->first < a->again; k++) {
		const struct run *const b = run_at(at_b, k);

		if (b->actor.kernel == a->actor.kernel && b->actor.number == a->actor.number) {
			return b;
		}
	}
	return NULL;
}

static int cannot(const struct ct_edit *e)
{
	return nvw_fail(NVW_E_USAGE,
		"%s:%u and %s:%u cannot be exchanged in the log: between the two, another work-item or thread stored to their words",
		e->a.file, e->a.line, e->b.file, e->b.line);
}

static int exchange(struct edit_log *log, const struct ct_edit *e, const struct run *a, const struct run *b)
{
	const bool acknowledges = edit_entry_at(log, a->first)->record.kind == NVW_LOG_ACK;

	if (!acknowledges && !is_crossed(log, b, &e->b, a->first, b->last)) {
		move_run(log, b, &e->b, a->first, false);
		return 0;
	}
	if (!is_crossed(log, a, &e->a, a->first, b->last)) {
		move_run(log, a, &e->a, b->last, true);
		return 0;
	}
	return cannot(e);
}

/* ---- Rounds ----------------------------------------------------------------------------------------------------- */

struct round {
	struct actor actor;
	uint64_t first, last;      /* places of the first run at a, and of the last one's end at b */
	uint64_t count_a, count_b; /* runs */
	bool a_moves;
};

struct rounds {
	struct ct_array round; /* struct round, number i at i - 1 */
	struct ct_array open;  /* uint64_t by actor's number: its last round; 0: none */
};

static struct round *round_at(const struct rounds *s, uint64_t number)
{
	return (struct round *)s->round.at + number - 1;
}

static int add_to_round(struct rounds *s, struct run *run, bool is_a)
{
	int error = ct_array_grow(&s->open, run->actor.number + 1, sizeof(uint64_t));
	uint64_t *const open = error ? NULL : (uint64_t *)s->open.at + run->actor.number;
	struct round *r = open && *open ? round_at(s, *open) : NULL;

	r = r && r->actor.kernel == run->actor.kernel ? r : NULL;
	if (!error && is_a && (r == NULL || r->count_b > 0)) {
		error = ct_array_grow(&s->round, s->round.count + 1, sizeof(struct round));
		if (!error) {
			*open = ++s->round.count;
			r = round_at(s, *open);
			*r = (struct round){.actor = run->actor, .first = run->first};
		}
	}
	if (!error && r != NULL) {
		run->round = *open;
		r->last = is_a ? r->last : run->last;
		r->count_a += is_a;
		r->count_b += !is_a;
	}
	return error;
}

static int find_rounds(const struct runs *at_a, const struct runs *at_b, struct rounds *ret)
{
	struct rounds s = {0};
	uint64_t k = 0;
	int error = 0;

	for (uint64_t i = 0; (i < at_a->run.count || k < at_b->run.count) && !error;) {
		const bool is_a = k == at_b->run.count ||
				  (i < at_a->run.count && run_at(at_a, i)->first < run_at(at_b, k)->first);

		error = add_to_round(&s, is_a ? run_at(at_a, i) : run_at(at_b, k), is_a);
		i += is_a;
		k += !is_a;
	}
	free(s.open.at);
	s.open = (struct ct_array){0};
	*ret = s;
	return error;
}

/* Those at b come first; where somebody else's stores are in the way, those at a come last. */
static int exchange_rounds(
	struct edit_log *log, const struct ct_edit *e, const struct runs *at_a, const struct runs *at_b)
{
	struct rounds s;
	int error = find_rounds(at_a, at_b, &s);

	for (uint64_t i = 0; i < at_b->run.count && !error; i++) {
		const struct run *const b = run_at(at_b, i);
		struct round *const r = b->round ? round_at(&s, b->round) : NULL;

		if (r != NULL) {
			r->a_moves = r->a_moves || edit_entry_at(log, r->first)->record.kind == NVW_LOG_ACK ||
				     is_crossed(log, b, &e->b, r->first, b->last);
		}
	}
	for (uint64_t i = 0; i < at_a->run.count && !error; i++) {
		const struct run *const a = run_at(at_a, i);
		const struct round *const r = round_at(&s, a->round);

		error = r->a_moves && is_crossed(log, a, &e->a, a->first, r->last) ? cannot(e) : 0;
		if (r->a_moves && !error) {
			move_run(log, a, &e->a, r->last, true);
		}
	}
	for (uint64_t i = 0; i < at_b->run.count && !error; i++) {
		const struct run *const b = run_at(at_b, i);

		if (b->round != 0 && !round_at(&s, b->round)->a_moves) {
			move_run(log, b, &e->b, round_at(&s, b->round)->first, false);
		}
	}
	free(s.round.at);
	return error;
}

int ct_edit_look_for_rounds(int log_fd, struct ct_edit *e)
{
	struct runs at_a = {0}, at_b = {0};
	struct rounds s = {0};
	struct edit_log log;
	int error = edit_log_read(log_fd, 0, &log);

	e->rounds = false;
	if (error) {
		return error;
	}
	error = edit_runs_find(&log, &e->a, CT_KIND(STORE) | CT_KIND(ACK), &at_a);
	error = error ? error : edit_runs_find(&log, &e->b, CT_KIND(STORE), &at_b);
	error = error ? error : find_rounds(&at_a, &at_b, &s);
	for (uint64_t i = 1; i <= s.round.count; i++) {
		const struct round *const r = round_at(&s, i);

		e->rounds = e->rounds || (r->count_b > 0 && r->count_a + r->count_b > 2);
	}
	free(s.round.at);
	free(at_a.run.at);
	free(at_b.run.at);
	edit_log_free(&log);
	return error;
}

/* ---- Both ------------------------------------------------------------------------------------------------------- */

static int exchange_pairs(
	struct edit_log *log, const struct ct_edit *e, const struct runs *at_a, const struct runs *at_b)
{
	uint64_t pairs = 0;
	int error = 0;

	for (uint64_t i = 0; i < at_a->run.count && !error; i++) {
		const struct run *const b = partner(run_at(at_a, i), at_b);

		error = b ? exchange(log, e, run_at(at_a, i), b) : 0;
		pairs += b != NULL;
	}
	if (!error && pairs == 0) {
		error = nvw_fail(NVW_E_USAGE,
			"%s:%u is not stored to by any work-item or thread that stored at %s:%u before",
			e->b.file, e->b.line, e->a.file, e->a.line);
	}
	return error;
}

int edit_exchange(struct edit_log *log, const struct ct_edit *e)
{
	const uint32_t first_kinds = CT_KIND(STORE) | CT_KIND(ACK), then_kinds = CT_KIND(STORE);
	struct runs at_a = {0}, at_b = {0};
	int error = edit_runs_find(log, &e->a, first_kinds, &at_a);

	error = error ? error : edit_runs_find(log, &e->b, then_kinds, &at_b);
	if (!error && at_a.run.count == 0) {
		error = edit_log_no_line(log, &e->a, first_kinds, "store");
	}
	if (!error && at_b.run.count == 0) {
		error = edit_log_no_line(log, &e->b, then_kinds, "store");
	}
	error = error     ? error :
		e->rounds ? exchange_rounds(log, e, &at_a, &at_b) :
			    exchange_pairs(log, e, &at_a, &at_b);
	free(at_a.run.at);
	free(at_b.run.at);
	return error ? error : edit_log_settle(log);
}

/* ---- Flush and fence -------------------------------------------------------------------------------------------- */

/* Each line once. */
static int flush_run(struct edit_log *log, const struct run *run, const struct ct_line *line)
{
	nvw_off last = UINT64_MAX;
	int error = 0;

	for (uint64_t i = run->first; i <= run->last && !error; i++) {
		const struct nvw_log_record *const r = &edit_entry_at(log, i)->record;
		const nvw_off at = r->kind == NVW_LOG_STORE ? r->store.off & ~(nvw_off)63 : UINT64_MAX;

		if (edit_run_has(log, i, run, line) && at != last) {
			const struct nvw_log_record flush = {.kind = NVW_LOG_FLUSH,
				.flush = {.site = r->store.site,
					.thread = run->actor.number,
					.off = at,
					.bytes = NVW_LOG_LINE_BYTES}};

			last = at;
			error = edit_log_add(log, run->last, true, &flush);
		}
	}
	return error;
}

/* Finds the runs of a line of host code; refuses a line in a kernel, which has no flushes or fences. */
static int find_on_host(const struct edit_log *log, const struct ct_line *line, uint32_t kinds,
	const char *lacks, struct runs *ret)
{
	int error = edit_runs_find(log, line, kinds, ret);

	if (!error && ret->run.count == 0) {
		error = edit_log_no_line(log, line, kinds, lacks);
	}
	if (!error && run_at(ret, 0)->actor.kernel != 0) {
		error = nvw_fail(NVW_E_USAGE,
			"%s:%u is in a kernel, which has barriers and no flushes or fences", line->file,
			line->line);
	}
	return error;
}

int edit_flushes(struct edit_log *log, const struct ct_edit *e)
{
	struct runs s = {0};
	int error = find_on_host(log, &e->a, CT_KIND(STORE), "store", &s);

	for (uint64_t i = 0; i < s.run.count && !error; i++) {
		error = flush_run(log, run_at(&s, i), &e->a);
	}
	free(s.run.at);
	return error ? error : edit_log_settle(log);
}

int edit_fences(struct edit_log *log, const struct ct_edit *e)
{
	const uint32_t kinds = CT_KIND(STORE) | CT_KIND(FLUSH);
	struct runs s = {0};
	int error = find_on_host(log, &e->a, kinds, "store or flush", &s);

	for (uint64_t i = 0; i < s.run.count && !error; i++) {
		const struct run *const run = run_at(&s, i);
		const struct nvw_log_record fence = {.kind = NVW_LOG_FENCE,
			.fence = {.site = edit_site_of(&edit_entry_at(log, run->first)->record),
				.thread = run->actor.number}};

		/* A thread that does nothing more has still executed the fence; the log does not say when. */
		error = run->next != UINT64_MAX ? edit_log_add(log, run->next, false, &fence) : 0;
	}
	free(s.run.at);
	return error ? error : edit_log_settle(log);
}

/* What the thread does next is after the call. */
static bool ends_with_call(const struct edit_log *log, const struct run *run, const struct ct_line *line)
{
	const struct edit_site *const caller =
		edit_log_caller(log, edit_site_of(&edit_entry_at(log, run->first)->record), line);
	const uint32_t next =
		run->next != UINT64_MAX ? edit_site_of(&edit_entry_at(log, run->next)->record) : 0;

	return run->next == UINT64_MAX || edit_log_has_returned(log, next, caller, line);
}

int ct_edit_look_behind_call(int log_fd, struct ct_edit *e)
{
	struct edit_log log;
	struct runs s = {0};
	int error;

	e->behind_call = false;
	if (e->kind != CT_EDIT_FENCE || e->a.caller_line == 0) {
		return 0;
	}
	error = edit_log_read(log_fd, 0, &log);
	if (error) {
		return error;
	}
	error = edit_runs_find(&log, &e->a, CT_KIND(STORE) | CT_KIND(FLUSH), &s);
	e->behind_call = !error;
	for (uint64_t i = 0; i < s.run.count; i++) {
		e->behind_call = e->behind_call && ends_with_call(&log, run_at(&s, i), &e->a);
	}
	free(s.run.at);
	edit_log_free(&log);
	return error;
}
