/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a sweep: an INI file, words NAME=VALUES, and the points that follow. See sweep.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "ini_file.h"
#include "sweep.h"

enum { RANGE_MAX = 100000 };

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the sweep");
}

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

/* ---- Axes ---------------------------------------------------------------------------------- */

static int add_value(struct sweep *s, struct sweep_axis *a, const char *text)
{
	char **const more = realloc(a->value, (a->count + 1) * sizeof *more);

	a->value = more ? more : a->value;
	if (!*text) {
		return nvw_fail(NVW_E_USAGE, "%s: axis %s: a value is empty; - leaves the option out",
			s->where, a->name);
	}
	for (unsigned i = 0; i < a->count; i++) {
		if (!strcmp(a->value[i], text)) {
			return nvw_fail(
				NVW_E_USAGE, "%s: axis %s has the value %s twice", s->where, a->name, text);
		}
	}
	if (!more || !(a->value[a->count] = strdup(text))) {
		return no_memory();
	}
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
	int r = 0;

	if (!is_range(text, &at, &last, &op, &step)) {
		return add_value(s, a, text);
	}
	if (at > last || step < (op == '*' ? 2 : 1) || (op == '*' && at == 0) ||
		last > UINT64_MAX / 2 / step || (op == '+' && (last - at) / step > RANGE_MAX)) {
		return nvw_fail(NVW_E_USAGE, "%s: axis %s: the range %s has no end or is empty", s->where,
			a->name, text);
	}
	for (; at <= last && r == 0; at = op == '*' ? at * step : at + step) {
		snprintf(number, sizeof number, "%" PRIu64, at);
		r = add_value(s, a, number);
	}
	return r;
}

/* Values are separated by |, or, where there is none, by commas. */
static int add_values(struct sweep *s, struct sweep_axis *a, const char *values)
{
	char *const copy = strdup(values), *rest = copy, *next;
	const char *const separator = strchr(values, '|') ? "|" : ",";
	int r = copy ? 0 : no_memory();

	while (r == 0 && (next = strsep(&rest, separator))) {
		r = add_range(s, a, trim(next));
	}
	free(copy);
	return r;
}

static void clear_axis(struct sweep_axis *a)
{
	for (unsigned i = 0; i < a->count; i++) {
		free(a->value[i]);
	}
	free(a->value);
	a->value = NULL;
	a->count = 0;
}

/* A line of the file or a word; a word replaces what the file has, and repeated lines add up. */
static int add_axis(struct sweep *s, const char *name, const char *values, bool from_words)
{
	const int found = sweep_axis_named(s, name);
	struct sweep_axis *const a = &s->axis[found < 0 ? (int)s->axis_count : found];

	if (found < 0 && s->axis_count == SWEEP_AXES_MAX) {
		return nvw_fail(NVW_E_USAGE, "%s: there are more than %d axes", s->where, SWEEP_AXES_MAX);
	}
	if (found < 0) {
		*a = (struct sweep_axis){.name = strdup(name), .from_words = from_words};
		if (!a->name) {
			return no_memory();
		}
		s->axis_count++;
	} else if (from_words && !a->from_words) {
		clear_axis(a);
		a->from_words = true;
	}
	return add_values(s, a, values);
}

/* ---- Rules --------------------------------------------------------------------------------- */

/* A term of the baseline names one value that its axis has. */
static int check_baseline(const struct sweep *s)
{
	for (unsigned i = 0; i < s->baseline.count; i++) {
		const struct sweep_term *const t = &s->baseline.term[i];
		const struct sweep_axis *const a = &s->axis[t->axis];
		bool found = false;

		for (unsigned k = 0; k < a->count; k++) {
			found = found || !strcmp(a->value[k], t->text);
		}
		if (strcmp(t->op, "=") || !found || !strcmp(a->name, "seed")) {
			return nvw_fail(NVW_E_USAGE,
				"%s: baseline: %s%s%s is no value of an axis other than seed", s->where,
				a->name, t->op, t->text);
		}
	}
	return 0;
}

static int add_rule(struct sweep *s, const char *text)
{
	if (s->exclude_count == SWEEP_RULES_MAX) {
		return nvw_fail(
			NVW_E_USAGE, "%s: there are more than %d exclusions", s->where, SWEEP_RULES_MAX);
	}
	s->exclude[s->exclude_count].text = strdup(text);
	return s->exclude[s->exclude_count++].text ? 0 : no_memory();
}

static int parse_rules(struct sweep *s)
{
	int r = 0;

	for (unsigned i = 0; i < s->exclude_count && r == 0; i++) {
		r = sweep_rule_parse(s, "exclude", &s->exclude[i]);
	}
	r = r || !s->baseline.text ? r : sweep_rule_parse(s, "baseline", &s->baseline);
	return r ? r : check_baseline(s);
}

/* ---- The file and the words ---------------------------------------------------------------- */

static int replace(char **text, const char *value)
{
	free(*text);
	*text = strdup(value);
	return *text ? 0 : no_memory();
}

