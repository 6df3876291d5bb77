/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows and tables as points of sweeps. A measure takes the points that a rule selects; each may be set
 * against another, which differs in the values that over names ("protocol=gd"; of "protocol=gd|gh" the least
 * counts). What is left of the axes is averaged, the seed is not. A row may be measured again with one value
 * added to the axes of its sweep.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../report/words.h"
#include "../report/provenance.h"
#include "core/array.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "core/search.h"
#include "paper.h"

struct choice {
	const char *name;
	int value;
};

static const struct choice forms[] = {{"percent", PAPER_PERCENT}, {"speedup", PAPER_SPEEDUP},
	{"ratio", PAPER_RATIO}, {"faster", PAPER_FASTER}, {"value", PAPER_VALUE}, {NULL, 0}};
static const struct choice means[] = {{"geometric", PAPER_GEOMETRIC}, {"arithmetic", PAPER_ARITHMETIC},
	{"least", PAPER_LEAST}, {"most", PAPER_MOST}, {"sum", PAPER_SUM}, {NULL, 0}};

static int choose(const struct choice *list, const char *text, const char *where, int *ret)
{
	for (; list->name; list++) {
		if (!strcmp(list->name, text)) {
			*ret = list->value;
			return 0;
		}
	}
	return nvw_fail(NVW_E_INPUT, "%s: \"%s\" is none of its values", where, text);
}

/* ---- Sweeps -------------------------------------------------------------------------------- */

/* word: NAME=VALUE that is added to its axes, NULL: nothing. */
static int open_sweep(struct papers *p, const char *file, const char *word, struct paper_sweep **ret)
{
	char seeds[32], name[256];

	NVW_INVARIANT(p->seeds > 0);
	NVW_PRINT(name, "%s%s%s", file, word ? "@" : "", NVW_OR(word, ""));
	struct paper_sweep **const known =
		NVW_FIND(one, p->sweep, p->sweep_count, !strcmp((*one)->name, name));

	if (known) {
		*ret = *known;
		return 0;
	}
	struct paper_sweep *const s = *ret = calloc(1, sizeof *s);

	if (!s || !NVW_ROOM(p->sweep, p->sweep_room, p->sweep_count + 1)) {
		free(s);
		return nvw_fail(NVW_E_MEMORY, PAPER_NO_MEMORY);
	}
	p->sweep[p->sweep_count++] = s;
	s->journal.fd = -1;
	s->name = strdup(name);
	s->path = text_made("%s/sweeps/%s.ini", p->folder, file);
	NVW_FAIL_IF(!s->name || !s->path, NVW_E_MEMORY, PAPER_NO_MEMORY);
	NVW_PRINT(seeds, "seed=1..%u", p->seeds);

	const char *words[] = {s->path, seeds, word};
	const struct cli_options given = {
		.command = "sweep", .argument = words, .argument_count = word ? 3 : 2};

	NVW_TRY(sweep_read(&s->sweep, s->path, &given));
	s->sweep.data = p->data;
	s->needed = calloc(s->sweep.count, sizeof *s->needed);
	NVW_ALLOCATED(s->needed, PAPER_NO_MEMORY);
	return 0;
}

/* ---- Points -------------------------------------------------------------------------------- */

/* Every value that a term names is one of its axis. */
static int check_values(const struct sweep *s, const struct sweep_rule *rule, const char *where)
{
	NVW_EACH(term, rule->term, rule->count) {
		const struct sweep_axis *const a = &s->axis[term->axis];
		const bool is_list = strpbrk(term->op, "=!") != NULL && !strpbrk(term->op, "<>");

		for (const char *at = is_list ? term->text : NULL; at; at = sweep_behind(at, "|")) {
			const size_t n = strcspn(at, "|");

			NVW_FAIL_IF(!NVW_ANY(value, a->value, a->count, text_is(at, n, *value)), NVW_E_INPUT,
				"%s: the axis %s of %s has no value %.*s", where, a->name, s->where, (int)n,
				at);
		}
	}
	return 0;
}

static int parse_terms(
	const struct sweep *s, const char *text, const char *what, const char *where, struct sweep_rule *rule)
{
	*rule = (struct sweep_rule){.text = strdup(text)};
	NVW_ALLOCATED(rule->text, PAPER_NO_MEMORY);
	const int r = sweep_rule_parse(s, what, rule);

	NVW_FAIL_IF(r < 0, r, "%s: %s", where, nvw_error_message());
	return check_values(s, rule, where);
}

