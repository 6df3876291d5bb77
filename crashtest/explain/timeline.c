/* SPDX-License-Identifier: BSD-3-Clause */
/* The moments before a crash. See timeline.h. */
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/print.h"

#include "timeline.h"
#include "../log_walk.h"

/* The moments of the cause are kept however old they are; from all others, only the last ones are kept. */
enum { PINNED_MAX = 3, RING = CT_MOMENTS_MAX - PINNED_MAX };

struct entry {
	struct ct_moment moment;
	uint64_t number; /* among all moments, from 1 */
};

struct timeline {
	uint64_t begin_ps;
	const struct ct_stores *stores;
	struct ct_finding *finding;
	const uint8_t *image;  /* as the crash leaves it */
	uint64_t record, seen; /* current record of the log; moments so far */
	uint64_t records;      /* those that are looked at */
	struct entry pinned[PINNED_MAX];
	unsigned pinned_count;
	struct entry *ring; /* moment i is at i % RING */
};

static bool is_behind(const struct ct_finding *f, const struct ct_by *by, bool by_group)
{
	NVW_EACH(place, f->place, f->place_count) {
		if (place->work_item == by->work_item || (by_group && place->group == by->group)) {
			return true;
		}
	}
	return f->place_count == 0;
}

static bool is_place(const struct ct_finding *f, nvw_off off)
{
	return NVW_ANY(place, f->place, f->place_count, place->off == off);
}

static enum ct_role role_of(const struct timeline *t)
{
	const struct ct_cause *const c = &t->finding->cause;

	if (t->record == c->lost_record) {
		return CT_ROLE_LOST;
	}
	if (t->record == c->early_record) {
		return CT_ROLE_EARLY;
	}
	return t->record == c->barrier_record ? CT_ROLE_BARRIER : CT_ROLE_NONE;
}

static int64_t since_begin(const struct timeline *t, const struct nvw_log_record *r)
{
	return (int64_t)(r->time_ps - t->begin_ps);
}

static struct ct_moment *add(
	struct timeline *t, enum ct_moment_kind kind, const struct nvw_log_record *r, const struct ct_by *by)
{
	const enum ct_role role = role_of(t);
	const uint64_t number = ++t->seen;
	const struct ct_names *const at = ct_stores_site(t->stores, by->site);
	struct entry *e = &t->ring[number % RING];

	if (role && t->pinned_count < PINNED_MAX) {
		e = &t->pinned[t->pinned_count++];
	}
	*e = (struct entry){.number = number,
		.moment = {.role = role,
			.kind = kind,
			.work_item = by->work_item,
			.group = by->group,
			.time_ps = since_begin(t, r),
			.end_ps = INT64_MAX}};
	if (at) {
		NVW_PRINT(e->moment.file, "%s", at->file);
		e->moment.line = at->line;
	}
	return &e->moment;
}

static void note_barrier(struct ct_moment *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER);
	m->scope = r->barrier.scope;
	m->value = r->barrier.epoch;
}

static bool complete(struct entry *e, unsigned count, const struct nvw_log_record *r, int64_t end_ps)
{
	NVW_INVARIANT(r->kind == NVW_LOG_PERSISTED);
	NVW_EACH(one, e, count) {
		struct ct_moment *const m = &one->moment;

		if (one->number && m->kind == CT_MOMENT_BARRIER && m->end_ps == INT64_MAX &&
			m->scope == r->barrier.scope && m->work_item == r->barrier.work_item &&
			m->group == r->barrier.group && m->value == r->barrier.epoch) {
			m->end_ps = end_ps;
			return true;
		}
	}
	return false;
}

static void complete_barrier(struct timeline *t, const struct nvw_log_record *r)
{
	const int64_t end_ps = since_begin(t, r);

	(void)(complete(t->pinned, t->pinned_count, r, end_ps) || complete(t->ring, RING, r, end_ps));
}

/* Moments before a store whose value the image has: their stores to its bytes were not lost. */
static void overwrite(struct timeline *t, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	if (memcmp(t->image + r->store.off, &r->store.value, r->store.bytes) != 0) {
		return;
	}
	NVW_FOR(i, t->pinned_count + RING) {
		struct ct_moment *const m = i < RING ? &t->ring[i].moment : &t->pinned[i - RING].moment;

		if (m->kind == CT_MOMENT_STORE && m->off >= r->store.off &&
			m->off + m->bytes <= r->store.off + r->store.bytes) {
			m->overwritten = true;
		}
	}
}

