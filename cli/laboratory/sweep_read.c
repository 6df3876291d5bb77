/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a sweep: an INI file, words NAME=VALUES, and the points that follow. See sweep.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/array.h"
#include "core/invariant.h"
#include "core/print.h"
#include "../report/words.h"
#include "ini_file.h"
#include "sweep.h"

enum { RANGE_MAX = 100000 };

/* Without blanks at its ends; changes the text. */
static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t");
	end = text + strlen(text);
	while (end > text && (end[-1] == ' ' || end[-1] == '\t')) {
		*--end = 0;
	}
	return text;
}

/* ---- Axes ---------------------------------------------------------------------------------------- */

static int add_value(struct sweep *s, struct sweep_axis *a, const char *text)
{
	NVW_FAIL_IF(!*text, NVW_E_USAGE, "%s: axis %s: a value is empty; - leaves the option out", s->where,
		a->name);
	NVW_EACH(value, a->value, a->count) {
		NVW_FAIL_IF(!strcmp(*value, text), NVW_E_USAGE, "%s: axis %s has the value %s twice",
			s->where, a->name, text);
	}
	NVW_FAIL_IF(!NVW_ROOM(a->value, a->room, a->count + 1) || !(a->value[a->count] = strdup(text)),
		NVW_E_MEMORY, SWEEP_NO_MEMORY);
	a->count++;
	return 0;
}

/* "1..8", "1..100+25" or "64..4096*2"; false if it is something else. */
static bool is_range(
	const char *text, uint64_t *ret_first, uint64_t *ret_last, char *ret_op, uint64_t *ret_step)
{
	char rest;
	const int n = sscanf(text, "%" SCNu64 "..%" SCNu64 "%c%" SCNu64 "%c", ret_first, ret_last, ret_op,
		ret_step, &rest);

	if (n == 2 && strspn(text, "0123456789.") == strlen(text)) {
		*ret_op = '+';
		*ret_step = 1;
		return true;
	}
	return n == 4 && (*ret_op == '+' || *ret_op == '*');
}

static int add_range(struct sweep *s, struct sweep_axis *a, const char *text)
{
	uint64_t at, last, step;
	char op, number[24];

	if (!is_range(text, &at, &last, &op, &step)) {
		return add_value(s, a, text);
	}
	const bool multiplies = op == '*';

	NVW_FAIL_IF(at > last || step < 1u + multiplies || (multiplies && at == 0) ||
			    last > UINT64_MAX / 2 / step,
		NVW_E_USAGE, "%s: axis %s: the range %s has no end or is empty", s->where, a->name, text);
	NVW_FAIL_IF(!multiplies && (last - at) / step >= RANGE_MAX, NVW_E_USAGE,
		"%s: axis %s: the range %s has %" PRIu64 " values, of at most %d", s->where, a->name, text,
		(last - at) / step + 1, RANGE_MAX);
	while (at <= last) {
		NVW_PRINT(number, "%" PRIu64, at);
		NVW_TRY(add_value(s, a, number));
		at = multiplies ? at * step : at + step;
	}
	return 0;
}

/* Values are separated by |, or, where there is none, by commas. */
static int add_values(struct sweep *s, struct sweep_axis *a, const char *values)
{
	char *const copy = strdup(values), *rest = copy, *next;
	const char *const separator = strchr(values, '|') ? "|" : ",";
	int r = 0;

	NVW_ALLOCATED(copy, SWEEP_NO_MEMORY);
	while (r == 0 && (next = strsep(&rest, separator))) {
		r = add_range(s, a, trim(next));
	}
	free(copy);
	return r;
}

static void clear_axis(struct sweep_axis *a)
{
	NVW_EACH(value, a->value, a->count) {
		free(*value);
	}
	free(a->value);
	a->value = NULL;
	a->count = a->room = 0;
}

/* A line of the file or a word; a word replaces what the file has, and repeated lines add up. */
static int add_axis(struct sweep *s, const char *name, const char *values, bool from_words)
{
	int at = sweep_axis_named(s, name);

	if (at < 0) {
		NVW_FAIL_IF(s->axis_count == SWEEP_AXES_MAX, NVW_E_USAGE, "%s: there are more than %d axes",
			s->where, SWEEP_AXES_MAX);
		at = (int)s->axis_count;
		s->axis[at] = (struct sweep_axis){.name = strdup(name), .from_words = from_words};
		NVW_FAIL_IF(!s->axis[at].name, NVW_E_MEMORY, SWEEP_NO_MEMORY);
		s->axis_count++;
	}
	struct sweep_axis *const a = &s->axis[at];

	if (from_words && !a->from_words) {
		clear_axis(a);
		a->from_words = true;
	}
	return add_values(s, a, values);
}

