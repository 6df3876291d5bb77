/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave reproduce: published results, run again and judged. See paper.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "core/bounds.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/member.h"
#include "laboratory/paper.h"
#include "figures/plot.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "session.h"
#include "report/words.h"

struct reproduce_command {
	struct cli_options given;
	struct papers papers;
	char *folder; /* of the published results */
	bool has_gnuplot;
	unsigned lost, moved;
};

/* Beside the installed program; NULL: it is not there. */
static char *installed_folder(void)
{
	char self[4096];

	nvw_own_folder(self, sizeof self);
	char *const path = text_made("%s/../share/nvwave/papers", self);

	if (!path || !access(path, R_OK)) {
		return path;
	}
	free(path);
	return NULL;
}

/* --papers; else beside the installed program; else where the program was built from. */
static char *papers_folder(const struct cli_options *o)
{
	if (cli_given(o, CLI_papers)) {
		return strdup(cli_text(o, CLI_papers));
	}
	char *const installed = installed_folder();

	return NVW_OR(installed, text_made("%s/papers", cli_source_root));
}

/* ---- The list ------------------------------------------------------------------------------------ */

static void add_judgement(json_t *o, const struct paper_row *row)
{
	char number[PAPER_NUMBER_BYTES];

	member_set_text(o, "judgement", paper_verdict_text(row->verdict));
	member_set_text(o, "remark", row->judgement);
	member_set_flag(o, "no_longer_agrees", paper_is_lost(row));
	member_set_flag(o, "moved", paper_has_moved(row));
	if (row->here.count) {
		paper_number_text(&row->here, row->form, number);
		member_set_text(o, "here", number);
		member_set_real(o, "mean", row->here.mean);
		member_set_real(o, "least", row->here.least);
		member_set_real(o, "most", row->here.most);
		member_set_number(o, "seeds", row->here.count);
	}
}

static json_t *row_json(const struct paper_row *row, bool is_list)
{
	char name[256];

	paper_row_name(row, name, sizeof name);
	json_t *const o = json_pack("{s:s, s:s}", "row", name, "published_in", row->paper);

	json_object_update_missing(o, row->keys);
	if (row->is_kept) {
		member_set_text(o, "kept", paper_verdict_text(row->kept.verdict));
	}
	if (!is_list) {
		add_judgement(o, row);
	}
	return o;
}

static int print_json(const struct papers *p, bool is_list)
{
	json_t *const all = json_array();

	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted) {
			json_array_append_new(all, row_json(row, is_list));
		}
	}
	return cli_print_json(
		json_pack("{s:o, s:o}", "rows", all, "made_by", cli_provenance(NULL, NULL)), stdout);
}

static const char *kept_judgement(const struct paper_row *row)
{
	if (row->is_kept) {
		return paper_verdict_text(row->kept.verdict);
	}
	return paper_text(row->keys, "cannot") ? "cannot be judged" : "no judgement is kept";
}

static void print_published(const struct paper_row *row)
{
	char name[256];

	paper_row_name(row, name, sizeof name);
	printf("%-18s %-10s %-14s %-12s %-7s %s\n%-18s %s\n", name, row->paper, paper_text(row->keys, "in"),
		words_or(paper_text(row->keys, "paper"), ""), words_or(paper_text(row->keys, "unit"), ""),
		paper_text(row->keys, "what"), "", kept_judgement(row));
}

/* ---- The report ---------------------------------------------------------------------------------- */

static void print_row(const struct paper_row *row)
{
	char name[256], number[PAPER_NUMBER_BYTES], published[64] = "", ends[1024];

	paper_row_name(row, name, sizeof name);
	paper_number_text(&row->here, row->form, number);
	if (row->measured) {
		paper_interval_text(&row->published, published, sizeof published);
	}
	printf("%-18s %-14s %-26s %s", name, published, number, paper_verdict_text(row->verdict));
	if (row->is_kept && row->kept.verdict != row->verdict) {
		printf("; kept: %s", paper_verdict_text(row->kept.verdict));
	}
	puts(words_if(paper_is_lost(row), ": NO LONGER AGREES"));
	if (*row->judgement) {
		printf("%-18s %s\n", "", row->judgement);
	}
	paper_ends_text(row, ends, sizeof ends);
	if (*ends) {
		printf("%-18s %s\n", "", ends);
	}
	if (paper_has_moved(row)) {
		paper_number_text(&row->kept.here, row->form, number);
		printf("%-18s MOVED: %s is kept\n", "", number);
	}
}

