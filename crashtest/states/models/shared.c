/* SPDX-License-Identifier: BSD-3-Clause */
/* Records that several models treat alike. Axioms: host, drain, acknowledgement. */
#include <string.h>

#include "models.h"

static void keep_place(const struct ct_medium *m, struct ct_flight *f)
{
	const struct ct_cell *const c = ct_medium_cell_at(m, ct_flight_unit(m, f));

	f->cell = (uint32_t)(c - m->cell);
	f->version = c->count - 1;
}

int ct_on_store(struct ct_medium *m, const struct nvw_log_record *r)
{
	const nvw_off line = r->store.off & ~(nvw_off)63;
	const unsigned at = (unsigned)(r->store.off - line);
	struct ct_flight f = {.write = m->stores + 1,
		.off = line,
		.mask = ((UINT64_C(1) << r->store.bytes) - 1) << at,
		.by = CT_STAMP(r->store),
		.kernel = r->store.kernel,
		.site = r->store.site};

	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	const bool is_device = m->rules.mixed ? f.kernel != 0 : !ct_has(m, CT_A(LINE) | CT_A(SECTOR));
	uint8_t data[NVW_LOG_LINE_BYTES];

	if (is_device) {
		NVW_TRY(ct_members_check(m, f.kernel, f.by.work_item, f.by.group));
	}
	if (m->rules.mixed && m->ordered > 0) {
		ct_complete_ordered(m);
	}
	ct_lower_epochs(m, &f.by);
	memcpy(data + at, &r->store.value, r->store.bytes);
	m->instruction = r->store.group;
	NVW_TRY(ct_medium_put(m, f.write, line, data, f.mask));
	if (ct_keeps_all(m)) {
		keep_place(m, &f);
	} else if (is_device) {
		f.older = *ct_array_number(&m->newest, f.by.work_item);
		*ct_array_number(&m->newest, f.by.work_item) = f.write;
	}
	m->stores++;
	if (is_device || m->rules.mixed) {
		return ct_medium_add_flight(m, &f);
	}
	return 0;
}

int ct_on_host(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_HOST);
	if (ct_has(m, CT_A(DRAIN)) && !m->rules.mixed) {
		ct_on_drained(m, r);
	}
	NVW_FOR(i, r->host.bytes) {
		ct_medium_set_byte(m, r->host.off + i, r->host.data[i]);
	}
	m->changed = m->obliged = true;
	return 0;
}

int ct_on_ack(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_ACK);
	m->changed = m->obliged = true;
	if (r->ack.kernel != 0 && ct_has(m, CT_A(TOLD))) {
		struct ct_told t = {.first = r->ack.first,
			.count = r->ack.count,
			.after = m->stores,
			.by = CT_STAMP(r->ack)};

		NVW_TRY(ct_members_check(m, r->ack.kernel, t.by.work_item, t.by.group));
		ct_lower_epochs(m, &t.by);
		NVW_TRY(CT_ADD(&m->told, &t));
	}
	const uint64_t known = m->acks.count;
	const int error = nvw__acks_add(&m->acks, r->ack.first, r->ack.count);

	/* What was acknowledged before makes no state new. */
	m->obliged_by_ack |= m->acks.count > known;
	ct_medium_note_acks(m, r->ack.first, r->ack.count);
	return error;
}
