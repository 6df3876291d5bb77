/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparing accesses with earlier accesses. Every conflict of an event with a remembered access that is not
 * ordered before it is reported; an access that races with a dropped access also races with a remembered one.
 *
 * A record may be dropped when a later access subsumes it: the later one happens after it and conflicts with
 * everything that it conflicts with, so an access unordered with the earlier one is unordered with the later
 * one.
 */
#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "internal.h"

/* Whether the scopes of two atomics of different work-items include each other. */
static bool inclusive(const struct emu_races *r, const struct what *x, uint32_t x_wavefront,
	const struct what *y, uint32_t y_wavefront)
{
	NVW_DEEP_INVARIANT(x_wavefront < r->wavefronts);
	NVW_DEEP_INVARIANT(y_wavefront < r->wavefronts);
	if (x->reach == REACH_SELF || y->reach == REACH_SELF) {
		return false;
	}
	if (x->reach == REACH_REMOTE || y->reach == REACH_REMOTE) {
		return true;
	}
	return (x->reach == REACH_AGENT && y->reach == REACH_AGENT) ||
	       r->domain_of[x_wavefront] == r->domain_of[y_wavefront];
}

static bool conflict(const struct emu_races *r, const struct access *x, const struct event *e)
{
	const struct what *const a = &r->whats[x->what], *const b = &r->whats[e->what];

	return (a->is_write || b->is_write) &&
	       !(a->is_atomic && b->is_atomic && inclusive(r, a, x->wavefront, b, e->wavefront));
}

/* Whether everything that conflicts with x also conflicts with the event. */
static bool stands_for(const struct emu_races *r, const struct event *e, const struct access *x)
{
	const struct what *const a = &r->whats[x->what], *const b = &r->whats[e->what];

	if (x->mask & ~e->mask || (a->is_write && !b->is_write)) {
		return false;
	}
	if (!b->is_atomic) {
		return true;
	}
	if (!a->is_atomic || a->reach != b->reach) {
		return false;
	}
	if (a->reach == REACH_SELF) {
		return x->wavefront == e->wavefront && !(x->lanes & ~e->lanes);
	}
	return !r->scopes || a->reach == REACH_REMOTE ||
	       r->domain_of[x->wavefront] == r->domain_of[e->wavefront];
}

static vclock ordered(const struct emu_races *r, uint32_t wavefront, unsigned lane)
{
	NVW_DEEP_INVARIANT(wavefront < r->wavefronts);
	if (r->parties[wavefront]) {
		return r->parties[wavefront]->clocks[ORDERED][lane];
	}
	return VCLOCK_NONE;
}

/* Returns the lanes of x that the lane does not come after: an atomic or volatile access comes after what its
 * work-item's atomics have read. */
static uint64_t unordered(const struct event *e, const struct access *x, unsigned lane, uint64_t unknown)
{
	const struct emu_races *const r = e->m->races;
	const struct party *const party = r->parties[e->wavefront];

	if (!unknown || !party || !r->fences || !race_is_strong(&r->whats[e->what])) {
		return unknown;
	}
	return vclock_unknown(&r->clocks, party->clocks[READ_WIDE][lane], x->wavefront, unknown, x->time);
}

/* The event's lanes with the same clock as the first of lanes. */
static uint64_t alike(const struct emu_races *r, const struct event *e, uint64_t lanes)
{
	const struct party *const party = r->parties[e->wavefront];
	const vclock first = ordered(r, e->wavefront, emu_first(lanes));
	uint64_t same = 0;

	if (!party) {
		return lanes;
	}
	NVW_EACH_BIT(lane, lanes) {
		same |= (uint64_t)(party->clocks[ORDERED][lane] == first) << lane;
	}
	return same;
}

/* The lanes of x that precede some lane of the event; reports races with the others if the two conflict. */
static uint64_t ordered_before(
	const struct event *e, const struct cell *c, const struct access *x, bool conflicting)
{
	const struct emu_races *const r = e->m->races;
	uint64_t before = 0, same;

	for (uint64_t rest = e->lanes; rest; rest &= ~same) {
		const vclock known = ordered(r, e->wavefront, emu_first(rest));
		const uint64_t unknown = vclock_unknown(&r->clocks, known, x->wavefront, x->lanes, x->time);

		same = alike(r, e, rest);
		before |= x->lanes & ~unknown;
		for (uint64_t lanes = same; conflicting && unknown && lanes; lanes &= lanes - 1) {
			const unsigned lane = emu_first(lanes);
			uint64_t others = unordered(e, x, lane, unknown);

			if (x->wavefront == e->wavefront) {
				others &= ~(UINT64_C(1) << lane);
			}
			if (others) {
				race_tell(e, c, x, emu_first(others), lane);
			}
		}
	}
	return before;
}

