/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --merge: combines the reports of all shards. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <crashtest/explain/mend_order.h>
#include <crashtest/explore/result.h>
#include <crashtest/group.h>

#include "core/invariant.h"
#include "core/member.h"

#include "crash_command.h"
#include "session.h"
#include "report/crash/field_words.h"
#include "report/crash/unlogged.h"
#include "report/words.h"

/* ---- Reading a report ---------------------------------------------------------------------------- */

#define COPY(to, o, name) snprintf((to), sizeof(to), "%s", member_text((o), (name)))

static enum ct_fate fate_of(const char *name)
{
	enum ct_fate fate = CT_FATE_DURABLE;

	while (fate + 1 < CT_FATE_COUNT && strcmp(ct_fate_name(fate), name) != 0) {
		fate++;
	}
	return fate;
}

static void read_place(const json_t *place, struct ct_place *p)
{
	COPY(p->file, place, "file");
	COPY(p->function, place, "function");
	COPY(p->kernel, place, "kernel");
	p->line = (uint32_t)member_count(place, "line");
	p->work_item = member_count(place, "work_item");
	p->group = member_count(place, "group");
	p->epoch_wi = (uint32_t)member_count(place, "epoch_wi");
	p->epoch_wg = (uint32_t)member_count(place, "epoch_wg");
	p->epoch_kr = (uint32_t)member_count(place, "epoch_kr");
	p->off = member_count(place, "offset");
	p->bytes = (uint32_t)member_count(place, "bytes");
	p->fate = fate_of(member_text(place, "fate"));
	cli_field_read(json_object_get(place, "stored"), &p->field);
}

static void read_places(const json_t *places, struct ct_finding *f)
{
	for (size_t i = 0; i < json_array_size(places) && f->place_count < CT_PLACES_MAX; i++) {
		read_place(json_array_get(places, i), &f->place[f->place_count++]);
	}
}

static enum ct_cause_kind cause_kind_of(const char *name)
{
	enum ct_cause_kind kind = CT_CAUSE_CONTENT;

	while (kind > CT_CAUSE_NONE && strcmp(ct_cause_name(kind), name) != 0) {
		kind--;
	}
	return kind;
}

static void read_stack(const json_t *lines, char ret_stack[CT_STACK_BYTES])
{
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const size_t at = strlen(ret_stack);

		snprintf(ret_stack + at, CT_STACK_BYTES - at, "%s%s", words_if(at, "\n"),
			words_or(json_string_value(json_array_get(lines, i)), ""));
	}
}

/* Lines that the cause names as a group. */
static void read_group(const json_t *lines, struct ct_cause *c)
{
	for (size_t i = 0; i < json_array_size(lines) && c->group_count < CT_GROUP_MAX; i++) {
		const json_t *const line = json_array_get(lines, i);
		struct ct_line *const to = &c->group[c->group_count++];

		COPY(to->file, line, "file");
		COPY(to->caller_file, line, "caller_file");
		to->caller_line = (uint32_t)member_count(line, "caller_line");
		to->line = (uint32_t)member_count(line, "line");
	}
}

static void read_cause(const json_t *o, struct ct_cause *c)
{
	c->kind = cause_kind_of(member_text(o, "kind"));
	COPY(c->text, o, "text");
	COPY(c->file, o, "barrier_file");
	COPY(c->function, o, "barrier_function");
	COPY(c->scope, o, "scope");
	COPY(c->needed, o, "needed");
	COPY(c->lost, o, "lost");
	COPY(c->early, o, "early");
	COPY(c->lost_function, o, "lost_function");
	COPY(c->early_function, o, "early_function");
	c->guessed = member_flag(o, "guessed");
	COPY(c->lost_caller, o, "lost_caller");
	COPY(c->early_caller, o, "early_caller");
	read_stack(json_object_get(o, "lost_stack"), c->lost_stack);
	read_stack(json_object_get(o, "early_stack"), c->early_stack);
	c->line = (uint32_t)member_count(o, "barrier_line");
	c->group_more = (unsigned)member_count(o, "group_more");
	read_group(json_object_get(o, "group"), c);
}

