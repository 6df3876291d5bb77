/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of nvwave reproduce: the papers' values beside ours. See paper_markup.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/input.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/newfile.h"
#include "core/print.h"
#include "../figures/plot.h"
#include "../report/words.h"
#include "paper.h"
#include "paper_markup.h"

enum { TEXT_BYTES = 256, FIGURE_BYTES_MAX = 1 << 22 };

static bool is_of_figure(const struct paper_row *row, const char *paper, const char *figure)
{
	const char *const mine = paper_text(row->keys, "figure");

	return row->wanted && row->here.count && mine && !strcmp(mine, figure) && !strcmp(row->paper, paper);
}

static char *figure_path(const struct page *p, const char *paper, const char *figure, const char *end)
{
	char *const path = text_made("%s/%s-%s%s", p->folder, paper, figure, end);

	if (!path) {
		return NULL;
	}
	for (char *at = path + strlen(p->folder) + 1; (at = strpbrk(at, " ,/"));) {
		*at = '-';
	}
	return path;
}

static void figure_rows(const struct paper_row *row, FILE *to)
{
	char name[TEXT_BYTES];

	NVW_INVARIANT(row->here.count <= PAPER_SEEDS_MAX);
	paper_row_name(row, name, sizeof name);
	if (isfinite(row->published.low)) {
		fprintf(to, "%s,paper,1,%.10g\n", name, row->published.low);
	}
	if (isfinite(row->published.high)) {
		fprintf(to, "%s,paper,2,%.10g\n", name, row->published.high);
	}
	NVW_FOR(i, row->here.count) {
		fprintf(to, "%s,here,%u,%.10g\n", name, i + 1, row->here.value[i]);
	}
}

/* The table of a figure: a row per end of the paper's interval and per seed of ours. */
static int write_figure_table(const struct page *p, const struct paper_row *first, const char *path)
{
	const char *const figure = paper_text(first->keys, "figure"), *const unit =
									      paper_text(first->keys, "unit");
	struct nvw_new_file f;

	NVW_TRY(nvw_new_file_begin(path, false, &f));
	fprintf(f.file, "row,source,seed,%s\n", NVW_OR(unit, "value"));
	NVW_EACH(row, p->papers->row, p->papers->row_count) {
		if (is_of_figure(row, first->paper, figure)) {
			figure_rows(row, f.file);
		}
	}
	return nvw_new_file_end(&f, 0);
}

static int draw_figure(const struct page *p, const struct paper_row *first)
{
	const char *const figure = paper_text(first->keys, "figure"), *const unit =
									      paper_text(first->keys, "unit");
	char *const table_path = figure_path(p, first->paper, figure, ".csv");
	char *const path = figure_path(p, first->paper, figure, ".svg");
	char title[TEXT_BYTES];
	struct plot_table table = {0};
	struct plot plot = {.path = table_path,
		.x = "row",
		.y = NVW_OR(unit, "value"),
		.series = "source",
		.title = title,
		.kind = PLOT_BARS,
		.shows = PLOT_MEDIAN}; /* with both ends of what the paper says */
	int r = table_path && path ? write_figure_table(p, first, table_path) :
				     nvw_fail(NVW_E_MEMORY, "no memory for a figure");

	NVW_PRINT(title, "%s, %s", first->paper, figure);
	r = NVW_OR(r, plot_paper(NULL, NULL, 0, &plot.paper));
	r = NVW_OR(r, plot_table_read(table_path, &table));
	r = NVW_OR(r, plot_cells(&plot, &table, NULL));
	r = NVW_OR(r, plot_draw(&plot, path, NULL));
	plot_cells_end(&plot);
	plot_table_end(&table);
	free(table_path);
	free(path);
	return r;
}

/* The first row of a figure; end: there is none before that. */
static const struct paper_row *first_of(
	const struct papers *p, const struct paper_row *end, const char *figure)
{
	return p->row + NVW_INDEX(i, end - p->row, is_of_figure(p->row + i, end->paper, figure));
}

bool page_begins_figure(const struct papers *p, const struct paper_row *row)
{
	const char *const figure = paper_text(row->keys, "figure");

	return figure && is_of_figure(row, row->paper, figure) && first_of(p, row, figure) == row;
}

int page_draw_figures(const struct page *p)
{
	NVW_EACH(row, p->papers->row, p->papers->row_count) {
		if (page_begins_figure(p->papers, row)) {
			NVW_TRY(draw_figure(p, row));
		}
	}
	return 0;
}

/* The picture as a part of the page. */
static int embed(const struct page *p, const char *path)
{
	char *text;
	uint64_t bytes;

	NVW_TRY(nvw_input_read(path, FIGURE_BYTES_MAX, &text, &bytes));
	fputs("<p><img alt=\"the paper's values beside ours\" src=\"data:image/svg+xml,", p->to);
	NVW_FOR(i, bytes) {
		const unsigned char c = (unsigned char)text[i];

		if (strchr("%#<>\"&'", c) || c < 32 || c > 126) {
			fprintf(p->to, "%%%02X", c);
		} else {
			fputc(c, p->to);
		}
	}
	fputs("\"></p>\n", p->to);
	free(text);
	return 0;
}

int page_show_figure(const struct page *p, const struct paper_row *first)
{
	char *const path = figure_path(p, first->paper, paper_text(first->keys, "figure"), ".svg");
	const int r = path ? embed(p, path) : nvw_fail(NVW_E_MEMORY, "no memory for a figure");

	free(path);
	return r;
}