static void note_store(struct ct_moment *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	m->off = r->store.off;
	m->value = r->store.value;
	m->bytes = r->store.bytes;
}

static void look_at(struct timeline *t, const struct nvw_log_record *r)
{
	const struct ct_finding *const f = t->finding;
	const bool has_role = role_of(t) != CT_ROLE_NONE;
	struct ct_by by = {0};

	(void)ct_record_by(r, &by);
	switch (r->kind) {
	case NVW_LOG_STORE:
		overwrite(t, r);
		if (has_role || is_behind(f, &by, false) || is_place(f, r->store.off)) {
			note_store(add(t, CT_MOMENT_STORE, r, &by), r);
		}
		break;
	case NVW_LOG_BARRIER:
		if (has_role || r->barrier.scope == NVW_KERNEL ||
			is_behind(f, &by, r->barrier.scope == NVW_WORKGROUP || r->barrier.lanes > 1)) {
			note_barrier(add(t, CT_MOMENT_BARRIER, r, &by), r);
		}
		break;
	case NVW_LOG_PERSISTED:
		complete_barrier(t, r);
		break;
	case NVW_LOG_ACK:
		if (has_role || is_behind(f, &by, false) ||
			(f->acknowledged > r->ack.first && f->acknowledged <= r->ack.first + r->ack.count)) {
			add(t, CT_MOMENT_ACK, r, &by)->value = r->ack.first;
		}
		break;
	case NVW_LOG_FLUSH:
		by.work_item = 0; /* of the host: a moment does not say which thread, nor does a fence's */
		add(t, CT_MOMENT_FLUSH, r, &by)->off = r->flush.off;
		break;
	case NVW_LOG_FENCE:
		by.work_item = 0;
		add(t, CT_MOMENT_FENCE, r, &by);
		break;
	default:
		break;
	}
}

/* The moment with that number, which must be among the kept ones. */
static const struct entry *entry_of(const struct timeline *t, uint64_t number)
{
	NVW_EACH(pinned, t->pinned, t->pinned_count) {
		if (pinned->number == number) {
			return pinned;
		}
	}
	return &t->ring[number % RING];
}

/* Appends it, with the number of omitted moments before it. */
static void note_fate(const struct timeline *t, struct ct_moment *m)
{
	m->durable = m->kind == CT_MOMENT_STORE && !memcmp(t->image + m->off, &m->value, m->bytes);
	m->overwritten &= !m->durable;
}

static void append(struct timeline *t, const struct entry *e, uint64_t *before)
{
	struct ct_moment *const m = &t->finding->moment[t->finding->moment_count++];

	*m = e->moment;
	m->left_out = e->number - *before - 1;
	note_fate(t, m);
	*before = e->number;
}

static int look_at_next(void *context, const struct nvw_log_record *r, uint64_t number)
{
	struct timeline *const t = context;

	t->record = number;
	if (number > t->records) {
		return 1;
	}
	look_at(t, r);
	return 0;
}

/* Oldest first. */
static void list(struct timeline *t)
{
	const uint64_t oldest = t->seen > RING ? t->seen - RING + 1 : 1;
	uint64_t before = 0;

	t->finding->moment_count = 0;
	for (unsigned i = 0; i < t->pinned_count && t->pinned[i].number < oldest; i++) {
		append(t, &t->pinned[i], &before);
	}
	for (uint64_t number = oldest; number <= t->seen; number++) {
		append(t, entry_of(t, number), &before);
	}
}

int ct_timeline_read(int log_fd, uint64_t records, uint64_t begin_ps, const struct ct_stores *stores,
	const uint8_t *image, struct ct_finding *f)
{
	struct timeline t = {.stores = stores,
		.finding = f,
		.image = image,
		.begin_ps = begin_ps,
		.records = records,
		.ring = calloc(RING, sizeof *t.ring)};

	NVW_ALLOCATED(t.ring, "no memory for a timeline");
	const int error = ct_log_walk(log_fd, look_at_next, &t);

	list(&t);
	free(t.ring);
	return error;
}
