/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of gnuplot's script. See script.h. */
#include "../report/words.h"
#include "script.h"
#include "core/invariant.h"

enum { KEY_BESIDE = 60 }; /* in a narrower figure the key is below */

const char *script_colour(const struct script *s, unsigned of)
{
	NVW_INVARIANT(of < s->p->of.count);
	return plot_colour(&s->p->paper, s->p->of.look[of]);
}

bool script_is_narrow(const struct script *s)
{
	return s->p->paper.wide < KEY_BESIDE;
}

/* As gnuplot reads a text in single quotes, which hide everything but the quote itself. */
static void put_quoted(char c, FILE *to)
{
	if (c == '\n') {
		fputs("'.\"\\n\".'", to);
		return;
	}
	fputs(words_if(c == '\'', "'"), to);
	fputc(c, to);
}

void script_quote(const char *text, FILE *to)
{
	fputc('\'', to);
	for (; *text; text++) {
		put_quoted(*text, to);
	}
	fputc('\'', to);
}

void script_set(const struct script *s, const char *what, const char *text, const char *end)
{
	fprintf(s->to, "set %s ", what);
	script_quote(text, s->to);
	fputs(end, s->to);
}
