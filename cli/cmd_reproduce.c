/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave reproduce: published results, run again and judged. See paper.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "laboratory/paper.h"
#include "laboratory/plot.h"
#include "report/provenance.h"
#include "session.h"

struct reproduce_command {
	struct cli_options given;
	struct papers papers;
	char *folder; /* of the published results */
	bool has_gnuplot;
	unsigned lost;
};

/* --papers; else beside the installed program; else where the program was built from. */
static char *papers_folder(const struct cli_options *o)
{
	char self[4096], *path = NULL;
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (cli_given(o, CLI_papers)) {
		return strdup(cli_text(o, CLI_papers));
	}
	self[n > 0 ? n : 0] = 0;
	char *const slash = strrchr(self, '/');

	if (slash) {
		*slash = 0;
	}
	if (asprintf(&path, "%s/../share/nvwave/papers", self) >= 0 && access(path, R_OK) == 0) {
		return path;
	}
	free(path);
	return asprintf(&path, "%s/papers", NVWAVE_SOURCE_ROOT) < 0 ? NULL : path;
}

/* ---- The list ------------------------------------------------------------------------------ */

static json_t *row_json(const struct paper_row *row, bool is_list)
{
	char name[256], number[PAPER_NUMBER_BYTES];
	json_t *const o = json_object();

	paper_row_name(row, name, sizeof name);
	json_object_set_new(o, "row", json_string(name));
	json_object_set_new(o, "published_in", json_string(row->paper));
	json_object_update_missing(o, row->keys);
	if (row->is_kept) {
		json_object_set_new(o, "kept", json_string(paper_verdict_text(row->kept)));
	}
	if (!is_list) {
		json_object_set_new(o, "judgement", json_string(paper_verdict_text(row->verdict)));
		json_object_set_new(o, "remark", json_string(row->judgement));
		json_object_set_new(o, "no_longer_agrees", json_boolean(paper_is_lost(row)));
	}
	if (!is_list && row->here.count) {
		paper_number_text(&row->here, row->measure.form, number);
		json_object_set_new(o, "here", json_string(number));
		json_object_set_new(o, "mean", json_real(row->here.mean));
		json_object_set_new(o, "least", json_real(row->here.least));
		json_object_set_new(o, "most", json_real(row->here.most));
		json_object_set_new(o, "seeds", json_integer(row->here.count));
	}
	return o;
}

