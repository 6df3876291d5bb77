/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sweep: points of a command over axes. docs/sweeps.md has the user's view.
 *
 *	sweep_read.c    file and command line -> axes, rules, points
 *	sweep_axis.c    the value of an axis at a point
 *	sweep_rule.c    terms that hold at a point or not
 *	sweep_bundle.c  values that stand for several options
 *	sweep_point.c   a point's command line; identified by a hash of all that its result depends on
 *	sweep_check.c   and checked
 *	sweep_metrics.c with the names of the summary's columns
 *	sweep_former.c  a table that is there already is not another sweep's
 *	sweep_journal.c results that are known, in a file that survives the end of the process at any instant
 *	sweep_engine.c  who runs the other points
 *	sweep_run.c     the other points, as processes side by side
 *	sweep_slurm.c   or as tasks of a job array (slurm_job.h), which other commands use as well (spread.h)
 *	sweep_rows.c    CSV and JSON lines: a row per point, in the order of the points
 *	sweep_summary.c means and medians over seeds, ratios to the baseline, geometric means
 */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <config/config.h>
#include <jansson.h>

#include "../options.h"

enum {
	SWEEP_AXES_MAX = 32,
	SWEEP_TERMS_MAX = 8,
	SWEEP_RULES_MAX = 64,
	SWEEP_BUNDLE_MAX = 8,
	SWEEP_WORDS_MAX = 96,
	SWEEP_POINTS_MAX = 1000000,
	SWEEP_KEY_BYTES = 33 /* 128 bits in hexadecimal, and a 0 byte */
};

struct sweep_axis {
	char *name;
	char **value;
	unsigned count, room;
	bool from_words; /* on the command line, which replaces the file's */
};

/* NAME OP VALUE[|VALUE...], or NAME OP NAME of another axis. */
struct sweep_term {
	unsigned axis;
	int other; /* an axis; -1: text */
	char op[3];
	char *text;
};

struct sweep_rule {
	char *text;
	struct sweep_term term[SWEEP_TERMS_MAX]; /* all of them hold */
	unsigned count;
};

/* A section [AXIS VALUE]: the options that the value stands for. */
struct sweep_bundle {
	char *axis, *value;
	char *name[SWEEP_BUNDLE_MAX], *text[SWEEP_BUNDLE_MAX];
	unsigned count;
};

struct sweep_point {
	uint32_t choice[SWEEP_AXES_MAX]; /* the value of each axis */
	unsigned number;                 /* from 1, of the whole sweep */
	char key[SWEEP_KEY_BYTES];
	json_t *row;   /* {"status", "reason", "seconds", "values": {...}}; NULL: not known yet */
	bool is_known; /* from the journal */
};

struct sweep {
	const char *where; /* file, or "sweep" */
	char *command;
	char *metrics; /* "sim_time, nvram.writes"; NULL: the command's default */
	struct sweep_axis axis[SWEEP_AXES_MAX];
	unsigned axis_count;
	struct sweep_rule exclude[SWEEP_RULES_MAX];
	unsigned exclude_count;
	struct sweep_rule baseline; /* count 0: none */
	struct sweep_bundle *bundle;
	unsigned bundle_count, bundle_room;
	const char *data; /* folder of input files, NULL: none */
	struct sweep_point *point;
	unsigned count;
	json_t *summary; /* {"summary": [...], "geometric_means": [...]}; NULL: not made yet */
};

/* The message of NVW_E_MEMORY. */
#define SWEEP_NO_MEMORY "no memory for the sweep"

/* The file (NULL: none) and the words of the command line, checked as far as they can be without the commands
 * themselves. NVW_E_USAGE or NVW_E_INPUT. Release by sweep_end(), also after an error. */
NVW_CHECKED int sweep_read(struct sweep *sweep, const char *path, const struct cli_options *given);
void sweep_end(struct sweep *sweep);

/* An axis, or more values of one. Also of a sweep that is no file's. */
NVW_CHECKED int sweep_add_axis(struct sweep *sweep, const char *name, const char *values);

/* A text's terms, of axes that there are; text is set. Release by sweep_rule_end(), also after an error. */
NVW_CHECKED int sweep_rule_parse(const struct sweep *sweep, const char *what, struct sweep_rule *rule);
void sweep_rule_end(struct sweep_rule *rule);

/* A line of a section "AXIS VALUE". */
NVW_CHECKED int sweep_bundle_add(
	struct sweep *sweep, const char *section, const char *name, const char *text);
