/* SPDX-License-Identifier: BSD-3-Clause */
/* The self-test: seeded bugs must be found, and the unmutated structure must have no finding. See crash.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/options.h"
#include "core/stop.h"

#include "../crash.h"
#include "../judge/process.h"

enum { TRIALS_MAX = 16, KILLS = 30, STATES = 20000, CLEAN_STATES = 3000 };

struct self_test {
	const struct ct_subject *subject;
	const struct ct_options *options;
	void (*tried)(void *context, const struct ct_trial *trial);
	void *context;
	struct ct_self_test sum;
};

/* Sets options from "name=value name=value". */
static int set_options(const char *text, struct nvw_options *options)
{
	char *const copy = strdup(text), *rest = copy, *word;
	int error = copy ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for the options of a trial");

	while (!error && (word = strtok_r(rest, " ", &rest)) != NULL) {
		char *const equals = strchr(word, '=');

		if (equals == NULL) {
			error = nvw_fail(NVW_E_USAGE, "trial: expected name=value, found \"%s\"", word);
			break;
		}
		*equals = '\0';
		error = nvw__options_set(options, word, equals + 1);
	}
	free(copy);
	return error;
}

static int choose_way(const char *way, struct ct_options *o)
{
	if (strcmp(way, "kill") == 0) {
		o->mode = CT_KILL;
		return 0;
	}
	if (strcmp(way, "observed") == 0) {
		o->mode = CT_OBSERVED;
		return 0;
	}
	o->mode = CT_PERMITTED;
	const struct ct_model_info *const model = ct_model_find(way, &o->model);

	if (model && model->of_runs) {
		return 0;
	}
	return nvw_fail(NVW_E_USAGE,
		"the mutation's mode is \"%s\": expected kill, observed or a persistency model", way);
}

/* Runs one test; mutation is -1 for none. */
static int try(struct self_test *t, int mutation, const char *way, const char *options_text)
{
	static struct ct_result result;
	struct ct_trial trial = {.way = way, .options = options_text};
	struct ct_subject subject = *t->subject;
	struct ct_options options = *t->options;
	struct nvw_options *values;
	const double began = ct_wall_seconds();
	int error = nvw__options_create(subject.workload->options, &values);

	if (error) {
		return error;
	}
	error = set_options(options_text, values);
	if (!error) {
		error = choose_way(way, &options);
	}
	subject.options = values;
	subject.options_text = options_text;
	subject.mutation = mutation;
	options.unexplained = true;
	options.progress = NULL;
	options.save = NULL;
	if (options.states == 0) {
		options.states = options.mode == CT_KILL ? KILLS : mutation < 0 ? CLEAN_STATES : STATES;
	}
	if (!error) {
		error = ct_run(&subject, &options, &result);
	}
	nvw__options_free(values);
	if (error) {
		return error;
	}
	ct_result_free(&result);
	if (result.interrupted) {
		return nvw_stop_error();
	}
	trial.mutation = mutation < 0 ? NULL : subject.workload->mutations[mutation].name;
	trial.as_expected = mutation < 0 ? ct_is_consistent(&result) : !result.consistent;
	trial.states_distinct = result.states_distinct;
	trial.states_failing = result.states_failing;
	trial.seconds = ct_wall_seconds() - began;
	snprintf(trial.text, sizeof trial.text, "%s", result.finding_count ? result.finding[0].text : "");
	if (mutation < 0) {
		t->sum.clean++;
		t->sum.alarms += !trial.as_expected;
	} else {
		t->sum.mutations++;
		t->sum.found += trial.as_expected;
	}
	t->tried(t->context, &trial);
	return 0;
}

/* The workload's trials, split at each ';'. The caller frees *ret_copy. */
static unsigned trials(const struct nvw_workload *w, char **ret_copy, const char *ret_trial[TRIALS_MAX])
{
	char *rest = *ret_copy = strdup(w->trial ? w->trial : ""), *word;
	unsigned count = 0;

	while (rest != NULL && count < TRIALS_MAX && (word = strtok_r(rest, ";", &rest)) != NULL) {
		ret_trial[count++] = word + strspn(word, " ");
	}
	if (count == 0) {
		ret_trial[count++] = "";
	}
	return count;
}

static int try_clean(struct self_test *t, const char *const *trial, unsigned count)
{
	static const char *const ways[] = {"kill", "observed", "strict", "epoch", "buffered-epoch", "eadr"};
	int error = 0;

	for (unsigned i = 0; i < count && !error; i++) {
		for (unsigned k = 0; k < sizeof ways / sizeof ways[0] && !error; k++) {
			error = try(t, -1, ways[k], trial[i]);
		}
	}
	return error;
}

/* Tries with the mutation's own options, or else in the workload's trials until one shows it. */
static int try_mutation(struct self_test *t, int i, const char *const *trial, unsigned count)
{
	const struct nvw_mutation *const m = &t->subject->workload->mutations[i];
	const struct ct_self_test before = t->sum;
	int error;

	if (m->options != NULL) {
		return try(t, i, m->found_by, m->options);
	}
	for (unsigned k = 0; k < count; k++) {
		t->sum = before;
		error = try(t, i, m->found_by, trial[k]);
		if (error || t->sum.found > before.found) {
			return error;
		}
	}
	return 0;
}

int ct_run_self_test(const struct ct_subject *subject, const struct ct_options *options,
	void (*tried)(void *context, const struct ct_trial *trial), void *context,
	struct ct_self_test *ret_sum)
{
	struct self_test t = {.subject = subject, .options = options, .tried = tried, .context = context};
	const struct nvw_workload *const w = subject->workload;
	const char *trial[TRIALS_MAX];
	char *copy;
	const unsigned count = trials(w, &copy, trial);
	int error = try_clean(&t, trial, count);

	for (int i = 0; w->mutations && w->mutations[i].name && !error; i++) {
		error = try_mutation(&t, i, trial, count);
	}
	free(copy);
	*ret_sum = t.sum;
	ret_sum->interrupted = error == NVW_E_STOPPED;
	return ret_sum->interrupted ? 0 : error;
}
