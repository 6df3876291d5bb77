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

#include "core/array.h"
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

const char *paper_text(const json_t *keys, const char *name)
{
	return member_string(keys, name);
}

void paper_row_name(const struct paper_row *row, char *text, size_t room)
{
	snprintf(text, room, "%s%s%s", row->id, *row->part ? " " : "", row->part);
}

void paper_row_where(const struct papers *p, const struct paper_row *row, char where[PAPER_WHERE_BYTES])
{
	char name[128];

	paper_row_name(row, name, sizeof name);
	snprintf(where, PAPER_WHERE_BYTES, "%s/%s.ini: [%s]", p->folder, row->paper, name);
}

int paper_check_keys(
	const json_t *keys, const char *const *needed, unsigned count, const char *where, const char *also)
{
	NVW_EACH(one, needed, count) {
		NVW_FAIL_IF(
			!paper_text(keys, *one), NVW_E_INPUT, "%s: expected the key %s%s", where, *one, also);
	}
	return 0;
}

/* ---- Sections ------------------------------------------------------------------------------ */

static json_t *keys_of_row(struct papers *p, const char *section, const char *paper)
{
	const size_t n = strcspn(section, " ");

	NVW_EACH(row, p->row, p->row_count) {
		char name[128];

		paper_row_name(row, name, sizeof name);
		if (!strcmp(name, section) && !strcmp(row->paper, paper)) {
			return row->keys;
		}
	}
	if (!NVW_ROOM(p->row, p->row_room, p->row_count + 1)) {
		return NULL;
	}
	struct paper_row *const row = &p->row[p->row_count++];

	*row = (struct paper_row){.paper = paper,
		.id = strndup(section, n),
		.part = strdup(section + n + (section[n] == ' ')),
		.keys = json_object()};
	return row->keys;
}

static bool is_section(const struct paper_section *s, const char *name, const char *paper)
{
	return !strcmp(s->name, name) && !strcmp(s->paper, paper);
}

static struct paper_section section_begin(const char *name, const char *paper)
{
	return (struct paper_section){.paper = paper, .name = strdup(name), .keys = json_object()};
}

static json_t *keys_of_table(struct papers *p, const char *name, const char *paper)
{
	struct paper_table *table =
		NVW_FIND(one, p->table, p->table_count, is_section(&one->section, name, paper));

	if (!table && NVW_ROOM(p->table, p->table_room, p->table_count + 1)) {
		table = &p->table[p->table_count++];
		*table = (struct paper_table){.section = section_begin(name, paper), .columns = -1};
	}
	return table ? table->section.keys : NULL;
}

static json_t *keys_of_sensitive(struct papers *p, const char *name, const char *paper)
{
	struct paper_section *s =
		NVW_FIND(one, p->sensitive, p->sensitive_count, is_section(one, name, paper));

	if (!s && NVW_ROOM(p->sensitive, p->sensitive_room, p->sensitive_count + 1)) {
		s = &p->sensitive[p->sensitive_count++];
		*s = section_begin(name, paper);
	}
	return s ? s->keys : NULL;
}

/* A line behind the first of a text goes on in it. */
static int set_text(json_t *keys, const char *name, const char *value)
{
	const char *const before = paper_text(keys, name);
	json_t *const whole = json_sprintf("%s%s%s", NVW_OR(before, ""), words_if(before, " "), value);

	return json_object_set_new(keys, name, whole) ? nvw_fail(NVW_E_MEMORY, PAPER_NO_MEMORY) : 0;
}

/* The keys of a section, which is made; known: those that it may have. */
static json_t *keys_of(
	struct papers *p, const char *section, const char *paper, const char *const **ret_known)
{
	NVW_INVARIANT(p->paper_count > 0);
	if (!strncmp(section, "table ", 6)) {
		*ret_known = table_keys;
		return keys_of_table(p, section + 6, paper);
	}
	if (!strncmp(section, "sensitive ", 10)) {
		*ret_known = sensitive_keys;
		return keys_of_sensitive(p, section + 10, paper);
	}
	if (!strcmp(section, "paper")) {
		*ret_known = paper_keys;
		return p->paper[p->paper_count - 1].keys;
	}
	*ret_known = row_keys;
	return keys_of_row(p, section, paper);
}

