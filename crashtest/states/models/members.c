/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work-items, work-groups and kernels at barriers: the stores that a completed barrier makes certain, and
 * which of them remain certain if the barrier is narrowed. Axioms: completion and, through it, equations 1 to
 * 3; visibility; drain.
 */
#include <sys/param.h>

#include "../mixed.h"
#include "models.h"

static bool is_narrowed(const struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER || r->kind == NVW_LOG_PERSISTED);
	return m->narrow_site != 0 && r->barrier.site == m->narrow_site;
}

static bool is_member(const struct ct_medium *m, uint32_t kernel, uint64_t item, uint64_t group)
{
	return kernel == m->kernel && item < m->work_items && group < m->work_items;
}

int ct_members_check(const struct ct_medium *m, uint32_t kernel, uint64_t item, uint64_t group)
{
	NVW_FAIL_IF(!is_member(m, kernel, item, group), NVW_E_DAMAGED,
		"persist log: record %llu: work-item %llu of group %llu is not in the running kernel %u",
		(unsigned long long)m->record, (unsigned long long)item, (unsigned long long)group,
		m->kernel);
	return 0;
}

/* ---- Completed epochs: completion, and through it equations 1 to 3 ------------------------------------- */

/* The work-item's stores up to a number are durable. Under strict persistency, so are all stores that were
 * visible before. */
static void land_item(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	uint64_t *const newest = ct_array_number(&m->newest, item);
	uint64_t write = *newest, kept = 0;

	NVW_DEEP_INVARIANT(item < m->work_items);
	if (m->flight_head == m->flight_count || write < m->flight[m->flight_head].write) {
		*newest = 0; /* all of them have become durable in another way */
		return;
	}
	while (write > upto) { /* only with narrowed barriers: the work-item has stored since */
		kept = write;
		write = ct_medium_flight(m, write)->older;
	}
	if (kept != 0) {
		ct_medium_flight(m, kept)->older = 0;
	} else {
		*newest = 0;
	}
	m->covered = MAX(m->covered, write);
	while (write != 0 && !ct_has(m, CT_A(VISIBILITY))) {
		struct ct_flight *const f = ct_medium_flight(m, write);

		write = f->older;
		ct_medium_land(m, f);
	}
}

static void land_group(struct ct_medium *m, uint64_t group, uint64_t upto)
{
	const uint64_t first = group * m->group_size;

	NVW_INVARIANT(m->group_size > 0);
	for (uint64_t i = first; i < first + m->group_size && i < m->work_items; i++) {
		land_item(m, i, upto);
	}
}

/* Axiom: visibility. */
static void land_flights(struct ct_medium *m)
{
	while (m->flight_head < m->flight_count && m->flight[m->flight_head].write <= m->covered) {
		ct_medium_land(m, &m->flight[m->flight_head]);
	}
}

static void land_covered(struct ct_medium *m)
{
	if (!ct_has(m, CT_A(VISIBILITY))) {
		return;
	}
	if (m->rules.mixed) {
		ct_mixed_land_kernels(m, m->covered);
	} else {
		land_flights(m);
	}
}

/* Calls the function with every work-item that met the barrier. */
static void for_members(struct ct_medium *m, const struct nvw_log_record *r,
	void (*call)(struct ct_medium *m, uint64_t item, uint64_t upto), uint64_t upto)
{
	uint64_t first = 0, count = m->work_items;

	if (r->barrier.scope == NVW_WORKITEM) {
		for (uint64_t lanes = r->barrier.lanes; lanes; lanes &= lanes - 1) {
			const uint64_t item = r->barrier.work_item + (unsigned)__builtin_ctzll(lanes);

			if (item < m->work_items) {
				call(m, item, upto);
			}
		}
		return;
	}
	if (r->barrier.scope == NVW_WORKGROUP) {
		first = r->barrier.group * m->group_size;
		count = m->group_size;
	}
	for (uint64_t i = first; i < first + count && i < m->work_items; i++) {
		call(m, i, upto);
	}
}

