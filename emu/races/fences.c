/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences of a program whose atomics are relaxed (CUDA's), as C++ and PTX define them. What a work-item's
 * atomics have read, a fence acquires; what the work-item knows at a fence, its atomics behind that release.
 * Two such synchronize only as far as the scopes of the fence and of the atomic both reach, so clocks are
 * kept for the block and for the device.
 *
 * Volatile accesses are no atomics: they race. But they read and pass on clocks like atomics, so that a flag
 * which is volatile is told once, and not also everything that it was meant to order. And neither compilers
 * nor GPUs exchange an atomic or volatile access with the atomics in front of it, so it comes after what
 * these have read, without a fence (accesses.c).
 */
#include "internal.h"

/* What an atomic with this scope, and then a fence with the wider or the narrower one, get from s. */
static void read_sync(const struct event *e, const struct sync *s, struct party *party, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	const enum reach reach = r->whats[e->what].reach;
	const struct domain *const d = race_domain_in(r, s, r->domain_of[e->wavefront]);

	for (unsigned wide = 0; wide < 2; wide++) {
		if (d && reach >= REACH_LOCAL) {
			race_learn(r, &party->clocks[READ + wide][lane], d->released);
		}
		if (reach >= REACH_AGENT && (wide || !r->scopes)) {
			race_learn(r, &party->clocks[READ + wide][lane], s->released[BY_AGENT]);
		}
	}
	if (r->scopes) {
		race_learn(r, &party->clocks[READ_UNSCOPED][lane], s->released[IGNORING_SCOPES]);
	}
}

void race_note_read(const struct event *e, const struct cell *c, unsigned lane)
{
	const struct emu_races *const r = e->m->races;
	struct party *const party = c->syncs ? race_party_of(e->m, e->wavefront) : NULL;

	for (uint32_t i = c->syncs; party && i; i = sync_at(r, i)->next) {
		if (sync_at(r, i)->mask & e->mask) {
			read_sync(e, sync_at(r, i), party, lane);
		}
	}
}

/* The lane's clock, with its own arrival, in place of an earlier one. */
static void keep(const struct event *e, vclock *kept, vclock known)
{
	struct emu_races *const r = e->m->races;

	vclock_drop(&r->clocks, *kept);
	*kept = vclock_mark(&r->clocks, known, e->wavefront, e->lanes, r->time);
}

void race_fence(const struct event *e, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	const enum reach reach = r->whats[e->what].reach;
	struct party *const party = race_party_of(e->m, e->wavefront);

	if (!party || reach < REACH_LOCAL) {
		return;
	}

	race_learn(r, &party->clocks[ORDERED][lane], party->clocks[READ + (reach >= REACH_AGENT)][lane]);
	for (unsigned wide = 0; wide <= (reach >= REACH_AGENT); wide++) {
		keep(e, &party->clocks[KEPT + wide][lane], party->clocks[ORDERED][lane]);
	}
	if (r->scopes) {
		race_learn(r, &party->clocks[UNSCOPED][lane], party->clocks[READ_UNSCOPED][lane]);
		keep(e, &party->clocks[KEPT_UNSCOPED][lane], party->clocks[UNSCOPED][lane]);
	}
	party->since[lane] = r->time + 1;
	r->released = true;
}

void race_pass_on_fence(const struct event *e, struct cell *c, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	const enum reach reach = r->whats[e->what].reach;
	const struct party *const party = race_party_of(e->m, e->wavefront);
	struct sync *s = NULL;

	if (party && party->clocks[KEPT][lane] != VCLOCK_NONE) {
		s = race_sync_for(e, c);
	}
	if (!s) {
		return;
	}
	if (reach >= REACH_AGENT) {
		race_pass_on(
			e, lane, &s->released[BY_AGENT], party->clocks[KEPT_WIDE][lane], s->place + BY_AGENT);
	}
	if (r->scopes) {
		race_learn(r, &s->released[IGNORING_SCOPES], party->clocks[KEPT_UNSCOPED][lane]);
	}
	if (r->scopes && reach >= REACH_LOCAL) {
		race_release_to_domain(e, s, lane, party->clocks[KEPT][lane]);
	}
}
