/* SPDX-License-Identifier: BSD-3-Clause */
/* Cures, proved. See cure.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stop.h"
#include "core/units.h"

#include "cure.h"
#include "account.h"
#include "cure_run.h"
#include "../group.h"
#include "../judge/hang.h"
#include "../judge/operations.h"
#include "../judge/process.h"

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
	uint64_t failing;    /* states that failed with the cures so far */
	bool clean;          /* no state failed in the last trial, which had all cures */
	uint64_t states;     /* budget of a trial */
	uint64_t used, most; /* states that the search tested, and may test */
	bool unshown;        /* no state failed without any cure: none can be proved */
	bool ended; /* the search came to its end: what is left is that of findings for which nothing helps */
	uint64_t searched
		[CT_FINDINGS_MAX]; /* with which budget of a trial a finding's cure was searched; 0: not yet */
	uint64_t done;
	double began;
	bool by_running;  /* explorations are of runs with the edits, since a cure shows in none but these */
	unsigned refuted; /* proposals of the present finding, as bits */
	char why[CT_CURE_TEXT]; /* the last set was refuted; "": it was not */
	struct ct_hangs hangs;  /* of all trials, unless the caller remembers them */
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

/* How far a trial goes: up to the first state that fails, explained or not; up to so many kinds of failures; to the end. */
enum extent { BARE = -1, WHOLE = 0, FIRST = 1 };

/* Explores of's log. 0: done, 1: an edit is refused, else an error. kinds: how many, or an extent. */
static int explore_log(struct proof *p, const struct ct_exploration *of, const struct ct_edit *edits,
	unsigned count, int kinds)
{
	struct ct_exploration e = *of;

	e.rules.model = p->model;
	e.head = NULL;
	e.options.save = NULL;
	e.options.resume = e.options.slices = NULL;
	e.options.shard = e.options.shards = 0;
	e.options.progress = NULL;
	e.options.states = p->states;
	e.hangs = e.hangs ? e.hangs : &p->hangs;
	e.options.unexplained = kinds <= WHOLE;
	e.options.stop_after = (unsigned)abs(kinds);
	e.options.keeps_failing = kinds == WHOLE;
	p->done++;
	tell(p);
	ct_result_free(p->trial);
	const int error = ct_explore_edited(&e, edits, count, NULL, p->trial);

	return error == NVW_E_USAGE ? 1 : error ? error : p->trial->interrupted ? NVW_E_STOPPED : 0;
}

/* The same of a run, with the edits that could not be run. */
static int explore_log_of(struct proof *p, const struct ct_cure_run *run, int kinds)
{
	struct ct_exploration of_run = *p->e;

	of_run.log_fd = run->log_fd;
	of_run.first_record = run->first_record;
	return explore_log(p, &of_run, run->rest, run->rest_count, kinds);
}

/* Explores the recorded run or, once a cure has needed it, a run with the edits. */
static int explore(struct proof *p, const struct ct_edit *edits, unsigned count, int kinds)
{
	struct ct_cure_run run = {.log_fd = -1};
	int error = p->by_running ? ct_cure_run(p->e, edits, count, &run) : 0;

	if (error) {
		return error;
	}
	if (run.end == CT_CURE_NOT_RUN) {
		error = explore_log(p, p->e, edits, count, kinds);
	} else if (run.end == CT_CURE_HOLDS) {
		error = explore_log_of(p, &run, kinds);
	} else {
		snprintf(p->why, sizeof p->why, "%s", run.why);
		error = 1;
	}
	ct_cure_run_free(&run);
	return error;
}

static void count_trial(struct proof *p)
{
	p->used += p->trial->states_tested;
	for (unsigned i = 0; i < p->trial->finding_count; i++) {
		p->used += p->trial->finding[i].tests;
	}
}

/* The same in the search, where every tested state counts. */
static int search(struct proof *p, const struct ct_edit *edits, unsigned count, int kinds)
{
	const int error = explore(p, edits, count, kinds);

	if (!error) {
		count_trial(p);
	}
	return error;
}

static bool is_spent(const struct proof *p)
{
	return p->used >= p->most;
}

/* All of it, without a state that fails or has no answer. */
static bool is_clean(const struct ct_result *r)
{
	return r->finding_count == 0 && ct_is_consistent(r);
}

