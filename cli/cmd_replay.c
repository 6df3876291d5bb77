/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave replay FINDING: recovers and checks the state of a saved finding again. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crashtest/judge/checker.h>
#include <crashtest/explain/finding.h>
#include <crashtest/group.h>
#include <crashtest/judge/go_on.h>
#include <crashtest/judge/oracle.h>
#include <crashtest/judge/replay_oracle.h>

#include "commands.h"
#include "programs/crash_exec.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/newfile.h"
#include "core/options.h"
#include "core/pools.h"
#include "core/units.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "registry.h"
#include "schedules/run_schedules.h"
#include "replay_gdb.h"
#include "session.h"
#include "report/words.h"

enum { DEBUGGED_MS = 86400000 };

struct replay {
	struct ct_saved saved;
	const struct nvw_workload *workload;
	struct nvw_options *options;
	void *plan;
};

static unsigned number_of(const json_t *o, const char *name)
{
	return (unsigned)member_number(o, name);
}

static int judge_by_checker(
	const struct ct_saved *s, const struct ct_asked_is *is, struct ct_finding *ret_finding)
{
	struct ct_checker checker;
	const int error = NVW_OR(ct_checker_create(is, member_text(s->head, "library"), &checker),
		ct_saved_judge(s, ct_checker_judge, &checker, is->timeout_ms, ret_finding));
	ct_checker_destroy(&checker);
	return error;
}

/* Replays a finding of --oracle=replay: the possible outputs of the state were saved with it. */
static int judge_by_output(
	const struct ct_saved *s, const struct ct_asked_is *is, struct ct_finding *ret_finding)
{
	struct ct_replay_oracle o;
	const int error = NVW_OR(ct_replay_oracle_load(is, s->head, &o),
		ct_saved_judge(s, ct_replay_oracle_judge, &o, is->timeout_ms, ret_finding));
	ct_replay_oracle_destroy(&o);
	return error;
}

/* Replays a finding of a checker from elsewhere, or of --oracle=replay. */
static int judge_with(
	const struct ct_saved *s, const struct ct_operations *all, struct ct_finding *ret_finding)
{
	const char *const recover = words_or(member_text(s->head, "recover"), NULL);
	const struct ct_asked_is is = {
		.command = NVW_OR(recover, words_or(member_text(s->head, "checker"), NULL)),
		.next = words_or(member_text(s->head, "and_then"), NULL),
		.bytes = member_count(s->head, "image_bytes"),
		.timeout_ms = number_of(s->head, "timeout_ms"),
		.operations = recover ? NULL : all};

	return recover ? judge_by_output(s, &is, ret_finding) : judge_by_checker(s, &is, ret_finding);
}

static int judge_foreign(const struct ct_saved *s, struct ct_finding *ret_finding)
{
	struct ct_operations all;
	const int error = NVW_OR(ct_operations_from_json(json_object_get(s->head, "operations"), &all),
		judge_with(s, &all, ret_finding));
	ct_operations_free(&all);
	return error;
}

static int judge_by_workload(const struct replay *r, struct ct_finding *ret_finding)
{
	struct ct_oracle oracle = {.workload = r->workload, .plan = r->plan};

	return ct_saved_judge(
		&r->saved, ct_oracle_judge, &oracle, number_of(r->saved.head, "timeout_ms"), ret_finding);
}

/* A state that was worked on is worked on again, on the same machine. */
static int judge_gone_on(const struct ct_saved *s, struct ct_go_on *go_on, struct ct_finding *ret_finding)
{
	const int error =
		ct_saved_judge(s, ct_go_on_judge, go_on, number_of(s->head, "timeout_ms"), ret_finding);

	ct_go_on_end(go_on);
	return error;
}

static int judge_going_on(const struct replay *r, struct ct_finding *ret_finding)
{
	const struct ct_oracle oracle = {.workload = r->workload, .plan = r->plan};
	const json_t *const head = r->saved.head;
	struct ct_go_on go_on;
	struct emu_config config;

	NVW_TRY(ct_finding_machine(head, &config));
	NVW_TRY(ct_go_on_make(&oracle, &config, number_of(head, "and_then"),
		json_is_true(json_object_get(head, "crash_again")), &go_on));
	return judge_gone_on(&r->saved, &go_on, ret_finding);
}

