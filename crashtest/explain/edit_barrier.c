/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers that come into a log, or become wider. See edit.h. One pass over the log, kernel by kernel: a
 * work-item that has arrived passes at its next record. Just before that, and before all that it does later,
 * come the barrier's records, for those members alone that have not passed it: what the others have stored
 * since is not covered.
 */
#include <stdlib.h>
#include <sys/param.h>

#include "edit_log.h"
#include "../log_walk.h"
#include "../states/models/models.h"

/* A work-item of the kernel that runs. */
struct member {
	uint32_t passed, total; /* barriers; total: in the whole kernel */
	uint32_t site;          /* of what it has arrived by, 0: it has not */
	uint32_t last_site;     /* likewise at the barrier that it passed last */
	uint32_t epoch;         /* work-item barriers that it has passed, with those that were added */
	uint32_t more_wi, more_wg, more_kr; /* epochs that were added */
	bool uncovered; /* has stored since it was last covered by a barrier of the edit */
	bool at_b;      /* between its stores and acknowledgements at b */
	bool stores;
};

/* The members of one barrier that have come least far. */
struct laggards {
	uint32_t passed;
	uint64_t count;
};

struct kernel {
	struct edit_log *log;
	const struct ct_edit *edit;
	uint32_t number, group_size;
	uint64_t items;
	struct member *member;
	struct laggards *behind; /* a scope each */
	bool counting;           /* how often each member passes; nothing is added */
	bool even;               /* all members of the kernel that store pass equally often */
	uint64_t passes;
	int error;
};

static struct member *member_at(const struct kernel *k, uint64_t item)
{
	NVW_DEEP_INVARIANT(item < k->items);
	return &k->member[item];
}

/* How many work-items meet at a barrier of this scope. */
static uint64_t width_of(const struct kernel *k, enum nvw_group scope)
{
	switch (scope) {
	case NVW_WORKITEM:
		return 1;
	case NVW_WORKGROUP:
		return k->group_size;
	default:
		return k->items;
	}
}

/* The members of a barrier that an item passes. */
static void scope_of(const struct kernel *k, uint64_t item, uint64_t *ret_first, uint64_t *ret_end)
{
	const uint64_t width = width_of(k, k->edit->scope);

	NVW_INVARIANT(item < k->items);
	*ret_first = item / width * width;
	*ret_end = MIN(*ret_first + width, k->items);
}

/* ---- Records ------------------------------------------------------------------------------------------- */

static void add_barrier(struct kernel *k, uint64_t place, uint64_t first, uint64_t lanes, uint32_t site)
{
	struct nvw_log_record r = {.kind = NVW_LOG_BARRIER,
		.barrier = {.site = site,
			.kernel = k->number,
			.scope = NVW_WORKITEM,
			.work_item = first,
			.group = first / k->group_size,
			.work_items = (uint32_t)__builtin_popcountll(lanes),
			.epoch = member_at(k, first)->epoch,
			.lanes = lanes}};

	NVW_INVARIANT(lanes != 0);
	if (!k->error) {
		k->error = edit_log_add(k->log, place, false, &r);
	}
	r.kind = NVW_LOG_PERSISTED;
	if (!k->error) {
		k->error = edit_log_add(k->log, place, false, &r);
	}
}

/* Covers the members that come to barrier number n but have not passed it, 64 of a work-group at a time. */
static void cover(struct kernel *k, uint64_t place, uint64_t item, uint32_t n, uint32_t site)
{
	uint64_t first, end;

	scope_of(k, item, &first, &end);
	while (first < end) {
		const uint64_t group_end = (first / k->group_size + 1) * k->group_size;
		uint64_t lanes = 0, i = first;

		for (; i < end && i < first + 64 && i < group_end; i++) {
			struct member *const m = member_at(k, i);
			const bool covered = m->uncovered && m->passed < n && m->total >= n;

			if (covered && lanes == 0) {
				first = i; /* the first lane stands for the record */
			}
			lanes |= (uint64_t)covered << (i - first);
			m->uncovered &= !covered;
		}
		if (lanes != 0) {
			add_barrier(k, place, first, lanes, site);
		}
		first = i;
	}
}

/* ---- Who is behind ------------------------------------------------------------------------------------- */

static struct laggards *laggards_of(const struct kernel *k, uint64_t item)
{
	return &k->behind[item / width_of(k, k->edit->scope)];
}

static void count_laggards(const struct kernel *k, uint64_t item)
{
	struct laggards *const l = laggards_of(k, item);
	uint64_t first, end;

	NVW_DEEP_INVARIANT(item < k->items);
	*l = (struct laggards){.passed = UINT32_MAX};
	scope_of(k, item, &first, &end);
	for (uint64_t i = first; i < end; i++) {
		const struct member *const m = member_at(k, i);

		if (m->total > 0 && m->passed < l->passed) {
			*l = (struct laggards){.passed = m->passed, .count = 1};
		} else if (m->total > 0 && m->passed == l->passed) {
			l->count++;
		}
	}
}

/* ---- Passing ------------------------------------------------------------------------------------------- */