static int on_own(struct sweep *s, const char *name, const char *value)
{
	static const char *const names[] = {"command", "baseline", "exclude", "metrics", NULL};
	const char *const near = nvw_nearest(name, names);

	return !strcmp(name, "command")  ? replace(&s->command, value) :
	       !strcmp(name, "baseline") ? replace(&s->baseline.text, value) :
	       !strcmp(name, "metrics")  ? replace(&s->metrics, value) :
	       !strcmp(name, "exclude")  ? add_rule(s, value) :
	       near ? nvw_fail(NVW_E_USAGE, "%s: [sweep] has no key %s; did you mean %s?", s->where, name,
			      near) :
		      nvw_fail(NVW_E_USAGE,
			      "%s: [sweep] has no key %s: expected command, baseline, exclude or metrics",
			      s->where, name);
}

static int on_key(void *context, const char *section, const char *name, const char *value)
{
	struct sweep *const s = context;

	return !strcmp(section, "sweep") ?
		       on_own(s, name, value) :
	       !strcmp(section, "axes") ?
		       add_axis(s, name, value, false) :
	       strchr(section, ' ') ?
		       sweep_bundle_add(s, section, name, value) :
		       nvw_fail(NVW_E_USAGE,
			       "%s: there is no section [%s]: expected [sweep], [axes], or [AXIS VALUE] of an axis",
			       s->where, section);
}

static int take_word(struct sweep *s, const char *word)
{
	const char *const equals = strchr(word, '=');
	char *const name = strndup(word, (size_t)(equals - word));
	const int r = name ? add_axis(s, name, equals + 1, true) : no_memory();

	free(name);
	return r;
}

/* --exclude has rules separated by ; */
static int take_exclusions(struct sweep *s, const char *text)
{
	char *const copy = strdup(text), *rest = copy, *next;
	int r = copy ? 0 : no_memory();

	while (r == 0 && (next = strsep(&rest, ";"))) {
		r = add_rule(s, trim(next));
	}
	free(copy);
	return r;
}

static int read_words(struct sweep *s, bool has_file, const struct cli_options *given)
{
	int r = 0;

	for (unsigned i = has_file; i < given->argument_count && r == 0; i++) {
		r = strchr(given->argument[i], '=') ?
			    take_word(s, given->argument[i]) :
			    nvw_fail(NVW_E_USAGE,
				    "sweep: expected one file and axes as NAME=VALUE,VALUE..., found \"%s\"",
				    given->argument[i]);
	}
	if (r == 0 && cli_given(given, CLI_sweep_command)) {
		r = replace(&s->command, cli_text(given, CLI_sweep_command));
	}
	if (r == 0 && cli_given(given, CLI_sweep_baseline)) {
		r = replace(&s->baseline.text, cli_text(given, CLI_sweep_baseline));
	}
	if (r == 0 && cli_given(given, CLI_metrics)) {
		r = replace(&s->metrics, cli_text(given, CLI_metrics));
	}
	if (r == 0 && cli_given(given, CLI_exclude)) {
		r = take_exclusions(s, cli_text(given, CLI_exclude));
	}
	return r;
}

/* ---- Points -------------------------------------------------------------------------------- */

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
	for (unsigned i = 0; i < s->exclude_count; i++) {
		if (sweep_holds(s, &s->exclude[i], p)) {
			return true;
		}
	}
	return false;
}

static int enumerate(struct sweep *s)
{
	struct sweep_point at = {.row = NULL};
	uint64_t combinations = 1;
	unsigned capacity = 0;

	for (unsigned i = 0; i < s->axis_count; i++) {
		combinations *= s->axis[i].count;
		if (combinations > SWEEP_POINTS_MAX) {
			return nvw_fail(NVW_E_USAGE, "%s: the axes have more than %d combinations", s->where,
				SWEEP_POINTS_MAX);
		}
	}
	do {
		if (is_excluded(s, &at)) {
			continue;
		}
		if (s->count == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			struct sweep_point *const more = realloc(s->point, capacity * sizeof *more);

			if (!more) {
				return no_memory();
			}
			s->point = more;
		}
		s->point[s->count++] = at;
	} while (advance(s, &at));
	return s->count ? 0 : nvw_fail(NVW_E_USAGE, "%s: every combination is excluded", s->where);
}

int sweep_read(struct sweep *s, const char *path, const struct cli_options *given)
{
	*s = (struct sweep){.where = path ? path : "sweep"};
	int r = path ? ini_file_read(path, on_key, s) : 0;

	r = r ? r : read_words(s, path != NULL, given);
	if (r == 0 && !s->axis_count) {
		r = nvw_fail(
			NVW_E_USAGE, "%s: expected axes, for example scope=workitem,workgroup", s->where);
	}
	r = r || s->command ? r : replace(&s->command, "run");
	s->data = cli_given(given, CLI_data) ? cli_text(given, CLI_data) : NULL;
	r = r ? r : sweep_bundle_check(s);
	r = r ? r : parse_rules(s);
	return r ? r : enumerate(s);
}

void sweep_end(struct sweep *s)
{
	for (unsigned i = 0; i < s->axis_count; i++) {
		clear_axis(&s->axis[i]);
		free(s->axis[i].name);
	}
	for (unsigned i = 0; i < s->exclude_count; i++) {
		sweep_rule_end(&s->exclude[i]);
	}
	sweep_rule_end(&s->baseline);
	for (unsigned i = 0; i < s->count; i++) {
		json_decref(s->point[i].row);
	}
	sweep_bundles_end(s);
	free(s->point);
	free(s->command);
	free(s->metrics);
}
