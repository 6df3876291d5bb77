/* SPDX-License-Identifier: BSD-3-Clause */
/* The moments before a crash. See timeline.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timeline.h"

/* Work-items of the finding's places come first, then others of their groups as far as there is room. */
struct timeline {
	const struct ct_stores *stores;
	struct ct_finding *finding;
	struct ct_moment *ring; /* the last of all */
	unsigned next, count;
};

static bool is_behind(const struct ct_finding *f, uint64_t work_item, uint64_t group, bool by_group)
{
	for (unsigned i = 0; i < f->place_count; i++) {
		if (f->place[i].work_item == work_item || (by_group && f->place[i].group == group)) {
			return true;
		}
	}
	return f->place_count == 0;
}

static bool is_place(const struct ct_finding *f, nvw_off off)
{
	for (unsigned i = 0; i < f->place_count; i++) {
		if (f->place[i].off == off) {
			return true;
		}
	}
	return false;
}

static struct ct_moment *add(
	struct timeline *t, enum ct_moment_kind kind, const struct nvw_log_record *r, uint32_t site)
{
	struct ct_moment *const m = &t->ring[t->next];

	*m = (struct ct_moment){.kind = kind, .time_ps = r->time_ps, .end_ps = UINT64_MAX};
	if (site > 0 && site <= t->stores->site_count) {
		snprintf(m->place, sizeof m->place, "%.80s:%u", t->stores->site[site - 1].file,
			t->stores->site[site - 1].line);
	}
	t->next = (t->next + 1) % CT_MOMENTS_MAX;
	t->count += t->count < CT_MOMENTS_MAX;
	return m;
}

static void add_barrier(struct timeline *t, const struct nvw_log_record *r)
{
	struct ct_moment *const m = add(t, CT_MOMENT_BARRIER, r, r->barrier.site);

	m->scope = r->barrier.scope;
	m->work_item = r->barrier.work_item;
	m->group = r->barrier.group;
	m->value = r->barrier.epoch;
}

static void complete_barrier(const struct timeline *t, const struct nvw_log_record *r)
{
	for (unsigned i = 0; i < t->count; i++) {
		struct ct_moment *const m = &t->ring[i];

		if (m->kind == CT_MOMENT_BARRIER && m->end_ps == UINT64_MAX && m->scope == r->barrier.scope &&
			m->work_item == r->barrier.work_item && m->group == r->barrier.group &&
			m->value == r->barrier.epoch) {
			m->end_ps = r->time_ps;
			return;
		}
	}
}

static void look_at(struct timeline *t, const struct nvw_log_record *r)
{
	const struct ct_finding *const f = t->finding;
	struct ct_moment *m;

	switch (r->kind) {
	case NVW_LOG_STORE:
		if (is_behind(f, r->store.work_item, r->store.group, false) || is_place(f, r->store.off)) {
			m = add(t, CT_MOMENT_STORE, r, r->store.site);
			m->work_item = r->store.work_item;
			m->group = r->store.group;
			m->off = r->store.off;
			m->value = r->store.value;
			m->bytes = r->store.bytes;
		}
		break;
	case NVW_LOG_BARRIER:
		if (r->barrier.scope == NVW_KERNEL ||
			is_behind(f, r->barrier.work_item, r->barrier.group,
				r->barrier.scope == NVW_WORKGROUP || r->barrier.lanes > 1)) {
			add_barrier(t, r);
		}
		break;
	case NVW_LOG_PERSISTED:
		complete_barrier(t, r);
		break;
	case NVW_LOG_ACK:
		if (is_behind(f, r->ack.work_item, r->ack.group, false) ||
			(f->acknowledged > r->ack.first && f->acknowledged <= r->ack.first + r->ack.count)) {
			m = add(t, CT_MOMENT_ACK, r, 0);
			m->work_item = r->ack.work_item;
			m->group = r->ack.group;
			m->value = r->ack.first;
		}
		break;
	case NVW_LOG_FLUSH:
		m = add(t, CT_MOMENT_FLUSH, r, r->flush.site);
		m->off = r->flush.off;
		break;
	case NVW_LOG_FENCE:
		add(t, CT_MOMENT_FENCE, r, r->fence.site);
		break;
	default:
		break;
	}
}

int ct_timeline_read(int log_fd, uint64_t records, const struct ct_stores *stores, const uint8_t *image,
	struct ct_finding *f)
{
	struct timeline t = {.stores = stores, .finding = f, .ring = calloc(CT_MOMENTS_MAX, sizeof *t.ring)};
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int error = t.ring ? nvw_log_open_fd(dup(log_fd), "persist log", &reader) :
			     nvw_fail(NVW_E_MEMORY, "no memory for a timeline");

	if (error) {
		free(t.ring);
		return error;
	}
	for (uint64_t i = 0; i < records && (error = nvw_log_next(reader, &r)) == 1; i++) {
		look_at(&t, &r);
	}
	nvw_log_reader_close(reader);
	f->moment_count = t.count;
	for (unsigned i = 0; i < t.count; i++) {
		struct ct_moment *const m = &f->moment[i];

		*m = t.ring[(t.next + CT_MOMENTS_MAX - t.count + i) % CT_MOMENTS_MAX];
		m->durable = m->kind == CT_MOMENT_STORE && memcmp(image + m->off, &m->value, m->bytes) == 0;
	}
	free(t.ring);
	return error < 0 ? error : 0;
}
