/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks passed from releases to acquires through the bytes that both access, and the effect of barriers on
 * their members.
 *
 * Under HRF each work-item has two clocks: the actual order, and the order if scopes were ignored. Where they
 * differ, scopes are the cause, and the acquires that missed a release because of them are kept for the
 * report.
 */
#include "internal.h"
#include "core/each.h"
#include "core/invariant.h"
#include "../memory/device_memory.h"
#include "../observe/record.h"

bool race_learn(struct emu_races *r, vclock *clock, vclock other)
{
	const vclock joined = vclock_join(&r->clocks, *clock, other);
	const bool learned = joined != *clock;

	vclock_drop(&r->clocks, *clock);
	*clock = joined;
	return learned;
}

void race_tell_sync(
	struct nvw_machine *m, enum emu_sync_kind kind, uint64_t work_item, uint64_t place, bool changes_word)
{
	const struct emu_sync sync = {.stores = record_stores(m),
		.work_item = work_item,
		.place = place,
		.kernel = m->exec.number,
		.kind = (uint16_t)kind,
		.changes_word = changes_word};

	if (m->races->told) {
		m->races->told(m->races->context, &sync);
	}
}

void race_pass_on(const struct event *e, unsigned lane, vclock *released, vclock published, uint64_t place)
{
	race_learn(e->m->races, released, published);
	race_tell_sync(e->m, EMU_SYNC_RELEASE, e->first_global + lane, place, false);
}

/* A lane gets a clock that was passed on, by a place in the cell. */
static void get(const struct event *e, const struct cell *c, unsigned lane, vclock released, uint64_t place)
{
	struct emu_races *const r = e->m->races;

	if (race_learn(r, &r->parties[e->wavefront]->clocks[ORDERED][lane], released)) {
		race_tell_sync(e->m, EMU_SYNC_ACQUIRE, e->first_global + lane, place,
			r->whats[e->what].is_write && emu_device_of(e->m, (emu_line_id)(c->key >> 3))->pool);
	}
}

static void forget_sync(struct emu_races *r, struct sync *s)
{
	NVW_EACH(released, s->released, RELEASED) {
		vclock_drop(&r->clocks, *released);
		*released = VCLOCK_NONE;
	}
	while (s->domains) {
		const uint32_t i = s->domains;

		s->domains = domain_at(r, i)->next;
		vclock_drop(&r->clocks, domain_at(r, i)->released);
		nvw_rows_give(&r->domains, i);
	}
	memset(s->turn, 0, sizeof s->turn);
}

/* After a store that is not a read-modify-write, a read no longer synchronizes with earlier releases. */
void race_forget_released(struct emu_races *r, struct cell *c, uint8_t mask)
{
	for (uint32_t *link = &c->syncs; *link;) {
		struct sync *const s = sync_at(r, *link);
		const uint32_t i = *link;

		if (s->mask & mask) {
			forget_sync(r, s);
			*link = s->next;
			nvw_rows_give(&r->syncs, i);
		} else {
			link = &s->next;
		}
	}
}

struct sync *race_sync_for(const struct event *e, struct cell *c)
{
	struct emu_races *const r = e->m->races;
	uint32_t i = c->syncs;

	while (i && sync_at(r, i)->mask != e->mask) {
		i = sync_at(r, i)->next;
	}
	if (!i) {
		i = race_row_take(e->m, &r->syncs);
		if (!i) {
			return NULL;
		}
		sync_at(r, i)->next = c->syncs;
		sync_at(r, i)->mask = e->mask;
		sync_at(r, i)->place = r->places;
		r->places += RELEASED;
		NVW_FOR(k, RELEASED) {
			sync_at(r, i)->released[k] = VCLOCK_NONE;
		}
		c->syncs = i;
	}
	return sync_at(r, i);
}

struct domain *race_domain_in(const struct emu_races *r, const struct sync *s, uint32_t id)
{
	for (uint32_t i = s->domains; i; i = domain_at(r, i)->next) {
		if (domain_at(r, i)->id == id) {
			return domain_at(r, i);
		}
	}
	return NULL;
}

void race_release_to_domain(const struct event *e, struct sync *s, unsigned lane, vclock published)
{
	struct emu_races *const r = e->m->races;
	const uint32_t id = r->domain_of[e->wavefront];
	struct domain *d = race_domain_in(r, s, id);

	if (!d) {
		const uint32_t i = race_row_take(e->m, &r->domains);

		if (!i) {
			return;
		}
		d = domain_at(r, i);
		*d = (struct domain){
			.next = s->domains, .id = id, .place = r->places++, .released = VCLOCK_NONE};
		s->domains = i;
	}
	race_pass_on(e, lane, &d->released, published, d->place);
}

