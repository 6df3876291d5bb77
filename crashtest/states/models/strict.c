/* SPDX-License-Identifier: BSD-3-Clause */
/* Strict persistency (gope18 2): stores persist in the order in which they became visible. */
#include "models.h"

const struct ct_model_rules ct_model_strict = {
	.info = {.name = "strict",
		.who = "strict persistency (gope18 2)",
		.axioms = CT_A(VISIBILITY) | CT_A(COMPLETION) | CT_A(HOST),
		.levels = CT_CHAIN,
		.of_runs = true,
		.counts_work_items = true,
		.cuts_apart = true},
	.completing = CT_KIND(FENCE) | CT_KIND(PERSISTED) | CT_KIND(DRAINED) | CT_KIND(HOST),
	.apply = {CT_RECORDS_OF_RUNS},
};
