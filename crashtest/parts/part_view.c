/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool that a part sees. See part_view.h. */
#include <stdlib.h>
#include <string.h>

#include <nvw/random.h>

#include "core/zeroed.h"

#include "part_view.h"
#include "pool/layout.h"

enum { RESTORES_MAX = 32, KEY_THINGS_LEAST = 1 << 12 };

/* ---- Words before recovery --------------------------------------------------------------------------- */

static uint64_t word_count(const struct ct_part_view *p)
{
	return p->bytes / 8;
}

/* Things to look at: words, all acknowledgements, keys by their hash, operations. */
static uint64_t thing_of_key(const struct ct_part_view *p, uint64_t key)
{
	NVW_DEEP_INVARIANT(p->key_things > 0);
	return word_count(p) + 1 + (nvw_mix64(key) & (p->key_things - 1));
}

static uint64_t thing_of_op(const struct ct_part_view *p, uint64_t op)
{
	return word_count(p) + 1 + p->key_things + op;
}

static void look(struct ct_part_view *p, uint64_t thing)
{
	if (!p->levels && !p->unwatched && ct_watch_look(&p->watch, thing) != 0) {
		p->error = NVW_E_MEMORY;
	}
}

static uint64_t level_word(const struct ct_medium *m, const unsigned *levels, nvw_off off)
{
	const struct ct_cell *const c = ct_medium_cell_at(m, off);

	NVW_DEEP_INVARIANT(off % 8 == 0);
	if (c) {
		return ct_cell_word(m, c, levels[c - m->cell], off);
	}
	return ct_image_word(&m->image, off);
}

static uint64_t raw_word(struct ct_part_view *p, nvw_off off)
{
	look(p, off / 8);
	if (p->levels) {
		return level_word(p->medium, p->levels, off);
	}
	return ct_choices_word(&p->choices, off);
}

static void fetch(struct ct_part_view *p, struct ct_made *made, nvw_off off, uint64_t n,
	uint64_t (*word)(struct ct_part_view *p, nvw_off off))
{
	for (uint64_t i = off / 8; i < (off + n + 7) / 8 && i < word_count(p); i++) {
		if (made->made_in[i] != p->evaluation) {
			made->words[i] = word(p, 8 * i);
			made->made_in[i] = p->evaluation;
		}
	}
}

void ct_part_view_fetch_before(void *context, nvw_off off, uint64_t n)
{
	struct ct_part_view *const p = context;

	fetch(p, &p->before, off, n, raw_word);
}

static uint64_t ask_before(void *context, nvw_off off, ct_of of, const void *from)
{
	struct ct_part_view *const p = context;

	look(p, off / 8);
	if (p->levels || p->before.made_in[off / 8] == p->evaluation) {
		return of(from, nvw_pool_word(p->before.pool, off));
	}
	return ct_choices_ask(&p->choices, off, of, from);
}

static uint64_t completed(void *context, uint32_t stream)
{
	const struct ct_part_view *const p = context;

	return p->restores.completed[stream];
}

/* ---- Words after recovery ----------------------------------------------------------------------------- */

static bool in(nvw_off off, nvw_off begin, uint64_t bytes)
{
	return off >= begin && off - begin < bytes;
}

/* The part's answer would not be known. */
static uint64_t cannot_tell(struct ct_part_view *p, nvw_off off)
{
	p->is_wide = true;
	return raw_word(p, off);
}

/* The word has this content in all states. */
static bool is_always(const struct ct_part_view *p, nvw_off off, uint64_t value)
{
	bool same = true;
	uint64_t word;

	for (unsigned v = 0; same && ct_medium_version(p->medium, off, v, &word); v++) {
		same = word == value;
	}
	return same;
}

/* While an entry is on its way, the word that it protects has not changed yet: restored or not, it is the
 * same. */
static bool is_no_matter(const struct ct_part_view *p, nvw_off off, const uint32_t *entries, unsigned count)
{
	uint64_t value;

	NVW_EACH(entry, entries, count) {
		if (!ct_restores_one_value(&p->restores, *entry, &value) || !is_always(p, off, value)) {
			return false;
		}
	}
	return true;
}

/* The word with the old value that the undo log restores. A block word is not restored: no program logs
 * it. */
static uint64_t restored_word(
	struct ct_part_view *p, nvw_off off, bool is_block, const uint32_t *entries, unsigned count)
{
	const uint32_t n = p->geometry.log_entries;
	uint64_t value;

	NVW_EACH(entry, entries, count) {
		if (rec_through_restores(&p->through, *entry / n, *entry % n, off, &value)) {
			return is_block ? cannot_tell(p, off) : value;
		}
	}
	return raw_word(p, off);
}