/* Refuses sections of no axis, and values without a section where others have one. */
NVW_CHECKED int sweep_bundle_check(const struct sweep *sweep);
bool sweep_is_bundle_axis(const struct sweep *sweep, const char *axis);
const struct sweep_bundle *sweep_bundle_of(const struct sweep *sweep, const char *axis, const char *value);
/* "data:FILE|OTHER" -> the file, if the folder of data has it, else OTHER. Freed by the caller; NULL without
 * memory. */
char *sweep_resolve(const struct sweep *sweep, const char *text);
void sweep_bundles_end(struct sweep *sweep);

/* The value of an axis at a point. */
const char *sweep_value(const struct sweep *sweep, const struct sweep_point *point, unsigned axis);
/* The axis of that name, -1 if there is none. */
int sweep_axis_named(const struct sweep *sweep, const char *name);
/* What is behind the first of these characters; NULL: there is none. */
const char *sweep_behind(const char *text, const char *separators);
/* Whether all terms hold. */
bool sweep_holds(const struct sweep *sweep, const struct sweep_rule *rule, const struct sweep_point *point);
/* "scope=kernel seed=1" of the axes with more than one value, or of all if there is no such axis. Freed by
 * the caller; NULL without memory. */
char *sweep_point_text(const struct sweep *sweep, const struct sweep_point *point);

/* False for options that cannot be axes: points would share a file, or the form of the report. */
bool sweep_can_vary(const char *option);

/* The words of a point behind the command's program: argv[0] is the command's name. */
struct sweep_words {
	char *word[SWEEP_WORDS_MAX];
	int count;
	const char *whose, *are; /* "a point", "options"; NULL: words of a part of a job array */
};
NVW_CHECKED int sweep_words(
	const struct sweep *sweep, const struct sweep_point *point, struct sweep_words *ret_words);
/* Adds one, formatted. NVW_E_USAGE if there are too many. */
NVW_CHECKED __attribute__((format(printf, 2, 3))) int sweep_words_add(
	struct sweep_words *words, const char *format, ...);
void sweep_words_end(struct sweep_words *words);

/* Keeps every so many-th point: those of a shard, from 1. NVW_E_USAGE if there is none. */
NVW_CHECKED int sweep_keep_shard(struct sweep *sweep, unsigned shard, unsigned shards);

/* Checks every point as its command would, and sets its key. The message names the first point that is
 * refused. */
NVW_CHECKED int sweep_check(struct sweep *sweep);

/* The key of a command line that was checked already: "crash", ...; machine NULL: none. NULL with a message
 * if this program's file cannot be read. What was read once is remembered. */
struct sweep_keys *sweep_keys_begin(void);
NVW_CHECKED int sweep_key(struct sweep_keys *keys, const struct sweep_words *words,
	const struct emu_config *machine, char ret_key[SWEEP_KEY_BYTES]);
void sweep_keys_end(struct sweep_keys *keys);

/* NVW_E_USAGE if NAME.csv has points that this sweep lacks, or is no table of a sweep. */
NVW_CHECKED int sweep_check_former(const struct sweep *sweep, const char *table);
/* NVW_E_USAGE for a metric that no report of the command can have. */
NVW_CHECKED int sweep_check_metrics(const struct sweep *sweep);
/* A column's name without that of a protocol, with which columns of several protocols begin. */
const char *sweep_behind_protocol(const char *column);

struct sweep_journal {
	int fd;
	char *path;
};

/* Opens or creates it, locked for this process, and takes the rows of points that it knows; none if fresh.
 * path: of its own from then on; NULL: there was no memory for it. */
NVW_CHECKED int sweep_journal_open(
	struct sweep *sweep, char *path, bool fresh, struct sweep_journal *ret_journal);
/* Without a file (fd -1) nothing is kept. */
NVW_CHECKED int sweep_journal_add(struct sweep_journal *journal, const struct sweep_point *point);
/* Takes all rows of another's journal, also of points that failed. NVW_E_INPUT if it has none that is
 * missing. */
NVW_CHECKED int sweep_journal_merge(struct sweep *sweep, const char *path);
void sweep_journal_close(struct sweep_journal *journal);

enum sweep_engine { SWEEP_LOCAL, SWEEP_SLURM };

struct sweep_manner {
	unsigned jobs;
	uint64_t timeout_ms; /* of a point; 0: none */
	bool progress;
	enum sweep_engine engine;
	const char *reports; /* folder of the points' reports, NULL: none */
	/* of Slurm */
	const char *sbatch;      /* further options of sbatch, NULL: none */
	unsigned tasks;          /* of the job array; 0: one per point, 100 at most */
	uint64_t queue_limit_ms; /* without a task that runs; 0: none */
	bool fresh;              /* takes nothing of an earlier job */
};

