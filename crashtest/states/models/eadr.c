/* SPDX-License-Identifier: BSD-3-Clause */
/* Caches inside the persistence domain: a store is durable when it becomes visible. */

#include "models.h"

static int store_through(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	NVW_FOR(i, r->store.bytes) {
		ct_medium_set_byte(m, r->store.off + i, (uint8_t)(r->store.value >> 8 * i));
	}
	m->stores++;
	m->changed = m->obliged = true;
	return 0;
}

const struct ct_model_rules ct_model_eadr = {
	.info = {.name = "eadr",
		.who = "any model, with caches inside the persistence domain",
		.use = CT_USE_KEPT_CACHES,
		.axioms = CT_A(AT_ONCE) | CT_A(HOST),
		.levels = CT_FREE,
		.of_runs = true,
		.of_programs = true,
		.cuts_apart = true},
	.completing = CT_KIND(STORE) | CT_KIND(HOST),
	.apply = {[NVW_LOG_STORE] = store_through, [NVW_LOG_HOST] = ct_on_host, [NVW_LOG_ACK] = ct_on_ack},
};
