/* SPDX-License-Identifier: BSD-3-Clause */
/* What has become of the inputs of a corpus. */
#ifndef CLI_CORPUS_REPORT_H
#define CLI_CORPUS_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include <crashtest/crash.h>

unsigned cli_corpus_count(const struct ct_corpus *corpus, enum ct_input_fate fate);

/* Nothing without a corpus. */
void cli_corpus_text(const struct ct_result *result, FILE *to);

/* NULL without a corpus. */
json_t *cli_corpus_json(const struct ct_result *result);

#endif
