/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The result of an exploration: the sums of what the workers counted, and their findings in the order of
 * their first states.
 */
#ifndef CRASHTEST_RESULT_H
#define CRASHTEST_RESULT_H

#include "worker.h"

/*
 * Fills in what plan, options and workers, who have ended, tell of states, instants and findings. The result
 * is freed by ct_result_free(). NVW_E_MEMORY.
 */
NVW_CHECKED int ct_result_gather(const struct ct_plan *plan, const struct ct_options *options,
	const struct ct_worker *worker, unsigned workers, struct ct_result *result);

/* Orders findings by their first states. */
int ct_by_first(const void *a, const void *b);

/* Adds what the parts of another exploration did. */
void ct_by_parts_join(struct ct_by_parts *to, const struct ct_by_parts *from);

#endif
