/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash WORKLOAD: the shared command line, then the crash tester. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"

#include "commands.h"
#include "crash_command.h"
#include "examine.h"
#include "report/provenance.h"
#include "session.h"
#include "laboratory/spread.h"
#include "report/words.h"

static int crash_workload(const struct cli_session *s, struct crash_request *request)
{
	NVW_INVARIANT(!request->exec && !request->store_log);

	char *const command = cli_command_text(s->config.protocol);
	json_t *const made_by = cli_session_provenance(s, command);
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
		.mutation = cli_mutation_name(s),
		.command = words_or(command, ""),
		.made_by = made_by,
		.intervals = request->intervals,
		.verbose = request->verbose,
		.names_machine = s->each_protocol || cli_given(&s->given, CLI_machine),
		.atomicity = (unsigned)s->config.nvram.atomicity,
		.seed = s->config.seed};

	request->options.seed = s->config.seed;
	const int status = crash_execute(&subject, request, &heading, s->json);

	json_decref(made_by);
	free(command);
	return status;
}

/* What stands before the report of a protocol. */
static void print_separator(bool json, unsigned tested)
{
	if (json) {
		putchar(tested ? ',' : '[');
	} else if (tested) {
		putchar('\n');
	}
}

/* The worst verdict of the reports under all protocols; with JSON, one array of them. */
static int crash_under_each(struct cli_session *s, struct crash_request *request)
{
	unsigned tested = 0, clean = 0;
	const char *name;
	int worst = STATUS_CLEAN;

	NVW_INVARIANT(s->each_protocol);
	for (unsigned i = 0; (name = cli_protocol_name(i)) && worst != STATUS_INPUT; i++) {
		if (cli_session_keeps(s, name) < 0) {
			fprintf(stderr, "nvwave: left out: %s\n", nvw_error_message());
			continue;
		}
		NVW_PRINT(s->config.protocol, "%s", name);
		print_separator(s->json, tested++);
		const int status = crash_workload(s, request);

		clean += status == STATUS_CLEAN;
		if (status > worst) {
			worst = status;
		}
	}
	if (s->json) {
		puts("]");
	} else if (worst != STATUS_INPUT) {
		printf("\n%s: nothing failed under %u of %u protocols\n", s->workload->name, clean, tested);
	}
	return worst;
}

static int test_foreign(const struct cli_session *s, struct crash_request *request)
{
	char *const command = cli_command_text(NULL);
	const char *const text = words_or(command, "");

	NVW_INVARIANT(request->exec || request->store_log);
	int status;

	request->options.seed = s->config.seed;
	if (request->exec) {
		status = crash_exec(&s->config, request, text, s->json);
	} else {
		status = crash_store_log(NULL, request, text, s->json);
	}
	free(command);
	return status;
}

static int self_test(const struct cli_session *s, struct crash_request *request)
{
	char *const command = cli_command_text(NULL);
	bool good;
	int error;

	request->options.seed = s->config.seed;
	if (request->exec) {
		error = crash_self_test_program(&s->config, request, words_or(command, ""), s->json, &good);
	} else {
		error = crash_self_test(s->workload, &s->config, &request->options, s->json, &good);
	}
	free(command);
	if (error) {
		return cli_fail();
	}
	return good ? STATUS_CLEAN : STATUS_INCONSISTENT;
}

