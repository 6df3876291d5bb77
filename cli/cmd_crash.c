/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash WORKLOAD: the shared command line, then the crash tester. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "crash_command.h"
#include "examine.h"
#include "report/provenance.h"
#include "session.h"
#include "laboratory/spread.h"

#include <emu.h>

static int crash(const struct cli_session *s, struct crash_request *request)
{
	char *const command = cli_command_text(s->config.protocol);
	json_t *const made_by = cli_provenance(&s->config, command);
	const struct ct_subject subject = {.workload = s->workload,
		.options = s->options,
		.options_text = s->options_text,
		.config = &s->config,
		.reference = s->reference,
		.command = command,
		.made_by = made_by,
		.mutation = s->mutation};
	const struct crash_heading heading = {.workload = s->workload->name,
		.machine = s->config.name,
		.protocol = s->config.protocol,
		.model = cli_model_name(&s->config),
		.mutation = s->mutation < 0 ? "" : s->workload->mutations[s->mutation].name,
		.command = command ? command : "",
		.made_by = made_by,
		.intervals = request->intervals,
		.atomicity = (unsigned)s->config.nvram.atomicity,
		.seed = s->config.seed};
	int status;

	request->options.seed = s->config.seed;
	status = crash_execute(&subject, request, &heading, s->json);
	json_decref(made_by);
	free(command);
	return status;
}

/* The worst verdict of the reports under all protocols; with JSON, one array of them. */
static int crash_under_each(struct cli_session *s, struct crash_request *request)
{
	unsigned protocols = 0, tested = 0, clean = 0;
	const char *name, *citation, *summary;
	int worst = STATUS_CLEAN;

	for (; emu_protocol_info(protocols, &name, &citation, &summary) && worst != STATUS_INPUT;
		protocols++) {
		int status;

		if (cli_session_keeps(s, name) < 0) {
			fprintf(stderr, "nvwave: left out: %s\n", nvw_error_message());
			continue;
		}
		snprintf(s->config.protocol, sizeof s->config.protocol, "%s", name);
		fputs(s->json ? (tested ? "," : "[") : (tested ? "\n" : ""), stdout);
		tested++;
		status = crash(s, request);
		clean += status == STATUS_CLEAN;
		worst = status > worst ? status : worst;
	}
	if (s->json) {
		fputs("]\n", stdout);
	} else if (worst != STATUS_INPUT) {
		printf("\n%s: nothing failed under %u of %u protocols\n", s->workload->name, clean, tested);
	}
	return worst;
}

static int store_log(const struct cli_session *s, struct crash_request *request)
{
	char *const command = cli_command_text(NULL);

	request->options.seed = s->config.seed;
	const int status = request->exec ? crash_exec(&s->config, request, command ? command : "", s->json) :
					   crash_store_log(NULL, request, command ? command : "", s->json);

	free(command);
	return status;
}

static int self_test(const struct cli_session *s, struct crash_request *request)
{
	char *const command = cli_command_text(NULL);
	bool good;

	request->options.seed = s->config.seed;
	const int error =
		request->exec ?
			crash_self_test_program(&s->config, request, command ? command : "", s->json, &good) :
			crash_self_test(s->workload, &s->config, &request->options, s->json, &good);

	free(command);
	return error ? cli_fail() : good ? STATUS_CLEAN : STATUS_INCONSISTENT;
}