static void print_json(const struct papers *p, bool is_list)
{
	json_t *const all = json_array();

	for (unsigned i = 0; i < p->row_count; i++) {
		if (p->row[i].wanted) {
			json_array_append_new(all, row_json(&p->row[i], is_list));
		}
	}
	json_t *const report = json_pack("{s:o, s:o}", "rows", all, "made_by", cli_provenance(NULL, NULL));

	json_dumpf(report, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(report);
}

static void print_published(const struct paper_row *row)
{
	const char *const paper = paper_text(row->keys, "paper"), *const unit = paper_text(row->keys, "unit");
	char name[256];

	paper_row_name(row, name, sizeof name);
	printf("%-18s %-10s %-14s %-12s %-7s %s\n", name, row->paper, paper_text(row->keys, "in"),
		paper ? paper : "", unit ? unit : "", paper_text(row->keys, "what"));
	printf("%-18s %s\n", "",
		row->is_kept                    ? paper_verdict_text(row->kept) :
		paper_text(row->keys, "cannot") ? "cannot be judged" :
						  "no judgement is kept");
}

/* ---- The report ---------------------------------------------------------------------------- */

static void print_row(const struct paper_row *row)
{
	char name[256], number[PAPER_NUMBER_BYTES], published[64] = "";
	const bool changed = row->is_kept && row->kept != row->verdict;

	paper_row_name(row, name, sizeof name);
	paper_number_text(&row->here, row->measure.form, number);
	if (row->measured) {
		paper_interval_text(&row->published, published, sizeof published);
	}
	printf("%-18s %-14s %-26s %s%s%s%s\n", name, published, number, paper_verdict_text(row->verdict),
		changed ? "; kept: " : "", changed ? paper_verdict_text(row->kept) : "",
		paper_is_lost(row) ? ": NO LONGER AGREES" : "");
	if (row->measured && row->here.count == 0) {
		printf("%-18s %s\n", "", row->here.reason);
	}
}

static void print_report(const struct reproduce_command *c, const char *folder)
{
	const struct papers *const p = &c->papers;
	unsigned points = 0, known = 0;

	for (unsigned i = 0; i < p->sweep_count; i++) {
		points += p->sweep[i]->sweep.count;
		known += p->sweep[i]->known;
	}
	printf("%-18s %-14s %-26s judgement\n", "row", "paper", "here: mean (least, most)");
	for (unsigned i = 0; i < p->row_count; i++) {
		if (p->row[i].wanted) {
			print_row(&p->row[i]);
		}
	}
	printf("%u points, %u of them unchanged since an earlier run; seeds 1 to %u\n", points, known,
		p->seeds);
	json_t *const made_by = cli_provenance(NULL, NULL);

	cli_print_provenance(made_by, stdout);
	json_decref(made_by);
	printf("written: %s/index.html, %s/results.md%s\n", folder, folder,
		c->has_gnuplot ? "" : ", without figures: there is no gnuplot");
	if (c->lost) {
		printf("%u rows that agreed no longer do\n", c->lost);
	}
}

/* ---- The command --------------------------------------------------------------------------- */

static int run_sweep(struct reproduce_command *c, struct paper_sweep *s, const char *folder)
{
	const struct sweep_manner manner = {.jobs = cli_given(&c->given, CLI_sweep_jobs) ?
							    (unsigned)cli_number(&c->given, CLI_sweep_jobs) :
							    sweep_processors(),
		.timeout_ms = cli_number(&c->given, CLI_point_timeout),
		.progress = isatty(STDERR_FILENO),
		.engine = (enum sweep_engine)cli_number(&c->given, CLI_engine),
		.sbatch = cli_text(&c->given, CLI_sbatch),
		.tasks = (unsigned)cli_number(&c->given, CLI_array)};
	char *path = NULL;
	int r = asprintf(&path, "%s/%s.journal", folder, s->name) < 0 ?
			nvw_fail(NVW_E_MEMORY, "no memory for a file name") :
			sweep_journal_open(&s->sweep, path, cli_given(&c->given, CLI_fresh), &s->journal);

	for (unsigned i = 0; r == 0 && i < s->sweep.count; i++) {
		s->known += s->sweep.point[i].is_known;
	}
	if (r == 0 && manner.progress) {
		fprintf(stderr, "%s: %u points\n", s->name, s->sweep.count);
	}
	r = r ? r : sweep_run(&s->sweep, &manner, &s->journal);
	free(path);
	return r == NVW_E_STOPPED ?
		       nvw_fail(r, "%s; what has been run is in %s, and the same command goes on from there",
			       nvw_error_message(), folder) :
		       r;
}

static int run_all(struct reproduce_command *c, const char *folder)
{
	struct papers *const p = &c->papers;
	int r = 0;

	for (unsigned i = 0; i < p->sweep_count && r == 0; i++) {
		r = sweep_check(&p->sweep[i]->sweep);
	}
	if (r == 0 && mkdir(folder, 0777) && errno != EEXIST) {
		r = nvw_fail_errno("%s", folder);
	}
	for (unsigned i = 0; i < p->sweep_count && r == 0; i++) {
		r = run_sweep(c, p->sweep[i], folder);
	}
	return r;
}

static int judge(struct reproduce_command *c, const char *folder)
{
	struct papers *const p = &c->papers;
	int r = papers_read_kept(p);

	papers_judge(p);
	for (unsigned i = 0; i < p->row_count; i++) {
		c->lost += p->row[i].wanted && paper_is_lost(&p->row[i]);
	}
	r = r ? r : papers_write(p, folder, c->has_gnuplot);
	if (r == 0 && cli_json(&c->given)) {
		print_json(p, false);
	} else if (r == 0) {
		print_report(c, folder);
	}
	return r == 0 && cli_given(&c->given, CLI_keep) ? papers_keep(p) : r;
}

static int list(struct papers *p, bool json)
{
	const int r = papers_read_kept(p);

	if (r == 0 && json) {
		print_json(p, true);
	}
	for (unsigned i = 0; r == 0 && !json && i < p->row_count; i++) {
		if (p->row[i].wanted) {
			print_published(&p->row[i]);
		}
	}
	return r;
}

static int reproduce(struct reproduce_command *c)
{
	const struct cli_options *const o = &c->given;
	const char *const folder =
		cli_given(o, CLI_reproduce_output) ? cli_text(o, CLI_reproduce_output) : "reproduce";
	int r = c->folder ? papers_read(c->folder, &c->papers) :
			    nvw_fail(NVW_E_MEMORY, "no memory for a file name");

	r = r ? r : papers_choose(&c->papers, o->argument, o->argument_count, cli_given(o, CLI_short_rows));
	r = r ? r : papers_open(&c->papers, cli_text(o, CLI_data), (unsigned)cli_number(o, CLI_seeds));
	if (r || cli_given(o, CLI_list_rows)) {
		return r ? r : list(&c->papers, cli_json(o));
	}
	r = cli_number(o, CLI_engine) == SWEEP_SLURM ? sweep_slurm_find() : 0;
	if (r < 0) {
		return r;
	}
	c->has_gnuplot = plot_find_gnuplot() == 0;
	r = run_all(c, folder);
	return r ? r : judge(c, folder);
}

static void print_help(void)
{
	puts("nvwave reproduce [ID|PAPER...] [options]\n\n"
	     "Runs what published results need (all of them, rows by their ID, or those of a paper), judges each row, and\n"
	     "writes a page with the papers' values beside ours. Exit status 1: a row that agreed no longer does.\n");
	cli_options_help("reproduce");
}

int cmd_reproduce(int argc, char **argv)
{
	struct reproduce_command c = {.folder = NULL};
	int r = cli_options_parse(&c.given, false, argc, argv);

	if (r == 0 && cli_given(&c.given, CLI_help)) {
		print_help();
		cli_options_end(&c.given);
		return STATUS_CLEAN;
	}
	r = r ? r :
		cli_options_check_use(
			&c.given, (cli_given(&c.given, CLI_list_rows) ? UINT64_C(1) << CLI_AT_LIST : 0) |
					  (cli_number(&c.given, CLI_engine) == SWEEP_LOCAL ?
							  UINT64_C(1) << CLI_AT_LOCAL :
							  0));
	c.folder = r ? NULL : papers_folder(&c.given);
	r = r ? r : reproduce(&c);
	papers_end(&c.papers);
	free(c.folder);
	cli_options_end(&c.given);
	return r < 0 ? cli_fail() : c.lost ? STATUS_INCONSISTENT : STATUS_CLEAN;
}
