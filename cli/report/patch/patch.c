/* SPDX-License-Identifier: BSD-3-Clause */
/* Cures as a unified diff. See patch.h. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/newfile.h"
#include "core/order.h"
#include "core/print.h"
#include "patch.h"
#include "patch_flush.h"
#include "patch_text.h"
#include "../source_lines.h"

enum { CONTEXT = 3, INSERTIONS_MAX = CT_FINDINGS_MAX * CT_CURE_MAX + CT_UNLOGGED_MAX };

struct insertion {
	const char *file;
	uint32_t line; /* the new line comes before this one */
	char text[640];
	bool fences; /* alone: what is flushed at the same line comes first */
};

struct source {
	char **line;
	uint32_t count, room;
};

static void source_free(struct source *s)
{
	NVW_EACH(line, s->line, s->count) {
		free(*line);
	}
	free(s->line);
	*s = (struct source){0};
}

static bool add_line(struct source *s, const char *text)
{
	char *const line = strdup(text);

	if (!line || !NVW_ROOM(s->line, s->room, s->count + 1)) {
		free(line);
		return false;
	}
	s->line[s->count++] = line;
	return true;
}

static bool source_read(const char *file, struct source *ret)
{
	const char *searched;
	FILE *const f = cli_open_source(file, &searched);
	char *text = NULL;
	size_t room = 0;
	bool good = true;

	*ret = (struct source){0};
	if (!f) {
		return false;
	}
	while (good && getline(&text, &room, f) >= 0) {
		text[strcspn(text, "\n")] = '\0';
		good = add_line(ret, text);
	}
	free(text);
	fclose(f);
	return good;
}

/* Bytes in front of a comment. */
static size_t code_bytes(const char *line)
{
	const char *comment = strstr(line, "/*");

	comment = NVW_OR(comment, strstr(line, "//"));
	return comment ? (size_t)(comment - line) : strlen(line);
}

/* The last character of a line that is no comment; 0: there is none. */
static char last_of(const char *line)
{
	size_t n = code_bytes(line);

	while (n > 0 && isspace((unsigned char)line[n - 1])) {
		n--;
	}
	return n ? line[n - 1] : '\0';
}

/* True if a statement may begin after the line, and belongs to nothing before it. */
static bool ends_statement(const struct source *s, uint32_t number)
{
	NVW_INVARIANT(number <= s->count);
	while (number > 0 && last_of(s->line[number - 1]) == '\0') {
		number--;
	}
	return number > 0 && strchr(";{}:", last_of(s->line[number - 1]));
}

/* The list ends with NULL. */
static bool has_word(const char *line, const char *const *words)
{
	while (*words && text_find_word(line, 0, *words) >= code_bytes(line)) {
		words++;
	}
	return *words;
}

/* True if a line that follows is executed each time that this one was, and before anything else is. */
static bool goes_on_below(const char *line)
{
	static const char *const words[] = {
		"return", "break", "continue", "goto", "for", "while", "do", NULL};

	return last_of(line) == ';' && !has_word(line, words);
}

/* True if a line before it is executed each time that this one's statement is, and for nothing else. */
static bool begins_statement(const char *line)
{
	static const char *const words[] = {"for", "while", "do", "else", "case", "default", NULL};

	return line[strspn(line, " \t")] != '}' && !has_word(line, words);
}

static bool has_place(const struct source *s, uint32_t line, bool before)
{
	NVW_INVARIANT(line >= 1 && line <= s->count);

	const char *const text = s->line[line - 1];

	return ends_statement(s, line - 1) && (before ? begins_statement(text) : goes_on_below(text));
}

/* The barrier of an edit, at a line of its source; or why there is none. */
static const char *barrier_at(
	const struct source *s, const struct ct_edit *e, const struct ct_line *at, struct insertion *ret)
{
	static const char *const barriers[] = {
		"nvw_p_barrier_wi();", "nvw_p_barrier_wg();", "nvw_p_barrier_kr();"};
	const bool before = ct_edit_stands_before(e);

	NVW_INVARIANT(e->scope < NVW_COUNT(barriers));
	if (at->line < 1 || at->line > s->count) {
		return "its source file has changed";
	}
	if (!has_place(s, at->line, before)) {
		return "the statement at its line is not on a line of its own";
	}
	const char *const text = s->line[at->line - 1];

	*ret = (struct insertion){.file = at->file, .line = at->line + !before};
	NVW_PRINT(ret->text, "%.*s%s", (int)strspn(text, " \t") & 0xff, text, barriers[e->scope]);
	return NULL;
}

/* What an edit inserts, and where; or why it does not. */
static const char *barrier_of(const struct ct_edit *e, struct insertion *ret)
{
	const struct ct_line *const at = ct_edit_place(e);
	const char *why = "its source file was not found";
	struct source s;

	if (e->kind != CT_EDIT_BARRIER) {
		return "its cure is more than a line to insert";
	}
	if (source_read(at->file, &s)) {
		why = barrier_at(&s, e, at, ret);
	}
	source_free(&s);
	return why;
}