/* The circumstances of the command line, as bits of enum cli_circumstance. */
static uint64_t circumstances(const struct cli_session *s, const struct crash_request *r)
{
	const bool is_kill = r->options.mode == CT_KILL;
	const struct {
		enum cli_circumstance bit;
		bool holds;
	} all[] = {
		{CLI_AT_WORKLOAD, !r->exec && !r->store_log},
		{CLI_AT_EXEC, r->exec != NULL},
		{CLI_AT_STORE_LOG, r->store_log != NULL},
		{CLI_AT_HOST_LOG, r->store_log && !ct_is_block_log(r->store_log)},
		{CLI_AT_EACH, s->each_protocol},
		{CLI_AT_MATRIX, r->matrix},
		{CLI_AT_SELF_TEST, r->self_test},
		{CLI_AT_WORKLOAD_SELF_TEST, r->self_test && !r->exec},
		{CLI_AT_NO_SELF_TEST, !r->self_test},
		{CLI_AT_KILL, is_kill && !r->exec},
		{CLI_AT_EXEC_KILL, is_kill && r->exec},
		{CLI_AT_LOCAL, cli_number(&s->given, CLI_engine) == SWEEP_LOCAL},
		{CLI_AT_SLURM, cli_number(&s->given, CLI_engine) == SWEEP_SLURM},
		{CLI_AT_PERMITTED, r->options.mode == CT_PERMITTED},
		{CLI_AT_OBSERVED, cli_given(&s->given, CLI_mode) && r->options.mode == CT_OBSERVED},
	};
	uint64_t bits = 0;

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		bits |= all[i].holds ? UINT64_C(1) << all[i].bit : 0;
	}
	return bits;
}

/* Only a block device's log from the emulated machine has the timing that observed mode needs. */
static int check_mode(const struct cli_session *s, const struct crash_request *r)
{
	const bool is_host = r->exec || (r->store_log && !ct_is_block_log(r->store_log));

	if (!is_host || !cli_given(&s->given, CLI_mode) || r->options.mode == CT_PERMITTED ||
		(r->exec && r->options.mode == CT_KILL)) {
		return 0;
	}
	return nvw_fail(NVW_E_USAGE, "crash: --mode=%s has no effect on %s: expected %s",
		cli_text(&s->given, CLI_mode), r->exec ? "--exec" : "the store log of a program",
		r->exec ? "kill or permitted" : "permitted");
}

static int check_subject(const struct cli_session *s, const struct crash_request *r)
{
	const char *const other = r->exec ? "--exec" : r->store_log ? "--store-log" : NULL;

	if (s->workload && other) {
		return nvw_fail(NVW_E_USAGE, "crash: %s cannot be combined with a workload (%s)", other,
			s->workload->name);
	}
	if (!s->workload && !other && !r->self_test) {
		return nvw_fail(NVW_E_USAGE, "crash: expected a workload (see nvwave list workloads)");
	}
	return 0;
}

/* A slice has no report to write, or to continue. */
static int check_slice(const struct cli_session *s)
{
	static const struct {
		enum cli_option_id id;
		const char *name;
	} others[] = {{CLI_jobs, "jobs"}, {CLI_resume, "resume"}, {CLI_save, "save"}, {CLI_html, "html"},
		{CLI_patch, "patch"}, {CLI_intervals, "intervals"}};

	for (unsigned i = 0; i < sizeof others / sizeof *others && cli_given(&s->given, CLI_slice); i++) {
		if (cli_given(&s->given, others[i].id)) {
			return nvw_fail(
				NVW_E_USAGE, "crash: --%s has no effect with --slice", others[i].name);
		}
	}
	return 0;
}

/* A log has its own machine's domain. */
static bool keeps_caches(const struct cli_session *s, const struct crash_request *r)
{
	return !r->store_log && s->config.nvram.domain == EMU_DOMAIN_eadr;
}

/* A model in which caches are lost is none of a machine that keeps them. */
static int check_domain(const struct cli_session *s, const struct crash_request *r)
{
	if (!keeps_caches(s, r) || !cli_given(&s->given, CLI_model) ||
		ct_model_keeps_caches(r->options.model)) {
		return 0;
	}
	return nvw_fail(NVW_E_USAGE,
		"crash: --model=%s: the caches are lost in it, and nvram.domain=eadr keeps them: expected --model=eadr",
		cli_text(&s->given, CLI_model));
}