int sweep_add_axis(struct sweep *s, const char *name, const char *values)
{
	NVW_INVARIANT(s->axis_count <= SWEEP_AXES_MAX);
	return add_axis(s, name, values, true);
}

/* ---- Rules --------------------------------------------------------------------------------------- */

static bool has_value(const struct sweep_axis *a, const char *text)
{
	return NVW_ANY(value, a->value, a->count, !strcmp(*value, text));
}

/* A term of the baseline names one value that its axis has. */
static int check_baseline(const struct sweep *s)
{
	NVW_EACH(t, s->baseline.term, s->baseline.count) {
		const struct sweep_axis *const a = &s->axis[t->axis];

		NVW_FAIL_IF(strcmp(t->op, "=") || !has_value(a, t->text) || !strcmp(a->name, "seed"),
			NVW_E_USAGE, "%s: baseline: %s%s%s is no value of an axis other than seed", s->where,
			a->name, t->op, t->text);
	}
	return 0;
}

static int add_rule(struct sweep *s, const char *text)
{
	NVW_FAIL_IF(s->exclude_count == SWEEP_RULES_MAX, NVW_E_USAGE, "%s: there are more than %d exclusions",
		s->where, SWEEP_RULES_MAX);
	char *const copy = strdup(text);

	NVW_ALLOCATED(copy, SWEEP_NO_MEMORY);
	s->exclude[s->exclude_count++].text = copy;
	return 0;
}

static int parse_rules(struct sweep *s)
{
	NVW_EACH(exclude, s->exclude, s->exclude_count) {
		NVW_TRY(sweep_rule_parse(s, "exclude", exclude));
	}
	if (s->baseline.text) {
		NVW_TRY(sweep_rule_parse(s, "baseline", &s->baseline));
	}
	return check_baseline(s);
}

/* ---- The file and the words ---------------------------------------------------------------------- */

static int replace(char **text, const char *value)
{
	free(*text);
	*text = strdup(value);
	NVW_ALLOCATED(*text, SWEEP_NO_MEMORY);
	return 0;
}

static int on_own(struct sweep *s, const char *name, const char *value)
{
	static const char *const names[] = {"command", "baseline", "metrics", "exclude", NULL};
	char **const texts[] = {&s->command, &s->baseline.text, &s->metrics};
	unsigned i = 0;

	while (names[i] && strcmp(name, names[i])) {
		i++;
	}
	if (i < 3) {
		return replace(texts[i], value);
	}
	if (names[i]) {
		return add_rule(s, value);
	}
	return nvw_fail(NVW_E_USAGE, "%s: [sweep] has no key %s%s", s->where, name,
		DID_YOU_MEAN(nvw_nearest(name, names), ": expected command, baseline, exclude or metrics"));
}

static int on_key(void *context, const char *section, const char *name, const char *value)
{
	struct sweep *const s = context;

	if (!strcmp(section, "sweep")) {
		return on_own(s, name, value);
	}
	if (!strcmp(section, "axes")) {
		return add_axis(s, name, value, false);
	}
	if (strchr(section, ' ')) {
		return sweep_bundle_add(s, section, name, value);
	}
	return nvw_fail(NVW_E_USAGE,
		"%s: there is no section [%s]: expected [sweep], [axes], or [AXIS VALUE] of an axis",
		s->where, section);
}

static int take_word(struct sweep *s, const char *word)
{
	const char *const equals = strchr(word, '=');

	NVW_FAIL_IF(!equals, NVW_E_USAGE,
		"sweep: expected one file and axes as NAME=VALUE,VALUE..., found \"%s\"", word);
	char *const name = strndup(word, (size_t)(equals - word));

	NVW_ALLOCATED(name, SWEEP_NO_MEMORY);
	const int r = add_axis(s, name, equals + 1, true);

	free(name);
	return r;
}

/* --exclude has rules separated by ; */
static int take_exclusions(struct sweep *s, const char *text)
{
	char *const copy = strdup(text), *rest = copy, *next;
	int r = 0;

	NVW_ALLOCATED(copy, SWEEP_NO_MEMORY);
	while (r == 0 && (next = strsep(&rest, ";"))) {
		r = add_rule(s, trim(next));
	}
	free(copy);
	return r;
}

