/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many seeded bugs does robustness find? Counted are those that lack a barrier, have one of too narrow a
 * scope, or store in two halves without one: by the words of the workloads themselves. Each is looked for
 * under both models of epochs; found is what has a report that the workload without bugs does not have, which
 * has at most three in all of its trials. Without EVERY_CASE in the environment every FEW-th bug is tried; of
 * right structures the test "robust" has some.
 */
#include "common/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/skip.h"
#include "shipped.h"
#include "small_run.h"

enum { WORKLOADS = NVW_COUNT(shipped), MODELS = 2, FEW = 12, STATES = 500, FEW_STATES = 100, REPORTS = 3 };

static const char *const models[MODELS] = {"epoch", "buffered-epoch"};

struct sum {
	unsigned bugs, found, found_under[MODELS];
};

static struct ct_result result;

static bool every_case(void)
{
	return getenv("EVERY_CASE") != NULL;
}

static void judge(const struct nvw_workload *w, const char *options, int mutation, unsigned model)
{
	struct ct_options o = {.mode = CT_PERMITTED,
		.states = every_case() ? STATES : FEW_STATES,
		.seed = 1,
		.jobs = 1,
		.robust = true,
		.unexplained = true};

	assert_non_null(ct_model_find(models[model], &o.model));
	if (small_run(w, options, mutation, &o, &result) != 0) {
		fail_msg("%s %s: %s", w->name, options, nvw_error_message());
	}
}

/* The next of the workload's trials, which *rest gets behind; false: there is none. */
static bool next_trial(const char **rest, char *trial, size_t bytes)
{
	const size_t length = strcspn(*rest, ";");

	if (length == 0) {
		return false;
	}
	assert_true(length < bytes);
	memcpy(trial, *rest, length);
	trial[length] = '\0';
	*rest += length + strspn(*rest + length, "; ");
	return true;
}

static const char *lacks(const struct nvw_workload *w, const struct nvw_mutation *m)
{
	for (const struct nvw_lack *l = w->lacks; l != NULL && l->mutation != NULL; l++) {
		if (strcmp(l->mutation, m->name) == 0) {
			return l->lacks;
		}
	}
	return "";
}

static bool is_counted(const struct nvw_workload *w, const struct nvw_mutation *m)
{
	return strstr(lacks(w, m), "barrier ") != NULL || strstr(m->breaks, "barrier") != NULL ||
	       strstr(m->breaks, "halves") != NULL || strstr(m->breaks, "two stores") != NULL;
}

/* True if the last result has a report that the structure without the bug does not have. */
static bool is_told_apart(const struct nvw_workload *w, const char *trial, unsigned model)
{
	static struct ct_finding told[CT_FINDINGS_MAX];
	const unsigned count = result.finding_count;
	unsigned as_well = 0;

	if (count == 0) {
		return false;
	}
	memcpy(told, result.finding, count * sizeof *told);
	judge(w, trial, -1, model);
	NVW_FOR(i, count) {
		bool again = false;

		for (unsigned k = 0; k < result.finding_count && !again; k++) {
			again = strcmp(told[i].text, result.finding[k].text) == 0;
		}
		as_well += again;
	}
	return as_well < count;
}

static bool finds(const struct nvw_workload *w, int mutation, unsigned model)
{
	const struct nvw_mutation *const m = &w->mutations[mutation];
	const char *rest = m->options != NULL ? m->options : w->trial;
	char trial[256];
	bool found = false;

	while (!found && next_trial(&rest, trial, sizeof trial)) {
		judge(w, trial, mutation, model);
		found = is_told_apart(w, trial, model);
	}
	return found;
}

static void count(const struct nvw_workload *w, int mutation, struct sum *sum)
{
	bool found[MODELS], any = false;

	NVW_FOR(i, MODELS) {
		found[i] = finds(w, mutation, i);
		sum->found_under[i] += found[i];
		any = any || found[i];
	}
	sum->bugs++;
	sum->found += any;
	print_message("# %-12s %-24s %-8s %s\n", w->name, w->mutations[mutation].name,
		found[0] ? "found" : "-", found[1] ? "found" : "-");
}

TEST(four_of_five_bugs_of_order_are_found)
{
	skip_if_sanitized();

	const unsigned step = every_case() ? 1 : FEW;
	struct sum sum = {0};
	unsigned number = 0;

	NVW_FOR(i, WORKLOADS) {
		for (int m = 0; shipped[i]->mutations[m].name != NULL; m++) {
			if (is_counted(shipped[i], &shipped[i]->mutations[m]) && number++ % step == 0) {
				count(shipped[i], m, &sum);
			}
		}
	}
	print_message("# %u bugs: %u found, %u missed; %u under epoch, %u under buffered-epoch\n", sum.bugs,
		sum.found, sum.bugs - sum.found, sum.found_under[0], sum.found_under[1]);
	assert_true(sum.bugs >= 4);
	assert_true(5 * sum.found >= 4 * sum.bugs);
}

/* The reports of all trials, those of one text once. */
static unsigned reports(const struct nvw_workload *w, unsigned model)
{
	const char *rest = w->trial;
	char trial[256], said[REPORTS + 1][256];
	unsigned different = 0;

	while (next_trial(&rest, trial, sizeof trial)) {
		judge(w, trial, -1, model);
		NVW_EACH(finding, result.finding, result.finding_count) {
			if (!NVW_ANY(one, said, different, strcmp(*one, finding->text) == 0) &&
				different <= REPORTS) {
				snprintf(said[different++], sizeof *said, "%.255s", finding->text);
				print_message(
					"# %s, %s, %s: %s\n", w->name, models[model], trial, finding->text);
			}
		}
	}
	return different;
}

TEST(right_structures_have_at_most_three_reports)
{
	for (unsigned i = 0; every_case() && i < WORKLOADS; i++) {
		NVW_FOR(model, MODELS) {
			assert_in_range(reports(shipped[i], model), 0, REPORTS);
		}
	}
}
