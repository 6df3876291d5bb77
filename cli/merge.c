/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --merge: combines the reports of all shards. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <crashtest/explain/finding.h>
#include <crashtest/explain/mend_order.h>
#include <crashtest/explore/result.h>
#include <crashtest/group.h>

#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"

#include "crash_command.h"
#include "session.h"
#include "report/crash/unlogged.h"
#include "report/words.h"

/* ---- Merging ------------------------------------------------------------------------------------- */

struct merge {
	json_t *first; /* a report; the others must belong to the same exploration */
	const char *first_path;
	bool seen[65537];
	struct ct_groups groups;
	struct ct_result result, shard; /* shard: what one report has */
};

static const char *version_of(const json_t *report)
{
	return member_text(json_object_get(report, "made_by"), "version");
}

/* Checks the values that must be equal in all shards of one exploration. */
static int compare(const struct merge *m, const json_t *report, const char *path)
{
	static const char *const names[] = {"mode", "workload", "machine", "protocol", "model", "seed",
		"mutation", "atomicity", "shards", "stores", "sim_time_ns", "states_possible_log2"};

	NVW_EACH_IN(name, names) {
		NVW_FAIL_IF(!json_equal(json_object_get(report, *name), json_object_get(m->first, *name)),
			NVW_E_INPUT, "%s: \"%s\" differs from that of %s: expected shards of one exploration",
			path, *name, m->first_path);
	}
	NVW_FAIL_IF(strcmp(version_of(report), version_of(m->first)) != 0, NVW_E_INPUT,
		"%s: made by nvwave %s, but %s by %s: expected shards of one exploration", path,
		version_of(report), m->first_path, version_of(m->first));
	return 0;
}

static int add_findings(struct merge *m, const json_t *report)
{
	struct ct_finding *const f = malloc(sizeof *f);

	NVW_ALLOCATED(f, "no memory for a finding");
	JSON_EACH(finding, json_object_get(report, "findings")) {
		ct_finding_read(finding, f);
		ct_groups_add(&m->groups, f);
	}
	free(f);
	return 0;
}

static void add_sums(struct ct_result *r, const json_t *report)
{
	const struct {
		uint64_t *sum;
		const char *name;
	} counts[] = {{&r->states_tested, "states_tested"}, {&r->states_distinct, "states_distinct"},
		{&r->states_equal, "states_equal"}, {&r->states_failing, "states_failing"},
		{&r->states_planned, "states_planned"}, {&r->instants, "instants"},
		{&r->instants_exhausted, "instants_exhausted"}, {&r->states_unread, "states_unread"},
		{&r->states_alike, "states_alike"}, {&r->states_symmetric, "states_symmetric"},
		{&r->instants_by_reads, "instants_by_reads"}, {&r->findings_unlisted, "findings_unlisted"}};

	NVW_EACH_IN(one, counts) {
		*one->sum += member_count(report, one->name);
	}
}

/* What is not one sum; trust is of the whole run, in each shard. */
static void add_records(struct ct_result *r, const struct ct_result *shard)
{
	ct_by_parts_join(&r->by_parts, &shard->by_parts);
	ct_recoveries_join(&r->recoveries, &shard->recoveries);
	r->instants_by_parts += shard->instants_by_parts;
	r->has_recoveries |= shard->has_recoveries;
	r->trusts = shard->trusts;
	r->trusted = shard->trusted;
}

static void add_counts(struct ct_result *r, const json_t *report)
{
	add_sums(r, report);
	if (r->states_undecided == 0) {
		NVW_PRINT(r->undecided, "%s", member_text(report, "undecided"));
	}
	r->states_undecided += member_count(report, "states_undecided");
	r->executed = r->executed || member_flag(report, "checker_executed");
	r->gave_up = r->gave_up || member_flag(report, "gave_up");
	r->interrupted = r->interrupted || member_flag(report, "interrupted");
	r->host_seconds += member_real(report, "host_seconds");
	r->explore_seconds += member_real(report, "explore_seconds");
}

static int check_shard(struct merge *m, const json_t *report, const char *path)
{
	const uint64_t shard = member_count(report, "shard");

	NVW_INVARIANT(m->first);
	NVW_TRY(compare(m, report, path));
	NVW_FAIL_IF(shard == 0, NVW_E_INPUT, "%s: not a shard (--shard=I/N)", path);
	NVW_FAIL_IF(shard > 65536 || m->seen[shard], NVW_E_INPUT, "%s: this shard is given twice", path);
	m->seen[shard] = true;
	return 0;
}

