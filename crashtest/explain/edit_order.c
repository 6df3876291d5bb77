/* SPDX-License-Identifier: BSD-3-Clause */
/* Two stores exchanged; a flush or a fence behind a line. See edit.h. */
#include <stdlib.h>

#include "core/search.h"

#include "edit_runs.h"

/* ---- Exchange ------------------------------------------------------------------------------------------ */

static bool touch(const struct nvw_log_record *a, const struct nvw_log_record *b)
{
	return a->kind == NVW_LOG_STORE && b->kind == NVW_LOG_STORE &&
	       (a->store.off & ~(nvw_off)7) == (b->store.off & ~(nvw_off)7);
}

/* True if somebody stores to a record's word between two places, other than the run itself. */
static bool is_touched(const struct edit_log *log, const struct run *run, const struct ct_line *line,
	uint64_t record, uint64_t from, uint64_t to)
{
	NVW_INVARIANT(record >= run->first && record <= run->last);
	for (uint64_t k = from; k <= to; k++) {
		if (touch(edit_record_at(log, record), edit_record_at(log, k)) &&
			!edit_run_has(log, k, run, line)) {
			return true;
		}
	}
	return false;
}

/* The same for any word of the run. */
static bool is_crossed(const struct edit_log *log, const struct run *run, const struct ct_line *line,
	uint64_t from, uint64_t to)
{
	NVW_INVARIANT(run->first <= run->last);
	for (uint64_t i = run->first; i <= run->last; i++) {
		if (edit_run_has(log, i, run, line) && is_touched(log, run, line, i, from, to)) {
			return true;
		}
	}
	return false;
}

static void take_epochs(struct nvw_log_record *to, struct nvw_log_record *from)
{
	const struct edit_epochs mine = edit_epochs_of(to), its = edit_epochs_of(from);

	*mine.wi = *its.wi;
	*mine.wg = *its.wg;
	*mine.kr = *its.kr;
}

static void move_run(
	struct edit_log *log, const struct run *run, const struct ct_line *line, uint64_t to, bool behind)
{
	NVW_INVARIANT(run->first <= run->last);
	for (uint64_t i = run->first; i <= run->last; i++) {
		if (edit_run_has(log, i, run, line)) {
			take_epochs(edit_record_at(log, i), edit_record_at(log, to));
			edit_log_move(log, i, to, behind);
		}
	}
}

/* The run at b that follows one at a, before the actor's next one at a. */
static const struct run *partner(const struct run *a, const struct runs *at_b)
{
	NVW_INVARIANT(a->first <= a->last);
	const uint64_t behind = NVW_FIRST(i, 0, at_b->run.count, run_at(at_b, i)->first > a->last);

	for (uint64_t k = behind; k < at_b->run.count && run_at(at_b, k)->first < a->again; k++) {
		const struct run *const b = run_at(at_b, k);

		if (ct_is_same_item(&b->actor, &a->actor)) {
			return b;
		}
	}
	return NULL;
}

static int cannot(const struct ct_edit *e)
{
	return nvw_fail(NVW_E_USAGE,
		"%s:%u and %s:%u cannot be exchanged in the log: between the two, another work-item or "
		"thread stored to their words",
		e->a.file, e->a.line, e->b.file, e->b.line);
}

