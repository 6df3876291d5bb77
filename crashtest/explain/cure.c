/* SPDX-License-Identifier: BSD-3-Clause */
/* Cures, proved: which finding is next, and what all cures come to together. See cure.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "core/print.h"

#include "cure.h"
#include "account.h"
#include "candidates.h"
#include "cause_search.h"
#include "../group.h"
#include "../judge/process.h"

enum {
	TRIAL_PART =
		10, /* of the test's budget, for one trial: what it leads to is explored with all of it */
	TRIAL_LEAST = 1000
};

/* ---- Which finding is next ----------------------------------------------------------------------------- */

enum { NO_FINDING = CT_FINDINGS_MAX };

static bool is_stuck(const struct ct_proof *p, unsigned i)
{
	NVW_DEEP_INVARIANT(i < p->result->finding_count);
	return p->searched[i] != 0 && p->result->finding[i].cure.count == 0 &&
	       !p->result->finding[i].cure.masked;
}

/* Kinds of failures of findings for which nothing helped: they go on, and what is behind them has another
 * kind. */
static unsigned stuck_kinds(const struct ct_proof *p)
{
	unsigned kinds = 0;

	NVW_FOR(i, p->result->finding_count) {
		const struct ct_finding *const f = &p->result->finding[i];

		if (is_stuck(p, i)) {
			kinds += 1 + f->also_count + f->also_more;
		}
	}
	return MIN(kinds, CT_FINDINGS_MAX - 1);
}

static bool is_one_cause(const struct ct_finding *a, const struct ct_finding *b)
{
	return ct_same_cause(a, b) || ct_causes_alike(&a->cause, &b->cause);
}

/* Finds a finding that was not searched yet: one with the same cause, else one with the same words. */
static unsigned find_new(const struct ct_proof *p, const struct ct_finding *left)
{
	unsigned alike = NO_FINDING;

	NVW_FOR(i, p->result->finding_count) {
		const struct ct_finding *const f = &p->result->finding[i];

		if (p->searched[i] == 0 && is_one_cause(f, left)) {
			return i;
		}
		if (p->searched[i] == 0 && alike == NO_FINDING && ct_finding_has_text(f, left->text)) {
			alike = i;
		}
	}
	return alike;
}

/* Its cure was accepted with a smaller budget, which did not show that it fails. */
static bool is_premature(const struct ct_proof *p, unsigned i)
{
	NVW_INVARIANT(i < p->result->finding_count);
	return p->searched[i] != 0 && p->searched[i] < p->states && !is_stuck(p, i);
}

static void search_again(struct ct_proof *p, unsigned i)
{
	struct ct_cure *const c = &p->result->finding[i].cure;

	NVW_INVARIANT(i < p->result->finding_count);
	p->cures -= c->count > 0;
	p->masks -= c->masked;
	*c = (struct ct_cure){.behind = c->behind};
	p->failing = UINT64_MAX;
	p->edits = ct_proof_collect(p, UINT32_MAX, p->edit);
}

static unsigned add_finding(struct ct_proof *p, const struct ct_finding *left)
{
	struct ct_result *const r = p->result;
	const unsigned most = p->e->options.stop_after, number = r->finding_count;

	if (number >= CT_FINDINGS_MAX || (most > 0 && number >= most)) {
		return NO_FINDING;
	}
	r->finding[number] = *left;
	r->finding[number].states = 0; /* counted when all is known */
	r->finding[number].cure.behind = p->cures;
	r->finding_count++;
	return number;
}

/* The finding of a failure that the cures leave. One that was cured and fails again has a second cause. */
static unsigned finding_of(struct ct_proof *p, const struct ct_finding *left)
{
	const unsigned found = find_new(p, left);

	if (found != NO_FINDING) {
		return found;
	}
	NVW_FOR(i, p->result->finding_count) {
		const bool one = is_one_cause(&p->result->finding[i], left);

		if (one && is_stuck(p, i)) {
			return NO_FINDING;
		}
		if (one && is_premature(p, i)) {
			search_again(p, i);
			return i;
		}
	}
	return add_finding(p, left);
}