static int check(const struct cli_session *s, const struct crash_request *r)
{
	int error = check_subject(s, r);

	error = error ? error : cli_options_check_use(&s->given, circumstances(s, r));
	error = error ? error : check_slice(s);
	error = error ? error : check_mode(s, r);
	return error ? error : check_domain(s, r);
}

static int dispatch(struct cli_session *s, struct crash_request *r)
{
	return r->self_test            ? self_test(s, r) :
	       r->store_log || r->exec ? store_log(s, r) :
	       s->each_protocol        ? crash_under_each(s, r) :
					 crash(s, r);
}

/* ---- On a cluster -------------------------------------------------------------------------- */

/* Each task explores a slice. What follows takes the slices, and goes on as with processes of its own. */
static int explore_on_cluster(
	struct cli_session *s, struct crash_request *r, int argc, char **argv, struct spread *spread)
{
	static const char *const left_out[] = {
		"engine", "sbatch", "array", "html", "patch", "save", "intervals", "output-format", NULL};
	const unsigned tasks = (unsigned)cli_number(&s->given, CLI_crash_array);
	struct sweep_words words;
	int error = spread_words(argc, argv, left_out, &words);

	error = error ? error : spread_add_word(&words, "--slice=N/%u", tasks);
	error = error ? error : spread_begin(spread, &words, &s->config);
	sweep_words_end(&words);
	for (unsigned i = 1; i <= tasks && !error; i++) {
		error = spread_words(argc, argv, left_out, &words);
		error = error ? error : spread_add_word(&words, "--slice=%u/%u:%s", i, tasks, spread->folder);
		error = error ? error : spread_add(spread, &words);
	}
	r->options.jobs = tasks;
	r->options.slices = spread->folder;
	return error ? error : spread_run(spread, &s->given, tasks);
}

static int work(struct cli_session *s, struct crash_request *r, int argc, char **argv)
{
	struct spread spread = {.folder = NULL};
	const bool spreads = cli_number(&s->given, CLI_engine) == SWEEP_SLURM;
	int error = spreads ? sweep_slurm_find() : 0;

	error = error || !spreads ? error : cli_session_try(s);
	error = error || !spreads ? error : explore_on_cluster(s, r, argc, argv, &spread);
	const int status = error ? cli_fail() : dispatch(s, r);

	spread_end(&spread);
	return status;
}

/* ---- The command --------------------------------------------------------------------------- */

/* The arguments of --merge are reports. */
static int merge(int argc, char **argv)
{
	struct cli_options given;
	int error = cli_options_parse(&given, false, argc, argv);

	error = error ? error : cli_options_check_use(&given, UINT64_C(1) << CLI_AT_MERGE);
	const int status = error ? cli_fail() : crash_merge(&given);

	cli_options_end(&given);
	return status;
}

int cli_examine_crash(int argc, char **argv, struct emu_config *ret_config)
{
	struct crash_request request = {.judge = {NULL}};
	struct cli_session session;
	int error = cli_session_begin(&session, CLI_MAY_WORKLOAD, argc, argv);

	error = error ? error : crash_request_from(&session.given, &request);
	error = error ? error : check(&session, &request);
	error = error || !session.workload ? error : cli_session_try(&session);
	*ret_config = session.config;
	crash_request_end(&request);
	cli_session_end(&session);
	return error;
}

int cmd_crash(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--merge")) {
			return merge(argc, argv);
		}
	}
	struct crash_request request = {.judge = {NULL}};
	struct cli_session session;
	int status, error = cli_session_begin(&session, CLI_MAY_WORKLOAD, argc, argv);

	if (!error && session.help) {
		cli_session_help("crash", session.workload);
		status = STATUS_CLEAN;
	} else {
		error = error ? error : crash_request_from(&session.given, &request);
		error = error ? error : check(&session, &request);
		status = error ? cli_fail() : work(&session, &request, argc, argv);
	}
	crash_request_end(&request);
	cli_session_end(&session);
	return status;
}
