/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials of cures. See trial.h. */
#include <stdlib.h>

#include "core/bounds.h"
#include "core/print.h"
#include "core/units.h"

#include "trial.h"
#include "../judge/process.h"

/* Explores of's log. 0: done, 1: an edit is refused, else an error. kinds: how many, or an extent. */
static int explore_log(struct ct_proof *p, const struct ct_exploration *of, const struct ct_edit *edits,
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
	e.hangs = NVW_OR(e.hangs, &p->hangs);
	e.options.unexplained = kinds <= CT_TRIAL_WHOLE;
	e.options.stop_after = (unsigned)abs(kinds);
	e.options.keeps_failing = kinds == CT_TRIAL_WHOLE;
	ct_tell(&p->e->options, "proving cures", ++p->done, 0, ct_wall_seconds() - p->began);
	ct_result_free(p->trial);
	const int error = ct_explore_edited(&e, edits, count, NULL, p->trial);

	if (error == NVW_E_USAGE) {
		return 1;
	}
	NVW_TRY(error);
	return p->trial->interrupted ? NVW_E_STOPPED : 0;
}

/* The same of a run, with the edits that could not be run. */
static int explore_log_of(struct ct_proof *p, const struct ct_cure_run *run, int kinds)
{
	struct ct_exploration of_run = *p->e;

	of_run.log_fd = run->log_fd;
	of_run.first_record = run->first_record;
	return explore_log(p, &of_run, run->rest, run->rest_count, kinds);
}

/* Explores the recorded run or, once a cure has needed it, a run with the edits. */
int ct_proof_explore(struct ct_proof *p, const struct ct_edit *edits, unsigned count, int kinds)
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
		NVW_PRINT(p->why, "%s", run.why);
		error = 1;
	}
	ct_cure_run_free(&run);
	return error;
}

void ct_proof_count(struct ct_proof *p)
{
	p->used += p->trial->states_tested;
	NVW_EACH(finding, p->trial->finding, p->trial->finding_count) {
		p->used += finding->tests;
	}
}

/* The same in the search, where every tested state counts. */
int ct_proof_search(struct ct_proof *p, const struct ct_edit *edits, unsigned count, int kinds)
{
	const int error = ct_proof_explore(p, edits, count, kinds);

	if (!error) {
		ct_proof_count(p);
	}
	return error;
}

bool ct_proof_is_spent(const struct ct_proof *p)
{
	return p->used >= p->most;
}

/* All of it, without a state that fails or has no answer. */
bool ct_is_clean(const struct ct_result *r)
{
	return r->finding_count == 0 && ct_is_consistent(r);
}

/* What a run that has ended leaves: it is refuted unless all tested states hold. */
int ct_proof_explore_run(struct ct_proof *p, struct ct_cure_run *run, int kinds)
{
	const int error = explore_log_of(p, run, kinds);
	char a[NVW_UNIT_TEXT], b[NVW_UNIT_TEXT];

	if (error < 0 || (error == 0 && ct_is_clean(p->trial))) {
		return error;
	}
	run->end = CT_CURE_REFUTED;
	if (error > 0) {
		NVW_PRINT(run->why, "the run with it does not do what the others change");
	} else {
		NVW_PRINT(run->why, "of the run with it, %s of %s tested states fail: %s",
			nvw_format_grouped(p->trial->states_failing, a),
			nvw_format_grouped(p->trial->states_tested, b),
			p->trial->finding_count ? p->trial->finding[0].text : "no verdict");
	}
	return 0;
}

/* Collects the edits of the test, of the cures of some findings and of what stands for missing ones. */
unsigned ct_proof_collect(const struct ct_proof *p, uint32_t findings, struct ct_edit edits[CT_PROOF_EDITS])
{
	const struct ct_options *const o = &p->e->options;
	unsigned count = 0;

	for (unsigned i = 0; i < o->assumed_count && i < CT_PROOF_ASSUMED; i++) {
		edits[count++] = o->assumed[i];
	}
	NVW_FOR(i, p->result->finding_count) {
		const struct ct_cure *const c = &p->result->finding[i].cure;
		const bool is_among = findings >> i & 1;

		for (unsigned k = 0; k < c->count && is_among && count < CT_PROOF_EDITS; k++) {
			edits[count++] = c->edit[k];
		}
		if (c->masked && is_among && count < CT_PROOF_EDITS) {
			edits[count++] = c->mask;
		}
	}
	return count;
}
