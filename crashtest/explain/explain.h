/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a state fails: the smallest set of lost units that still fails, and the stores of the run behind
 * what was lost and what was durable too early.
 */
#ifndef CRASHTEST_EXPLAIN_H
#define CRASHTEST_EXPLAIN_H

#include "../explore/plan.h"

/* Fills in finding's places and smallest case. What cannot be explained stays empty; errors are those of
 * the log and of memory. */
NVW_CHECKED int ct_explain(
	const struct ct_exploration *e, const struct ct_plan *plan, struct ct_finding *finding);

/* The same for a crash that happened at the end of the log, and left the bytes of image. */
NVW_CHECKED int ct_explain_image(
	const struct ct_exploration *e, const uint8_t *image, struct ct_finding *finding);

#endif
