/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave sweep: points of a command over axes, as rows of one table. See sweep.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <crashtest/judge/process.h>

#include "commands.h"
#include "core/invariant.h"
#include "core/member.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "session.h"
#include "laboratory/confidence.h"
#include "laboratory/sweep.h"
#include "report/words.h"

struct counts {
	unsigned ok, wrong, failed, known;
};

struct sweep_command {
	struct cli_options given;
	struct sweep sweep;
	struct sweep_journal journal;
	char *output;           /* names of files without their ends */
	unsigned shard, shards; /* 0: all points */
	unsigned journals;      /* to merge: the last arguments */
	struct counts counts;
	double seconds;
};

/* ---- Names --------------------------------------------------------------------------------------- */

/* The first argument, if it is no axis. */
static const char *file_of(const struct cli_options *o)
{
	return o->argument_count && !strchr(o->argument[0], '=') ? o->argument[0] : NULL;
}

/* --output, else the file's name without .ini in this folder, else "sweep". */
static char *without_end(const char *name)
{
	const size_t n = strlen(name);

	if (n > 4 && !strcmp(name + n - 4, ".ini")) {
		return strndup(name, n - 4);
	}
	return strdup(name);
}

static char *output_of(const struct cli_options *o)
{
	const char *const file = file_of(o);

	if (cli_given(o, CLI_sweep_output)) {
		return strdup(cli_text(o, CLI_sweep_output));
	}
	if (!file) {
		return strdup("sweep");
	}
	return without_end(basename(file));
}

/* FILE.IofN: of a shard. */
static char *name_of_shard(const struct sweep_command *c, const char *base)
{
	NVW_INVARIANT(c->shard >= 1 && c->shard <= c->shards);
	return text_made("%s.%uof%u", base, c->shard, c->shards);
}

static int name_output(struct sweep_command *c)
{
	char *const base = output_of(&c->given);

	c->output = base;
	if (base && c->shards) {
		c->output = name_of_shard(c, base);
		free(base);
	}
	NVW_ALLOCATED(c->output, "no memory for a file name");
	return 0;
}

/* What is done with the file of the output's name and this end. */
static int with_file(
	struct sweep_command *c, const char *end, int (*work)(const struct sweep *sweep, const char *path))
{
	char *const path = text_made("%s%s", c->output, end);

	NVW_ALLOCATED(path, "no memory for a file name");
	const int r = work(&c->sweep, path);

	free(path);
	return r;
}

/* ---- The report ---------------------------------------------------------------------------------- */

static void count_point(struct sweep_command *c, const struct sweep_point *point)
{
	const char *const status = member_string(point->row, "status");
	const bool ok = !strcmp(status, "ok"), wrong = !strcmp(status, "wrong");

	c->counts.ok += ok;
	c->counts.wrong += wrong;
	c->counts.failed += !ok && !wrong;
	c->counts.known += point->is_known;
}

static void count_points(struct sweep_command *c)
{
	NVW_EACH(point, c->sweep.point, c->sweep.count) {
		count_point(c, point);
	}
	NVW_INVARIANT(c->counts.ok + c->counts.wrong + c->counts.failed == c->sweep.count);
}

static void print_mean(const struct sweep_command *c, const json_t *mean)
{
	const json_t *const half = json_object_get(mean, "confidence_95");
	const struct confidence ratio = {
		member_real(mean, "geometric_mean"), json_is_real(half) ? json_real_value(half) : NAN};
	const long long groups = member_number(mean, "groups");
	char text[CONFIDENCE_TEXT];

	printf("%s relative to %s: %s %s times", member_string(mean, "metric"), c->sweep.baseline.text,
		member_string(mean, "points"), confidence_text(ratio, text));
	if (groups > 1) {
		printf(", geometric mean of %lld (%.4g to %.4g)", groups, member_real(mean, "least"),
			member_real(mean, "most"));
	}
	putchar('\n');
}

static void print_means(const struct sweep_command *c)
{
	json_t *const means = json_object_get(c->sweep.summary, "geometric_means");

	if (json_array_size(means)) {
		puts("\nmeans over the seeds, ± 95 % confidence (Student's t)");
	}
	JSON_EACH(mean, means) {
		print_mean(c, mean);
	}
}

static void print_failure(const struct sweep_command *c, const struct sweep_point *p, const char *status)
{
	char *const text = sweep_point_text(&c->sweep, p);

	printf("%s: %s: %s\n", status, words_or(text, ""), member_string(p->row, "reason"));
	free(text);
}

