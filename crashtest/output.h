/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of this process's checker commands: read as it comes, in any amount, and kept out of the report.
 * The beginning of the first line is kept as the text of a finding.
 */
#ifndef CRASHTEST_OUTPUT_H
#define CRASHTEST_OUTPUT_H

#include <stdbool.h>

enum { CT_LINE_BYTES = 160 };

/* Starts anew, for the next command. Returns the descriptor to write to, of this process; -1: there is
 * none. */
int ct_output_begin(void);

/* Waits until fd can be read or has no writer; false if that takes longer. */
bool ct_output_wait(int fd, int timeout_ms);

/* The first line since ct_output_begin(); "" if there is none. */
void ct_output_line(char line[CT_LINE_BYTES]);

/* In a child: standard output and error become fd (-1: inherited), standard input is empty. */
void ct_output_redirect(int fd);

#endif