/* The index of the value in its axis; choices[at] of "A|B|C", the last one if there are fewer. */
static bool alternative(const struct sweep *s, const struct sweep_term *t, unsigned at, uint32_t *ret)
{
	const char *text = t->text;
	const struct sweep_axis *const a = &s->axis[t->axis];

	NVW_INVARIANT(t->axis < s->axis_count);
	for (; at && strchr(text, '|'); at--) {
		text = strchr(text, '|') + 1;
	}
	const size_t n = strcspn(text, "|");

	*ret = NVW_INDEX(i, a->count, text_is(text, n, a->value[i]));
	return *ret < a->count;
}

static unsigned alternatives(const struct sweep_rule *over)
{
	unsigned most = 1;

	NVW_EACH(term, over->term, over->count) {
		unsigned n = 0;

		for (const char *at = term->text; at; at = sweep_behind(at, "|")) {
			n++;
		}
		most = (unsigned)nvw_max(most, n);
	}
	return most;
}

static int compare_choices(const struct sweep *s, const struct sweep_point *a, const struct sweep_point *b)
{
	NVW_FOR(i, s->axis_count) {
		if (a->choice[i] != b->choice[i]) {
			return a->choice[i] < b->choice[i] ? -1 : 1;
		}
	}
	return 0;
}

/* What the point is set against; NULL if the sweep excludes it. Points are in the order of their choices. */
static struct sweep_point *base_of(const struct paper_measure *m, const struct sweep_point *p, unsigned at)
{
	const struct sweep *const s = &m->of->sweep;
	struct sweep_point wanted = *p;

	NVW_INVARIANT(m->over.count > 0);
	NVW_EACH(term, m->over.term, m->over.count) {
		alternative(s, term, at, &wanted.choice[term->axis]);
	}
	const unsigned i = NVW_FIRST(k, 0, s->count, compare_choices(s, &s->point[k], &wanted) >= 0);

	if (i == s->count || compare_choices(s, &s->point[i], &wanted) != 0) {
		return NULL;
	}
	return &s->point[i];
}

static int mark(const struct paper_measure *m, const char *where)
{
	struct sweep *const s = &m->of->sweep;
	const unsigned n = m->over.count ? alternatives(&m->over) : 0;
	bool any = false;

	NVW_FOR(i, s->count) {
		if (!sweep_holds(s, &m->points, &s->point[i])) {
			continue;
		}
		any = m->of->needed[i] = true;
		NVW_FOR(k, n) {
			const struct sweep_point *const base = base_of(m, &s->point[i], k);

			NVW_FAIL_IF(
				!base, NVW_E_INPUT, "%s: %s excludes the points of over", where, s->where);
			m->of->needed[base - s->point] = true;
		}
	}
	return any ? 0 : nvw_fail(NVW_E_INPUT, "%s: no point of %s is selected", where, s->where);
}

static int set_measure(
	struct papers *p, const json_t *keys, const char *word, const char *where, struct paper_measure *m)
{
	const char *const over = paper_text(keys, "over"), *const mean = paper_text(keys, "mean");
	int form = 0, kind = PAPER_GEOMETRIC;
	int r = open_sweep(p, paper_text(keys, "sweep"), word, &m->of);

	m->value = paper_text(keys, "value");
	m->base = NVW_OR(paper_text(keys, "base"), m->value);
	r = NVW_OR(r, parse_terms(&m->of->sweep, paper_text(keys, "points"), "points", where, &m->points));
	r = r || !over ? r : parse_terms(&m->of->sweep, over, "over", where, &m->over);
	r = NVW_OR(r, paper_formula_check(m->value, where));
	r = NVW_OR(r, paper_formula_check(m->base, where));
	r = NVW_OR(r, choose(forms, paper_text(keys, "as"), where, &form));
	r = r || !mean ? r : choose(means, mean, where, &kind);
	m->form = (enum paper_form)form;
	m->mean = (enum paper_mean)kind;
	if (r == 0 && !over && m->form != PAPER_VALUE) {
		r = nvw_fail(NVW_E_INPUT, "%s: as = %s needs over", where, paper_text(keys, "as"));
	}
	return r ? r : mark(m, where);
}

/* What --long adds to the sweeps of a paper. */
static const char *long_word(const struct papers *p, const char *paper)
{
	if (p->run != PAPER_RUN_LONG) {
		return NULL;
	}
	const struct paper *const found = NVW_FIND(one, p->paper, p->paper_count, !strcmp(one->name, paper));

	return found ? paper_text(found->keys, "long") : NULL;
}