static void print_points(const struct papers *p)
{
	unsigned points = 0, known = 0;

	NVW_EACH(sweep, p->sweep, p->sweep_count) {
		points += (*sweep)->sweep.count;
		known += (*sweep)->known;
	}
	printf("%u points, %u of them unchanged since an earlier run; ", points, known);
	printf(p->seeds == 1 ? "seed 1\n" : "seeds 1 to %u\n", p->seeds);
}

static int print_report(const struct reproduce_command *c, const char *folder)
{
	const struct papers *const p = &c->papers;
	const bool runs = p->run != PAPER_RUN_NOTHING;

	printf("%-18s %-14s %-26s judgement\n", "row", "paper", "here: mean (least, most)");
	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted) {
			print_row(row);
		}
	}
	if (runs) {
		print_points(p);
	}
	cli_print_made_by(NULL);
	printf("written: %s/index.html, %s/results.md%s\n", folder, folder,
		words_if(runs && !c->has_gnuplot, ", without figures: there is no gnuplot"));
	if (c->lost) {
		printf("%u rows that agreed no longer do\n", c->lost);
	}
	return 0;
}

/* Rows at both ends of the values that the papers do not give. */
static void print_ends_of(const struct paper_row *row)
{
	char name[256], ends[1024];

	paper_row_name(row, name, sizeof name);
	paper_ends_text(row, ends, sizeof ends);
	printf("%-18s %s\n", name, words_or(row->here.reason, ends));
}

static void print_ends(const struct papers *p)
{
	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted) {
			print_ends_of(row);
		}
	}
}

/* ---- The command --------------------------------------------------------------------------------- */

static int run_sweep(const struct reproduce_command *c, struct paper_sweep *s, const char *folder)
{
	const struct sweep_manner manner = cli_manner(&c->given);

	NVW_INVARIANT(s->known == 0);
	NVW_TRY(sweep_journal_open(
		&s->sweep, text_made("%s/%s.journal", folder, s->name), manner.fresh, &s->journal));
	NVW_EACH(point, s->sweep.point, s->sweep.count) {
		s->known += point->is_known;
	}
	if (manner.progress) {
		fprintf(stderr, "%s: %u points\n", s->name, s->sweep.count);
	}
	const int r = sweep_run(&s->sweep, &manner, &s->journal);

	NVW_FAIL_IF(r == NVW_E_STOPPED, r,
		"%s; what has been run is in %s, and the same command goes on from there",
		nvw_error_message(), folder);
	return r;
}

static int make_folder(const char *folder)
{
	NVW_FAIL_ERRNO_IF(mkdir(folder, 0777) && errno != EEXIST, "%s", folder);
	return 0;
}

static int check_sweeps(const struct papers *p)
{
	NVW_EACH(sweep, p->sweep, p->sweep_count) {
		NVW_TRY(sweep_check(&(*sweep)->sweep));
	}
	return 0;
}

static int run_all(const struct reproduce_command *c, const char *folder)
{
	NVW_TRY(check_sweeps(&c->papers));
	NVW_TRY(make_folder(folder));
	NVW_EACH(sweep, c->papers.sweep, c->papers.sweep_count) {
		NVW_TRY(run_sweep(c, *sweep, folder));
	}
	return 0;
}

static void count_changes(struct reproduce_command *c)
{
	NVW_EACH(row, c->papers.row, c->papers.row_count) {
		c->lost += row->wanted && paper_is_lost(row);
		c->moved += row->wanted && paper_has_moved(row);
	}
}

static int judge_rows(struct reproduce_command *c, const char *folder)
{
	struct papers *const p = &c->papers;

	NVW_INVARIANT(p->run != PAPER_RUN_ENDS);
	papers_judge(p);
	count_changes(c);
	NVW_TRY(papers_write(p, folder, c->has_gnuplot));
	return cli_json(&c->given) ? print_json(p, false) : print_report(c, folder);
}

