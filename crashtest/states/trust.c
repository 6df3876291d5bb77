/* SPDX-License-Identifier: BSD-3-Clause */
/* Versions that recovery takes back. See trust.h. */
#include <stdlib.h>
#include <string.h>

#include "trust.h"

/* A range of a transaction, in the order of the adds. */
struct range {
	nvw_off off, end;
	uint64_t thread;
	uint64_t first, last; /* the entry's stores are those after first, up to last */
	bool is_open;         /* its call has not returned */
	bool is_logged;
	bool holds;
	bool settles; /* with the thread's next fence */
};

/* A cell as it is between instants. */
struct whole {
	unsigned cell;
	struct ct_cell was; /* owns its writes and their content, and the cell others */
};

static bool is_on(const struct ct_medium *m)
{
	return m->rules.trusts && !m->rules.limits && ct_model_info(m->rules.model)->use == CT_USE_PROGRAMS &&
	       !m->rules.mixed;
}

static struct range *ranges_of(const struct ct_medium *m)
{
	return m->trust.ranges.at;
}

static struct range *range_at(const struct ct_medium *m, uint64_t i)
{
	NVW_DEEP_INVARIANT(i < m->trust.ranges.count);
	return ranges_of(m) + i;
}

/* ---- Ranges ------------------------------------------------------------------------------------------- */

static int add_range(struct ct_medium *m, const struct range *r)
{
	return CT_ADD(&m->trust.ranges, r);
}

static bool is_any(const struct range *r, uint64_t thread)
{
	return true;
}

/* One whose call never returned. */
static bool is_open_of(const struct range *r, uint64_t thread)
{
	return r->thread == thread && r->is_open;
}

static bool is_settled_of(const struct range *r, uint64_t thread)
{
	return r->thread == thread && r->settles;
}

/* True: there were some. */
static bool forget(
	struct ct_medium *m, bool (*which)(const struct range *r, uint64_t thread), uint64_t thread)
{
	const uint64_t before = m->trust.ranges.count;
	uint64_t kept = 0;

	NVW_FOR(i, before) {
		if (which(range_at(m, i), thread)) {
			continue;
		}
		*range_at(m, kept++) = *range_at(m, i);
	}
	m->trust.ranges.count = kept;
	return kept < before;
}

/* Versions may be uncertain again: that is news for an instant. */
static bool has_hidden(const struct ct_cell *c)
{
	return NVW_ANY(made, c->made, c->count, made->hidden);
}

static void forget_held(
	struct ct_medium *m, bool (*which)(const struct range *r, uint64_t thread), uint64_t thread)
{
	const bool some = forget(m, which, thread);

	for (unsigned i = 0; some && i < m->cell_count && !m->changed; i++) {
		m->changed = has_hidden(&m->cell[i]);
	}
}

/* The call has returned. If it has stored nothing, its bytes had been added before, or there is no entry. */
static void end_range(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_DEEP_INVARIANT(r->kind == NVW_LOG_RANGE);
	NVW_EACH(its, ranges_of(m), m->trust.ranges.count) {
		if (is_open_of(its, r->range.thread) && its->first != m->stores) {
			its->off = r->range.off;
			its->end = r->range.off + r->range.bytes;
			its->last = m->stores;
			its->is_open = false;
			m->trust.counts.ranges++;
		}
	}
	forget(m, is_open_of, r->range.thread);
}

static int on_range(struct ct_medium *m, const struct nvw_log_record *r)
{
	struct range new = {.thread = r->range.thread, .first = m->stores};

	NVW_DEEP_INVARIANT(r->kind == NVW_LOG_RANGE);
	switch (r->range.what) {
	case NVW_RANGE_ADDING:
		forget(m, is_open_of, new.thread);
		new.is_open = new.is_logged = true;
		return add_range(m, &new);
	case NVW_RANGE_ADDED:
		end_range(m, r);
		return 0;
	case NVW_RANGE_UNLOGGED:
		new.off = r->range.off;
		new.end = new.off + r->range.bytes;
		return add_range(m, &new);
	case NVW_RANGE_SETTLES:
		NVW_EACH(its, ranges_of(m), m->trust.ranges.count) {
			its->settles |= its->thread == new.thread;
		}
		return 0;
	default:
		forget_held(m, is_any, 0);
		return 0;
	}
}

int ct_trust_apply(struct ct_medium *m, const struct nvw_log_record *r)
{
	if (!is_on(m)) {
		return 0;
	}
	if (r->kind == NVW_LOG_RANGE) {
		return on_range(m, r);
	}
	if (r->kind == NVW_LOG_FENCE) {
		forget_held(m, is_settled_of, r->fence.thread);
	}
	return 0;
}

/* ---- What holds ---------------------------------------------------------------------------------------- */

static bool is_durable(const struct ct_medium *m, const struct range *r)
{
	NVW_EACH(c, m->cell, m->cell_count) {
		NVW_EACH(write, c->write, c->count) {
			if (*write > r->first && *write <= r->last) {
				return false;
			}
		}
	}
	return true;
}

