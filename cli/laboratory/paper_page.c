/* SPDX-License-Identifier: BSD-3-Clause */
/* The pages of nvwave reproduce: the same text as HTML, in one file with its figures, and as Markdown. See
 * paper.h. */
#include <stdlib.h>
#include <string.h>

#include "../report/words.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/newfile.h"
#include "core/print.h"
#include "config/machines.h"
#include "paper.h"
#include "paper_markup.h"
#include "../report/provenance.h"

extern const struct emu_text report_style[]; /* report.css */

enum { TEXT_BYTES = 256, CELLS = 6 };

/* ---- Rows ---------------------------------------------------------------------------------- */

/* The verdict, against the kept one. */
static void judged_text(const struct paper_row *row, char *text, size_t room)
{
	const bool has_moved = row->is_kept && row->kept.verdict != row->verdict;

	snprintf(text, room, has_moved ? "%s (kept: %s)" : "%s", paper_verdict_text(row->verdict),
		paper_verdict_text(row->kept.verdict));
}

/* Rows of the page: those of a paper that are wanted. */
static bool is_shown(const struct paper_row *row, const char *paper)
{
	return row->wanted && !strcmp(row->paper, paper);
}

/* The row above of the same table; NULL: it is the first one. */
static const struct paper_row *row_above(const struct papers *p, const struct paper_row *row)
{
	while (row-- > p->row) {
		if (is_shown(row, row[1].paper)) {
			return row;
		}
	}
	return NULL;
}

static bool is_as_above(const struct papers *p, const struct paper_row *row, const char *key)
{
	const struct paper_row *const above = row_above(p, row);

	return above &&
	       !strcmp(words_or(paper_text(row->keys, key), ""), words_or(paper_text(above->keys, key), ""));
}

/* What is measured, with its unit; "" where the row above has the same. */
static void what_text(const struct papers *p, const struct paper_row *row, char *text, size_t room)
{
	const char *const what = paper_text(row->keys, "what"), *const unit = paper_text(row->keys, "unit");

	*text = 0;
	if (!is_as_above(p, row, "what") || !is_as_above(p, row, "unit")) {
		snprintf(text, room, unit ? "%s (%s)" : "%s", what, unit); /* NOLINT */
	}
}

static void show_row(const struct page *p, const struct paper_row *row)
{
	char name[TEXT_BYTES], what[PAPER_REASON_BYTES], published[64] = "", here[PAPER_NUMBER_BYTES],
							 judged[TEXT_BYTES], verdict[2 * PAPER_REASON_BYTES];
	const char *paper = paper_text(row->keys, "paper");
	bool has_reason;

	paper_row_name(row, name, sizeof name);
	what_text(p->papers, row, what, sizeof what);
	if (row->measured) {
		paper_interval_text(&row->published, published, sizeof published);
		paper = published;
	}
	paper_number_text(&row->here, row->form, here);
	judged_text(row, judged, sizeof judged);
	has_reason = *row->judgement && strcmp(row->judgement, paper_usual_reason) != 0;
	NVW_PRINT(verdict, has_reason ? "%s: %s" : "%s", judged, row->judgement);

	const char *const cell[CELLS] = {name, what,
		is_as_above(p->papers, row, "in") ? "" : paper_text(row->keys, "in"), NVW_OR(paper, ""), here,
		verdict};

	page_table_row(p, cell, CELLS, false);
}

static void begin_rows(const struct page *p)
{
	static const char *const names[CELLS] = {
		"", "what", "in", "paper", "here: mean (least, most)", "judgement"};

	page_table_begin(p);
	page_table_row(p, names, CELLS, true);
}

static void show_rows(const struct page *p, const char *paper)
{
	begin_rows(p);
	NVW_EACH(row, p->papers->row, p->papers->row_count) {
		if (is_shown(row, paper)) {
			show_row(p, row);
		}
	}
	page_table_end(p);
}

/* ---- Remarks ------------------------------------------------------------------------------- */

/* The cause of a difference; NULL if there is none to explain. */
static const char *cause_of(const struct paper_row *row)
{
	const char *const why = paper_text(row->keys, "why");

	if (row->verdict != PAPER_DISAGREES && row->verdict != PAPER_LUCK) {
		return NULL;
	}
	return why ? why : "open";
}

static const char *ran_of(const struct paper_row *row)
{
	return *row->ran ? row->ran : NULL;
}

static bool has_remark(const struct paper_row *row, const char *paper,
	const char *(*of)(const struct paper_row *), const char *text)
{
	const char *const mine = is_shown(row, paper) ? of(row) : NULL;

	return mine && !strcmp(mine, text);
}

