/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of races: all are counted; the first of each pair of source lines is described, as far as the
 * report has room. If scopes are the only cause, the release and the acquire that they separated are named.
 */
#include <stdio.h>

#include "core/bounds.h"
#include "../memory/device_memory.h"
#include "../observe/names.h"
#include "internal.h"

static uint64_t work_item_of(const struct nvw_machine *m, uint32_t wavefront, unsigned lane)
{
	return race_group_of(m, wavefront) * m->exec.group_size +
	       wavefront % m->exec.group_wavefronts * m->config.wavefront_width + lane;
}

static struct emu_race_access told(
	const struct nvw_machine *m, uint32_t what, uint32_t wavefront, unsigned lane)
{
	NVW_DEEP_INVARIANT(what < m->races->what_count);

	const struct what *const w = &m->races->whats[what];
	struct emu_race_access access = {.site = w->site,
		.kind = emu_kind_names[w->op & KIND],
		.work_item = work_item_of(m, wavefront, lane),
		.group = race_group_of(m, wavefront)};

	if (w->is_volatile) {
		access.kind = w->is_write ? "volatile store" : "volatile load";
	}
	if (w->is_atomic) {
		access.order = emu_order_names[w->op >> 16 & ORDER];
		access.scope = emu_scope_names[w->op >> 24];
	}
	return access;
}

/* The entry of a pair of source lines in the report, a new one if there is room; NULL if there is none. */
static struct emu_race *place_for(
	struct emu_races *r, enum emu_race_kind kind, uint32_t first, uint32_t second, bool *ret_new)
{
	NVW_DEEP_INVARIANT(first < r->what_count);
	NVW_DEEP_INVARIANT(second < r->what_count);

	struct emu_race_report *const report = &r->report;
	const uint32_t a = r->whats[first].line, b = r->whats[second].line;
	const uint32_t low = (uint32_t)nvw_min(a, b), high = a ^ b ^ low;
	unsigned i = 0;

	while (i < report->count && (report->race[i].kind != kind || r->found[i].lines[0] != low ||
					    r->found[i].lines[1] != high)) {
		i++;
	}
	*ret_new = i == report->count;
	if (i == EMU_RACES_MAX) {
		return NULL;
	}
	r->found[i].lines[0] = low;
	r->found[i].lines[1] = high;
	report->count += *ret_new;
	return &report->race[i];
}

/* The acquire that missed its release, on the path from x to lane of the event that scopes have cut. */
static void blame(
	const struct event *e, unsigned lane, const struct access *x, unsigned x_lane, struct emu_race *race)
{
	struct emu_races *const r = e->m->races;
	const uint64_t x_bit = UINT64_C(1) << x_lane;
	const vclock unscoped = race_party_of(e->m, e->wavefront)->clocks[UNSCOPED][lane];

	race->scopes_to_blame = true;
	for (uint64_t n = r->missed; n && n + MISSES > r->missed; n--) {
		const struct miss *const miss = &r->misses[(n - 1) % MISSES];
		const bool own = miss->wavefront == e->wavefront && miss->lane == lane;

		if (vclock_unknown(&r->clocks, miss->released, x->wavefront, x_bit, x->time) == 0 &&
			(own || vclock_unknown(&r->clocks, unscoped, miss->wavefront,
					UINT64_C(1) << miss->lane, miss->time) == 0)) {
			race->release = told(e->m, miss->release, x->wavefront, x_lane);
			race->acquire = told(e->m, miss->acquire, miss->wavefront, miss->lane);
			return;
		}
	}
}

static void locate(const struct nvw_machine *m, const struct cell *c, uint8_t bytes, struct emu_race *race)
{
	const emu_line_id line = (emu_line_id)(c->key >> 3);

	race->in_nvram = emu_device_of(m, line)->pool;
	race->offset = emu_line_off(m, line) + (c->key & 7) * 8 + (uint64_t)__builtin_ctz(bytes);
	race->bytes = (unsigned)__builtin_popcount(bytes);
}

/* Counts a race; sets *ret_race to its entry if it is the first of its pair of lines. */
static bool is_new_race(const struct event *e, const struct cell *c, enum emu_race_kind kind, uint32_t x_what,
	uint8_t bytes, bool same_value, struct emu_race **ret_race)
{
	struct emu_races *const r = e->m->races;
	bool new;
	struct emu_race *const race = place_for(r, kind, x_what, e->what, &new);

	r->report.races++;
	if (!race) {
		r->report.unlisted++;
		return false;
	}
	race->count++;
	race->same_value = same_value && (new || race->same_value);
	if (new) {
		race->kind = kind;
		snprintf(race->kernel, sizeof race->kernel, "%s", e->m->exec.name);
		locate(e->m, c, bytes, race);
	}
	*ret_race = race;
	return new;
}

static bool is_ordered_without_scopes(
	const struct event *e, unsigned lane, const struct access *x, uint64_t x_bit)
{
	struct emu_races *const r = e->m->races;
	const struct party *const party = r->parties[e->wavefront];

	if (!party) {
		return false;
	}
	if (!vclock_unknown(&r->clocks, party->clocks[UNSCOPED][lane], x->wavefront, x_bit, x->time)) {
		return true;
	}
	return r->fences && race_is_strong(&r->whats[e->what]) &&
	       !vclock_unknown(&r->clocks, party->clocks[READ_UNSCOPED][lane], x->wavefront, x_bit, x->time);
}

void race_tell(
	const struct event *e, const struct cell *c, const struct access *x, unsigned x_lane, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	const bool atomics = r->whats[x->what].is_atomic && r->whats[e->what].is_atomic;
	const bool same = x->has_value && e->has_value && x->value == e->value && x->mask == e->mask;
	struct emu_race *race;

	if (!is_new_race(e, c, atomics ? EMU_RACE_SCOPES : EMU_RACE_DATA, x->what, x->mask & e->mask, same,
		    &race)) {
		return;
	}
	race->first = told(e->m, x->what, x->wavefront, x_lane);
	race->second = told(e->m, e->what, e->wavefront, lane);
	if (r->scopes && !atomics && is_ordered_without_scopes(e, lane, x, UINT64_C(1) << x_lane)) {
		blame(e, lane, x, x_lane, race);
	}
}

void race_tell_read_only(const struct event *e, const struct cell *c, const struct touch *other)
{
	struct emu_race *race;

	if (is_new_race(e, c, EMU_RACE_READ_ONLY, other->what, other->mask & e->mask, false, &race)) {
		race->first = told(e->m, other->what, other->wavefront, other->lane);
		race->second = told(e->m, e->what, e->wavefront, emu_first(e->lanes));
	}
}
