/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave compare: what differs between two runs, or between the tables of two sweeps.
 *
 *	compare_read.c    a report as JSON, a table as CSV or JSON lines -> rows
 *	compare_judge.c   the points of two files -> differences, the most important first
 *
 * A point has the values of the axes that vary, but not of the seed: its numbers are those of all its seeds.
 * An axis with one value in each file is a text of all points.
 */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include <jansson.h>

#include <nvw/pool.h>

#include "confidence.h"

/* [{"axes": {"scope": "kernel"}, "numbers": {"sim_time": 1.0}, "texts": {"verdict": "consistent"}}]; a report
 * of one run is a row without axes. */
NVW_CHECKED int compare_read(const char *path, json_t **ret_rows);

struct compare_row {
	const char *point, *name;      /* "scope=kernel count=8"; "": the only one */
	const char *a_text, *b_text;   /* NULL: these are numbers */
	struct confidence a, b, ratio; /* ratio of b to a; of infinite mean if a is 0 */
	double importance;
	unsigned order; /* in the first file */
};

struct comparison {
	struct compare_row *row; /* sorted: the most important first */
	unsigned count, room;
	unsigned equal, within_noise;         /* numbers without a row */
	json_t *points[2];                    /* of both files */
	json_t *points_in_one, *names_in_one; /* {"NAME": "a"}: what only one of both has */
};

/*
 * Compares rows of two files. The importance of a number is the part of its change that the noise of the
 * seeds does not explain, of the larger value: (|b - a| - noise) / max(|a|, |b|), from 0 to 1. The noise is
 * that of the 95 % confidence intervals of both means; 0 without seeds. Texts come before numbers.
 */
NVW_CHECKED int compare_judge(const json_t *a, const json_t *b, struct comparison *ret_comparison);
void compare_end(struct comparison *comparison);

#endif
