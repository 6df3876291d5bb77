/* SPDX-License-Identifier: BSD-3-Clause */
/* The logged run's own timing: writes completed by the device are durable, issued ones may be, in part. */

#include "models.h"

static int issue(struct ct_medium *m, const struct nvw_log_record *r)
{
	const struct ct_flight f = {.write = r->issue.write, .off = r->issue.off, .mask = r->issue.mask};

	NVW_INVARIANT(r->kind == NVW_LOG_ISSUE);
	NVW_TRY(ct_medium_add_flight(m, &f));
	return ct_medium_put(m, f.write, f.off, r->issue.data, f.mask);
}

static int done(struct ct_medium *m, const struct nvw_log_record *r)
{
	uint64_t i = m->flight_head;

	NVW_INVARIANT(r->kind == NVW_LOG_DONE);
	while (i < m->flight_count && (m->flight[i].write != r->done.write || m->flight[i].done)) {
		i++;
	}
	NVW_FAIL_IF(i == m->flight_count, NVW_E_DAMAGED,
		"persist log: write %llu completes but was never issued", (unsigned long long)r->done.write);
	ct_medium_land(m, &m->flight[i]);
	return 0;
}

const struct ct_model_rules ct_model_observed = {
	.info = {.name = "observed",
		.who = "the logged run's own timing",
		.use = CT_USE_TIMING,
		.axioms = CT_A(DEVICE) | CT_A(WORD) | CT_A(HOST),
		.levels = CT_FREE,
		.replays = true,
		.bounds_reads = true,
		.cuts_apart = true},
	.completing = CT_KIND(DONE) | CT_KIND(HOST),
	.apply = {[NVW_LOG_ISSUE] = issue,
		[NVW_LOG_DONE] = done,
		[NVW_LOG_HOST] = ct_on_host,
		[NVW_LOG_ACK] = ct_on_ack},
};
