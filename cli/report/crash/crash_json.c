/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of "nvwave crash" as JSON. See crash_report.h. */
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include <crashtest/explain/finding.h>

#include "core/invariant.h"

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

static json_t *json_intervals(const struct ct_result *r)
{
	json_t *const all = json_array();

	NVW_EACH(k, r->interval, r->interval_count) {
		const double log2_states = finite_or_0(k->possible_log2);

		json_array_append_new(
			all, json_pack("{s:f, s:f, s:b, s:i, s:i, s:i, s:b}", "until_ns",
				     (double)k->time_ps / 1000, "possible_log2", log2_states, "exact",
				     k->exact, "distinct", (int)k->distinct, "equal", (int)k->equal, "unread",
				     (int)k->unread, "all_accounted_for", k->exhausted));
	}
	return all;
}

static json_t *json_parts(const struct ct_result *r)
{
	const struct ct_by_parts *const p = &r->by_parts;

	return json_pack("{s:I, s:I, s:I, s:i, s:s, s:I, s:i, s:s, s:I, s:s, s:I, s:I, s:I, s:I, s:I}",
		"parts", (json_int_t)p->parts, "evaluations", (json_int_t)p->evaluations, "instants",
		(json_int_t)r->instants_by_parts, "widest_words", (int)p->most_forks, "widest", p->widest,
		"too_wide", (json_int_t)p->wide, "too_wide_words", (int)p->wide_forks, "first_too_wide",
		p->first_wide, "denied", (json_int_t)p->denied, "first_denied", p->first_denied, "missed",
		(json_int_t)p->missed, "died", (json_int_t)p->died, "crowded", (json_int_t)p->crowded,
		"crowd_stores", (json_int_t)p->crowd, "confirmations", (json_int_t)p->confirmations);
}

static json_t *json_assumed(const struct ct_result *r)
{
	json_t *const all = json_array();

	for (unsigned i = 0; i < r->assumed_count; i++) {
		char text[512];

		ct_edit_text(&r->assumed[i], text, sizeof text);
		json_array_append_new(all,
			json_pack("{s:s, s:b}", "text", text, "changes_states", !(r->assumed_idle >> i & 1)));
	}
	return all;
}

static json_t *json_recoveries(const struct ct_result *r)
{
	const struct ct_recoveries *const c = &r->recoveries;

	if (!r->has_recoveries) {
		return json_null();
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "epochs_open", (json_int_t)c->epochs_open,
		"entries_read", (json_int_t)c->entries_read, "words_restored", (json_int_t)c->words_restored,
		"words_written", (json_int_t)c->words_written, "worked_on", (json_int_t)c->worked_on);
}

/* Says how the search for cures went, if there was one. */
static json_t *json_cure_search(const struct ct_result *r)
{
	if (!r->proved) {
		return json_null();
	}
	return json_pack("{s:I, s:I, s:b, s:I, s:I}", "states", (json_int_t)r->cure_states, "states_most",
		(json_int_t)r->cure_states_most, "ended_by_budget", r->cure_search_ended, "states_in_none",
		(json_int_t)r->states_in_none, "states_of_several", (json_int_t)r->states_of_several);
}

/* Says which schedules a program's threads had. */
static json_t *json_threads(const struct ct_result *r)
{
	if (r->thread_schedules.run == 0) {
		return NULL;
	}
	return json_pack("{s:I, s:I, s:I, s:b, s:s}", "run", (json_int_t)r->thread_schedules.run, "different",
		(json_int_t)r->thread_schedules.different, "stuck", (json_int_t)r->thread_schedules.stuck,
		"outside", r->thread_schedules.outside, "first_stuck", r->thread_schedules.first_stuck);
}

/* NULL: they are not trusted. */
static json_t *json_trusted(const struct ct_result *r)
{
	if (!r->trusts) {
		return NULL;
	}
	return json_pack("{s:I, s:I, s:I}", "ranges", (json_int_t)r->trusted.ranges, "stores",
		(json_int_t)r->trusted.stores, "bytes", (json_int_t)r->trusted.bytes);
}

static json_t *json_result(const struct crash_heading *h, const struct ct_result *r)
{
	json_t *findings = json_array();

	NVW_EACH(finding, r->finding, r->finding_count) {
		json_array_append_new(findings, ct_finding_json(finding));
	}
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
		"fewest_operations", (json_int_t)r->fewest_operations, "intervals", json_intervals(r),
		"states_undecided", (json_int_t)r->states_undecided, "undecided", r->undecided,
		"without_crash", r->without_crash, "threads", (json_int_t)r->threads, "checker_executed",
		r->executed, "why_executed", r->why_executed, "hangs_alike", (json_int_t)r->hangs_alike,
		"states_alike", (json_int_t)r->states_alike, "states_settled", (json_int_t)r->states_settled,
		"by_parts", json_parts(r), "made_by", h->made_by, "recovery", json_recoveries(r),
		"cure_search", json_cure_search(r), "assumed", json_assumed(r), "source",
		cli_statements_json(&r->coverage), "schedules", cli_schedules_json(&r->schedules),
		"thread_schedules", json_threads(r), "unlogged", cli_unlogged_json(&r->unlogged), "corpus",
		cli_corpus_json(r), "trusted", json_trusted(r), "persistency_races",
		cli_crash_races_json(&r->races));
}

/* The members of these names. */
static json_t *some_of(const json_t *o, const char *const *names)
{
	json_t *const some = json_object();

	for (; *names != NULL; names++) {
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
	json_t *finding;
	size_t i;

	json_array_foreach(json_object_get(whole, "findings"), i, finding)
	{
		json_array_append_new(findings, brief_finding(finding));
	}
	json_object_set_new(brief, "findings", findings);
	if (source != NULL) {
		json_object_set_new(brief, "source", some_of(source, of_source));
	}
	json_decref(whole);
	return brief;
}

int crash_report_json(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	NVW_INVARIANT(h->command != NULL);
	return cli_print_json(json_result(h, r), to);
}