/* Reports races between two lanes of one instruction. */
static void check_lanes(const struct event *e, const struct cell *c)
{
	const struct what *const w = &e->m->races->whats[e->what];
	struct access x = {.wavefront = e->wavefront,
		.value = e->value,
		.time = e->since,
		.what = e->what,
		.mask = e->mask,
		.has_value = e->has_value};

	if (!w->is_write || (w->is_atomic && w->reach != REACH_SELF)) {
		return;
	}
	NVW_EACH_BIT(lane, e->lanes & (e->lanes - 1)) {
		race_tell(e, c, &x, emu_first(e->lanes), lane);
	}
}

static bool is_same(const struct access *x, const struct event *e)
{
	return x->wavefront == e->wavefront && x->what == e->what && x->time == e->since &&
	       x->mask == e->mask && x->has_value == e->has_value && x->value == e->value;
}

/* Compares the event with the accesses of a list: reports races and drops the records that it subsumes.
 * Returns the one equal to it, 0 if there is none. */
static uint32_t meet(const struct event *e, struct cell *c, uint32_t *list)
{
	struct emu_races *const r = e->m->races;
	const bool prune = c->count >= c->prune_at;
	uint32_t same = 0;

	for (uint32_t *link = list; *link;) {
		struct access *const x = access_at(r, *link);
		const uint32_t i = *link;
		const bool conflicting = (x->mask & e->mask) && conflict(r, x, e);
		uint64_t before = 0;

		if (x->wavefront == e->wavefront) {
			before = x->lanes & e->lanes;
		}
		if (conflicting || prune) {
			before |= ordered_before(e, c, x, conflicting);
		}
		if (!same && is_same(x, e)) {
			same = i;
		}
		if (i != same && before && stands_for(r, e, x)) {
			x->lanes &= ~before;
		}
		if (x->lanes) {
			link = &x->next;
			continue;
		}
		*link = x->next;
		x->cell = 0;
		nvw_rows_give(&r->accesses, i);
		c->count--;
	}
	return same;
}

/* The cell counts its accesses, and each of them knows its cell and has a lane left. */
__attribute__((unused)) static bool is_whole(const struct emu_races *r, const struct cell *c)
{
	const uint32_t lists[] = {c->reads, c->writes};
	uint32_t n = 0;

	NVW_EACH(list, lists, 2) {
		for (uint32_t i = *list; i; i = access_at(r, i)->next) {
			if (access_at(r, i)->cell != c->number || !access_at(r, i)->lanes ||
				n++ == c->count) {
				return false;
			}
		}
	}
	return n == c->count;
}

void race_check(const struct event *e, struct cell *c)
{
	struct emu_races *const r = e->m->races;
	const bool is_write = r->whats[e->what].is_write, prune = c->count >= c->prune_at;
	uint32_t same = meet(e, c, &c->writes);

	check_lanes(e, c);
	if (is_write) {
		meet(e, c, &c->reads);
	} else {
		same = *race_recent_of(e, c);
		if (!same || access_at(r, same)->cell != c->number || !is_same(access_at(r, same), e)) {
			same = *race_recent_of(e, c) = meet(e, c, &c->reads);
		}
	}
	if (same) {
		access_at(r, same)->lanes |= e->lanes;
	} else if (is_write) {
		race_remember(e, c, &c->writes);
	} else {
		race_remember(e, c, &c->reads);
	}
	NVW_DEEP_INVARIANT(e->m->error || is_whole(r, c));
	if (prune) {
		c->prune_at = (uint32_t)nvw_max(PRUNE_MIN, 2 * c->count);
	}
}

void race_check_read_only(const struct event *e, struct cell *c)
{
	const struct what *const w = &e->m->races->whats[e->what];
	const bool read_only = (w->op & 0xff) == NVW__LOAD_READ_ONLY;
	struct touch *other = &c->read_only, *own = &c->written;
	const unsigned lane = emu_first(e->lanes);

	if (!read_only && !w->is_write) {
		return;
	}
	if (read_only) {
		other = &c->written;
		own = &c->read_only;
	}
	if (other->mask & e->mask) {
		race_tell_read_only(e, c, other);
	}
	*own = (struct touch){e->wavefront, e->what, (uint8_t)lane, (uint8_t)(own->mask | e->mask)};
}