static int read_words(struct sweep *s, bool has_file, const struct cli_options *given)
{
	for (unsigned i = has_file; i < given->argument_count; i++) {
		NVW_TRY(take_word(s, given->argument[i]));
	}
	if (cli_given(given, CLI_sweep_command)) {
		NVW_TRY(replace(&s->command, cli_text(given, CLI_sweep_command)));
	}
	if (cli_given(given, CLI_sweep_baseline)) {
		NVW_TRY(replace(&s->baseline.text, cli_text(given, CLI_sweep_baseline)));
	}
	if (cli_given(given, CLI_metrics)) {
		NVW_TRY(replace(&s->metrics, cli_text(given, CLI_metrics)));
	}
	if (cli_given(given, CLI_exclude)) {
		NVW_TRY(take_exclusions(s, cli_text(given, CLI_exclude)));
	}
	return 0;
}

/* ---- Points -------------------------------------------------------------------------------------- */

/* The next combination, the last axis first; false behind the last one. */
static bool advance(const struct sweep *s, struct sweep_point *p)
{
	for (unsigned i = s->axis_count; i-- > 0; p->choice[i] = 0) {
		if (++p->choice[i] < s->axis[i].count) {
			return true;
		}
	}
	return false;
}

static bool is_excluded(const struct sweep *s, const struct sweep_point *p)
{
	return NVW_ANY(exclude, s->exclude, s->exclude_count, sweep_holds(s, exclude, p));
}

static int enumerate(struct sweep *s)
{
	struct sweep_point at = {0};
	uint64_t combinations = 1;
	unsigned room = 0;

	NVW_INVARIANT(s->count == 0);
	NVW_EACH(axis, s->axis, s->axis_count) {
		combinations *= axis->count;
		NVW_FAIL_IF(combinations > SWEEP_POINTS_MAX, NVW_E_USAGE,
			"%s: the axes have more than %d combinations", s->where, SWEEP_POINTS_MAX);
	}
	do {
		if (is_excluded(s, &at)) {
			continue;
		}
		NVW_GROWN(s->point, room, s->count + 1, SWEEP_NO_MEMORY);
		at.number = s->count + 1;
		s->point[s->count++] = at;
	} while (advance(s, &at));
	NVW_FAIL_IF(!s->count, NVW_E_USAGE, "%s: every combination is excluded", s->where);
	NVW_INVARIANT(s->count <= combinations);
	return 0;
}

int sweep_keep_shard(struct sweep *s, unsigned shard, unsigned shards)
{
	unsigned kept = 0;

	NVW_INVARIANT(shard >= 1 && shard <= shards);
	NVW_FAIL_IF(shard > s->count, NVW_E_USAGE,
		"%s: --shard=%u/%u: there are %u points, and none for this shard", s->where, shard, shards,
		s->count);
	for (unsigned i = shard - 1; i < s->count; i += shards) {
		s->point[kept++] = s->point[i];
	}
	s->count = kept;
	return 0;
}

int sweep_read(struct sweep *s, const char *path, const struct cli_options *given)
{
	*s = (struct sweep){.where = NVW_OR(path, "sweep"), .data = cli_text(given, CLI_data)};
	if (path) {
		NVW_TRY(ini_file_read(path, on_key, s));
	}
	NVW_TRY(read_words(s, path != NULL, given));
	NVW_FAIL_IF(!s->axis_count, NVW_E_USAGE, "%s: expected axes, for example scope=workitem,workgroup",
		s->where);
	if (!s->command) {
		NVW_TRY(replace(&s->command, "run"));
	}
	NVW_TRY(sweep_bundle_check(s));
	NVW_TRY(parse_rules(s));
	return enumerate(s);
}

void sweep_end(struct sweep *s)
{
	NVW_EACH(axis, s->axis, s->axis_count) {
		clear_axis(axis);
		free(axis->name);
	}
	NVW_EACH(exclude, s->exclude, s->exclude_count) {
		sweep_rule_end(exclude);
	}
	sweep_rule_end(&s->baseline);
	NVW_EACH(point, s->point, s->count) {
		json_decref(point->row);
	}
	sweep_bundles_end(s);
	json_decref(s->summary);
	free(s->point);
	free(s->command);
	free(s->metrics);
}
