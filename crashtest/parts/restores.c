/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the log entries that can name a word. See restores.h. */
#include <stdlib.h>
#include <sys/param.h>

#include "pool/layout.h"
#include "restores.h"

/* ---- Entries ----------------------------------------------------------------------------------------- */

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the undo log of a check in parts");
}

static int add(struct ct_restores *r, uint32_t entry, nvw_off off, uint64_t epoch)
{
	struct ct_mention *const its = ct_mentions_add(&r->words, entry, off);

	if (!its) {
		return no_memory();
	}
	its->epoch = MAX(epoch, its->epoch);
	return 0;
}

static nvw_off entry_off(const struct ct_restores *r, uint32_t entry)
{
	return r->geometry.log + (uint64_t)entry * NVW__ENTRY_BYTES;
}

/* The epochs that are completed in the stream of an entry. */
static uint64_t completed_for(const struct ct_restores *r, uint32_t entry)
{
	return r->completed[entry / r->geometry.log_entries];
}

/* The word that an entry names is in its first two words. */
static int read_entry(struct ct_restores *r, uint32_t entry)
{
	const nvw_off off = entry_off(r, entry);
	uint64_t first, second;

	for (unsigned i = 0; ct_medium_version(r->medium, off, i, &first); i++) {
		for (unsigned k = 0; ct_medium_version(r->medium, off + 8, k, &second); k++) {
			uint64_t payload[NVW__ENTRY_WORDS] = {0};
			const uint64_t epoch = nvw__entry_epoch(first);

			if (epoch != 0 && epoch == nvw__entry_epoch(second) &&
				nvw_unseal(off, first, &payload[0]) &&
				nvw_unseal(off + 8, second, &payload[1])) {
				NVW_TRY(add(r, entry, nvw__entry_undo(payload).off, epoch));
			}
		}
	}
	return 0;
}

static int change_entry(struct ct_restores *r, uint32_t entry, const struct ct_restores_told *told)
{
	NVW_TRY(ct_mentions_forget(&r->words, entry));
	NVW_DEEP_INVARIANT(r->words.of_owner[entry] == 0);
	NVW_TRY(read_entry(r, entry));
	const nvw_off *const old = r->words.old.at;

	NVW_EACH(off, old, r->words.old.count) {
		NVW_TRY(told->named(told->context, *off));
	}
	CT_EACH_OF_OWNER(one, &r->words, entry) {
		NVW_TRY(told->named(told->context, one->key));
	}
	return 0;
}

/* ---- Streams ----------------------------------------------------------------------------------------- */

/* The last epoch that the word says to be completed. */
static uint64_t epoch_in(nvw_off off, uint64_t word)
{
	uint64_t payload;

	NVW_DEEP_INVARIANT(off % 8 == 0);
	if (nvw_unseal(off, word, &payload) && nvw__est_state(payload) == NVW__EST_COMPLETED) {
		return nvw__est_epoch(payload);
	}
	return 0;
}

/* In none of its versions does the word say less. */
static uint64_t completed_epochs(const struct ct_restores *r, uint32_t stream)
{
	const nvw_off off = nvw__est_off(&r->geometry, stream);
	uint64_t word, least = UINT64_MAX;

	for (unsigned i = 0; ct_medium_version(r->medium, off, i, &word); i++) {
		const uint64_t epoch = epoch_in(off, word);

		least = MIN(least, epoch);
	}
	return least;
}

static int change_stream(
	struct ct_restores *r, uint32_t stream, const struct ct_restores_told *told, bool *ret_fell)
{
	const uint64_t had = r->completed[stream], now = completed_epochs(r, stream);
	const uint32_t first = stream * r->geometry.log_entries;

	NVW_INVARIANT(stream < r->geometry.streams);
	*ret_fell |= now < had;
	r->completed[stream] = now;
	for (uint32_t k = first; k < first + r->geometry.log_entries && now > had; k++) {
		CT_EACH_OF_OWNER(one, &r->words, k) {
			if (one->epoch > had && one->epoch <= now) {
				NVW_TRY(told->settled(told->context, one->key));
			}
		}
	}
	return 0;
}

/* ---- All --------------------------------------------------------------------------------------------- */

static uint64_t entry_count(const struct nvw_pool_geometry *g)
{
	return (uint64_t)g->streams * g->log_entries;
}

int ct_restores_create(const struct ct_medium *m, const struct nvw_pool_geometry *g, struct ct_restores *ret)
{
	struct ct_restores r = {.medium = m, .geometry = *g};
	int error = ct_mentions_create(entry_count(g), &r.words);

	r.completed = calloc(g->streams + 1, sizeof *r.completed);
	if (!error && !r.completed) {
		error = no_memory();
	}
	for (uint64_t i = 0; i < entry_count(g) && !error; i++) {
		error = read_entry(&r, (uint32_t)i);
	}
	for (uint32_t i = 0; i < g->streams && !error; i++) {
		r.completed[i] = completed_epochs(&r, i);
	}
	*ret = r;
	if (error) {
		ct_restores_free(ret);
	}
	return error;
}