/* "A2, A4" */
static void names_with(const struct papers *p, const char *paper, const char *(*of)(const struct paper_row *),
	const char *text, char *names, size_t room)
{
	NVW_EACH(row, p->row, p->row_count) {
		char name[TEXT_BYTES];

		if (!has_remark(row, paper, of, text)) {
			continue;
		}
		paper_row_name(row, name, sizeof name);
		words_add(names, room, ", ", name);
	}
}

/* Each remark once, with the names of its rows. */
static void show_remarks(const struct page *p, const char *paper, const char *title,
	const char *(*of)(const struct paper_row *row))
{
	const struct papers *const all = p->papers;
	const char *const head[] = {"rows", title};
	bool any = false;

	NVW_FOR(i, all->row_count) {
		const char *const text = is_shown(&all->row[i], paper) ? of(&all->row[i]) : NULL;
		char names[1024] = "";

		if (!text || NVW_ANY(row, all->row, i, has_remark(row, paper, of, text))) {
			continue; /* said already */
		}
		if (!any) {
			page_table_begin(p);
			page_table_row(p, head, 2, true);
			any = true;
		}
		names_with(all, paper, of, text, names, sizeof names);
		page_table_row(p, (const char *const[]){names, text}, 2, false);
	}
	if (any) {
		page_table_end(p);
	}
}

/* ---- Free values --------------------------------------------------------------------------- */

static const struct paper_end *end_of(const struct paper_row *row, const struct paper_section *s)
{
	return NVW_FIND(end, row->end, row->ends, end->of == s && end->is_known);
}

/* A shown row that was measured at the value's ends; NULL if there is none. */
static const struct paper_end *any_end(const struct papers *p, const struct paper_section *s)
{
	NVW_EACH(row, p->row, p->row_count) {
		const struct paper_end *const e = row->wanted ? end_of(row, s) : NULL;

		if (e) {
			return e;
		}
	}
	return NULL;
}

/* The values of the paper at whose ends a shown row was measured. */
static unsigned values_with_ends(
	const struct papers *p, const char *paper, const struct paper_section *ret_value[PAPER_SENSITIVE_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->sensitive_count && n < PAPER_SENSITIVE_MAX; i++) {
		if (!strcmp(p->sensitive[i].paper, paper) && any_end(p, &p->sensitive[i])) {
			ret_value[n++] = &p->sensitive[i];
		}
	}
	return n;
}

static void show_sensitive(const struct page *p, const char *paper)
{
	static const char *const names[] = {"", "value that the paper does not give", "from", "to", "source"};

	page_table_begin(p);
	page_table_row(p, names, NVW_COUNT(names), true);
	NVW_EACH(s, p->papers->sensitive, p->papers->sensitive_count) {
		const char *const cell[] = {s->name, paper_text(s->keys, "what"), paper_text(s->keys, "low"),
			paper_text(s->keys, "high"), paper_text(s->keys, "source")};

		if (strcmp(s->paper, paper) != 0) {
			continue;
		}

		page_table_row(p, cell, NVW_COUNT(cell), false);
	}
	page_table_end(p);
}

/* Nothing if it was measured at no end. */
static void show_ends_of_row(const struct page *p, const struct paper_row *row,
	const struct paper_section *const *value, unsigned n)
{
	char text[1 + PAPER_SENSITIVE_MAX][TEXT_BYTES] = {""}, low[32], high[32];
	const char *cell[1 + PAPER_SENSITIVE_MAX] = {text[0]};
	bool any = false;

	NVW_INVARIANT(n <= PAPER_SENSITIVE_MAX);
	paper_row_name(row, text[0], TEXT_BYTES);
	NVW_FOR(k, n) {
		const struct paper_end *const e = end_of(row, value[k]);

		cell[k + 1] = text[k + 1];
		if (e) {
			paper_one_number(e->value[0], row->form, low);
			paper_one_number(e->value[1], row->form, high);
			NVW_PRINT(text[k + 1], "%s to %s", low, high);
			any = true;
		}
	}
	if (any) {
		page_table_row(p, cell, n + 1, false);
	}
}