static int add_report(struct merge *m, const char *path)
{
	json_error_t where;
	json_t *const report = json_load_file(path, 0, &where);

	NVW_FAIL_IF(!report, NVW_E_INPUT, "%s: expected a report of nvwave crash --output-format=json: %s",
		path, where.text);
	if (!json_object_get(report, "states_distinct")) {
		json_decref(report);
		return nvw_fail(
			NVW_E_INPUT, "%s: expected a report of nvwave crash --output-format=json", path);
	}
	if (!m->first) {
		m->first = json_incref(report);
		m->first_path = path;
	}
	int error = check_shard(m, report, path);

	if (!error) {
		add_counts(&m->result, report);
		ct_result_clear(&m->shard);
		crash_records_read(report, &m->shard);
		add_records(&m->result, &m->shard);
		error = add_findings(m, report);
	}
	json_decref(report);
	return error;
}

/* Those that are equal in all shards. */
static void take_numbers(struct ct_result *r, const json_t *o)
{
	r->stores = member_count(o, "stores");
	r->barriers = member_count(o, "barriers");
	r->acks = member_count(o, "acknowledged");
	r->threads = member_count(o, "threads");
	r->grouped = *member_text(o, "caution") != '\0';
	r->sim_time_ps = (uint64_t)(1000 * member_real(o, "sim_time_ns"));
	r->states_possible_log2 = member_real(o, "states_possible_log2");
	r->states_possible = exp2(r->states_possible_log2);
	r->states_possible_exact = member_flag(o, "states_possible_exact");
	r->states_known = r->states_possible_exact;
}

static void complete_findings(struct merge *m, struct ct_result *r)
{
	r->findings_unlisted += m->groups.unlisted;
	ct_groups_list(&m->groups, r);
	qsort(r->finding, r->finding_count, sizeof r->finding[0], ct_by_first);
	ct_merge_causes(r->finding, &r->finding_count);
}

static void complete(struct merge *m)
{
	struct ct_result *const r = &m->result;
	const json_t *const o = m->first;

	NVW_INVARIANT(m->first);
	r->mode = strcmp(member_text(o, "mode"), "permitted") == 0 ? CT_PERMITTED : CT_OBSERVED;
	if (r->mode == CT_PERMITTED) {
		ct_model_find(member_text(o, "model"), &r->model);
	}
	take_numbers(r, o);
	r->consistent = r->states_failing == 0;
	cli_unlogged_read(o, &r->unlogged);
	complete_findings(m, r);
}

static int check_whole(const struct merge *m)
{
	NVW_FAIL_IF(
		!m->first, NVW_E_USAGE, "--merge: expected the JSON reports of all shards of an exploration");
	const ull shards = member_count(m->first, "shards");

	for (ull i = 1; i <= shards; i++) {
		NVW_FAIL_IF(!m->seen[i], NVW_E_INPUT, "--merge: shard %llu of %llu is missing", i, shards);
	}
	return 0;
}

static int show(const struct merge *m, bool json)
{
	const struct crash_heading heading = {.workload = member_text(m->first, "workload"),
		.machine = member_text(m->first, "machine"),
		.protocol = member_text(m->first, "protocol"),
		.model = member_text(m->first, "model"),
		.mutation = member_text(m->first, "mutation"),
		.command = member_text(m->first, "repeat"),
		.made_by = json_object_get(m->first, "made_by"),
		.atomicity = (unsigned)member_count(m->first, "atomicity"),
		.seed = member_count(m->first, "seed")};

	NVW_INVARIANT(m->first);
	if (json) {
		return crash_report_json(&heading, &m->result, stdout);
	}
	crash_report_text(&heading, &m->result, stdout);
	return 0;
}

static int merge_all(struct merge *m, const struct cli_options *given)
{
	NVW_EACH(argument, given->argument, given->argument_count) {
		NVW_TRY(add_report(m, *argument));
	}
	NVW_TRY(check_whole(m));
	complete(m);
	NVW_TRY(ct_order_findings(&m->result));
	NVW_TRY(show(m, cli_json(given)));
	return crash_status(ct_verdict_of(&m->result));
}

int crash_merge(const struct cli_options *given)
{
	struct merge *const m = calloc(1, sizeof *m); /* too large for a stack */

	NVW_ALLOCATED(m, "no memory for a merged report");
	const int result = merge_all(m, given);

	json_decref(m->first);
	free(m);
	return result;
}
