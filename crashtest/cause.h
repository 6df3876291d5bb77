/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between a store that was lost and what must not be there without it: which persist barrier is missing, of too
 * narrow a scope, or not met by the other (gope18, equations 1 to 3).
 */
#ifndef CRASHTEST_CAUSE_H
#define CRASHTEST_CAUSE_H

#include "stores.h"

struct ct_effect {
	/* Of a program: the operation of the lost store, if it was acknowledged. */
	const struct ct_operation *own;
	const struct ct_store *store; /* that was durable too early, NULL: unknown */
	uint64_t
		acknowledged; /* operation that was acknowledged, plus 1; it is what matters if the lost store came
					 before; 0: unknown */
};

/* Reads the log up to its record number records. lost NULL: nothing was stored yet that could be lost. */
NVW_CHECKED int ct_cause_find(int log_fd, uint64_t records, const struct ct_stores *stores,
	const struct ct_store *lost, const struct ct_effect *effect, struct ct_cause *ret_cause);

#endif
