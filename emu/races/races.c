/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The race detector: happens-before by vector clocks. See races.h, internal.h and docs/races.md.
 *
 * This file splits the machine's instructions into events, groups of a wavefront's lanes that do the same to
 * bytes of one cell, and applies barriers and launches to the wavefronts' clocks. It guarantees the order: an
 * acquire takes effect before its access is compared, and a release passes on its own access with the earlier
 * ones.
 */
#include <stdlib.h>

#include "core/each.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "../memory/device_memory.h"
#include "../protocol/protocol.h"
#include "internal.h"

/* ---- Instructions ---------------------------------------------------------------------------- */

static bool is_read_modify_write(const struct what *w)
{
	return w->is_atomic && w->is_write && (w->op & 0xff) != NVW__ATOMIC_STORE;
}

/* Whether it can learn what an atomic or volatile store has released. */
static bool reads(const struct what *w)
{
	return race_is_strong(w) && (w->op & KIND) != NVW__ATOMIC_STORE;
}

/* Handles the event's bytes of one cell; the event is of one lane if it synchronizes. A fence acquires what
 * its work-item has read; what it releases is passed on by the atomic that comes after it. */
static void take_cell(const struct event *e, struct cell *c)
{
	struct emu_races *const r = e->m->races;
	const struct what *const w = &r->whats[e->what];
	const unsigned lane = emu_first(e->lanes);

	if (w->is_fence && r->fences) {
		if (w->is_write) {
			race_fence(e, lane);
		}
		return;
	}
	if (w->acquires) {
		race_acquire(e, c, lane);
	} else if (r->fences && reads(w)) {
		race_note_read(e, c, lane);
	}
	if (w->is_fence) {
		return;
	}
	race_check_read_only(e, c);
	if ((w->op & 0xff) == NVW__LOAD_READ_ONLY) {
		return;
	}
	race_check(e, c);
	if (w->is_write && !is_read_modify_write(w) && c->syncs) {
		race_forget_released(r, c, e->mask);
	}
	if (w->releases) {
		race_release(e, c, lane);
	} else if (r->fences && w->is_write && race_is_strong(w)) {
		race_pass_on_fence(e, c, lane);
	}
}

/* Handles bytes at an address, 8 aligned ones at a time: an access may cross two cells. */
static void take_bytes(struct event *e, uint64_t address, unsigned size)
{
	emu_line_id line = EMU_NO_LINE;
	unsigned offset = 0;
	uint32_t bytes;

	emu_locate(e->m, address, size, &line, &offset);
	bytes = ((UINT32_C(1) << size) - 1) << offset % 8;
	for (unsigned word = offset / 8; bytes && !e->m->error; word++, bytes >>= 8) {
		struct cell *const c = race_cell_for(e->m, (uint64_t)line << 3 | word);

		e->mask = (uint8_t)bytes;
		if (c) {
			take_cell(e, c);
		}
	}
}

/* Handles the first of lanes and, unless it is handled alone, those that do the same to the same bytes and
 * have not released since. They may store different values. */
static void take_lanes(
	struct event *e, const struct emu_wavefront *wf, uint64_t lanes, bool alone, bool is_store)
{
	static const uint32_t never[EMU_LANES] = {[0 ... EMU_LANES - 1] = FIRST_TIME};
	const struct party *const party = e->m->races->parties[e->wavefront];
	const uint32_t *since = never;
	const unsigned first = emu_first(lanes);

	if (party) {
		since = party->since;
	}
	if (alone) {
		lanes &= -lanes;
	}
	NVW_DEEP_INVARIANT(lanes);
	e->lanes = 0;
	e->since = since[first];
	e->value = wf->requests.value[first];
	e->has_value = is_store;
	NVW_EACH_BIT(lane, lanes) {
		if (wf->requests.address[lane] == wf->requests.address[first] &&
			since[lane] == since[first]) {
			e->lanes |= UINT64_C(1) << lane;
			e->has_value = e->has_value && wf->requests.value[lane] == e->value;
		}
	}
	if (!e->has_value) {
		e->value = 0;
	}
}

