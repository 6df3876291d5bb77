/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of this process's checker commands: read as it comes, in any amount, and kept out of the report.
 * The beginning of the first line is kept as the text of a finding.
 */
#ifndef CRASHTEST_OUTPUT_H
#define CRASHTEST_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CT_LINE_BYTES = 160 };

/* All that was printed. */
struct ct_output {
	uint64_t bytes, hash;
	const char *text; /* its beginning, valid until the next command; not terminated */
	size_t kept;
};

/* Starts anew, for the next command. whole: keep all standard output for ct_output_whole(). Returns the
 * descriptor of this process to write to; -1: there is none. */
int ct_output_begin(bool whole);

/* Waits until fd can be read or has no writer; false if that takes longer. */
bool ct_output_wait(int fd, int timeout_ms);

/* The first line since ct_output_begin(); "" if there is none. */
void ct_output_line(char line[CT_LINE_BYTES]);

/* Turns control characters into blanks. */
void ct_output_blank(char *line);

/* Everything since the beginning, if it was wanted; else nothing. */
void ct_output_whole(struct ct_output *ret_output);

/* In a child: standard output and error are fd (-1: as they are), standard input is empty. Where the output
 * counts as a whole, the standard error is left out. */
void ct_output_redirect(int fd);

#endif
