/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings as reports have them. See finding.h. */
#include <math.h>
#include <string.h>

#include "core/invariant.h"

#include "finding.h"
#include "../members.h"

const char *ct_fate_name(enum ct_fate fate)
{
	static const char *const names[] = {
#define X(name, text) [CT_FATE_##name] = text,
		CT_FATES(X)
#undef X
	};

	NVW_INVARIANT(fate < NVW_COUNT(names));
	return names[fate];
}

/* ---- What a finding names -------------------------------------------------------------------- */

#define M(...)        MEMBER(OF, __VA_ARGS__)
#define S(field, ...) MEMBER(OF, #field, field, __VA_ARGS__)
#define AS(...)       MEMBER_AS(OF, __VA_ARGS__)
#define LIST(key, field, count, most_, members) \
	AS(key, field, MEMBER_LIST, .count_at = offsetof(OF, count), .most = most_, .of = members)

#define OF struct nvw__field
const struct member ct_field_members[] = {M("field", name), S(type), S(of), S(offset), M("size", bytes),
	S(part), S(whole, .optional = true), M("whole_size", whole_bytes, .optional = true), {0}};
#undef OF

json_t *ct_field_json(const struct nvw__field *f)
{
	return f->name[0] != '\0' ? members_json(ct_field_members, f) : NULL;
}

static json_t *value_json(const void *place)
{
	const struct ct_place *const p = place;

	return json_sprintf("0x%0*llx", 2 * (int)p->bytes, (ull)p->value);
}

#define OF struct ct_place
static const struct member place_members[] = {S(file), S(line), S(function), S(kernel), S(work_item),
	S(group), S(epoch_wi), S(epoch_wg), S(epoch_kr), M("offset", off), S(bytes),
	{.name = "value", .kind = MEMBER_MADE, .make = value_json},
	AS("fate", fate, MEMBER_NAME, .name_of = ct_fate_name, .most = CT_FATE_COUNT),
	AS("stored", field, MEMBER_RECORD, .of = ct_field_members, .optional = true), {0}};
#undef OF

#define OF struct ct_unit
static const struct member unit_members[] = {
	M("offset", off), AS("durable", now, MEMBER_HEX), AS("newest", newest, MEMBER_HEX), S(lost), {0}};
#undef OF

#define OF struct ct_also
static const struct member also_members[] = {S(text), S(states), {0}};
#undef OF

#define OF struct ct_line
static const struct member line_members[] = {
	S(file), S(line), S(caller_file, .optional = true), S(caller_line, .optional = true), {0}};
#undef OF

#define OF struct ct_cause
static const struct member cause_members[] = {
	AS("kind", kind, MEMBER_NAME, .name_of = ct_cause_name, .most = CT_CAUSE_CONTENT + 1), S(guessed),
	S(text), M("barrier_file", file), M("barrier_function", function), M("barrier_line", line), S(scope),
	S(needed), S(lost), S(early), S(lost_function), S(early_function),
	LIST("group", group, group_count, CT_GROUP_MAX, line_members), S(group_more), S(lost_caller),
	S(early_caller), AS("lost_stack", lost_stack, MEMBER_LINES),
	AS("early_stack", early_stack, MEMBER_LINES), M("lost_event", lost_record),
	M("early_event", early_record), M("barrier_event", barrier_record), {0}};
#undef OF

/* ---- Cures ----------------------------------------------------------------------------------- */

static json_t *edits_json(const struct ct_cure *c)
{
	json_t *const edits = json_array();
	char text[1024];

	NVW_EACH(e, c->edit, c->count) {
		const bool scoped = e->kind == CT_EDIT_BARRIER || e->kind == CT_EDIT_WIDEN;

		ct_edit_text(e, text, sizeof text);
		json_array_append_new(
			edits, json_pack("{s:s, s:s, s:s, s:i, s:s, s:i, s:s}", "kind", ct_edit_name(e->kind),
				       "scope", scoped ? ct_scopes[e->scope] : "", "file", e->a.file, "line",
				       (int)e->a.line, "before_file", e->b.file, "before_line",
				       (int)e->b.line, "text", text));
	}
	return edits;
}

