/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes the records of a log to the explored model (models/), in order. */
#include <string.h>

#include "limits.h"
#include "models/models.h"

bool ct_order_completes(const struct ct_medium *m, const struct nvw_log_record *r)
{
	const bool eadr = m->joins && ct_has(m, CT_A(AT_ONCE));

	const bool flushed = m->ordered > 0 && r->kind == NVW_LOG_STORE; /* x86: clflush completes here */

	if (r->kind == NVW_LOG_STORE && ct_limits_join(m)) {
		return false;
	}
	if (r->kind == NVW_LOG_STORE && ct_limits_complete(m)) {
		return true;
	}
	return flushed ||
	       ((eadr ? CT_KIND(FENCE) | CT_KIND(HOST) : ct_model_of(m)->completing) >> r->kind & 1) ||
	       ct_members_owe(m, r);
}

static void meet_site(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_SITE);
	if (m->rules.narrow_file && r->site.line == m->rules.narrow_line &&
		!strcmp(basename(r->site.file), basename(m->rules.narrow_file))) {
		m->narrow_site = r->site.id;
	}
}

int ct_order_apply(struct ct_medium *m, const struct nvw_log_record *r)
{
	ct_apply *const how = ct_model_of(m)->apply[r->kind];

	if (r->kind == NVW_LOG_SITE) {
		meet_site(m, r);
	} else if (r->kind == NVW_LOG_BEGIN) {
		ct_medium_note_acks(m, r->begin.number, 1);
		return nvw__acks_begin(&m->acks, r->begin.number);
	} else if (ct_members_owe(m, r)) {
		ct_members_settle(m, r);
	}
	if (how) {
		return how(m, r);
	}
	return 0;
}

int ct_order_at_instant(struct ct_medium *m)
{
	NVW_INVARIANT(m->changed); /* an instant without news would have the states of the one before */
	return ct_model_of(m)->at_instant ? ct_model_of(m)->at_instant(m) : 0;
}
