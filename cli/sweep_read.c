/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a sweep: an INI file, words NAME=VALUES, and the points that follow. See sweep.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include <nvw/input.h>

#include "core/units.h"
#include "sweep.h"

enum { FILE_BYTES_MAX = 1 << 20, LINE_BYTES_MAX = 198, RANGE_MAX = 100000 };

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

int sweep_axis_named(const struct sweep *s, const char *name)
{
	for (unsigned i = 0; i < s->axis_count; i++) {
		if (!strcmp(s->axis[i].name, name)) {
			return (int)i;
		}
	}
	return -1;
}

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

static int parse_term(struct sweep *s, const char *what, char *word, struct sweep_term *t)
{
	static const char *const ops[] = {"!=", "<=", ">=", "=", "<", ">"};
	char *const at = word + strcspn(word, "!<>=");
	unsigned op = 0;

	while (op < 6 && strncmp(at, ops[op], strlen(ops[op]))) {
		op++;
	}
	if (op == 6 || at == word || !at[strlen(ops[op])]) {
		return nvw_fail(NVW_E_USAGE,
			"%s: %s: expected terms such as scope=kernel or batch<=count, found \"%s\"", s->where,
			what, word);
	}
	snprintf(t->op, sizeof t->op, "%s", ops[op]);
	const char *const text = at + strlen(ops[op]);

	*at = 0;
	const int axis = sweep_axis_named(s, word);

	if (axis < 0) {
		return nvw_fail(NVW_E_USAGE, "%s: %s: there is no axis %s", s->where, what, word);
	}
	t->axis = (unsigned)axis;
	t->other = sweep_axis_named(s, text);
	t->text = strdup(text);
	return t->text ? 0 : no_memory();
}

static int parse_rule(struct sweep *s, const char *what, struct sweep_rule *rule)
{
	char *const copy = strdup(rule->text), *rest = copy, *next;
	int r = copy ? 0 : no_memory();

	while (r == 0 && (next = strsep(&rest, " \t"))) {
		if (*next && rule->count == SWEEP_TERMS_MAX) {
			r = nvw_fail(NVW_E_USAGE, "%s: %s: there are more than %d terms", s->where, what,
				SWEEP_TERMS_MAX);
		} else if (*next) {
			r = parse_term(s, what, next, &rule->term[rule->count]);
			rule->count += r == 0;
		}
	}
	free(copy);
	return r;
}

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
		r = parse_rule(s, "exclude", &s->exclude[i]);
	}
	r = r || !s->baseline.text ? r : parse_rule(s, "baseline", &s->baseline);
	return r ? r : check_baseline(s);
}

/* Numbers, with k, M and units of size; texts otherwise. */
static int compare(const char *a, const char *b)
{
	uint64_t x, y;
	const bool numbers = (nvw_parse_count(a, &x) == 0 || nvw_parse_bytes(a, &x) == 0) &&
			     (nvw_parse_count(b, &y) == 0 || nvw_parse_bytes(b, &y) == 0);

	return numbers ? (x > y) - (x < y) : strcmp(a, b);
}

/* Whether the value is one of the list's, separated by |. */
static bool is_among(const char *value, const char *list)
{
	for (const char *at = list; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
		const size_t n = strcspn(at, "|");
		char *const one = strndup(at, n);
		const bool same = one && compare(value, one) == 0;

		free(one);
		if (same) {
			return true;
		}
	}
	return false;
}

static bool term_holds(const struct sweep *s, const struct sweep_term *t, const struct sweep_point *p)
{
	const char *const value = sweep_value(s, p, t->axis);
	const char *const with = t->other < 0 ? t->text : sweep_value(s, p, (unsigned)t->other);
	const bool equal = t->op[0] == '=' || t->op[0] == '!' ? is_among(value, with) : false;
	const int order = compare(value, with);

	return t->op[0] == '=' ? equal :
	       t->op[0] == '!' ? !equal :
	       t->op[0] == '<' ? order < 0 || (t->op[1] && order == 0) :
				 order > 0 || (t->op[1] && order == 0);
}