static int exchange(struct edit_log *log, const struct ct_edit *e, const struct run *a, const struct run *b)
{
	const bool acknowledges = edit_is_kind(log, a->first, NVW_LOG_ACK);

	NVW_INVARIANT(a->first <= a->last && b->first <= b->last);
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

/* ---- Rounds -------------------------------------------------------------------------------------------- */

struct round {
	struct ct_by actor;
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
	NVW_DEEP_INVARIANT(number >= 1 && number <= s->round.count);
	return (struct round *)s->round.at + number - 1;
}

static int add_to_round(struct rounds *s, struct run *run, bool is_a)
{
	NVW_TRY(ct_array_grow(&s->open, run->actor.work_item + 1, sizeof(uint64_t)));
	uint64_t *const open = (uint64_t *)s->open.at + run->actor.work_item;
	struct round *r = NULL;

	if (*open != 0 && round_at(s, *open)->actor.kernel == run->actor.kernel) {
		r = round_at(s, *open);
	}
	if (is_a && (!r || r->count_b > 0)) {
		NVW_TRY(ct_array_grow(&s->round, s->round.count + 1, sizeof(struct round)));
		*open = ++s->round.count;
		r = round_at(s, *open);
		*r = (struct round){.actor = run->actor, .first = run->first};
	}
	if (!r) {
		return 0;
	}
	run->round = *open;
	r->count_a += is_a;
	r->count_b += !is_a;
	if (!is_a) {
		r->last = run->last;
	}
	return 0;
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

/* In which rounds somebody else's stores are in the way of b. */
static void note_crossed(
	const struct edit_log *log, const struct ct_edit *e, const struct run *b, struct round *r)
{
	NVW_INVARIANT(b->round != 0);
	r->a_moves = r->a_moves || edit_is_kind(log, r->first, NVW_LOG_ACK) ||
		     is_crossed(log, b, &e->b, r->first, b->last);
}

static void find_crossed(
	const struct edit_log *log, const struct ct_edit *e, const struct runs *at_b, const struct rounds *s)
{
	NVW_FOR(i, at_b->run.count) {
		const struct run *const b = run_at(at_b, i);

		if (b->round != 0) {
			note_crossed(log, e, b, round_at(s, b->round));
		}
	}
}

static int move_first_runs(
	struct edit_log *log, const struct ct_edit *e, const struct runs *at_a, const struct rounds *s)
{
	NVW_FOR(i, at_a->run.count) {
		const struct run *const a = run_at(at_a, i);
		const struct round *const r = round_at(s, a->round);

		if (r->a_moves && is_crossed(log, a, &e->a, a->first, r->last)) {
			return cannot(e);
		}
		if (r->a_moves) {
			move_run(log, a, &e->a, r->last, true);
		}
	}
	return 0;
}

/* Those at b come first; where somebody else's stores are in the way, those at a come last. */
static int exchange_rounds(
	struct edit_log *log, const struct ct_edit *e, const struct runs *at_a, const struct runs *at_b)
{
	struct rounds s;
	int error = find_rounds(at_a, at_b, &s);

	if (!error) {
		find_crossed(log, e, at_b, &s);
		error = move_first_runs(log, e, at_a, &s);
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

/* The runs of both sides of an exchange. */
struct pair {
	struct runs at_a, at_b;
};

static void free_pair(struct pair *p)
{
	free(p->at_a.run.at);
	free(p->at_b.run.at);
}

static int find_pair(const struct edit_log *log, const struct ct_edit *e, struct pair *p)
{
	NVW_TRY(edit_runs_find(log, &e->a, CT_KIND(STORE) | CT_KIND(ACK), &p->at_a));
	return edit_runs_find(log, &e->b, CT_KIND(STORE), &p->at_b);
}

static int look_for_rounds(const struct edit_log *log, struct ct_edit *e, struct pair *p)
{
	struct rounds s = {0};

	NVW_TRY(find_pair(log, e, p));
	const int error = find_rounds(&p->at_a, &p->at_b, &s);

	for (uint64_t i = 1; i <= s.round.count; i++) {
		const struct round *const r = round_at(&s, i);

		e->rounds |= r->count_b > 0 && r->count_a + r->count_b > 2;
	}
	free(s.round.at);
	return error;
}

int ct_edit_look_for_rounds(int log_fd, struct ct_edit *e)
{
	struct pair p = {0};

	NVW_INVARIANT(e->kind == CT_EDIT_EXCHANGE);
	struct edit_log log;

	e->rounds = false;
	NVW_TRY(edit_log_read(log_fd, 0, &log));
	const int error = look_for_rounds(&log, e, &p);

	free_pair(&p);
	edit_log_free(&log);
	return error;
}

/* ---- Both ---------------------------------------------------------------------------------------------- */

static int exchange_pairs(
	struct edit_log *log, const struct ct_edit *e, const struct runs *at_a, const struct runs *at_b)
{
	uint64_t pairs = 0;
	int error = 0;

	for (uint64_t i = 0; i < at_a->run.count && !error; i++) {
		const struct run *const b = partner(run_at(at_a, i), at_b);

		if (b) {
			error = exchange(log, e, run_at(at_a, i), b);
			pairs++;
		}
	}
	if (!error && pairs == 0) {
		error = nvw_fail(NVW_E_USAGE,
			"%s:%u is not stored to by any work-item or thread that stored at %s:%u before",
			e->b.file, e->b.line, e->a.file, e->a.line);
	}
	return error;
}

static int exchange_all(struct edit_log *log, const struct ct_edit *e, struct pair *p)
{
	NVW_TRY(find_pair(log, e, p));
	if (p->at_a.run.count == 0) {
		return edit_log_no_line(log, &e->a, CT_KIND(STORE) | CT_KIND(ACK), "store");
	}
	if (p->at_b.run.count == 0) {
		return edit_log_no_line(log, &e->b, CT_KIND(STORE), "store");
	}
	if (e->rounds) {
		NVW_TRY(exchange_rounds(log, e, &p->at_a, &p->at_b));
	} else {
		NVW_TRY(exchange_pairs(log, e, &p->at_a, &p->at_b));
	}
	return edit_log_settle(log);
}

int edit_exchange(struct edit_log *log, const struct ct_edit *e)
{
	struct pair p = {0};

	NVW_INVARIANT(e->kind == CT_EDIT_EXCHANGE);
	const int error = exchange_all(log, e, &p);

	free_pair(&p);
	return error;
}

/* ---- Flush and fence ----------------------------------------------------------------------------------- */

/* Each line once. */
static int flush_run(struct edit_log *log, const struct run *run, const struct ct_line *line)
{
	nvw_off last = UINT64_MAX;

	NVW_INVARIANT(run->first <= run->last);
	for (uint64_t i = run->first; i <= run->last; i++) {
		const struct nvw_log_record *const r = edit_record_at(log, i);
		const nvw_off at = r->store.off & ~(nvw_off)63;

		if (r->kind == NVW_LOG_STORE && edit_run_has(log, i, run, line) && at != last) {
			const struct nvw_log_record flush = {.kind = NVW_LOG_FLUSH,
				.flush = {.site = r->store.site,
					.thread = run->actor.work_item,
					.off = at,
					.bytes = NVW_LOG_LINE_BYTES}};

			last = at;
			NVW_TRY(edit_log_add(log, run->last, true, &flush));
		}
	}
	return 0;
}

/* Finds the runs of a line of host code; refuses a line in a kernel, which has no flushes or fences. */
static int find_on_host(const struct edit_log *log, const struct ct_line *line, uint32_t kinds,
	const char *lacks, struct runs *ret)
{
	NVW_TRY(edit_runs_find(log, line, kinds, ret));
	if (ret->run.count == 0) {
		return edit_log_no_line(log, line, kinds, lacks);
	}
	NVW_FAIL_IF(run_at(ret, 0)->actor.kernel != 0, NVW_E_USAGE,
		"%s:%u is in a kernel, which has barriers and no flushes or fences", line->file, line->line);
	return 0;
}

static int fence_run(struct edit_log *log, const struct run *run, const struct ct_line *line)
{
	const struct nvw_log_record fence = {
		.kind = NVW_LOG_FENCE, .fence = {.site = run->actor.site, .thread = run->actor.work_item}};

	/* A thread that does nothing more has still executed the fence; the log does not say when. */
	return run->next == UINT64_MAX ? 0 : edit_log_add(log, run->next, false, &fence);
}

static int add_to_runs(struct edit_log *log, const struct ct_line *line, uint32_t kinds, const char *lacks,
	int (*add)(struct edit_log *log, const struct run *run, const struct ct_line *line))
{
	struct runs s = {0};
	int error = find_on_host(log, line, kinds, lacks, &s);

	for (uint64_t i = 0; i < s.run.count && !error; i++) {
		error = add(log, run_at(&s, i), line);
	}
	free(s.run.at);
	NVW_TRY(error);
	return edit_log_settle(log);
}

int edit_flushes(struct edit_log *log, const struct ct_edit *e)
{
	NVW_INVARIANT(e->kind == CT_EDIT_FLUSH);
	return add_to_runs(log, &e->a, CT_KIND(STORE), "store", flush_run);
}

int edit_fences(struct edit_log *log, const struct ct_edit *e)
{
	NVW_INVARIANT(e->kind == CT_EDIT_FENCE);
	return add_to_runs(log, &e->a, CT_KIND(STORE) | CT_KIND(FLUSH), "store or flush", fence_run);
}

/* What the thread does next is after the call. */
static bool ends_with_call(const struct edit_log *log, const struct run *run, const struct ct_line *line)
{
	const struct ct_names *const caller = edit_log_caller(log, run->actor.site, line);

	return run->next == UINT64_MAX ||
	       edit_log_has_returned(log, edit_site_of(edit_record_at(log, run->next)), caller, line);
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
	NVW_TRY(edit_log_read(log_fd, 0, &log));
	error = edit_runs_find(&log, &e->a, CT_KIND(STORE) | CT_KIND(FLUSH), &s);
	e->behind_call = !error;
	NVW_FOR(i, s.run.count) {
		e->behind_call = e->behind_call && ends_with_call(&log, run_at(&s, i), &e->a);
	}
	free(s.run.at);
	edit_log_free(&log);
	return error;
}
