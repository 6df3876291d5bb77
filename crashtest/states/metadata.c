/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores to sizes and names of files, and their syncs. See files.h. */
#include "core/disk_image.h"

#include "files.h"

/* ---- Growth: a size uncovers bytes ------------------------------------------------------------------ */

static int note_growth(struct ct_medium *m, nvw_off at, unsigned slot, uint64_t from, uint64_t to)
{
	const struct nvw__disk *const d = ct_files_disk(m);

	if (slot >= d->slots || to > d->slot[slot].bytes) {
		return 0;
	}
	const struct ct_growth growth = {.write = m->stores,
		.at = at,
		.from = d->slot[slot].off + from,
		.end = d->slot[slot].off + to};

	return CT_ADD(&m->growth, &growth);
}

/* ---- Needs: a change of metadata persists after another --------------------------------------------- */

static int add_need(struct ct_medium *m, nvw_off at, nvw_off other_at, uint64_t other)
{
	if (ct_files_is_durable(m, other_at, other)) {
		return 0;
	}
	const struct ct_behind behind = {.write = m->stores, .at = at, .other = other, .other_at = other_at};

	return CT_ADD(&m->need, &behind);
}

/* The newest change of a cell of metadata; 0: all are durable. */
static uint64_t newest(const struct ct_medium *m, nvw_off at)
{
	const struct ct_cell *const c = ct_medium_cell_at(m, at);

	return c && c->count > 0 ? c->write[c->count - 1] : 0;
}

/* One journal: it comes after all earlier names, and after all files that were cut. */
static int add_needs_of_journal(struct ct_medium *m, nvw_off at)
{
	const struct ct_behind *const cut = m->cut.at;

	if (at != m->metadata && newest(m, m->metadata) != 0) {
		NVW_TRY(add_need(m, at, m->metadata, newest(m, m->metadata)));
	}
	NVW_EACH(one, cut, m->cut.count) {
		if (one->at != at) {
			NVW_TRY(add_need(m, at, one->at, one->write));
		}
	}
	return 0;
}

static int note_cut(struct ct_medium *m, nvw_off at)
{
	const struct ct_behind cut = {.write = m->stores, .at = at};

	return CT_ADD(&m->cut, &cut);
}

static int size_stored(struct ct_medium *m, const struct ct_cell *c, uint64_t word)
{
	const uint64_t old = ct_cell_word(m, c, c->count - 1, c->off);
	const bool same = NVW__DISK_SLOT(old) == NVW__DISK_SLOT(word);
	const uint64_t from = same ? NVW__DISK_SIZE(old) : 0, size = NVW__DISK_SIZE(word);
	const struct nvw__disk *const d = ct_files_disk(m);
	const bool has_journal = d->fs == NVW__FS_EXT4 && d->is_folder;

	if (size > from && d->fs != NVW__FS_POSIX) {
		NVW_TRY(note_growth(m, c->off, NVW__DISK_SLOT(word), from, size));
	}
	if (has_journal) {
		NVW_TRY(add_needs_of_journal(m, c->off));
	}
	if (has_journal && (!same || size < from)) {
		NVW_TRY(note_cut(m, c->off));
	}
	return 0;
}

/* What one call does to names is one version: its needs are those of the newest store. */
static void join_names(struct ct_medium *m, nvw_off at)
{
	struct ct_behind *const need = m->need.at;

	for (uint64_t i = m->need.count; i > 0 && m->named.instruction == m->instruction; i--) {
		if (need[i - 1].at == at && need[i - 1].write == m->named.write) {
			need[i - 1].write = m->stores;
		}
	}
	m->named.instruction = m->instruction;
	m->named.write = m->stores;
}

/* A file that takes the place of another is written back before (ext4's auto_da_alloc). */
static int name_stored(struct ct_medium *m, const struct ct_cell *c, nvw_off off, uint64_t word)
{
	const struct nvw__disk *const d = ct_files_disk(m);
	const uint64_t old = ct_cell_word(m, c, c->count - 1, off);

	if (d->fs != NVW__FS_EXT4) {
		return 0;
	}
	join_names(m, c->off);
	NVW_TRY(add_needs_of_journal(m, c->off));
	if (old != 0 && word != 0 && word <= d->files) {
		const nvw_off size = nvw__disk_file_at(d, (uint32_t)word - 1);

		if (newest(m, size) != 0) {
			return add_need(m, c->off, size, newest(m, size));
		}
	}
	return 0;
}

