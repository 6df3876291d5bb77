/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared part of the command line. See session.h. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <emu.h>

#include "commands.h"
#include "core/options.h"
#include "core/units.h"
#include "registry.h"

/* ---- Names --------------------------------------------------------------------------------- */

const char *cli_model_name(const struct emu_config *config)
{
	static const char *const names[] = {
#define X(name, text) text,
		EMU_MODELS(X)
#undef X
	};

	return names[config->model];
}

const char *cli_domain_name(const struct emu_config *config)
{
	static const char *const names[] = {
#define X(name, text) text,
		EMU_DOMAINS(X)
#undef X
	};

	return names[config->domain];
}

int cli_fail(void)
{
	fprintf(stderr, "nvwave: %s\n", nvw_error_message());
	return STATUS_INPUT;
}

/* ---- Options ------------------------------------------------------------------------------- */

/* The part after "name=" if arg is --name=..., else NULL. */
static const char *value_of(const char *arg, const char *name)
{
	const size_t n = strlen(name);

	return !strncmp(arg, "--", 2) && !strncmp(arg + 2, name, n) && arg[2 + n] == '=' ? arg + 3 + n : NULL;
}

int cli_output_format(const char *arg, bool *ret_json)
{
	const char *const value = value_of(arg, "output-format");

	if (!value) {
		return 0;
	}
	if (strcmp(value, "json") && strcmp(value, "normal")) {
		return nvw_fail(NVW_E_USAGE, "--output-format: expected normal or json, found \"%s\"", value);
	}
	*ret_json = !strcmp(value, "json");
	return 1;
}

static int take_machine(struct cli_session *s, const char *value)
{
	return emu_config_load(&s->config, value);
}

static int take_set(struct cli_session *s, const char *value)
{
	const int r = emu_config_set(&s->config, value);

	return r < 0 ? nvw_fail(r, "%s: %s", s->config.name, nvw_error_message()) : 0;
}

static int take_protocol(struct cli_session *s, const char *value)
{
	const char *names[65], *citation, *summary, *near;
	unsigned n = 0;

	s->each_protocol = !strcmp(value, "each");
	if (s->each_protocol) {
		return 0;
	}
	for (; n < 64 && emu_protocol_info(n, &names[n], &citation, &summary); n++) {
		if (!strcmp(names[n], value)) {
			snprintf(s->config.protocol, sizeof s->config.protocol, "%s", value);
			return 0;
		}
	}
	names[n] = NULL;
	near = nvw_nearest(value, names);
	return near ? nvw_fail(NVW_E_USAGE, "there is no coherence protocol %s; did you mean %s?", value,
			      near) :
		      nvw_fail(NVW_E_USAGE, "there is no coherence protocol %s; see nvwave list protocols",
			      value);
}

static int take_seed(struct cli_session *s, const char *value)
{
	const int r = nvw_parse_count(value, &s->config.seed);

	return r < 0 ? nvw_fail(r, "--seed: %s", nvw_error_message()) : 0;
}

static int take_mutation(struct cli_session *s, const char *value)
{
	const struct nvw_mutation *const list = s->workload ? s->workload->mutations : NULL;
	const char *names[65], *near;
	unsigned n = 0;

	for (; list && n < 64 && list[n].name; n++) {
		names[n] = list[n].name;
		if (!strcmp(names[n], value)) {
			s->mutation = (int)n;
			return 0;
		}
	}
	names[n] = NULL;
	near = nvw_nearest(value, names);
	const char *const whose = s->workload ? s->workload->name : "no workload";

	return near ? nvw_fail(NVW_E_USAGE, "%s has no mutation %s; did you mean %s?", whose, value, near) :
		      nvw_fail(NVW_E_USAGE, "%s has no mutation %s; see nvwave list mutations", whose, value);
}

static int take_pool(struct cli_session *s, const char *value)
{
	s->pool_path = value;
	return 0;
}

static int take_log(struct cli_session *s, const char *value)
{
	s->log_path = value;
	return 0;
}

static int take_dump(struct cli_session *s, const char *value)
{
	s->dump_path = value;
	return 0;
}

/* In the order in which they are applied: overrides come after the machine that they override. */
static const struct {
	const char *name;
	int (*take)(struct cli_session *session, const char *value);
	const char *help;
} shared[] = {
	{"machine", take_machine, "a shipped machine or a machine file [gope18]"},
	{"set", take_set, "section.key=value: overrides a key of the machine; may be repeated"},
	{"protocol", take_protocol, "coherence protocol, or each (nvwave crash) [vi]"},
	{"seed", take_seed, "of scheduling, of the workload and of the injector [1]"},
	{"mutate", take_mutation, "switches a seeded bug of the workload on (nvwave list mutations)"},
	{"pool", take_pool, "the pool's file, which is created and kept [a temporary one]"},
	{"log", take_log, "writes the persist log"},
	{"dump-machine", take_dump, "writes the effective machine file (- is standard output)"},
};

enum { SHARED = sizeof shared / sizeof *shared };

/* ---- The command line, as --name=value ----------------------------------------------------- */

static bool is_flag(const char *arg)
{
	static const char *const flags[] = {
		"--help", "--matrix", "--self-test", "--nested", "--symmetric", "--intervals", "--advice"};

	for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (!strcmp(arg, flags[i])) {
			return true;
		}
	}
	return false;
}