/* Explores with all cures so far. */
static int find_next(struct ct_proof *p, unsigned *ret_next)
{
	const int error = ct_proof_search(p, p->edit, p->edits, (int)(CT_TRIAL_FIRST + stuck_kinds(p)));

	*ret_next = NO_FINDING;
	p->clean = !error && ct_is_clean(p->trial);
	for (unsigned i = 0; i < p->trial->finding_count && !error && *ret_next == NO_FINDING; i++) {
		*ret_next = finding_of(p, &p->trial->finding[i]);
	}
	return MIN(error, 0);
}

/* ---- Findings that turn out to be one ------------------------------------------------------------------ */

static void renumber_cures(struct ct_result *r, unsigned to, unsigned i)
{
	NVW_EACH(finding, r->finding, r->finding_count) {
		struct ct_cure *const c = &finding->cure;

		if (c->cured_by == i + 1) {
			c->cured_by = to + 1;
		} else if (c->cured_by > i + 1) {
			c->cured_by--;
		}
	}
}

/* Takes finding i into finding to. */
static void join_finding(struct ct_result *r, unsigned to, unsigned i)
{
	NVW_INVARIANT(to != i && i < r->finding_count);
	ct_finding_absorb(&r->finding[to], &r->finding[i]);
	memmove(&r->finding[i], &r->finding[i + 1], (r->finding_count - i - 1) * sizeof r->finding[0]);
	r->finding_count--;
	renumber_cures(r, to, i);
}

/* A finding that was met behind cures, and that another one's cure or assumption takes away: it is that cause
 * in other words. */
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

	return x->kind == CT_CAUSE_REVERSED && y->kind == CT_CAUSE_REVERSED && !strcmp(x->early, y->early) &&
	       !strcmp(x->early_function, y->early_function) && strchr(x->early, ':') &&
	       !strcmp(x->lost_function, y->lost_function) && *x->lost_function && a->cure.count > 0 &&
	       b->cure.count > 0 && a->cure.count + b->cure.count <= CT_CURE_EDITS;
}

static void join_too_early(struct ct_proof *p, unsigned to, unsigned i)
{
	struct ct_finding *const a = &p->result->finding[to], *const b = &p->result->finding[i];
	const bool joined = strstr(a->cause.text, "; likewise ") != NULL;

	NVW_INVARIANT(to < i && a->cure.count + b->cure.count <= CT_CURE_EDITS);
	cause_say(&a->cause, "%s%s", joined ? ", " : "; likewise ", b->cause.lost);
	if (*b->cause.lost_caller) {
		cause_say(&a->cause, " (called at %s)", b->cause.lost_caller);
	}
	memcpy(a->cure.edit + a->cure.count, b->cure.edit, b->cure.count * sizeof b->cure.edit[0]);
	a->cure.count += b->cure.count;
	a->cure.tried += b->cure.tried;
	p->cures--;
	join_finding(p->result, to, i);
}

static void join_all_too_early(struct ct_proof *p)
{
	NVW_FOR(k, p->result->finding_count) {
		for (unsigned i = p->result->finding_count; i-- > k + 1;) {
			if (is_too_early_for_both(&p->result->finding[k], &p->result->finding[i])) {
				join_too_early(p, k, i);
			}
		}
	}
}

/* ---- All of them --------------------------------------------------------------------------------------- */

/* Counts the states that fail with every cure but one. */
static int count_without(struct ct_proof *p, unsigned number)
{
	struct ct_finding *const f = &p->result->finding[number];
	struct ct_edit edit[CT_PROOF_EDITS];
	const unsigned count = ct_proof_collect(p, ~(UINT32_C(1) << number), edit);
	const int error = ct_proof_explore(p, edit, count, CT_TRIAL_WHOLE);

	NVW_INVARIANT(number < p->result->finding_count);
	if (!error) {
		f->cure.only = p->trial->states_failing;
		f->cure.only_of = p->trial->states_tested;
	}
	return MIN(error, 0);
}

