/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persist barriers that the source does not have: inserted at its lines, or widened, to measure what they cost. A work-item
 * owes an inserted barrier from its store at a line on, and meets it before its next operation that is no load and of
 * another line.
 */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

/* Of a work-item: where its last operation was, and bits, one an insertion. */
struct emu_inserted_item {
	const struct nvw_site *last;
	uint16_t owes, came; /* came: it has stored at the first line since it was last at the second */
};

static bool is_at(const struct nvw_site *site, const char *file, uint32_t line)
{
	return file != NULL && site->line == line && strcmp(basename(site->file), basename(file)) == 0;
}

void emu_insert_barriers(struct nvw_machine *m, const struct emu_inserted *inserted, unsigned count)
{
	m->inserted.count = count < EMU_INSERTED_MAX ? count : EMU_INSERTED_MAX;
	m->inserted.met = 0;
	for (unsigned i = 0; i < m->inserted.count; i++) {
		const struct emu_inserted *const b = &inserted[i];

		m->inserted.barrier[i] = *b;
		m->inserted.site[i] =
			(struct nvw_site){.file = b->after_file ? b->after_file : b->before_file,
				.function = "(inserted)",
				.line = b->after_file ? b->after_line : b->before_line};
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

		if (grown == NULL) {
			m->error = m->error ? m->error :
					      nvw_fail(NVW_E_MEMORY, "no memory for inserted barriers");
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
	return kind == NVW__LOAD || kind == NVW__LOAD_READ_ONLY || kind == NVW__ATOMIC_LOAD ||
	       kind == NVW__USE;
}

/* True if the work-item meets barrier b before an operation at site. */
static bool meets(struct emu_inserted_item *item, const struct emu_inserted *b, uint16_t bit,
	const struct nvw_site *site)
{
	const bool at_first = is_at(site, b->after_file, b->after_line);
	const bool at_second = is_at(site, b->before_file, b->before_line);
	const bool is_between = b->after_file != NULL && b->before_file != NULL;
	const bool comes = at_second && !(item->last && is_at(item->last, b->before_file, b->before_line)) &&
			   !(is_between && (item->came & bit));
	bool does = comes;

	if ((item->owes & bit) && !at_first) {
		item->owes = (uint16_t)(item->owes & ~bit);
		does = true;
	}
	if (at_second) {
		item->came = (uint16_t)(item->came & ~bit);
	}
	if (at_first) {
		item->owes |= bit;
		item->came |= bit;
	}
	return does;
}

unsigned emu_inserted_before(struct nvw_machine *m, uint64_t id, const struct nvw__request *r)
{
	const enum nvw__kind kind = (enum nvw__kind)(r->op & 0xff);
	struct emu_inserted_item *const item = is_load(kind) ? NULL : item_at(m, id);
	unsigned due = 0;

	for (unsigned i = 0; i < m->inserted.count && item != NULL; i++) {
		if (!m->inserted.barrier[i].widens &&
			meets(item, &m->inserted.barrier[i], (uint16_t)(1u << i), r->site)) {
			due |= 1u << i;
			m->inserted.met++;
		}
	}
	if (item != NULL) {
		item->last = r->site;
	}
	if (item != NULL && kind == NVW__RETURN) {
		*item = (struct emu_inserted_item){0};
	}
	return due;
}

enum nvw_group emu_widened(struct nvw_machine *m, const struct nvw_site *site, enum nvw_group group)
{
	for (unsigned i = 0; i < m->inserted.count; i++) {
		const struct emu_inserted *const b = &m->inserted.barrier[i];

		if (b->widens && b->scope > group && is_at(site, b->after_file, b->after_line)) {
			m->inserted.met++;
			group = b->scope;
		}
	}
	return group;
}
