/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations by number: a source line, its operation, and its meaning under the model: the reach of its
 * scope, whether it acquires, releases, writes.
 *
 * A number does not change until the detector ends, from kernel to kernel, so that each pair of source lines
 * is described once. The same line and operation have the same number.
 */
#include <stdlib.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/search.h"
#include "internal.h"

enum { WHATS_MIN = 256 };

static enum reach reach_of(const struct emu_races *r, enum nvw_scope scope)
{
	if (!r->scopes) {
		return REACH_AGENT;
	}
	switch (scope) {
	case NVW_SCOPE_WORKITEM:
		return REACH_SELF;
	case NVW_SCOPE_WORKGROUP:
		return REACH_LOCAL;
	case NVW_SCOPE_AGENT:
	case NVW_SCOPE_SYSTEM:
		return REACH_AGENT;
	case NVW_SCOPE_REMOTE_AGENT:
	case NVW_SCOPE_REMOTE_SYSTEM:
		break;
	}
	if (r->remote) {
		return REACH_REMOTE;
	}
	return REACH_AGENT;
}

static struct what describe(const struct emu_races *r, const struct nvw_site *site, uint32_t op)
{
	const unsigned kind = op & KIND, order = op >> 16 & ORDER;
	const bool strong = kind >= NVW__ATOMIC_LOAD, by_fence = op >> 16 & BY_FENCE;
	struct what w = {.site = site, .op = op, .line = r->what_count, .is_fence = op & FENCE};

	w.is_volatile = op >> 16 & VOLATILE;
	w.is_atomic = strong && !w.is_volatile;
	w.is_write = kind == NVW__STORE || (strong && kind != NVW__ATOMIC_LOAD && !(op & FAILED));
	if (strong) {
		w.reach = reach_of(r, (enum nvw_scope)(op >> 24));
	}
	w.acquires = w.is_atomic && kind != NVW__ATOMIC_STORE && order != NVW_RELAXED && order != NVW_RELEASE;
	w.releases = w.is_atomic && w.is_write && order != NVW_RELAXED && order != NVW_ACQUIRE && !by_fence;
	NVW_EACH(what, r->whats, r->what_count) {
		if (what->site->line == site->line && !strcmp(what->site->file, site->file)) {
			w.line = what->line;
			break;
		}
	}
	return w;
}

static uint32_t what_slot(const struct emu_races *r, const struct nvw_site *site, uint32_t op)
{
	const struct what *const whats = r->whats;
	const uint32_t *const table = r->what_table;
	const uint32_t hash = race_hash((uint64_t)(uintptr_t)site ^ (uint64_t)op << 32);

	return (uint32_t)NVW_PROBE(slot, hash, r->what_mask + 1,
		!table[slot] || (whats[table[slot] - 1].site == site && whats[table[slot] - 1].op == op));
}

bool race_grow_whats(struct emu_races *r)
{
	const uint32_t capacity = NVW_OR(2 * r->what_capacity, WHATS_MIN);
	struct what *const whats = realloc(r->whats, capacity * sizeof *whats);
	uint32_t *const table = calloc(2 * capacity, sizeof *table);

	if (whats) {
		r->whats = whats;
	}
	if (!whats || !table) {
		free(table);
		return false;
	}
	free(r->what_table);
	r->what_table = table;
	r->what_mask = 2 * capacity - 1;
	r->what_capacity = capacity;
	NVW_FOR(i, r->what_count) {
		table[what_slot(r, whats[i].site, whats[i].op)] = i + 1;
	}
	return true;
}

uint32_t race_what_number(struct nvw_machine *m, const struct nvw_site *site, uint32_t op)
{
	struct emu_races *const r = m->races;
	uint32_t slot;

	if (r->last_what < r->what_count && r->whats[r->last_what].site == site &&
		r->whats[r->last_what].op == op) {
		return r->last_what;
	}
	slot = what_slot(r, site, op);
	if (!r->what_table[slot]) {
		if (r->what_count == r->what_capacity) {
			if (!race_grow_whats(r)) {
				race_out_of_memory(m);
				return 0;
			}
			slot = what_slot(r, site, op);
		}
		r->whats[r->what_count] = describe(r, site, op);
		r->what_table[slot] = ++r->what_count;
	}
	return r->last_what = r->what_table[slot] - 1;
}
