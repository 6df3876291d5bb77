/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave replay FINDING: recovers and checks the state of a saved finding again. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <crashtest/judge/checker.h>
#include <crashtest/explain/finding.h>
#include <crashtest/group.h>
#include <crashtest/judge/oracle.h>
#include <crashtest/judge/replay_oracle.h>

#include "commands.h"
#include "core/newfile.h"
#include "core/options.h"
#include "core/pools.h"
#include "report/provenance.h"
#include "registry.h"
#include "session.h"

static void print_help(void)
{
	puts("nvwave replay FINDING [options]\n\n"
	     "Recovers and checks the pool of a saved finding (nvwave crash --save=DIRECTORY) again, in this build.\n");
	cli_options_help("replay");
	puts("\nExit status: 1 the finding is still there, 0 the state passes now, 2 it could not be tried.");
}

struct replay {
	struct ct_saved saved;
	const struct nvw_workload *workload;
	struct nvw_options *options;
	void *plan;
};

static const char *text_of(const json_t *o, const char *name)
{
	const char *const text = json_string_value(json_object_get(o, name));

	return text ? text : "";
}

/* Replays a finding of an external checker. */
static int judge_by_checker(
	const struct ct_saved *s, const struct ct_operations *operations, struct ct_finding *ret_finding)
{
	const char *const command = text_of(s->head, "checker");
	const struct ct_checker_is is = {.command = *command ? command : NULL,
		.library = text_of(s->head, "library"),
		.bytes = (uint64_t)json_integer_value(json_object_get(s->head, "image_bytes")),
		.timeout_ms = (unsigned)json_integer_value(json_object_get(s->head, "timeout_ms")),
		.operations = operations};
	struct ct_checker checker;
	int error = ct_checker_create(&is, &checker);

	error = error ? error : ct_saved_judge(s, ct_checker_judge, &checker, is.timeout_ms, ret_finding);
	ct_checker_destroy(&checker);
	return error;
}

/* Replays a finding of --oracle=replay: the possible outputs of the state were saved with it. */
static int judge_by_output(const struct ct_saved *s, const char *command, struct ct_finding *ret_finding)
{
	struct ct_replay_oracle oracle;
	int error = ct_replay_oracle_load(command, s->head, &oracle);

	error = error ? error :
			ct_saved_judge(
				s, ct_replay_oracle_judge, &oracle, oracle.asked.timeout_ms, ret_finding);
	ct_replay_oracle_destroy(&oracle);
	return error;
}

static int judge_foreign(const struct ct_saved *s, struct ct_finding *ret_finding)
{
	const char *const recover = text_of(s->head, "recover");
	struct ct_operations operations;
	int error = ct_operations_from_json(json_object_get(s->head, "operations"), &operations);

	error = error    ? error :
		*recover ? judge_by_output(s, recover, ret_finding) :
			   judge_by_checker(s, &operations, ret_finding);
	ct_operations_free(&operations);
	return error;
}

static int judge(const struct replay *r, struct ct_finding *ret_finding)
{
	struct ct_oracle oracle = {.workload = r->workload, .plan = r->plan};

	return ct_saved_judge(&r->saved, ct_oracle_judge, &oracle,
		(unsigned)json_integer_value(json_object_get(r->saved.head, "timeout_ms")), ret_finding);
}

/* Makes the same plan as in the crash test. */
static int prepare(struct replay *r)
{
	const json_t *const head = r->saved.head;
	const char *const mutation = text_of(head, "mutation"), *name;
	const json_t *value;
	int number = -1, error = nvw_workload_load(text_of(head, "workload"), &r->workload);

	error = error ? error : nvw__options_create(r->workload->options, &r->options);
	if (error) {
		return error;
	}
	json_object_foreach(json_object_get(head, "options"), name, value)
	{
		error = nvw__options_set(r->options, name, json_string_value(value));
		if (error) {
			return error;
		}
	}
	for (int i = 0; *mutation && r->workload->mutations && r->workload->mutations[i].name; i++) {
		number = strcmp(r->workload->mutations[i].name, mutation) == 0 ? i : number;
	}
	if (*mutation && number < 0) {
		return nvw_fail(NVW_E_USAGE, "%s no longer has the mutation %s", r->workload->name, mutation);
	}
	return r->workload->prepare(
		r->options, (uint64_t)json_integer_value(json_object_get(head, "seed")), number, &r->plan);
}

static int extract_to(const char *path, const uint8_t *content, uint64_t bytes)
{
	struct nvw_new_file pool;
	const int error = nvw_new_file_begin(path, false, &pool);

	if (error) {
		return error;
	}
	fwrite(content, 1, bytes, pool.file);
	return nvw_new_file_end(&pool, 0);
}

