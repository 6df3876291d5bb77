/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave sweep: points of a command over axes, as rows of one table. See sweep.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "core/stop.h"
#include "report/provenance.h"
#include "session.h"
#include "laboratory/sweep.h"

struct counts {
	unsigned ok, wrong, failed, known;
};

struct sweep_command {
	struct cli_options given;
	struct sweep sweep;
	struct sweep_journal journal;
	char *output; /* names of files without their ends */
	json_t *summary;
	struct counts counts;
	double seconds;
};

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- Names --------------------------------------------------------------------------------- */

/* The first argument, if it is no axis. */
static const char *file_of(const struct cli_options *o)
{
	return o->argument_count && !strchr(o->argument[0], '=') ? o->argument[0] : NULL;
}

/* --output, else the file's name without .ini in this folder, else "sweep". */
static char *output_of(const struct cli_options *o)
{
	const char *const file = file_of(o), *const slash = file ? strrchr(file, '/') : NULL;
	const char *const name = slash ? slash + 1 : file ? file : "sweep";
	const size_t n = strlen(name), cut = n > 4 && !strcmp(name + n - 4, ".ini") ? 4 : 0;

	return cli_given(o, CLI_sweep_output) ? strdup(cli_text(o, CLI_sweep_output)) :
						strndup(name, n - cut);
}

/* The output with an end; freed by the caller. */
static char *name_of(const struct sweep_command *c, const char *end)
{
	char *name;

	return asprintf(&name, "%s%s", c->output, end) < 0 ? NULL : name;
}

/* ---- Files --------------------------------------------------------------------------------- */

static int write_summary(const struct sweep_command *c, const char *path)
{
	return sweep_write_summary(&c->sweep, c->summary, path);
}

static int write_csv(const struct sweep_command *c, const char *path)
{
	return sweep_write_csv(&c->sweep, path);
}

static int write_lines(const struct sweep_command *c, const char *path)
{
	return sweep_write_json_lines(&c->sweep, path);
}

static int write_file(const struct sweep_command *c, const char *end,
	int (*write_to)(const struct sweep_command *, const char *))
{
	char *const name = name_of(c, end);
	const int r = name ? write_to(c, name) : nvw_fail(NVW_E_MEMORY, "no memory for a file name");

	free(name);
	return r;
}

/* ---- The report ---------------------------------------------------------------------------- */

static void count(struct sweep_command *c)
{
	for (unsigned i = 0; i < c->sweep.count; i++) {
		const char *const status =
			json_string_value(json_object_get(c->sweep.point[i].row, "status"));

		c->counts.ok += !strcmp(status, "ok");
		c->counts.wrong += !strcmp(status, "wrong");
		c->counts.failed += strcmp(status, "ok") != 0 && strcmp(status, "wrong") != 0;
		c->counts.known += c->sweep.point[i].is_known;
	}
}

static void print_means(const struct sweep_command *c)
{
	json_t *mean;
	size_t i;

	json_array_foreach(json_object_get(c->summary, "geometric_means"), i, mean)
	{
		printf("%s%s relative to %s: %s %.4g, geometric mean of %lld (%.4g to %.4g)\n", i ? "" : "\n",
			json_string_value(json_object_get(mean, "metric")), c->sweep.baseline.text,
			json_string_value(json_object_get(mean, "points")),
			json_real_value(json_object_get(mean, "geometric_mean")),
			(long long)json_integer_value(json_object_get(mean, "groups")),
			json_real_value(json_object_get(mean, "least")),
			json_real_value(json_object_get(mean, "most")));
	}
}

static void print_failures(const struct sweep_command *c)
{
	unsigned shown = 0;

	for (unsigned i = 0; i < c->sweep.count; i++) {
		const struct sweep_point *const p = &c->sweep.point[i];
		const char *const status = json_string_value(json_object_get(p->row, "status"));

		if (strcmp(status, "ok") != 0 && shown++ < 10) {
			char *const text = sweep_point_text(&c->sweep, p);

			printf("%s: %s: %s\n", status, text ? text : "",
				json_string_value(json_object_get(p->row, "reason")));
			free(text);
		}
	}
	if (shown > 10) {
		printf("and %u more, in %s.csv\n", shown - 10, c->output);
	}
}

static void print_report(const struct sweep_command *c)
{
	const struct counts *const n = &c->counts;

	printf("%u points: %u ok, %u wrong, %u without a result; %.1f s\n", c->sweep.count, n->ok, n->wrong,
		n->failed, c->seconds);
	if (n->known) {
		printf("%u of them unchanged, taken from %s.journal; --fresh runs them again\n", n->known,
			c->output);
	}
	print_failures(c);
	printf("written: %s.csv, %s.jsonl, %s.summary.csv\n", c->output, c->output, c->output);
	print_means(c);
}

static void print_json(const struct sweep_command *c)
{
	json_t *const report = json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:s}", "points", (int)c->sweep.count,
		"ok", (int)c->counts.ok, "wrong", (int)c->counts.wrong, "without_result",
		(int)c->counts.failed, "unchanged", (int)c->counts.known, "host_seconds", c->seconds,
		"output", c->output);

	json_object_update(report, c->summary);
	json_object_set_new(report, "made_by", cli_provenance(NULL, NULL));
	json_dumpf(report, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(report);
}

/* ---- The command --------------------------------------------------------------------------- */

static void print_words(const struct sweep_words *words)
{
	fputs("nvwave", stdout);
	for (int i = 0; i < words->count - 1; i++) {
		putchar(' ');
		cli_print_quoted(words->word[i], stdout);
	}
	putchar('\n');
}