/* The name of a file, in path, from a folder on that it is below; NULL: it is not. */
static const char *name_below(const char *file, const char *folder, char path[PATH_MAX])
{
	char whole[PATH_MAX];

	if (!realpath(folder, whole) || !realpath(file, path)) {
		return NULL;
	}
	return path_below(path, whole);
}

/* ---- Flushes and fences of host programs --------------------------------------------------------- */

static bool is_one_line(const struct ct_line *a, const struct ct_line *b)
{
	return a->line == b->line && a->caller_line == b->caller_line && strcmp(a->file, b->file) == 0 &&
	       strcmp(a->caller_file, b->caller_file) == 0;
}

/* Another edit of a cure, of this kind and at the line of edit k. */
static bool has_beside(const struct ct_cure *c, unsigned k, enum ct_edit_kind kind)
{
	NVW_INVARIANT(k < NVW_COUNT(c->edit));
	return NVW_ANY(edit, c->edit, c->count, edit->kind == kind && is_one_line(&edit->a, &c->edit[k].a));
}

static const char *flush_in(
	const struct source *s, const char *file, uint32_t line, enum patch_flush what, struct insertion *ret)
{
	const struct patch_lines lines = {.file = file, .line = s->line, .count = s->count};
	char text[512];
	uint32_t after = 0;

	if (line < 1 || line > s->count) {
		return "its source file has changed";
	}
	const char *const why = patch_flush_statement(&lines, line, what, text, sizeof text, &after);
	const char *const at = s->line[line - 1];

	*ret = (struct insertion){.file = file, .line = after + 1, .fences = what == PATCH_FENCE};
	if (!why) {
		NVW_PRINT(ret->text, "%.*s%s", (int)strspn(at, " \t") & 0x3f, at, text);
	}
	return why;
}

static const char *flush_at(const char *file, uint32_t line, enum patch_flush what, struct insertion *ret)
{
	const char *why = "its source file was not found";
	struct source s;

	if (source_read(file, &s)) {
		why = flush_in(&s, file, line, what, ret);
	}
	source_free(&s);
	return why;
}

/* A flush, with the fence of its line if the cure has one, or a fence alone. A fence for one caller of a line
 * stands behind the call. */
static const char *flush_of(const struct ct_cure *c, unsigned k, struct insertion *ret)
{
	NVW_INVARIANT(k < NVW_COUNT(c->edit));

	const struct ct_edit *const e = &c->edit[k];
	const bool called = e->a.caller_line != 0, flushes = e->kind == CT_EDIT_FLUSH;
	const bool fences = !flushes || has_beside(c, k, CT_EDIT_FENCE);
	const char *file = e->a.file;
	uint32_t line = e->a.line;

	if (called && flushes) {
		return "its flush is for one caller of the line, who does not name what is stored to";
	}
	if (called && !e->behind_call) {
		return "its fence is for one caller, and behind the call it may come too late";
	}
	if (called) {
		file = e->a.caller_file;
		line = e->a.caller_line;
	}
	return flush_at(file, line, flushes * PATCH_FLUSH | fences * PATCH_FENCE, ret);
}

/* Collects the insertions of edit k of a cure. *ret_count: 0 if another edit's line has it. */
static const char *insertions_of(
	const struct ct_cure *c, unsigned k, struct insertion *ret, unsigned *ret_count)
{
	NVW_INVARIANT(k < NVW_COUNT(c->edit));

	const enum ct_edit_kind kind = c->edit[k].kind;

	*ret_count = kind != CT_EDIT_FENCE || !has_beside(c, k, CT_EDIT_FLUSH);
	if (*ret_count == 0) {
		return NULL;
	}
	if (kind == CT_EDIT_FLUSH || kind == CT_EDIT_FENCE) {
		return flush_of(c, k, ret);
	}
	return barrier_of(&c->edit[k], ret);
}

static const char *range_of(const struct ct_unlogged *u, struct insertion *ret)
{
	NVW_INVARIANT(u->log == CT_LOG_TRANSACTION);
	return flush_at(u->file, u->line, PATCH_RANGE, ret);
}

const char *cli_patch_range(const struct ct_unlogged *u, char *text, size_t bytes)
{
	struct insertion in;
	const char *const why = range_of(u, &in);

	if (!why) {
		snprintf(text, bytes, "%s", in.text + strspn(in.text, " \t"));
	}
	return why;
}

static int by_place(const void *a, const void *b)
{
	const struct insertion *x = a, *y = b;
	const int order = NVW_OR(strcmp(x->file, y->file), NVW_ORDER(x->line, y->line));
	return NVW_OR(order, x->fences - y->fences);
}