static void count_epochs(struct kernel *k, struct member *m)
{
	const bool widens = k->edit->kind == CT_EDIT_WIDEN;

	m->more_wi += !widens;
	m->epoch += !widens;
	if (k->even) {
		m->more_wg += k->edit->scope >= NVW_WORKGROUP;
		m->more_kr += k->edit->scope == NVW_KERNEL;
	}
}

static void pass(struct kernel *k, uint64_t place, uint64_t item)
{
	struct member *const m = member_at(k, item);
	const uint32_t site = m->site;

	NVW_DEEP_INVARIANT(item < k->items);
	m->site = 0;
	if (k->counting) {
		m->total++;
		return;
	}
	cover(k, place, item, m->passed + 1, site);
	if (m->passed++ == laggards_of(k, item)->passed && --laggards_of(k, item)->count == 0) {
		count_laggards(k, item);
	}
	m->last_site = site;
	k->passes++;
	count_epochs(k, m);
}

/* The item does something: it has passed what it had arrived at, and those who have not are covered again. */
static void act(struct kernel *k, uint64_t place, uint64_t item, bool leaves)
{
	const struct member *const m = member_at(k, item);

	if (leaves && m->site != 0) {
		pass(k, place, item);
	} else if (!k->counting && m->passed > laggards_of(k, item)->passed) {
		cover(k, place, item, m->passed, m->last_site);
	}
}

/* It stores or acknowledges something at a line: perhaps behind the edit's barrier. */
static void come(struct kernel *k, uint64_t place, uint64_t item, uint32_t site)
{
	struct member *const m = member_at(k, item);
	const bool at_b = ct_edit_stands_before(k->edit) && edit_log_is_at(k->log, site, &k->edit->b);

	if (at_b && !m->at_b) {
		m->site = site;
		pass(k, place, item);
	}
	m->at_b = at_b;
}

/* It stores or acknowledges something. */
static void see_access(struct kernel *k, uint64_t place, struct nvw_log_record *r, const struct ct_by *by)
{
	struct member *const m = member_at(k, by->work_item);
	const struct edit_epochs epochs = edit_epochs_of(r);
	const bool stores = r->kind == NVW_LOG_STORE;
	const bool at_a = stores && k->edit->kind == CT_EDIT_BARRIER && !ct_edit_stands_before(k->edit) &&
			  edit_log_is_at(k->log, by->site, &k->edit->a);

	act(k, place, by->work_item, !at_a);
	come(k, place, by->work_item, by->site);
	if (stores) {
		m->stores = m->uncovered = true;
	}
	if (at_a) {
		m->site = by->site;
	}
	if (!k->counting) {
		*epochs.wi += m->more_wi;
		*epochs.wg += m->more_wg;
		*epochs.kr += m->more_kr;
	}
}

/* A barrier that the log has: its members pass the edit's, and may arrive at it by this one. */
static void see_member(struct kernel *k, uint64_t place, const struct nvw_log_record *r, uint64_t item)
{
	struct member *const m = member_at(k, item);

	act(k, place, item, true);
	if (k->edit->kind == CT_EDIT_WIDEN && r->barrier.scope < k->edit->scope &&
		edit_log_is_at(k->log, r->barrier.site, &k->edit->a)) {
		m->site = r->barrier.site;
	}
	m->epoch++;
}

static void see_barrier(struct kernel *k, uint64_t place, struct nvw_log_record *r)
{
	const enum nvw_group scope = r->barrier.scope;
	const uint64_t group = r->barrier.group;

	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER);
	if (scope == NVW_WORKITEM) {
		for (uint64_t lanes = r->barrier.lanes; lanes; lanes &= lanes - 1) {
			const uint64_t item = r->barrier.work_item + (unsigned)__builtin_ctzll(lanes);

			if (item < k->items) {
				see_member(k, place, r, item);
			}
		}
		return;
	}
	const uint64_t width = width_of(k, scope), first = scope == NVW_KERNEL ? 0 : group * width;

	for (uint64_t i = first; i < k->items && i < first + width; i++) {
		see_member(k, place, r, i);
	}
}

/* The number of the epoch that it ends. */
static void count_barrier(const struct kernel *k, struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER || r->kind == NVW_LOG_PERSISTED);
	if (k->counting) {
		return;
	}
	switch (r->barrier.scope) {
	case NVW_WORKITEM:
		r->barrier.epoch += member_at(k, r->barrier.work_item)->more_wi;
		break;
	case NVW_WORKGROUP:
		r->barrier.epoch += member_at(k, r->barrier.group * k->group_size)->more_wg;
		break;
	default:
		r->barrier.epoch += member_at(k, 0)->more_kr;
		break;
	}
}

static bool is_in(const struct kernel *k, const struct ct_by *by)
{
	return by->kernel == k->number && by->work_item < k->items && by->group * k->group_size < k->items;
}