/* The pages, from what is kept. */
static int show_kept(struct reproduce_command *c, const char *folder)
{
	struct papers *const p = &c->papers;

	NVW_INVARIANT(p->run == PAPER_RUN_NOTHING);
	NVW_TRY(papers_read_kept(p));
	papers_show_kept(p);
	NVW_TRY(make_folder(folder));
	NVW_TRY(papers_write(p, folder, false));
	return cli_json(&c->given) ? print_json(p, false) : print_report(c, folder);
}

static int report_rows(struct reproduce_command *c, const char *folder)
{
	NVW_INVARIANT(c->papers.run != PAPER_RUN_NOTHING);
	NVW_TRY(papers_read_kept(&c->papers));
	if (c->papers.run == PAPER_RUN_ENDS) {
		papers_measure_ends(&c->papers);
		print_ends(&c->papers);
	} else {
		NVW_TRY(judge_rows(c, folder));
	}
	if (cli_given(&c->given, CLI_keep)) {
		NVW_TRY(papers_keep(&c->papers));
	}
	if (c->lost || (c->moved && cli_given(&c->given, CLI_short_rows))) {
		return NVW_E_INCONSISTENT;
	}
	return 0;
}

static int list_rows(struct papers *p, bool json)
{
	NVW_TRY(papers_read_kept(p));
	if (json) {
		return print_json(p, true);
	}
	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted) {
			print_published(row);
		}
	}
	return 0;
}

static enum paper_run run_of(const struct cli_options *o)
{
	if (cli_given(o, CLI_kept_rows)) {
		return PAPER_RUN_NOTHING;
	}
	if (cli_given(o, CLI_sensitivity)) {
		return PAPER_RUN_ENDS;
	}
	return cli_given(o, CLI_long_rows) ? PAPER_RUN_LONG : PAPER_RUN_ROWS;
}

static int open_papers(struct reproduce_command *c)
{
	const struct cli_options *const o = &c->given;
	const enum paper_run run = run_of(o);
	const unsigned seeds = run == PAPER_RUN_ROWS ? (unsigned)cli_number(o, CLI_seeds) : 1;

	NVW_ALLOCATED(c->folder, "no memory for a file name");
	NVW_TRY(papers_read(c->folder, &c->papers));
	NVW_TRY(papers_choose(&c->papers, o->argument, o->argument_count, cli_given(o, CLI_short_rows)));
	return papers_open(&c->papers, cli_text(o, CLI_data), seeds, run);
}

static int reproduce_rows(struct reproduce_command *c)
{
	const struct cli_options *const o = &c->given;
	const char *const folder = words_or(cli_text(o, CLI_reproduce_output), "reproduce");

	NVW_TRY(open_papers(c));
	if (cli_given(o, CLI_list_rows)) {
		return list_rows(&c->papers, cli_json(o));
	}
	if (c->papers.run == PAPER_RUN_NOTHING) {
		return show_kept(c, folder);
	}
	if (cli_number(o, CLI_engine) == SWEEP_SLURM) {
		NVW_TRY(sweep_slurm_find());
	}
	c->has_gnuplot = plot_find_gnuplot() == 0;
	NVW_TRY(run_all(c, folder));
	return report_rows(c, folder);
}

static int reproduce(struct cli_options *o)
{
	const bool is_local = cli_number(o, CLI_engine) == SWEEP_LOCAL;
	struct reproduce_command c = {.given = *o};

	NVW_TRY(cli_options_check_use(o, cli_at(CLI_AT_LIST, cli_given(o, CLI_list_rows)) |
						 cli_at(CLI_AT_KEPT, cli_given(o, CLI_kept_rows)) |
						 cli_at(CLI_AT_LOCAL, is_local) |
						 cli_at(CLI_AT_LONG, cli_given(o, CLI_long_rows)) |
						 cli_at(CLI_AT_SENSITIVITY, cli_given(o, CLI_sensitivity))));
	c.folder = papers_folder(o);
	const int result = reproduce_rows(&c);

	papers_end(&c.papers);
	free(c.folder);
	return result;
}

const struct cli_command cmd_reproduce = {.main = cli_run_command,
	.help = "nvwave reproduce [ID|PAPER...] [options]\n\n"
		"Runs what published results need (all of them, rows by their ID, or those of a "
		"paper), judges each row, and\n"
		"writes a page with the papers' values beside ours. Exit status 1: a row that agreed "
		"no longer does,\n"
		"or, with --short, a row moved.\n",
	.run = reproduce};
