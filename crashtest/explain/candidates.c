/* SPDX-License-Identifier: BSD-3-Clause */
/* The cure of one finding. See candidates.h. */
#include <string.h>
#include <sys/param.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"

#include "candidates.h"
#include "cure.h"
#include "../group.h"

enum { TRIES_MAX = 24 }; /* proposals and sets of a finding */

bool ct_same_cause(const struct ct_finding *a, const struct ct_finding *b)
{
	if (ct_groups_meet(&a->cause, &b->cause)) {
		return true;
	}
	if (*a->cause.lost && *b->cause.lost) {
		return !strcmp(a->cause.lost, b->cause.lost) && !strcmp(a->cause.early, b->cause.early) &&
		       !strcmp(a->cause.lost_caller, b->cause.lost_caller) &&
		       !strcmp(a->cause.early_caller, b->cause.early_caller);
	}
	return ct_have_one_shape(a->text, b->text);
}

enum outcome { FAILS, COUNTS, HOLDS };

/* The cures so far and a set of proposals. */
static int try_set(struct ct_proof *p, const struct ct_finding *f, const unsigned *set, unsigned size,
	enum outcome *ret_outcome)
{
	NVW_INVARIANT(size >= 1 && size <= CT_CURE_MAX);
	*ret_outcome = FAILS;
	if (p->edits + size > CT_PROOF_EDITS) {
		return 0;
	}
	NVW_FOR(i, size) {
		p->edit[p->edits + i] = f->proposals.edit[set[i]];
	}
	const int error = ct_proof_search(p, p->edit, p->edits + size, CT_TRIAL_FIRST);

	if (error) {
		return MIN(error, 0);
	}
	if (ct_is_clean(p->trial)) {
		*ret_outcome = HOLDS;
	} else if (p->trial->finding_count > 0 && !ct_same_cause(&p->trial->finding[0], f)) {
		*ret_outcome = COUNTS;
	}
	return 0;
}

/* What the log shows of a set has to show in a run of the program, too. */
static int confirm_set(struct ct_proof *p, unsigned size, enum outcome *outcome)
{
	struct ct_cure_run run;
	int error = 0;

	NVW_INVARIANT(size >= 1 && size <= CT_CURE_MAX);
	if (p->by_running) {
		return 0;
	}
	NVW_TRY(ct_cure_run(p->e, p->edit, p->edits + size, &run));
	if (run.end == CT_CURE_HOLDS && run.exact && *outcome == HOLDS) {
		error = ct_proof_explore_run(p, &run, CT_TRIAL_FIRST);
		ct_proof_count(p);
	}
	if (!error && run.end == CT_CURE_REFUTED) {
		*outcome = FAILS;
		NVW_PRINT(p->why, "%s", run.why);
	}
	ct_cure_run_free(&run);
	return error;
}

/* One that a run refutes is tried in no larger set. */
static void say_refuted(const struct ct_proof *p, struct ct_finding *f, unsigned size)
{
	if (f->cure.refuted++ == 0) {
		ct_edits_text(p->edit + p->edits, size, f->cure.refuted_edit, sizeof f->cure.refuted_edit);
		NVW_PRINT(f->cure.refuted_why, "%s", p->why);
	}
}

static void note_refuted(struct ct_proof *p, struct ct_finding *f, const unsigned *set, unsigned size)
{
	NVW_INVARIANT(size >= 1 && size <= CT_CURE_MAX);
	if (!*p->why) {
		return;
	}
	say_refuted(p, f, size);
	if (size == 1) {
		p->refuted |= 1u << set[0];
	}
	*p->why = '\0';
}

/* Two barriers for one lost store: if neither does alone, both do not. */
static bool are_for_one_store(const struct ct_edit *x, const struct ct_edit *y)
{
	return x->kind == CT_EDIT_BARRIER && y->kind == CT_EDIT_BARRIER && x->a.line == y->a.line &&
	       !strcmp(x->a.file, y->a.file);
}

