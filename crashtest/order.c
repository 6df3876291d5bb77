/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each model makes of the records of a log: which stores may be durable from a record on, and which must be.
 * The axioms are listed in model.h; each function here names those that it carries out.
 */
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "medium.h"

static uint64_t *at64(const struct ct_array *a, uint64_t i)
{
	return (uint64_t *)a->at + i;
}

static bool is_narrowed(const struct ct_medium *m, const struct nvw_log_record *r)
{
	return m->narrow_site != 0 && r->barrier.site == m->narrow_site;
}

/* ---- Stores -------------------------------------------------------------------------------------------- */

/* Every store is durable at once. Axiom: at once. */
static int store_through(struct ct_medium *m, const struct nvw_log_record *r)
{
	for (unsigned i = 0; i < r->store.bytes; i++) {
		ct_medium_set_byte(m, r->store.off + i, (uint8_t)(r->store.value >> 8 * i));
	}
	m->changed = m->obliged = true;
	return 0;
}

/* Buffered epoch persistency, narrowed: epochs that the barriers which are gone had begun. */
static void lower_epochs(
	const struct ct_medium *m, uint64_t item, uint64_t group, uint32_t *wi, uint32_t *wg, uint32_t *kr)
{
	if (m->narrow_site != 0 && m->rules.model == CT_MODEL_BUFFERED) {
		*wi -= (uint32_t)*at64(&m->owed_item, item);
		*wg -= (uint32_t)*at64(&m->owed_group, group);
		*kr -= (uint32_t)m->owed;
	}
}

static int check_members(const struct ct_medium *m, uint32_t kernel, uint64_t item, uint64_t group)
{
	if (kernel == m->kernel && item < m->work_items && group < m->work_items) {
		return 0;
	}
	return nvw_fail(NVW_E_DAMAGED,
		"persist log: record %llu: work-item %llu of group %llu is not in kernel %u, which runs",
		(unsigned long long)m->record, (unsigned long long)item, (unsigned long long)group,
		m->kernel);
}

static int keep_place(struct ct_medium *m, struct ct_flight *f)
{
	nvw_off off = f->off + (m->unit_bytes == 64 ? 0 : (unsigned)__builtin_ctzll(f->mask) & ~7u);
	const struct ct_cell *c = ct_medium_cell_at(m, off);

	f->cell = (uint32_t)(c - m->cell);
	f->version = c->count - 1;
	return 0;
}

static int store(struct ct_medium *m, const struct nvw_log_record *r)
{
	const nvw_off line = r->store.off & ~(nvw_off)63;
	const unsigned at = (unsigned)(r->store.off - line);
	struct ct_flight f = {.write = m->stores + 1,
		.off = line,
		.mask = ((UINT64_C(1) << r->store.bytes) - 1) << at,
		.work_item = r->store.work_item,
		.group = r->store.group,
		.epoch_wi = r->store.epoch_wi,
		.epoch_wg = r->store.epoch_wg,
		.epoch_kr = r->store.epoch_kr,
		.kernel = r->store.kernel,
		.site = r->store.site};
	const bool is_device = m->rules.model != CT_MODEL_X86;
	uint8_t data[NVW_LOG_LINE_BYTES];
	int error = is_device ? check_members(m, f.kernel, f.work_item, f.group) : 0;

	if (error) {
		return error;
	}
	lower_epochs(m, f.work_item, f.group, &f.epoch_wi, &f.epoch_wg, &f.epoch_kr);
	memcpy(data + at, &r->store.value, r->store.bytes);
	m->instruction = r->store.group;
	error = ct_medium_put(m, f.write, line, data, f.mask);
	if (!error && m->rules.model == CT_MODEL_BUFFERED) {
		error = keep_place(m, &f);
	} else if (is_device) {
		f.older = *at64(&m->newest, f.work_item);
		*at64(&m->newest, f.work_item) = f.write;
	}
	m->stores++;
	return error || !is_device ? error : ct_medium_add_flight(m, &f);
}

/* ---- Epochs that are over: completion, and through it equations 1 to 3 ---------------------------------------- */