/* A line per row that was measured at both ends of a free value, a column per value. */
static void show_ends(const struct page *p, const char *paper)
{
	const struct paper_section *value[PAPER_SENSITIVE_MAX];
	const char *cell[1 + PAPER_SENSITIVE_MAX] = {"here, from end to end"};
	const unsigned n = values_with_ends(p->papers, paper, value);

	if (n == 0) {
		return;
	}
	show_sensitive(p, paper);
	page_table_begin(p);
	NVW_FOR(k, n) {
		cell[k + 1] = value[k]->name;
	}
	page_table_row(p, cell, n + 1, true);
	NVW_EACH(row, p->papers->row, p->papers->row_count) {
		if (is_shown(row, paper)) {
			show_ends_of_row(p, row, value, n);
		}
	}
	page_table_end(p);
}

/* ---- Tables -------------------------------------------------------------------------------- */

/* A line per value of the rows' axis (row -1: over all of them), a cell per value of the columns'. */
static void table_line(const struct page *p, const struct paper_table *t, int row)
{
	NVW_INVARIANT(row >= -1 && t->rows >= 0);

	const struct sweep *const s = &t->measure.of->sweep;
	const unsigned columns = t->columns < 0 ? 1 : s->axis[t->columns].count;
	const char *cell[1 + PAPER_COLUMNS_MAX];
	char text[1 + PAPER_COLUMNS_MAX][PAPER_NUMBER_BYTES];
	unsigned n = 0;

	NVW_INVARIANT(columns <= PAPER_COLUMNS_MAX);
	cell[n++] = row < 0 ? "mean" : s->axis[t->rows].value[row];
	NVW_FOR(k, columns) {
		struct paper_numbers numbers;

		if (!paper_table_has(t, t->columns, k)) {
			continue;
		}
		paper_table_number(p->papers, t, row, k, &numbers);
		paper_number_text(&numbers, t->measure.form, text[n]);
		cell[n] = text[n];
		n++;
	}
	page_table_row(p, cell, n, false);
}

static void show_table(const struct page *p, const struct paper_table *t)
{
	const struct sweep *const s = &t->measure.of->sweep;
	const unsigned columns = t->columns < 0 ? 1 : s->axis[t->columns].count;
	const char *cell[1 + PAPER_COLUMNS_MAX] = {""};
	char title[TEXT_BYTES * 2];
	unsigned n = 1;

	NVW_PRINT(title, "%s: %s", t->section.name, paper_text(t->section.keys, "what"));
	page_head_line(p, 3, title);
	page_table_begin(p);
	NVW_FOR(k, columns) {
		if (paper_table_has(t, t->columns, k)) {
			cell[n++] = t->columns < 0 ? "" : s->axis[t->columns].value[k];
		}
	}
	page_table_row(p, cell, n, true);
	NVW_FOR(i, s->axis[t->rows].count) {
		if (paper_table_has(t, t->rows, i)) {
			table_line(p, t, (int)i);
		}
	}
	if (paper_text(t->section.keys, "mean")) {
		table_line(p, t, -1);
	}
	page_table_end(p);
	if (paper_text(t->section.keys, "note")) {
		page_paragraph(p, paper_text(t->section.keys, "note"));
	}
}

/* ---- The page ------------------------------------------------------------------------------ */

static void begin(const struct page *p)
{
	if (p->html) {
		fprintf(p->to,
			"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
			"name=\"viewport\" "
			"content=\"width=device-width\"><title>Published results and ours</title><style>%s\n"
			"img { max-width: 100%%; background: #fff; }</style></head><body><main>\n",
			report_style[0].text);
	}
	page_head_line(p, 1, "Published results and ours");
}

/* The program that measured a row. */
static const char *version_of(const struct papers *p, const struct paper_row *row)
{
	return p->run == PAPER_RUN_NOTHING ? row->kept.version : cli_version;
}

static void add_version(char *text, size_t room, const char *version)
{
	if (!strstr(text, version)) {
		words_add(text, room, ", ", version);
	}
}

/* Lists the versions of the wanted rows, each once. */
static void versions(const struct papers *p, char *text, size_t room)
{
	*text = 0;
	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted && row->here.count) {
			add_version(text, room, version_of(p, row));
		}
	}
}

/* Lists the versions that found the free values' ends. */
static void versions_of_ends(const struct papers *p, char *text, size_t room)
{
	*text = 0;
	NVW_EACH(sensitive, p->sensitive, p->sensitive_count) {
		const struct paper_end *const e = any_end(p, sensitive);

		if (e) {
			add_version(text, room, e->version);
		}
	}
}

/* The most that a row has. */
static unsigned seeds_of(const struct papers *p)
{
	unsigned seeds = 0;

	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted && row->here.count > seeds) {
			seeds = row->here.count;
		}
	}
	return seeds;
}

