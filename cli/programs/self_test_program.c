/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave crash --self-test --exec: a program's own seeded bugs (bug_list.h). It is crash-tested as the
 * command says, and with each bug switched on. A bug is found by the finding that the list expects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <crashtest/states/model.h>

#include "bug_list.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/text_stream.h"
#include "crash_exec.h"
#include "../report/crash/self_test_report.h"

enum { STATES = 1000, KILLS = 20 };

static const struct bug no_bug;

struct self_test {
	const struct emu_config *machine;
	struct crash_request request;
	struct bug_list bugs;
	struct self_test_report report;
	struct ct_self_test sum;
	struct ct_result result; /* of the last test */
	char name[64];           /* the list's, without ".bugs" */
};

/* ---- The command --------------------------------------------------------------------------------- */

/* The command with a bug's arguments in place of {bug}, or else behind it; to be freed. */
static char *command_with(const char *exec, const char *arguments)
{
	static const char mark[] = "{bug}";
	struct text_stream t;
	const char *at = exec, *next;

	if (!text_begin(&t)) {
		return NULL;
	}
	for (; (next = strstr(at, mark)); at = next + sizeof mark - 1) {
		fprintf(t.to, "%.*s%s", (int)(next - at), at, arguments);
	}
	fputs(at, t.to);
	if (at == exec && *arguments != '\0') {
		fprintf(t.to, " %s", arguments);
	}
	return text_end(&t);
}

/* ---- The list ------------------------------------------------------------------------------------ */

static int read_list(struct self_test *t)
{
	const char *const exec = t->request.exec, *list = t->request.bugs;
	char path[4096];

	if (!list) {
		NVW_PRINT(path, "%.*s.bugs", (int)strcspn(exec, " \t"), exec);
		NVW_FAIL_IF(access(path, F_OK), NVW_E_USAGE,
			"--self-test: there is no %s: expected --bugs=FILE, the list of the "
			"program's bugs",
			path);
		list = path;
	}
	NVW_TRY(bug_list_read(list, &t->bugs));
	NVW_PRINT(t->name, "%.63s", basename(t->bugs.path));
	char *const end = strstr(t->name, ".bugs");

	if (end && end > t->name) {
		*end = '\0';
	}
	t->report.subject = t->name;
	return 0;
}

/* ---- Tests --------------------------------------------------------------------------------------- */

/* The checker's words, and the first store of each fate. */
static void describe(const struct ct_finding *f, char *text, size_t bytes)
{
	static const char *const fates[] = {"lost", "durable"};
	bool said[2] = {false, false};
	const char *before = ":";
	int n = snprintf(text, bytes, "%.140s", f->text);

	for (unsigned i = 0; i < f->place_count && n >= 0 && (size_t)n < bytes; i++) {
		const struct ct_place *const p = &f->place[i];
		const bool durable = p->fate == CT_FATE_DURABLE;

		if (!said[durable] && p->line > 0) {
			n += snprintf(text + n, bytes - (size_t)n, "%s %.40s:%u %s", before,
				basename(p->file), (unsigned)p->line, fates[durable]);
			said[durable] = true;
			before = ",";
		}
	}
}

static const char *way_of(const struct crash_request *r, const struct ct_result *result)
{
	return r->options.mode == CT_KILL ? "kill" : ct_model_info(result->model)->name;
}

/* What the row says otherwise than of every test, or NULL. */
static const char *special_result(const struct ct_trial *trial, bool harmless, bool other)
{
	if (harmless) {
		return trial->as_expected ? "harmless" : "FALSE ALARM";
	}
	return other ? "OTHER" : NULL;
}

static struct ct_trial trial_of(const struct bug *bug, const char *way, const struct ct_result *result)
{
	struct ct_trial trial = {.way = way,
		.options = bug->arguments,
		.as_expected = ct_is_consistent(result),
		.states_distinct = result->states_distinct,
		.states_failing = result->states_failing,
		.seconds = result->host_seconds};

	if (bug != &no_bug) {
		trial.mutation = bug->name;
	}
	return trial;
}

/* found: the finding that the list expects, NULL: none. */
static void tell_finding(
	const struct ct_result *result, const struct ct_finding *found, struct ct_trial *trial)
{
	if (result->finding_count > 0) {
		describe(NVW_OR(found, &result->finding[0]), trial->text, sizeof trial->text);
	} else if (!ct_is_consistent(result)) {
		NVW_PRINT(trial->text, "without a verdict: %.200s", result->undecided);
	}
}

static void count_trial(struct ct_self_test *sum, bool expects, bool as_expected)
{
	sum->mutations += expects;
	sum->found += expects && as_expected;
	sum->clean += !expects;
	sum->alarms += !expects && !as_expected;
}

/* A row for the test with this bug, or (no_bug) with none. */
static void judge(struct self_test *t, const struct bug *bug, const struct ct_result *result)
{
	const char *const way = way_of(&t->request, result);
	const bool harmless = bug_is_harmless(bug, way), expects = bug != &no_bug && !harmless;
	struct ct_trial trial = trial_of(bug, way, result);
	const struct ct_finding *found = NULL;

	if (expects) {
		found = bug_find(bug, result);
		trial.as_expected = found != NULL;
	}
	tell_finding(result, found, &trial);
	count_trial(&t->sum, expects, trial.as_expected);
	const bool other = expects && !found && result->finding_count > 0;

	self_test_row(&t->report, &trial, special_result(&trial, harmless, other));
}

static int try(struct self_test *t, const struct bug *bug)
{
	struct ct_result *const result = &t->result;
	struct crash_request request = t->request;
	char *const command = command_with(t->request.exec, bug->arguments);

	NVW_ALLOCATED(command, "no memory for a command");
	memset(result, 0, sizeof *result);
	request.exec = command;
	const int error = crash_exec_result(t->machine, &request, result);

	free(command);
	NVW_TRY(error);
	if (result->interrupted) {
		t->sum.interrupted = true;
	} else {
		judge(t, bug, result);
	}
	ct_result_free(result);
	return 0;
}

static int try_all(struct self_test *t)
{
	NVW_TRY(crash_check_foreign(&t->request));
	NVW_TRY(read_list(t));
	NVW_TRY(try(t, &no_bug));
	NVW_INVARIANT(t->bugs.count > 0 && t->bugs.count <= BUGS_MAX);
	for (unsigned i = 0; i < t->bugs.count && !t->sum.interrupted; i++) {
		NVW_TRY(try(t, &t->bugs.bug[i]));
	}
	return 0;
}

int crash_self_test_program(const struct emu_config *machine, const struct crash_request *request,
	const char *command, bool json, bool *ret_good)
{
	NVW_INVARIANT(request->exec);

	struct self_test *const t = calloc(1, sizeof *t);

	NVW_ALLOCATED(t, "no memory for a self-test");
	t->machine = machine;
	t->request = *request;
	t->report = (struct self_test_report){.of_program = true, .rows = json ? json_array() : NULL};
	t->request.options.cures = false;
	t->request.options.settle_after = 0;
	if (t->request.options.states == 0) {
		t->request.options.states = request->options.mode == CT_KILL ? KILLS : STATES;
	}
	int error = try_all(t);

	if (error) {
		json_decref(t->report.rows);
	} else {
		error = self_test_sum(&t->report, &t->sum, machine, command, ret_good);
	}
	free(t);
	return error;
}
