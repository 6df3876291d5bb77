/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the recorded run executed of the source of the workload or the program. The states of a crash test are
 * those of one run: of a statement that it never executed nothing was tested, however many states pass.
 *
 * A statement is a line with stores, atomics that store, persist barriers or acknowledgements. It belongs to
 * the workload if its file is in a folder of which the run executed an access.
 *
 * In a program on the host it is a line that nvwave-cc has built, with stores, flushes or fences
 * (host/coverage.h). Only a run tells which of its stores go to persistent memory, and only of those that it
 * executes.
 */
#ifndef CRASHTEST_COVERAGE_H
#define CRASHTEST_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The texts belong to the workload's code, or to the coverage. */
struct ct_statement {
	const char *file, *function;
	unsigned line;
	bool executed;
	/* For a program: it flushes or fences; it went to a recorded file; the first statement of its
	 * function. */
	bool flushes, reached;
	unsigned first_line;
};

struct ct_coverage {
	struct ct_statement *statement; /* by file, then by line; NULL: unknown */
	unsigned count, executed;
	unsigned functions, functions_executed; /* that have such statements; of which one was executed */
	bool of_program;
	unsigned reached, functions_reached; /* of a program, as above */
	char *texts;                         /* of a program */
};

/* The coverage of a run: executed[i] of site i (device/sites.h), as many as there are. */
int ct_coverage_of(const uint8_t *executed, struct ct_coverage *ret_coverage);

/* The coverage of a program, with copies of the texts. */
int ct_coverage_of_program(
	const struct ct_statement *statement, unsigned count, struct ct_coverage *ret_coverage);

void ct_coverage_free(struct ct_coverage *coverage);

#endif
