/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of published results: papers/NAME.ini. A section [ID] or [ID PART] is a row, [table NAME] a table,
 * [paper] is about the paper. Rows with parts take from [ID] what they do not say themselves; their points
 * are added to its points.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "core/units.h"
#include "../report/words.h"
#include "ini_file.h"
#include "paper.h"

static const char *const row_keys[] = {"what", "in", "paper", "exact", "unit", "note", "sweep", "points",
	"over", "value", "base", "as", "mean", "figure", "short", "why", "luck", "opposite", "ran",
	"incomparable", "cannot", NULL};
static const char *const table_keys[] = {
	"what", "sweep", "points", "over", "value", "base", "as", "mean", "rows", "columns", "note", NULL};
static const char *const paper_keys[] = {"title", "note", "long", NULL};
static const char *const sensitive_keys[] = {"what", "low", "high", "source", "rows", NULL};

struct reading {
	struct papers *papers;
	const char *path, *paper;
};

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the published results");
}

const char *paper_text(const json_t *keys, const char *name)
{
	return member_string(keys, name);
}

void paper_row_name(const struct paper_row *row, char *text, size_t room)
{
	snprintf(text, room, "%s%s%s", row->id, *row->part ? " " : "", row->part);
}

/* ---- Sections ------------------------------------------------------------------------------ */

static struct paper_row *row_named(struct papers *p, const char *section, const char *paper)
{
	const size_t n = strcspn(section, " ");

	NVW_EACH(row, p->row, p->row_count) {
		char name[128];

		paper_row_name(row, name, sizeof name);
		if (!strcmp(name, section) && !strcmp(row->paper, paper)) {
			return row;
		}
	}
	struct paper_row *const more = realloc(p->row, (p->row_count + 1) * sizeof *more);

	if (!more) {
		return NULL;
	}
	p->row = more;
	more[p->row_count] = (struct paper_row){.paper = paper,
		.id = strndup(section, n),
		.part = strdup(section + n + (section[n] == ' ')),
		.keys = json_object()};
	return &p->row[p->row_count++];
}

/* The section of that name, which is made, in a list of structs that begin with one. Returns the list, which
 * may have moved; *ret NULL: no memory. */
static void *section_named(void *list, unsigned *count, size_t bytes, const char *name, const char *paper,
	struct paper_section **ret)
{
	NVW_INVARIANT(bytes >= sizeof(struct paper_section));

	char *const begin = list;

	NVW_FOR(i, *count) {
		*ret = (struct paper_section *)(void *)(begin + i * bytes);
		if (!strcmp((*ret)->name, name) && !strcmp((*ret)->paper, paper)) {
			return list;
		}
	}
	char *const more = realloc(list, (*count + 1) * bytes);

	if (!more) {
		*ret = NULL;
		return list;
	}
	*ret = memset(more + (*count)++ * bytes, 0, bytes);
	**ret = (struct paper_section){.paper = paper, .name = strdup(name), .keys = json_object()};
	return more;
}

/* A line behind the first of a text goes on in it. */
static int set_text(json_t *keys, const char *name, const char *value)
{
	const char *const before = paper_text(keys, name);
	char *whole = NULL;
	int r = asprintf(&whole, "%s%s%s", NVW_OR(before, ""), before ? " " : "", value) < 0;

	r = r || json_object_set_new(keys, name, json_string(whole));
	free(whole);
	return r ? no_memory() : 0;
}

/* The keys of a section, which is made; known: those that it may have. */
static json_t *keys_of(
	struct papers *p, const char *section, const char *paper, const char *const **ret_known)
{
	struct paper_section *s = NULL;

	NVW_INVARIANT(p->paper_count > 0);
	if (!strncmp(section, "table ", 6)) {
		*ret_known = table_keys;
		p->table = section_named(p->table, &p->table_count, sizeof *p->table, section + 6, paper, &s);
		if (!s) {
			return NULL;
		}
		p->table[p->table_count - 1].columns = -1; /* until it is measured */
		return s->keys;
	}
	if (!strncmp(section, "sensitive ", 10)) {
		*ret_known = sensitive_keys;
		p->sensitive = section_named(
			p->sensitive, &p->sensitive_count, sizeof *p->sensitive, section + 10, paper, &s);
		return s ? s->keys : NULL;
	}
	if (!strcmp(section, "paper")) {
		*ret_known = paper_keys;
		return p->paper[p->paper_count - 1].keys;
	}
	struct paper_row *const row = row_named(p, section, paper);