/* "--name value" becomes "--name=value". */
static int normalise(struct cli_session *s, int argc, char **argv)
{
	s->words = calloc((size_t)argc + 1, sizeof *s->words);
	if (!s->words) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the command line");
	}
	for (int i = 1; i < argc; i++) {
		const bool open = !strncmp(argv[i], "--", 2) && !strchr(argv[i], '=') && !is_flag(argv[i]);
		char **const to = &s->words[s->word_count];

		if (open && i + 1 == argc) {
			return nvw_fail(NVW_E_USAGE, "%s needs a value: %s=VALUE", argv[i], argv[i]);
		}
		if (asprintf(to, open ? "%s=%s" : "%s", argv[i], open ? argv[i + 1] : "") < 0) {
			*to = NULL;
			return nvw_fail(NVW_E_MEMORY, "no memory for the command line");
		}
		i += open;
		s->word_count++;
	}
	return 0;
}

static int find_workload(struct cli_session *s)
{
	const char *name = NULL;

	for (unsigned i = 0; i < s->word_count; i++) {
		s->help = s->help || !strcmp(s->words[i], "--help");
		if (strncmp(s->words[i], "--", 2)) {
			if (name) {
				return nvw_fail(NVW_E_USAGE, "one workload at a time: %s, then \"%s\"", name,
					s->words[i]);
			}
			name = s->words[i];
		}
	}
	if (!name) {
		return s->help || s->without_workload ?
			       0 :
			       nvw_fail(NVW_E_USAGE, "which workload? (nvwave list workloads)");
	}
	s->reference = strchr(name, '/') ? realpath(name, NULL) : strdup(name);
	return nvw_workload_load(name, &s->workload);
}

static int take_shared(struct cli_session *s)
{
	for (unsigned k = 0; k < SHARED; k++) {
		for (unsigned i = 0; i < s->word_count; i++) {
			const char *const value = value_of(s->words[i], shared[k].name);
			const int r = value ? shared[k].take(s, value) : 0;

			if (r < 0) {
				return r;
			}
		}
	}
	return emu_config_check(&s->config);
}

static bool is_shared(const char *arg)
{
	for (unsigned k = 0; k < SHARED; k++) {
		if (value_of(arg, shared[k].name)) {
			return true;
		}
	}
	return false;
}

/* An option that is neither shared nor the command's is the workload's. */
static int take_rest(struct cli_session *s, int (*own)(const char *, void *), void *context)
{
	for (unsigned i = 0; i < s->word_count; i++) {
		char *const arg = s->words[i];
		char *equals;
		int r = cli_output_format(arg, &s->json);

		if (r == 0 && own) {
			r = own(arg, context);
		}
		if (r < 0) {
			return r;
		}
		if (r || strncmp(arg, "--", 2) || is_flag(arg) || is_shared(arg)) {
			continue;
		}
		equals = strchr(arg, '=');
		*equals = 0;
		r = nvw__options_set(s->options, arg + 2, equals + 1);
		*equals = '=';
		if (r < 0) {
			return nvw_fail(r, "%s: %s", s->workload ? s->workload->name : "without a workload",
				nvw_error_message());
		}
	}
	return 0;
}

int cli_session_begin(struct cli_session *s, int argc, char **argv,
	int (*own)(const char *arg, void *context), void *context)
{
	int r;

	*s = (struct cli_session){
		.mutation = -1, .without_workload = !strcmp(argv[0], "exec") || !strcmp(argv[0], "fio")};
	for (int i = 1; i < argc; i++) {
		s->without_workload = s->without_workload || !strcmp(argv[i], "--self-test") ||
				      !strncmp(argv[i], "--store-log", 11) || !strncmp(argv[i], "--exec", 6);
	}
	emu_config_default(&s->config);
	s->config.seed = 1;
	r = normalise(s, argc, argv);
	r = r ? r : find_workload(s);
	if (r == 0 && !s->help) {
		r = nvw__options_create(s->workload ? s->workload->options : NULL, &s->options);
		r = r ? r : take_shared(s);
		r = r ? r : take_rest(s, own, context);
	}
	if (r == 0 && !s->help) {
		s->options_text = nvw__options_text(s->options);
		r = s->options_text ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for the command line");
	}
	return r;
}

void cli_session_end(struct cli_session *s)
{
	for (unsigned i = 0; i < s->word_count; i++) {
		free(s->words[i]);
	}
	free(s->words);
	nvw__options_free(s->options);
	free(s->options_text);
	free(s->reference);
}

void cli_session_help(const char *command, const struct nvw_workload *workload, const char *own)
{
	printf("nvwave %s WORKLOAD [options]\n\n%s", command, own);
	for (unsigned k = 0; k < SHARED; k++) {
		printf("  --%-22s %s\n", shared[k].name, shared[k].help);
	}
	printf("  --%-22s %s\n", "output-format", "normal or json [normal]");
	if (!workload) {
		puts("\nnvwave run WORKLOAD --help shows the options of a workload.");
		return;
	}
	printf("\nOptions of %s (%s):\n", workload->name, workload->summary);
	for (const struct nvw_option *o = workload->options; o && o->name; o++) {
		printf("  --%-22s %s [%s]\n", o->name, o->help, o->value);
		for (unsigned i = 0; o->type == NVW_OPTION_CHOICE && o->choices[i]; i++) {
			printf("%s%s%s", i ? ", " : "                           ", o->choices[i],
				o->choices[i + 1] ? "" : "\n");
		}
	}
}