static bool repeats_store(const struct ct_edit *edit, const unsigned *set, unsigned i)
{
	return NVW_ANY(before, set, i, are_for_one_store(&edit[set[i]], &edit[*before]));
}

static bool is_hopeless(
	const struct ct_proof *p, const struct ct_finding *f, const unsigned *set, unsigned size)
{
	return NVW_ANY_BELOW(i, size, (p->refuted >> set[i] & 1) || repeats_store(f->proposals.edit, set, i));
}

/* How many states fail with a set that counts. */
static int measure(struct ct_proof *p, unsigned size, uint64_t *ret_failing)
{
	const int error = ct_proof_search(p, p->edit, p->edits + size, CT_TRIAL_WHOLE);

	*ret_failing = UINT64_MAX;
	if (!error) {
		*ret_failing = p->trial->states_failing;
	}
	return MIN(error, 0);
}

/* The next set of so many of n, in order. */
static bool next_set(unsigned *set, unsigned size, unsigned n)
{
	unsigned i = size;

	NVW_INVARIANT(size <= n);
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
	NVW_INVARIANT(size <= CT_CURE_MAX);
	f->cure.count = size;
	NVW_FOR(i, size) {
		f->cure.edit[i] = f->proposals.edit[set[i]];
	}
}

/* Sets of one size: the first that holds, else of those that count the one that leaves the fewest states that
 * fail. An edit that only moves the failure elsewhere leaves more than a cure. */
