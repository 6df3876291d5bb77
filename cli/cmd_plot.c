/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave plot: the figure of a table. See plot.h. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "figures/plot.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "session.h"

/* The choices of --scale. */
enum { SCALE_AUTO, SCALE_LINEAR, SCALE_LOG_X, SCALE_LOG_Y, SCALE_LOG };

static const char *first_missing(const struct plot *p)
{
	if (!p->path) {
		return "the table";
	}
	if (!p->x) {
		return "--x";
	}
	return p->y ? "-o FILE" : "--y";
}

static struct plot plot_from(const struct cli_options *o)
{
	const uint64_t scale = cli_number(o, CLI_scale);

	return (struct plot){.path = o->argument[0],
		.x = cli_text(o, CLI_x),
		.y = cli_text(o, CLI_y),
		.series = cli_text(o, CLI_plot_series),
		.title = cli_text(o, CLI_title),
		.x_label = cli_text(o, CLI_x_label),
		.y_label = cli_text(o, CLI_y_label),
		.series_label = cli_text(o, CLI_series_label),
		.of_column = cli_text(o, CLI_of_column),
		.baseline = cli_text(o, CLI_plot_baseline),
		.kind = (enum plot_kind)cli_number(o, CLI_kind),
		.shows = (enum plot_middle)cli_number(o, CLI_shows),
		.decides_log_x = scale == SCALE_AUTO,
		.log_x = scale == SCALE_LOG_X || scale == SCALE_LOG,
		.log_y = scale == SCALE_LOG_Y || scale == SCALE_LOG};
}

/* What is named fits together. */
static int check_plot(const struct plot *p)
{
	NVW_FAIL_IF(p->kind == PLOT_POINTS && p->baseline, NVW_E_USAGE,
		"plot: --kind=points draws every row as it is: expected no --baseline");
	NVW_FAIL_IF(p->series_label && !p->series, NVW_E_USAGE,
		"plot: --series-label needs --series, which it names");
	NVW_FAIL_IF(p->kind == PLOT_HEAT && !p->series, NVW_E_USAGE,
		"plot: --kind=heat needs --series, the vertical axis");
	return 0;
}

static int take_plot(const struct cli_options *o, struct plot *p)
{
	*p = plot_from(o);
	NVW_TRY(plot_paper(cli_text(o, CLI_size_of_figure), cli_text(o, CLI_font),
		(unsigned)cli_number(o, CLI_palette), &p->paper));
	NVW_TRY(cli_options_at_most(o, 1));
	NVW_FAIL_IF(!p->path || !p->x || !p->y || !cli_given(o, CLI_plot_output), NVW_E_USAGE,
		"plot: expected a table, --x, --y and -o FILE: %s is missing", first_missing(p));
	NVW_TRY(check_plot(p));
	return cli_options_check_use(o, cli_at(CLI_AT_HEAT, p->kind == PLOT_HEAT));
}

static int print_json(const struct plot *p, const char *path)
{
	return cli_print_json(json_pack("{s:s, s:s, s:i, s:i, s:i, s:o}", "figure", path, "table", p->path,
				      "places", (int)p->at.count, "series", (int)p->of.count, "rows_left_out",
				      (int)p->left_out, "made_by", cli_provenance(NULL, NULL)),
		stdout);
}

static int draw(const struct plot *p, const char *path, bool keeps_script)
{
	char *script = NULL;

	NVW_FAIL_IF(keeps_script && asprintf(&script, "%s.gp", path) < 0, NVW_E_MEMORY,
		"no memory for a file name");
	const int r = plot_draw(p, path, script);

	free(script);
	return r;
}

static int plot_of(const struct cli_options *o, struct plot *p, struct plot_table *table)
{
	const char *const path = cli_text(o, CLI_plot_output);
	char terminal[PLOT_TERMINAL_BYTES];

	NVW_TRY(take_plot(o, p));
	NVW_TRY(plot_terminal(&p->paper, path, terminal));
	NVW_TRY(plot_find_gnuplot());
	NVW_TRY(plot_table_read(p->path, table));
	NVW_TRY(plot_cells(p, table, cli_text(o, CLI_where)));
	NVW_TRY(draw(p, path, cli_given(o, CLI_keep_script)));
	if (p->left_out) {
		fprintf(stderr,
			"nvwave: plot: %u rows are left out: their status is not ok; where a place has no "
			"other row, the figure has a cross\n",
			p->left_out);
	}
	if (cli_json(o)) {
		return print_json(p, path);
	}
	return 0;
}

static int plot(struct cli_options *o)
{
	struct plot_table table = {0};
	struct plot p;
	const int r = plot_of(o, &p, &table);

	plot_paper_end(&p.paper);
	plot_cells_end(&p);
	plot_table_end(&table);
	return r;
}

const struct cli_command cmd_plot = {.main = cli_run_with_output,
	.help = "nvwave plot CSV --x=COLUMN --y=COLUMN [--series=COLUMN] -o FILE [options]\n\n"
		"Draws a table, for example of nvwave sweep, through gnuplot: means over the rows "
		"that differ in the seed,\n"
		"with their 95 % confidence intervals (Student's t, three rows or more).\n",
	.run = plot};
