/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persist barriers that the source does not have: where a line added to the source would be, or widened. The
 * run that a cure is verified by must be that of the patched source, so a barrier is met once an execution of
 * its statement. An execution begins with the work-item's first operation at the line; another one, with that
 * very operation again. Loads of other lines do not end it: they are operands.
 */
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "../machine.h"

/* What is known of a work-item. */
struct emu_inserted_item {
	const struct nvw_site *first; /* of the statement that it executes */
	uint32_t owes;                /* bits, one an insertion: it has executed the statement before it */
};

static bool is_at(const struct nvw_site *site, const char *file, uint32_t line)
{
	return site->line == line && strcmp(basename(site->file), basename(file)) == 0;
}

void emu_insert_barriers(struct nvw_machine *m, const struct emu_inserted *inserted, unsigned count)
{
	m->inserted.count = (unsigned)nvw_min(count, EMU_INSERTED_MAX);
	m->inserted.met = 0;
	NVW_FOR(i, m->inserted.count) {
		m->inserted.barrier[i] = inserted[i];
		m->inserted.site[i] = (struct nvw_site){
			.file = inserted[i].file, .function = "(inserted)", .line = inserted[i].line};
	}
}

uint64_t emu_inserted_met(const struct nvw_machine *m)
{
	return m->inserted.met;
}

void emu_inserted_finish(struct nvw_machine *m)
{
	free(m->inserted.item);
	m->inserted.item = NULL;
	m->inserted.items = 0;
}

static struct emu_inserted_item *item_at(struct nvw_machine *m, uint64_t id)
{
	if (id >= m->inserted.items) {
		const uint64_t wanted = 2 * id + 64;
		struct emu_inserted_item *const grown = realloc(m->inserted.item, wanted * sizeof *grown);

		if (!grown) {
			if (!m->error) {
				m->error = nvw_fail(NVW_E_MEMORY, "no memory for inserted barriers");
			}
			return NULL;
		}
		memset(grown + m->inserted.items, 0, (wanted - m->inserted.items) * sizeof *grown);
		m->inserted.item = grown;
		m->inserted.items = wanted;
	}
	return &m->inserted.item[id];
}

static bool is_load(enum nvw__kind kind)
{
	return kind == NVW__LOAD || kind == NVW__LOAD_READ_ONLY || kind == NVW__ATOMIC_LOAD;
}

/* The insertions whose line the operation is at. */
static uint32_t insertions_at(const struct nvw_machine *m, const struct nvw_site *site)
{
	uint32_t at = 0;

	NVW_DEEP_INVARIANT(m->inserted.count <= EMU_INSERTED_MAX);
	NVW_FOR(i, m->inserted.count) {
		const struct emu_inserted *const b = &m->inserted.barrier[i];
		const bool is_its = b->where != EMU_INSERT_WIDENS && is_at(site, b->file, b->line);

		at |= (uint32_t)is_its << i;
	}
	return at;
}

static uint32_t insertions_of(const struct nvw_machine *m, enum emu_insertion where)
{
	uint32_t of = 0;

	NVW_FOR(i, m->inserted.count) {
		of |= (uint32_t)(m->inserted.barrier[i].where == where) << i;
	}
	return of;
}

/* Whether another execution of a statement begins with the operation. */
static bool begins(const struct emu_inserted_item *item, const struct nvw_site *site)
{
	return !item->first || item->first == site || item->first->line != site->line ||
	       strcmp(item->first->file, site->file) != 0;
}

uint32_t emu_inserted_before(struct nvw_machine *m, uint64_t id, const struct nvw__request *r)
{
	const enum nvw__kind kind = (enum nvw__kind)(r->op & 0xff);
	struct emu_inserted_item *item = NULL;

	if (kind != NVW__USE) {
		item = item_at(m, id);
	}
	if (!item) {
		return 0;
	}
	const uint32_t at = insertions_at(m, r->site), after = insertions_of(m, EMU_INSERT_AFTER);
	const bool is_new = begins(item, r->site);
	uint32_t due = item->owes;

	if (!is_new) {
		due &= ~at;
	}
	item->owes &= ~due;
	if (is_new) {
		due |= at & ~after;
	}
	if (!is_load(kind)) {
		item->owes |= at & after;
	}
	if (is_new && (at != 0 || !is_load(kind))) {
		item->first = r->site;
	}
	if (kind == NVW__RETURN) {
		*item = (struct emu_inserted_item){0};
	}
	m->inserted.met += (unsigned)__builtin_popcount(due);
	return due;
}

enum nvw_group emu_widened(struct nvw_machine *m, const struct nvw_site *site, enum nvw_group group)
{
	NVW_EACH(b, m->inserted.barrier, m->inserted.count) {
		if (b->where == EMU_INSERT_WIDENS && b->scope > group && is_at(site, b->file, b->line)) {
			m->inserted.met++;
			group = b->scope;
		}
	}
	return group;
}
