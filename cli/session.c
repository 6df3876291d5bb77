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
	return emu_model_info(config->model)->name;
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

/* ---- The machine --------------------------------------------------------------------------- */

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

/* Settings come after the machine that they override. */
static int describe_machine(struct cli_session *s)
{
	const struct cli_options *const o = &s->given;
	const char *const protocol =
		cli_given(o, CLI_protocol) ? cli_text(o, CLI_protocol) : cli_text(o, CLI_each_protocol);
	int r = cli_given(o, CLI_machine) ? emu_config_load(&s->config, cli_text(o, CLI_machine)) : 0;

	for (unsigned i = 0; i < o->setting_count && r == 0; i++) {
		r = emu_config_set(&s->config, o->setting[i]);
		r = r ? nvw_fail(r, "%s: %s", s->config.name, nvw_error_message()) : 0;
	}
	if (r == 0 && protocol) {
		r = take_protocol(s, protocol);
	}
	s->config.seed = cli_number(o, CLI_seed);
	return r ? r : emu_config_check(&s->config);
}

/* ---- The workload -------------------------------------------------------------------------- */

static int find_workload(struct cli_session *s, enum cli_subject subject)
{
	const struct cli_options *const o = &s->given;

	if (o->argument_count == 0) {
		return o->other_count ? cli_options_unknown(o, NULL, o->other[0].name) :
		       subject == CLI_WORKLOAD && !s->help ?
					nvw_fail(NVW_E_USAGE, "%s: which workload? (nvwave list workloads)",
						o->command) :
					0;
	}
	if (o->argument_count > 1) {
		return nvw_fail(NVW_E_USAGE, "%s: one workload at a time: %s, then \"%s\"", o->command,
			o->argument[0], o->argument[1]);
	}
	s->reference = strchr(o->argument[0], '/') ? realpath(o->argument[0], NULL) : strdup(o->argument[0]);
	return nvw_workload_load(o->argument[0], &s->workload);
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
	if (!s->workload) {
		return nvw_fail(NVW_E_USAGE, "%s: --mutate needs a workload", s->given.command);
	}
	const char *const whose = s->workload->name;

	return near ? nvw_fail(NVW_E_USAGE, "%s has no mutation %s; did you mean %s?", whose, value, near) :
		      nvw_fail(NVW_E_USAGE, "%s has no mutation %s; see nvwave list mutations", whose, value);
}

static bool has_option(const struct nvw_workload *w, const char *name)
{
	for (const struct nvw_option *o = w->options; o && o->name; o++) {
		if (!strcmp(o->name, name)) {
			return true;
		}
	}
	return false;
}

/* An option that is not the command's is the workload's. */
static int take_options(struct cli_session *s)
{
	const struct cli_options *const o = &s->given;

	for (unsigned i = 0; i < o->other_count; i++) {
		const struct cli_other *const other = &o->other[i];
		int r;

		if (!s->workload || !has_option(s->workload, other->name)) {
			return cli_options_unknown(o, s->workload, other->name);
		}
		if (!other->value) {
			return nvw_fail(NVW_E_USAGE, "%s: --%s needs a value: --%s=VALUE", s->workload->name,
				other->name, other->name);
		}
		r = nvw__options_set(s->options, other->name, other->value);
		if (r < 0) {
			return nvw_fail(r, "%s: %s", s->workload->name, nvw_error_message());
		}
	}
	return 0;
}

static int prepare(struct cli_session *s)
{
	int r = nvw__options_create(s->workload ? s->workload->options : NULL, &s->options);

	r = r ? r : describe_machine(s);
	if (r == 0 && cli_given(&s->given, CLI_mutate)) {
		r = take_mutation(s, cli_text(&s->given, CLI_mutate));
	}
	r = r ? r : take_options(s);
	if (r == 0) {
		s->options_text = nvw__options_text(s->options);
		r = s->options_text ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for the command line");
	}
	return r;
}

int cli_session_begin(struct cli_session *s, enum cli_subject subject, int argc, char **argv)
{
	*s = (struct cli_session){.mutation = -1};
	emu_config_default(&s->config);
	int r = cli_options_parse(&s->given, subject != CLI_NO_WORKLOAD, argc, argv);

	s->help = cli_given(&s->given, CLI_help);
	s->json = cli_json(&s->given);
	if (r == 0 && subject != CLI_NO_WORKLOAD) {
		r = find_workload(s, subject);
	}
	return r || s->help ? r : prepare(s);
}

void cli_session_end(struct cli_session *s)
{
	cli_options_end(&s->given);
	nvw__options_free(s->options);
	free(s->options_text);
	free(s->reference);
}

void cli_session_help(const char *command, const struct nvw_workload *workload)
{
	printf("nvwave %s WORKLOAD [options]\n\n", command);
	cli_options_help(command);
	if (!workload) {
		printf("\nnvwave %s WORKLOAD --help shows the options of a workload.\n", command);
		return;
	}
	printf("\nOptions of %s (%s):\n", workload->name, workload->summary);
	for (const struct nvw_option *o = workload->options; o && o->name; o++) {
		printf(*o->value ? "  --%-22s %s [%s]\n" : "  --%-22s %s\n", o->name, o->help, o->value);
		for (unsigned i = 0; o->type == NVW_OPTION_CHOICE && o->choices[i]; i++) {
			printf("%s%s%s", i ? ", " : "                           ", o->choices[i],
				o->choices[i + 1] ? "" : "\n");
		}
	}
}