/* The operation of a completed request. */
static uint32_t operation(const struct nvw__request *request, unsigned size)
{
	const uint64_t all = nvw_low_bits(8 * size);
	const bool is_volatile = request->op & EMU_OP_VOLATILE, by_fence = request->op & EMU_OP_BY_FENCE;
	const uint32_t op = (uint32_t)request->op | (VOLATILE * is_volatile + BY_FENCE * by_fence) << 16;

	switch (op & 0xff) {
	case NVW__COMPARE_EXCHANGE:
		return op | FAILED * (request->value != (request->compare & all));
	case NVW__ATOMIC_LOAD:
	case NVW__ATOMIC_STORE:
		return op | FENCE * (request->compare != 0);
	default:
		return op;
	}
}

static void finish_instruction(struct nvw_machine *m)
{
	struct emu_races *const r = m->races;

	r->time += r->released;
	r->released = false;
	if (r->clocks.failed) {
		race_out_of_memory(m);
	}
	if (r->time >= UINT32_MAX >> 1 && !m->error) {
		m->error = nvw_fail(NVW_E_MEMORY, "kernel %s has more releases than the race check can count",
			m->exec.name);
	}
}

void races_access(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	const uint32_t op = (uint32_t)wf->requests.op[__builtin_ctzll(lanes)];
	const unsigned kind = op & 0xff, size = 1u << (op >> 8 & 0xff);
	const bool one_by_one = kind >= NVW__ATOMIC_LOAD &&
				((op >> 16 & 0xff) != NVW_RELAXED || kind == NVW__COMPARE_EXCHANGE ||
					(m->races && m->races->fences));
	struct event e = {.m = m};

	if (!m->races) {
		return;
	}
	e.wavefront = (uint32_t)emu_wavefront_number(m, wf);
	e.first_global = wf->first_global;
	m->races->domain_of[e.wavefront] = (uint32_t)(m->races->by_cu ? emu_cu_of(wf)->id : wf->group->id);
	for (uint64_t rest = lanes; rest && !m->error; rest &= ~e.lanes) {
		const struct nvw__request *const request = emu_request(wf, emu_first(rest));

		take_lanes(&e, wf, rest, one_by_one, kind == NVW__STORE);
		e.what = race_what_number(m, request->site, operation(request, size));
		take_bytes(&e, request->address, size);
	}
	finish_instruction(m);
}

/* ---- Barriers, kernels ----------------------------------------------------------------------- */

/* The join of the clocks of a group's work-items, and of their arrival here. */
static vclock known_to_group(struct nvw_machine *m, uint32_t first, enum clocks which)
{
	struct emu_races *const r = m->races;
	vclock known = VCLOCK_NONE, previous = VCLOCK_NONE;

	for (uint32_t i = first; i < first + m->exec.group_wavefronts; i++) {
		struct party *const party = r->parties[i];

		for (unsigned lane = 0; party && lane < EMU_LANES; lane++) {
			const vclock clock = party->clocks[which][lane];

			if (clock != previous) {
				race_learn(r, &known, clock);
				previous = clock;
			}
		}
	}
	for (uint32_t i = first; i < first + m->exec.group_wavefronts; i++) {
		const vclock marked = vclock_mark(&r->clocks, known, i, UINT64_MAX, r->time);

		vclock_drop(&r->clocks, known);
		known = marked;
	}
	return known;
}

/* Everyone in the group gets the clock of all. */
static void join_group(struct nvw_machine *m, uint32_t first, enum clocks which)
{
	struct emu_races *const r = m->races;
	const vclock known = known_to_group(m, first, which);

	for (unsigned n = 0; n < m->exec.group_wavefronts * EMU_LANES && !m->error; n++) {
		struct party *const party = race_party_of(m, first + n / EMU_LANES);

		if (party) {
			vclock *const clock = &party->clocks[which][n % EMU_LANES];

			vclock_drop(&r->clocks, *clock);
			*clock = vclock_keep(known);
			party->since[n % EMU_LANES] = r->time + 1;
		}
	}
	vclock_drop(&r->clocks, known);
}