	*ret_known = row_keys;
	return row ? row->keys : NULL;
}

static int on_key(void *context, const char *section, const char *name, const char *value)
{
	const struct reading *const r = context;
	const char *const *known = row_keys;
	json_t *const keys = keys_of(r->papers, section, r->paper, &known);
	unsigned k = 0;

	NVW_ALLOCATED(keys, "no memory for the published results");
	while (known[k] && strcmp(known[k], name) != 0) {
		k++;
	}
	if (!known[k] || !*section) {
		const char *const near = nvw_nearest(name, (const char *const *)known);

		return nvw_fail(NVW_E_INPUT, "%s: [%s] has no key %s%s%s%s", r->path, section, name,
			words_if(near, "; did you mean "), words_or(near, ""), words_if(near, "?"));
	}
	return set_text(keys, name, value);
}

//* ---- Rows with parts ----------------------------------------------------------------------- */
static struct paper_row *whole_of(struct papers *p, const struct paper_row *part)
{
	return NVW_FIND(row, p->row, p->row_count, *part->part && !*row->part && !strcmp(row->id, part->id));
}

static int inherit(struct papers *p)
{
	NVW_EACH(row, p->row, p->row_count) {
		const struct paper_row *const whole = whole_of(p, row);
		const char *const all = whole ? paper_text(whole->keys, "points") : NULL;

		NVW_FAIL_IF(all && paper_text(row->keys, "points") && set_text(row->keys, "points", all),
			NVW_E_MEMORY, "no memory for the published results");
		NVW_FAIL_IF(whole && json_object_update_missing(row->keys, whole->keys), NVW_E_MEMORY,
			"no memory for the published results");
	}
	return 0;
}

static void row_end(struct paper_row *row)
{
	free(row->id);
	free(row->part);
	free(row->kept_inputs);
	free(row->kept_version);
	free(row->kept_remark);
	free(row->kept_ran);
	json_decref(row->keys);
	sweep_rule_end(&row->measure.points);
	sweep_rule_end(&row->measure.over);
	NVW_EACH(end, row->end, row->ends) {
		NVW_EACH(one, end->at, 2) {
			sweep_rule_end(&one->points);
			sweep_rule_end(&one->over);
		}
	}
}

/* What the parts have taken from is no row itself. */
static void drop_wholes(struct papers *p)
{
	unsigned kept = 0;

	NVW_EACH(row, p->row, p->row_count) {
		row->wanted = *row->part ||
			      !NVW_ANY(part, p->row, p->row_count, *part->part && !strcmp(part->id, row->id));
	}
	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted) {
			p->row[kept] = *row;
			p->row[kept++].wanted = false;
		} else {
			row_end(row);
		}
	}
	p->row_count = kept;
}

/* ---- What a row has to have ---------------------------------------------------------------- */

/* The whole text is a number; an empty one is the given end. */
static bool parse_end(const char *text, size_t bytes, double infinite, double *ret)
{
	char number[64], *end;

	*ret = infinite;
	if (!bytes || bytes >= sizeof number) {
		return !bytes;
	}
	NVW_PRINT(number, "%.*s", (int)bytes, text);
	*ret = strtod(number, &end);
	return !*end && isfinite(*ret);
}

/* "8..10", "20..", "..0", "7" */
static int parse_interval(const char *text, const char *where, struct paper_interval *ret)
{
	const char *const dots = strstr(text, "..");
	bool good = *text && strcmp(text, "..") != 0;

	if (dots) {
		good = good && parse_end(text, (size_t)(dots - text), -INFINITY, &ret->low) &&
		       parse_end(dots + 2, strlen(dots + 2), INFINITY, &ret->high);
	} else {
		good = good && parse_end(text, strlen(text), 0, &ret->low);
		ret->high = ret->low;
	}
	if (good && ret->low <= ret->high) {
		return 0;
	}
	return nvw_fail(NVW_E_INPUT, "%s: paper: expected a number, LOW..HIGH, LOW.. or ..HIGH, found \"%s\"",
		where, text);
}

