/* SPDX-License-Identifier: BSD-3-Clause */
/* See html_source.h. */
#include "html_source.h"

#include <string.h>

#include "core/bounds.h"
#include "core/invariant.h"

#include "../source_lines.h"
#include "../words.h"
#include "html_text.h"

enum { FUNCTIONS_SHOWN = 60, LINES_AROUND = 2 };

/* A function, and what of it the coverage has. */
struct part {
	const struct ct_coverage *all;
	const struct ct_statement *first; /* of its statements */
	unsigned statements;
	unsigned first_line, last_line;
};

static bool is_of(const struct part *p, const struct ct_statement *s)
{
	return strcmp(p->first->function, s->function) == 0 && strcmp(p->first->file, s->file) == 0;
}

static void widen(struct part *p, unsigned line)
{
	p->first_line = (unsigned)nvw_min(p->first_line, line);
	p->last_line = (unsigned)nvw_max(p->last_line, line);
}

static struct part part_at(const struct ct_coverage *c, unsigned i)
{
	const struct ct_statement *const first = &c->statement[i];
	struct part p = {.all = c, .first = first, .first_line = first->line};

	NVW_INVARIANT(i < c->count);
	for (; i < c->count && is_of(&p, &c->statement[i]); i++) {
		p.statements++;
		widen(&p, c->statement[i].line);
	}
	NVW_EACH(branch, c->branch, c->branches) {
		if (is_of(&p, branch)) {
			widen(&p, branch->line);
		}
	}
	return p;
}

enum look { PLAIN, EXECUTED, ONE_WAY, LEFT_OUT };

static const char *const classes[] = {[PLAIN] = "",
	[EXECUTED] = " class=\"ran\"",
	[ONE_WAY] = " class=\"one-way\"",
	[LEFT_OUT] = " class=\"hit\""};
static const char *const notes[] = {
	[PLAIN] = "", [EXECUTED] = "", [ONE_WAY] = "    one way", [LEFT_OUT] = "    not executed"};

/* A line 0: the whole of it, which looks like its worst line. */
static enum look look_of(const struct part *p, unsigned line)
{
	enum look look = PLAIN;

	for (const struct ct_statement *s = p->first; s < p->first + p->statements; s++) {
		if (line == 0 || s->line == line) {
			look = nvw_max(look, s->executed ? EXECUTED : LEFT_OUT);
		}
	}
	NVW_EACH(b, p->all->branch, p->all->branches) {
		if (b->executed != b->reached && (line == 0 || b->line == line) && is_of(p, b)) {
			look = nvw_max(look, ONE_WAY);
		}
	}
	return look;
}

static void print_lines(const struct part *p, FILE *source, FILE *to)
{
	char text[512];

	NVW_INVARIANT(p->first_line <= p->last_line);
	fputs("<pre tabindex=\"0\">", to);
	for (unsigned i = 1; fgets(text, sizeof text, source) && i <= p->last_line + LINES_AROUND; i++) {
		if (i + LINES_AROUND < p->first_line) {
			continue;
		}
		const enum look look = look_of(p, i);

		text[strcspn(text, "\n")] = '\0';
		fprintf(to, "<span%s>", classes[look]);
		html_print(to, "%6u  %s%s</span>", i, text, notes[look]);
	}
	fputs("</pre>", to);
}

static void print_head(const struct part *p, FILE *to)
{
	html_print(to, "<p><code>%s</code> in %s</p>", p->first->function, p->first->file);
}

static void print_part(const struct part *p, FILE *to)
{
	const char *searched;
	FILE *const source = cli_open_source(p->first->file, &searched);

	if (source) {
		print_head(p, to);
		print_lines(p, source, to);
		fclose(source);
	}
}

void html_source(FILE *to, const struct ct_coverage *c)
{
	unsigned shown = 0;

	for (unsigned i = 0; i < c->count && shown < FUNCTIONS_SHOWN;) {
		const struct part p = part_at(c, i);

		i += p.statements;
		if (look_of(&p, 0) <= EXECUTED) {
			continue;
		}
		if (shown++ == 0) {
			fputs("<details><summary>Source of functions that were not executed in "
			      "full</summary>",
				to);
		}
		print_part(&p, to);
	}
	fputs(words_if(shown > 0, "</details>"), to);
}