static void print_failures(const struct sweep_command *c)
{
	unsigned shown = 0;

	NVW_EACH(p, c->sweep.point, c->sweep.count) {
		const char *const status = member_string(p->row, "status");

		if (strcmp(status, "ok") != 0 && shown++ < 10) {
			print_failure(c, p, status);
		}
	}
	if (shown > 10) {
		printf("and %u more, in %s.csv\n", shown - 10, c->output);
	}
}

static int print_text(const struct sweep_command *c)
{
	const struct counts *const n = &c->counts;

	NVW_INVARIANT(c->shard <= c->shards);
	printf("%u points: %u ok, %u wrong, %u without a result; %.1f s\n", c->sweep.count, n->ok, n->wrong,
		n->failed, c->seconds);
	if (n->known) {
		printf("%u of them unchanged, taken from %s.journal; --fresh runs them again\n", n->known,
			c->output);
	}
	print_failures(c);
	printf("written: %s.csv, .jsonl, %s.host.csv\n", c->output, words_if(!c->shards, ".summary.csv, "));
	if (c->shards) {
		printf("shard %u of %u; nvwave sweep --merge makes the tables of all\n", c->shard, c->shards);
	}
	print_means(c);
	return 0;
}

static int print_json(const struct sweep_command *c)
{
	json_t *const report = json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:s}", "points", (int)c->sweep.count,
		"ok", (int)c->counts.ok, "wrong", (int)c->counts.wrong, "without_result",
		(int)c->counts.failed, "unchanged", (int)c->counts.known, "host_seconds", c->seconds,
		"output", c->output);

	json_object_update(report, c->sweep.summary);
	json_object_set_new(report, "made_by", cli_provenance(NULL, NULL));
	return cli_print_json(report, stdout);
}

/* ---- The command --------------------------------------------------------------------------------- */

static void print_words(const struct sweep_words *words)
{
	NVW_INVARIANT(words->count > 0);
	fputs("nvwave", stdout);
	NVW_EACH(word, words->word, words->count - 1) {
		putchar(' ');
		cli_print_quoted(*word, stdout);
	}
	putchar('\n');
}

/* The command line of every point, as it can be pasted into a shell; with JSON, a list of lists of words. */
static json_t *words_json(const struct sweep_words *words)
{
	NVW_INVARIANT(words->count > 0);
	return JSON_LIST(word, words->word, words->count - 1, json_string(*word));
}

/* The command line of every point, as it can be pasted into a shell; with JSON, a list of lists of words. */
static int list_points(const struct sweep *s, bool json)
{
	json_t *const all = json_array();
	int r = 0;

	for (unsigned i = 0; i < s->count && r == 0; i++) {
		struct sweep_words words;

		r = sweep_words(s, &s->point[i], &words);
		if (r == 0 && json) {
			json_array_append_new(all, words_json(&words));
		} else if (r == 0) {
			print_words(&words);
		}
		sweep_words_end(&words);
	}
	if (r == 0 && json) {
		return cli_print_json(all, stdout);
	}
	json_decref(all);
	return r;
}

static void forget_unreported(const char *folder, struct sweep_point *p)
{
	char *const path = sweep_report_path(p, folder);

	if (p->row && (!path || access(path, R_OK))) {
		json_decref(p->row);
		p->row = NULL;
		p->is_known = false;
	}
	free(path);
}

/* The folder; what is known but has no report there is not known. */
static int prepare_reports(struct sweep_command *c, const char *folder)
{
	NVW_FAIL_ERRNO_IF(mkdir(folder, 0777) && errno != EEXIST, "%s", folder);
	NVW_EACH(p, c->sweep.point, c->sweep.count) {
		forget_unreported(folder, p);
	}
	return 0;
}

static int run_points(struct sweep_command *c)
{
	struct sweep_manner manner = cli_manner(&c->given);
	const double began = ct_wall_seconds();

	NVW_INVARIANT(c->sweep.count > 0);
	manner.reports = cli_text(&c->given, CLI_reports);
	NVW_TRY(sweep_journal_open(&c->sweep, text_made("%s.journal", c->output), manner.fresh, &c->journal));
	if (manner.reports) {
		NVW_TRY(prepare_reports(c, manner.reports));
	}
	const int r = sweep_run(&c->sweep, &manner, &c->journal);

	c->seconds = ct_wall_seconds() - began;
	NVW_FAIL_IF(r == NVW_E_STOPPED, r,
		"%s; what has been run is in %s.journal, and the same command goes on from there",
		nvw_error_message(), c->output);
	return r;
}

/* ---- Shards -------------------------------------------------------------------------------------- */

static bool is_journal(const char *argument)
{
	const char *const end = strrchr(argument, '.');

	return end && !strcmp(end, ".journal") && !strchr(argument, '=');
}