/* The circumstances of the command line. */
static uint64_t circumstances(const struct cli_session *s, const struct crash_request *r)
{
	const enum ct_mode mode = r->options.mode;
	const uint64_t engine = cli_number(&s->given, CLI_engine);
	const bool is_files = r->options.model == CT_MODEL_FILES;
	const bool is_host_log = r->store_log && !ct_is_block_log(r->store_log);

	return cli_at(CLI_AT_WORKLOAD, !r->exec && !r->store_log) | cli_at(CLI_AT_EXEC, r->exec) |
	       cli_at(CLI_AT_STORE_LOG, r->store_log) | cli_at(CLI_AT_HOST_LOG, is_host_log) |
	       cli_at(CLI_AT_EACH, s->each_protocol) | cli_at(CLI_AT_MATRIX, r->matrix) |
	       cli_at(CLI_AT_SELF_TEST, r->self_test) |
	       cli_at(CLI_AT_WORKLOAD_SELF_TEST, r->self_test && !r->exec) |
	       cli_at(CLI_AT_NO_SELF_TEST, !r->self_test) | cli_at(CLI_AT_NO_EXPORT, !r->options.exports) |
	       cli_at(CLI_AT_KILL, mode == CT_KILL && !r->exec) |
	       cli_at(CLI_AT_EXEC_KILL, mode == CT_KILL && r->exec) |
	       cli_at(CLI_AT_LOCAL, engine == SWEEP_LOCAL) | cli_at(CLI_AT_SLURM, engine == SWEEP_SLURM) |
	       cli_at(CLI_AT_SCHEDULES, r->options.schedules > 0 || r->schedules.count > 0) |
	       cli_at(CLI_AT_CORPUS, r->corpus) | cli_at(CLI_AT_NO_CORPUS, !r->corpus) |
	       cli_at(CLI_AT_NO_SCHEDULES, r->options.schedules == 0 && r->schedules.count == 0) |
	       cli_at(CLI_AT_PERMITTED, mode == CT_PERMITTED && !is_files) |
	       cli_at(CLI_AT_MEMORY, (r->exec || is_host_log) && !is_files) |
	       cli_at(CLI_AT_OBSERVED, cli_given(&s->given, CLI_mode) && mode == CT_OBSERVED);
}

/* Only a block device's log from the emulated machine has the timing that observed mode needs. */
static int check_mode(const struct cli_session *s, const struct crash_request *r)
{
	const bool is_host_log = !r->exec && r->store_log && !ct_is_block_log(r->store_log);
	const char *const text = cli_text(&s->given, CLI_mode);

	if (!text || r->options.mode == CT_PERMITTED) {
		return 0;
	}
	NVW_FAIL_IF(r->exec && r->options.mode != CT_KILL, NVW_E_USAGE,
		"crash: --mode=%s has no effect on --exec: expected kill or permitted", text);
	NVW_FAIL_IF(is_host_log, NVW_E_USAGE,
		"crash: --mode=%s has no effect on the store log of a program: expected permitted", text);
	return 0;
}

/* The option that names another subject than a workload; NULL: there is none. */
static const char *foreign_option(const struct crash_request *r)
{
	if (r->exec) {
		return "--exec";
	}
	if (r->store_log) {
		return "--store-log";
	}
	return NULL;
}

static int check_subject(const struct cli_session *s, const struct crash_request *r)
{
	const char *const foreign = foreign_option(r);

	NVW_FAIL_IF(s->workload && foreign, NVW_E_USAGE, "crash: %s cannot be combined with a workload (%s)",
		foreign, s->workload->name);
	NVW_FAIL_IF(!s->workload && !foreign && !r->self_test, NVW_E_USAGE,
		"crash: expected a workload (see nvwave list workloads)");
	return 0;
}

/* A slice has no report to write, or to continue. */
static int check_slice(const struct cli_session *s)
{
	static const enum cli_option_id others[] = {
		CLI_jobs, CLI_resume, CLI_save, CLI_html, CLI_coverage, CLI_patch, CLI_intervals};

	for (unsigned i = 0; i < NVW_COUNT(others) && cli_given(&s->given, CLI_slice); i++) {
		NVW_FAIL_IF(cli_given(&s->given, others[i]), NVW_E_USAGE,
			"crash: --%s has no effect with --slice", cli_option_name(others[i]));
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
		"crash: --model=%s: the caches are lost in it, and nvram.domain=eadr keeps them: expected "
		"--model=eadr",
		cli_text(&s->given, CLI_model));
}

static int check_format(const struct cli_session *s, const struct crash_request *r)
{
	NVW_FAIL_IF(s->each_protocol && r->format >= CLI_FORMAT_SARIF, NVW_E_USAGE,
		"crash: --protocol=each has no effect with --output-format=sarif or junit: name one "
		"protocol");
	return 0;
}

static int take_request(const struct cli_session *s, struct crash_request *r)
{
	NVW_TRY(crash_request_from(&s->given, r));
	NVW_TRY(check_subject(s, r));
	NVW_TRY(cli_options_check_use(&s->given, circumstances(s, r)));
	NVW_TRY(check_slice(s));
	NVW_TRY(check_format(s, r));
	NVW_TRY(check_mode(s, r));
	return check_domain(s, r);
}

static int dispatch(struct cli_session *s, struct crash_request *r)
{
	if (r->self_test) {
		return self_test(s, r);
	}
	if (r->store_log || r->exec) {
		return test_foreign(s, r);
	}
	return s->each_protocol ? crash_under_each(s, r) : crash_workload(s, r);
}

