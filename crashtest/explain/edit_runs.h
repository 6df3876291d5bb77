/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs: consecutive records of one work-item or thread at one line of an edited log. */
#ifndef CRASHTEST_EDIT_RUNS_H
#define CRASHTEST_EDIT_RUNS_H

#include "edit_log.h"
#include "../log_walk.h"
#include "../states/models/models.h"

struct run {
	struct ct_by actor;   /* of its first record */
	uint64_t first, last; /* places */
	uint64_t next;        /* place of the actor's next record, UINT64_MAX: none */
	uint64_t again;       /* where the actor's next run of the line begins, likewise */
	uint64_t round;       /* its number from 1; 0: it is of none */
};

/* The runs of a line, in the order in which they begin. */
struct runs {
	struct ct_array run;
	struct ct_array open; /* uint64_t by actor's number: its open run + 1; 0: none */
	struct ct_array last; /* likewise: its last run + 1 */
};

static inline struct run *run_at(const struct runs *s, uint64_t i)
{
	return (struct run *)s->run.at + i;
}

/* Finds the runs of a line by records of some kinds. The caller frees the array run. */
NVW_CHECKED int edit_runs_find(
	const struct edit_log *log, const struct ct_line *line, uint32_t kinds, struct runs *ret_runs);

/* True if the record at a place is a store or an acknowledgement of the run. */
bool edit_run_has(
	const struct edit_log *log, uint64_t place, const struct run *run, const struct ct_line *line);

#endif
