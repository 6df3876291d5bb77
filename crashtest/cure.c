/* SPDX-License-Identifier: BSD-3-Clause */
/* Cures, proved. See cure.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stop.h"

#include "cure.h"
#include "group.h"
#include "hang.h"
#include "operations.h"
#include "process.h"

enum {
	TRIES_MAX = 24, /* proposals and sets of a finding */
	ASSUMED_MAX = 16,
	TRIAL_PART =
		10, /* of the test's budget, for one trial: what it leads to is explored with all of it */
	TRIAL_LEAST = 1000,
	EDITS_MAX = CT_FINDINGS_MAX * CT_CURE_MAX + ASSUMED_MAX
};

struct proof {
	const struct ct_exploration *e;
	enum ct_model model;
	struct ct_result *result; /* the findings, to which those that come to light are added */
	struct ct_result *trial;  /* of the exploration made last */
	struct ct_edit edit[EDITS_MAX];
	unsigned edits; /* assumptions of the test, then the cures so far */
	unsigned cures, masks;
	uint64_t failing; /* states that failed with the cures so far */
	bool clean;       /* no state failed in the last trial, which had all cures */
	uint64_t states;  /* budget of a trial */
	uint64_t done;
	double began;
	struct ct_hangs hangs; /* of all trials, unless the caller remembers them */
};

static void tell(const struct proof *p)
{
	const struct ct_options *const o = &p->e->options;
	const struct ct_progress progress = {
		.what = "proving cures", .done = p->done, .seconds = ct_wall_seconds() - p->began};

	if (o->progress != NULL) {
		o->progress(o->context, &progress);
	}
}

/* ---- Explorations of edited logs -------------------------------------------------------------------------------- */

/* 0 with the trial, 1 if an edit is refused, or an error. whole: not only up to the first state that fails. */
static int explore(struct proof *p, const struct ct_edit *edits, unsigned count, bool whole)
{
	struct ct_exploration e = *p->e;

	e.rules.model = p->model;
	e.head = NULL;
	e.options.save = NULL;
	e.options.resume = e.options.slices = NULL;
	e.options.shard = e.options.shards = 0;
	e.options.progress = NULL;
	e.options.states = p->states;
	e.hangs = e.hangs ? e.hangs : &p->hangs;
	e.options.unexplained = whole;
	e.options.stop_after = !whole;
	p->done++;
	tell(p);
	ct_result_free(p->trial);
	const int error = ct_explore_edited(&e, edits, count, NULL, p->trial);

	return error == NVW_E_USAGE ? 1 : error ? error : p->trial->interrupted ? NVW_E_STOPPED : 0;
}

/* All of it, without a state that fails or has no answer. */
static bool is_clean(const struct ct_result *r)
{
	return r->finding_count == 0 && ct_is_consistent(r);
}

static bool is_exhaustive(const struct ct_result *r)
{
	return ct_is_consistent(r) && ct_covers_all(r) && r->states_possible_exact;
}

/* The edits of the test, of all cures, and of what stands for those that there are not; but for one finding's. */
static unsigned collect(const struct proof *p, unsigned except, struct ct_edit edits[EDITS_MAX])
{
	const struct ct_options *const o = &p->e->options;
	unsigned count = 0;

	for (unsigned i = 0; i < o->assumed_count && i < ASSUMED_MAX; i++) {
		edits[count++] = o->assumed[i];
	}
	for (unsigned i = 0; i < p->result->finding_count; i++) {
		const struct ct_cure *const c = &p->result->finding[i].cure;

		for (unsigned k = 0; k < c->count && i != except && count < EDITS_MAX; k++) {
			edits[count++] = c->edit[k];
		}
		if (c->masked && i != except && count < EDITS_MAX) {
			edits[count++] = c->mask;
		}
	}
	return count;
}

/* ---- One finding ------------------------------------------------------------------------------------------------ */

static bool same_cause(const struct ct_finding *a, const struct ct_finding *b)
{
	char x[CT_TEXT_BYTES], y[CT_TEXT_BYTES];

	if (ct_groups_meet(&a->cause, &b->cause)) {
		return true;
	}
	if (*a->cause.lost != '\0' && *b->cause.lost != '\0') {
		return strcmp(a->cause.lost, b->cause.lost) == 0 &&
		       strcmp(a->cause.early, b->cause.early) == 0 &&
		       strcmp(a->cause.lost_caller, b->cause.lost_caller) == 0 &&
		       strcmp(a->cause.early_caller, b->cause.early_caller) == 0;
	}
	ct_shape(a->text, x);
	ct_shape(b->text, y);
	return strcmp(x, y) == 0;
}

