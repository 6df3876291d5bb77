/* SPDX-License-Identifier: BSD-3-Clause */
/* One result of many runs of a program: under schedules, with inputs. */
#ifndef CLI_CRASH_SUM_H
#define CLI_CRASH_SUM_H

#include <crashtest/crash.h>

void crash_sum_begin(struct ct_result *ret_sum);
/* Adds a result, and frees it. */
void crash_sum_add(struct ct_result *sum, struct ct_result *result);

/* Whether a finding has these words, numbers aside. */
bool crash_sum_has(const struct ct_result *sum, const char *text);
/* The first finding of a result whose words the sum does not have; NULL: none. */
const char *crash_sum_first_new(const struct ct_result *sum, const struct ct_result *result);

#endif
