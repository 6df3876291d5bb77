/* SPDX-License-Identifier: BSD-3-Clause */
/* The source of a workload or program on the page of a crash test, with what the run executed and left
 * out. */
#ifndef CLI_HTML_SOURCE_H
#define CLI_HTML_SOURCE_H

#include <stdio.h>

#include <crashtest/crash.h>

/* The first functions of which something was left out, folded away; nothing if there is none, or no
 * source. */
void html_source(FILE *to, const struct ct_coverage *coverage);

#endif
