/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Published results and ours. docs/reproduce.md has the user's view, papers/ the results.
 *
 *	paper_read.c     files -> rows and tables, as texts; which of them are wanted
 *	paper_measure.c  a row -> points of a sweep, and a number for each seed from their results
 *	paper_formula.c  arithmetic over the statistics of a point
 *	paper_judge.c    numbers -> agreement with the paper, by a table of rules
 *	paper_kept.c     judgements, rows at both ends of free values, and tables, in files of the folder
 *	paper_number.c   numbers, in words
 *	paper_page.c     the pages, by paper_markup.c (HTML, Markdown) and paper_figure.c
 */
#ifndef CLI_PAPER_H
#define CLI_PAPER_H

#include <stdbool.h>

#include <jansson.h>

#include "sweep.h"

enum { PAPER_SEEDS_MAX = 64, PAPER_COLUMNS_MAX = 127, PAPER_REASON_BYTES = 512, PAPER_SENSITIVE_MAX = 6 };

/* What is run of the rows: their points; the points at both ends of the free values, with one seed; the
 * points of runs that are otherwise cut short, with one seed; nothing, since what is kept is shown. */
enum paper_run { PAPER_RUN_ROWS, PAPER_RUN_ENDS, PAPER_RUN_LONG, PAPER_RUN_NOTHING };

enum paper_verdict {
	PAPER_UNJUDGED, /* cannot be judged: there is no number */
	PAPER_INCOMPARABLE,
	PAPER_DISAGREES,
	PAPER_LUCK, /* sign and size, but not for the paper's reasons */
	PAPER_AGREES,
	PAPER_VERDICTS
};

/* What a number is relative to what it is measured over. */
enum paper_form {
	PAPER_PERCENT, /* 100 (x / y - 1) */
	PAPER_SPEEDUP, /* 100 (y / x - 1) */
	PAPER_RATIO,   /* x / y */
	PAPER_FASTER,  /* y / x */
	PAPER_VALUE    /* x, or x / y: has no sign to agree in */
};

enum paper_mean { PAPER_GEOMETRIC, PAPER_ARITHMETIC, PAPER_LEAST, PAPER_MOST, PAPER_SUM };

/* Ends may be infinite. */
struct paper_interval {
	double low, high;
};

/* A sweep of papers/sweeps, with the points that rows need. */
struct paper_sweep {
	char *name, *path; /* "stc", or with what is added to its axes: "stc@network.flit=128B" */
	struct sweep sweep;
	struct sweep_journal journal;
	bool *needed; /* per point, while the points are chosen */
	unsigned known;
};

/* What is computed from points: x of some, over y of others. */
struct paper_measure {
	struct paper_sweep *of;
	struct sweep_rule points, over; /* over.count 0: none */
	const char *value, *base;       /* formulas */
	enum paper_form form;
	enum paper_mean mean;
};

/* Values per seed. */
struct paper_numbers {
	double value[PAPER_SEEDS_MAX];
	unsigned count; /* 0: reason says why */
	double mean, least, most;
	char reason[PAPER_REASON_BYTES];
};

/* A section that is no row: [table NAME]; or [sensitive KEY], a value that the paper does not give, with low,
 * high, source, and the rows that it concerns. */
struct paper_section {
	const char *paper;
	char *name;
	json_t *keys;
};

/* A row at both ends of such a value. */
struct paper_end {
	const struct paper_section *of;
	struct paper_measure at[2];
	double value[2];
	bool is_known;
	char version[64]; /* of the program that measured it */
};

/* What is said of a row, and of which inputs; by which version. */
struct paper_judgement {
	enum paper_verdict verdict;
	struct paper_numbers here;
	const char *inputs, *version, *remark, *ran;
};

struct paper_row {
	const char *paper; /* name of the file */
	char *id, *part;   /* "G1", "small"; part "" */
	json_t *keys;      /* the section's texts, with those of [ID] where it has none of its own */
	bool wanted, measured;
	struct paper_interval published;
	enum paper_form form; /* that of measure, also where only its ends are measured */
	struct paper_measure measure;
	struct paper_numbers here;
	struct paper_end end[PAPER_SENSITIVE_MAX];
	unsigned ends;
	enum paper_verdict verdict;
	struct paper_judgement kept;        /* inputs NULL: nothing is kept */
	bool is_kept;                       /* kept is of the same inputs */
	char judgement[PAPER_REASON_BYTES]; /* the rule's remark */
	char ran[PAPER_REASON_BYTES];       /* how far the runs of its points went, if it has the key ran */
};

/* A number of a table that is kept. */
struct paper_cell {
	const char *row, *column; /* values of the axes; row "mean": over all; column "": the only one */
	struct paper_numbers here;
	const char *version;
};

struct paper_table {
	struct paper_section section;
	bool wanted;
	struct paper_measure measure;
	int rows, columns; /* axes; columns -1: one. At most PAPER_COLUMNS_MAX values */
	struct paper_cell *kept;
	unsigned kept_count, kept_room;
};

struct paper {
	char *name;
	json_t *keys; /* of the section [paper]: title */
};