static bool is_exhaustive(const struct ct_result *r)
{
	return ct_is_consistent(r) && ct_covers_all(r);
}

/* What a run that has ended leaves: it is refuted unless all tested states hold. */
static int explore_run(struct proof *p, struct ct_cure_run *run, int kinds)
{
	const int error = explore_log_of(p, run, kinds);
	char a[NVW_UNIT_TEXT], b[NVW_UNIT_TEXT];

	if (error < 0 || (error == 0 && is_clean(p->trial))) {
		return error;
	}
	run->end = CT_CURE_REFUTED;
	if (error > 0) {
		snprintf(run->why, sizeof run->why, "the run with it does not do what the others change");
	} else {
		snprintf(run->why, sizeof run->why, "of the run with it, %s of %s tested states fail: %s",
			nvw_format_grouped(p->trial->states_failing, a),
			nvw_format_grouped(p->trial->states_tested, b),
			p->trial->finding_count ? p->trial->finding[0].text : "no verdict");
	}
	return 0;
}

/* Collects the edits of the test, of the cures and of what stands for missing ones; not those of except. */
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
	const int error = search(p, p->edit, p->edits + size, FIRST);

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

/* What the log shows of a set has to show in a run of the program, too. */
static int confirm_set(struct proof *p, unsigned size, enum outcome *outcome)
{
	struct ct_cure_run run;
	int error = p->by_running ? 0 : ct_cure_run(p->e, p->edit, p->edits + size, &run);

	if (error || p->by_running) {
		return error;
	}
	if (run.end == CT_CURE_HOLDS && run.exact && *outcome == HOLDS) {
		error = explore_run(p, &run, FIRST);
		count_trial(p);
	}
	if (!error && run.end == CT_CURE_REFUTED) {
		*outcome = FAILS;
		snprintf(p->why, sizeof p->why, "%s", run.why);
	}
	ct_cure_run_free(&run);
	return error;
}

/* One that a run refutes is tried in no larger set. */
static void note_refuted(struct proof *p, struct ct_finding *f, const unsigned *set, unsigned size)
{
	if (*p->why == '\0') {
		return;
	}
	if (f->cure.refuted++ == 0) {
		ct_edits_text(p->edit + p->edits, size, f->cure.refuted_edit, sizeof f->cure.refuted_edit);
		snprintf(f->cure.refuted_why, sizeof f->cure.refuted_why, "%s", p->why);
	}
	p->refuted |= size == 1 ? 1u << set[0] : 0;
	p->why[0] = '\0';
}

/* Two barriers for one lost store: if neither does alone, both do not. */
static bool are_for_one_store(const struct ct_edit *x, const struct ct_edit *y)
{
	return x->kind == CT_EDIT_BARRIER && y->kind == CT_EDIT_BARRIER && x->a.line == y->a.line &&
	       strcmp(x->a.file, y->a.file) == 0;
}

static bool is_hopeless(const struct proof *p, const struct ct_finding *f, const unsigned *set, unsigned size)
{
	bool is = false;

	for (unsigned i = 0; i < size; i++) {
		is = is || (p->refuted >> set[i] & 1);
		for (unsigned k = 0; k < i; k++) {
			is = is || are_for_one_store(&f->proposals.edit[set[i]], &f->proposals.edit[set[k]]);
		}
	}
	return is;
}

/* How many states fail with a set that counts. */
static int measure(struct proof *p, unsigned size, uint64_t *ret_failing)
{
	const int error = search(p, p->edit, p->edits + size, WHOLE);

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

	while (more && *best != HOLDS && f->cure.tried < TRIES_MAX && !is_spent(p) && !error) {
		enum outcome outcome;

		if (is_hopeless(p, f, set, size)) {
			more = next_set(set, size, f->proposals.count);
			continue;
		}
		f->cure.tried++;
		uint64_t failing = 0;

		error = try_set(p, f, set, size, &outcome);
		if (!error && outcome == COUNTS) {
			error = measure(p, size, &failing);
		}
		if (!error && outcome != FAILS && failing < p->failing) {
			error = confirm_set(p, size, &outcome);
		}
		note_refuted(p, f, set, size);
		if (!error && outcome != FAILS && failing < p->failing) {
			*best = outcome;
			p->failing = failing;
			keep_set(f, set, size);
		}
		more = next_set(set, size, f->proposals.count);
	}
	return error;
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
	uint64_t failing = 0;

	if (!error && outcome == COUNTS) {
		error = measure(p, 1, &failing);
	}
	if (error || outcome == FAILS || failing >= p->failing) {
		return error;
	}
	f->cure.masked = true;
	p->failing = failing;
	p->clean = outcome == HOLDS;
	p->masks++;
	return 0;
}