enum outcome { FAILS, COUNTS, HOLDS };

/* The cures so far and a set of proposals. */
static int try_set(struct proof *p, const struct ct_finding *f, const unsigned *set, unsigned size,
	enum outcome *ret_outcome)
{
	*ret_outcome = FAILS;
	if (p->edits + size > EDITS_MAX) {
		return 0;
	}
	for (unsigned i = 0; i < size; i++) {
		p->edit[p->edits + i] = f->proposals.edit[set[i]];
	}
	const int error = explore(p, p->edit, p->edits + size, false);

	if (error) {
		return error < 0 ? error : 0;
	}
	if (is_clean(p->trial)) {
		*ret_outcome = HOLDS;
	} else if (p->trial->finding_count > 0 && !same_cause(&p->trial->finding[0], f)) {
		*ret_outcome = COUNTS;
	}
	return 0;
}

/* How many states fail with a set that counts. */
static int measure(struct proof *p, unsigned size, uint64_t *ret_failing)
{
	const int error = explore(p, p->edit, p->edits + size, true);

	*ret_failing = error ? UINT64_MAX : p->trial->states_failing;
	return error < 0 ? error : 0;
}

/* The next set of so many of n, in order. */
static bool next_set(unsigned *set, unsigned size, unsigned n)
{
	unsigned i = size;

	while (i > 0 && set[i - 1] == n - size + i - 1) {
		i--;
	}
	if (i == 0) {
		return false;
	}
	set[i - 1]++;
	for (unsigned k = i; k < size; k++) {
		set[k] = set[k - 1] + 1;
	}
	return true;
}

static void keep_set(struct ct_finding *f, const unsigned *set, unsigned size)
{
	f->cure.count = size;
	for (unsigned i = 0; i < size; i++) {
		f->cure.edit[i] = f->proposals.edit[set[i]];
	}
}

/* Sets of one size: the first that holds, else of those that count the one that leaves the fewest states that fail. An edit
 * that only moves the failure elsewhere leaves more than a cure. */
static int try_sets(struct proof *p, struct ct_finding *f, unsigned size, enum outcome *best)
{
	unsigned set[CT_CURE_MAX] = {0, 1, 2};
	bool more = size <= f->proposals.count;
	int error = 0;

	while (more && *best != HOLDS && f->cure.tried < TRIES_MAX && !error) {
		enum outcome outcome;

		f->cure.tried++;
		uint64_t failing = 0;

		error = try_set(p, f, set, size, &outcome);
		if (!error && outcome == COUNTS) {
			error = measure(p, size, &failing);
		}
		if (!error && outcome != FAILS && failing < p->failing) {
			*best = outcome;
			p->failing = failing;
			keep_set(f, set, size);
		}
		more = next_set(set, size, f->proposals.count);
	}
	return error;
}

/* With the first finding that is left when all cures are applied: one of the list, or a new one. */
static void note_next(struct proof *p, const struct ct_finding *next)
{
	struct ct_result *const r = p->result;

	for (unsigned i = 0; i < r->finding_count; i++) {
		if (same_cause(&r->finding[i], next)) {
			return;
		}
	}
	const unsigned most = p->e->options.stop_after ? p->e->options.stop_after : CT_FINDINGS_MAX;

	if (r->finding_count < most && r->finding_count < CT_FINDINGS_MAX) {
		r->finding[r->finding_count] = *next;
		r->finding[r->finding_count].states = 0; /* counted when all is known */
		r->finding[r->finding_count++].cure.behind = p->cures;
	}
}

/* Goes on with what has been found for a finding. */
static int go_on(struct proof *p, bool clean)
{
	p->edits = collect(p, UINT32_MAX, p->edit);
	p->clean = clean;
	if (clean) {
		return 0;
	}
	/* The finding of the last trial may be that of another set. */
	const int error = explore(p, p->edit, p->edits, false);

	if (!error && p->trial->finding_count > 0) {
		note_next(p, &p->trial->finding[0]);
	}
	return error < 0 ? error : 0;
}

/* Without a cure: its lost stores are assumed to persist before what relies on them, or to be durable at once, if that
 * shows what is behind it. */