static void see(struct kernel *k, uint64_t place)
{
	struct nvw_log_record *const r = edit_record_at(k->log, place);
	struct ct_by by;

	if (r->kind == NVW_LOG_FINISH) {
		NVW_FOR(i, k->items) {
			act(k, place, i, true);
		}
	}
	if (!ct_record_by(r, &by) || !is_in(k, &by)) {
		return;
	}
	if (r->kind == NVW_LOG_STORE || r->kind == NVW_LOG_ACK) {
		see_access(k, place, r, &by);
	}
	if (r->kind == NVW_LOG_BARRIER) {
		see_barrier(k, place, r);
	}
	if (r->kind == NVW_LOG_BARRIER || r->kind == NVW_LOG_PERSISTED) {
		count_barrier(k, r);
	}
}

/* ---- Kernels ------------------------------------------------------------------------------------------- */

/* The place behind the kernel that is launched at a place. */
static uint64_t kernel_end(const struct edit_log *log, uint64_t place)
{
	uint64_t i = place + 1;

	NVW_INVARIANT(place < log->entry.count);
	while (i < log->entry.count && !edit_is_kind(log, i, NVW_LOG_LAUNCH) &&
		!edit_is_kind(log, i - 1, NVW_LOG_FINISH)) {
		i++;
	}
	return i;
}

/* Members of one scope that come to the barrier do so equally often, or it is refused: they would wait for
 * each other forever. Members that store and do not come at all make it uneven. */
static int compare_scope(struct kernel *k, uint64_t first, uint64_t end)
{
	uint32_t most = 0;

	NVW_INVARIANT(first < end && end <= k->items);
	for (uint64_t i = first; i < end; i++) {
		most = MAX(member_at(k, i)->total, most);
	}
	for (uint64_t i = first; i < end; i++) {
		const struct member *const m = member_at(k, i);

		NVW_FAIL_IF(m->total != most && (m->total != 0 || k->edit->all_come), NVW_E_USAGE,
			"a wider barrier at %s:%u: not all of its work-items reach it equally often",
			ct_edit_place(k->edit)->file, ct_edit_place(k->edit)->line);
		k->even &= !m->stores || m->total == most;
	}
	return 0;
}

static int compare_members(struct kernel *k)
{
	k->even = true;
	for (uint64_t i = 0, first, end; i < k->items && k->edit->scope > NVW_WORKITEM; i = end) {
		scope_of(k, i, &first, &end);
		NVW_TRY(compare_scope(k, first, end));
	}
	return 0;
}

static void forget_members(struct kernel *k)
{
	NVW_FOR(i, k->items) {
		*member_at(k, i) = (struct member){.total = member_at(k, i)->total};
	}
}

static void begin_again(struct kernel *k)
{
	forget_members(k);
	for (uint64_t i = 0, first, end; i < k->items; i = end) {
		scope_of(k, i, &first, &end);
		count_laggards(k, i);
	}
	k->counting = false;
}

/* Counts who passes how often, and then adds what that takes. */
static void see_all(struct kernel *k, uint64_t first, uint64_t end)
{
	for (uint64_t i = first; i < end && !k->error; i++) {
		see(k, i);
	}
}

static int edit_records(struct kernel *k, uint64_t first, uint64_t end)
{
	NVW_FAIL_IF(!k->member || !k->behind, NVW_E_MEMORY, "no memory for the work-items of a kernel");
	see_all(k, first, end);
	NVW_TRY(compare_members(k));
	begin_again(k);
	see_all(k, first, end);
	return k->error;
}

static int edit_kernel(struct edit_log *log, const struct ct_edit *edit, uint64_t place, uint64_t *passes)
{
	const struct nvw_log_record *const r = edit_record_at(log, place);
	const uint64_t end = kernel_end(log, place);
	struct kernel k = {.log = log,
		.edit = edit,
		.number = r->launch.kernel,
		.group_size = r->launch.group_size,
		.items = r->launch.work_items,
		.counting = true};

	if (k.group_size == 0 || k.items == 0) {
		return 0;
	}
	k.member = calloc(k.items, sizeof *k.member);
	k.behind = calloc(k.items, sizeof *k.behind);
	const int error = edit_records(&k, place, end);

	*passes += k.passes;
	free(k.member);
	free(k.behind);
	return error;
}

static int edit_kernels(struct edit_log *log, const struct ct_edit *edit, uint64_t *passes)
{
	NVW_FOR(i, log->entry.count) {
		if (edit_is_kind(log, i, NVW_LOG_LAUNCH)) {
			NVW_TRY(edit_kernel(log, edit, i, passes));
		}
	}
	return 0;
}

static int no_pass(const struct edit_log *log, const struct ct_edit *edit)
{
	if (edit->kind == CT_EDIT_WIDEN) {
		return edit_log_no_line(
			log, ct_edit_place(edit), CT_KIND(BARRIER), "persist barrier that could be wider");
	}
	return edit_log_no_line(log, ct_edit_place(edit), CT_KIND(STORE), "store by a kernel");
}

int edit_barriers(struct edit_log *log, const struct ct_edit *edit)
{
	uint64_t passes = 0;

	NVW_INVARIANT(edit->kind == CT_EDIT_BARRIER || edit->kind == CT_EDIT_WIDEN);
	NVW_TRY(edit_kernels(log, edit, &passes));
	return passes > 0 ? edit_log_settle(log) : no_pass(log, edit);
}
