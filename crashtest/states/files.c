/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes and names of files in crash states. See files.h. */
#include <stdio.h>
#include <unistd.h>

#include "core/array.h"
#include "core/disk_image.h"
#include "core/search.h"

#include "files.h"

const struct nvw__disk *ct_files_disk(const struct ct_medium *m)
{
	return (const struct nvw__disk *)(const void *)(m->image.rw + m->image.bytes - NVW__DISK_BYTES);
}

int ct_files_begin(struct ct_medium *m)
{
	const struct nvw__disk *const d = nvw__disk_of(m->image.rw, m->image.bytes);
	const bool is_of_files = ct_model_info(m->rules.model)->axioms & CT_A(SECTOR);

	m->metadata = m->files = UINT64_MAX;
	NVW_FAIL_IF(is_of_files && !d, NVW_E_INPUT,
		"persist log: expected the image of files that was recorded with it (LOG.image)");
	if (!is_of_files) {
		return 0;
	}
	m->metadata = d->at;
	m->files = nvw__disk_file_at(d, 0);
	m->chained = d->fs == NVW__FS_JOURNAL;
	return 0;
}

unsigned ct_files_unit(const struct ct_medium *m, nvw_off off)
{
	return off < m->files && ct_files_disk(m)->fs != NVW__FS_POSIX ? 8 * NVW__DISK_NAMES : 64;
}

/* ---- Growth: a size uncovers bytes ------------------------------------------------------------------ */

static const struct ct_growth *growth_of(const struct ct_medium *m, uint64_t write)
{
	const struct ct_growth *const g = m->growth.at;
	const uint64_t first = NVW_FIRST(i, 0, m->growth.count, g[i].write >= write);

	return first < m->growth.count && g[first].write == write ? &g[first] : NULL;
}

/* Does a version, against the one before it, change bytes of the image in a range? */
static bool changes(
	const struct ct_medium *m, const struct ct_cell *c, unsigned version, nvw_off from, nvw_off end)
{
	const nvw_off first = MAX(from, c->off), last = MIN(end, c->off + 8 * (nvw_off)c->words);
	const uint8_t *const now = (const uint8_t *)(c->content + (size_t)version * c->words);
	const uint8_t *before = m->image.rw + c->off;

	if (version > 0) {
		before = (const uint8_t *)(c->content + (size_t)(version - 1) * c->words);
	}
	return first < last && memcmp(now + (first - c->off), before + (first - c->off), last - first) != 0;
}

/* Is all of it durable that was written there before the size was made? */
/* levels NULL: is nothing of it uncertain? */
bool ct_files_is_written(const struct ct_medium *m, const struct ct_growth *g, const unsigned *levels)
{
	for (nvw_off off = g->from & ~(nvw_off)(m->unit_bytes - 1); off < g->end; off += m->unit_bytes) {
		const struct ct_cell *const c = ct_medium_cell_at(m, off);

		const unsigned level = c && levels ? levels[c - m->cell] : 0;

		for (unsigned v = level; c && v < c->count && c->write[v] < g->write; v++) {
			if (changes(m, c, v, g->from, g->end)) {
				return false;
			}
		}
	}
	return true;
}

/* The bytes that a store of a size uncovers, if it is one, are written. */
static bool may_be_seen(const struct ct_medium *m, uint64_t write, const unsigned *levels)
{
	const struct ct_growth *const g = growth_of(m, write);

	return !g || ct_files_is_written(m, g, levels);
}

/* The last level up to this one whose size does not end in bytes that are lost. */
static unsigned level_of(
	const struct ct_medium *m, const struct ct_cell *c, unsigned level, const unsigned *levels)
{
	NVW_INVARIANT(level <= c->count);
	while (level > 0 && !may_be_seen(m, c->write[level - 1], levels)) {
		level--;
	}
	return level;
}

bool ct_files_is_durable(const struct ct_medium *m, nvw_off at, uint64_t write)
{
	const struct ct_cell *const c = ct_medium_cell_at(m, at);

	return !c || c->count == 0 || c->write[0] > write;
}

/* ---- A state ---------------------------------------------------------------------------------------- */

/* Lowers the level until it lacks the store; true if it had it. */
static bool lose(const struct ct_cell *c, uint64_t write, unsigned *level)
{
	const unsigned before = *level;

	while (*level > 0 && c->write[*level - 1] >= write) {
		--*level;
	}
	return *level != before;
}

static bool lacks(const struct ct_medium *m, nvw_off at, uint64_t write, const unsigned *level)
{
	const struct ct_cell *const c = ct_medium_cell_at(m, at);

	if (ct_files_is_durable(m, at, write)) {
		return false;
	}
	const unsigned its = level[c - m->cell];

	return its == 0 || c->write[its - 1] < write;
}

/* True if a level has changed. */
static bool lower(const struct ct_medium *m, const unsigned *levels, unsigned *settled)
{
	const struct ct_behind *const need = m->need.at;
	bool changed = false;

	NVW_EACH(one, need, m->need.count) {
		const struct ct_cell *const c = ct_medium_cell_at(m, one->at);

		if (!c || !lacks(m, one->other_at, one->other, settled)) {
			continue;
		}
		unsigned *const level = &settled[c - m->cell];

		if (lose(c, one->write, level)) {
			*level = level_of(m, c, *level, levels);
			changed = true;
		}
	}
	return changed;
}

const unsigned *ct_files_settle(struct ct_medium *m, const unsigned *levels)
{
	if (m->growth.count == 0 && m->need.count == 0) {
		return NULL;
	}
	if (!nvw__room(&m->settled.at, &m->settled.capacity, m->cell_count, sizeof *levels)) {
		fprintf(stderr, "nvwave: no memory for a crash state\n");
		_exit(2);
	}
	unsigned *const settled = m->settled.at;

	NVW_FOR(i, m->cell_count) {
		settled[i] = levels[i];
		if (m->cell[i].off >= m->files) {
			settled[i] = level_of(m, &m->cell[i], levels[i], levels);
		}
	}
	while (lower(m, levels, settled)) {
	}
	return settled;
}