/* ---- Narrowed barriers
 * -----------------------------------------------------------------------------------------
 *
 * The log shows a narrowed barrier only as the wider one. A member has certainly completed the narrower one
 * when it performs its next operation, and not certainly before: until then its stores are owed. */

static void owe_item(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	m->owed += *ct_array_number(&m->owed_item, item) == 0;
	*ct_array_number(&m->owed_item, item) = upto;
}

static void owe_group(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	uint64_t *const owed = ct_array_number(&m->owed_group, item / m->group_size);

	m->owed += *owed == 0;
	*owed = upto;
}

static void settle_member(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	uint64_t *const mine = ct_array_number(&m->owed_item, item), *const groups =
									     ct_array_number(&m->owed_group,
										     item / m->group_size);

	if (*mine != 0) {
		land_item(m, item, *mine);
		*mine = 0;
		m->owed--;
	}
	if (*groups != 0) {
		land_group(m, item / m->group_size, *groups);
		*groups = 0;
		m->owed--;
	}
}

static bool is_owing(const struct ct_medium *m, uint64_t item)
{
	return item < m->work_items && (*ct_array_number(&m->owed_item, item) ||
					       *ct_array_number(&m->owed_group, item / m->group_size));
}

static bool is_member_owing(const struct ct_medium *m, const struct nvw_log_record *r)
{
	uint64_t first = r->barrier.work_item, count = 64;

	if (r->barrier.scope == NVW_KERNEL) {
		return true;
	}
	if (r->barrier.scope == NVW_WORKGROUP) {
		first = r->barrier.group * m->group_size;
		count = m->group_size;
	}
	return NVW_ANY_BELOW(i, count,
		(r->barrier.scope == NVW_WORKGROUP || r->barrier.lanes >> i & 1) && is_owing(m, first + i));
}

/* Counts anew how many members and groups owe something. */
__attribute__((unused)) static uint64_t owing(const struct ct_medium *m)
{
	uint64_t n = 0;

	NVW_FOR(i, m->work_items) {
		n += *ct_array_number(&m->owed_item, i) != 0;
	}
	for (uint64_t g = 0; g * m->group_size < m->work_items; g++) {
		n += *ct_array_number(&m->owed_group, g) != 0;
	}
	return n;
}

bool ct_members_owe(const struct ct_medium *m, const struct nvw_log_record *r)
{
	if (m->owed == 0 || !ct_has(m, CT_A(COMPLETION))) {
		return false;
	}
	switch (r->kind) {
	case NVW_LOG_STORE:
		return is_owing(m, r->store.work_item);
	case NVW_LOG_ACK:
		return r->ack.kernel != 0 && is_owing(m, r->ack.work_item);
	case NVW_LOG_BARRIER:
		return is_member_owing(m, r);
	case NVW_LOG_FINISH:
		return true;
	default:
		return false;
	}
}

void ct_members_settle(struct ct_medium *m, const struct nvw_log_record *r)
{
	switch (r->kind) {
	case NVW_LOG_STORE:
		settle_member(m, r->store.work_item, 0);
		break;
	case NVW_LOG_ACK:
		settle_member(m, r->ack.work_item, 0);
		break;
	case NVW_LOG_BARRIER:
		for_members(m, r, settle_member, 0);
		break;
	default:
		NVW_FOR(i, m->work_items) {
			settle_member(m, i, 0);
		}
	}
	NVW_DEEP_INVARIANT(m->owed == owing(m));
	land_covered(m);
}

/* The remaining scope, or none: below NVW_WORKITEM. */
static int narrower(const struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER || r->kind == NVW_LOG_PERSISTED);
	return (int)r->barrier.scope - (int)m->rules.narrow_by;
}