static int mask_finding(struct proof *p, struct ct_finding *f)
{
	const struct ct_proposals kept = f->proposals;
	enum outcome outcome = FAILS;
	const unsigned first[] = {0};
	int error = 0;

	f->proposals = (struct ct_proposals){.count = 1, .edit = {{.kind = CT_EDIT_ORDERED}}};
	if (ct_propose_line(f->cause.lost, f->cause.lost_caller, &f->proposals.edit[0].a) &&
		ct_propose_line(f->cause.early, f->cause.early_caller, &f->proposals.edit[0].b)) {
		error = try_set(p, f, first, 1, &outcome);
	}
	if (!error && outcome == FAILS && f->proposals.edit[0].a.line != 0) {
		f->proposals.edit[0].kind = CT_EDIT_DURABLE;
		error = try_set(p, f, first, 1, &outcome);
	}
	f->cure.mask = f->proposals.edit[0];
	f->proposals = kept;
	if (!error && outcome != FAILS) {
		error = measure(p, 1, &p->failing);
	}
	if (error || outcome == FAILS) {
		return error;
	}
	f->cure.masked = true;
	p->masks++;
	return go_on(p, outcome == HOLDS);
}

/* A work-item barrier between two lines stands before the second one, whatever the first is. */
static bool is_same_edit(const struct ct_edit *x, const struct ct_edit *y)
{
	const bool before = x->kind == CT_EDIT_BARRIER && x->scope == NVW_WORKITEM && x->b.line != 0;

	return x->kind == y->kind && x->scope == y->scope && x->rounds == y->rounds && x->more_count == 0 &&
	       y->more_count == 0 && x->b.line == y->b.line && strcmp(x->b.file, y->b.file) == 0 &&
	       (before || (x->a.line == y->a.line && strcmp(x->a.file, y->a.file) == 0));
}

static void drop_repeated(struct ct_proposals *p)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < p->count; i++) {
		unsigned k = 0;

		while (k < kept && !is_same_edit(&p->edit[k], &p->edit[i])) {
			k++;
		}
		if (k == kept) {
			p->edit[kept++] = p->edit[i];
		}
	}
	p->count = kept;
}

static int try_all_sets(struct proof *p, struct ct_finding *f, enum outcome *best)
{
	int error = 0;

	for (unsigned size = 1; size <= CT_CURE_MAX && *best == FAILS && !error; size++) {
		error = try_sets(p, f, size, best);
	}
	return error;
}

/* Where no exchange of pairs helps, whole loops may have to be exchanged. */
static int try_rounds(struct proof *p, struct ct_finding *f, enum outcome *best)
{
	struct ct_edit *const first = &f->proposals.edit[0];
	int error;

	if (f->proposals.count == 0 || first->kind != CT_EDIT_EXCHANGE) {
		return 0;
	}
	error = ct_edit_look_for_rounds(p->e->log_fd, first);
	return error || !first->rounds ? error : try_all_sets(p, f, best);
}

static int cure_finding(struct proof *p, unsigned number)
{
	struct ct_finding *const f = &p->result->finding[number];
	enum outcome best = FAILS;
	int error = 0;

	if (f->proposals.count == 0) {
		ct_propose(&f->cause, &f->proposals);
	}
	drop_repeated(&f->proposals);
	error = try_all_sets(p, f, &best);
	if (!error && best == FAILS) {
		error = try_rounds(p, f, &best);
	}
	if (error || best == FAILS) {
		return error ? error : mask_finding(p, f);
	}
	p->cures++;
	return go_on(p, best == HOLDS);
}

/* ---- Findings that turn out to be one --------------------------------------------------------------------------- */

/* Takes finding i into finding to. */
static void join_finding(struct ct_result *r, unsigned to, unsigned i)
{
	ct_finding_absorb(&r->finding[to], &r->finding[i]);
	memmove(&r->finding[i], &r->finding[i + 1], (r->finding_count - i - 1) * sizeof r->finding[0]);
	r->finding_count--;
	for (unsigned k = 0; k < r->finding_count; k++) {
		struct ct_cure *const c = &r->finding[k].cure;

		c->cured_by = c->cured_by == i + 1 ? to + 1 : c->cured_by - (c->cured_by > i + 1);
	}
}

/* A finding that was met behind cures, and that another one's cure or assumption takes away: it is that cause in other words. */
static void join_behind(struct ct_result *r)
{
	for (unsigned i = r->finding_count; i-- > 0;) {
		const unsigned by = r->finding[i].cure.cured_by;

		if (r->finding[i].cure.behind > 0 && by != 0 && by != i + 1) {
			join_finding(r, by - 1, i);
		}
	}
}