/* The arguments of --merge that are journals come behind those that name the sweep. */
static int take_journals(struct sweep_command *c)
{
	struct cli_options *const o = &c->given;

	while (o->argument_count && is_journal(o->argument[o->argument_count - 1])) {
		o->argument_count--;
		c->journals++;
	}
	NVW_FAIL_IF(!c->journals, NVW_E_USAGE,
		"--merge: expected the sweep, and behind it the journals of all shards");
	return 0;
}

/* The first point that no shard has a row of. */
static int check_whole(const struct sweep_command *c)
{
	const struct sweep *const s = &c->sweep;
	unsigned missing = 0, first = 0;

	NVW_INVARIANT(c->journals > 0);
	for (unsigned i = s->count; i-- > 0;) {
		if (!s->point[i].row) {
			missing++;
			first = i;
		}
	}
	if (!missing) {
		return 0;
	}
	char *const text = sweep_point_text(s, &s->point[first]);
	const int r = nvw_fail(NVW_E_INPUT,
		"--merge: %u of %u points are missing, the first is %s: expected the journals of all shards",
		missing, s->count, words_or(text, "unknown"));

	free(text);
	return r;
}

static int merge_journals(struct sweep_command *c)
{
	const char *const *const journal = c->given.argument + c->given.argument_count;

	NVW_EACH(one, journal, c->journals) {
		NVW_TRY(sweep_journal_merge(&c->sweep, *one));
	}
	return check_whole(c);
}

static int take_parts(struct sweep_command *c)
{
	if (cli_given(&c->given, CLI_merge)) {
		NVW_TRY(take_journals(c));
	}
	return cli_take_shard(&c->given, &c->shard, &c->shards);
}

/* ---- All of it ----------------------------------------------------------------------------------- */

static int write_and_print(struct sweep_command *c)
{
	NVW_TRY(with_file(c, ".csv", sweep_write_csv));
	NVW_TRY(with_file(c, ".jsonl", sweep_write_json_lines));
	NVW_TRY(with_file(c, ".host.csv", sweep_write_host));
	if (!c->shards) { /* a baseline may be in another shard */
		NVW_TRY(sweep_summarise(&c->sweep));
		NVW_TRY(with_file(c, ".summary.csv", sweep_write_summary));
	}
	count_points(c);
	NVW_TRY(cli_json(&c->given) ? print_json(c) : print_text(c));
	if (c->counts.wrong || c->counts.failed) {
		return NVW_E_INCONSISTENT;
	}
	return 0;
}

static int sweep_points(struct sweep_command *c)
{
	const struct cli_options *const o = &c->given;

	if (cli_number(o, CLI_engine) == SWEEP_SLURM) {
		NVW_TRY(sweep_slurm_find());
	}
	NVW_TRY(sweep_read(&c->sweep, file_of(o), o));
	NVW_TRY(sweep_check(&c->sweep));
	if (c->shards) {
		NVW_TRY(sweep_keep_shard(&c->sweep, c->shard, c->shards));
	}
	if (cli_given(o, CLI_points)) {
		return list_points(&c->sweep, cli_json(o));
	}
	NVW_TRY(name_output(c));
	if (!cli_given(o, CLI_overwrite)) {
		NVW_TRY(with_file(c, ".csv", sweep_check_former));
	}
	NVW_TRY(c->journals ? merge_journals(c) : run_points(c));
	return write_and_print(c);
}

static int sweep(struct cli_options *o)
{
	const bool is_local = cli_number(o, CLI_engine) == SWEEP_LOCAL;
	struct sweep_command c = {.given = *o, .journal = {.fd = -1}};

	NVW_TRY(cli_options_check_use(o, cli_at(CLI_AT_POINTS, cli_given(o, CLI_points)) |
						 cli_at(CLI_AT_LOCAL, is_local) |
						 cli_at(CLI_AT_MERGE, cli_given(o, CLI_merge))));
	if (cli_given(o, CLI_task)) {
		return sweep_slurm_task(cli_text(o, CLI_task), cli_number(o, CLI_point_timeout));
	}
	int result = take_parts(&c);

	if (result == 0) {
		result = sweep_points(&c);
	}
	sweep_journal_close(&c.journal);
	sweep_end(&c.sweep);
	free(c.output);
	return result;
}

const struct cli_command cmd_sweep = {.main = cli_run_command,
	.help = "nvwave sweep [FILE] [NAME=VALUE,VALUE... ...] [options]\n\n"
		"Runs a command at every point of axes: its options, its workload's options, keys of "
		"the machine\n"
		"(nvram.write=250ns,500ns), workload, machine, protocol, model, seed=1..3, "
		"size=64..4096*2. FILE is an INI\n"
		"file with the sections [sweep] (command, baseline, exclude, metrics) and [axes]; "
		"words replace its axes.\n",
	.run = sweep};