static int try_sets(struct ct_proof *p, struct ct_finding *f, unsigned size, enum outcome *best)
{
	unsigned set[CT_CURE_MAX] = {0, 1, 2};
	bool more = size <= f->proposals.count;
	int error = 0;

	NVW_INVARIANT(size >= 1 && size <= CT_CURE_MAX);
	while (more && *best != HOLDS && f->cure.tried < TRIES_MAX && !ct_proof_is_spent(p) && !error) {
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

/* Without a cure: its lost stores are assumed to persist before what relies on them, or to be durable at
 * once, if that shows what is behind it. */
static int mask_finding(struct ct_proof *p, struct ct_finding *f)
{
	const struct ct_proposals kept = f->proposals;
	enum outcome outcome = FAILS;
	const unsigned first[] = {0};
	int error = 0;

	NVW_INVARIANT(f->cure.count == 0);
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
static bool waits(const struct ct_proof *p)
{
	return (ct_model_info(p->model)->axioms & CT_A(COMPLETION)) != 0;
}

/* A barrier before a line is the same whatever it is to come after. */
static bool is_same_edit(const struct ct_edit *x, const struct ct_edit *y)
{
	const bool before = ct_edit_stands_before(x);

	return x->kind == y->kind && x->scope == y->scope && x->rounds == y->rounds && x->more_count == 0 &&
	       y->more_count == 0 && x->b.line == y->b.line && !strcmp(x->b.file, y->b.file) &&
	       (before || (x->a.line == y->a.line && !strcmp(x->a.file, y->a.file)));
}

/* A barrier of a work-item orders what others publish only if it waits. */
static bool may_help(const struct ct_proof *p, const struct ct_finding *f, const struct ct_edit *e)
{
	const bool is_own = e->kind == CT_EDIT_BARRIER && e->scope == NVW_WORKITEM;

	return !is_own || waits(p) || !strcmp(f->cause.needed, "work-item");
}

static void drop_hopeless(const struct ct_proof *p, struct ct_finding *f)
{
	struct ct_proposals *const all = &f->proposals;
	unsigned kept = 0;

	NVW_EACH(edit, all->edit, all->count) {
		if (may_help(p, f, edit)) {
			all->edit[kept++] = *edit;
			all->edit[kept - 1].all_come = !p->e->bench;
		}
	}
	all->count = kept;
}

static bool is_among(const struct ct_edit *edit, const struct ct_edit *others, unsigned count)
{
	NVW_INVARIANT(count <= CT_PROPOSALS_MAX);
	return NVW_ANY(other, others, count, is_same_edit(other, edit));
}

static void drop_repeated(struct ct_proposals *p)
{
	unsigned kept = 0;

	NVW_EACH(edit, p->edit, p->count) {
		if (!is_among(edit, p->edit, kept)) {
			p->edit[kept++] = *edit;
		}
	}
	p->count = kept;
}

static int try_all_sets(struct ct_proof *p, struct ct_finding *f, enum outcome *best)
{
	for (unsigned size = 1; size <= CT_CURE_MAX && *best == FAILS; size++) {
		NVW_TRY(try_sets(p, f, size, best));
	}
	return 0;
}

/* Where no exchange of pairs helps, whole loops may have to be exchanged. */
static int try_rounds(struct ct_proof *p, struct ct_finding *f, enum outcome *best)
{
	struct ct_edit *const first = &f->proposals.edit[0];

	if (f->proposals.count == 0 || first->kind != CT_EDIT_EXCHANGE) {
		return 0;
	}
	NVW_TRY(ct_edit_look_for_rounds(p->e->log_fd, first));
	return first->rounds ? try_all_sets(p, f, best) : 0;
}

/* Sets of proposals up to a size that there are to try. */
static unsigned count_sets(const struct ct_proposals *p, unsigned size)
{
	const unsigned n = p->count;
	const unsigned sets[CT_CURE_MAX + 1] = {
		0, n, n + n * (n - 1) / 2, n + n * (n - 1) / 2 + n * (n - 1) * (n - 2) / 6};

	NVW_INVARIANT(size <= CT_CURE_MAX);
	return MIN(sets[size], TRIES_MAX);
}

/* Sets that were not tried, since the budget was used up. */
unsigned ct_candidates_left(const struct ct_finding *f)
{
	const unsigned sets = count_sets(&f->proposals, NVW_OR(f->cure.count, CT_CURE_MAX));

	return sets - MIN(sets, f->cure.tried);
}

void ct_candidates_propose(const struct ct_proof *p, struct ct_finding *f)
{
	if (f->proposals.count == 0) {
		ct_propose(&f->cause, &f->proposals);
	}
	drop_repeated(&f->proposals);
	drop_hopeless(p, f);
}

/* Where no edit of the log helps: a barrier that waits takes effect by what the log does not have, for
 * example a barrier of execution behind it. */
static int try_by_running(struct ct_proof *p, struct ct_finding *f, enum outcome *best)
{
	int error = 0;

	if (!p->e->bench || p->by_running || f->proposals.count == 0 || !waits(p)) {
		return 0;
	}
	p->by_running = true;
	f->cure.tried = 0;
	error = try_sets(p, f, 1, best);
	p->by_running = *best != FAILS;
	return error;
}

int ct_candidates_cure(struct ct_proof *p, unsigned number)
{
	struct ct_finding *const f = &p->result->finding[number];
	enum outcome best = FAILS;
	int error = 0;

	NVW_INVARIANT(number < p->result->finding_count);
	p->refuted = 0;
	ct_candidates_propose(p, f);
	f->cure.searched = true;
	p->searched[number] = p->states;
	error = try_all_sets(p, f, &best);
	if (!error && best == FAILS && !ct_proof_is_spent(p)) {
		error = try_rounds(p, f, &best);
	}
	if (!error && best == FAILS && !ct_proof_is_spent(p)) {
		error = try_by_running(p, f, &best);
	}
	if (best != HOLDS && ct_proof_is_spent(p)) {
		f->cure.left = ct_candidates_left(f);
	}
	if (!error && best == FAILS && !ct_proof_is_spent(p)) {
		error = mask_finding(p, f);
	}
	p->cures += best != FAILS;
	p->clean |= best == HOLDS;
	p->edits = ct_proof_collect(p, UINT32_MAX, p->edit);
	return error;
}
