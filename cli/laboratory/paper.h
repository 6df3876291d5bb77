/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Published results and ours. docs/reproduce.md has the user's view, papers/ the results.
 *
 *	paper_read.c     files -> rows and tables, as texts; which of them are wanted
 *	paper_measure.c  a row -> points of a sweep, and a number for each seed from their results
 *	paper_formula.c  arithmetic over the statistics of a point
 *	paper_judge.c    numbers -> agreement with the paper; against the judgement that was kept
 *	paper_page.c     HTML, Markdown, figures
 */
#ifndef CLI_PAPER_H
#define CLI_PAPER_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "sweep.h"

enum { PAPER_SEEDS_MAX = 64, PAPER_COLUMNS_MAX = 127, PAPER_TERMS = 2, PAPER_REASON_BYTES = 512 };

/* From the weakest; what a row is called is the strongest that it reaches. */
enum paper_verdict {
	PAPER_UNJUDGED, /* cannot be judged */
	PAPER_DISAGREES,
	PAPER_SIGN,  /* agrees in sign */
	PAPER_ORDER, /* and in order: to the other rows of its figure */
	PAPER_SIZE   /* and within half of the published size */
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
	char *name, *path;
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

struct paper_row {
	const char *paper; /* name of the file */
	char *id, *part;   /* "G1", "small"; part "" */
	json_t *keys;      /* the section's texts, with those of [ID] where it has none of its own */
	bool wanted, measured;
	struct paper_interval published;
	struct paper_measure measure;
	struct paper_numbers here;
	enum paper_verdict verdict, kept;
	bool is_kept;                       /* kept is of the same inputs */
	char *kept_line;                    /* its numbers and inputs; NULL: nothing is kept */
	char judgement[PAPER_REASON_BYTES]; /* what else there is to say: order, seeds */
};

struct paper_table {
	const char *paper;
	char *name;
	json_t *keys;
	bool wanted;
	struct paper_measure measure;
	int rows, columns; /* axes; columns -1: one. At most PAPER_COLUMNS_MAX values */
};

struct paper {
	char *name;
	json_t *keys; /* of the section [paper]: title */
};

struct papers {
	const char *folder, *data;
	struct paper *paper;
	unsigned paper_count;
	struct paper_row *row;
	unsigned row_count;
	struct paper_table *table;
	unsigned table_count;
	struct paper_sweep **sweep;
	unsigned sweep_count;
	unsigned seeds; /* 0: those of the sweeps */
};

/* All files of the folder. NVW_E_INPUT. Release by papers_end(), also after an error. */
NVW_CHECKED int papers_read(const char *folder, struct papers *ret_papers);
void papers_end(struct papers *papers);
/* A text of a section, NULL if there is none. */
const char *paper_text(const json_t *keys, const char *name);
/* "G1 small" */
void paper_row_name(const struct paper_row *row, char *text, size_t room);

/* Chooses rows and tables: IDs and papers (count 0: all of them), or those with the key short. NVW_E_USAGE with the
 * nearest name. */
NVW_CHECKED int papers_choose(struct papers *papers, const char *const *name, unsigned count, bool is_short);

/* Reads the sweeps of the wanted rows and leaves in them the points that these need. seeds > 0: 1 to seeds. */
NVW_CHECKED int papers_open(struct papers *papers, const char *data, unsigned seeds);
/* A number per seed; only of points with the choices on these axes (-1: all). */
void paper_measure(const struct paper_measure *measure, int axis, unsigned choice, int other_axis,
	unsigned other_choice, struct paper_numbers *ret_numbers);

/* NVW_E_INPUT if it is no formula. */
NVW_CHECKED int paper_formula_check(const char *formula, const char *where);
/* False, with the name that is missing, if a statistic is not among the values. */
bool paper_formula(const char *formula, const json_t *values, double *ret, const char **ret_missing);

/* Of every wanted row. */
void papers_judge(struct papers *papers);
const char *paper_verdict_text(enum paper_verdict verdict);
/* The kept judgements, judgements.tsv of the folder; none if there is no such file. */
NVW_CHECKED int papers_read_kept(struct papers *papers);
/* Those of wanted rows are replaced. */
NVW_CHECKED int papers_keep(const struct papers *papers);
/* A row that agreed in its kept judgement and does not now. */
bool paper_is_lost(const struct paper_row *row);

/* Figures (if draw), FOLDER/index.html and FOLDER/results.md. */
NVW_CHECKED int papers_write(const struct papers *papers, const char *folder, bool draw);
/* "+14.4 (+13.3, +15.6)" in the form of the measure. */
enum { PAPER_NUMBER_BYTES = 104 };
void paper_number_text(
	const struct paper_numbers *numbers, enum paper_form form, char text[PAPER_NUMBER_BYTES]);
/* "8 to 10", "above 20" */
void paper_interval_text(const struct paper_interval *interval, char *text, size_t room);

#endif