void ct_restores_free(struct ct_restores *r)
{
	ct_mentions_free(&r->words);
	free(r->completed);
	*r = (struct ct_restores){0};
}

int ct_restores_changed(
	struct ct_restores *r, nvw_off off, const struct ct_restores_told *told, bool *ret_fell)
{
	const struct nvw_pool_geometry *const g = &r->geometry;

	if (off >= g->log && off < g->log + NVW__ENTRY_BYTES * entry_count(g)) {
		return change_entry(r, (uint32_t)((off - g->log) / NVW__ENTRY_BYTES), told);
	}
	return off >= g->est && off < nvw__est_off(g, g->streams) ?
		       change_stream(r, (uint32_t)((off - g->est) / 8), told, ret_fell) :
		       0;
}

/* Streams are restored in ascending order, and within one the newest entry first: the last word has the
 * oldest entry of the last stream. */
static bool decides_before(const struct ct_restores *r, uint32_t a, uint32_t b)
{
	const uint32_t n = r->geometry.log_entries;

	return a / n != b / n ? a / n > b / n : a < b;
}

unsigned ct_restores_of(const struct ct_restores *r, nvw_off off, uint32_t *ret_entries, unsigned max)
{
	unsigned count = 0;

	CT_EACH_OF_KEY(one, &r->words, off) {
		unsigned place = MIN(count, max);

		if (one->epoch <= completed_for(r, one->owner)) {
			continue;
		}
		for (; place > 0 && decides_before(r, one->owner, ret_entries[place - 1]); place--) {
			if (place < max) {
				ret_entries[place] = ret_entries[place - 1];
			}
		}
		if (place < max) {
			ret_entries[place] = one->owner;
		}
		count++;
	}
	return count;
}

/* ---- Values ------------------------------------------------------------------------------------------ */

/* A walk through the versions of an entry's words, with the open epoch that the first word names. */
struct versions {
	const struct ct_restores *r;
	nvw_off entry, off; /* off: the word that it must name */
	uint64_t payload[NVW__ENTRY_WORDS];
	uint64_t *ret_values;
	unsigned count, max;
};

static bool has_value(const struct versions *v, uint64_t value)
{
	return NVW_ANY(one, v->ret_values, MIN(v->count, v->max), *one == value);
}

static void add_value(struct versions *v, uint64_t value)
{
	if (!has_value(v, value) && v->count++ < v->max) {
		v->ret_values[v->count - 1] = value;
	}
}

static void each_version(struct versions *v, unsigned i, uint64_t completed)
{
	uint64_t word;

	NVW_DEEP_INVARIANT(i <= NVW__ENTRY_WORDS);
	if (i == NVW__ENTRY_WORDS) {
		const struct nvw__undo undo = nvw__entry_undo(v->payload);

		if (undo.off == v->off) {
			add_value(v, undo.value);
		}
		return;
	}
	for (unsigned k = 0; ct_medium_version(v->r->medium, v->entry + 8 * i, k, &word); k++) {
		const uint64_t epoch = nvw__entry_epoch(word);

		if (epoch > completed && (i == 0 || epoch == nvw__entry_epoch(v->payload[0])) &&
			nvw_unseal(v->entry + 8 * i, word, &v->payload[i])) {
			each_version(v, i + 1, completed);
		}
	}
}

unsigned ct_restores_values(const struct ct_restores *r, nvw_off off, uint64_t *ret_values, unsigned max)
{
	struct versions v = {.r = r, .off = off, .ret_values = ret_values, .max = max};

	CT_EACH_OF_KEY(one, &r->words, off) {
		v.entry = entry_off(r, one->owner);
		each_version(&v, 0, completed_for(r, one->owner));
	}
	return v.count;
}

/* The only version of the word that may belong to an open epoch; false if there are several or none. */
static bool open_version(const struct ct_restores *r, nvw_off off, uint64_t completed, uint64_t *ret_payload)
{
	unsigned count = 0;
	uint64_t word;

	for (unsigned i = 0; ct_medium_version(r->medium, off, i, &word); i++) {
		if (nvw__entry_epoch(word) > completed) {
			count += nvw_unseal(off, word, ret_payload) ? 1 : 2;
		}
	}
	return count == 1;
}

bool ct_restores_one_value(const struct ct_restores *r, uint32_t entry, uint64_t *ret_value)
{
	const nvw_off off = entry_off(r, entry);
	uint64_t payload[NVW__ENTRY_WORDS];

	NVW_FOR(i, NVW__ENTRY_WORDS) {
		if (!open_version(r, off + 8 * i, completed_for(r, entry), &payload[i])) {
			return false;
		}
	}
	*ret_value = nvw__entry_undo(payload).value;
	return true;
}