static void read_finding(const json_t *o, struct ct_finding *f)
{
	*f = (struct ct_finding){.off = member_count(o, "offset"),
		.states = member_count(o, "states"),
		.first_time_ps = member_count(o, "first_time_ps"),
		.instant = member_count(o, "instant"),
		.draw = member_count(o, "draw"),
		.signal = (int)member_count(o, "signal"),
		.hung = member_flag(o, "hung"),
		.units = member_count(o, "writes_in_flight"),
		.minimised = member_flag(o, "minimised"),
		.bounded = member_flag(o, "bounded"),
		.sample = member_flag(o, "shares_states")};
	f->units_durable = f->units - member_count(o, "writes_lost");
	COPY(f->text, o, "text");
	COPY(f->where, o, "where");
	COPY(f->operation, o, "operation");
	COPY(f->in_flight, o, "in_flight");
	read_stack(json_object_get(o, "stack"), f->stack);
	read_cause(json_object_get(o, "cause"), &f->cause);
	read_places(json_object_get(o, "places"), f);
}

/* ---- Merging ------------------------------------------------------------------------------------- */

struct merge {
	json_t *first; /* a report; the others must belong to the same exploration */
	const char *first_path;
	bool seen[65537];
	struct ct_groups groups;
	struct ct_result result;
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

