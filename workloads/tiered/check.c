/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of the tiered table: guarantees (1) to (3) of layout.h, on recovered pools. The parts state (1)
 * and (2); what recovery has to have done (3) is stated here.
 */
#include <inttypes.h>

#include "common/roots.h"
#include "check.h"

/* (3) */
static int check_truncated(const struct tiered_case *c, uint64_t item)
{
	const struct tiered_layout *const l = &c->v.layout;
	const uint64_t k = tiered_log_word(&c->v, tiered_applied(l, item));
	nvw_off row, value;

	if (!tiered_has_record(&c->v, item, k, &row, &value)) {
		return 0;
	}
	return nvw_violation(c->findings, tiered_record(l, item, k),
		"recovery has left a record in the log of work-item %" PRIu64, item);
}

int tiered_check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct tiered_case c = {
		.plan = acks ? plan : NULL, .acks = acks, .findings = findings, .is_recovered = true};
	int result = 0;

	if (tiered_view_open(pool, &c.v) != 0) {
		return roots_broken(pool, findings);
	}
	NVW_TRY(tiered_check_part(&c, 0));
	if (c.v.layout.log == 0) {
		return 0;
	}
	for (uint64_t part = 1; part < tiered_part_count(&c.v.layout); part++) {
		if (tiered_check_part(&c, part) != 0) {
			result = NVW_E_INCONSISTENT;
		}
	}
	NVW_FOR(item, c.v.layout.items) {
		if (check_truncated(&c, item) != 0) {
			result = NVW_E_INCONSISTENT;
		}
	}
	return result;
}

/* Records that the table has are free, and what they hold means nothing. */
const char *tiered_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found)
{
	struct tiered_view v;

	if (tiered_view_open(pool, &v) != 0 || v.layout.log == 0) {
		return NULL;
	}
	const uint64_t log = tiered_log_bytes(&v.layout), in = off - v.layout.log;

	if (off == nvw_pool_root_off(nvw_pool_geometry(pool), TIERED_LOG) && found == 0) {
		return "that the pools are set up";
	}
	if (off < v.layout.log || in >= v.layout.items * log) {
		return NULL;
	}
	if (in % log >= TIERED_LINE) {
		return "a free record of a log";
	}

	return in % log == 0 && found <= tiered_puts(&v.layout, in / log) ? "how many puts the table has" :
									    NULL;
}
