/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of "nvwave crash" as JSON. See crash_report.h. */
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include <crashtest/explain/finding.h>
#include <crashtest/members.h>

#include "core/invariant.h"
#include "core/member.h"

#include "../json_report.h"
#include "corpus_report.h"
#include "crash_report.h"
#include "schedule_report.h"
#include "statements.h"
#include "unlogged.h"

/* JSON has no -inf: nothing was possible. */
static double finite_or_0(double log2_states)
{
	return isfinite(log2_states) ? log2_states : 0.0;
}

static json_t *interval_json(const struct ct_interval *k)
{
	return json_pack("{s:f, s:f, s:b, s:i, s:i, s:i, s:b}", "until_ns", (double)k->time_ps / 1000,
		"possible_log2", finite_or_0(k->possible_log2), "exact", k->exact, "distinct",
		(int)k->distinct, "equal", (int)k->equal, "unread", (int)k->unread, "all_accounted_for",
		k->exhausted);
}

#define M(...)        MEMBER(OF, __VA_ARGS__)
#define S(field, ...) MEMBER(OF, #field, field, __VA_ARGS__)
#define P(key, field) MEMBER(OF, key, by_parts.field)

#define OF struct ct_result
static const struct member parts_members[] = {P("parts", parts), P("evaluations", evaluations),
	M("instants", instants_by_parts), P("widest_words", most_forks), P("widest", widest),
	P("too_wide", wide), P("too_wide_words", wide_forks), P("first_too_wide", first_wide),
	P("denied", denied), P("first_denied", first_denied), P("missed", missed), P("died", died),
	P("crowded", crowded), P("crowd_stores", crowd), P("confirmations", confirmations), {0}};

/* How the search for cures went. */
static const struct member search_members[] = {M("states", cure_states), M("states_most", cure_states_most),
	M("ended_by_budget", cure_search_ended), S(states_in_none), S(states_of_several), {0}};

/* Which schedules a program's threads had. */
static const struct member thread_members[] = {M("run", thread_schedules.run),
	M("different", thread_schedules.different), M("stuck", thread_schedules.stuck),
	M("outside", thread_schedules.outside), M("first_stuck", thread_schedules.first_stuck), {0}};
#undef OF

#define OF struct ct_recoveries
static const struct member recovery_members[] = {
	S(epochs_open), S(entries_read), S(words_restored), S(words_written), S(worked_on), {0}};
#undef OF

#define OF struct ct_trusted
static const struct member trusted_members[] = {S(ranges), S(stores), S(bytes), {0}};
#undef OF

static json_t *json_if(bool is, const struct member *members, const void *record)
{
	return is ? members_json(members, record) : NULL;
}

void crash_records_read(const json_t *report, struct ct_result *r)
{
	const json_t *const recovery = json_object_get(report, "recovery");
	const json_t *const trusted = json_object_get(report, "trusted");

	members_read(parts_members, json_object_get(report, "by_parts"), r);
	members_read(recovery_members, recovery, &r->recoveries);
	members_read(trusted_members, trusted, &r->trusted);
	r->has_recoveries = json_is_object(recovery);
	r->trusts = trusted != NULL;
}

static json_t *json_assumed(const struct ct_result *r)
{
	json_t *const all = json_array();

	NVW_FOR(i, r->assumed_count) {
		char text[512];

		ct_edit_text(&r->assumed[i], text, sizeof text);
		json_array_append_new(all,
			json_pack("{s:s, s:b}", "text", text, "changes_states", !crash_assumed_idle(r, i)));
	}
	return all;
}