	NVW_EACH(name, names, NVW_COUNT(names)) {
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
	const json_t *const findings = json_object_get(report, "findings");
	struct ct_finding *const f = malloc(sizeof *f);

	NVW_ALLOCATED(f, "no memory for a finding");
	for (size_t i = 0; i < json_array_size(findings); i++) {
		read_finding(json_array_get(findings, i), f);
		ct_groups_add(&m->groups, f);
	}
	free(f);
	return 0;
}

/* Adds what is kept from the shard that first had it. */
static void add_first_parts(struct ct_by_parts *p, const json_t *o)
{
	if (p->wide == 0) {
		p->wide_forks = (uint32_t)member_count(o, "too_wide_words");
		COPY(p->first_wide, o, "first_too_wide");
	}
	if (p->denied == 0) {
		COPY(p->first_denied, o, "first_denied");
	}
	if (p->crowded == 0) {
		p->crowd = member_count(o, "crowd_stores");
	}
}

static void add_parts(struct ct_result *r, const json_t *o)
{
	struct ct_by_parts *const p = &r->by_parts;

	add_first_parts(p, o);
	r->instants_by_parts += member_count(o, "instants");
	if (member_count(o, "parts") > p->parts) {
		p->parts = member_count(o, "parts");
	}
	p->evaluations += member_count(o, "evaluations");
	if (member_count(o, "widest_words") > p->most_forks) {
		p->most_forks = (uint32_t)member_count(o, "widest_words");
		COPY(p->widest, o, "widest");
	}
	p->wide += member_count(o, "too_wide");
	p->denied += member_count(o, "denied");
	p->confirmations += member_count(o, "confirmations");
	p->missed += member_count(o, "missed");
	p->crowded += member_count(o, "crowded");
	p->died += member_count(o, "died");
}

static void add_recoveries(struct ct_result *r, const json_t *o)
{
	const struct ct_recoveries its = {.epochs_open = member_count(o, "epochs_open"),
		.entries_read = member_count(o, "entries_read"),
		.words_restored = member_count(o, "words_restored"),
		.words_written = member_count(o, "words_written"),
		.worked_on = member_count(o, "worked_on")};

	r->has_recoveries = r->has_recoveries || json_is_object(o);
	ct_recoveries_join(&r->recoveries, &its);
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

	NVW_EACH(one, counts, NVW_COUNT(counts)) {
		*one->sum += member_count(report, one->name);
	}
}

static void take_trusted(struct ct_result *r, const json_t *report)
{
	const json_t *const trusted =
		json_object_get(report, "trusted"); /* of the whole run, in each shard */

	r->trusts = trusted != NULL;
	r->trusted = (struct ct_trusted){member_count(trusted, "ranges"), member_count(trusted, "stores"),
		member_count(trusted, "bytes")};
}

static void add_counts(struct ct_result *r, const json_t *report)
{
	add_sums(r, report);
	if (r->states_undecided == 0) {
		COPY(r->undecided, report, "undecided");
	}
	r->states_undecided += member_count(report, "states_undecided");
	r->executed = r->executed || member_flag(report, "checker_executed");
	r->gave_up = r->gave_up || member_flag(report, "gave_up");
	r->interrupted = r->interrupted || member_flag(report, "interrupted");
	r->host_seconds += member_real(report, "host_seconds");
	r->explore_seconds += member_real(report, "explore_seconds");
	take_trusted(r, report);
	add_parts(r, json_object_get(report, "by_parts"));
	add_recoveries(r, json_object_get(report, "recovery"));
}

static int check_shard(struct merge *m, const json_t *report, const char *path)
{
	const uint64_t shard = member_count(report, "shard");

	NVW_INVARIANT(m->first != NULL);
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

	NVW_FAIL_IF(report == NULL, NVW_E_INPUT,
		"%s: expected a report of nvwave crash --output-format=json: %s", path, where.text);
	if (json_object_get(report, "states_distinct") == NULL) {
		json_decref(report);
		return nvw_fail(
			NVW_E_INPUT, "%s: expected a report of nvwave crash --output-format=json", path);
	}
	if (m->first == NULL) {
		m->first = json_incref(report);
		m->first_path = path;
	}
	int error = check_shard(m, report, path);

	if (!error) {
		add_counts(&m->result, report);
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
	r->finding_count = m->groups.count;
	for (unsigned i = 0; i < m->groups.count; i++) {
		r->finding[i] = m->groups.group[i].finding;
	}
	qsort(r->finding, r->finding_count, sizeof r->finding[0], ct_by_first);
	ct_merge_causes(r->finding, &r->finding_count);
}

static void complete(struct merge *m)
{
	struct ct_result *const r = &m->result;
	const json_t *const o = m->first;

	NVW_INVARIANT(m->first != NULL);
	r->mode = strcmp(member_text(o, "mode"), "permitted") == 0 ? CT_PERMITTED : CT_OBSERVED;
	if (r->mode == CT_PERMITTED) {
		ct_model_find(member_text(o, "model"), &r->model);
	}
	take_numbers(r, o);
	r->consistent = r->states_failing == 0;
	cli_unlogged_read(json_object_get(o, "unlogged"), &r->unlogged);
	complete_findings(m, r);
}

static int check_whole(const struct merge *m)
{
	NVW_FAIL_IF(
		!m->first, NVW_E_USAGE, "--merge: expected the JSON reports of all shards of an exploration");
	const uint64_t shards = member_count(m->first, "shards");

	for (uint64_t i = 1; i <= shards; i++) {
		NVW_FAIL_IF(!m->seen[i], NVW_E_INPUT, "--merge: shard %llu of %llu is missing",
			(unsigned long long)i, (unsigned long long)shards);
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

	NVW_INVARIANT(m->first != NULL);
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
	return show(m, cli_json(given));
}

int crash_merge(const struct cli_options *given)
{
	struct merge *const m = calloc(1, sizeof *m); /* too large for a stack */

	if (m == NULL) {
		nvw_fail(NVW_E_MEMORY, "no memory for a merged report");
		return cli_fail();
	}
	const int error = merge_all(m, given);
	const int status = error ? cli_fail() : crash_status(ct_verdict_of(&m->result));

	json_decref(m->first);
	free(m);
	return status;
}