/* Its place in the workload's list; -1: it has none of that name. */
static int mutation_of(const struct nvw_workload *w, const char *name)
{
	for (int i = 0; w->mutations && w->mutations[i].name; i++) {
		if (strcmp(w->mutations[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

/* Makes the same plan as in the crash test. */
static int prepare(struct replay *r)
{
	const json_t *const head = r->saved.head;
	const char *const mutation = member_text(head, "mutation"), *name;
	const json_t *value;

	NVW_INVARIANT(!r->options && !r->plan);
	NVW_TRY(nvw_workload_load(member_text(head, "workload"), &r->workload));
	NVW_TRY(nvw__options_create(r->workload->options, &r->options));
	json_object_foreach(json_object_get(head, "options"), name, value)
	{
		NVW_TRY(nvw__options_set(r->options, name, json_string_value(value)));
	}
	const int number = mutation_of(r->workload, mutation);

	NVW_FAIL_IF(*mutation && number < 0, NVW_E_USAGE, "%s no longer has the mutation %s",
		r->workload->name, mutation);
	return r->workload->prepare(r->options, member_count(head, "seed"), number, &r->plan);
}

static int extract_to(const char *path, const uint8_t *content, uint64_t bytes)
{
	struct nvw_new_file pool;

	NVW_TRY(nvw_new_file_begin(path, true, &pool));
	fwrite(content, 1, bytes, pool.file);
	return nvw_new_file_end(&pool, 0);
}

static int extract_pool(const struct ct_saved *s, const struct nvw_pool *pool, char *path)
{
	NVW_ALLOCATED(path, "no memory for the path of a pool");
	const int error = extract_to(path, s->image + nvw_pool_begin(pool), nvw_pool_geometry(pool)->bytes);

	free(path);
	return error;
}

/* The pools of the run, each into a file of its own. */
static int extract_pools(const struct ct_saved *s, const struct nvw_pool *first, const char *path)
{
	NVW_FOR(i, nvw_pool_count(first)) {
		NVW_TRY(extract_pool(s, nvw_pool_number(first, i), nvw__pool_path(path, i)));
	}
	return 0;
}

/* An image that does not begin with a pool is one file. */
static int extract(const struct ct_saved *s, const char *path)
{
	const struct nvw_pool_image image = {.image = s->image, .bytes = s->bytes};
	struct nvw_pool *first;

	if (nvw_pool_open_image(&image, &first) != 0) {
		return extract_to(path, s->image, s->bytes);
	}
	const int error = extract_pools(s, first, path);

	nvw_pool_close(first);
	return error;
}

/* The verdict is one on a state, not on the structure. */
static const char *verdict_of(const struct ct_finding *now, bool same)
{
	if (*now->text == '\0') {
		return "passes";
	}
	return same ? "reproduced" : "fails differently";
}

/* The run that the state was found in, once more: the threads of a program take turns as they did then. */
struct run_again {
	const char *words; /* NULL: the finding has no schedule */
	const char *why;   /* it could not be run; "": it was */
	char end[2048];    /* how it ended, if no thread could go on */
};

static struct run_again run_schedule(const struct replay *r)
{
	const json_t *const schedule = json_object_get(r->saved.head, "thread_schedule");
	struct run_again again = {.why = ""};
	struct emu_config machine;
	bool same;

	if (!schedule) {
		return again;
	}
	emu_config_default(&machine);
	if (crash_exec_replay(&machine, schedule, &same, again.end) < 0) {
		again.words = "the schedule could not be run again";
		again.why = nvw_error_message();
	} else if (same) {
		again.words = "the schedule was run again, and left the same log";
	} else {
		again.words =
			"the schedule was run again, and left another log: the program, its file or where it "
			"runs has changed";
	}
	return again;
}

static void print_run(const struct run_again *again)
{
	if (!again->words) {
		return;
	}
	printf("%s%s%s\n", again->words, words_if(*again->why, ": "), again->why);
	if (again->end[0] != '\0') {
		printf("it ended in a %s\n", again->end);
	}
}

static int print_json(const struct replay *r, const struct ct_finding *now, const char *verdict,
	const struct run_again *again)
{
	const json_t *const head = r->saved.head;

	return cli_print_json(
		json_pack("{s:s, s:s, s:s, s:O, s:o, s:O*, s:s*}", "verdict", verdict, "text", now->text,
			"command", member_text(head, "command"), "finding", json_object_get(head, "finding"),
			"made_by", cli_provenance(NULL, NULL), "found_by", json_object_get(head, "made_by"),
			"thread_schedule", again->words),
		stdout);
}

static void print_schedule(const json_t *head)
{
	struct ct_schedule_named named;

	if (ct_schedule_from_json(json_object_get(head, "schedule"), &named)) {
		printf("under schedule %llu (%s), seed %llu\n", (ull)named.number,
			ct_schedule_way(named.number, named.turns != NULL), (ull)named.seed);
	}
}

static int print_text(const struct replay *r, const struct ct_finding *now, const char *verdict, bool same,
	const struct run_again *again)
{
	const json_t *const head = r->saved.head, *const then = json_object_get(head, "finding"),
			    *const then_by = json_object_get(head, "made_by");

	for (const char *c = verdict; *c != '\0'; c++) {
		putchar(toupper((unsigned char)*c));
	}
	printf("   %s\n", words_or(now->text, "the state passes recovery and check now"));
	if (!same) {
		printf("found then: %s\n", member_text(then, "text"));
	}
	puts(member_text(json_object_get(then, "cause"), "text"));
	print_schedule(head);
	print_run(again);
	cli_print_made_by(NULL);
	if (then_by) {
		puts("the finding was:");
		cli_print_provenance(then_by, stdout);
	} else {
		printf("found by: %s\n", member_text(head, "command"));
	}
	return 0;
}

/* What a schedule shows without a crash is shown by running it. */
static int run_again(const struct replay *r, struct ct_finding *ret_now)
{
	const struct cli_scheduled what = {.workload = r->workload,
		.options = r->options,
		.mutation = mutation_of(r->workload, member_text(r->saved.head, "mutation"))};

	return cli_replay_schedule(&what, r->saved.head, ret_now->text);
}

static int judge_again(struct replay *r, struct ct_finding *ret_now)
{
	if (!json_object_get(r->saved.head, "workload")) {
		return judge_foreign(&r->saved, ret_now);
	}
	NVW_TRY(prepare(r));
	if (json_object_get(r->saved.head, "without_crash")) {
		return run_again(r, ret_now);
	}
	return json_object_get(r->saved.head, "and_then") ? judge_going_on(r, ret_now) :
							    judge_by_workload(r, ret_now);
}

static int judge_and_print(struct replay *r, bool json)
{
	struct ct_finding now = {0};
	char then_shape[CT_TEXT_BYTES], now_shape[CT_TEXT_BYTES];

	NVW_TRY(judge_again(r, &now));
	ct_shape(member_text(json_object_get(r->saved.head, "finding"), "text"), then_shape);
	ct_shape(now.text, now_shape);
	const bool same = strcmp(then_shape, now_shape) == 0;
	const char *const verdict = verdict_of(&now, same);
	const struct run_again again = run_schedule(r);

	NVW_TRY(json ? print_json(r, &now, verdict, &again) : print_text(r, &now, verdict, same, &again));
	NVW_TRY(cli_flush());
	return *now.text ? NVW_E_INCONSISTENT : 0;
}

static void replay_end(struct replay *r)
{
	cli_dispose(r->workload, r->plan);
	nvw__options_free(r->options);
	ct_saved_free(&r->saved);
}

/* Takes the value of --at: a name, or the number of an event. */
static int take_place(const char *text, enum replay_at *ret_at, uint64_t *ret_event)
{
	static const char *const names[] = {
		[REPLAY_AT_FAILURE] = "failure", [REPLAY_AT_LOST] = "lost", [REPLAY_AT_EARLY] = "early"};

	*ret_at = REPLAY_AT_FAILURE;
	*ret_event = 0;
	for (unsigned i = 0; text && i < NVW_COUNT(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_at = (enum replay_at)i;
			return 0;
		}
	}
	if (!text) {
		return 0;
	}
	*ret_at = REPLAY_AT_EVENT;
	NVW_FAIL_IF(nvw_parse_count(text, ret_event) != 0 || *ret_event == 0, NVW_E_USAGE,
		"--at: expected failure, lost, early or the number of an event, found \"%s\"", text);
	return 0;
}

static int check_argument(struct cli_options *given)
{
	NVW_FAIL_IF(given->argument_count == 0, NVW_E_USAGE,
		"replay: expected a finding saved by nvwave crash --save=DIRECTORY");
	return cli_options_at_most(given, 1);
}

static int replay(struct cli_options *given)
{
	const char *const path = cli_text(given, CLI_extract);
	enum replay_at at;
	uint64_t event;
	struct replay r = {0};

	NVW_TRY(check_argument(given));
	NVW_TRY(cli_options_check_use(given, cli_at(CLI_AT_NO_GDB, !cli_given(given, CLI_gdb))));
	NVW_TRY(take_place(cli_text(given, CLI_gdb_at), &at, &event));
	int result = ct_saved_load(given->argument[0], &r.saved);

	if (result == 0 &&
		cli_given(given, CLI_debugged)) { /* gdb stops the check for as long as a user looks */
		member_set_number(r.saved.head, "timeout_ms", DEBUGGED_MS);
	}
	if (result == 0 && cli_given(given, CLI_gdb)) {
		result = replay_in_gdb(given->argument[0], &r.saved, at, event);
	} else if (result == 0) {
		result = judge_and_print(&r, cli_json(given));
	}
	if (r.saved.image && path) { /* even without its workload */
		const int extracted = extract(&r.saved, path);

		if (extracted && (result == 0 || result == NVW_E_INCONSISTENT)) {
			result = extracted;
		}
	}
	replay_end(&r);
	return result;
}

const struct cli_command cmd_replay = {.main = cli_run_command,
	.help = "nvwave replay FINDING [options]\n\n"
		"Recovers and checks the pool of a saved finding (nvwave crash --save=DIRECTORY) "
		"again, in this build.\n",
	.after_help = "\nExit status: 1 the finding is still there, 0 the state passes now, 2 it "
		      "could not be tried.",
	.run = replay};
