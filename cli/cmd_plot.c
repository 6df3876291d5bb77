/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave plot: the figure of a table. See plot.h. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "laboratory/plot.h"
#include "report/provenance.h"
#include "session.h"

static int take(const struct cli_options *o, struct plot *p)
{
	const uint64_t scale = cli_number(o, CLI_scale);

	*p = (struct plot){.path = o->argument_count ? o->argument[0] : NULL,
		.x = cli_text(o, CLI_x),
		.y = cli_text(o, CLI_y),
		.series = cli_text(o, CLI_plot_series),
		.title = cli_text(o, CLI_title),
		.x_label = cli_text(o, CLI_x_label),
		.y_label = cli_text(o, CLI_y_label),
		.series_label = cli_text(o, CLI_series_label),
		.baseline = cli_text(o, CLI_plot_baseline),
		.kind = (enum plot_kind)cli_number(o, CLI_kind),
		.log_x = scale == 1 || scale == 3,
		.log_y = scale == 2 || scale == 3};
	if (o->argument_count > 1) {
		return cli_options_surplus(o, o->argument[1]);
	}
	if (!p->path || !p->x || !p->y || !cli_given(o, CLI_plot_output)) {
		return nvw_fail(NVW_E_USAGE, "plot: expected a table, --x, --y and -o FILE: %s is missing",
			!p->path ? "the table" :
			!p->x    ? "--x" :
			!p->y    ? "--y" :
				   "-o FILE");
	}
	if (p->kind == PLOT_POINTS && p->baseline) {
		return nvw_fail(
			NVW_E_USAGE, "plot: --kind=points draws every row as it is: expected no --baseline");
	}
	if (p->series_label && !p->series) {
		return nvw_fail(NVW_E_USAGE, "plot: --series-label needs --series, which it names");
	}
	return p->kind == PLOT_HEAT && !p->series ?
		       nvw_fail(NVW_E_USAGE, "plot: --kind=heat needs --series, the vertical axis") :
		       0;
}

static void print_json(const struct plot *p, const char *path)
{
	json_t *const report = json_pack("{s:s, s:s, s:i, s:i, s:i, s:o}", "figure", path, "table", p->path,
		"places", (int)p->at.count, "series", (int)p->of.count, "rows_left_out", (int)p->left_out,
		"made_by", cli_provenance(NULL, NULL));

	json_dumpf(report, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(report);
}

static int plot(const struct cli_options *o)
{
	const char *const path = cli_text(o, CLI_plot_output), *terminal;
	struct plot_table table = {.text = NULL};
	struct plot p;
	char *script = NULL;
	int r = take(o, &p);

	r = r ? r : cli_options_check_use(o, p.kind == PLOT_HEAT ? UINT64_C(1) << CLI_AT_HEAT : 0);
	r = r ? r : plot_format(path, &terminal);
	r = r ? r : plot_find_gnuplot();
	r = r ? r : plot_table_read(p.path, &table);
	r = r ? r : plot_cells(&p, &table, cli_text(o, CLI_where));
	if (r == 0 && cli_given(o, CLI_keep_script) && asprintf(&script, "%s.gp", path) < 0) {
		script = NULL;
		r = nvw_fail(NVW_E_MEMORY, "no memory for a file name");
	}
	r = r ? r : plot_draw(&p, path, script);
	if (r == 0 && p.left_out) {
		fprintf(stderr,
			"nvwave: plot: %u rows are left out: their status is not ok; where a place has no other row, the figure has a cross\n",
			p.left_out);
	}
	if (r == 0 && cli_json(o)) {
		print_json(&p, path);
	}
	free(script);
	plot_cells_end(&p);
	plot_table_end(&table);
	return r;
}

static void print_help(void)
{
	puts("nvwave plot CSV --x=COLUMN --y=COLUMN [--series=COLUMN] -o FILE [options]\n\n"
	     "Draws a table, for example of nvwave sweep, through gnuplot: medians over the rows that differ in the seed,\n"
	     "with a line from the least to the most.\n");
	cli_options_help("plot");
}

/* -o is the short form that every plotting program has. */
static char **with_long_names(int argc, char **argv)
{
	static char name[] = "--output";
	char **const words = calloc((size_t)argc + 1, sizeof *words);

	for (int i = 0; words && i < argc; i++) {
		words[i] = strcmp(argv[i], "-o") ? argv[i] : name;
	}
	return words;
}

int cmd_plot(int argc, char **argv)
{
	char **const words = with_long_names(argc, argv);
	struct cli_options given = {.command = argv[0]};
	int r = words ? cli_options_parse(&given, false, argc, words) :
			nvw_fail(NVW_E_MEMORY, "no memory for the command line");

	if (r == 0 && cli_given(&given, CLI_help)) {
		print_help();
	} else {
		r = r ? r : plot(&given);
	}
	cli_options_end(&given);
	free(words);
	return r < 0 ? cli_fail() : STATUS_CLEAN;
}
