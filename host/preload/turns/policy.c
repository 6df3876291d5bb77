/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which thread goes next (../../schedule.h). Priorities are those of probabilistic concurrency testing: each
 * thread has a random one, the highest goes, and at depth - 1 random points the running thread's becomes the
 * lowest. Under "store and flush" these are points between a thread's store and its flush or fence: others
 * then go on with what is visible and not durable. Most of these are of the few places that are executed
 * often; under "a store's place" each place is as likely. A directed plan has only the places that are
 * wanted, and the change comes right behind the store: a flush need not be the next that its thread does. The
 * thread is held there until all others have ended or wait. There are several aims, so that one is held while
 * another is, and what one run shows is not of one place alone. Or the places are those of loads: a thread is
 * held ahead of one until another has stored to what it is about to load. Then that one is held, and the load
 * comes at once (as in RaceFuzzer, PLDI 2008).
 */
#include <stdlib.h>

#include <nvw/random.h>

#include "core/each.h"
#include "core/order.h"
#include "turns.h"

static struct {
	struct nvw_random random;
	uint64_t change[HOST_SCHEDULE_DEPTH];
	unsigned changes, next;
	int64_t lowest;
	uint64_t rarely;                     /* a random switch at one point in this many */
	uint64_t passed[HOST_SCHEDULE_AIMS]; /* executions of the aim's place so far */
} policy;

static uint64_t below(uint64_t bound)
{
	NVW_DEEP_INVARIANT(bound > 0);
	return nvw_random_below(&policy.random, bound);
}

static void draw_changes(unsigned count, uint64_t among)
{
	policy.changes = (unsigned)nvw_min(count, HOST_SCHEDULE_DEPTH);
	NVW_INVARIANT(policy.next == 0);
	NVW_FOR(i, policy.changes) {
		policy.change[i] = 1 + below(nvw_max(among, 1));
	}
	qsort(policy.change, policy.changes, sizeof *policy.change, nvw_by_u64);
}

/* Switches are rare in some schedules: a long time of one thread against a moment of another. */
enum { SWITCHES_WANTED = 4096, RARITIES = 8 };

static uint64_t draw_rarity(uint64_t points)
{
	const unsigned bits = 64 - (unsigned)__builtin_clzll(points | 1);

	return (2 + points / SWITCHES_WANTED) << below(nvw_min(RARITIES, 1 + bits / 2));
}

void host_policy_begin(void)
{
	const struct host_schedule_plan *const p = &host_schedule->plan;

	policy.random.state = nvw_mix64(p->seed + 1) ^ nvw_mix64(p->number * 0x9e3779b97f4a7c15u);
	if (p->policy == HOST_POLICY_PRIORITIES) {
		draw_changes(p->depth - 1, p->points);
	} else if (p->policy == HOST_POLICY_STORES) {
		draw_changes(p->depth, p->exposed);
	} else if (p->policy == HOST_POLICY_RANDOM) {
		policy.rarely = draw_rarity(p->points);
	} else if (p->mixed) {
		policy.rarely = draw_rarity(p->points);
	}
}

void host_policy_meets(struct host_turn *t)
{
	t->priority = 1 + (int64_t)below(INT64_MAX);
}

static struct host_turn *highest(struct host_turn *best)
{
	NVW_DEEP_INVARIANT(host_turn_may_go(best));
	HOST_EACH_TURN(t) {
		if (host_turn_may_go(t) && t->priority > best->priority) {
			best = t;
		}
	}
	return best;
}

/* now: points so far of the kind that the changes are drawn from. */
static struct host_turn *by_priority(struct host_turn *t, uint64_t now, struct host_turn *default_)
{
	NVW_INVARIANT(policy.changes <= HOST_SCHEDULE_DEPTH && policy.next <= policy.changes);
	for (; policy.next < policy.changes && policy.change[policy.next] <= now; policy.next++) {
		t->priority = --policy.lowest;
	}
	return highest(default_);
}

static struct host_turn *at_random(struct host_turn *default_)
{
	NVW_INVARIANT(host_turns.count > 0 && policy.rarely > 0);
	if (below(policy.rarely) > 0) {
		return default_;
	}
	struct host_turn *const t = host_turns.of[below(host_turns.count)];

	return host_turn_may_go(t) ? t : default_;
}

