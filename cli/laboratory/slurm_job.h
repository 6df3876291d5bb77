/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job array of Slurm, by the commands that people use: sbatch, squeue, sacct, scancel. Slurm forgets a job
 * some minutes after its end; then sacct is asked, where accounting is on.
 *
 *	slurm_submit() -> slurm_ask(), slurm_say() now and then -> slurm_is_active()? slurm_ending() of a task
 *	                                                        \-> slurm_cancel()
 */
#ifndef CLI_SLURM_JOB_H
#define CLI_SLURM_JOB_H

#include <stdbool.h>

#include <nvw/errors.h>

enum { SLURM_STATE_BYTES = 24, SLURM_REASON_BYTES = 96 };

/* "PENDING", "Resources". The state of a task that Slurm has forgotten is "". */
struct slurm_task {
	char state[SLURM_STATE_BYTES], reason[SLURM_REASON_BYTES];
	bool is_listed; /* by the last answer */
};

struct slurm_job {
	unsigned long long number; /* 0: none */
	unsigned count;
	struct slurm_task *task;
	char *said; /* the states that were printed last */
};

/* Whether another job is to try the points of a task that has ended without their results. */
enum slurm_retry {
	SLURM_RETRY,        /* yes: the node was lost */
	SLURM_RETRY_OTHERS, /* all but the first, which had all of the job's time or memory */
	SLURM_NO_RETRY      /* a person has ended it */
};

struct slurm_ending {
	const char *state;
	enum slurm_retry retry;
	const char *status; /* of a point's row */
	const char *words;
};

/* Runs an sbatch command line, whose answer is the number of a job of so many tasks. */
NVW_CHECKED int slurm_submit(struct slurm_job *job, const char *command, unsigned tasks);
/* A job that was submitted earlier. */
NVW_CHECKED int slurm_follow(struct slurm_job *job, unsigned long long number, unsigned tasks);
void slurm_job_end(struct slurm_job *job);

/* Takes the states of its tasks. A controller that does not answer changes nothing. */
NVW_CHECKED int slurm_ask(struct slurm_job *job);
/* One of its tasks waits or runs. */
bool slurm_is_active(const struct slurm_job *job);
/* Tasks wait, and none runs. */
bool slurm_waits(const struct slurm_job *job);
/* "2 RUNNING, 6 PENDING: Resources" of the tasks without a result. Freed by the caller; NULL without
 * memory. */
char *slurm_states(const struct slurm_job *job);
/* Prints the states on standard error if others than the last time are among them, and why a job cannot
 * start. */
void slurm_say(struct slurm_job *job);
/* The end of a task, from 1, that has ended. */
const struct slurm_ending *slurm_ending(const struct slurm_job *job, unsigned task);

/* Ends its tasks that wait or run, and says so with this reason. */
void slurm_cancel(struct slurm_job *job, const char *why);

#endif