/* The work-item's stores up to a number are durable. Under strict persistency so is what was visible before. */
static void land_item(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	uint64_t *const newest = at64(&m->newest, item);
	uint64_t write = *newest, kept = 0;

	if (m->flight_head == m->flight_count || write < m->flight[m->flight_head].write) {
		*newest = 0; /* all of them have landed in another way */
		return;
	}
	while (write > upto) { /* narrowed barriers alone: the work-item has stored since */
		kept = write;
		write = ct_medium_flight(m, write)->older;
	}
	if (kept != 0) {
		ct_medium_flight(m, kept)->older = 0;
	} else {
		*newest = 0;
	}
	m->covered = write > m->covered ? write : m->covered;
	while (write != 0 && m->rules.model != CT_MODEL_STRICT) {
		struct ct_flight *const f = ct_medium_flight(m, write);

		write = f->older;
		ct_medium_land(m, f);
	}
}

static void land_group(struct ct_medium *m, uint64_t group, uint64_t upto)
{
	const uint64_t first = group * m->group_size;

	for (uint64_t i = first; i < first + m->group_size && i < m->work_items; i++) {
		land_item(m, i, upto);
	}
}

/* Axiom: visibility. */
static void land_covered(struct ct_medium *m)
{
	while (m->rules.model == CT_MODEL_STRICT && m->flight_head < m->flight_count &&
		m->flight[m->flight_head].write <= m->covered) {
		ct_medium_land(m, &m->flight[m->flight_head]);
	}
}

/* Calls with every work-item that met the barrier. */
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

/* ---- Barriers that are taken for narrower ones ------------------------------------------------------------------
 *
 * Of a narrowed barrier the log shows only the wider one. A member of the narrower one had completed its own when
 * it did its next thing, and not certainly before: until then its stores are owed.
 */

static void owe_item(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	m->owed += *at64(&m->owed_item, item) == 0;
	*at64(&m->owed_item, item) = upto;
}

static void owe_group(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	uint64_t *const owed = at64(&m->owed_group, item / m->group_size);

	m->owed += *owed == 0;
	*owed = upto;
}

static void settle_member(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	uint64_t *const mine = at64(&m->owed_item, item), *const groups =
								  at64(&m->owed_group, item / m->group_size);

	(void)upto;
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
	return item < m->work_items &&
	       (*at64(&m->owed_item, item) || *at64(&m->owed_group, item / m->group_size));
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
	for (uint64_t i = 0; i < count; i++) {
		if ((r->barrier.scope == NVW_WORKGROUP || r->barrier.lanes >> i & 1) &&
			is_owing(m, first + i)) {
			return true;
		}
	}
	return false;
}

static bool owes(const struct ct_medium *m, const struct nvw_log_record *r)
{
	if (m->owed == 0 || m->rules.model == CT_MODEL_BUFFERED) {
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

static void settle(struct ct_medium *m, const struct nvw_log_record *r)
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
		for (uint64_t i = 0; i < m->work_items; i++) {
			settle_member(m, i, 0);
		}
	}
	land_covered(m);
}

/* The scope that is left, or none: below NVW_WORKITEM. */
static int narrower(const struct ct_medium *m, const struct nvw_log_record *r)
{
	return (int)r->barrier.scope - (int)m->rules.narrow_by;
}

static void narrowed(struct ct_medium *m, const struct nvw_log_record *r)
{
	const int scope = narrower(m, r);

	if (scope == NVW_WORKITEM) {
		for_members(m, r, owe_item, m->stores);
	} else if (scope == NVW_WORKGROUP) {
		for_members(m, r, owe_group, m->stores);
	}
}

/* Buffered epoch persistency: epochs are counted, so a barrier that is gone is counted as well, in each scope in which
 * it is gone. */
static void count_item(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	(void)upto;
	++*at64(&m->owed_item, item);
}