/* Whether work-items go on behind a barrier only when it has completed. */
static bool waits(const struct proof *p)
{
	return (ct_model_info(p->model)->axioms & CT_A(COMPLETION)) != 0;
}

/* A barrier before a line is the same whatever it is to come after. */
static bool is_same_edit(const struct ct_edit *x, const struct ct_edit *y)
{
	const bool before = ct_edit_stands_before(x);

	return x->kind == y->kind && x->scope == y->scope && x->rounds == y->rounds && x->more_count == 0 &&
	       y->more_count == 0 && x->b.line == y->b.line && strcmp(x->b.file, y->b.file) == 0 &&
	       (before || (x->a.line == y->a.line && strcmp(x->a.file, y->a.file) == 0));
}

/* A barrier of a work-item orders what others publish only if it waits. */
static bool may_help(const struct proof *p, const struct ct_finding *f, const struct ct_edit *e)
{
	const bool is_own = e->kind == CT_EDIT_BARRIER && e->scope == NVW_WORKITEM;

	return !is_own || waits(p) || strcmp(f->cause.needed, "work-item") == 0;
}

static void drop_hopeless(const struct proof *p, struct ct_finding *f)
{
	struct ct_proposals *const all = &f->proposals;
	unsigned kept = 0;

	for (unsigned i = 0; i < all->count; i++) {
		if (may_help(p, f, &all->edit[i])) {
			all->edit[kept++] = all->edit[i];
			all->edit[kept - 1].all_come = p->e->bench == NULL;
		}
	}
	all->count = kept;
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

/* Sets of proposals up to a size that there are to try. */
static unsigned count_sets(const struct ct_proposals *p, unsigned size)
{
	const unsigned n = p->count;
	const unsigned sets[CT_CURE_MAX + 1] = {
		0, n, n + n * (n - 1) / 2, n + n * (n - 1) / 2 + n * (n - 1) * (n - 2) / 6};

	return sets[size] < TRIES_MAX ? sets[size] : TRIES_MAX;
}

/* Sets that were not tried, since the budget was used up. */
static unsigned count_left(const struct ct_finding *f)
{
	const unsigned sets = count_sets(&f->proposals, f->cure.count ? f->cure.count : CT_CURE_MAX);

	return sets > f->cure.tried ? sets - f->cure.tried : 0;
}

static void propose(const struct proof *p, struct ct_finding *f)
{
	if (f->proposals.count == 0) {
		ct_propose(&f->cause, &f->proposals);
	}
	drop_repeated(&f->proposals);
	drop_hopeless(p, f);
}

/* Where no edit of the log helps: a barrier that waits takes effect by what the log does not have, for example a barrier of
 * execution behind it. */
static int try_by_running(struct proof *p, struct ct_finding *f, enum outcome *best)
{
	int error = 0;

	if (p->e->bench == NULL || p->by_running || f->proposals.count == 0 || !waits(p)) {
		return 0;
	}
	p->by_running = true;
	f->cure.tried = 0;
	error = try_sets(p, f, 1, best);
	p->by_running = *best != FAILS;
	return error;
}

static int cure_finding(struct proof *p, unsigned number)
{
	struct ct_finding *const f = &p->result->finding[number];
	enum outcome best = FAILS;
	int error = 0;

	p->refuted = 0;
	propose(p, f);
	f->cure.searched = true;
	p->searched[number] = p->states;
	error = try_all_sets(p, f, &best);
	if (!error && best == FAILS && !is_spent(p)) {
		error = try_rounds(p, f, &best);
	}
	if (!error && best == FAILS && !is_spent(p)) {
		error = try_by_running(p, f, &best);
	}
	if (best != HOLDS && is_spent(p)) {
		f->cure.left = count_left(f);
	}
	if (!error && best == FAILS && !is_spent(p)) {
		error = mask_finding(p, f);
	}
	p->cures += best != FAILS;
	p->clean = p->clean || best == HOLDS;
	p->edits = collect(p, UINT32_MAX, p->edit);
	return error;
}

/* ---- Which finding is next -------------------------------------------------------------------------------------- */

enum { NO_FINDING = CT_FINDINGS_MAX };

static bool is_stuck(const struct proof *p, unsigned i)
{
	return p->searched[i] != 0 && p->result->finding[i].cure.count == 0 &&
	       !p->result->finding[i].cure.masked;
}

/* Kinds of failures of findings for which nothing helped: they go on, and what is behind them has another kind. */
static unsigned stuck_kinds(const struct proof *p)
{
	unsigned kinds = 0;

	for (unsigned i = 0; i < p->result->finding_count; i++) {
		const struct ct_finding *const f = &p->result->finding[i];

		kinds += is_stuck(p, i) ? 1 + f->also_count + f->also_more : 0;
	}
	return kinds < CT_FINDINGS_MAX ? kinds : CT_FINDINGS_MAX - 1;
}

static bool is_one_cause(const struct ct_finding *a, const struct ct_finding *b)
{
	return same_cause(a, b) || ct_causes_alike(&a->cause, &b->cause);
}

/* Finds a finding that was not searched yet: one with the same cause, else one with the same words. */
static unsigned find_new(const struct proof *p, const struct ct_finding *left)
{
	unsigned alike = NO_FINDING;

	for (unsigned i = 0; i < p->result->finding_count; i++) {
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
static bool is_premature(const struct proof *p, unsigned i)
{
	return p->searched[i] != 0 && p->searched[i] < p->states && !is_stuck(p, i);
}

static void search_again(struct proof *p, unsigned i)
{
	struct ct_cure *const c = &p->result->finding[i].cure;

	p->cures -= c->count > 0;
	p->masks -= c->masked;
	*c = (struct ct_cure){.behind = c->behind};
	p->failing = UINT64_MAX;
	p->edits = collect(p, UINT32_MAX, p->edit);
}

static unsigned add_finding(struct proof *p, const struct ct_finding *left)
{
	struct ct_result *const r = p->result;
	const unsigned most = p->e->options.stop_after ? p->e->options.stop_after : CT_FINDINGS_MAX;

	if (r->finding_count >= most || r->finding_count >= CT_FINDINGS_MAX) {
		return NO_FINDING;
	}
	r->finding[r->finding_count] = *left;
	r->finding[r->finding_count].states = 0; /* counted when all is known */
	r->finding[r->finding_count].cure.behind = p->cures;
	return r->finding_count++;
}

/* The finding of a failure that the cures leave. One that was cured and fails again has a second cause. */
static unsigned finding_of(struct proof *p, const struct ct_finding *left)
{
	const unsigned found = find_new(p, left);

	if (found != NO_FINDING) {
		return found;
	}
	for (unsigned i = 0; i < p->result->finding_count; i++) {
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
static int find_next(struct proof *p, unsigned *ret_next)
{
	const int error = search(p, p->edit, p->edits, (int)(FIRST + stuck_kinds(p)));

	*ret_next = NO_FINDING;
	p->clean = !error && is_clean(p->trial);
	for (unsigned i = 0; i < p->trial->finding_count && !error && *ret_next == NO_FINDING; i++) {
		*ret_next = finding_of(p, &p->trial->finding[i]);
	}
	return error < 0 ? error : 0;
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

/* Counts the states that fail with every cure but one. */
static int count_without(struct proof *p, unsigned number)
{
	struct ct_finding *const f = &p->result->finding[number];
	struct ct_edit edit[EDITS_MAX];
	const unsigned count = collect(p, number, edit);
	const int error = explore(p, edit, count, WHOLE);

	if (!error) {
		f->cure.only = p->trial->states_failing;
		f->cure.only_of = p->trial->states_tested;
	}
	return error < 0 ? error : 0;
}

/* The others make it unnecessary. */
static void drop(struct proof *p, unsigned spare)
{
	p->result->finding[spare].cure.count = 0;
	p->result->finding[spare].cure.gone = true;
	p->cures--;
	p->edits = collect(p, UINT32_MAX, p->edit);
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
		error = explore(p, edit, collect(p, i, edit), BARE);
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

/* What the last trial and the run say of all cures. */
static int note_proofs(struct proof *p, const struct ct_cure_run *run)
{
	const bool ran = run->end == CT_CURE_HOLDS && run->exact;
	int error = 0;

	p->result->states_uncured = p->trial->states_failing;
	for (unsigned i = 0; i < p->result->finding_count; i++) {
		struct ct_cure *const c = &p->result->finding[i].cure;

		if (c->count > 0) {
			c->verified = is_clean(p->trial) && run->end != CT_CURE_REFUTED;
			c->run = ran || run->end == CT_CURE_REFUTED ? run->end : CT_CURE_NOT_RUN;
			c->costed = c->verified && ran;
			c->cost_ps = run->cost_ps;
			c->cost_of_ps = p->result->sim_time_ps;
			snprintf(c->run_text, sizeof c->run_text, "%s", run->why);
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

/* All cures together, with all of the test's budget: in the log, and then in a run. */
static int explore_all(struct proof *p, struct ct_cure_run *run)
{
	int error = explore(p, p->edit, p->edits, WHOLE);

	if (error > 0 && *p->why != '\0') { /* together they are what none of them is */
		run->end = CT_CURE_REFUTED;
		snprintf(run->why, sizeof run->why, "%s", p->why);
		return 0;
	}
	if (error || !is_clean(p->trial)) {
		return error;
	}
	error = ct_cure_run(p->e, p->edit, p->edits, run);
	return error || run->end != CT_CURE_HOLDS || !run->exact ? error : explore_run(p, run, WHOLE);
}

static int verify(struct proof *p)
{
	const uint64_t states = p->states;
	struct ct_cure_run run = {.log_fd = -1};

	p->states = p->e->options.states;

	int error = explore_all(p, &run);

	p->states = states;
	error = error ? error : note_proofs(p, &run);
	ct_cure_run_free(&run);
	return error < 0 ? error : 0;
}

/* ---- Which states are whose ------------------------------------------------------------------------------------- */

/* Collects the edits of the test, and those of one finding. */
static unsigned collect_one(const struct proof *p, unsigned number, struct ct_edit edit[EDITS_MAX])
{
	const struct ct_options *const o = &p->e->options;
	const struct ct_cure *const c = &p->result->finding[number].cure;
	unsigned count = 0;

	for (unsigned i = 0; i < o->assumed_count && i < ASSUMED_MAX; i++) {
		edit[count++] = o->assumed[i];
	}
	for (unsigned k = 0; k < c->count; k++) {
		edit[count++] = c->edit[k];
	}
	if (c->masked) {
		edit[count++] = c->mask;
	}
	return count;
}

static int account_alone(struct proof *p, struct ct_account *a, unsigned i)
{
	struct ct_edit edit[EDITS_MAX];
	const struct ct_cure *const c = &p->result->finding[i].cure;

	if (c->count == 0 && !c->masked) {
		return 0;
	}
	const int error = explore(p, edit, collect_one(p, i, edit), WHOLE);

	if (!error) {
		ct_account_alone(a, p->result, i, p->trial);
	}
	return error < 0 ? error : 0;
}

/* Each cure alone is explored where its outcome can be compared with a test of all states, or where a finding has gone. */
static int account_each(struct proof *p, struct ct_account *a)
{
	bool wanted = a->exact;
	int error = 0;

	for (unsigned i = 0; i < p->result->finding_count; i++) {
		wanted = wanted || p->result->finding[i].cure.gone;
	}
	for (unsigned i = 0; i < p->result->finding_count && wanted && !error; i++) {
		error = account_alone(p, a, i);
	}
	error = error ? error : explore(p, p->edit, p->edits, WHOLE);
	if (!error) {
		ct_account_end(a, p->result, p->trial);
	}
	return error < 0 ? error : 0;
}

static int account(struct proof *p)
{
	const struct ct_options *const o = &p->e->options;
	const bool comparable = p->e->rules.model == p->model && ct_covers_all(p->result);
	struct ct_account a = {.exact = false};
	int error = comparable ? explore(p, p->edit, o->assumed_count, WHOLE) : 0;

	if (!error && comparable) {
		error = ct_account_begin(&a, p->trial);
	}
	error = error ? error : account_each(p, &a);
	ct_account_free(&a);
	return error < 0 ? error : 0;
}

/* ---- The search ------------------------------------------------------------------------------------------------- */

static uint64_t trial_budget(uint64_t states)
{
	const uint64_t part = states / TRIAL_PART > TRIAL_LEAST ? states / TRIAL_PART : TRIAL_LEAST;

	return states < part ? states : part;
}

/* A trial's part of the budget may have missed a cause that all of it shows: then every trial takes all of it. False: it does. */
static bool take_all(struct proof *p)
{
	const uint64_t all = p->e->options.states;
	const bool more = p->states < all;

	p->states = all;
	p->failing = more ? UINT64_MAX : p->failing;
	p->clean = false;
	return more;
}

/* The first finding first: an edited log shows causes that the timing of this run hides, and they come later. */
static int begin_search(struct proof *p)
{
	int error;

	do {
		error = search(p, p->edit, p->edits, BARE);
	} while (!error && p->trial->consistent && take_all(p));
	p->unshown = !error && p->trial->consistent;
	return error || p->unshown ? error : cure_finding(p, 0);
}

static bool may_search(const struct proof *p)
{
	const unsigned most = p->e->options.stop_after;
	unsigned done = 0;

	for (unsigned i = 0; i < p->result->finding_count; i++) {
		done += p->searched[i] != 0;
	}
	return !is_spent(p) && (most == 0 || done < most);
}

/* Until no state fails that is in no finding, or the budget is used up. */
static int search_all(struct proof *p)
{
	int error = begin_search(p);
	bool more = !p->unshown;

	while (!error && more && may_search(p)) {
		unsigned next = NO_FINDING;

		error = p->clean ? 0 : find_next(p, &next);
		if (!error && next != NO_FINDING) {
			error = cure_finding(p, next);
		} else {
			more = take_all(p);
		}
	}
	p->ended = !more;
	return error < 0 ? error : 0;
}

/* Notes what became of the findings whose turn did not come. */
static void note_unsearched(struct proof *p)
{
	struct ct_result *const r = p->result;

	r->cure_states = p->used;
	r->cure_states_most = p->most;
	r->cures_unshown = p->unshown;
	for (unsigned i = 0; i < r->finding_count; i++) {
		struct ct_finding *const f = &r->finding[i];

		f->cure.gone = !f->cure.searched && p->ended && !p->unshown;
		if (!f->cure.searched && !p->ended && is_spent(p)) {
			propose(p, f);
			f->cure.left = count_left(f);
		}
		r->cure_search_ended = r->cure_search_ended || f->cure.left > 0;
	}
	r->cure_search_ended = r->cure_search_ended || (is_spent(p) && !p->ended);
}

static int cure_all(struct proof *p)
{
	p->states = trial_budget(p->e->options.states);
	p->edits = collect(p, UINT32_MAX, p->edit); /* assumptions of the test */
	int error = search_all(p);

	note_unsearched(p);
	join_all_too_early(p);
	error = error || p->cures == 0 ? error : drop_spares(p);
	p->states = trial_budget(p->e->options.states);
	error = error || p->cures == 0 ? error : count_needs(p);
	p->states = p->e->options.states;
	error = error || p->unshown ? error : account(p);
	return error || p->cures == 0 ? error : verify(p);
}

/* Can the count of states that fail without a cure be compared? The model is the same, none was left out. */
static bool is_measured(const struct ct_exploration *e, enum ct_model model, const struct ct_result *r)
{
	return e->rules.model == model && e->options.stop_after == 0 && r->states_settled == 0;
}

/* As many states as the test had, or might have had: a test of few states that are all takes more than these for its cures. */
static uint64_t budget_of(const struct ct_exploration *e, const struct ct_result *r)
{
	const uint64_t states = e->options.states > r->states_tested ? e->options.states : r->states_tested;

	return e->options.cure_states ? e->options.cure_states : states;
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
			.most = budget_of(e, result),
			.began = ct_wall_seconds()};
		result->proved = true;
		result->proved_under = model;
		error = cure_all(p);
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
	ct_edits_text(cure->edit, cure->count, ret_text, bytes);
}
