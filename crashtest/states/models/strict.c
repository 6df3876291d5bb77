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
	.apply = {[NVW_LOG_LAUNCH] = ct_on_launch,
		[NVW_LOG_STORE] = ct_on_store,
		[NVW_LOG_PERSISTED] = ct_on_persisted,
		[NVW_LOG_DRAINED] = ct_on_drained,
		[NVW_LOG_HOST] = ct_on_host,
		[NVW_LOG_FLUSH] = ct_on_flush,
		[NVW_LOG_FENCE] = ct_on_fence,
		[NVW_LOG_ACK] = ct_on_ack},
};
