/* SPDX-License-Identifier: BSD-3-Clause */
/* A workload under many orders of its wavefronts, without crashes. See run_schedules.h. */
#include "run_schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crashtest/explain/finding.h>

#include "core/bounds.h"
#include "core/member.h"
#include "core/stop.h"

#include "../report/json_report.h"
#include "../report/provenance.h"
#include "../report/crash/schedule_report.h"
#include "../report/words.h"

/* ---- nvwave run ---------------------------------------------------------------------------------- */

static const char *verdict_of(const struct ct_result *r)
{
	if (!r->consistent) {
		return "INCONSISTENT";
	}
	return r->interrupted ? "UNDECIDED" : "NO FAILURE FOUND";
}

static int print_json(const struct cli_session *s, const struct ct_result *r, const json_t *made_by)
{
	return cli_print_json(
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:b, s:f, s:O}", "verdict", verdict_of(r),
			"workload", s->workload->name, "machine", s->config.name, "protocol",
			s->config.protocol, "mutation", cli_mutation_name(s), "seed",
			(json_int_t)s->config.seed, "schedules", cli_schedules_json(&r->schedules),
			"interrupted", r->interrupted, "host_seconds", r->host_seconds, "made_by", made_by),
		stdout);
}

static int print(const struct cli_session *s, const struct ct_result *r, const json_t *made_by)
{
	if (s->json) {
		return print_json(s, r, made_by);
	}
	printf("%s in %s different schedule%s of %s that were run   %.1f s\n", verdict_of(r),
		GROUPED(r->schedules.different), plural(r->schedules.different), GROUPED(r->schedules.run),
		r->host_seconds);
	printf("%s on %s, protocol %s, seed %llu%s%s\n", s->workload->name, s->config.name,
		s->config.protocol, (ull)s->config.seed, words_if(s->mutation >= 0, ", mutation "),
		cli_mutation_name(s));
	cli_schedules_text(&r->schedules, stdout);
	cli_print_provenance(made_by, stdout);
	cli_schedule_findings_text(&r->schedules, stdout);
	return 0;
}

static int run_all(const struct cli_session *s, const json_t *made_by, struct ct_result *result)
{
	char *const command = cli_command_text(s->config.protocol);
	const struct ct_options options = {.mode = CT_OBSERVED,
		.schedules = cli_number(&s->given, CLI_kernel_schedules),
		.schedule_depth = (unsigned)cli_number(&s->given, CLI_schedule_depth),
		.every_order = cli_given(&s->given, CLI_every_order),
		.save = cli_text(&s->given, CLI_run_save),
		.seed = s->config.seed};
	const struct ct_subject subject = {.workload = s->workload,
		.options = s->options,
		.options_text = s->options_text,
		.config = &s->config,
		.reference = s->reference,
		.command = command,
		.made_by = (json_t *)(uintptr_t)made_by,
		.mutation = s->mutation};
	const int error = ct_run_schedules(&subject, &options, false, result);

	free(command);
	return error;
}

int cli_run_schedules(const struct cli_session *s)
{
	json_t *const made_by = cli_session_provenance(s, NULL);
	struct ct_result *const result = calloc(1, sizeof *result);
	int error = result ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for schedules");

	if (!error) {
		error = run_all(s, made_by, result);
		nvw_stop_reporting();
	}
	error = NVW_OR(error, print(s, result, made_by));
	error = NVW_OR(error, cli_flush());
	if (!error && !result->consistent) {
		error = NVW_E_INCONSISTENT;
	} else if (!error && result->interrupted) {
		error = nvw_fail(NVW_E_STOPPED, "stopped: other schedules were not run");
	}
	if (result) {
		ct_result_free(result);
	}
	free(result);
	json_decref(made_by);
	return error;
}

/* ---- nvwave replay ------------------------------------------------------------------------------- */

/* The finding of the saved one's kind, else the first. */
static const char *text_like(const struct ct_schedules *s, const char *kind)
{
	NVW_EACH(finding, s->finding, s->finding_count) {
		if (!strcmp(ct_schedule_kind_name(finding->kind), kind)) {
			return finding->text;
		}
	}
	return s->finding_count ? s->finding[0].text : "";
}

int cli_replay_schedule(const struct cli_scheduled *what, const json_t *head, char ret_text[CT_TEXT_BYTES])
{
	const char *const kind = member_text(head, "without_crash");
	struct ct_schedule_named named;
	struct ct_schedules found;
	struct emu_config config;

	NVW_FAIL_IF(!ct_schedule_from_json(json_object_get(head, "schedule"), &named), NVW_E_DAMAGED,
		"the finding has no schedule");
	NVW_TRY(ct_finding_machine(head, &config));
	const struct ct_subject subject = {.workload = what->workload,
		.options = what->options,
		.config = &config,
		.mutation = what->mutation};

	NVW_TRY(ct_schedule_again(&subject, &named, &found));
	snprintf(ret_text, CT_TEXT_BYTES, "%.*s", CT_TEXT_BYTES - 1, text_like(&found, kind));
	return 0;
}