/* JSON has no -inf: no state was possible. */
static double json_number(double x)
{
	return isfinite(x) ? x : 0.0;
}

static json_t *cost_json(const struct ct_cure *c)
{
	return c->costed ? json_real((double)c->cost_ps / 1000) : json_null();
}

static json_t *cure_json(const void *finding)
{
	const struct ct_cure *const c = &((const struct ct_finding *)finding)->cure;
	static const char *const runs[] = {"", "holds", "refuted"};

	return json_pack(
		"{s:b, s:b, s:s, s:s, s:o, s:i, s:i, s:s, s:s, s:i, s:b, s:i, s:I, s:f, s:b, s:b, s:I, "
		"s:I, s:i, s:i, s:o}",
		"verified", ct_cure_is_verified(c), "verified_on_log", c->verified, "run", runs[c->run],
		"run_text", c->run_text, "edits", edits_json(c), "tried", (int)c->tried, "refuted",
		(int)c->refuted, "refuted_edit", c->refuted_edit, "refuted_why", c->refuted_why, "not_tried",
		(int)c->left, "gone", c->gone, "other_cures", (int)c->others, "states_tested",
		(json_int_t)c->states, "states_possible_log2", json_number(c->possible_log2),
		"states_possible_exact", c->possible_exact, "exhausted", c->exhaustive, "states_without_it",
		(json_int_t)c->only, "of_states", (json_int_t)c->only_of, "behind", (int)c->behind,
		"cured_by", (int)c->cured_by, "cost_ns", cost_json(c));
}

/* ---- The finding ----------------------------------------------------------------------------- */

static json_t *thread_schedule_json(const void *finding)
{
	const struct ct_finding *const f = finding;

	if (f->thread_schedule == 0) {
		return NULL;
	}
	json_t *const o = json_pack("{s:I, s:s, s:i}", "number", (json_int_t)f->thread_schedule, "policy",
		f->policy, "switches", (int)f->switches);

	if (f->shorten_runs > 0) {
		json_object_set_new(o, "shortened_by",
			json_pack("{s:i, s:I}", "runs", (int)f->shorten_runs, "states",
				(json_int_t)f->shorten_states));
	}
	return o;
}

static json_t *acknowledged_json(const void *finding)
{
	const struct ct_finding *const f = finding;

	return f->acknowledged ? json_integer((json_int_t)f->acknowledged - 1) : json_null();
}

static const char *states_by(unsigned by_cure)
{
	return by_cure ? "cure" : "text";
}

#define OF struct ct_finding
static const struct member finding_members[] = {S(text), S(states), M("offset", off), S(first_time_ps),
	S(instant), S(draw), S(signal), S(hung), S(minimised), M("writes_in_flight", units),
	M("writes_lost", units_lost),
	{.name = "acknowledged", .kind = MEMBER_MADE, .make = acknowledged_json},
	AS("cause", cause, MEMBER_RECORD, .of = cause_members),
	{.name = "cure", .kind = MEMBER_MADE, .make = cure_json},
	LIST("places", place, place_count, CT_PLACES_MAX, place_members),
	LIST("also", also, also_count, CT_ALSO_MAX, also_members), S(also_more),
	LIST("words", unit, unit_count, CT_UNITS_MAX, unit_members), S(saved), S(where), S(operation),
	S(in_flight), S(bounded), M("shares_states", sample), AS("stack", stack, MEMBER_LINES),
	AS("states_by", by_cure, MEMBER_NAME, .name_of = states_by, .most = 2), S(schedule),
	{.name = "thread_schedule", .kind = MEMBER_MADE, .make = thread_schedule_json},
	S(input, .optional = true), {0}};
#undef OF

json_t *ct_finding_json(const struct ct_finding *f)
{
	return members_json(finding_members, f);
}

void ct_finding_read(const json_t *o, struct ct_finding *f)
{
	memset(f, 0, sizeof *f);
	members_read(finding_members, o, f);
}