/* The pools of the run, each into a file of its own. */
static int extract_pools(const struct ct_saved *s, const struct nvw_pool *first, const char *path)
{
	int error = 0;

	for (unsigned i = 0; i < nvw_pool_count(first) && !error; i++) {
		const struct nvw_pool *const pool = nvw_pool_number(first, i);
		char *const its = nvw__pool_path(path, i);

		error = its ? extract_to(
				      its, s->image + nvw_pool_begin(pool), nvw_pool_geometry(pool)->bytes) :
			      nvw_fail(NVW_E_MEMORY, "no memory for the path of a pool");
		free(its);
	}
	return error;
}

/* An image that does not begin with a pool is one file. */
static int extract(const struct ct_saved *s, const char *path)
{
	const struct nvw_pool_image image = {.image = s->image, .bytes = s->bytes};
	struct nvw_pool *first;
	int error;

	if (nvw_pool_open_image(&image, &first) != 0) {
		return extract_to(path, s->image, s->bytes);
	}
	error = extract_pools(s, first, path);
	nvw_pool_close(first);
	return error;
}

/* Of one state, not of the structure. */
static const char *verdict_of(const struct ct_finding *now, bool same)
{
	if (*now->text == '\0') {
		return "passes";
	}
	return same ? "reproduced" : "fails differently";
}

static void print(const struct replay *r, const struct ct_finding *now, bool same, bool json)
{
	const char *const verdict = verdict_of(now, same);

	if (json) {
		json_t *const o = json_pack("{s:s, s:s, s:s, s:O, s:o, s:O*}", "verdict", verdict, "text",
			now->text, "command", text_of(r->saved.head, "command"), "finding",
			json_object_get(r->saved.head, "finding"), "made_by", cli_provenance(NULL, NULL),
			"found_by", json_object_get(r->saved.head, "made_by"));

		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(o);
		return;
	}
	for (const char *c = verdict; *c != '\0'; c++) {
		putchar(toupper((unsigned char)*c));
	}
	printf("   %s\n", *now->text ? now->text : "the state passes recovery and check now");
	if (!same) {
		printf("found then: %s\n", text_of(json_object_get(r->saved.head, "finding"), "text"));
	}
	printf("%s\n", text_of(json_object_get(json_object_get(r->saved.head, "finding"), "cause"), "text"));
	json_t *const now_by = cli_provenance(NULL, NULL), *const then_by =
								   json_object_get(r->saved.head, "made_by");

	cli_print_provenance(now_by, stdout);
	json_decref(now_by);
	if (then_by) {
		puts("the finding was:");
		cli_print_provenance(then_by, stdout);
	} else {
		printf("found by: %s\n", text_of(r->saved.head, "command"));
	}
}

static int replay(const char *path, const char *extract_to, bool json, int *ret_status)
{
	struct replay r = {0};
	struct ct_finding now = {0};
	char then_shape[CT_TEXT_BYTES], now_shape[CT_TEXT_BYTES];
	int error = ct_saved_load(path, &r.saved);

	if (!error && json_object_get(r.saved.head, "workload") == NULL) {
		error = judge_foreign(&r.saved, &now);
	} else if (!error) {
		error = prepare(&r);
		error = error ? error : judge(&r, &now);
	}
	if (!error) {
		ct_shape(text_of(json_object_get(r.saved.head, "finding"), "text"), then_shape);
		ct_shape(now.text, now_shape);
		print(&r, &now, strcmp(then_shape, now_shape) == 0, json);
		*ret_status = *now.text ? STATUS_INCONSISTENT : STATUS_CLEAN;
		error = fflush(stdout) ? nvw_fail_errno("cannot write the report") : 0;
	}
	if (r.saved.image && extract_to) { /* even without its workload */
		const int extracted = extract(&r.saved, extract_to);

		error = error ? error : extracted;
	}
	if (r.plan && r.workload->dispose) {
		r.workload->dispose(r.plan);
	}
	nvw__options_free(r.options);
	ct_saved_free(&r.saved);
	return error;
}

int cmd_replay(int argc, char **argv)
{
	struct cli_options given;
	int status = STATUS_CLEAN, error = cli_options_parse(&given, false, argc, argv);

	if (!error && cli_given(&given, CLI_help)) {
		print_help();
		cli_options_end(&given);
		return STATUS_CLEAN;
	}
	if (!error && given.argument_count != 1) {
		error = given.argument_count ?
				cli_options_surplus(&given, given.argument[1]) :
				nvw_fail(NVW_E_USAGE,
					"replay: expected a finding saved by nvwave crash --save=DIRECTORY");
	}
	error = error ? error :
			replay(given.argument[0], cli_text(&given, CLI_extract), cli_json(&given), &status);
	if (error == 0 && fflush(stdout) != 0) {
		error = nvw_fail_errno("cannot write");
	}
	cli_options_end(&given);
	return error < 0 ? cli_fail() : status;
}
