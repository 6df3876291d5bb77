/* SPDX-License-Identifier: BSD-3-Clause */
/* Cures as a unified diff. See patch.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crashtest/cure.h>

#include "core/newfile.h"
#include "patch.h"
#include "source_lines.h"

enum { CONTEXT = 3, INSERTIONS_MAX = CT_FINDINGS_MAX * CT_CURE_MAX };

struct insertion {
	const char *file;
	uint32_t line; /* the new line comes before this one */
	char text[320];
};

struct source {
	char **line;
	uint32_t count;
};

static void source_free(struct source *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		free(s->line[i]);
	}
	free(s->line);
	*s = (struct source){0};
}

static bool source_read(const char *file, struct source *ret)
{
	const char *searched;
	FILE *const f = cli_open_source(file, &searched);
	char *text = NULL;
	size_t room = 0;
	bool good = f != NULL;

	*ret = (struct source){0};
	while (good && getline(&text, &room, f) >= 0) {
		char **const grown = realloc(ret->line, (ret->count + 1) * sizeof *grown);

		good = grown != NULL;
		ret->line = grown ? grown : ret->line;
		text[strcspn(text, "\n")] = '\0';
		good = good && (ret->line[ret->count] = strdup(text)) != NULL;
		ret->count += good;
	}
	free(text);
	if (f != NULL) {
		fclose(f);
	}
	return good;
}

/* Bytes in front of a comment. */
static size_t code_bytes(const char *line)
{
	const char *const comment = strstr(line, "/*") ? strstr(line, "/*") : strstr(line, "//");

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
	while (number > 0 && last_of(s->line[number - 1]) == '\0') {
		number--;
	}
	return number > 0 && strchr(";{}:", last_of(s->line[number - 1])) != NULL;
}

static const char *call_of(const struct ct_edit *e)
{
	static const char *const barriers[] = {
		"nvw_p_barrier_wi();", "nvw_p_barrier_wg();", "nvw_p_barrier_kr();"};

	return e->kind == CT_EDIT_BARRIER ? barriers[e->scope] :
	       e->kind == CT_EDIT_FENCE   ? "pmem_drain();" :
					    NULL;
}

static bool has_word(const char *line, const char *word)
{
	const size_t n = strlen(word), bytes = code_bytes(line);
	const char *at = line;

	while ((at = strstr(at, word)) != NULL && at < line + bytes) {
		const bool begins = at == line || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');

		if (begins && !isalnum((unsigned char)at[n]) && at[n] != '_') {
			return true;
		}
		at += n;
	}
	return false;
}

/* True if a line that follows is executed each time that this one was, and before anything else is. */
static bool goes_on_below(const char *line)
{
	static const char *const words[] = {"return", "break", "continue", "goto", "for", "while", "do"};
	bool goes_on = last_of(line) == ';';

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		goes_on = goes_on && !has_word(line, words[i]);
	}
	return goes_on;
}

/* What an edit inserts, and where; or why it does not. A fence for one caller of a line stands behind the call. */
static const char *insertion_of(const struct ct_edit *e, struct insertion *ret)
{
	const bool before = e->kind == CT_EDIT_BARRIER && e->b.line != 0, called = e->a.caller_line != 0;
	const struct ct_line *const at = before ? &e->b : &e->a;
	const char *const file = called ? at->caller_file : at->file;
	const uint32_t line = called ? at->caller_line : at->line;
	struct source s;
	const char *why = NULL;

	if (call_of(e) == NULL) {
		return "its cure is more than a line to insert";
	}
	if (called && !e->behind_call) {
		return "its fence is for one caller, and behind the call it may come too late";
	}
	if (!source_read(file, &s)) {
		source_free(&s);
		return "its source file was not found";
	}
	if (line < 1 || line > s.count) {
		why = "its source file has changed";
	} else if (!ends_statement(&s, line - 1) || (!before && !goes_on_below(s.line[line - 1]))) {
		why = "the statement at its line is not on a line of its own";
	} else {
		const char *const text = s.line[line - 1];

		*ret = (struct insertion){.file = file, .line = before ? line : line + 1};
		snprintf(ret->text, sizeof ret->text, "%.*s%s", (int)strspn(text, " \t") & 0xff, text,
			call_of(e));
	}
	source_free(&s);
	return why;
}

static int by_place(const void *a, const void *b)
{
	const struct insertion *x = a, *y = b;
	const int files = strcmp(x->file, y->file);

	return files ? files : (x->line > y->line) - (x->line < y->line);
}

/* One hunk of insertions that are close to each other; shift: lines that the hunks before have added. */
static void write_hunk(
	FILE *to, const struct source *s, const struct insertion *in, unsigned count, unsigned shift)
{
	const uint32_t first = in[0].line > CONTEXT ? in[0].line - CONTEXT : 1;
	const uint32_t last =
		in[count - 1].line + CONTEXT - 1 < s->count ? in[count - 1].line + CONTEXT - 1 : s->count;
	unsigned next = 0;

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
	struct source s;

	if (source_read(in[0].file, &s)) {
		fprintf(to, "--- a/%s\n+++ b/%s\n", in[0].file, in[0].file);
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

static unsigned collect(const struct ct_result *r, struct insertion *in)
{
	unsigned count = 0;

	for (unsigned i = 0; i < r->finding_count; i++) {
		const struct ct_cure *const c = &r->finding[i].cure;
		const char *why = c->verified || c->cured_by ? NULL : "no cure of it is verified";
		unsigned mine = 0;

		for (unsigned k = 0; k < c->count && c->verified && why == NULL; k++) {
			why = insertion_of(&c->edit[k], &in[count + mine]);
			mine += why == NULL;
		}
		if (why != NULL) {
			fprintf(stderr, "nvwave: note: no patch for finding %u: %s\n", i + 1, why);
		}
		count += why == NULL ? mine : 0; /* a part of a cure is none */
	}
	return count;
}

int cli_patch_write(const struct ct_result *r, const char *path)
{
	static struct insertion in[INSERTIONS_MAX];
	const unsigned count = collect(r, in);
	struct nvw_new_file f;

	if (count == 0) {
		return 0;
	}
	const int error = nvw_new_file_begin(path, false, &f);

	if (error) {
		return error;
	}
	qsort(in, count, sizeof *in, by_place);
	for (unsigned i = 0, end; i < count; i = end) {
		end = i + 1;
		while (end < count && strcmp(in[end].file, in[i].file) == 0) {
			end++;
		}
		write_file(f.file, &in[i], end - i);
	}
	return nvw_new_file_end(&f, 0);
}