int ct_files_stored(struct ct_medium *m, nvw_off off, uint64_t word)
{
	const struct ct_cell *const c = ct_medium_cell_at(m, off & ~(nvw_off)(NVW__DISK_PAGE - 1));

	if (!c || c->count == 0 || c->write[c->count - 1] != m->stores) {
		return 0; /* it has changed nothing */
	}
	return off < m->files ? name_stored(m, c, off, word) : size_stored(m, c, word);
}

/* ---- Syncs ------------------------------------------------------------------------------------------ */

static int flush_until(struct ct_medium *m, nvw_off at, uint64_t write, uint64_t thread)
{
	const struct ct_flush flush = {.thread = thread, .write = write, .off = at};

	return CT_ADD(&m->flush, &flush);
}

static bool changes_name(
	const struct ct_medium *m, const struct ct_cell *c, unsigned version, nvw_off off, uint64_t file)
{
	const uint64_t before = ct_cell_word(m, c, version, off), now = ct_cell_word(m, c, version + 1, off);

	NVW_DEEP_INVARIANT(version < c->count);
	return before != now && (before == file || now == file);
}

/* Does a version of the names give the file a name, or take one from it? */
static bool concerns(const struct ct_medium *m, const struct ct_cell *c, unsigned version, uint64_t file)
{
	for (nvw_off off = c->off; off < c->off + 8 * (nvw_off)c->words; off += 8) {
		if (changes_name(m, c, version, off, file)) {
			return true;
		}
	}
	return false;
}

int ct_files_sync(struct ct_medium *m, nvw_off size, uint64_t thread)
{
	const struct nvw__disk *const d = ct_files_disk(m);
	const struct ct_cell *const c = ct_medium_cell_at(m, m->metadata);
	const uint64_t file = (size - m->files) / NVW__DISK_PAGE + 1;

	for (unsigned v = c && d->fs == NVW__FS_EXT4 ? c->count : 0; v-- > 0;) {
		if (concerns(m, c, v, file)) {
			return flush_until(m, m->metadata, c->write[v], thread);
		}
	}
	return 0;
}

/* What a size uncovers is written back before it. */
static void complete_bytes(struct ct_medium *m, const struct ct_growth *g)
{
	for (nvw_off off = g->from & ~(nvw_off)(m->unit_bytes - 1); off < g->end; off += m->unit_bytes) {
		ct_medium_complete(m, off, g->write, CT_ALL_BYTES);
	}
}

static void complete_growth(struct ct_medium *m, nvw_off at, uint64_t write)
{
	const struct ct_growth *const g = m->growth.at;

	NVW_EACH(one, g, m->growth.count) {
		if (one->at == at && one->write <= write) {
			complete_bytes(m, one);
		}
	}
}

/* True if something has become durable by it. */
static bool complete_needs(struct ct_medium *m)
{
	struct ct_behind *const need = m->need.at;
	uint64_t kept = 0;
	bool changed = false;

	NVW_FOR(i, m->need.count) {
		const struct ct_behind n = need[i];

		if (ct_files_is_durable(m, n.other_at, n.other)) {
			continue;
		}
		if (ct_files_is_durable(m, n.at, n.write)) {
			complete_growth(m, n.other_at, n.other);
			ct_medium_complete(m, n.other_at, n.other, CT_ALL_BYTES);
			changed = true;
			continue;
		}
		need[kept++] = n;
	}
	m->need.count = kept;
	return changed;
}

static void forget_cuts(struct ct_medium *m)
{
	struct ct_behind *const cut = m->cut.at;
	uint64_t kept = 0;

	NVW_EACH(one, cut, m->cut.count) {
		if (!ct_files_is_durable(m, one->at, one->write)) {
			cut[kept++] = *one;
		}
	}
	m->cut.count = kept;
}

bool ct_files_complete(struct ct_medium *m)
{
	struct ct_growth *const g = m->growth.at;
	uint64_t kept = 0;
	bool without = false;

	while (complete_needs(m)) {
	}
	forget_cuts(m);
	NVW_EACH(one, g, m->growth.count) {
		if (!ct_files_is_durable(m, one->at, one->write)) {
			g[kept++] = *one;
		} else {
			without |= !ct_files_is_written(m, one, NULL);
		}
	}
	m->growth.count = kept;
	return without;
}
