/* SPDX-License-Identifier: BSD-3-Clause */
/* What the workers have found becomes one result. See result.h; crash.h has what is asked of a result. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "core/bounds.h"
#include "core/order.h"
#include "core/print.h"
#include "result.h"

int ct_by_first(const void *a, const void *b)
{
	const struct ct_finding *x = a, *y = b;

	return NVW_OR(NVW_ORDER(x->instant, y->instant), NVW_ORDER(x->draw, y->draw));
}

/* Counts the instants of this shard and the exhausted ones; copies all intervals for the report. */
static int count_instants(
	const struct ct_plan *plan, const struct ct_worker *worker, unsigned workers, struct ct_result *r)
{
	NVW_EACH(w, worker, workers) {
		r->instants += w->last - w->first + 1;
		for (uint64_t k = w->first; k <= w->last; k++) {
			r->instants_exhausted += plan->interval[k - 1].exhausted;
			r->instants_by_parts += plan->interval[k - 1].by_parts;
		}
	}
	r->interval = malloc((plan->instants + 1) * sizeof *r->interval);
	NVW_ALLOCATED(r->interval, "no memory for %llu intervals", (ull)plan->instants);
	if (plan->instants > 0) {
		memcpy(r->interval, plan->interval, plan->instants * sizeof *r->interval);
	}
	r->interval_count = plan->instants;
	return 0;
}

bool ct_is_consistent(const struct ct_result *r)
{
	return r->consistent && !r->interrupted && !r->gave_up && r->states_undecided == 0 &&
	       r->ended_by == 0;
}

bool ct_leaves_nothing_out(const struct ct_result *r)
{
	return r->instants_exhausted == r->instants && !r->interrupted && !r->gave_up &&
	       r->states_undecided == 0 && r->states_symmetric == 0;
}

/* Nothing is known of what these leave. */
static bool has_untested_inputs(const struct ct_corpus *c)
{
	return NVW_ANY(input, c->input, c->count,
		input->fate == CT_INPUT_REFUSED || input->fate == CT_INPUT_TIMED_OUT);
}

bool ct_covers_all(const struct ct_result *r)
{
	/* Parts account for all states of an instant, also where only a bound of their number is known. */
	return r->mode != CT_KILL && r->shards == 0 && !r->grouped && ct_leaves_nothing_out(r) &&
	       r->states_settled == 0 && !has_untested_inputs(&r->corpus) &&
	       (r->states_known || r->instants_by_parts == r->instants);
}

enum ct_verdict ct_verdict_of(const struct ct_result *r)
{
	if (!r->consistent) {
		return r->robust ? CT_VERDICT_NOT_ROBUST : CT_VERDICT_INCONSISTENT;
	}
	if (r->unlogged.count > 0) {
		return CT_VERDICT_UNLOGGED;
	}
	if (!ct_is_consistent(r)) {
		return CT_VERDICT_UNDECIDED;
	}
	if (!ct_covers_all(r)) {
		return CT_VERDICT_UNREFUTED;
	}
	if (r->robust) {
		return CT_VERDICT_ROBUST;
	}
	return CT_VERDICT_CONSISTENT;
}

const char *ct_mode_name(enum ct_mode mode)
{
	static const char *const modes[] = {
		[CT_KILL] = "kill", [CT_OBSERVED] = "observed", [CT_PERMITTED] = "permitted"};

	NVW_INVARIANT(mode < NVW_COUNT(modes));
	return modes[mode];
}

/* A constant in JSON, and in a text or page. */
struct naming {
	const char *name, *words;
};

#define X(name, id, words) {id, words},
static const struct naming verdicts[] = {CT_VERDICTS(X)}, input_fates[] = {CT_INPUT_FATES(X)},
			   race_fates[] = {CT_RACE_FATES(X)};
#undef X

const char *ct_verdict_name(enum ct_verdict v)
{
	NVW_INVARIANT(v < NVW_COUNT(verdicts));
	return verdicts[v].name;
}

bool ct_verdict_named(const char *name, enum ct_verdict *ret)
{
	NVW_FOR(i, NVW_COUNT(verdicts)) {
		if (!strcmp(verdicts[i].name, name)) {
			*ret = (enum ct_verdict)i;
			return true;
		}
	}
	return false;
}

const char *ct_verdict_words(enum ct_verdict v)
{
	NVW_INVARIANT(v < NVW_COUNT(verdicts));
	return verdicts[v].words;
}

const char *ct_input_fate_name(enum ct_input_fate fate)
{
	NVW_INVARIANT(fate < CT_INPUT_FATE_COUNT);
	return input_fates[fate].name;
}

const char *ct_input_fate_words(enum ct_input_fate fate)
{
	NVW_INVARIANT(fate < CT_INPUT_FATE_COUNT);
	return input_fates[fate].words;
}

const char *ct_race_fate_name(enum ct_race_fate fate)
{
	NVW_INVARIANT(fate < CT_RACE_FATE_COUNT);
	return race_fates[fate].name;
}

const char *ct_race_fate_words(enum ct_race_fate fate)
{
	NVW_INVARIANT(fate < CT_RACE_FATE_COUNT);
	return race_fates[fate].words;
}

bool ct_verdict_passes(enum ct_verdict v)
{
	return v == CT_VERDICT_CONSISTENT || v == CT_VERDICT_UNREFUTED || v == CT_VERDICT_ROBUST;
}

