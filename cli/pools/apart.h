/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command does with one pool, in a process of its own: a structure's code that crashes or hangs on a
 * damaged pool ends alone. */
#ifndef CLI_POOLS_APART_H
#define CLI_POOLS_APART_H

#include <jansson.h>

#include <nvw/pool.h>

/*
 * The work on one pool. It returns 0 or NVW_E_INCONSISTENT with a report, which the caller releases, or
 * another error without one.
 */
typedef int pool_work(void *context, const char *path, json_t **ret_report);

struct pool_outcome {
	json_t *report; /* NULL after an error. To be released by pool_outcome_end() */
	int error;      /* what the work returned */
	int signal;     /* that ended the process, else 0; SIGXCPU: it did not end */
	char message[1024];
	double seconds;        /* of the host, with opening and closing */
	uint64_t memory_bytes; /* the most that was resident, the pool's mapped pages included */
};

/* Does the work, for at most 60 s of processor time. An error is that of the attempt; the work's own is in
 * *ret. NVW_E_STOPPED on a signal to this process. */
NVW_CHECKED int pool_apart(pool_work *work, void *context, const char *path, struct pool_outcome *ret);
void pool_outcome_end(struct pool_outcome *outcome);

/* The exit status that the outcome asks for (commands.h). */
int pool_outcome_status(const struct pool_outcome *outcome);

/* In a word or two: "recovered", "clean", "inconsistent", "damaged" ... */
const char *pool_outcome_state(const struct pool_outcome *outcome);

#endif
