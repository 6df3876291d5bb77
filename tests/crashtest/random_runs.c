/* SPDX-License-Identifier: BSD-3-Clause */
/* See random_runs.h. */
#include "random_runs.h"

#include <string.h>

static bool is_member(const struct waiting *b, unsigned item)
{
	return log_is_member(b->scope, b->item, item, GROUP);
}

/* The item does something: by now its narrower barrier has completed. */
static uint32_t settle(struct maker *m, unsigned item)
{
	const uint32_t owed = m->owed_item[item] | m->owed_group[item / GROUP];

	m->owed_item[item] = m->owed_group[item / GROUP] = 0;
	return owed;
}

/* The values are so few that some stores change nothing. */
static uint64_t value_of(struct nvw_random *r, unsigned bytes)
{
	const uint64_t all = UINT64_C(0x0101010101010101) * (1 + nvw_random_below(r, 3));

	return bytes == 8 ? all : all & ((UINT64_C(1) << 8 * bytes) - 1);
}

static void make_store(struct maker *m, unsigned item)
{
	const unsigned word = (unsigned)nvw_random_below(&m->r, m->h->small ? 2 : WORDS);
	const unsigned bytes = m->h->small ? 1u << nvw_random_below(&m->r, 4) : 8;
	const unsigned at = (unsigned)nvw_random_below(&m->r, 8 / bytes) * bytes;
	struct event *const e = &m->h->event[m->h->events++];

	*e = (struct event){.kind = NVW_LOG_STORE,
		.item = item,
		.word = word,
		.at = at,
		.bytes = bytes,
		.value = m->h->small ? value_of(&m->r, bytes) : 100 + m->h->stores,
		.store = m->h->stores,
		.owed = settle(m, item)};
	memcpy(e->epoch, m->epoch[item], sizeof e->epoch);
	m->h->store_at[m->h->stores++] = m->h->events - 1;
	log_append(&m->log, (struct nvw_log_record){.kind = NVW_LOG_STORE,
				    .store = {.site = 1,
					    .kernel = 1,
					    .work_item = item,
					    .group = item / GROUP,
					    .epoch_wi = m->logged[item][0],
					    .epoch_wg = m->logged[item][1],
					    .epoch_kr = m->logged[item][2],
					    .bytes = bytes,
					    .off = place(word) + at,
					    .value = e->value}});
}

static void make_ack(struct maker *m, unsigned item)
{
	struct event *const e = &m->h->event[m->h->events++];

	*e = (struct event){.kind = NVW_LOG_ACK, .item = item, .ack = m->h->acks, .owed = settle(m, item)};
	memcpy(e->epoch, m->epoch[item], sizeof e->epoch);
	m->h->ack_at[m->h->acks] = m->h->events - 1;
	log_append(&m->log, (struct nvw_log_record){.kind = NVW_LOG_ACK,
				    .ack = {.first = m->h->acks++,
					    .count = 1,
					    .kernel = 1,
					    .work_item = item,
					    .group = item / GROUP,
					    .epoch_wi = m->logged[item][0],
					    .epoch_wg = m->logged[item][1],
					    .epoch_kr = m->logged[item][2]}});
}

/* All members arrive together; those that wait at another barrier cannot. */
static void make_barrier(struct maker *m, unsigned item, enum nvw_group scope)
{
	struct waiting b = {.open = true, .scope = scope, .item = item};
	const int narrowed = (int)scope - (int)m->h->narrow_by;

	NVW_FOR(i, ITEMS) {
		if (is_member(&b, i) && m->stalled[i]) {
			return;
		}
	}
	NVW_FOR(s, m->h->stores) {
		if (is_member(&b, m->h->event[m->h->store_at[s]].item)) {
			b.covers |= 1u << s;
		}
	}
	uint32_t owed = 0;

	NVW_FOR(i, ITEMS) {
		if (is_member(&b, i)) {
			m->stalled[i] = true;
			m->logged[i][0]++;
			m->logged[i][1] += scope >= NVW_WORKGROUP;
			m->logged[i][2] += scope == NVW_KERNEL;
			m->epoch[i][0] += narrowed >= NVW_WORKITEM;
			m->epoch[i][1] += narrowed >= NVW_WORKGROUP;
			m->epoch[i][2] += narrowed == NVW_KERNEL;
			owed |= settle(m, i);
		}
	}
	m->h->event[m->h->events++] = (struct event){.kind = NVW_LOG_BARRIER, .owed = owed};
	log_barrier(&m->log, NVW_LOG_BARRIER, 1, scope, item, GROUP);
	m->waiting[item] = b;
}

