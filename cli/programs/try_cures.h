/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --try-cures=COMMAND: cures of a recorded program, applied to a copy of its sources, built there, and run.
 * docs/host-crash.md has the rules: what is copied is the working directory, and the copy's program has the
 * same path from there.
 */
#ifndef CLI_TRY_CURES_H
#define CLI_TRY_CURES_H

#include <crashtest/crash.h>

struct cure_trial {
	const char *command; /* builds the program, in the copy's top folder */
	const char *exec;    /* the program's command line, whose first word is its path */
	const char *image;   /* left out of the copy; absolute */
	double seconds;      /* the recorded run took */
	int status;          /* and ended with, as from waitpid() */
	/* Records and tests the program of the working directory, which is the copy then. It is ended after
	 * so many seconds, and then *ret_timed_out is true and there is no result. An error, with its
	 * message, if it cannot be recorded. */
	int (*run)(void *context, double limit, struct ct_result *ret_result, int *ret_status,
		bool *ret_timed_out);
	void *context;
};

/* Tries all cures of the result that are lines to insert, together, and notes in each cure what became of it,
 * or why nothing did (ct_cure.run, run_text). */
void cli_try_cures(const struct cure_trial *trial, struct ct_result *result);

/* NVW_E_USAGE unless the command line begins with a program's path below the working directory. */
NVW_CHECKED int cli_try_cures_check(const char *exec);

#endif
