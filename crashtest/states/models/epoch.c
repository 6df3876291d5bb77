/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epoch persistency, gope18's proposal. Its barriers stall, so the completion of a barrier orders everything
 * that equations 1 to 3 order across it: stores covered by completed barriers are certain, and all others are
 * free.
 */
#include "models.h"

const struct ct_model_rules ct_model_epoch = {
	.info = {.name = "epoch",
		.who = "epoch persistency (gope18 5, 6.1): a barrier stalls until it has completed",
		.use = CT_USE_RUNS,
		.axioms = CT_A(BYTES) | CT_A(COMPLETION) | CT_A(WORK_ITEM) | CT_A(WORK_GROUP) | CT_A(KERNEL) |
			  CT_A(HOST),
		.levels = CT_FREE,
		.of_runs = true,
		.counts_work_items = true,
		.narrows = true,
		.bounds_reads = true,
		.cuts_apart = true},
	.completing = CT_KIND(FENCE) | CT_KIND(PERSISTED) | CT_KIND(DRAINED) | CT_KIND(HOST),
	.apply = {CT_RECORDS_OF_RUNS},
};