/* Entries before it in its log are whole. */
static bool follows_whole_ones(const struct ct_medium *m, const struct range *entry)
{
	return !NVW_ANY(r, ranges_of(m), entry - ranges_of(m),
		r->thread == entry->thread && r->is_logged && !r->holds);
}

static void find_what_holds(struct ct_medium *m)
{
	NVW_EACH(r, ranges_of(m), m->trust.ranges.count) {
		r->holds = r->holds ||
			   (r->is_logged && !r->is_open && follows_whole_ones(m, r) && is_durable(m, r));
	}
}

/* Does a range that holds take back what this write has stored to the byte? */
static bool is_restored(const struct ct_medium *m, nvw_off off, uint64_t write)
{
	NVW_EACH(r, ranges_of(m), m->trust.ranges.count) {
		if (!r->is_open && off >= r->off && off < r->end) {
			return r->holds && write > r->last;
		}
	}
	return false;
}

/* The bytes that the version changes, if all of them are restored; else 0. */
static unsigned restored_bytes(const struct ct_medium *m, const struct ct_cell *c, unsigned version)
{
	unsigned bytes = 0;

	NVW_DEEP_INVARIANT(version < c->count);
	NVW_FOR(i, c->words) {
		const nvw_off off = c->off + 8 * i;
		const uint64_t changed =
			ct_cell_word(m, c, version, off) ^ ct_cell_word(m, c, version + 1, off);

		NVW_FOR(k, 8u) {
			if ((changed >> 8 * k & 0xff) == 0) {
				continue;
			}
			if (!is_restored(m, off + k, c->write[version])) {
				return 0;
			}
			bytes++;
		}
	}
	return bytes;
}

/* ---- Cells at an instant ------------------------------------------------------------------------------- */

static void *copy(const void *from, size_t bytes)
{
	void *const to = malloc(bytes);

	if (to) {
		memcpy(to, from, bytes);
	}
	return to;
}

/* How the cell is to be again. */
static int keep_whole(struct ct_medium *m, unsigned cell)
{
	struct ct_cell *const c = &m->cell[cell];
	const struct whole w = {.cell = cell, .was = *c};

	NVW_DEEP_INVARIANT(cell < m->cell_count);
	NVW_TRY(CT_ADD(&m->trust.whole, &w));
	c->write = copy(c->write, c->count * sizeof *c->write);
	c->content = copy(c->content, (size_t)c->count * c->words * sizeof *c->content);
	NVW_FAIL_IF(!c->write || !c->content, NVW_E_MEMORY, "no memory for stores that are taken back");
	return 0;
}

/* Leaves the versions that are not hidden. Of these, the first ones that the previous instant had as well are
 * old. */
static void take_out(struct ct_cell *c, const struct ct_cell *was)
{
	bool is_old = true;

	c->count = c->old_count = 0;
	NVW_FOR(v, was->count) {
		if (was->made[v].hidden) {
			continue;
		}
		is_old &= v < was->old_count && !c->made[v].was_hidden;
		c->write[c->count] = was->write[v];
		memcpy(c->content + (size_t)c->count * c->words, was->content + (size_t)v * c->words,
			c->words * sizeof *c->content);
		c->count++;
		c->old_count += is_old;
	}
}

/* Finds which versions are hidden now. False: none is, nor was. */
static bool look_at(struct ct_medium *m, struct ct_cell *c)
{
	bool changes = false, any = false;

	NVW_FOR(v, c->count) {
		struct ct_version *const its = &c->made[v];
		const unsigned bytes = restored_bytes(m, c, v);

		its->was_hidden = its->hidden;
		its->hidden = bytes > 0;
		changes |= its->hidden != its->was_hidden;
		any |= its->hidden || its->was_hidden;
		if (its->hidden && !its->was_hidden) {
			m->trust.counts.stores++;
			m->trust.counts.bytes += bytes;
		}
	}
	for (unsigned i = 0; i < c->words && changes; i++) {
		ct_medium_note_word(m, c->off + 8 * i);
	}
	return any;
}

int ct_trust_hide(struct ct_medium *m)
{
	if (!is_on(m)) {
		return 0;
	}
	NVW_INVARIANT(m->trust.whole.count == 0);
	find_what_holds(m);
	NVW_FOR(i, m->cell_count) {
		struct ct_cell *const c = &m->cell[i];

		if (look_at(m, c)) {
			NVW_TRY(keep_whole(m, i));
			const struct whole *const w = m->trust.whole.at;

			take_out(c, &w[m->trust.whole.count - 1].was);
		}
	}
	return 0;
}

void ct_trust_show(struct ct_medium *m)
{
	struct whole *const w = m->trust.whole.at;

	NVW_FOR(i, m->trust.whole.count) {
		struct ct_cell *const c = &m->cell[w[i].cell];

		NVW_INVARIANT(c->count <= w[i].was.count);
		free(c->write);
		free(c->content);
		*c = w[i].was;
	}
	m->trust.whole.count = 0;
}

void ct_trust_free(struct ct_medium *m)
{
	struct whole *const w = m->trust.whole.at;

	NVW_EACH(one, w, m->trust.whole.count) {
		free(one->was.write);
		free(one->was.content);
	}
	free(w);
	free(m->trust.ranges.at);
}