static int check_row(struct papers *p, struct paper_row *row)
{
	static const char *const needed[] = {"sweep", "points", "value", "as", "paper"};
	const bool cannot = paper_text(row->keys, "cannot") != NULL;
	char where[256];

	NVW_PRINT(where, "%s/%s.ini: [%s%s%s]", p->folder, row->paper, row->id, *row->part ? " " : "",
		row->part);
	NVW_FAIL_IF(!paper_text(row->keys, "what") || !paper_text(row->keys, "in"), NVW_E_INPUT,
		"%s: expected the keys what and in", where);
	for (unsigned i = 0; !cannot && i < NVW_COUNT(needed); i++) {
		NVW_FAIL_IF(!paper_text(row->keys, needed[i]), NVW_E_INPUT,
			"%s: expected the key %s, or cannot = REASON", where, needed[i]);
	}
	return cannot ? 0 : parse_interval(paper_text(row->keys, "paper"), where, &row->published);
}

/* ---- Free values --------------------------------------------------------------------------- */

static int check_sensitive(const struct papers *p, const struct paper_section *s)
{
	static const char *const needed[] = {"what", "low", "high", "source"};

	NVW_EACH_IN(one, needed) {
		NVW_FAIL_IF(!paper_text(s->keys, *one), NVW_E_INPUT,
			"%s/%s.ini: [sensitive %s]: expected the key %s", p->folder, s->paper, s->name, *one);
	}
	return 0;
}

/* Whether the row is among the free value's. */
static bool concerns(const struct paper_section *s, const struct paper_row *row)
{
	const char *const rows = paper_text(s->keys, "rows");
	const size_t n = strlen(row->id);

	if (strcmp(s->paper, row->paper) != 0 || paper_text(row->keys, "cannot")) {
		return false;
	}
	for (const char *at = rows; at && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		if (!strncmp(at, row->id, n) && (at[n] == ' ' || !at[n])) {
			return true;
		}
	}
	return !rows;
}

static int set_ends(struct papers *p, struct paper_row *row)
{
	NVW_EACH(sensitive, p->sensitive, p->sensitive_count) {
		if (!concerns(sensitive, row)) {
			continue;
		}
		NVW_FAIL_IF(row->ends == PAPER_SENSITIVE_MAX, NVW_E_INPUT,
			"%s/%s.ini: more than %d sections [sensitive KEY] concern %s", p->folder, row->paper,
			PAPER_SENSITIVE_MAX, row->id);
		row->end[row->ends++].of = sensitive;
	}
	return 0;
}

static int set_sensitive(struct papers *p)
{
	NVW_EACH(sensitive, p->sensitive, p->sensitive_count) {
		NVW_TRY(check_sensitive(p, sensitive));
	}
	NVW_EACH(row, p->row, p->row_count) {
		NVW_TRY(set_ends(p, row));
	}
	return 0;
}

/* ---- All files ----------------------------------------------------------------------------- */

static int is_paper_file(const struct dirent *e)
{
	const size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > 4 && !strcmp(e->d_name + n - 4, ".ini");
}

static int read_paper(void *context, const char *file)
{
	struct papers *const p = context;
	struct paper *const more = realloc(p->paper, (p->paper_count + 1) * sizeof *more);
	char *path = NULL;

	NVW_INVARIANT(strlen(file) > strlen(".ini"));
	NVW_FAIL_IF(!more || asprintf(&path, "%s/%s", p->folder, file) < 0, NVW_E_MEMORY,
		"no memory for the published results");
	p->paper = more;
	more[p->paper_count++] = (struct paper){strndup(file, strlen(file) - 4), json_object()};

	struct reading reading = {p, path, more[p->paper_count - 1].name};
	const int r = ini_file_read(path, on_key, &reading);

	free(path);
	return r;
}

