/* SPDX-License-Identifier: BSD-3-Clause */
/* Headings, paragraphs and tables, as HTML and as Markdown. See paper_markup.h. */
#include <string.h>

#include "core/invariant.h"

#include "../report/page/html_text.h"
#include "paper_markup.h"

static void put_markdown(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (strchr("|*", *text)) {
			fputc('\\', to);
		}
		fputc(*text, to);
	}
}

static void page_put(const struct page *p, const char *text)
{
	if (p->html) {
		html_text(p->to, text);
	} else {
		put_markdown(p->to, text);
	}
}

void page_head_line(const struct page *p, unsigned level, const char *text)
{
	NVW_INVARIANT(level >= 1 && level <= 4);
	if (!p->html) {
		fprintf(p->to, "\n%.*s %s\n\n", (int)level, "####", text);
		return;
	}
	html_print(p->to, "<h%u>%s</h%u>\n", level, text, level);
}

void page_mark(const struct page *p, const char *html, const char *markdown)
{
	fputs(p->html ? html : markdown, p->to);
}

void page_paragraph(const struct page *p, const char *text)
{
	page_mark(p, "<p>", "");
	page_put(p, text);
	page_mark(p, "</p>\n", "\n\n");
}

void page_table_row(const struct page *p, const char *const *cell, unsigned n, bool is_head)
{
	NVW_INVARIANT(n > 0);
	page_mark(p, "<tr>", "|");
	NVW_EACH(one, cell, n) {
		page_mark(p, is_head ? "<th>" : "<td>", " ");
		page_put(p, *one);
		page_mark(p, "", " |");
	}
	page_mark(p, "</tr>\n", "\n");
	if (!is_head) {
		return;
	}
	page_mark(p, "", "|");
	NVW_FOR(i, n) {
		page_mark(p, "", "---|");
	}
	page_mark(p, "", "\n");
}

void page_table_begin(const struct page *p)
{
	page_mark(p, "<div class=\"scroll\"><table>\n", "");
}

void page_table_end(const struct page *p)
{
	page_mark(p, "</table></div>\n", "\n");
}
