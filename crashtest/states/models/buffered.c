/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered epoch persistency, gope18's alternative: only equations 1 to 3. The image holds all stores; a
 * state removes an upward-closed set, and with it the acknowledgements that waited for it.
 */
#include <sys/param.h>

#include "../reach.h"
#include "models.h"

/* Axiom: acknowledgement. */
void ct_order_drop_told(struct ct_medium *m, const unsigned *levels)
{
	const struct ct_told *const told = m->told.at;
	uint64_t first = UINT64_MAX;
	struct ct_reach lost;

	if (m->told.count == 0 || ct_array_grow(&m->dropped, m->told.count, sizeof *told) ||
		!ct_reach_begin(m, true, &lost)) {
		return;
	}
	NVW_FOR(i, m->cell_count) {
		const struct ct_cell *const c = &m->cell[i];

		for (unsigned v = c->straight == 0 ? levels[i] : 0; v < c->count; v++) {
			const struct ct_flight *const f = ct_medium_flight(m, c->write[v]);

			if (!ct_cell_has(c, levels[i], v)) {
				ct_reach_add(&lost, &f->by);
				first = MIN(first, f->write);
			}
		}
	}
	for (uint64_t i = m->told.count; i > 0 && told[i - 1].after >= first; i--) {
		const struct ct_told *const t = &told[i - 1];

		if (ct_reach_has(&lost, &t->by)) {
			nvw__acks_drop(&m->acks, t->first, t->count);
			((struct ct_told *)m->dropped.at)[m->dropped.count++] = *t;
		}
	}
	ct_reach_end(&lost);
}

const struct ct_model_rules ct_model_buffered = {
	.info = {.name = "buffered-epoch",
		.who = "buffered epoch persistency (gope18 5, 6.1, alternative): a barrier only orders",
		.axioms = CT_A(BYTES) | CT_A(WORK_ITEM) | CT_A(WORK_GROUP) | CT_A(KERNEL) | CT_A(TOLD) |
			  CT_A(DRAIN) | CT_A(HOST),
		.levels = CT_GRAPH,
		.of_runs = true,
		.counts_work_items = true,
		.narrows = true},
	.completing =
		CT_KIND(FENCE) | CT_KIND(PERSISTED) | CT_KIND(FINISH) | CT_KIND(DRAINED) | CT_KIND(HOST),
	.apply = {CT_RECORDS_OF_RUNS, [NVW_LOG_FINISH] = ct_on_finish},
};
