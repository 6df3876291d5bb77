/* SPDX-License-Identifier: BSD-3-Clause */
/* The full engine of pmreorder; elements.h has its intervals. */
#include "../elements.h"
#include "models.h"

const struct ct_model_rules ct_model_pmreorder = {
	.info = {.name = "pmreorder",
		.who = "the full engine of pmreorder",
		.axioms = CT_A(INTERVAL) | CT_A(HOST),
		.levels = CT_FREE,
		.of_programs = true},
	.completing = CT_KIND(FENCE) | CT_KIND(HOST),
	.apply = {[NVW_LOG_STORE] = ct_element_store,
		[NVW_LOG_FLUSH] = ct_element_flush,
		[NVW_LOG_FENCE] = ct_element_fence,
		[NVW_LOG_HOST] = ct_on_host,
		[NVW_LOG_ACK] = ct_on_ack},
	.at_instant = ct_element_cells,
};