static void narrowed(struct ct_medium *m, const struct nvw_log_record *r)
{
	const int scope = narrower(m, r);

	if (m->stores == 0) {
		return; /* nothing to owe */
	}
	if (scope == NVW_WORKITEM) {
		for_members(m, r, owe_item, m->stores);
	} else if (scope == NVW_WORKGROUP) {
		for_members(m, r, owe_group, m->stores);
	}
	NVW_DEEP_INVARIANT(m->owed == owing(m));
}

/* Models without completion count epochs, so a removed barrier is counted too, in each scope from which it is
 * removed. */
static void count_item(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	++*ct_array_number(&m->owed_item, item);
}

static void count_group(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	*ct_array_number(&m->owed_group, item / m->group_size) += item % m->group_size == 0;
}

static void count_narrowed(struct ct_medium *m, const struct nvw_log_record *r)
{
	const int scope = narrower(m, r), had = (int)r->barrier.scope;

	m->owed += had == NVW_KERNEL && scope < NVW_KERNEL;
	if (had >= NVW_WORKGROUP && scope < NVW_WORKGROUP) {
		for_members(m, r, count_group, 0);
	}
	if (scope < NVW_WORKITEM) {
		for_members(m, r, count_item, 0);
	}
}

/* ---- Records ------------------------------------------------------------------------------------------- */

int ct_on_persisted(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_PERSISTED);
	NVW_TRY(ct_members_check(m, r->barrier.kernel, r->barrier.work_item, r->barrier.group));
	if (!ct_has(m, CT_A(COMPLETION))) {
		if (is_narrowed(m, r)) {
			count_narrowed(m, r);
		}
	} else if (is_narrowed(m, r)) {
		narrowed(m, r);
	} else {
		for_members(m, r, land_item, m->stores);
		land_covered(m);
	}
	return 0;
}

/* They owe nothing: stores in flight from earlier kernels are only ordered by the host's waits. */
static int begin_members(struct ct_medium *m, uint64_t count)
{
	struct ct_array *const of[] = {&m->newest, &m->owed_item, &m->owed_group};

	NVW_EACH_IN(array, of) {
		NVW_TRY(ct_array_grow(*array, count, sizeof(uint64_t)));
		ct_array_zero_numbers(*array);
	}
	m->owed = 0;
	return 0;
}

int ct_on_launch(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_LAUNCH);
	NVW_TRY(begin_members(m, r->launch.work_items));
	NVW_FAIL_IF(r->launch.group_size == 0, NVW_E_DAMAGED,
		"persist log: record %llu: expected work-groups of at least 1 work-item, found 0",
		(unsigned long long)m->record);
	m->kernel = r->launch.kernel;
	m->group_size = r->launch.group_size;
	m->work_items = r->launch.work_items;
	return 0;
}

static void land_all(struct ct_medium *m)
{
	const struct ct_told *const told = m->told.at;

	ct_medium_land_all(m);
	NVW_EACH(one, told, m->told.count) {
		ct_medium_note_acks(m, one->first, one->count); /* certain from now on */
	}
	m->told.count = 0;
}

/* Axiom: drain. */
int ct_on_finish(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_FINISH);
	if (ct_has(m, CT_A(DRAIN)) && m->rules.mixed) {
		ct_mixed_land_kernels(m, m->stores);
		ct_array_zero_numbers(&m->newest);
	} else if (ct_has(m, CT_A(DRAIN))) {
		land_all(m);
	}
	return 0;
}

/* Axiom: host. */
int ct_on_drained(struct ct_medium *m, const struct nvw_log_record *r)
{
	land_all(m);
	return 0;
}

void ct_lower_epochs(const struct ct_medium *m, struct ct_stamp *s)
{
	if (m->narrow_site != 0 && !ct_has(m, CT_A(COMPLETION))) {
		s->epoch_wi -= (uint32_t)*ct_array_number(&m->owed_item, s->work_item);
		s->epoch_wg -= (uint32_t)*ct_array_number(&m->owed_group, s->group);
		s->epoch_kr -= (uint32_t)m->owed;
	}
}
