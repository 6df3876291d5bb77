/* SPDX-License-Identifier: BSD-3-Clause */
/* The self-test: seeded bugs must be found, and the unmutated structure must have no finding. See crash.h. */
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"

#include "core/options.h"
#include "core/stop.h"

#include "../crash.h"
#include "../judge/process.h"

enum {
	TRIALS_MAX = 16,
	KILLS = 30,
	STATES = 20000,
	CLEAN_STATES = 3000,
	WORKED_ON = 8,          /* operations after recovery, */
	STATES_WORKED_ON = 200, /* and states that go on: a few hundred take a second */
	SCHEDULES = 32,
	STATES_OF_SCHEDULE = 100,
	CHANGES = 3 /* as --schedule-depth is by default */
};

/* The way of bugs that a structure shows only when it goes on. */
static const char and_then[] = "and-then";

struct self_test {
	const struct ct_subject *subject;
	const struct ct_options *options;
	void (*tried)(void *context, const struct ct_trial *trial);
	void *context;
	struct ct_self_test sum;
	struct ct_result *result; /* of the last test */
};

static int set_option(char *word, struct nvw_options *options)
{
	char *const equals = strchr(word, '=');

	NVW_FAIL_IF(!equals, NVW_E_USAGE, "trial: expected name=value, found \"%s\"", word);
	*equals = '\0';
	return nvw__options_set(options, word, equals + 1);
}

/* Sets options from "name=value name=value". */
static int set_options(const char *text, struct nvw_options *options)
{
	char *const copy = strdup(text), *rest = copy, *word;
	int error = 0;

	NVW_ALLOCATED(copy, "no memory for the options of a trial");
	while (!error && (word = strtok_r(rest, " ", &rest))) {
		error = set_option(word, options);
	}
	free(copy);
	return error;
}

static int choose_way(const char *way, struct ct_options *o)
{
	if (!strcmp(way, "kill")) {
		o->mode = CT_KILL;
		return 0;
	}
	if (!strcmp(way, and_then)) {
		o->mode = CT_PERMITTED;
		o->go_on = WORKED_ON;
		return 0;
	}
	if (!strcmp(way, "schedules")) {
		o->mode = CT_OBSERVED;
		o->schedules = SCHEDULES;
		o->schedule_depth = CHANGES;
		return 0;
	}
	const struct ct_model_info *const model = ct_model_find(way, &o->model);

	if (model && (model->of_runs || model->replays)) {
		o->mode = model->replays ? CT_OBSERVED : CT_PERMITTED;
		return 0;
	}
	return nvw_fail(NVW_E_USAGE,
		"the mutation's mode is \"%s\": expected kill, observed, and-then, "
		"schedules or a persistency model",
		way);
}

static unsigned states_of(const struct ct_options *o, int mutation)
{
	if (o->mode == CT_KILL) {
		return KILLS;
	}
	if (o->go_on > 0) {
		return STATES_WORKED_ON;
	}
	if (o->schedules > 0) {
		return STATES_OF_SCHEDULE;
	}
	return mutation < 0 ? CLEAN_STATES : STATES;
}

static int test_with(
	struct self_test *t, int mutation, const struct ct_trial *trial, struct nvw_options *values)
{
	struct ct_subject subject = *t->subject;
	struct ct_options options = *t->options;

	NVW_TRY(set_options(trial->options, values));
	NVW_TRY(choose_way(trial->way, &options));
	subject.options = values;
	subject.options_text = trial->options;
	subject.mutation = mutation;
	options.unexplained = true;
	options.progress = NULL;
	options.save = NULL;
	if (options.states == 0) {
		options.states = states_of(&options, mutation);
	}
	if (options.schedules > 0) {
		return ct_run_schedules(&subject, &options, true, t->result);
	}
	return ct_run(&subject, &options, t->result);
}

static void tell_first_finding(struct ct_trial *trial, const struct ct_result *r)
{
	if (r->finding_count > 0) {
		NVW_PRINT(trial->text, "%s", r->finding[0].text);
	} else if (r->schedules.finding_count > 0) {
		NVW_PRINT(trial->text, "%.*s", (int)sizeof trial->text - 1, r->schedules.finding[0].text);
	}
}