static uint64_t recovered_word(struct ct_part_view *p, nvw_off off)
{
	const struct nvw_pool_geometry *const g = &p->geometry;
	uint32_t entries[RESTORES_MAX];
	uint64_t word;

	NVW_INVARIANT(off % 8 == 0);
	if (in(off, g->est, 8 * (uint64_t)g->streams)) {
		return cannot_tell(p, off);
	}
	if (!in(off, g->roots, 8 * (uint64_t)NVW_POOL_ROOTS) &&
		!in(off, g->chunks, nvw__chunk_off(g, g->chunk_count) - g->chunks)) {
		return raw_word(p, off);
	}
	look(p, off / 8);
	const unsigned count = ct_restores_of(&p->restores, off, entries, RESTORES_MAX);
	const bool is_block = rec_through_is_block_word(&p->through, off);

	if (count > RESTORES_MAX) {
		return cannot_tell(p, off);
	}
	if (!is_block && !p->levels && is_no_matter(p, off, entries, count)) {
		return raw_word(p, off);
	}
	word = restored_word(p, off, is_block, entries, count);
	if (is_block && rec_through_block(&p->through, off, &word) != 0) {
		word = raw_word(p, off); /* recovery refuses the pool: the part of this block word says so */
	}
	return word;
}

static void fetch_after(void *context, nvw_off off, uint64_t n)
{
	struct ct_part_view *const p = context;

	fetch(p, &p->after, off, n, recovered_word);
}

/* A word that recovery may change is looked at as a whole. */
static uint64_t ask_after(void *context, nvw_off off, ct_of of, const void *from)
{
	struct ct_part_view *const p = context;
	uint32_t entry;

	look(p, off / 8);
	if (p->levels || !in(off, p->geometry.chunks, p->bytes) ||
		p->after.made_in[off / 8] == p->evaluation ||
		ct_restores_of(&p->restores, off, &entry, 1) > 0 ||
		rec_through_is_block_word(&p->through, off)) {
		return of(from, nvw_pool_word(p->after.pool, off));
	}
	return ct_choices_ask(&p->choices, off, of, from);
}

static unsigned holders_after(void *context, uint64_t key, nvw_off *ret_offs, unsigned max)
{
	struct ct_part_view *const p = context;

	if (!p->holders.key) {
		p->is_wide = true;
		return 0;
	}
	if (ct_holders_start(&p->holders)) {
		p->error = NVW_E_MEMORY;
		return 0;
	}
	look(p, thing_of_key(p, key));
	const unsigned count = ct_holders_of(&p->holders, key, ret_offs, max);

	p->is_wide |= count > max;
	return count;
}

static bool asked(void *context, uint64_t op, bool acked)
{
	struct ct_part_view *const p = context;

	if (op == NVW__ACKS_ALL) {
		look(p, word_count(p));
		p->is_wide |= p->medium->told.count > 0; /* any number of them */
		return acked;
	}
	look(p, thing_of_op(p, op));
	return acked && (p->levels || ct_choices_acked(&p->choices, op));
}

/* ---- Evaluations -------------------------------------------------------------------------------------- */

/* What was not asked for: noise, or nothing. */
static void make_noise(struct ct_part_view *p)
{
	for (uint64_t i = p->is_plain ? 0 : NVW__ROOTS_OFF / 8; p->seed != 0 && i < word_count(p); i++) {
		p->before.words[i] = nvw_mix64(p->seed + i);
		if (!p->is_plain) {
			p->after.words[i] = nvw_mix64(p->seed - i);
		}
	}
	p->seed += p->seed != 0;
}

static void forget_words(const struct ct_part_view *p, struct ct_made *made)
{
	memset(made->made_in, 0, p->bytes / 2);
}

/* No word is made yet. */
static void next_evaluation(struct ct_part_view *p)
{
	if (++p->evaluation > 0) {
		return;
	}
	forget_words(p, &p->before);
	if (!p->is_plain) {
		forget_words(p, &p->after);
	}
	p->evaluation = 1;
}

void ct_part_view_begin(struct ct_part_view *p)
{
	p->is_wide = false;
	next_evaluation(p);
	/* The medium's acknowledgements grow in other memory from time to time. */
	p->acks = p->medium->acks;
	p->acks.asked = asked;
	p->acks.asker = p;
	make_noise(p);
}

/* ---- Changes ------------------------------------------------------------------------------------------ */

static int wake_all(struct ct_part_view *p)
{
	NVW_FOR(i, p->watch.parts) {
		NVW_TRY(ct_watch_wake_part(&p->watch, (uint32_t)i));
	}
	return 0;
}

/* What was looked for by its key may be where it is not known. */
static int held(void *context, uint64_t key)
{
	struct ct_part_view *const p = context;

	if (key == CT_HOLDERS_UNKNOWN) {
		return wake_all(p);
	}
	return ct_watch_wake(&p->watch, thing_of_key(p, key));
}

static int settled(void *context, nvw_off off)
{
	struct ct_part_view *const p = context;

	return off < p->bytes ? ct_holders_changed(&p->holders, off, held, p) : 0;
}

static int named(void *context, nvw_off off)
{
	struct ct_part_view *const p = context;

	if (off >= p->bytes) {
		return 0;
	}
	NVW_TRY(ct_watch_wake(&p->watch, off / 8));
	return settled(p, off);
}