/* One store comes before several of a function that it must follow: these are lines of one bug. */
static bool is_too_early_for_both(const struct ct_finding *a, const struct ct_finding *b)
{
	const struct ct_cause *const x = &a->cause, *const y = &b->cause;

	return x->kind == CT_CAUSE_REVERSED && y->kind == CT_CAUSE_REVERSED &&
	       strcmp(x->early, y->early) == 0 && strcmp(x->early_function, y->early_function) == 0 &&
	       strchr(x->early, ':') != NULL && strcmp(x->lost_function, y->lost_function) == 0 &&
	       *x->lost_function != '\0' && a->cure.count > 0 && b->cure.count > 0 &&
	       a->cure.count + b->cure.count <= CT_CURE_EDITS;
}

static void join_too_early(struct proof *p, unsigned to, unsigned i)
{
	struct ct_finding *const a = &p->result->finding[to], *const b = &p->result->finding[i];
	const bool joined = strstr(a->cause.text, "; likewise ") != NULL;
	const bool called = *b->cause.lost_caller != '\0';
	char lost[2 * sizeof b->cause.lost];
	const size_t at = strlen(a->cause.text);

	snprintf(lost, sizeof lost, called ? "%s (called at %s)" : "%s%s", b->cause.lost,
		b->cause.lost_caller);
	snprintf(a->cause.text + at, sizeof a->cause.text - at, "%s%s", joined ? ", " : "; likewise ", lost);
	memcpy(a->cure.edit + a->cure.count, b->cure.edit, b->cure.count * sizeof b->cure.edit[0]);
	a->cure.count += b->cure.count;
	a->cure.tried += b->cure.tried;
	p->cures--;
	join_finding(p->result, to, i);
}

static void join_all_too_early(struct proof *p)
{
	for (unsigned k = 0; k < p->result->finding_count; k++) {
		for (unsigned i = p->result->finding_count; i-- > k + 1;) {
			if (is_too_early_for_both(&p->result->finding[k], &p->result->finding[i])) {
				join_too_early(p, k, i);
			}
		}
	}
}

/* ---- All of them ------------------------------------------------------------------------------------------------ */

/* With every cure but one. */
static int count_without(struct proof *p, unsigned number)
{
	struct ct_finding *const f = &p->result->finding[number];
	struct ct_edit edit[EDITS_MAX];
	const unsigned count = collect(p, number, edit);
	const int error = explore(p, edit, count, true);

	if (!error) {
		f->cure.only = p->trial->states_failing;
		f->cure.only_of = p->trial->states_tested;
		f->states = f->states ? f->states : p->trial->states_failing;
	}
	return error < 0 ? error : 0;
}

/* The others make it unnecessary. */
static void drop(struct proof *p, unsigned spare)
{
	struct ct_result *const r = p->result;
	unsigned other = 0;

	r->finding[spare].cure.count = 0;
	p->cures--;
	p->edits = collect(p, UINT32_MAX, p->edit);
	for (unsigned i = 0; i < r->finding_count; i++) {
		other = r->finding[i].cure.count && other == 0 ? i + 1 : other;
	}
	for (unsigned i = 0; i < r->finding_count; i++) {
		struct ct_cure *const c = &r->finding[i].cure;

		c->cured_by = i == spare || c->cured_by == spare + 1 ? other : c->cured_by;
	}
}

/* All but each one, up to the first state that fails. A cure that is needed stays so when others are dropped. */
static int drop_spares(struct proof *p)
{
	struct ct_edit edit[EDITS_MAX];
	int error = 0;

	for (unsigned i = 0; i < p->result->finding_count && p->cures > 1 && error >= 0; i++) {
		if (p->result->finding[i].cure.count == 0) {
			continue;
		}
		error = explore(p, edit, collect(p, i, edit), false);
		if (error == 0 && is_clean(p->trial)) {
			drop(p, i);
		}
	}
	return error < 0 ? error : 0;
}

/* What each of those that are left is needed for. */
static int count_needs(struct proof *p)
{
	int error = 0;

	for (unsigned i = 0; i < p->result->finding_count && p->cures > 1 && !error; i++) {
		error = p->result->finding[i].cure.count ? count_without(p, i) : 0;
	}
	return error;
}