static json_t *json_result(const struct crash_heading *h, const struct ct_result *r)
{
	json_t *const findings = JSON_LIST(finding, r->finding, r->finding_count, ct_finding_json(finding));
	json_t *const intervals = JSON_LIST(k, r->interval, r->interval_count, interval_json(k));

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:b, "
		"s:I, s:I, s:I, s:f, s:f, s:f, s:I, s:s, s:o, s:b, s:b, s:I, s:i, s:i, s:I, s:I, s:I, s:I, "
		"s:o, s:I, s:s, s:b, s:I, s:b, s:s, s:I, s:I, s:I, s:o, s:O*, s:o, s:o, s:o, s:o*, s:o, "
		"s:o*, s:o*, s:o*, s:o*, s:o*}",
		"verdict", ct_verdict_name(ct_verdict_of(r)), "mode", ct_mode_name(r->mode), "workload",
		h->workload, "machine", h->machine, "protocol", h->protocol, "model", crash_model_name(h, r),
		"seed", (json_int_t)h->seed, "mutation", h->mutation, "caution", crash_caution(r),
		"atomicity", (int)crash_atomicity(h, r), "states_tested", (json_int_t)r->states_tested,
		"states_distinct", (json_int_t)r->states_distinct, "states_equal",
		(json_int_t)r->states_equal, "states_failing", (json_int_t)r->states_failing,
		"states_possible_log2", finite_or_0(r->states_possible_log2), "instants",
		(json_int_t)r->instants, "instants_exhausted", (json_int_t)r->instants_exhausted, "gave_up",
		r->gave_up, "stores", (json_int_t)r->stores, "barriers", (json_int_t)r->barriers,
		"acknowledged", (json_int_t)r->acks, "sim_time_ns", (double)r->sim_time_ps / 1000,
		"host_seconds", r->host_seconds, "explore_seconds", r->explore_seconds, "findings_unlisted",
		(json_int_t)r->findings_unlisted, "repeat", h->command, "findings", findings,
		"states_possible_exact", r->states_possible_exact, "interrupted", r->interrupted,
		"states_planned", (json_int_t)r->states_planned, "shard", (int)r->shard, "shards",
		(int)r->shards, "states_unread", (json_int_t)r->states_unread, "states_symmetric",
		(json_int_t)r->states_symmetric, "instants_by_reads", (json_int_t)r->instants_by_reads,
		"fewest_operations", (json_int_t)r->fewest_operations, "intervals", intervals,
		"states_undecided", (json_int_t)r->states_undecided, "undecided", r->undecided,
		"without_crash", r->without_crash, "threads", (json_int_t)r->threads, "checker_executed",
		r->executed, "why_executed", r->why_executed, "hangs_alike", (json_int_t)r->hangs_alike,
		"states_alike", (json_int_t)r->states_alike, "states_settled", (json_int_t)r->states_settled,
		"by_parts", members_json(parts_members, r), "made_by", h->made_by, "recovery",
		NVW_OR(json_if(r->has_recoveries, recovery_members, &r->recoveries), json_null()),
		"cure_search", NVW_OR(json_if(r->proved, search_members, r), json_null()), "assumed",
		json_assumed(r), "source", cli_statements_json(&r->coverage), "schedules",
		cli_schedules_json(&r->schedules), "thread_schedules",
		json_if(r->thread_schedules.run != 0, thread_members, r), "unlogged",
		cli_unlogged_json(&r->unlogged), "corpus", cli_corpus_json(r), "trusted",
		json_if(r->trusts, trusted_members, &r->trusted), "persistency_races",
		cli_crash_races_json(&r->races));
}

/* The members of these names. */
static json_t *some_of(const json_t *o, const char *const *names)
{
	json_t *const some = json_object();

	for (; *names; names++) {
		json_object_set(some, *names, json_object_get(o, *names));
	}
	return some;
}

static json_t *brief_finding(const json_t *finding)
{
	static const char *const names[] = {"kind", "lost", "early", "lost_function", "early_function", NULL};

	return json_pack("{s:O, s:o}", "text", json_object_get(finding, "text"), "cause",
		some_of(json_object_get(finding, "cause"), names));
}

json_t *crash_report_brief(const struct crash_heading *h, const struct ct_result *r)
{
	static const char *const names[] = {"verdict", "mode", "workload", "machine", "protocol", "model",
		"seed", "mutation", "states_distinct", "states_failing", "instants", "instants_exhausted",
		"repeat", NULL};
	static const char *const of_source[] = {"statements", "executed", NULL};
	json_t *const whole = json_result(h, r), *const brief = some_of(whole, names),
		      *const findings = json_array(), *const source = json_object_get(whole, "source");

	JSON_EACH(finding, json_object_get(whole, "findings")) {
		json_array_append_new(findings, brief_finding(finding));
	}
	json_object_set_new(brief, "findings", findings);
	if (source) {
		json_object_set_new(brief, "source", some_of(source, of_source));
	}
	json_decref(whole);
	return brief;
}

int crash_report_json(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	NVW_INVARIANT(h->command);
	return cli_print_json(json_result(h, r), to);
}
