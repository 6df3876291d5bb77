/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which findings are best mended, which every report has:
 *
 * 1. what is wrong without any crash; then
 * 2. what was found before anything was cured, before what other causes had hidden;
 * 3. a finding before one that its cure takes away;
 * 4. a finding before another cause that fails in the same words;
 * 5. what makes more states fail; of those alike the one whose first state is earlier.
 */
#ifndef CRASHTEST_MEND_ORDER_H
#define CRASHTEST_MEND_ORDER_H

#include "../crash.h"

/* Puts the findings into this order, and the numbers by which they name each other. NVW_E_MEMORY. */
NVW_CHECKED int ct_order_findings(struct ct_result *result);

#endif