bool sweep_holds(const struct sweep *s, const struct sweep_rule *rule, const struct sweep_point *p)
{
	for (unsigned i = 0; i < rule->count; i++) {
		if (!term_holds(s, &rule->term[i], p)) {
			return false;
		}
	}
	return true;
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

struct reading {
	struct sweep *sweep;
	int error;
};

static int on_key(void *context, const char *section, const char *name, const char *value)
{
	struct reading *const r = context;
	struct sweep *const s = r->sweep;

	if (r->error == 0) {
		r->error = !strcmp(section, "sweep") ?
				   on_own(s, name, value) :
			   !strcmp(section, "axes") ?
				   add_axis(s, name, value, false) :
				   nvw_fail(NVW_E_USAGE,
					   "%s: there is no section [%s]: expected [sweep] or [axes]",
					   s->where, section);
	}
	return r->error == 0;
}

/* The parser of INI files would cut a longer line in two. */
static int check_lines(const char *path, const char *text)
{
	unsigned line = 1;

	for (const char *at = text; *at; line++) {
		const size_t n = strcspn(at, "\n");

		if (n > LINE_BYTES_MAX) {
			return nvw_fail(NVW_E_INPUT,
				"%s: line %u has more than %d bytes: continue it in the next line, indented",
				path, line, LINE_BYTES_MAX);
		}
		at += n + (at[n] == '\n');
	}
	return 0;
}

static int read_file(struct sweep *s, const char *path)
{
	struct reading reading = {.sweep = s};
	char *text = NULL;
	uint64_t bytes;
	int r = nvw_input_read(path, FILE_BYTES_MAX, &text, &bytes);

	if (r < 0) {
		return r;
	}
	r = strlen(text) == bytes ? check_lines(path, text) :
				    nvw_fail(NVW_E_INPUT, "%s: this is not a text file", path);
	if (r == 0) {
		const int line = ini_parse_string(text, on_key, &reading);

		r = reading.error ? reading.error :
		    line ? nvw_fail(NVW_E_INPUT, "%s: line %d is neither [section] nor NAME = VALUES", path,
				   line) :
			   0;
	}
	free(text);
	return r;
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

const char *sweep_value(const struct sweep *s, const struct sweep_point *p, unsigned axis)
{
	return s->axis[axis].value[p->choice[axis]];
}

char *sweep_point_text(const struct sweep *s, const struct sweep_point *p)
{
	char *text = NULL;
	size_t bytes;
	FILE *const f = open_memstream(&text, &bytes);
	unsigned varying = 0;

	for (unsigned i = 0; f && i < s->axis_count; i++) {
		if (s->axis[i].count > 1) {
			fprintf(f, "%s%s=%s", varying++ ? " " : "", s->axis[i].name, sweep_value(s, p, i));
		}
	}
	for (unsigned i = 0; f && !varying && i < s->axis_count; i++) {
		fprintf(f, "%s%s=%s", i ? " " : "", s->axis[i].name, sweep_value(s, p, i));
	}
	return f && fclose(f) == 0 ? text : NULL;
}

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
	int r = path ? read_file(s, path) : 0;

	r = r ? r : read_words(s, path != NULL, given);
	if (r == 0 && !s->axis_count) {
		r = nvw_fail(
			NVW_E_USAGE, "%s: expected axes, for example scope=workitem,workgroup", s->where);
	}
	r = r || s->command ? r : replace(&s->command, "run");
	r = r ? r : parse_rules(s);
	return r ? r : enumerate(s);
}

static void rule_end(struct sweep_rule *rule)
{
	for (unsigned i = 0; i < rule->count; i++) {
		free(rule->term[i].text);
	}
	free(rule->text);
}

void sweep_end(struct sweep *s)
{
	for (unsigned i = 0; i < s->axis_count; i++) {
		clear_axis(&s->axis[i]);
		free(s->axis[i].name);
	}
	for (unsigned i = 0; i < s->exclude_count; i++) {
		rule_end(&s->exclude[i]);
	}
	rule_end(&s->baseline);
	for (unsigned i = 0; i < s->count; i++) {
		json_decref(s->point[i].row);
	}
	free(s->point);
	free(s->command);
	free(s->metrics);
}