void race_release(const struct event *e, struct cell *c, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	const struct what *const w = &r->whats[e->what];
	struct sync *const s = race_sync_for(e, c);
	struct party *const party = race_party_of(e->m, e->wavefront);
	vclock published, unscoped;

	if (!s || !party) {
		return;
	}
	published = vclock_mark(&r->clocks, party->clocks[ORDERED][lane], e->wavefront, e->lanes, r->time);
	if (w->reach >= REACH_AGENT) {
		race_pass_on(e, lane, &s->released[BY_AGENT], published, s->place + BY_AGENT);
	}
	if (r->scopes) {
		unscoped = vclock_mark(
			&r->clocks, party->clocks[UNSCOPED][lane], e->wavefront, e->lanes, r->time);
		race_learn(r, &s->released[BY_ANY], published);
		race_learn(r, &s->released[IGNORING_SCOPES], unscoped);
		vclock_drop(&r->clocks, unscoped);
		if (w->reach >= REACH_LOCAL) {
			race_pass_on(e, lane, &s->released[BY_LOCAL_OR_WIDER], published,
				s->place + BY_LOCAL_OR_WIDER);
			race_release_to_domain(e, s, lane, published);
		}
		if (w->reach == REACH_REMOTE) {
			race_pass_on(e, lane, &s->released[BY_REMOTE], published, s->place + BY_REMOTE);
		}
		s->latest[w->reach] = e->what;
		s->turn[w->reach] = ++r->turns;
		if (w->reach == REACH_LOCAL) {
			s->domain_of_latest = r->domain_of[e->wavefront];
		}
	}
	vclock_drop(&r->clocks, published);
	party->since[lane] = r->time + 1;
	r->released = true;
}

/* The latest release into s that an acquire of this scope does not synchronize with. */
static uint32_t missed_release(const struct emu_races *r, const struct event *e, const struct sync *s)
{
	const enum reach reach = r->whats[e->what].reach;
	enum reach best = REACHES;

	for (enum reach i = REACH_SELF; i < REACHES; i++) {
		const bool met = i == REACH_LOCAL && reach >= REACH_LOCAL && reach != REACH_REMOTE &&
				 s->domain_of_latest == r->domain_of[e->wavefront];

		if (s->turn[i] && !(i >= REACH_AGENT && reach >= REACH_AGENT) && !met &&
			(best == REACHES || s->turn[i] > s->turn[best])) {
			best = i;
		}
	}
	for (enum reach i = REACH_SELF; best == REACHES && i < REACHES; i++) {
		if (s->turn[i]) {
			best = i;
		}
	}
	return s->latest[best];
}

static void note_miss(const struct event *e, const struct sync *s, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	struct miss *const miss = &r->misses[r->missed % MISSES];

	for (uint64_t n = r->missed; n && n + MISSES > r->missed; n--) {
		const struct miss *const old = &r->misses[(n - 1) % MISSES];

		if (old->released == s->released[BY_ANY] && old->wavefront == e->wavefront &&
			old->lane == lane) {
			return; /* a spinning work-item misses the same one again */
		}
	}
	if (r->missed >= MISSES) {
		vclock_drop(&r->clocks, miss->released);
	}
	*miss = (struct miss){.released = vclock_keep(s->released[BY_ANY]),
		.release = missed_release(r, e, s),
		.acquire = e->what,
		.wavefront = e->wavefront,
		.lane = lane,
		.time = r->time};
	r->missed++;
}

/* Joins the clocks that an acquire by a lane gets from s under HRF-indirect. */
static void acquire_scoped(
	const struct event *e, const struct cell *c, const struct sync *s, struct party *party, unsigned lane)
{
	NVW_DEEP_INVARIANT(lane < EMU_LANES);

	struct emu_races *const r = e->m->races;
	const enum reach reach = r->whats[e->what].reach;
	const struct domain *const d = race_domain_in(r, s, r->domain_of[e->wavefront]);
	const vclock *const known = &party->clocks[ORDERED][lane];
	vclock all;

	if (reach == REACH_REMOTE) {
		get(e, c, lane, s->released[BY_LOCAL_OR_WIDER], s->place + BY_LOCAL_OR_WIDER);
	}
	if (reach == REACH_AGENT) {
		get(e, c, lane, s->released[BY_AGENT], s->place + BY_AGENT);
	}
	if (reach >= REACH_LOCAL) {
		get(e, c, lane, s->released[BY_REMOTE], s->place + BY_REMOTE);
	}
	if (reach >= REACH_LOCAL && d) {
		get(e, c, lane, d->released, d->place);
	}
	race_learn(r, &party->clocks[UNSCOPED][lane], s->released[IGNORING_SCOPES]);
	all = vclock_join(&r->clocks, *known, s->released[BY_ANY]);
	if (all != *known) {
		note_miss(e, s, lane);
	}
	vclock_drop(&r->clocks, all);
}

void race_acquire(const struct event *e, struct cell *c, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	struct party *party;

	if (!c->syncs) {
		return;
	}
	party = race_party_of(e->m, e->wavefront);
	for (uint32_t i = c->syncs; party && i; i = sync_at(r, i)->next) {
		const struct sync *const s = sync_at(r, i);

		if (!(s->mask & e->mask)) {
			continue;
		}
		if (r->scopes) {
			acquire_scoped(e, c, s, party, lane);
		} else {
			get(e, c, lane, s->released[BY_AGENT], s->place + BY_AGENT);
		}
	}
}
