/* SPDX-License-Identifier: BSD-3-Clause */
/* See crash_kills.h. */
#include "crash_kills.h"

#include <stdlib.h>

#include <crashtest/judge/process.h>
#include <nvw/random.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/stop.h"

enum { KILLS = 20, STATES_A_KILL = 8 };

static void add_kill(struct ct_result *result, struct ct_result *sum)
{
	result->states_failing = !result->consistent; /* kills are counted */
	NVW_EACH(finding, result->finding, result->finding_count) {
		finding->states = 1;
	}
	ct_result_add(sum, result);
}

static int explore_kill(struct crash_tested *t, const struct ct_options *o, struct ct_result *sum)
{
	struct ct_result *const result = calloc(1, sizeof *result);
	struct ct_options few = *o;

	NVW_INVARIANT(o->mode == CT_KILL);
	NVW_ALLOCATED(result, "no memory for a result");
	few.states = STATES_A_KILL;
	if (sum->finding_count) { /* of the first one */
		few.save = NULL;
	}
	struct ct_foreign log = crash_tested_log(t);

	log.last_only = true;
	const int error = crash_tested_explore(t, &log, &few, result);

	if (!error) {
		add_kill(result, sum);
	}
	free(result);
	return error;
}

static int kill_once(struct crash_tested *t, const struct ct_options *o, uint64_t at, struct ct_result *sum)
{
	NVW_INVARIANT(at > 0);
	NVW_TRY(working_copy_renew(&t->copy, t->request->image));
	const int found = crash_tested_record(t, at);

	return found > 0 ? explore_kill(t, o, sum) : found;
}

/* Kills the program by SIGKILL at seeded events; for each run, checks the certainly durable state and some of
 * the possible ones. */
static int kill_often(
	struct crash_tested *t, const struct ct_options *o, uint64_t events, struct ct_result *sum)
{
	const uint64_t kills = NVW_OR(o->states, KILLS);
	struct nvw_random random = {o->seed};
	int error = 0;

	sum->states_asked = kills;
	for (uint64_t i = 0; i < kills && !error && !nvw_stopping(); i++) {
		error = kill_once(t, o, 1 + nvw_random_below(&random, events + 1), sum);
		sum->states_tested += !error;
	}
	sum->interrupted = nvw_stopping();
	return error == NVW_E_STOPPED ? 0 : error; /* the other kills stand */
}

int crash_kills_run(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	const double began = ct_wall_seconds();
	int error = crash_tested_record(t, 0);
	const uint64_t events = t->recorded.events;

	if (error < 0) {
		return ct_or_undecided(error, o, ret_result);
	}
	struct ct_foreign log = crash_tested_log(t);

	log.final_only = true;
	error = crash_tested_explore(t, &log, o, ret_result);
	if (error || !ct_is_consistent(ret_result)) {
		return error;
	}
	ct_result_begin(ret_result, CT_KILL, ct_model_or(o->model, CT_USE_PROGRAMS));
	error = kill_often(t, o, events, ret_result);
	ret_result->host_seconds = ct_wall_seconds() - began;
	return error;
}