static void count_group(struct ct_medium *m, uint64_t item, uint64_t upto)
{
	(void)upto;
	*at64(&m->owed_group, item / m->group_size) += item % m->group_size == 0;
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

/* ---- Other records ---------------------------------------------------------------------------------------------- */

static int persisted(struct ct_medium *m, const struct nvw_log_record *r)
{
	const int error = check_members(m, r->barrier.kernel, r->barrier.work_item, r->barrier.group);

	if (error) {
		return error;
	}
	if (m->rules.model == CT_MODEL_BUFFERED) {
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

static int launch(struct ct_medium *m, const struct nvw_log_record *r)
{
	const uint64_t n = r->launch.work_items;
	int error = ct_array_grow(&m->newest, n, sizeof(uint64_t));

	if (!error) {
		error = ct_array_grow(&m->owed_item, n, sizeof(uint64_t));
	}
	if (!error) {
		error = ct_array_grow(&m->owed_group, n, sizeof(uint64_t));
	}
	if (error) {
		return error;
	}
	if (r->launch.group_size == 0) {
		return nvw_fail(NVW_E_DAMAGED,
			"persist log: record %llu: a kernel with groups of no work-item",
			(unsigned long long)m->record);
	}
	m->kernel = r->launch.kernel;
	m->group_size = r->launch.group_size;
	m->work_items = n;
	m->owed = 0;
	/* What the kernel before has left in flight is ordered by nothing but what the host waits for. */
	memset(m->newest.at, 0, m->newest.capacity * sizeof(uint64_t));
	memset(m->owed_item.at, 0, m->owed_item.capacity * sizeof(uint64_t));
	memset(m->owed_group.at, 0, m->owed_group.capacity * sizeof(uint64_t));
	return 0;
}

static void land_all(struct ct_medium *m)
{
	ct_medium_land_all(m);
	m->told.count = 0;
}

/* Axiom: drain. */
static int finish(struct ct_medium *m, const struct nvw_log_record *r)
{
	(void)r;
	if (m->rules.model == CT_MODEL_BUFFERED) {
		land_all(m);
	}
	return 0;
}

/* Axiom: host. */
static int drained(struct ct_medium *m, const struct nvw_log_record *r)
{
	(void)r;
	land_all(m);
	return 0;
}

static int host(struct ct_medium *m, const struct nvw_log_record *r)
{
	if (m->rules.model == CT_MODEL_BUFFERED) {
		land_all(m);
	}
	for (uint32_t i = 0; i < r->host.bytes; i++) {
		ct_medium_set_byte(m, r->host.off + i, r->host.data[i]);
	}
	m->changed = m->obliged = true;
	return 0;
}

static int ack(struct ct_medium *m, const struct nvw_log_record *r)
{
	m->changed = m->obliged = true;
	if (r->ack.kernel != 0 && m->rules.model == CT_MODEL_BUFFERED) {
		struct ct_told t = {.first = r->ack.first,
			.count = r->ack.count,
			.after = m->stores,
			.work_item = r->ack.work_item,
			.group = r->ack.group,
			.epoch_wi = r->ack.epoch_wi,
			.epoch_wg = r->ack.epoch_wg,
			.epoch_kr = r->ack.epoch_kr};
		int error = check_members(m, r->ack.kernel, t.work_item, t.group);

		error = error ? error : ct_array_grow(&m->told, m->told.count + 1, sizeof t);
		if (error) {
			return error;
		}
		lower_epochs(m, t.work_item, t.group, &t.epoch_wi, &t.epoch_wg, &t.epoch_kr);
		((struct ct_told *)m->told.at)[m->told.count++] = t;
	} else {
		m->obliged_by_ack = true;
	}
	return nvw__acks_add(&m->acks, r->ack.first, r->ack.count);
}

/* ---- Write-backs: observed -------------------------------------------------------------------------------------- */

static int issue(struct ct_medium *m, const struct nvw_log_record *r)
{
	const struct ct_flight f = {.write = r->issue.write, .off = r->issue.off, .mask = r->issue.mask};
	const int error = ct_medium_add_flight(m, &f);

	return error ? error : ct_medium_put(m, f.write, f.off, r->issue.data, f.mask);
}

static int done(struct ct_medium *m, const struct nvw_log_record *r)
{
	uint64_t i = m->flight_head;

	while (i < m->flight_count && (m->flight[i].write != r->done.write || m->flight[i].done)) {
		i++;
	}
	if (i == m->flight_count) {
		return nvw_fail(NVW_E_DAMAGED, "persist log: write %llu completes but was not issued",
			(unsigned long long)r->done.write);
	}
	ct_medium_land(m, &m->flight[i]);
	return 0;
}

/* ---- Flushes and fences: x86 ------------------------------------------------------------------------------------ */

/* What these flushes cover is durable; the others stay. */
static void complete_flushes(struct ct_medium *m,
	bool (*covers)(const struct ct_flush *f, const struct nvw_log_record *r),
	const struct nvw_log_record *r)
{
	struct ct_flush *const f = m->flush.at;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < m->flush.count; i++) {
		if (covers(&f[i], r)) {
			ct_medium_complete(m, f[i].off, f[i].write);
			m->ordered -= f[i].ordered;
		} else {
			f[kept++] = f[i];
		}
	}
	m->flush.count = kept;
}

static bool is_ordered(const struct ct_flush *f, const struct nvw_log_record *r)
{
	return f->ordered;
}

static bool is_of_thread(const struct ct_flush *f, const struct nvw_log_record *r)
{
	return f->thread == r->fence.thread;
}

/*
 * Axiom: ordered flush. clflush keeps its place among its thread's stores (raad20), so it is done when a later one is
 * seen. A store by another thread may have seen something of this one that no log has, such as a lock in volatile
 * memory: it counts as later too.
 */
static int store_in_order(struct ct_medium *m, const struct nvw_log_record *r)
{
	if (m->ordered > 0) {
		complete_flushes(m, is_ordered, r);
	}
	return store(m, r);
}

static int flush(struct ct_medium *m, const struct nvw_log_record *r)
{
	const nvw_off end = r->flush.off + r->flush.bytes;

	for (nvw_off line = r->flush.off & ~(nvw_off)63; line < end; line += NVW_LOG_LINE_BYTES) {
		const int error = ct_array_grow(&m->flush, m->flush.count + 1, sizeof(struct ct_flush));

		if (error) {
			return error;
		}
		((struct ct_flush *)m->flush.at)[m->flush.count++] =
			(struct ct_flush){.thread = r->flush.thread,
				.write = m->stores,
				.off = line,
				.ordered = r->flush.ordered};
		m->ordered += r->flush.ordered;
	}
	return 0;
}

/* Axiom: fence. */
static int fence(struct ct_medium *m, const struct nvw_log_record *r)
{
	complete_flushes(m, is_of_thread, r);
	return 0;
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

typedef int ct_apply(struct ct_medium *m, const struct nvw_log_record *r);

struct model {
	uint32_t completing; /* kinds of records before which instants lie */
	ct_apply *apply[NVW_LOG_END + 1];
};

#define K(kind) (UINT32_C(1) << NVW_LOG_##kind)

/* clang-format off */
static const struct model models[CT_MODEL_COUNT] = {
	[CT_MODEL_OBSERVED] = {
		.completing = K(DONE) | K(HOST),
		.apply = {[NVW_LOG_ISSUE] = issue, [NVW_LOG_DONE] = done, [NVW_LOG_HOST] = host, [NVW_LOG_ACK] = ack},
	},
	[CT_MODEL_STRICT] = {
		.completing = K(PERSISTED) | K(DRAINED) | K(HOST),
		.apply = {[NVW_LOG_LAUNCH] = launch, [NVW_LOG_STORE] = store, [NVW_LOG_PERSISTED] = persisted,
			[NVW_LOG_DRAINED] = drained, [NVW_LOG_HOST] = host, [NVW_LOG_ACK] = ack},
	},
	[CT_MODEL_EPOCH] = {
		.completing = K(PERSISTED) | K(DRAINED) | K(HOST),
		.apply = {[NVW_LOG_LAUNCH] = launch, [NVW_LOG_STORE] = store, [NVW_LOG_PERSISTED] = persisted,
			[NVW_LOG_DRAINED] = drained, [NVW_LOG_HOST] = host, [NVW_LOG_ACK] = ack},
	},
	[CT_MODEL_BUFFERED] = {
		.completing = K(PERSISTED) | K(FINISH) | K(DRAINED) | K(HOST),
		.apply = {[NVW_LOG_LAUNCH] = launch, [NVW_LOG_STORE] = store, [NVW_LOG_PERSISTED] = persisted,
			[NVW_LOG_FINISH] = finish, [NVW_LOG_DRAINED] = drained, [NVW_LOG_HOST] = host,
			[NVW_LOG_ACK] = ack},
	},
	[CT_MODEL_EADR] = {
		.completing = K(STORE) | K(HOST),
		.apply = {[NVW_LOG_STORE] = store_through, [NVW_LOG_HOST] = host, [NVW_LOG_ACK] = ack},
	},
	[CT_MODEL_X86] = {
		.completing = K(FENCE) | K(HOST),
		.apply = {[NVW_LOG_STORE] = store_in_order, [NVW_LOG_FLUSH] = flush, [NVW_LOG_FENCE] = fence,
			[NVW_LOG_HOST] = host, [NVW_LOG_ACK] = ack},
	},
	[CT_MODEL_PMREORDER] = {
		.completing = K(FENCE) | K(HOST),
		.apply = {[NVW_LOG_STORE] = ct_element_store, [NVW_LOG_FLUSH] = ct_element_flush,
			[NVW_LOG_FENCE] = ct_element_fence, [NVW_LOG_HOST] = host, [NVW_LOG_ACK] = ack},
	},
};
/* clang-format on */

bool ct_order_completes(const struct ct_medium *m, const struct nvw_log_record *r)
{
	const bool eadr = m->joins && m->rules.model == CT_MODEL_EADR;

	const bool flushed =
		m->ordered > 0 && r->kind == NVW_LOG_STORE; /* x86: what clflush is done with by then */

	return flushed || ((eadr ? K(FENCE) | K(HOST) : models[m->rules.model].completing) >> r->kind & 1) ||
	       owes(m, r);
}

static const char *last_component(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void meet_site(struct ct_medium *m, const struct nvw_log_record *r)
{
	if (m->rules.narrow_file != NULL && r->site.line == m->rules.narrow_line &&
		strcmp(last_component(r->site.file), last_component(m->rules.narrow_file)) == 0) {
		m->narrow_site = r->site.id;
	}
}

int ct_order_apply(struct ct_medium *m, const struct nvw_log_record *r)
{
	ct_apply *const how = models[m->rules.model].apply[r->kind];

	if (r->kind == NVW_LOG_SITE) {
		meet_site(m, r);
	} else if (owes(m, r)) {
		settle(m, r);
	}
	return how ? how(m, r) : 0;
}

int ct_order_at_instant(struct ct_medium *m)
{
	return m->rules.model == CT_MODEL_PMREORDER ? ct_element_cells(m) : 0;
}

/* ---- Acknowledgements of buffered epoch persistency ------------------------------------------------------------- */

static uint32_t *at32(const struct ct_array *a, uint64_t i)
{
	return (uint32_t *)a->at + i;
}

static void lose(uint32_t *earliest, uint32_t epoch)
{
	*earliest = epoch < *earliest ? epoch : *earliest;
}

/* Axiom: acknowledgement. */
void ct_order_drop_told(struct ct_medium *m, const unsigned *levels)
{
	const struct ct_told *const told = m->told.at;
	uint64_t first = UINT64_MAX;
	uint32_t lost_kernel = UINT32_MAX;

	if (m->told.count == 0 || ct_array_grow(&m->lost_item, m->work_items, sizeof(uint32_t)) ||
		ct_array_grow(&m->lost_group, m->work_items, sizeof(uint32_t)) ||
		ct_array_grow(&m->dropped, m->told.count, sizeof *told)) {
		return;
	}
	memset(m->lost_item.at, 0xff, m->work_items * sizeof(uint32_t));
	memset(m->lost_group.at, 0xff, m->work_items * sizeof(uint32_t));
	for (unsigned i = 0; i < m->cell_count; i++) {
		for (unsigned v = levels[i]; v < m->cell[i].count; v++) {
			const struct ct_flight *const f = ct_medium_flight(m, m->cell[i].write[v]);

			lose(at32(&m->lost_item, f->work_item), f->epoch_wi);
			lose(at32(&m->lost_group, f->group), f->epoch_wg);
			lose(&lost_kernel, f->epoch_kr);
			first = f->write < first ? f->write : first;
		}
	}
	for (uint64_t i = m->told.count; i > 0 && told[i - 1].after >= first; i--) {
		const struct ct_told *const t = &told[i - 1];

		if (*at32(&m->lost_item, t->work_item) < t->epoch_wi ||
			*at32(&m->lost_group, t->group) < t->epoch_wg || lost_kernel < t->epoch_kr) {
			nvw__acks_drop(&m->acks, t->first, t->count);
			((struct ct_told *)m->dropped.at)[m->dropped.count++] = *t;
		}
	}
}