void ct_result_clear(struct ct_result *r)
{
	memset(r, 0, offsetof(struct ct_result, finding));
}

void ct_result_begin(struct ct_result *r, enum ct_mode mode, enum ct_model model)
{
	ct_result_clear(r);
	r->mode = mode;
	r->model = model;
	r->consistent = true;
}

int ct_or_undecided(int error, const struct ct_options *o, struct ct_result *r)
{
	if (error != NVW_E_STOPPED) {
		return error;
	}
	ct_result_begin(r, o->mode, o->model);
	r->interrupted = true;
	return 0;
}

void ct_result_free(struct ct_result *r)
{
	free(r->failing.at);
	r->failing = (struct ct_failed_set){0};
	free(r->interval);
	r->interval = NULL;
	r->interval_count = 0;
	ct_coverage_free(&r->coverage);
	free(r->races.race);
	r->races = (struct ct_races){0};
	free(r->corpus.input);
	r->corpus = (struct ct_corpus){0};
}

void ct_by_parts_join(struct ct_by_parts *to, const struct ct_by_parts *from)
{
	to->parts = MAX(to->parts, from->parts);
	to->evaluations += from->evaluations;
	if (from->most_forks > to->most_forks) {
		to->most_forks = from->most_forks;
		memcpy(to->widest, from->widest, sizeof to->widest);
	}
	if (to->wide == 0) {
		to->wide_forks = from->wide_forks;
		memcpy(to->first_wide, from->first_wide, sizeof to->first_wide);
	}
	if (to->denied == 0) {
		memcpy(to->first_denied, from->first_denied, sizeof to->first_denied);
	}
	to->wide += from->wide;
	to->denied += from->denied;
	to->confirmations += from->confirmations;
	to->missed += from->missed;
	if (to->crowded == 0) {
		to->crowd = from->crowd;
	}
	to->crowded += from->crowded;
	to->died += from->died;
}

static void raise_to(uint64_t *most, uint64_t to)
{
	*most = nvw_max(*most, to);
}

void ct_recoveries_join(struct ct_recoveries *to, const struct ct_recoveries *from)
{
	raise_to(&to->epochs_open, from->epochs_open);
	raise_to(&to->entries_read, from->entries_read);
	raise_to(&to->words_restored, from->words_restored);
	raise_to(&to->words_written, from->words_written);
	to->worked_on += from->worked_on;
}

static int join_failing(const struct ct_worker *worker, unsigned workers, struct ct_failed_set *to)
{
	int error = 0;

	for (unsigned i = 0; i < workers && !error; i++) {
		error = worker[i].failing ? ct_failed_take(to, worker[i].failing) : 0;
	}
	ct_failed_sort(to);
	return error;
}

/* What one worker has counted and found. */
static void join_worker(struct ct_result *r, struct ct_groups *all, const struct ct_shared *s)
{
	r->states_distinct += s->distinct;
	r->states_equal += s->equal;
	r->states_met += s->known;
	r->states_failing += s->failing;
	r->states_unread += s->unread;
	r->states_alike += s->alike;
	r->states_symmetric += s->symmetric;
	r->states_settled += s->settled;
	if (r->states_undecided == 0) {
		NVW_PRINT(r->undecided, "%s", s->why_undecided);
	}
	r->states_undecided += s->undecided;
	r->instants_by_reads += s->by_reads;
	r->gave_up |= s->gave_up;
	r->hangs_alike += s->hangs_alike;
	ct_groups_join(all, &s->groups);
	ct_by_parts_join(&r->by_parts, &s->parts);
	ct_recoveries_join(&r->recoveries, &s->recoveries);
}

static void list_samples(struct ct_result *r, const struct ct_groups *all)
{
	struct ct_finding *const behind = &r->finding[r->finding_count];
	const unsigned samples = ct_groups_samples(all, behind, CT_FINDINGS_MAX - r->finding_count);

	qsort(behind, samples, sizeof *behind, ct_by_first);
	r->finding_count += samples;
}

/* Findings in their order, and, where a cure will be sought, samples of their states behind them. */
static void list_findings(struct ct_result *r, const struct ct_groups *all, bool with_samples)
{
	r->findings_unlisted = all->unlisted;
	ct_groups_list(all, r);
	qsort(r->finding, r->finding_count, sizeof r->finding[0], ct_by_first);
	if (with_samples) {
		list_samples(r, all);
	}
}

int ct_result_gather(const struct ct_plan *plan, const struct ct_options *options,
	const struct ct_worker *worker, unsigned workers, struct ct_result *r)
{
	struct ct_groups *const all = malloc(sizeof *all);

	NVW_ALLOCATED(all, "no memory for the findings of a test");
	ct_groups_clear(all);
	NVW_EACH(one, worker, workers) {
		join_worker(r, all, one->shared);
	}
	list_findings(r, all, !options->unexplained);
	free(all);
	r->states_tested = r->states_distinct + r->states_equal + r->states_unread;
	r->shard = options->shard;
	r->shards = options->shards;
	r->consistent = r->states_failing == 0;
	r->states_possible = plan->possible;
	r->states_possible_log2 = plan->possible_log2;
	r->states_possible_exact = plan->exact;
	r->states_known = plan->known;
	NVW_TRY(join_failing(worker, workers, &r->failing));
	return count_instants(plan, worker, workers, r);
}
