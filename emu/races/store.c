/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The detector's memory: rows, cells by address with the accesses that they remember, and the wavefronts'
 * clocks.
 *
 * Memory is kept until the detector ends: a kernel's cells and rows serve the next one. When memory runs out,
 * the run ends with a message (race_out_of_memory), and callers get 0 or NULL, never a row in use.
 */
#include <stdlib.h>

#include "internal.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/search.h"

enum { CELLS_MIN = 1 << 10, RECENT_MIN = 1 << 12 };

void race_out_of_memory(struct nvw_machine *m)
{
	if (!m->error) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for the race check of kernel %s", m->exec.name);
	}
}

uint32_t race_row_take(struct nvw_machine *m, struct nvw_rows *rows)
{
	const uint32_t i = nvw_rows_take(rows);

	if (!i) {
		race_out_of_memory(m);
	}
	return i;
}

/* ---- Cells and their accesses ---------------------------------------------------------------- */

/* The place of the key's cell in the table, or where it belongs. */
static uint32_t *place_of(const struct emu_races *r, uint64_t key)
{
	return &r->table[NVW_PROBE(i, race_hash(key), r->table_mask + 1,
		r->table[i] == 0 || cell_at(r, r->table[i])->key == key)];
}

static bool grow_table(struct emu_races *r)
{
	const uint32_t size = r->table ? 2 * (r->table_mask + 1) : CELLS_MIN;
	uint32_t *const table = calloc(size, sizeof *table);

	if (!table) {
		return false;
	}
	free(r->table);
	r->table = table;
	r->table_mask = size - 1;
	for (uint32_t i = 1; i <= r->cells.count; i++) {
		*place_of(r, cell_at(r, i)->key) = i;
	}
	return true;
}

struct cell *race_cell_for(struct nvw_machine *m, uint64_t key)
{
	struct emu_races *const r = m->races;
	const uint32_t known = *place_of(r, key);
	uint32_t i;

	if (known) {
		return cell_at(r, known);
	}
	if (2 * r->cells.count > r->table_mask && !grow_table(r)) {
		race_out_of_memory(m);
		return NULL;
	}
	i = race_row_take(m, &r->cells);
	if (!i) {
		return NULL;
	}
	cell_at(r, i)->key = key;
	cell_at(r, i)->number = i;
	cell_at(r, i)->prune_at = PRUNE_MIN;
	*place_of(r, key) = i;
	return cell_at(r, i);
}

/* Drops all entries: the reads are then found by a search. */
static bool grow_recent(struct emu_races *r)
{
	const uint32_t size = r->recent ? 4 * (r->recent_mask + 1) : RECENT_MIN;
	uint32_t *const recent = calloc(size, sizeof *recent);

	if (recent) {
		free(r->recent);
		r->recent = recent;
		r->recent_mask = size - 1;
	}
	return recent;
}

void race_remember(const struct event *e, struct cell *c, uint32_t *list)
{
	struct emu_races *const r = e->m->races;
	const uint32_t i = race_row_take(e->m, &r->accesses);

	if (i) {
		*access_at(r, i) = (struct access){.next = *list,
			.wavefront = e->wavefront,
			.cell = c->number,
			.lanes = e->lanes,
			.value = e->value,
			.time = e->since,
			.what = e->what,
			.mask = e->mask,
			.has_value = e->has_value};
		*list = i;
		c->count++;
		if (r->accesses.count > r->recent_mask / 2 && !grow_recent(r)) {
			race_out_of_memory(e->m);
		}
		if (list == &c->reads) {
			*race_recent_of(e, c) = i;
		}
	}
}

/* ---- What wavefronts know -------------------------------------------------------------------- */

struct party *race_party_of(struct nvw_machine *m, uint32_t wavefront)
{
	NVW_DEEP_INVARIANT(wavefront < m->races->wavefronts);

	struct party **const party = &m->races->parties[wavefront];
	const unsigned clocks = race_clocks(m->races);

	if (!*party) {
		*party = malloc(sizeof **party + clocks * sizeof *(*party)->clocks);
		if (!*party) {
			race_out_of_memory(m);
			return NULL;
		}
		NVW_FOR(lane, EMU_LANES) {
			(*party)->since[lane] = FIRST_TIME;
			NVW_FOR(which, clocks) {
				(*party)->clocks[which][lane] = VCLOCK_NONE;
			}
		}
	}
	return *party;
}

void race_forget_order(struct emu_races *r)
{
	NVW_EACH(party, r->parties, r->wavefronts) {
		free(*party);
		*party = NULL;
	}
	vclock_reset(&r->clocks, r->wavefronts);
	nvw_rows_reset(&r->accesses);
	nvw_rows_reset(&r->syncs);
	nvw_rows_reset(&r->domains);
	memset(r->recent, 0, (r->recent_mask + 1) * sizeof *r->recent);
	r->missed = 0;
	r->time = FIRST_TIME;
}

/* ---- Kernels, and a detector's life ---------------------------------------------------------- */

void race_store_launch(struct nvw_machine *m)
{
	struct emu_races *const r = m->races;

	race_forget_order(r);
	nvw_rows_reset(&r->cells);
	memset(r->table, 0, (r->table_mask + 1) * sizeof *r->table);
	free(r->parties);
	free(r->domain_of);
	r->wavefronts = m->exec.groups * m->exec.group_wavefronts;
	r->parties = calloc(r->wavefronts, sizeof *r->parties);
	r->domain_of = calloc(r->wavefronts, sizeof *r->domain_of);
	if (!r->parties || !r->domain_of) {
		r->wavefronts = 0;
		race_out_of_memory(m);
	}
	vclock_reset(&r->clocks, r->wavefronts);
}

bool race_store_begin(struct emu_races *r)
{
	r->accesses.row_bytes = sizeof(struct access);
	r->syncs.row_bytes = sizeof(struct sync);
	r->domains.row_bytes = sizeof(struct domain);
	r->cells.row_bytes = sizeof(struct cell);
	return grow_table(r) && grow_recent(r);
}

void race_store_free(struct emu_races *r)
{
	NVW_EACH(party, r->parties, r->wavefronts) {
		free(*party);
	}
	vclock_finish(&r->clocks);
	nvw_rows_finish(&r->accesses);
	nvw_rows_finish(&r->syncs);
	nvw_rows_finish(&r->domains);
	nvw_rows_finish(&r->cells);
	free(r->table);
	free(r->recent);
	free(r->parties);
	free(r->domain_of);
	free(r->whats);
	free(r->what_table);
	free(r);
}