static int set_axes(struct paper_table *t, const char *columns, const char *where)
{
	t->rows = sweep_axis_named(&t->measure.of->sweep, paper_text(t->section.keys, "rows"));
	t->columns = columns ? sweep_axis_named(&t->measure.of->sweep, columns) : -1;
	NVW_FAIL_IF(t->rows < 0 || (columns && t->columns < 0), NVW_E_INPUT,
		"%s: rows and columns are axes of %s", where, t->measure.of->sweep.where);
	NVW_FAIL_IF(columns && t->measure.of->sweep.axis[t->columns].count > PAPER_COLUMNS_MAX, NVW_E_INPUT,
		"%s: columns: expected an axis of at most %d values, found %u", where, PAPER_COLUMNS_MAX,
		t->measure.of->sweep.axis[t->columns].count);
	return 0;
}

static int set_table(struct papers *p, struct paper_table *t)
{
	static const char *const needed[] = {"what", "sweep", "points", "value", "as", "rows"};
	const char *const columns = paper_text(t->section.keys, "columns");
	char where[PAPER_WHERE_BYTES];

	NVW_PRINT(where, "%s/%s.ini: [table %s]", p->folder, t->section.paper, t->section.name);
	NVW_TRY(paper_check_keys(t->section.keys, needed, NVW_COUNT(needed), where, ""));
	NVW_TRY(set_measure(p, t->section.keys, long_word(p, t->section.paper), where, &t->measure));
	return set_axes(t, columns, where);
}

/* Leaves the points that are needed. */
static void choose_points(struct paper_sweep *ps)
{
	struct sweep *const s = &ps->sweep;
	struct sweep_point *kept = s->point;

	NVW_EACH(point, s->point, s->count) {
		if (ps->needed[point - s->point]) {
			*kept++ = *point;
		}
	}
	s->count = (unsigned)(kept - s->point);
	NVW_INVARIANT(s->count > 0);
}

static int set_end(struct papers *p, const struct paper_row *row, const char *where, struct paper_end *end)
{
	static const char *const names[2] = {"low", "high"};

	NVW_INVARIANT(p->run == PAPER_RUN_ENDS);
	NVW_FOR(k, 2) {
		char word[128];

		NVW_PRINT(word, "%s=%s", end->of->name, paper_text(end->of->keys, names[k]));
		NVW_TRY(set_measure(p, row->keys, word, where, &end->at[k]));
	}
	return 0;
}

static int open_row(struct papers *p, struct paper_row *row)
{
	char where[PAPER_WHERE_BYTES];

	NVW_INVARIANT(row->ends <= PAPER_SENSITIVE_MAX);
	paper_row_where(p, row, where);
	if (p->run == PAPER_RUN_ENDS) {
		NVW_EACH(end, row->end, row->ends) {
			NVW_TRY(set_end(p, row, where, end));
			row->form = end->at[0].form;
		}
		return 0;
	}
	NVW_TRY(set_measure(p, row->keys, long_word(p, row->paper), where, &row->measure));
	row->form = row->measure.form;
	row->measured = true;
	return 0;
}

static int open_if_wanted(struct papers *p, enum paper_run run, struct paper_row *row)
{
	if ((run == PAPER_RUN_LONG && !long_word(p, row->paper)) || (run == PAPER_RUN_ENDS && !row->ends)) {
		row->wanted = false;
	}
	return row->wanted && !paper_text(row->keys, "cannot") ? open_row(p, row) : 0;
}

static int open_table_if_wanted(struct papers *p, enum paper_run run, struct paper_table *table)
{
	table->wanted =
		table->wanted && (run == PAPER_RUN_ROWS || run == PAPER_RUN_NOTHING ||
					 (run == PAPER_RUN_LONG && long_word(p, table->section.paper)));
	if (table->wanted) {
		NVW_TRY(set_table(p, table));
	}
	return 0;
}

static int open_rows(struct papers *p, enum paper_run run)
{
	NVW_EACH(row, p->row, p->row_count) {
		NVW_TRY(open_if_wanted(p, run, row));
	}
	NVW_EACH(table, p->table, p->table_count) {
		NVW_TRY(open_table_if_wanted(p, run, table));
	}
	return 0;
}