/* One hunk of insertions that are close to each other; shift: lines that the hunks before have added. */
static void write_hunk(
	FILE *to, const struct source *s, const struct insertion *in, unsigned count, unsigned shift)
{
	const uint32_t first = in[0].line > CONTEXT ? in[0].line - CONTEXT : 1;
	const uint32_t after = in[count - 1].line + CONTEXT - 1;
	const uint32_t last = after < s->count ? after : s->count;
	unsigned next = 0;

	NVW_INVARIANT(count > 0 && in[0].line >= 1);
	fprintf(to, "@@ -%u,%u +%u,%u @@\n", first, last - first + 1, first + shift,
		last - first + 1 + count);
	for (uint32_t i = first; i <= last; i++) {
		for (; next < count && in[next].line == i; next++) {
			fprintf(to, "+%s\n", in[next].text);
		}
		fprintf(to, " %s\n", s->line[i - 1]);
	}
	for (; next < count; next++) {
		fprintf(to, "+%s\n", in[next].text);
	}
}

static void write_file(FILE *to, const struct insertion *in, unsigned count)
{
	NVW_INVARIANT(count > 0);
	/* For patch -p1 in the working directory if the file is below it, else in the root. */
	char path[PATH_MAX];
	const char *name = name_below(in[0].file, ".", path);
	struct source s;

	name = NVW_OR(name, in[0].file + strspn(in[0].file, "/"));
	if (source_read(in[0].file, &s)) {
		fprintf(to, "--- a/%s\n+++ b/%s\n", name, name);
		for (unsigned i = 0, end; i < count; i = end) {
			end = i + 1;
			while (end < count && in[end].line - in[end - 1].line <= 2 * CONTEXT) {
				end++;
			}
			write_hunk(to, &s, &in[i], end - i, i);
		}
	}
	source_free(&s);
}

/* NULL: all of them can be inserted; below: only files below this folder can. */
static const char *collect_finding(
	const struct ct_cure *c, const char *below, struct insertion *in, unsigned *count)
{
	char path[PATH_MAX];
	unsigned more = 0;

	*count = 0;
	if (c->run == CT_CURE_REFUTED) {
		return "its cure was refuted by running";
	}
	if (!c->verified) {
		return "no cure of it is verified";
	}
	for (unsigned k = 0; k < c->count; k++, *count += more) {
		const char *const why = insertions_of(c, k, &in[*count], &more);

		if (why) {
			return why;
		}
		if (more > 0 && below && !name_below(in[*count].file, below, path)) {
			return "its source file is not below the working directory, which is what is copied";
		}
	}
	return NULL;
}

static bool has_insertion(const struct insertion *in, unsigned count, const struct insertion *one)
{
	return NVW_ANY(each, in, count,
		each->line == one->line && strcmp(each->file, one->file) == 0 &&
			strcmp(each->text, one->text) == 0);
}

/* The store is not in the undo log: stores of two transactions may share a line. */
static const char *collect_range(
	const struct ct_unlogged *u, const char *below, struct insertion *in, unsigned *count)
{
	char path[PATH_MAX];

	NVW_INVARIANT(*count < INSERTIONS_MAX);
	if (u->log != CT_LOG_TRANSACTION) {
		return "nvwave does not know how it is logged";
	}
	if (!below && u->run != CT_CURE_HOLDS) {
		return "its cure was not verified by running (--try-cures)";
	}
	const char *const why = range_of(u, &in[*count]);

	if (!why && below && !name_below(u->file, below, path)) {
		return "its source file is not below the working directory, which is what is copied";
	}
	*count += !why && !has_insertion(in, *count, &in[*count]);
	return why;
}

/* why: of each finding, and of each unlogged store, that has no insertion; NULL: it has, or needs none. */
static unsigned collect(const struct ct_result *r, const char *below, struct insertion *in,
	const char *why[CT_FINDINGS_MAX + CT_UNLOGGED_MAX])
{
	NVW_INVARIANT(r->finding_count <= CT_FINDINGS_MAX);

	unsigned count = 0, mine;

	NVW_FOR(i, r->finding_count) {
		const struct ct_cure *const c = &r->finding[i].cure;

		why[i] = NULL;
		if (!c->verified && (c->cured_by != 0 || r->finding[i].unlogged != 0)) {
			continue;
		}
		why[i] = collect_finding(c, below, &in[count], &mine);
		if (!why[i]) { /* a part of a cure is none */
			count += mine;
		}
	}
	NVW_FOR(i, r->unlogged.count) {
		why[CT_FINDINGS_MAX + i] = collect_range(&r->unlogged.at[i], below, in, &count);
	}
	NVW_INVARIANT(count <= INSERTIONS_MAX);
	qsort(in, count, sizeof *in, by_place);
	return count;
}

