/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The problems of a result, in the form from which reports for other tools are made (sarif.h, junit.h): a
 * JSON list, each
 *
 *	{"rule", "level": "error|warning|note", "text", "details", "at": the step where the problem is shown,
 *	 "steps": [{"file", "line", "function", "text"}], "fix": {"text", "insertions": [{"file", "line",
 *	 "text"}]}}
 *
 * A step's file is "" if it has no place, and its line 0 if only the file is known. fix is absent without a
 * verified cure that is lines to insert.
 */
#ifndef CLI_PROBLEMS_H
#define CLI_PROBLEMS_H

#include <jansson.h>

#include <crashtest/crash.h>

/* What kinds of problems there are; NULL behind the last. */
struct cli_rule {
	const char *id, *text, *help;
};
const struct cli_rule *cli_rule(unsigned i);
/* The number of a rule. */
unsigned cli_rule_number(const char *id);

/* The findings of a crash test. */
json_t *cli_crash_problems(const struct ct_result *result);
/* The end, advice and races of a program that was executed, by its report (exec_report.h). */
json_t *cli_exec_problems(const json_t *report);

/* A report for another tool. */
struct cli_for_tools {
	const char *command;  /* "crash", "exec" */
	const char *subject;  /* the workload, or the program */
	const char *headline; /* the verdict in words */
	const char *verdict;  /* its name */
	bool undecided;
	double seconds;
	json_t *problems, *made_by;
};

/* SARIF 2.1.0: one run, a result for each problem. NVW_E_MEMORY, NVW_E_SYSTEM. */
NVW_CHECKED int cli_print_sarif(const struct cli_for_tools *report, FILE *to);
/* JUnit's XML: a test case for the verdict, and one that fails for each problem other than a note. */
NVW_CHECKED int cli_print_junit(const struct cli_for_tools *report, FILE *to);

#endif