static int take_words(struct ct_part_view *p)
{
	const nvw_off *const word = p->medium->changed_words.at;
	const struct ct_restores_told told = {named, settled, p};
	bool fell = false;

	NVW_EACH(one, word, p->medium->changed_words.count) {
		NVW_TRY(ct_watch_wake(&p->watch, *one / 8));
		if (!p->is_plain) {
			NVW_TRY(ct_holders_changed(&p->holders, *one, held, p));
			NVW_TRY(ct_restores_changed(&p->restores, *one, &told, &fell));
		}
	}
	p->medium->changed_words.count = 0;
	if (!fell) {
		return 0;
	}
	NVW_TRY(ct_holders_restart(&p->holders));
	return wake_all(p);
}

static int take_acks(struct ct_part_view *p)
{
	const struct ct_told *const told = p->medium->changed_acks.at;

	NVW_EACH(one, told, p->medium->changed_acks.count) {
		NVW_TRY(ct_watch_wake(&p->watch, word_count(p)));
		for (uint64_t op = one->first; op < one->first + one->count; op++) {
			NVW_TRY(ct_watch_wake(&p->watch, thing_of_op(p, op)));
		}
	}
	p->medium->changed_acks.count = 0;
	return 0;
}

int ct_part_view_changed(struct ct_part_view *p)
{
	NVW_TRY(take_words(p));
	NVW_TRY(take_acks(p));
	return ct_choices_changed(&p->choices, p->medium);
}

/* ---- A life ------------------------------------------------------------------------------------------- */

static int make_pages(const struct ct_part_view *p, struct ct_made *made)
{
	made->words = nvw__zeroed(p->bytes);
	made->made_in = nvw__zeroed(p->bytes / 2);
	NVW_FAIL_IF(!made->words || !made->made_in, NVW_E_MEMORY, "no memory for a check in parts");
	return 0;
}

static int make(struct ct_part_view *p, struct ct_made *made, const struct nvw_pool_image *handle)
{
	struct nvw_pool_image image = *handle;

	NVW_TRY(make_pages(p, made));
	image.image = made->words;
	image.bytes = p->bytes;
	image.context = p;
	memcpy(made->words, p->medium->image.rw, NVW__ROOTS_OFF); /* the headers, which no run changes */
	return nvw_pool_open_image(&image, &made->pool);
}

static void unmake(struct ct_part_view *p, struct ct_made *made)
{
	nvw_pool_close(made->pool);
	nvw__zeroed_free(made->words, p->bytes);
	nvw__zeroed_free(made->made_in, p->bytes / 2);
}

void ct_part_view_free(struct ct_part_view *p)
{
	p->medium->notes_changes = false;
	unmake(p, &p->before);
	unmake(p, &p->after);
	ct_choices_free(&p->choices);
	ct_restores_free(&p->restores);
	ct_holders_free(&p->holders);
	ct_watch_free(&p->watch);
}

/* Opening reads the headers alone. */
static int make_both(struct ct_part_view *p)
{
	const struct nvw_pool_image before = {.fetch = ct_part_view_fetch_before, .ask = ask_before},
				    after = {.fetch = fetch_after,
					    .ask = ask_after,
					    .holders = holders_after,
					    .recovered = true};
	unsigned *const none = calloc(p->medium->cell_count + 1, sizeof *none);

	NVW_ALLOCATED(none, "no memory for a check in parts");
	p->levels = none;
	p->evaluation = 1;
	int error = make(p, &p->before, &before);

	if (!error) {
		p->geometry = *nvw_pool_geometry(p->before.pool);
		error = make(p, &p->after, &after);
	}
	p->levels = NULL;
	free(none);
	return error;
}

int ct_part_view_create(struct ct_medium *m, uint64_t (*key)(const void *plan, uint64_t word),
	const void *plan, struct ct_part_view *p)
{
	*p = (struct ct_part_view){.medium = m, .bytes = m->image.bytes, .key_things = KEY_THINGS_LEAST};
	while (p->key_things < word_count(p) / 4) {
		p->key_things *= 2;
	}
	p->holders = (struct ct_holders){.medium = m, .restores = &p->restores, .key = key, .plan = plan};
	m->notes_changes = true;
	m->changed_words.count = m->changed_acks.count = 0;
	const int error = make_both(p);

	p->through = (struct rec_through){p->before.pool, completed, p};
	NVW_TRY(error);
	return ct_restores_create(m, &p->geometry, &p->restores);
}

int ct_part_view_create_plain(struct ct_medium *m, struct ct_part_view *p)
{
	*p = (struct ct_part_view){
		.medium = m, .bytes = m->image.bytes, .key_things = 1, .evaluation = 1, .is_plain = true};
	m->notes_changes = true;
	m->changed_words.count = m->changed_acks.count = 0;
	return make_pages(p, &p->before);
}

int ct_part_view_watch(struct ct_part_view *p, uint64_t parts)
{
	return ct_watch_create(parts, word_count(p) + 1 + p->key_things, &p->watch);
}