/* How a point's process ended. */
struct sweep_outcome {
	int exit_status; /* as of waitpid() */
	bool timed_out;
	double seconds, processor_seconds; /* the latter 0 of a job array */
	char *out, *err;
};
void sweep_outcome_end(struct sweep_outcome *outcome);
/* Runs one command line to its end. */
NVW_CHECKED int sweep_run_words(
	const struct sweep_words *words, uint64_t timeout_ms, struct sweep_outcome *ret_outcome);
/* Makes the point's row of it, writes its report, and adds it to the journal. */
NVW_CHECKED int sweep_take(const struct sweep *sweep, const struct sweep_manner *manner,
	struct sweep_journal *journal, struct sweep_point *point, const struct sweep_outcome *outcome);
/* A whole file or none. mode 0: that of a new file. */
NVW_CHECKED int sweep_write_text(const char *path, int mode, const char *text);
/* "FOLDER/000001.json" of the first point. Freed by the caller; NULL without memory. */
char *sweep_report_path(const struct sweep_point *point, const char *folder);
/* A line of progress on standard error, if it is wanted and the last one is a moment ago. */
struct sweep_progress {
	const char *what;               /* NULL: points */
	unsigned ended, failed, to_run; /* to_run 0: nobody knows */
	double began, shown;
};
void sweep_show(const struct sweep_manner *manner, struct sweep_progress *progress, bool last);

/* How many processors this process may use, at most 256. */
unsigned sweep_processors(void);

/* NVW_E_USAGE if there is no Slurm. */
NVW_CHECKED int sweep_slurm_find(void);

/* What tasks of job arrays work on: points of a sweep, or parts of another command (spread.h). */
struct slurm_work {
	unsigned count;
	const char *folder; /* absolute */
	const char *what;   /* "points", for progress */
	void *of;
	bool (*is_done)(const void *of, unsigned i);
	const char *(*key)(const void *of, unsigned i); /* the name of its outcome's file */
	int (*words)(const void *of, unsigned i, struct sweep_words *ret_words);
	int (*take)(void *of, unsigned i, const struct sweep_outcome *outcome);
	int (*give_up)(void *of, unsigned i, const char *status, const char *reason);
};
/* Until all of it is done or given up. The folder has what was submitted and the outcomes, so that a front
 * end that was killed goes on, also while its job runs. It stays, unless nothing could be submitted. */
NVW_CHECKED int slurm_run(const struct slurm_work *work, const struct sweep_manner *manner);
void slurm_remove(const char *folder);
/* "/here/NAME.slurm" of the first bytes of a name. Freed by the caller; NULL without memory. */
char *slurm_folder(const char *name, int bytes);
/* A task of the array: runs its part of the list of points. */
NVW_CHECKED int sweep_slurm_task(const char *list, uint64_t timeout_ms);

NVW_CHECKED int sweep_local_run(
	struct sweep *sweep, const struct sweep_manner *manner, struct sweep_journal *journal);

/* Runs every point without a row, by the engine. NVW_E_STOPPED on a signal: rows so far are in the journal.
 */
NVW_CHECKED int sweep_run(
	struct sweep *sweep, const struct sweep_manner *manner, struct sweep_journal *journal);

/* The numbers and texts of a report that do not depend on this computer, by their columns. */
json_t *sweep_values(json_t *report);
/* A finished process -> a row. exit_status as of waitpid(). */
json_t *sweep_row(int exit_status, bool timed_out, double seconds, const char *out, const char *err);
NVW_CHECKED int sweep_write_csv(const struct sweep *sweep, const char *path);
NVW_CHECKED int sweep_write_json_lines(const struct sweep *sweep, const char *path);
/* What differs from one sweep to the next: how long each point took on this computer. */
NVW_CHECKED int sweep_write_host(const struct sweep *sweep, const char *path);
/* One field of a CSV file, quoted where it must be. */
void sweep_csv_field(const char *text, FILE *to);
/* A number, a text or a truth value; nothing for others. */
void sweep_csv_value(const json_t *value, FILE *to);

/* Makes the summary. NVW_E_USAGE if no row has a value of a metric's name. */
NVW_CHECKED int sweep_summarise(struct sweep *sweep);
NVW_CHECKED int sweep_write_summary(const struct sweep *sweep, const char *path);

#endif