/* The place of stores whose change would come here; NULL: none. */
static const void *place_here(const struct host_turn *t, bool exposed)
{
	if (host_schedule->plan.directed) {
		return t->before;
	}
	return exposed ? t->store_place : NULL;
}

/* The number of the aim whose change comes here; HOST_SCHEDULE_AIMS: none. */
static unsigned aim_at(const struct host_turn *t, bool exposed)
{
	NVW_INVARIANT(host_schedule->plan.aims <= HOST_SCHEDULE_AIMS);

	const struct host_schedule_plan *const p = &host_schedule->plan;
	const uintptr_t behind = (uintptr_t)place_here(t, exposed), ahead = (uintptr_t)t->place;
	const unsigned i = NVW_INDEX(k, p->aims, p->aim[k].code == (p->aim[k].ahead ? ahead : behind));

	if (i == p->aims) {
		return HOST_SCHEDULE_AIMS;
	}
	const bool is_drawn = p->aim[i].rarely > 0 && below(p->aim[i].rarely) == 0;

	return ++policy.passed[i] == p->aim[i].nth || is_drawn ? i : HOST_SCHEDULE_AIMS;
}

static bool is_held(const struct host_turn *t)
{
	return t->priority < 0;
}

static bool is_same_word(const void *a, const void *b)
{
	return (uintptr_t)a / 8 == (uintptr_t)b / 8;
}

/* The thread that is held ahead of a load of what this one has just stored; NULL: none is. */
static struct host_turn *reader_of(const struct host_turn *t)
{
	for (unsigned i = 0; i < host_turns.count && t->stored_to != NULL; i++) {
		struct host_turn *const reader = host_turns.of[i];

		if (is_same_word(reader->ahead_of, t->stored_to) && host_turn_may_go(reader)) {
			return reader;
		}
	}
	return NULL;
}

static void hold(struct host_turn *t)
{
	NVW_INVARIANT(policy.lowest <= 0);
	t->priority = --policy.lowest;
}

/* As by priority, with changes at places of stores. Half of the directed plans mix the threads that are not
 * held: by priority, one may have ended before another comes to the place. */
static struct host_turn *by_place(struct host_turn *t, bool exposed, struct host_turn *default_)
{
	struct host_turn *next = default_, *const reader = reader_of(t);

	t->ahead_of = NULL;
	if (reader != NULL) {
		hold(t);
		reader->priority = INT64_MAX;
		return reader;
	}
	const unsigned aim = aim_at(t, exposed);

	if (aim < HOST_SCHEDULE_AIMS) {
		hold(t);
		t->ahead_of = host_schedule->plan.aim[aim].ahead ? t->at : NULL;
	}
	if (policy.rarely > 0) {
		next = at_random(default_);
	}
	if (policy.rarely == 0 || is_held(next)) {
		next = highest(default_);
	}
	if (aim < HOST_SCHEDULE_AIMS && next != t) {
		host_schedule->held[aim]++;
	}
	return next;
}

/* Switches to a thread that cannot go are passed over: the list may be a part of what was made. */
static struct host_turn *as_listed(struct host_turn *t, struct host_turn *default_)
{
	NVW_INVARIANT(t->listed <= host_schedule->plan.switches);

	const struct host_switch *s = NULL;

	for (; t->listed < host_schedule->plan.switches; t->listed++) {
		s = &host_schedule->list[t->listed];
		if (s->from == t->number && s->point >= t->point) {
			break;
		}
	}
	if (s == NULL || s->from != t->number || s->point != t->point) {
		return default_;
	}
	HOST_EACH_TURN(other) {
		if (other->number == s->to && host_turn_may_go(other)) {
			return other;
		}
	}
	return default_;
}

struct host_turn *host_policy_choose(struct host_turn *t, bool exposed, struct host_turn *default_)
{
	NVW_DEEP_INVARIANT(host_turn_may_go(default_));
	switch ((enum host_policy)host_schedule->plan.policy) {
	case HOST_POLICY_PRIORITIES:
		return by_priority(t, host_schedule->length.points, default_);
	case HOST_POLICY_STORES:
		return by_priority(t, exposed ? host_schedule->length.exposed : 0, default_);
	case HOST_POLICY_PLACES:
		return by_place(t, exposed, default_);
	case HOST_POLICY_RANDOM:
		return at_random(default_);
	case HOST_POLICY_SWITCHES:
		return as_listed(t, default_);
	default:
		return default_;
	}
}