static uint32_t stores_of(const struct maker *m, uint32_t among, unsigned first, unsigned count)
{
	uint32_t set = 0;

	NVW_FOR(s, m->h->stores) {
		const unsigned item = m->h->event[m->h->store_at[s]].item;

		set |= (uint32_t)(item >= first && item < first + count) << s;
	}
	return set & among;
}

static void owe(struct maker *m, const struct waiting *b, int narrowed)
{
	for (unsigned i = 0; i < ITEMS && m->h->narrow_by > 0; i++) {
		if (is_member(b, i) && narrowed == NVW_WORKITEM) {
			m->owed_item[i] |= stores_of(m, b->covers, i, 1);
		}
		if (is_member(b, i) && narrowed == NVW_WORKGROUP) {
			m->owed_group[i / GROUP] |= stores_of(m, b->covers, i / GROUP * GROUP, GROUP);
		}
	}
}

static void make_completion(struct maker *m, unsigned item)
{
	struct waiting *const b = &m->waiting[item];

	if (!b->open) {
		return;
	}
	b->open = false;
	NVW_FOR(i, ITEMS) {
		m->stalled[i] = m->stalled[i] && !is_member(b, i);
	}
	m->h->event[m->h->events++] =
		(struct event){.kind = NVW_LOG_PERSISTED, .covers = m->h->narrow_by == 0 ? b->covers : 0};
	owe(m, b, (int)b->scope - (int)m->h->narrow_by);
	log_barrier(&m->log, NVW_LOG_PERSISTED, 1, b->scope, item, GROUP);
}

/* What the axioms below leave out. */
static void make_host(struct maker *m)
{
	const uint64_t value = value_of(&m->r, 8);
	const unsigned bytes = 1u << nvw_random_below(&m->r, 4);

	if (nvw_random_below(&m->r, 2) == 0) {
		log_append(&m->log, (struct nvw_log_record){.kind = NVW_LOG_HOST,
					    .host = {.off = place((unsigned)nvw_random_below(&m->r, 3)),
						    .bytes = bytes,
						    .data = (const uint8_t *)&value}});
	} else {
		log_append(&m->log, (struct nvw_log_record){.kind = NVW_LOG_ACK,
					    .ack = {.first = nvw_random_below(&m->r, ACKS_MAX), .count = 1}});
	}
}

static void make_step(struct maker *m)
{
	const unsigned item = (unsigned)nvw_random_below(&m->r, ITEMS);

	if (m->h->hosted && nvw_random_below(&m->r, 8) == 0) {
		make_host(m);
		return;
	}

	switch (nvw_random_below(&m->r, 10)) {
	case 0:
	case 1:
		make_barrier(m, item, (enum nvw_group)nvw_random_below(&m->r, 3));
		break;
	case 2:
	case 3:
	case 4:
		make_completion(m, item);
		break;
	case 5:
		if (!m->stalled[item] && m->h->acks < ACKS_MAX) {
			make_ack(m, item);
		}
		break;
	default:
		if (!m->stalled[item] && m->h->stores < STORES_MAX) {
			make_store(m, item);
		}
	}
}

int make_run_of(uint64_t seed, const struct history *kind, struct history *h)
{
	struct maker m = {.log = begin_log("random", POOL_BYTES), .r = {seed}, .h = h};

	*h = *kind;
	log_sites(&m.log, 1, 7, "r.c");
	log_launch(&m.log, 1, GROUP, ITEMS);
	NVW_FOR(i, STEPS_MAX) {
		make_step(&m);
	}
	return log_end(&m.log);
}

int make_run(uint64_t seed, unsigned narrow_by, bool small, struct history *h)
{
	return make_run_of(seed, &(const struct history){.narrow_by = narrow_by, .small = small}, h);
}