/* All cures together, with all of the test's budget. */
static int verify(struct proof *p)
{
	const uint64_t states = p->states;

	p->states = p->e->options.states;

	int error = explore(p, p->edit, p->edits, true);

	p->states = states;
	if (error) {
		return error < 0 ? error : 0;
	}
	p->result->states_uncured = p->trial->states_failing;
	for (unsigned i = 0; i < p->result->finding_count; i++) {
		struct ct_cure *const c = &p->result->finding[i].cure;

		if (c->count > 0) {
			c->verified = is_clean(p->trial);
			c->others = p->cures - 1;
			c->assumed = p->masks;
			c->states = p->trial->states_tested;
			c->possible_log2 = p->trial->states_possible_log2;
			c->possible_exact = p->trial->states_possible_exact;
			c->exhaustive = is_exhaustive(p->trial);
		}
		for (unsigned k = 0; k < c->count && !error; k++) {
			error = ct_edit_look_behind_call(p->e->log_fd, &c->edit[k]);
		}
	}
	return error;
}

static int cure_all(struct proof *p)
{
	unsigned last = 0;
	int error = 0;

	for (unsigned i = 0; i < p->result->finding_count && !error; i++) {
		struct ct_cure *const c = &p->result->finding[i].cure;

		if (p->clean) {
			c->cured_by = last; /* nothing fails any more: it had the same root */
			continue;
		}
		error = cure_finding(p, i);
		last = c->count || c->masked ? i + 1 : last;
		if (p->e->options.stop_after > 0 && i + 1 >= p->e->options.stop_after) {
			break;
		}
	}
	join_all_too_early(p);
	error = error || p->cures == 0 ? error : drop_spares(p);
	error = error || p->cures == 0 ? error : count_needs(p);
	return error || p->cures == 0 ? error : verify(p);
}

static uint64_t trial_budget(uint64_t states)
{
	const uint64_t part = states / TRIAL_PART > TRIAL_LEAST ? states / TRIAL_PART : TRIAL_LEAST;

	return states < part ? states : part;
}

/* A trial's part of the budget may have missed a cause that all of it shows: then every trial takes all of it. */
static int cure_by_parts(struct proof *p)
{
	p->edits = collect(p, UINT32_MAX, p->edit); /* assumptions of the test */

	const struct proof begun = *p;
	struct ct_finding *const found = calloc(CT_FINDINGS_MAX, sizeof *found);
	const unsigned count = p->result->finding_count;
	int error;

	if (found == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory to look for cures");
	}
	memcpy(found, p->result->finding, count * sizeof *found);
	p->states = trial_budget(p->e->options.states);
	error = cure_all(p);
	if (!error && p->cures > 0 && p->result->states_uncured > 0 && p->states < p->e->options.states) {
		memcpy(p->result->finding, found, count * sizeof *found);
		p->result->finding_count = count;
		p->result->states_uncured = 0;
		*p = begun;
		p->states = p->e->options.states;
		error = cure_all(p);
	}
	free(found);
	return error;
}

/* How many states fail without any cure, so that it can be compared: of the proof's model, and none was left out. */
static bool is_measured(const struct ct_exploration *e, enum ct_model model, const struct ct_result *r)
{
	return e->rules.model == model && e->options.stop_after == 0 && r->states_settled == 0;
}

int ct_cure(const struct ct_exploration *e, enum ct_model model, struct ct_result *result)
{
	struct proof *const p = calloc(1, sizeof *p);
	struct ct_result *const trial = calloc(1, sizeof *trial);
	int error = p && trial ? 0 : nvw_fail(NVW_E_MEMORY, "no memory to look for cures");

	if (!error && !result->without_crash && result->finding_count > 0) {
		*p = (struct proof){.e = e,
			.model = model,
			.result = result,
			.trial = trial,
			.failing = is_measured(e, model, result) ? result->states_failing : UINT64_MAX,
			.began = ct_wall_seconds()};
		result->proved = true;
		result->proved_under = model;
		error = cure_by_parts(p);
		join_behind(result);
	}
	if (error == NVW_E_STOPPED) { /* the findings stand */
		result->interrupted = true;
		error = 0;
	}
	if (trial != NULL) {
		ct_result_free(trial);
	}
	free(trial);
	free(p);
	return error;
}

void ct_cure_text(const struct ct_cure *cure, char *ret_text, size_t bytes)
{
	size_t n = 0;

	*ret_text = '\0';
	for (unsigned i = 0; i < cure->count && n < bytes; i++) {
		n += (size_t)snprintf(ret_text + n, bytes - n, "%s",
			i == 0               ? "" :
			i + 1 == cure->count ? " and " :
					       ", ");
		if (n < bytes) {
			ct_edit_text(&cure->edit[i], ret_text + n, bytes - n);
			n += strlen(ret_text + n);
		}
	}
}