struct papers {
	const char *folder, *data;
	struct paper *paper;
	unsigned paper_count, paper_room;
	struct paper_row *row;
	unsigned row_count, row_room;
	struct paper_table *table;
	unsigned table_count, table_room;
	struct paper_section *sensitive;
	unsigned sensitive_count, sensitive_room;
	struct paper_sweep **sweep;
	unsigned sweep_count, sweep_room;
	char *kept_text[3]; /* of the files of what is kept, to which the rows and the cells point */
	unsigned kept_texts;
	unsigned seeds; /* 1 to seeds */
	enum paper_run run;
};

/* Reads all files of the folder. NVW_E_INPUT. Release by papers_end(), also after an error. */
NVW_CHECKED int papers_read(const char *folder, struct papers *ret_papers);
void papers_end(struct papers *papers);
/* The message of NVW_E_MEMORY. */
#define PAPER_NO_MEMORY "no memory for the published results"
/* NVW_E_INPUT if one of the keys is missing; also: what would do instead. */
NVW_CHECKED int paper_check_keys(
	const json_t *keys, const char *const *needed, unsigned count, const char *where, const char *also);
/* "papers/sdc.ini: [G1 small]" */
enum { PAPER_WHERE_BYTES = 256 };
void paper_row_where(const struct papers *papers, const struct paper_row *row, char where[PAPER_WHERE_BYTES]);
/* A text of a section, NULL if there is none. */
const char *paper_text(const json_t *keys, const char *name);
/* "G1 small" */
void paper_row_name(const struct paper_row *row, char *text, size_t room);

/* Chooses rows and tables: IDs and papers (count 0: all of them), or those with the key short. NVW_E_USAGE
 * with the nearest name. */
NVW_CHECKED int papers_choose(struct papers *papers, const char *const *name, unsigned count, bool is_short);

/* Reads the sweeps of the wanted rows and leaves in them the points that these need, with the seeds 1 to
 * seeds. */
NVW_CHECKED int papers_open(struct papers *papers, const char *data, unsigned seeds, enum paper_run run);
/* Computes a number per seed, from the points that have these choices on these axes (-1: from all). */
void paper_measure(const struct paper_measure *measure, int axis, unsigned choice, int other_axis,
	unsigned other_choice, struct paper_numbers *ret_numbers);

/* With PAPER_RUN_ENDS: computes the values of the rows at both ends. */
void papers_measure_ends(struct papers *papers);
/*
 * Names the points of a mean that are on the other side of 1 than the mean, and more than least away from 1.
 * Points have the names of the axes in which they differ; those in named are left out. False if there is
 * none.
 */
bool paper_opposites(
	const struct paper_measure *measure, double least, const char *named, char *text, size_t room);
/* Writes what a formula is at each point of the first seed: "sssp-1 3, color-3 21". */
void paper_at_points(const struct paper_measure *measure, const char *formula, char *text, size_t room);

/* NVW_E_INPUT if it is no formula. */
NVW_CHECKED int paper_formula_check(const char *formula, const char *where);
/* False, with the first name that is missing, if a statistic is not among the values. */
enum { PAPER_NAME_BYTES = 96 };
bool paper_formula(
	const char *formula, const json_t *values, double *ret, char ret_missing[PAPER_NAME_BYTES]);

/* Judges every wanted row. */
void papers_judge(struct papers *papers);
const char *paper_verdict_text(enum paper_verdict verdict);
/* What most rows that disagree have as their judgement; the pages say it once. */
extern const char paper_usual_reason[];
enum paper_verdict paper_verdict_named(const char *text);
/*
 * Reads what judgements.tsv, ends.tsv and tables.tsv of the folder keep. It is no error if a file is not
 * there.
 */
NVW_CHECKED int papers_read_kept(struct papers *papers);
/* With PAPER_RUN_NOTHING: takes what is kept of the wanted rows for what is measured. */
void papers_show_kept(struct papers *papers);
/* Replaces what is kept of the wanted rows: judgements and tables; with PAPER_RUN_ENDS, the ends. */
NVW_CHECKED int papers_keep(const struct papers *papers);
/* A number of a table (row -1: over all rows), as it was measured; with PAPER_RUN_NOTHING, as it is kept. */
void paper_table_number(const struct papers *papers, const struct paper_table *table, int row,
	unsigned column, struct paper_numbers *ret_numbers);
/* Does the table have a point with this value on this axis? (axis -1: yes) */
bool paper_table_has(const struct paper_table *table, int axis, unsigned choice);
/* Did the row agree in its kept judgement, and does it not now? */
bool paper_is_lost(const struct paper_row *row);
/*
 * Is the row's mean farther outside of the kept seeds than they are apart (and than a point, or a fiftieth)?
 */
bool paper_has_moved(const struct paper_row *row);

/* Writes FOLDER/index.html and FOLDER/results.md; with draw, the figures too. */
NVW_CHECKED int papers_write(const struct papers *papers, const char *folder, bool draw);
/* "+14.4 (+13.3, +15.6)" in the form of the measure. */
enum { PAPER_NUMBER_BYTES = 104 };
void paper_number_text(
	const struct paper_numbers *numbers, enum paper_form form, char text[PAPER_NUMBER_BYTES]);
/* Writes one value: a mean, a least or a most. */
void paper_one_number(double x, enum paper_form form, char text[32]);
/* "-2.0 to -19.1 by the gap between polls (0 to 200)"; "" if no end is known */
void paper_ends_text(const struct paper_row *row, char *text, size_t room);
/* "8 to 10", "above 20" */
void paper_interval_text(const struct paper_interval *interval, char *text, size_t room);

#endif
