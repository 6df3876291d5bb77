/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What checker commands of this process print: read as it comes, however much it is, and kept apart from the report. The
 * beginning of the first line is kept, the reason for a finding.
 */
#ifndef CRASHTEST_OUTPUT_H
#define CRASHTEST_OUTPUT_H

#include <stdbool.h>

enum { CT_LINE_BYTES = 160 };

/* Begins anew, for the next command. Returns the descriptor to write to, of this process; -1: there is none. */
int ct_output_begin(void);

/* Until fd can be read, or has nobody to write to it; false if that takes longer. */
bool ct_output_wait(int fd, int timeout_ms);

/* The first line since the beginning; "" if there is none. */
void ct_output_line(char line[CT_LINE_BYTES]);

/* In a child: standard output and error are fd (-1: as they are), standard input is empty. */
void ct_output_redirect(int fd);

#endif