/* The end of the insertions into the file of the first one. */
static unsigned end_of_file(const struct insertion *in, unsigned first, unsigned count)
{
	unsigned end = first + 1;

	NVW_INVARIANT(first < count);
	while (end < count && strcmp(in[end].file, in[first].file) == 0) {
		end++;
	}
	return end;
}

static void write_all(FILE *to, const struct insertion *in, unsigned count)
{
	for (unsigned i = 0, end; i < count; i = end) {
		end = end_of_file(in, i, count);
		write_file(to, &in[i], end - i);
	}
}

static int write_insertions(const struct ct_result *r, const char *path, struct insertion *in)
{
	const char *why[CT_FINDINGS_MAX + CT_UNLOGGED_MAX];
	const unsigned count = collect(r, NULL, in, why);
	struct nvw_new_file f;

	NVW_FOR(i, r->finding_count) {
		if (why[i]) {
			fprintf(stderr, "nvwave: note: no patch for finding %u: %s\n", i + 1, why[i]);
		}
	}
	NVW_FOR(i, r->unlogged.count) {
		if (why[CT_FINDINGS_MAX + i]) {
			fprintf(stderr, "nvwave: note: no patch for the store at %s:%u: %s\n",
				r->unlogged.at[i].file, r->unlogged.at[i].line, why[CT_FINDINGS_MAX + i]);
		}
	}
	if (count == 0) {
		return 0;
	}
	NVW_TRY(nvw_new_file_begin(path, false, &f));
	write_all(f.file, in, count);
	return nvw_new_file_end(&f, 0);
}

const char *cli_patch_print(const struct ct_finding *f, FILE *to)
{
	struct insertion in[CT_CURE_EDITS];
	unsigned count;
	const char *const why = collect_finding(&f->cure, NULL, in, &count);

	if (!why) {
		qsort(in, count, sizeof *in, by_place);
		write_all(to, in, count);
	}
	return why;
}

int cli_patch_write(const struct ct_result *r, const char *path)
{
	struct insertion *const in = calloc(INSERTIONS_MAX, sizeof *in); /* too many for a stack */

	NVW_ALLOCATED(in, "no memory for a patch");
	const int error = write_insertions(r, path, in);

	free(in);
	return error;
}

/* The source with its insertions, as a new file: what is there may be a link to elsewhere. */
static bool rewrite(const struct source *s, const struct insertion *in, unsigned count, const char *path)
{
	unsigned next = 0;

	if (unlink(path) != 0 && errno != ENOENT) {
		return false;
	}
	FILE *const to = fopen(path, "wxe");

	if (!to) {
		return false;
	}
	for (uint32_t i = 1; i <= s->count + 1; i++) {
		for (; next < count && in[next].line == i; next++) {
			fprintf(to, "%s\n", in[next].text);
		}
		if (i <= s->count) {
			fprintf(to, "%s\n", s->line[i - 1]);
		}
	}
	return fclose(to) == 0;
}

static int patch_file(const struct insertion *in, unsigned count, const char *path)
{
	struct source s;
	const bool good = source_read(in[0].file, &s) && rewrite(&s, in, count, path);

	NVW_INVARIANT(count > 0);
	source_free(&s);
	NVW_FAIL_ERRNO_IF(!good, "%s: cannot write the patched source", path);
	return 0;
}

static int apply_insertions(const struct ct_result *r, const char *folder, const char *copy,
	struct insertion *in, const char *ret_why[CT_FINDINGS_MAX + CT_UNLOGGED_MAX])
{
	const unsigned count = collect(r, folder, in, ret_why);

	for (unsigned i = 0, end; i < count; i = end) {
		char below[PATH_MAX], path[2 * PATH_MAX];

		end = end_of_file(in, i, count);
		NVW_PRINT(path, "%s/%s", copy, name_below(in[i].file, folder, below));
		NVW_TRY(patch_file(&in[i], end - i, path));
	}
	return (int)count;
}

int cli_patch_apply(const struct ct_result *r, const char *folder, const char *copy,
	const char *ret_why[CT_FINDINGS_MAX + CT_UNLOGGED_MAX])
{
	struct insertion *const in = calloc(INSERTIONS_MAX, sizeof *in);

	NVW_ALLOCATED(in, "no memory for a patch");
	const int count = apply_insertions(r, folder, copy, in, ret_why);

	free(in);
	return count;
}

json_t *cli_patch_insertions(const struct ct_finding *f)
{
	struct insertion in[CT_CURE_EDITS];
	unsigned count;

	if (collect_finding(&f->cure, NULL, in, &count) || count == 0) {
		return NULL;
	}
	qsort(in, count, sizeof *in, by_place);
	return JSON_LIST(one, in, count,
		json_pack("{s:s, s:i, s:s}", "file", one->file, "line", (int)one->line, "text", one->text));
}
