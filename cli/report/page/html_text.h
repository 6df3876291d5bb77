/* SPDX-License-Identifier: BSD-3-Clause */
/* Text, figures and times in an HTML page. */
#ifndef CLI_HTML_TEXT_H
#define CLI_HTML_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include <crashtest/crash.h>

/* The text with the special characters of HTML escaped. */
void html_text(FILE *to, const char *text);
/* Markup with values: of %s, which are escaped, and %u, %llu and %llx. */
__attribute__((format(printf, 2, 3))) void html_print(FILE *to, const char *format, ...);
/* 1234567 with thin spaces. */
void html_figure(FILE *to, uint64_t n);
/* "12.5 ns", "40.11 us". */
void html_time(FILE *to, uint64_t ps);
/* The time, negative in the set-up; in a host program's log, whose clock counts operations, the number of the
 * operation. */
void html_moment(FILE *to, const struct ct_result *result, int64_t ps);

/* The class of report.css for a verdict. */
const char *html_look(enum ct_verdict verdict);

#endif