/* The others make it unnecessary. */
static void drop(struct ct_proof *p, unsigned spare)
{
	NVW_INVARIANT(spare < NVW_COUNT(p->result->finding));
	p->result->finding[spare].cure.count = 0;
	p->result->finding[spare].cure.gone = true;
	p->cures--;
	p->edits = ct_proof_collect(p, UINT32_MAX, p->edit);
}

/* All but each one, up to the first state that fails. A cure that is needed stays so when others are
 * dropped. */
static int drop_spares(struct ct_proof *p)
{
	struct ct_edit edit[CT_PROOF_EDITS];
	int error = 0;

	for (unsigned i = 0; i < p->result->finding_count && p->cures > 1 && error >= 0; i++) {
		if (p->result->finding[i].cure.count == 0) {
			continue;
		}
		error = ct_proof_explore(
			p, edit, ct_proof_collect(p, ~(UINT32_C(1) << i), edit), CT_TRIAL_BARE);
		if (error == 0 && ct_is_clean(p->trial)) {
			drop(p, i);
		}
	}
	return MIN(error, 0);
}

/* What each of those that are left is needed for. */
static int count_needs(struct ct_proof *p)
{
	for (unsigned i = 0; i < p->result->finding_count && p->cures > 1; i++) {
		if (p->result->finding[i].cure.count > 0) {
			NVW_TRY(count_without(p, i));
		}
	}
	return 0;
}

static bool is_exhaustive(const struct ct_result *r)
{
	return ct_is_consistent(r) && ct_covers_all(r);
}

static void note_proof(const struct ct_proof *p, const struct ct_cure_run *run, struct ct_cure *c)
{
	const bool ran = run->end == CT_CURE_HOLDS && run->exact;

	c->verified = ct_is_clean(p->trial) && run->end != CT_CURE_REFUTED;
	c->run = CT_CURE_NOT_RUN;
	if (ran || run->end == CT_CURE_REFUTED) {
		c->run = run->end;
	}
	c->costed = c->verified && ran;
	c->cost_ps = run->cost_ps;
	c->cost_of_ps = p->result->sim_time_ps;
	NVW_PRINT(c->run_text, "%s", run->why);
	c->others = p->cures - 1;
	c->assumed = p->masks;
	c->states = p->trial->states_tested;
	c->possible_log2 = p->trial->states_possible_log2;
	c->possible_exact = p->trial->states_possible_exact;
	c->exhaustive = is_exhaustive(p->trial);
}

static int look_at_proof(struct ct_proof *p, const struct ct_cure_run *run, struct ct_cure *c)
{
	if (c->count > 0) {
		note_proof(p, run, c);
	}
	NVW_EACH(edit, c->edit, c->count) {
		NVW_TRY(ct_edit_look_behind_call(p->e->log_fd, edit));
	}
	return 0;
}

/* What the last trial and the run say of all cures. */
static int note_proofs(struct ct_proof *p, const struct ct_cure_run *run)
{
	p->result->states_uncured = p->trial->states_failing;
	NVW_EACH(finding, p->result->finding, p->result->finding_count) {
		NVW_TRY(look_at_proof(p, run, &finding->cure));
	}
	return 0;
}

/* All cures together, with all of the test's budget: in the log, and then in a run. */
static int explore_all(struct ct_proof *p, struct ct_cure_run *run)
{
	int error = ct_proof_explore(p, p->edit, p->edits, CT_TRIAL_WHOLE);

	if (error > 0 && *p->why) { /* together they are what none of them is */
		run->end = CT_CURE_REFUTED;
		NVW_PRINT(run->why, "%s", p->why);
		return 0;
	}
	if (error || !ct_is_clean(p->trial)) {
		return error;
	}
	NVW_TRY(ct_cure_run(p->e, p->edit, p->edits, run));
	if (run->end == CT_CURE_HOLDS && run->exact) {
		return ct_proof_explore_run(p, run, CT_TRIAL_WHOLE);
	}
	return 0;
}

