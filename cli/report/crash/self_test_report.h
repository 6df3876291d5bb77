/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of nvwave crash --self-test, for workloads and for programs: a row for each test, and a sum. */
#ifndef CLI_SELF_TEST_REPORT_H
#define CLI_SELF_TEST_REPORT_H

#include <stdbool.h>

#include <jansson.h>

#include <config/config.h>
#include <crashtest/crash.h>

struct self_test_report {
	bool of_program;
	const char *subject; /* the workload's or program's name */
	json_t *rows;        /* NULL: text, printed as results arrive */
};

/*
 * Adds a row. said is its verdict; NULL: it follows from the trial, as clean, FALSE ALARM, found or MISSED.
 */
void self_test_row(struct self_test_report *report, const struct ct_trial *trial, const char *said);

/* Prints the sum, and the rows if they are JSON; frees them. Returns NVW_E_STOPPED with a message if it was
 * interrupted and all is well so far. *ret_good: all bugs found, no false alarm. */
NVW_CHECKED int self_test_sum(struct self_test_report *report, const struct ct_self_test *sum,
	const struct emu_config *config, const char *command, bool *ret_good);

#endif