/* The command line of every point, as it can be pasted into a shell; with JSON, a list of lists of words. */
static int list_points(const struct sweep *s, bool json)
{
	json_t *const all = json_array();
	int r = 0;

	for (unsigned i = 0; i < s->count && r == 0; i++) {
		struct sweep_words words;
		json_t *const point = json_array();

		r = sweep_words(s, &s->point[i], &words);
		for (int k = 0; r == 0 && k < words.count - 1; k++) {
			json_array_append_new(point, json_string(words.word[k]));
		}
		json_array_append_new(all, point);
		if (r == 0 && !json) {
			print_words(&words);
		}
		sweep_words_end(&words);
	}
	if (r == 0 && json) {
		json_dumpf(all, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(all);
	return r;
}

static int open_journal(struct sweep_command *c)
{
	char *const path = name_of(c, ".journal");
	const int r =
		path ? sweep_journal_open(&c->sweep, path, cli_given(&c->given, CLI_fresh), &c->journal) :
		       nvw_fail(NVW_E_MEMORY, "no memory for a file name");

	free(path);
	return r;
}

/* The folder; what is known but has no report there is not known. */
static int prepare_reports(struct sweep_command *c, const char *folder)
{
	if (mkdir(folder, 0777) && errno != EEXIST) {
		return nvw_fail_errno("%s", folder);
	}
	for (unsigned i = 0; i < c->sweep.count; i++) {
		struct sweep_point *const p = &c->sweep.point[i];
		char *const path = sweep_report_path(&c->sweep, p, folder);

		if (p->row && (!path || access(path, R_OK))) {
			json_decref(p->row);
			p->row = NULL;
			p->is_known = false;
		}
		free(path);
	}
	return 0;
}

static int run_points(struct sweep_command *c)
{
	const struct sweep_manner manner = {.jobs = cli_given(&c->given, CLI_sweep_jobs) ?
							    (unsigned)cli_number(&c->given, CLI_sweep_jobs) :
							    sweep_processors(),
		.timeout_ms = cli_number(&c->given, CLI_point_timeout),
		.progress = isatty(STDERR_FILENO),
		.engine = (enum sweep_engine)cli_number(&c->given, CLI_engine),
		.reports = cli_text(&c->given, CLI_reports),
		.sbatch = cli_text(&c->given, CLI_sbatch),
		.tasks = (unsigned)cli_number(&c->given, CLI_array)};
	const double began = seconds_now();
	int r = open_journal(c);

	r = r || !manner.reports ? r : prepare_reports(c, manner.reports);
	r = r ? r : sweep_run(&c->sweep, &manner, &c->journal);
	c->seconds = seconds_now() - began;
	return r == NVW_E_STOPPED ?
		       nvw_fail(r,
			       "%s; what has been run is in %s.journal, and the same command goes on from there",
			       nvw_error_message(), c->output) :
		       r;
}

static int report(struct sweep_command *c)
{
	int r = write_file(c, ".csv", write_csv);

	r = r ? r : write_file(c, ".jsonl", write_lines);
	r = r ? r : sweep_summarise(&c->sweep, &c->summary);
	r = r ? r : write_file(c, ".summary.csv", write_summary);
	if (r == 0) {
		count(c);
		(cli_json(&c->given) ? print_json : print_report)(c);
	}
	return r;
}

static int sweep(struct sweep_command *c)
{
	int r = cli_number(&c->given, CLI_engine) == SWEEP_SLURM ? sweep_slurm_find() : 0;

	r = r ? r : sweep_read(&c->sweep, file_of(&c->given), &c->given);
	r = r ? r : sweep_check(&c->sweep);
	if (r || cli_given(&c->given, CLI_points)) {
		return r ? r : list_points(&c->sweep, cli_json(&c->given));
	}
	c->output = output_of(&c->given);
	r = c->output ? run_points(c) : nvw_fail(NVW_E_MEMORY, "no memory for a file name");
	return r ? r : report(c);
}

static void print_help(void)
{
	puts("nvwave sweep [FILE] [NAME=VALUE,VALUE... ...] [options]\n\n"
	     "Runs a command at every point of axes: its options, its workload's options, keys of the machine\n"
	     "(nvram.write=250ns,500ns), workload, machine, protocol, model, seed=1..3, size=64..4096*2. FILE is an INI\n"
	     "file with the sections [sweep] (command, baseline, exclude, metrics) and [axes]; words replace its axes.\n");
	cli_options_help("sweep");
}

int cmd_sweep(int argc, char **argv)
{
	struct sweep_command c = {.journal = {.fd = -1}};
	int r = cli_options_parse(&c.given, false, argc, argv);

	if (r == 0 && cli_given(&c.given, CLI_help)) {
		print_help();
		cli_options_end(&c.given);
		return STATUS_CLEAN;
	}
	r = r ? r :
		cli_options_check_use(
			&c.given, (cli_given(&c.given, CLI_points) ? UINT64_C(1) << CLI_AT_POINTS : 0) |
					  (cli_number(&c.given, CLI_engine) == SWEEP_LOCAL ?
							  UINT64_C(1) << CLI_AT_LOCAL :
							  0));
	r = r ? r :
	    cli_given(&c.given, CLI_task) ?
		sweep_slurm_task(cli_text(&c.given, CLI_task), cli_number(&c.given, CLI_point_timeout)) :
		sweep(&c);
	sweep_journal_close(&c.journal);
	sweep_end(&c.sweep);
	json_decref(c.summary);
	free(c.output);
	cli_options_end(&c.given);
	return r < 0 ? cli_fail() : c.counts.wrong || c.counts.failed ? STATUS_INCONSISTENT : STATUS_CLEAN;
}