static int verify(struct ct_proof *p)
{
	const uint64_t states = p->states;
	struct ct_cure_run run = {.log_fd = -1};

	p->states = p->e->options.states;

	int error = explore_all(p, &run);

	p->states = states;
	if (!error) {
		error = note_proofs(p, &run);
	}
	ct_cure_run_free(&run);
	return MIN(error, 0);
}

/* ---- Which states are whose ---------------------------------------------------------------------------- */

static int account_alone(struct ct_proof *p, struct ct_account *a, unsigned i)
{
	struct ct_edit edit[CT_PROOF_EDITS];
	const struct ct_cure *const c = &p->result->finding[i].cure;

	NVW_INVARIANT(i < p->result->finding_count);
	if (c->count == 0 && !c->masked) {
		return 0;
	}
	const int error =
		ct_proof_explore(p, edit, ct_proof_collect(p, UINT32_C(1) << i, edit), CT_TRIAL_WHOLE);

	if (!error) {
		ct_account_alone(a, p->result, i, p->trial);
	}
	return MIN(error, 0);
}

/* Each cure alone is explored where its outcome can be compared with a test of all states, or where a finding
 * has gone. */
static int account_each(struct ct_proof *p, struct ct_account *a)
{
	bool wanted = a->exact;

	NVW_EACH(finding, p->result->finding, p->result->finding_count) {
		wanted |= finding->cure.gone;
	}
	for (unsigned i = 0; i < p->result->finding_count && wanted; i++) {
		NVW_TRY(account_alone(p, a, i));
	}
	NVW_TRY(ct_proof_explore(p, p->edit, p->edits, CT_TRIAL_WHOLE));
	ct_account_end(a, p->result, p->trial);
	return 0;
}

static int account(struct ct_proof *p)
{
	const struct ct_options *const o = &p->e->options;
	const bool comparable = p->e->rules.model == p->model && ct_covers_all(p->result);
	struct ct_account a = {0};
	int error = 0;

	if (comparable) {
		error = ct_proof_explore(p, p->edit, o->assumed_count, CT_TRIAL_WHOLE);
	}
	if (!error && comparable) {
		error = ct_account_begin(&a, p->trial);
	}
	if (!error) {
		error = account_each(p, &a);
	}
	ct_account_free(&a);
	return MIN(error, 0);
}

/* ---- The search ---------------------------------------------------------------------------------------- */

static uint64_t trial_budget(uint64_t states)
{
	const uint64_t part = MAX(states / TRIAL_PART, TRIAL_LEAST);

	return MIN(states, part);
}

/* A trial's part of the budget may have missed a cause that all of it shows: then every trial takes all of
 * it. False: it does. */
static bool take_all(struct ct_proof *p)
{
	const uint64_t all = p->e->options.states;
	const bool more = p->states < all;

	p->states = all;
	if (more) {
		p->failing = UINT64_MAX;
	}
	p->clean = false;
	return more;
}

/* The first finding first: an edited log shows causes that the timing of this run hides, and they come
 * later. */
static int begin_search(struct ct_proof *p)
{
	int error;

	do {
		error = ct_proof_search(p, p->edit, p->edits, CT_TRIAL_BARE);
	} while (!error && p->trial->consistent && take_all(p));
	NVW_TRY(error);
	p->unshown = p->trial->consistent;
	return p->unshown ? 0 : ct_candidates_cure(p, 0);
}

static bool may_search(const struct ct_proof *p)
{
	const unsigned most = p->e->options.stop_after;
	unsigned done = 0;

	NVW_EACH(searched, p->searched, p->result->finding_count) {
		done += *searched != 0;
	}
	return !ct_proof_is_spent(p) && (most == 0 || done < most);
}

