/* SPDX-License-Identifier: BSD-3-Clause */
/* A page of nvwave reproduce that is being written: one text in two formats. */
#ifndef CLI_PAPER_MARKUP_H
#define CLI_PAPER_MARKUP_H

#include <stdbool.h>
#include <stdio.h>

struct papers;
struct paper_row;

struct page {
	const struct papers *papers;
	const char *folder;
	FILE *to;
	bool html, drawn;
};

/* What only the one or the other page has. */
void page_mark(const struct page *page, const char *html, const char *markdown);
void page_head_line(const struct page *page, unsigned level, const char *text);
void page_paragraph(const struct page *page, const char *text);
void page_table_begin(const struct page *page);
/* cell: n texts; is_head: names of columns. */
void page_table_row(const struct page *page, const char *const *cell, unsigned n, bool is_head);
void page_table_end(const struct page *page);

/* paper_figure.c: draws every figure of the wanted rows into the folder. */
int page_draw_figures(const struct page *page);
/* Is the row the first one of its figure? */
bool page_begins_figure(const struct papers *papers, const struct paper_row *row);
/* The figure that begins with the row, as a part of the page. */
int page_show_figure(const struct page *page, const struct paper_row *first);

#endif
