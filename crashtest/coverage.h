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
 *
 * Branches are the conditional jumps that the compiler has left in functions with such statements, as it has
 * optimised them: a condition that it has computed without a jump is none, one that it has copied is several.
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
	bool is_branch; /* executed: it has jumped; reached: it has gone on */
};

struct ct_coverage {
	struct ct_statement *statement; /* by file, then by line; NULL: unknown */
	unsigned count, executed;
	unsigned functions, functions_executed; /* that have such statements; of which one was executed */
	bool of_program;
	unsigned reached, functions_reached; /* of a program, as above */
	/* Of a program: by file, then by line; how many went both ways; how many one of them. */
	struct ct_statement *branch;
	unsigned branches, branches_both, branches_one;
	char *texts; /* of a program */
};

/* The coverage of a run: executed[i] of site i (device/sites.h), as many as there are. */
int ct_coverage_of(const uint8_t *executed, struct ct_coverage *ret_coverage);

/* The coverage of a program, with copies of the texts. Branches are among its statements. */
int ct_coverage_of_program(
	const struct ct_statement *statement, unsigned count, struct ct_coverage *ret_coverage);

void ct_coverage_free(struct ct_coverage *coverage);

#endif