int papers_read(const char *folder, struct papers *p)
{
	*p = (struct papers){.folder = folder};
	NVW_TRY(nvw_each_entry(folder, is_paper_file, read_paper, p));
	NVW_FAIL_IF(p->paper_count == 0, NVW_E_INPUT,
		"%s: there are no published results: expected PAPER.ini", folder);
	NVW_TRY(inherit(p));
	drop_wholes(p);
	NVW_EACH(row, p->row, p->row_count) {
		NVW_TRY(check_row(p, row));
	}
	return set_sensitive(p);
}

static void cell_end(struct paper_cell *cell)
{
	free(cell->row);
	free(cell->column);
	free(cell->version);
}

static void section_end(struct paper_section *section)
{
	free(section->name);
	json_decref(section->keys);
}

static void table_end(struct paper_table *table)
{
	section_end(&table->section);
	sweep_rule_end(&table->measure.points);
	sweep_rule_end(&table->measure.over);
	NVW_EACH(cell, table->kept, table->kept_count) {
		cell_end(cell);
	}
	free(table->kept);
}

static void paper_sweep_end(struct paper_sweep *s)
{
	sweep_journal_close(&s->journal);
	sweep_end(&s->sweep);
	free(s->needed);
	free(s->name);
	free(s->path);
	free(s);
}

static void sweeps_end(struct papers *p)
{
	NVW_EACH(sweep, p->sweep, p->sweep_count) {
		paper_sweep_end(*sweep);
	}
	free(p->sweep);
}

void papers_end(struct papers *p)
{
	NVW_EACH(row, p->row, p->row_count) {
		row_end(row);
	}
	NVW_EACH(table, p->table, p->table_count) {
		table_end(table);
	}
	NVW_EACH(paper, p->paper, p->paper_count) {
		free(paper->name);
		json_decref(paper->keys);
	}
	NVW_EACH(sensitive, p->sensitive, p->sensitive_count) {
		section_end(sensitive);
	}
	sweeps_end(p);
	free(p->sensitive);
	free(p->row);
	free(p->table);
	free(p->paper);
}

/* ---- Which of them ------------------------------------------------------------------------- */

static bool is_named(const struct paper_row *row, const char *const *name, unsigned count)
{
	return NVW_ANY(one, name, count, !strcmp(*one, row->id) || !strcmp(*one, row->paper)) || count == 0;
}

/* An ID or a paper. */
static int check_name(const struct papers *p, const char *name)
{
	const char **const known = calloc(p->row_count + p->paper_count + 1, sizeof *known);
	unsigned n = 0;
	int r = known ? 0 : no_memory();

	for (unsigned i = 0; known && i < p->row_count; i++) {
		known[n++] = p->row[i].id;
	}
	for (unsigned i = 0; known && i < p->paper_count; i++) {
		known[n++] = p->paper[i].name;
	}
	if (known && !NVW_ANY(one, known, n, !strcmp(*one, name))) {
		const char *const near = nvw_nearest(name, known);

		r = nvw_fail(NVW_E_USAGE, "reproduce: there is no row or paper %s%s%s%s", name,
			near ? "; did you mean " : ", see nvwave reproduce --list", words_or(near, ""),
			words_if(near, "?"));
	}
	free(known);
	return r;
}

int papers_choose(struct papers *p, const char *const *name, unsigned count, bool is_short)
{
	unsigned wanted = 0;

	NVW_EACH(one, name, count) {
		NVW_TRY(check_name(p, *one));
	}
	NVW_EACH(row, p->row, p->row_count) {
		row->wanted = is_named(row, name, count) && (!is_short || paper_text(row->keys, "short"));
		wanted += row->wanted;
	}
	NVW_EACH(table, p->table, p->table_count) {
		const bool is_named =
			count == 0 || NVW_ANY(one, name, count, !strcmp(*one, table->section.paper));

		table->wanted = is_named && !is_short;
	}
	return wanted ? 0 : nvw_fail(NVW_E_USAGE, "reproduce: none of these rows is among the short ones");
}