void races_group_barrier(struct nvw_machine *m, const struct emu_group *group)
{
	struct emu_races *const r = m->races;
	const uint32_t first = (uint32_t)(group->id * m->exec.group_wavefronts);

	if (r) {
		join_group(m, first, ORDERED);
		if (r->scopes) {
			join_group(m, first, UNSCOPED);
		}
		if (r->fences) {
			join_group(m, first, READ_WIDE);
		}
		race_tell_sync(m, EMU_SYNC_GROUP, group->id * m->exec.group_size, group->size, false);
		r->released = true;
		finish_instruction(m);
	}
}

void races_kernel_barrier(struct nvw_machine *m)
{
	struct emu_races *const r = m->races;

	if (r) {
		race_tell_sync(m, EMU_SYNC_KERNEL, 0, 0, false);
		race_forget_order(r);
		for (uint32_t i = 1; i <= r->cells.count; i++) {
			struct cell *const c = cell_at(r, i);

			c->reads = c->writes = c->syncs = c->count = 0;
			c->prune_at = PRUNE_MIN;
		}
	}
}

/* The party is a member of a work-group, which has returned. */
static void drop_clocks(struct emu_races *r, struct party *party)
{
	NVW_FOR(lane, EMU_LANES) {
		NVW_FOR(which, race_clocks(r)) {
			vclock_drop(&r->clocks, party->clocks[which][lane]);
		}
	}
}

void races_group_finish(struct nvw_machine *m, const struct emu_group *group)
{
	struct emu_races *const r = m->races;
	const uint64_t first = group->id * m->exec.group_wavefronts;

	for (uint64_t i = first; r && i < first + m->exec.group_wavefronts; i++) {
		struct party *const party = r->parties[i];

		if (party) {
			drop_clocks(r, party);
		}
		free(party);
		r->parties[i] = NULL;
	}
}

void races_launch(struct nvw_machine *m)
{
	if (m->races) {
		race_store_launch(m);
	}
}

/* ---- A detector's life ----------------------------------------------------------------------- */

/* What a race is, in words. */
static const char *model_name(const struct emu_races *r)
{
	if (!r->scopes) {
		return "DRF";
	}
	if (r->remote) {
		return "HRF-indirect with remote scopes";
	}
	if (r->by_cu) {
		return "HRF-indirect, work-group scope is that of the CU";
	}
	return "HRF-indirect";
}

int emu_check_races(struct nvw_machine *m, enum emu_race_model model)
{
	const bool scopes = model == EMU_RACES_HRF || model == EMU_RACES_SOURCE ||
			    (model == EMU_RACES_CLAIMED && m->protocol->scopes != EMU_SCOPES_WIDENED);
	const bool of_protocol = scopes && model != EMU_RACES_SOURCE;
	struct emu_races *const r = calloc(1, sizeof *r);

	assert(m->exec.number == 0 && !m->races);
	m->races = r;
	NVW_FAIL_IF(!r || !race_store_begin(r) || !race_grow_whats(r), NVW_E_MEMORY,
		"no memory for a race check");
	r->scopes = scopes;
	r->remote = of_protocol && m->protocol->scopes == EMU_SCOPES_PROMOTED;
	r->by_cu = of_protocol && m->protocol->local_scope == COH_LOCAL_CU;
	r->report.model = model_name(r);
	return 0;
}

void emu_races_know_fences(struct nvw_machine *m)
{
	assert(m->exec.number == 0);
	if (m->races) {
		m->races->fences = true;
	}
}

void emu_tell_syncs(
	struct nvw_machine *m, void (*told)(void *context, const struct emu_sync *sync), void *context)
{
	assert(m->races && m->exec.number == 0);
	m->races->told = told;
	m->races->context = context;
}

const struct emu_race_report *emu_races(const struct nvw_machine *m)
{
	if (!m->races) {
		return NULL;
	}
	return &m->races->report;
}

void races_finish(struct nvw_machine *m)
{
	if (m->races) {
		race_store_free(m->races);
		m->races = NULL;
	}
}