static int on_key(void *context, const char *section, const char *name, const char *value)
{
	const struct reading *const r = context;
	const char *const *known = row_keys;
	json_t *const keys = keys_of(r->papers, section, r->paper, &known);

	NVW_ALLOCATED(keys, PAPER_NO_MEMORY);
	NVW_FAIL_IF(!*section || !is_among(name, known), NVW_E_INPUT, "%s: [%s] has no key %s%s", r->path,
		section, name, DID_YOU_MEAN(nvw_nearest(name, known), ""));
	return set_text(keys, name, value);
}

/* ---- Rows with parts ----------------------------------------------------------------------- */

static struct paper_row *whole_of(struct papers *p, const struct paper_row *part)
{
	return NVW_FIND(row, p->row, p->row_count, *part->part && !*row->part && !strcmp(row->id, part->id));
}

static int inherit(struct papers *p)
{
	NVW_EACH(row, p->row, p->row_count) {
		const struct paper_row *const whole = whole_of(p, row);
		const char *const all = whole ? paper_text(whole->keys, "points") : NULL;

		if (all && paper_text(row->keys, "points")) {
			NVW_TRY(set_text(row->keys, "points", all));
		}
		NVW_FAIL_IF(whole && json_object_update_missing(row->keys, whole->keys), NVW_E_MEMORY,
			PAPER_NO_MEMORY);
	}
	return 0;
}

static void measure_end(struct paper_measure *measure)
{
	sweep_rule_end(&measure->points);
	sweep_rule_end(&measure->over);
}

static void row_end(struct paper_row *row)
{
	free(row->id);
	free(row->part);
	json_decref(row->keys);
	measure_end(&row->measure);
	NVW_EACH(end, row->end, row->ends) {
		measure_end(&end->at[0]);
		measure_end(&end->at[1]);
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
	char where[PAPER_WHERE_BYTES];

	paper_row_where(p, row, where);
	NVW_FAIL_IF(!paper_text(row->keys, "what") || !paper_text(row->keys, "in"), NVW_E_INPUT,
		"%s: expected the keys what and in", where);
	if (paper_text(row->keys, "cannot")) {
		return 0;
	}
	NVW_TRY(paper_check_keys(row->keys, needed, NVW_COUNT(needed), where, ", or cannot = REASON"));
	return parse_interval(paper_text(row->keys, "paper"), where, &row->published);
}

/* ---- Free values --------------------------------------------------------------------------- */

static int check_sensitive(const struct papers *p, const struct paper_section *s)
{
	static const char *const needed[] = {"what", "low", "high", "source"};
	char where[PAPER_WHERE_BYTES];

	NVW_PRINT(where, "%s/%s.ini: [sensitive %s]", p->folder, s->paper, s->name);
	return paper_check_keys(s->keys, needed, NVW_COUNT(needed), where, "");
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
	char *const path = text_made("%s/%s", p->folder, file);

	NVW_INVARIANT(strlen(file) > strlen(".ini"));
	if (!path || !NVW_ROOM(p->paper, p->paper_room, p->paper_count + 1)) {
		free(path);
		return nvw_fail(NVW_E_MEMORY, PAPER_NO_MEMORY);
	}
	struct paper *const paper = &p->paper[p->paper_count++];

	*paper = (struct paper){strndup(file, strlen(file) - 4), json_object()};
	struct reading reading = {p, path, paper->name};
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

static void section_end(struct paper_section *section)
{
	free(section->name);
	json_decref(section->keys);
}

static void table_end(struct paper_table *table)
{
	section_end(&table->section);
	measure_end(&table->measure);
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
	NVW_EACH(sweep, p->sweep, p->sweep_count) {
		paper_sweep_end(*sweep);
	}
	NVW_EACH(text, p->kept_text, p->kept_texts) {
		free(*text);
	}
	free(p->sweep);
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
	int r = known ? 0 : nvw_fail(NVW_E_MEMORY, PAPER_NO_MEMORY);

	for (unsigned i = 0; known && i < p->row_count; i++) {
		known[n++] = p->row[i].id;
	}
	for (unsigned i = 0; known && i < p->paper_count; i++) {
		known[n++] = p->paper[i].name;
	}
	if (known && !NVW_ANY(one, known, n, !strcmp(*one, name))) {
		r = nvw_fail(NVW_E_USAGE, "reproduce: there is no row or paper %s%s", name,
			DID_YOU_MEAN(nvw_nearest(name, known), ", see nvwave reproduce --list"));
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
		const bool is_chosen =
			count == 0 || NVW_ANY(one, name, count, !strcmp(*one, table->section.paper));

		table->wanted = is_chosen && !is_short;
	}
	return wanted ? 0 : nvw_fail(NVW_E_USAGE, "reproduce: none of these rows is among the short ones");
}