/* Until no state fails that is in no finding, or the budget is used up. */
static int search_all(struct ct_proof *p)
{
	int error = begin_search(p);
	bool more = !p->unshown;

	while (!error && more && may_search(p)) {
		unsigned next = NO_FINDING;

		if (!p->clean) {
			error = find_next(p, &next);
		}
		if (!error && next != NO_FINDING) {
			error = ct_candidates_cure(p, next);
		} else {
			more = take_all(p);
		}
	}
	p->ended = !more;
	return MIN(error, 0);
}

/* Notes what became of the findings whose turn did not come. */
static void note_unsearched(struct ct_proof *p)
{
	struct ct_result *const r = p->result;

	r->cure_states = p->used;
	r->cure_states_most = p->most;
	r->cures_unshown = p->unshown;
	NVW_EACH(f, r->finding, r->finding_count) {
		f->cure.gone = !f->cure.searched && p->ended && !p->unshown;
		if (!f->cure.searched && !p->ended && ct_proof_is_spent(p)) {
			ct_candidates_propose(p, f);
			f->cure.left = ct_candidates_left(f);
		}
		r->cure_search_ended |= f->cure.left > 0;
	}
	r->cure_search_ended = r->cure_search_ended || (ct_proof_is_spent(p) && !p->ended);
}

static int cure_all(struct ct_proof *p)
{
	p->states = trial_budget(p->e->options.states);
	p->edits = ct_proof_collect(p, UINT32_MAX, p->edit); /* assumptions of the test */
	const int error = search_all(p);

	note_unsearched(p);
	join_all_too_early(p);
	NVW_TRY(error);
	if (p->cures > 0) {
		NVW_TRY(drop_spares(p));
	}
	p->states = trial_budget(p->e->options.states);
	if (p->cures > 0) {
		NVW_TRY(count_needs(p));
	}
	p->states = p->e->options.states;
	if (!p->unshown) {
		NVW_TRY(account(p));
	}
	return p->cures > 0 ? verify(p) : 0;
}

/* Can the count of states that fail without a cure be compared? The model is the same, none was left out. */
static bool is_measured(const struct ct_exploration *e, enum ct_model model, const struct ct_result *r)
{
	return e->rules.model == model && e->options.stop_after == 0 && r->states_settled == 0;
}

/* As many states as the test had, or might have had: a test of few states that are all takes more than these
 * for its cures. */
static uint64_t budget_of(const struct ct_exploration *e, const struct ct_result *r)
{
	if (e->options.cure_states > 0) {
		return e->options.cure_states;
	}
	return MAX(e->options.states, r->states_tested);
}

int ct_cure(const struct ct_exploration *e, enum ct_model model, struct ct_result *result)
{
	if (result->without_crash || result->finding_count == 0) {
		return 0;
	}
	struct ct_proof *const p = calloc(1, sizeof *p);
	struct ct_result *const trial = calloc(1, sizeof *trial);

	if (!p || !trial) {
		free(p);
		free(trial);
		return nvw_fail(NVW_E_MEMORY, "no memory to look for cures");
	}
	*p = (struct ct_proof){.e = e,
		.model = model,
		.result = result,
		.trial = trial,
		.failing = is_measured(e, model, result) ? result->states_failing : UINT64_MAX,
		.most = budget_of(e, result),
		.began = ct_wall_seconds()};
	result->proved = true;
	result->proved_under = model;
	int error = cure_all(p);

	join_behind(result);
	if (error == NVW_E_STOPPED) { /* the findings stand */
		result->interrupted = true;
		error = 0;
	}
	ct_result_free(trial);
	free(trial);
	free(p);
	return error;
}

void ct_cure_text(const struct ct_cure *cure, char *ret_text, size_t bytes)
{
	ct_edits_text(cure->edit, cure->count, ret_text, bytes);
}