static void summary(const struct page *p)
{
	unsigned count[PAPER_VERDICTS] = {0}, all = 0, lost = 0;
	const unsigned seeds = seeds_of(p->papers);
	char text[1024], made_by[TEXT_BYTES], of_seeds[128] = "Numbers are those of one seed.";

	if (seeds > 1) {
		NVW_PRINT(of_seeds, "Numbers are means over %u seeds, in brackets the least and the most.",
			seeds);
	}
	NVW_EACH(row, p->papers->row, p->papers->row_count) {
		if (row->wanted) {
			NVW_INVARIANT(row->verdict < PAPER_VERDICTS);
			count[row->verdict]++;
			lost += paper_is_lost(row);
			all++;
		}
	}
	NVW_PRINT(text,
		"%u rows: %u agree, %u agree by luck, %u disagree, %u cannot be compared, %u cannot be "
		"judged here. %s",
		all, count[PAPER_AGREES], count[PAPER_LUCK], count[PAPER_DISAGREES],
		count[PAPER_INCOMPARABLE], count[PAPER_UNJUDGED], of_seeds);
	page_paragraph(p, text);
	if (lost > 0) {
		NVW_PRINT(text, "%u rows that agreed no longer do.", lost);
		page_paragraph(p, text);
	}
	versions(p->papers, made_by, sizeof made_by);
	NVW_PRINT(text, "Measured by nvwave %s.", made_by);
	page_paragraph(p, text);
	if (!p->html) {
		page_paragraph(p,
			"What disagrees without a reason is not within a third of the paper's number. "
			"index.html, which nvwave reproduce --kept writes from papers/, also has the values "
			"that the papers do not give, rows at both ends of these, and the tables of other "
			"figures.");
		return;
	}
	page_paragraph(p, "What disagrees without a reason is not within a third of the paper's number.");
	versions_of_ends(p->papers, made_by, sizeof made_by);
	if (*made_by) {
		NVW_PRINT(text, "Rows at both ends of a free value are of seed 1, measured by nvwave %s.",
			made_by);
		page_paragraph(p, text);
	}
}

static bool has_rows(const struct papers *p, const char *paper)
{
	return NVW_ANY(row, p->row, p->row_count, is_shown(row, paper));
}

static int show_paper(const struct page *p, const struct paper *paper)
{
	const struct papers *const all = p->papers;
	const char *const title = paper_text(paper->keys, "title"), *const note =
									    paper_text(paper->keys, "note");
	char text[TEXT_BYTES * 2];
	int r = 0;

	NVW_PRINT(text, "%s%s%s", paper->name, title ? ": " : "", NVW_OR(title, ""));
	page_head_line(p, 2, text);
	if (note) {
		page_paragraph(p, note);
	}
	show_rows(p, paper->name);
	show_remarks(p, paper->name, "cause of the difference", cause_of);
	if (!p->html) {
		return 0;
	}
	show_remarks(p, paper->name, "iterations that were run", ran_of);
	show_ends(p, paper->name);
	for (unsigned i = 0; p->drawn && i < all->row_count && r == 0; i++) {
		if (!strcmp(all->row[i].paper, paper->name) && page_begins_figure(all, &all->row[i])) {
			r = page_show_figure(p, &all->row[i]);
		}
	}
	for (unsigned i = 0; i < all->table_count && r == 0; i++) {
		if (all->table[i].wanted && !strcmp(all->table[i].section.paper, paper->name)) {
			show_table(p, &all->table[i]);
		}
	}
	return r;
}

static void end(const struct page *p)
{
	page_mark(p, "</main></body></html>\n", "");
}

static int write_page(struct page *p, const char *name)
{
	struct nvw_new_file f;
	char *const path = text_made("%s/%s", p->folder, name);

	NVW_ALLOCATED(path, "no memory for a file name");
	int r = nvw_new_file_begin(path, false, &f);

	free(path);
	NVW_TRY(r);
	p->to = f.file;
	begin(p);
	summary(p);
	for (unsigned i = 0; i < p->papers->paper_count && r == 0; i++) {
		r = has_rows(p->papers, p->papers->paper[i].name) ? show_paper(p, &p->papers->paper[i]) : 0;
	}

	end(p);
	return nvw_new_file_end(&f, r);
}

static int write_pages(struct page *p)
{
	NVW_TRY(write_page(p, "results.md"));
	p->html = true;
	return write_page(p, "index.html");
}

int papers_write(const struct papers *papers, const char *folder, bool draw)
{
	struct page page = {.papers = papers, .folder = folder, .drawn = draw};

	if (draw) {
		NVW_TRY(page_draw_figures(&page));
	}
	return write_pages(&page);
}
