/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared part of the command line. See session.h. */
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <emu.h>

#include "commands.h"
#include "core/invariant.h"
#include "core/options.h"
#include "core/print.h"
#include "core/units.h"
#include "laboratory/sweep.h"
#include "registry.h"
#include "report/provenance.h"
#include "report/words.h"

/* ---- Names --------------------------------------------------------------------------------------- */

const char *cli_mutation_name(const struct cli_session *s)
{
	NVW_INVARIANT(s->mutation < 0 || s->workload);
	return s->mutation < 0 ? "" : s->workload->mutations[s->mutation].name;
}

const char *cli_model_name(const struct emu_config *config)
{
	return emu_model_info(config->model)->name;
}

const char *cli_domain_name(const struct emu_config *config)
{
	return emu_domain_name(config);
}

/* What reads standard output has closed it, and does not want to hear more. */
static bool reader_is_gone(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return ferror(stdout) && poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

int cli_fail(void)
{
	if (reader_is_gone()) {
		return STATUS_INPUT;
	}
	fprintf(stderr, "nvwave: %s\n", nvw_error_message());
	return STATUS_INPUT;
}

int cli_status(int result)
{
	if (result == NVW_E_INCONSISTENT) {
		return STATUS_INCONSISTENT;
	}
	return result < 0 ? cli_fail() : result;
}

int cli_exit_status(int wait_status)
{
	NVW_INVARIANT(WIFEXITED(wait_status) || WIFSIGNALED(wait_status));
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int cli_new_folder(const char *option, const char *folder)
{
	if (mkdir(folder, 0777) == 0) {
		return 0;
	}
	NVW_FAIL_IF(errno == EEXIST, NVW_E_USAGE, "%s: %s exists, expected a new folder", option, folder);
	return nvw_fail_errno("%s: %s", option, folder);
}

int cli_flush(void)
{
	NVW_FAIL_ERRNO_IF(fflush(stdout) != 0, "standard output cannot be written");
	if (ferror(stdout)) { /* why is no longer known */
		return nvw_fail(NVW_E_SYSTEM, "standard output cannot be written");
	}
	return 0;
}

struct sweep_manner cli_manner(const struct cli_options *given)
{
	const unsigned jobs = (unsigned)cli_number(given, CLI_sweep_jobs);

	return (struct sweep_manner){.jobs = cli_given(given, CLI_sweep_jobs) ? jobs : sweep_processors(),
		.timeout_ms = cli_number(given, CLI_point_timeout),
		.progress = isatty(STDERR_FILENO),
		.engine = (enum sweep_engine)cli_number(given, CLI_engine),
		.sbatch = cli_text(given, CLI_sbatch),
		.tasks = (unsigned)cli_number(given, CLI_array),
		.queue_limit_ms = cli_number(given, CLI_queue_limit),
		.fresh = cli_given(given, CLI_fresh)};
}

int cli_run_command(const struct cli_command *command, int argc, char **argv)
{
	NVW_INVARIANT(command->run && command->help);

	struct cli_options given;
	int result = cli_options_parse(&given, false, argc, argv);

	if (result == 0 && cli_given(&given, CLI_help)) {
		puts(command->help);
		cli_options_help(given.command, 0);
		if (command->after_help) {
			puts(command->after_help);
		}
	} else if (result == 0) {
		result = command->run(&given);
	}
	cli_options_end(&given);
	return cli_status(result);
}

/* -o is the short form of --output that every plotting program has. */
static char **with_long_names(int argc, char **argv)
{
	static char name[] = "--output"; /* not const, as argv is not */
	char **const words = calloc((size_t)argc + 1, sizeof *words);

	for (int i = 0; words && i < argc; i++) {
		words[i] = argv[i];
		if (!strcmp(argv[i], "-o")) {
			words[i] = name;
		}
	}
	return words;
}

int cli_run_with_output(const struct cli_command *command, int argc, char **argv)
{
	char **const words = with_long_names(argc, argv);

	if (!words) {
		nvw_fail(NVW_E_MEMORY, "no memory for the command line");
		return cli_fail();
	}
	const int status = cli_run_command(command, argc, words);

	free(words);
	return status;
}

/* ---- The machine --------------------------------------------------------------------------------- */

const char *cli_protocol_name(unsigned i)
{
	const char *name, *citation, *summary;

	return emu_protocol_info(i, &name, &citation, &summary) ? name : NULL;
}

int cli_find_protocol(const char *name)
{
	const char *names[65] = {NULL};

	for (unsigned n = 0; n < 64 && (names[n] = cli_protocol_name(n)); n++) {
		if (!strcmp(names[n], name)) {
			return 0;
		}
	}
	return nvw_fail(NVW_E_USAGE, "there is no coherence protocol %s%s", name,
		DID_YOU_MEAN(nvw_nearest(name, names), "; see nvwave list protocols"));
}

static int take_protocol(struct cli_session *s, const char *value)
{
	s->protocol_named = true;
	s->each_protocol = !strcmp(value, "each");
	if (!s->each_protocol) {
		NVW_TRY(cli_find_protocol(value));
		NVW_PRINT(s->config.protocol, "%s", value);
	}
	return 0;
}

/* "gpu.protocol=NAME" names the protocol, too. */
static int take_setting(struct cli_session *s, const char *setting)
{
	const int error = emu_config_set(&s->config, setting);

	NVW_FAIL_IF(error, error, "%s: %s", s->config.name, nvw_error_message());
	if (!strncmp(setting, "gpu.protocol=", 13)) {
		s->protocol_named = true;
	}
	return 0;
}

/* Settings are applied after the machine that they override. */
static int describe_machine(struct cli_session *s)
{
	const struct cli_options *const o = &s->given;

	if (cli_given(o, CLI_machine)) {
		NVW_TRY(emu_config_load(&s->config, cli_text(o, CLI_machine)));
	}
	NVW_EACH(setting, o->setting, o->setting_count) {
		NVW_TRY(take_setting(s, *setting));
	}
	if (cli_given(o, CLI_protocol)) {
		NVW_TRY(take_protocol(s, cli_text(o, CLI_protocol)));
	} else if (cli_given(o, CLI_each_protocol)) {
		NVW_TRY(take_protocol(s, cli_text(o, CLI_each_protocol)));
	}
	s->config.seed = cli_number(o, CLI_seed);
	return emu_config_check(&s->config);
}

/* ---- The workload -------------------------------------------------------------------------------- */

/* There is no workload; an option may have been meant for one. */
static int without_workload(const struct cli_session *s, enum cli_subject subject)
{
	const struct cli_options *const o = &s->given;

	if (o->other_count) {
		return cli_options_unknown(o, NULL, o->other->name);
	}
	NVW_FAIL_IF(subject == CLI_WORKLOAD && !s->help, NVW_E_USAGE,
		"%s: expected a workload (see nvwave list workloads)", o->command);
	return 0;
}

static int find_workload(struct cli_session *s, enum cli_subject subject)
{
	const struct cli_options *const o = &s->given;

	NVW_INVARIANT(!s->reference);
	if (o->argument_count == 0) {
		return without_workload(s, subject);
	}
	NVW_FAIL_IF(o->argument_count > 1, NVW_E_USAGE, "%s: expected one workload, found %s and \"%s\"",
		o->command, o->argument[0], o->argument[1]);
	s->reference = strchr(o->argument[0], '/') ? realpath(o->argument[0], NULL) : strdup(o->argument[0]);
	return nvw_workload_load(o->argument[0], &s->workload);
}

static int take_mutation(struct cli_session *s, const char *value)
{
	const char *names[65];
	unsigned n = 0;

	NVW_FAIL_IF(!s->workload, NVW_E_USAGE, "%s: --mutate needs a workload", s->given.command);
	const struct nvw_mutation *const list = s->workload->mutations;

	for (; list && n < 64 && list[n].name; n++) {
		names[n] = list[n].name;
		if (!strcmp(names[n], value)) {
			s->mutation = (int)n;
			return 0;
		}
	}
	names[n] = NULL;
	return nvw_fail(NVW_E_USAGE, "%s has no mutation %s%s", s->workload->name, value,
		DID_YOU_MEAN(nvw_nearest(value, names), "; see nvwave list mutations"));
}

/* An option that the command does not have belongs to the workload. */
static int take_option(struct cli_session *s, const struct cli_other *other)
{
	if (!nvw_workload_option(s->workload, other->name)) {
		return cli_options_unknown(&s->given, s->workload, other->name);
	}
	NVW_FAIL_IF(!other->value, NVW_E_USAGE, "%s: --%s needs a value: --%s=VALUE", s->workload->name,
		other->name, other->name);
	const int error = nvw__options_set(s->options, other->name, other->value);

	NVW_FAIL_IF(error < 0, error, "%s: %s", s->workload->name, nvw_error_message());
	return 0;
}

/* ---- The protocol -------------------------------------------------------------------------------- */

static struct nvw_asked asked_by(const struct cli_session *s)
{
	if (!s->workload || !s->workload->asks) {
		return (struct nvw_asked){0};
	}
	return s->workload->asks(s->options);
}

int cli_session_keeps(const struct cli_session *s, const char *protocol)
{
	static const char *const needs[] = {
		[NVW_ASKS_NOTHING] = "any",
		[NVW_ASKS_CU] = "a protocol whose work-group scope is that of the CU, or without scopes",
		[NVW_ASKS_REMOTE] = "a protocol with remote-scope promotion, or without scopes",
		[NVW_ASKS_ALL] = "a protocol without scopes",
	};
	const struct nvw_asked asked = asked_by(s);
	char list[256] = "";
	const char *name;

	if (emu_protocol_keeps(protocol, asked.scopes)) {
		return 0;
	}
	for (unsigned i = 0; (name = cli_protocol_name(i)); i++) {
		if (emu_protocol_keeps(name, asked.scopes)) {
			words_add(list, sizeof list, ", ", name);
		}
	}
	return nvw_fail(NVW_E_USAGE, "%s %s cannot run correctly under %s: it needs %s (%s)",
		s->workload->name, asked.option, protocol, needs[asked.scopes], list);
}

/* The named protocol, else the one implied by the options, else the machine's. */
static int choose_protocol(struct cli_session *s)
{
	const struct nvw_asked asked = asked_by(s);
	const char *implied = asked.protocol;
	int r = cli_find_protocol(s->config.protocol);

	NVW_FAIL_IF(r < 0, NVW_E_CONFIG, "%s: gpu.protocol: %s", s->config.name, nvw_error_message());
	if (!implied && !emu_protocol_keeps(s->config.protocol, asked.scopes)) {
		implied = asked.fallback;
	}
	if (!s->protocol_named && implied) {
		s->protocol_moved = strcmp(s->config.protocol, implied) != 0;
		NVW_PRINT(s->config.protocol, "%s", implied);
	}
	if (s->each_protocol) {
		return 0;
	}
	return cli_session_keeps(s, s->config.protocol);
}

/* ---- The whole ----------------------------------------------------------------------------------- */

static int prepare(struct cli_session *s)
{
	NVW_TRY(nvw__options_create(s->workload ? s->workload->options : NULL, &s->options));
	NVW_TRY(describe_machine(s));
	if (cli_given(&s->given, CLI_mutate)) {
		NVW_TRY(take_mutation(s, cli_text(&s->given, CLI_mutate)));
	}
	NVW_FOR(i, s->given.other_count) {
		NVW_TRY(take_option(s, &s->given.other[i]));
	}
	NVW_TRY(choose_protocol(s));
	s->options_text = nvw__options_text(s->options);
	NVW_ALLOCATED(s->options_text, "no memory for the command line");
	return 0;
}

int cli_session_begin(struct cli_session *s, enum cli_subject subject, int argc, char **argv)
{
	NVW_INVARIANT(argc >= 1);
	*s = (struct cli_session){.mutation = -1};
	emu_config_default(&s->config);
	NVW_TRY(cli_options_parse(&s->given, subject != CLI_NO_WORKLOAD, argc, argv));
	s->help = cli_given(&s->given, CLI_help);
	s->json = cli_json(&s->given);
	if (subject != CLI_NO_WORKLOAD) {
		NVW_TRY(find_workload(s, subject));
	}
	if (s->help) {
		return 0;
	}
	return prepare(s);
}

void cli_session_end(struct cli_session *s)
{
	cli_options_end(&s->given);
	nvw__options_free(s->options);
	free(s->options_text);
	free(s->reference);
}

json_t *cli_session_provenance(const struct cli_session *s, const char *command)
{
	json_t *const made_by = cli_provenance(&s->config, command);
	const char *name, *value;

	if (s->protocol_moved && !s->each_protocol) {
		cli_provenance_moved(made_by, "protocol", "%s", s->config.protocol);
	}
	for (unsigned i = 0; nvw__options_moved(s->options, i, &name, &value); i++) {
		cli_provenance_moved(made_by, name, "%s", value);
	}
	return made_by;
}

void cli_dispose(const struct nvw_workload *w, void *plan)
{
	if (plan && w->dispose) {
		w->dispose(plan);
	}
}

int cli_session_try(const struct cli_session *s)
{
	void *plan = NULL;

	NVW_INVARIANT(s->workload);
	const int r = s->workload->prepare(s->options, s->config.seed, s->mutation, &plan);

	cli_dispose(s->workload, plan);
	return r;
}

/* An option of a workload, with its choices below. */
static void print_option(const struct nvw_option *o)
{
	printf(*o->value ? "  --%-22s %s [%s]\n" : "  --%-22s %s\n", o->name, o->help, o->value);
	if (o->type != NVW_OPTION_CHOICE) {
		return;
	}
	const char *before = "                           ";

	for (unsigned i = 0; o->choices[i]; i++, before = ", ") {
		printf("%s%s", before, o->choices[i]);
	}
	if (o->choices[0]) {
		putchar('\n');
	}
}

void cli_session_help(const char *command, const struct nvw_workload *workload)
{
	printf("nvwave %s WORKLOAD [options]\n\n", command);
	cli_options_help(command, cli_at(CLI_AT_WORKLOAD, workload != NULL));
	if (!workload) {
		printf("\nnvwave %s WORKLOAD --help shows the options of a workload.\n", command);
		return;
	}
	printf("\nOptions of %s (%s):\n", workload->name, workload->summary);
	for (const struct nvw_option *o = workload->options; o && o->name; o++) {
		print_option(o);
	}
}