int papers_open(struct papers *p, const char *data, unsigned seeds, enum paper_run run)
{
	p->data = data;
	p->seeds = seeds;
	p->run = run;
	NVW_TRY(open_rows(p, run));
	NVW_EACH(sweep, p->sweep, p->sweep_count) {
		choose_points(*sweep);
	}
	return 0;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

static bool number_of(const struct paper_measure *m, const struct sweep_point *p, const char *formula,
	double *ret, struct paper_numbers *n)
{
	const char *const status = member_string(p->row, "status");
	char *const text = sweep_point_text(&m->of->sweep, p), missing[PAPER_NAME_BYTES];
	bool good = false;

	if (!status || strcmp(status, "ok") != 0) {
		NVW_PRINT(n->reason, "%s: %s: %s", NVW_OR(text, ""), NVW_OR(status, "not run"),
			status ? member_string(p->row, "reason") : "");
	} else if (!paper_formula(formula, json_object_get(p->row, "values"), ret, missing)) {
		NVW_PRINT(n->reason, "%s: its report has no %s", NVW_OR(text, ""), missing);
	} else {
		good = isfinite(*ret);
		if (!good) {
			NVW_PRINT(n->reason, "%s: %s is no number", NVW_OR(text, ""), formula);
		}
	}
	free(text);
	return good;
}

/* The point's number, over the least of those that it is set against. */
static bool ratio_of(
	const struct paper_measure *m, const struct sweep_point *p, double *ret, struct paper_numbers *n)
{
	const unsigned count = m->over.count ? alternatives(&m->over) : 0;
	double least = INFINITY, y;

	if (!number_of(m, p, m->value, ret, n)) {
		return false;
	}
	NVW_FOR(k, count) {
		const struct sweep_point *const base = base_of(m, p, k);

		if (!base || !number_of(m, base, m->base, &y, n)) {
			return false;
		}
		least = fmin(least, y);
	}
	if (count && !(least > 0)) {
		NVW_PRINT(n->reason, "%s of what it is set against is 0", m->base);
		return false;
	}
	if (count) {
		*ret /= least;
	}
	return true;
}

struct sum {
	double total, logs, least, most;
	unsigned count;
};

static void add(struct sum *s, double x)
{
	s->count++;
	s->total += x;
	s->logs += log(x);
	s->least = fmin(s->least, x);
	s->most = fmax(s->most, x);
}

static double mean_of(const struct paper_measure *m, const struct sum *s)
{
	NVW_INVARIANT(s->count > 0);

	const double mean = s->total / s->count;

	switch (m->mean) {
	case PAPER_GEOMETRIC:
		return s->count > 1 ? exp(s->logs / s->count) : mean;
	case PAPER_LEAST:
		return s->least;
	case PAPER_MOST:
		return s->most;
	case PAPER_SUM:
		return s->total;
	default:
		return mean;
	}
}

static double formed(const struct paper_measure *m, const struct sum *s)
{
	const double x = mean_of(m, s);

	switch (m->form) {
	case PAPER_PERCENT:
		return 100 * (x - 1);
	case PAPER_SPEEDUP:
		return 100 * (1 / x - 1);
	case PAPER_FASTER:
		return 1 / x;
	default:
		return x;
	}
}

static bool is_at(const struct sweep_point *p, int axis, unsigned choice)
{
	return axis < 0 || p->choice[axis] == choice;
}

static void spread(struct paper_numbers *n)
{
	NVW_INVARIANT(n->count > 0 && n->count <= PAPER_SEEDS_MAX);

	double total = 0;

	n->least = n->most = n->value[0];
	NVW_EACH(value, n->value, n->count) {
		total += *value;
		n->least = fmin(n->least, *value);
		n->most = fmax(n->most, *value);
	}
	n->mean = total / n->count;
}

void paper_measure(const struct paper_measure *m, int axis, unsigned choice, int other_axis,
	unsigned other_choice, struct paper_numbers *n)
{
	const struct sweep *const s = &m->of->sweep;
	const int seed = sweep_axis_named(s, "seed");

	NVW_INVARIANT(seed >= 0);
	*n = (struct paper_numbers){0};
	for (unsigned k = 0; k < s->axis[seed].count && n->count < PAPER_SEEDS_MAX; k++) {
		struct sum sum = {.least = INFINITY, .most = -INFINITY};

		NVW_EACH(p, s->point, s->count) {
			double x;

			if (!is_at(p, seed, k) || !is_at(p, axis, choice) ||
				!is_at(p, other_axis, other_choice) || !sweep_holds(s, &m->points, p)) {
				continue;
			}
			if (!ratio_of(m, p, &x, n)) {
				n->count = 0;
				return;
			}
			add(&sum, x);
		}
		if (sum.count) {
			n->value[n->count++] = formed(m, &sum);
		}
	}
	if (n->count) {
		spread(n);
	}
}

/* ---- Single points ------------------------------------------------------------------------- */

/* Whether the points differ in the seed alone. */
static bool is_same_but_seed(
	const struct sweep *s, int seed, const struct sweep_point *a, const struct sweep_point *b)
{
	NVW_INVARIANT(seed >= 0 && seed < (int)s->axis_count);
	return !NVW_ANY_BELOW(i, s->axis_count, (int)i != seed && a->choice[i] != b->choice[i]);
}

/* Whether the measure takes the point, and it is of the first seed. */
static bool is_first(const struct paper_measure *m, const struct sweep_point *p)
{
	const struct sweep *const s = &m->of->sweep;

	return p->choice[sweep_axis_named(s, "seed")] == 0 && sweep_holds(s, &m->points, p);
}

/* The mean over the seeds of what the point is over what it is set against; 0 if there is none. */
static double ratio_over_seeds(const struct paper_measure *m, const struct sweep_point *first)
{
	const struct sweep *const s = &m->of->sweep;
	const int seed = sweep_axis_named(s, "seed");
	struct paper_numbers unused;
	double total = 0, x;
	unsigned n = 0;

	NVW_INVARIANT(is_first(m, first));
	NVW_EACH(point, s->point, s->count) {
		if (is_same_but_seed(s, seed, first, point) && ratio_of(m, point, &x, &unused)) {
			total += x;
			n++;
		}
	}
	return n ? total / n : 0;
}

static bool differs(const struct paper_measure *m, unsigned axis, const struct sweep_point *from)
{
	NVW_INVARIANT(axis < NVW_COUNT(from->choice));
	return NVW_ANY(point, m->of->sweep.point, m->of->sweep.count,
		is_first(m, point) && point->choice[axis] != from->choice[axis]);
}

/* The point's values on the axes in which the measure's points differ: "sssp-1". */
static void point_name(const struct paper_measure *m, const struct sweep_point *p, char *name, size_t room)
{
	*name = 0;
	NVW_FOR(i, m->of->sweep.axis_count) {
		if (differs(m, i, p)) {
			words_add(name, room, " ", sweep_value(&m->of->sweep, p, i));
		}
	}
}

static bool is_whole_word(const char *text, const char *from, const char *behind)
{
	return (from == text || from[-1] == ' ') && (*behind == ' ' || !*behind);
}

static bool is_word_of(const char *word, const char *text)
{
	const size_t n = strlen(word);

	for (const char *at = text; at && (at = strstr(at, word)); at += n) {
		if (is_whole_word(text, at, at + n)) {
			return true;
		}
	}
	return false;
}

bool paper_opposites(const struct paper_measure *m, double least, const char *named, char *text, size_t room)
{
	const struct sweep *const s = &m->of->sweep;
	double logs = 0;
	unsigned n = 0;

	*text = 0;
	if (!m->over.count || m->form == PAPER_VALUE || m->mean > PAPER_ARITHMETIC) {
		return false;
	}
	NVW_EACH(point, s->point, s->count) {
		if (is_first(m, point)) {
			logs += log(ratio_over_seeds(m, point));
			n++;
		}
	}
	for (unsigned i = 0; n > 1 && i < s->count; i++) {
		char name[64];
		const double x = is_first(m, &s->point[i]) ? ratio_over_seeds(m, &s->point[i]) : 1;

		if (fabs(x - 1) <= least || (x > 1) == (logs > 0)) {
			continue;
		}
		point_name(m, &s->point[i], name, sizeof name);
		if (!is_word_of(name, named)) {
			words_add(text, room, ", ", name);
		}
	}
	return *text;
}

void paper_at_points(const struct paper_measure *m, const char *formula, char *text, size_t room)
{
	const struct sweep *const s = &m->of->sweep;
	struct paper_numbers unused;
	double x;

	*text = 0;
	NVW_EACH(point, s->point, s->count) {
		char name[64], entry[128];

		if (!is_first(m, point) || !number_of(m, point, formula, &x, &unused)) {
			continue;
		}
		point_name(m, point, name, sizeof name);
		NVW_PRINT(entry, "%s%s%g", name, *name ? " " : "", x);
		words_add(text, room, ", ", entry);
	}
}

void papers_measure_ends(struct papers *p)
{
	NVW_EACH(row, p->row, p->row_count) {
		for (unsigned k = 0; row->wanted && k < row->ends; k++) {
			struct paper_end *const e = &row->end[k];
			struct paper_numbers low, high;

			paper_measure(&e->at[0], -1, 0, -1, 0, &low);
			paper_measure(&e->at[1], -1, 0, -1, 0, &high);
			e->is_known = low.count && high.count;
			e->value[0] = low.mean;
			e->value[1] = high.mean;
			NVW_PRINT(e->version, "%s", cli_version);
			snprintf(row->here.reason, PAPER_REASON_BYTES, "%s",
				low.count ? high.reason : low.reason);
		}
	}
}