static void tell_trial(struct self_test *t, int mutation, struct ct_trial *trial)
{
	const struct ct_result *const r = t->result;

	NVW_INVARIANT(mutation < 0 || t->subject->workload->mutations);
	trial->states_distinct = r->states_distinct;
	trial->states_failing = r->states_failing;
	tell_first_finding(trial, r);
	if (mutation < 0) {
		trial->as_expected = ct_is_consistent(r);
		t->sum.clean++;
		t->sum.alarms += !trial->as_expected;
	} else {
		trial->mutation = t->subject->workload->mutations[mutation].name;
		trial->as_expected = !r->consistent;
		t->sum.mutations++;
		t->sum.found += trial->as_expected;
	}
	t->tried(t->context, trial);
}

/* Runs one test; mutation is -1 for none. */
static int try_one(struct self_test *t, int mutation, const char *way, const char *options_text)
{
	struct ct_trial trial = {.way = way, .options = options_text};
	struct nvw_options *values;
	const double began = ct_wall_seconds();

	NVW_TRY(nvw__options_create(t->subject->workload->options, &values));
	const int error = test_with(t, mutation, &trial, values);

	nvw__options_free(values);
	if (error) {
		return error;
	}
	ct_result_free(t->result);
	if (t->result->interrupted) {
		return nvw_stop_error();
	}
	trial.seconds = ct_wall_seconds() - began;
	tell_trial(t, mutation, &trial);
	return 0;
}

/* The workload's trials, split at each ';'. The caller frees *ret_copy. */
static unsigned trials(const struct nvw_workload *w, char **ret_copy, const char *ret_trial[TRIALS_MAX])
{
	char *rest = *ret_copy = strdup(NVW_OR(w->trial, "")), *word;
	unsigned count = 0;

	while (rest && count < TRIALS_MAX && (word = strtok_r(rest, ";", &rest))) {
		ret_trial[count++] = word + strspn(word, " ");
	}
	if (count == 0) {
		ret_trial[count++] = "";
	}
	return count;
}

/* In every mode, and under every model. */
static int try_models(struct self_test *t, const char *trial)
{
	NVW_FOR(m, CT_MODEL_COUNT) {
		if (ct_model_info(m)->of_runs || ct_model_info(m)->replays) {
			NVW_TRY(try_one(t, -1, ct_model_info(m)->name, trial));
		}
	}
	return 0;
}

static int try_clean(struct self_test *t, const char *trial)
{
	NVW_TRY(try_one(t, -1, "kill", trial));
	NVW_TRY(try_models(t, trial));
	return t->subject->workload->go_on ? try_one(t, -1, and_then, trial) : 0;
}

/* Tries with the mutation's own options, or else in the workload's trials until one shows it. */
static int try_mutation(struct self_test *t, int i, const char *const *trial, unsigned count)
{
	const struct nvw_mutation *const m = &t->subject->workload->mutations[i];
	const struct ct_self_test before = t->sum;

	NVW_INVARIANT(i >= 0);
	if (m->options) {
		return try_one(t, i, m->found_by, m->options);
	}
	for (unsigned k = 0; k < count && t->sum.found == before.found; k++) {
		t->sum = before;
		NVW_TRY(try_one(t, i, m->found_by, trial[k]));
	}
	return 0;
}

static int try_all(struct self_test *t, const char *const *trial, unsigned count)
{
	const struct nvw_mutation *const m = t->subject->workload->mutations;

	NVW_EACH(one, trial, count) {
		NVW_TRY(try_clean(t, *one));
	}
	for (int i = 0; m && m[i].name; i++) {
		NVW_TRY(try_mutation(t, i, trial, count));
	}
	return 0;
}

int ct_run_self_test(const struct ct_subject *subject, const struct ct_options *options,
	void (*tried)(void *context, const struct ct_trial *trial), void *context,
	struct ct_self_test *ret_sum)
{
	struct self_test t = {.subject = subject,
		.options = options,
		.tried = tried,
		.context = context,
		.result = malloc(sizeof *t.result)};
	const char *trial[TRIALS_MAX];
	char *copy;

	NVW_ALLOCATED(t.result, "no memory for a self-test");
	const unsigned count = trials(subject->workload, &copy, trial);
	const int error = try_all(&t, trial, count);

	free(copy);
	free(t.result);
	*ret_sum = t.sum;
	ret_sum->interrupted = error == NVW_E_STOPPED;
	return ret_sum->interrupted ? 0 : error;
}
