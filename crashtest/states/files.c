/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of files in crash states. See files.h. */
#include "core/disk_image.h"
#include "core/invariant.h"

#include "files.h"

const struct nvw__disk *ct_files_disk(const struct ct_medium *m)
{
	return (const struct nvw__disk *)(const void *)(m->image.rw + m->image.bytes - NVW__DISK_BYTES);
}

int ct_files_begin(struct ct_medium *m)
{
	const struct nvw__disk *const d = nvw__disk_of(m->image.rw, m->image.bytes);
	const bool is_of_files = ct_model_info(m->rules.model)->axioms & CT_A(SECTOR);

	m->metadata = UINT64_MAX;
	if (is_of_files && d == NULL) {
		return nvw_fail(NVW_E_INPUT,
			"persist log: expected the image of files that was recorded with it (LOG.image)");
	}
	if (!is_of_files) {
		return 0;
	}
	m->metadata = d->at;
	return 0;
}

static const struct ct_growth *growth_of(const struct ct_medium *m, uint64_t write)
{
	const struct ct_growth *const g = m->growth.at;
	uint64_t low = 0, high = m->growth.count;

	while (low < high) {
		const uint64_t middle = (low + high) / 2;

		if (g[middle].write < write) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < m->growth.count && g[low].write == write ? &g[low] : NULL;
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
static bool is_written(const struct ct_medium *m, const struct ct_growth *g, const unsigned *levels)
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

unsigned ct_files_level(const struct ct_medium *m, const struct ct_cell *c, const unsigned *levels)
{
	unsigned level = levels[c - m->cell];

	NVW_INVARIANT(level <= c->count);
	for (; level > 0; level--) {
		const struct ct_growth *const g = growth_of(m, c->write[level - 1]);

		if (g == NULL || is_written(m, g, levels)) {
			break;
		}
	}
	return level;
}

bool ct_files_forget(struct ct_medium *m)
{
	struct ct_growth *const g = m->growth.at;
	uint64_t kept = 0;
	bool lacks = false;

	for (uint64_t i = 0; i < m->growth.count; i++) {
		const struct ct_cell *const c = ct_medium_cell_at(m, g[i].at);

		if (c != NULL && c->count > 0 && c->write[0] <= g[i].write) {
			g[kept++] = g[i];
		} else {
			lacks |= !is_written(m, &g[i], NULL);
		}
	}
	m->growth.count = kept;
	return lacks;
}
