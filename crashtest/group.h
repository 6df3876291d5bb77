/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings in groups: violations whose texts are equal but for the numbers in them. Fixed size, so that it
 * can lie in memory that outlives the worker that fills it.
 */
#ifndef CRASHTEST_GROUP_H
#define CRASHTEST_GROUP_H

#include "crash.h"

struct ct_groups {
	unsigned count;
	uint64_t unlisted; /* states of groups beyond the last */
	struct ct_group {
		char shape[CT_TEXT_BYTES];
		struct ct_finding finding;
	} group[CT_FINDINGS_MAX];
};

/* The text with every number as '#'. */
void ct_shape(const char *text, char ret_shape[CT_TEXT_BYTES]);

/* Adds finding->states states that fail so; the earlier (instant, draw) stays as the example. */
void ct_groups_add(struct ct_groups *groups, const struct ct_finding *finding);

/* Findings with the same root cause become one. */
void ct_merge_causes(struct ct_finding *findings, unsigned *count);

#endif
