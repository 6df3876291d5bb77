/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A need (need.h) in words: which persist barrier is missing, of too narrow a scope, or not met by the other
 * (gope18, equations 1 to 3), which flush or fence, which stores are misordered or must be atomic; what may
 * cure it.
 */
#ifndef CRASHTEST_CAUSE_H
#define CRASHTEST_CAUSE_H

#include "need.h"

/* Reads the log. operations: their names; may be NULL. acknowledged: an operation without whose
 * acknowledgement nothing would be wrong, plus 1; 0: none. */
NVW_CHECKED int ct_cause_find(int log_fd, const struct ct_stores *stores,
	const struct ct_operations *operations, const struct ct_need *need, uint64_t acknowledged,
	struct ct_cause *ret_cause, struct ct_proposals *ret_proposals);

/* The text and the proposal of a group of stores that must be atomic (cause's group). */
void ct_cause_say_group(struct ct_cause *cause, struct ct_proposals *ret_proposals);

#endif