/* ---- On a cluster -------------------------------------------------------------------------------- */

/* Each task explores a slice. What follows takes the slices, and goes on as with processes of its own. */
static const char *const not_of_a_task[] = {
	"engine", "sbatch", "array", "html", "coverage", "patch", "save", "intervals", "output-format", NULL};

/* A command line of its own for the folder, which no task has. */
static int begin_spread(
	const struct cli_session *s, unsigned tasks, struct sweep_words *words, struct spread *spread)
{
	NVW_TRY(sweep_words_add(words, "--slice=N/%u", tasks));
	return spread_begin(spread, words, &s->config);
}

static int name_folder(const struct cli_session *s, unsigned tasks, struct spread *spread)
{
	struct sweep_words words;
	const int error = NVW_OR(spread_words(s->given.argc, s->given.argv, not_of_a_task, &words),
		begin_spread(s, tasks, &words, spread));
	sweep_words_end(&words);
	return error;
}

/* Each task explores a slice. What follows takes the slices, and goes on as with processes of its own. */
static int explore_on_cluster(struct cli_session *s, struct crash_request *r, struct spread *spread)
{
	const unsigned tasks = (unsigned)cli_number(&s->given, CLI_crash_array);
	struct sweep_words words;

	NVW_TRY(name_folder(s, tasks, spread));
	r->options.jobs = tasks;
	r->options.slices = spread->folder;
	for (unsigned i = 1; i <= tasks; i++) {
		NVW_TRY(spread_words(s->given.argc, s->given.argv, not_of_a_task, &words));
		NVW_TRY(sweep_words_add(&words, "--slice=%u/%u:%s", i, tasks, spread->folder));
		NVW_TRY(spread_add(spread, &words));
	}
	return spread_run(spread, &s->given, tasks);
}

static int prepare_cluster(struct cli_session *s, struct crash_request *r, struct spread *spread)
{
	NVW_TRY(sweep_slurm_find());
	NVW_TRY(cli_session_try(s));
	return explore_on_cluster(s, r, spread);
}

static int work(struct cli_session *s, struct crash_request *r)
{
	struct spread spread = {0};
	int status = 0;

	if (cli_number(&s->given, CLI_engine) == SWEEP_SLURM) {
		status = prepare_cluster(s, r, &spread);
	}
	status = status ? cli_fail() : dispatch(s, r);
	spread_end(&spread);
	return status;
}

/* ---- The command --------------------------------------------------------------------------------- */

static int check_and_merge(const struct cli_options *given)
{
	NVW_TRY(cli_options_check_use(given, cli_at(CLI_AT_MERGE, true)));
	return crash_merge(given);
}

/* The arguments of --merge are reports. */
static int merge(int argc, char **argv)
{
	struct cli_options given;
	const int status = NVW_OR(cli_options_parse(&given, false, argc, argv), check_and_merge(&given));
	cli_options_end(&given);
	return cli_status(status);
}

static int examine(struct cli_session *s, struct crash_request *r)
{
	NVW_TRY(take_request(s, r));
	return s->workload ? cli_session_try(s) : 0;
}

int cli_examine_crash(int argc, char **argv, struct emu_config *ret_config)
{
	struct crash_request request = {.judge = {NULL}};
	struct cli_session session;
	const int error = NVW_OR(
		cli_session_begin(&session, CLI_MAY_WORKLOAD, argc, argv), examine(&session, &request));
	*ret_config = session.config;
	crash_request_end(&request);
	cli_session_end(&session);
	return error;
}

static int crash_or_help(struct cli_session *s, struct crash_request *r)
{
	if (s->help) {
		cli_session_help("crash", s->workload);
		return STATUS_CLEAN;
	}
	return take_request(s, r) ? cli_fail() : work(s, r);
}

static bool merges(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--merge")) {
			return true;
		}
	}
	return false;
}

static int crash(int argc, char **argv)
{
	struct crash_request request = {.judge = {NULL}};
	struct cli_session session;
	const int error = cli_session_begin(&session, CLI_MAY_WORKLOAD, argc, argv);
	const int status = error ? cli_fail() : crash_or_help(&session, &request);

	crash_request_end(&request);
	cli_session_end(&session);
	return status;
}

static int crash_or_merge(const struct cli_command *command, int argc, char **argv)
{
	return merges(argc, argv) ? merge(argc, argv) : crash(argc, argv);
}

const struct cli_command cmd_crash = {.main = crash_or_merge};
