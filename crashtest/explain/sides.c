/* SPDX-License-Identifier: BSD-3-Clause */
/* The stores that a finding names: those that are durable and those that are lost. See sides.h. */

#include "need_search.h"
#include "sides.h"

/* One store a source place is enough. */
static void add(struct ct_side *side, const struct ct_store *store)
{
	NVW_EACH(one, side->store, side->count) {
		if (one->site == store->site) {
			return;
		}
	}
	if (side->count < CT_SIDE_MAX && store->number > 0) {
		side->store[side->count++] = *store;
	}
}

/* The store to a word whose value is in content, if one of the last two is it. */
static void add_matching(struct ct_side *side, const struct ct_word *w, const uint64_t *content)
{
	const uint8_t *image = (const uint8_t *)content - w->off;

	if (w->before.number > 0 && !ct_store_is_durable(&w->last, image) &&
		ct_store_is_durable(&w->before, image)) {
		add(side, &w->before);
	} else {
		add(side, &w->last);
	}
}

/* Under x86 a cell is a line: whether one of its versions after so many, up to a level, stored to a word. */
static bool stores_to(
	const struct ct_scene *scene, const struct ct_cell *c, unsigned after, unsigned level, unsigned word)
{
	uint64_t before = ct_image_word(&scene->medium->image, c->off + 8 * word);

	NVW_FOR(v, level) {
		const uint64_t now = c->content[(size_t)v * c->words + word];

		if (v >= after && now != before) {
			return true;
		}
		before = now;
	}
	return !(ct_model_info(scene->medium->rules.model)->axioms & CT_A(LINE));
}

/* Stores of the versions after so many, up to a level. */
static void add_cell(const struct ct_scene *scene, const struct ct_cell *c, unsigned after, unsigned level,
	struct ct_side *side)
{
	NVW_FOR(i, c->words) {
		const struct ct_word *w = ct_stores_at(scene->stores, c->off + 8 * i);

		if (w && level > 0 && stores_to(scene, c, after, level, i)) {
			add_matching(side, w, &c->content[(size_t)(level - 1) * c->words + i]);
		}
	}
}

static void add_in_flight(const struct ct_scene *scene, struct ct_side *lost)
{
	NVW_FOR(i, scene->medium->cell_count) {
		const struct ct_cell *c = &scene->medium->cell[i];
		const unsigned v = NVW_INDEX(k, c->count, !ct_cell_has(c, scene->levels[i], k));

		if (v < c->count &&
			(scene->finding->minimised || scene->finding->signal || scene->finding->hung)) {
			add_cell(scene, c, v, ct_cell_with(c, scene->levels[i], v), lost);
		}
	}
}

/* Durable stores that lead to the place of the violation: their value is its offset, below 16 bits that a
 * structure may use for itself. */
static void add_pointers(const struct ct_scene *scene, struct ct_side *durable)
{
	const uint64_t mask = UINT64_C(0xfffffffffff8), off = scene->finding->off & mask;

	CT_EACH_STORED(word, scene->stores) {
		const struct ct_store *const store = &word->last;

		if (off != 0 && (store->value & mask) == off && store->bytes == 8 &&
			ct_store_is_durable(store, scene->medium->image.rw)) {
			add(durable, store);
		}
	}
}

/* Durable stores around the violation: its word first, then its line. */
static void add_around(const struct ct_scene *scene, struct ct_side *durable)
{
	const nvw_off off = scene->finding->off & ~(nvw_off)7, line = scene->finding->off & ~(nvw_off)63;

	NVW_FOR(i, 9u) {
		const nvw_off at = i ? line + 8 * (i - 1) : off;
		const struct ct_word *w =
			at < scene->medium->image.bytes ? ct_stores_at(scene->stores, at) : NULL;

		if (w && ct_store_is_durable(&w->last, scene->medium->image.rw)) {
			add(durable, &w->last);
		} else if (w && w->before.number &&
			   ct_store_is_durable(&w->before, scene->medium->image.rw)) {
			add(durable, &w->before);
		}
	}
}

static bool in_line(const struct ct_store *store, nvw_off off)
{
	return off != 0 && (store->off ^ off) < NVW_LOG_LINE_BYTES;
}

/* Adds lost stores in the finding's line, else those closest to a durable one: by item, group or kernel. */
static void add_not_persisted(
	const struct ct_scene *scene, const struct ct_side *durable, struct ct_side *lost)
{
	NVW_INVARIANT(lost->count == 0);
	for (unsigned wanted = 4; wanted > 0 && lost->count == 0; wanted--) {
		CT_EACH_STORED(word, scene->stores) {
			const struct ct_store *store = &word->last;

			if (ct_store_is_durable(store, scene->medium->image.rw)) {
				continue;
			}
			if (wanted == 4) {
				if (in_line(store, scene->finding->off)) {
					add(lost, store);
				}
				continue;
			}
			NVW_EACH(one, durable->store, durable->count) {
				if (need_related(store, one) >= wanted) {
					add(lost, store);
				}
			}
			if (durable->count == 0 && wanted == 1) {
				add(lost, store);
			}
		}
	}
}

/* Guesses the durable store that most likely relies on the lost one: made after it, closely related, late. */
static struct ct_need guess_need(const struct ct_side *durable, const struct ct_side *lost)
{
	struct ct_need need = {.form = CT_NEED_UNKNOWN, .guessed = true};
	uint64_t best = 0;

	for (unsigned i = 0; i < durable->count && lost->count > 0; i++) {
		const struct ct_store *const store = &durable->store[i];
		const uint64_t score = ((uint64_t)(store->number > lost->store[0].number) << 62) +
				       ((uint64_t)need_related(store, &lost->store[0]) << 56) + store->number;

		if (score > best) {
			best = score;
			need.early = (struct ct_event){.kind = NVW_LOG_STORE, .store = *store};
			need.lost = (struct ct_event){.kind = NVW_LOG_STORE, .store = lost->store[0]};
			need.form = store->number > lost->store[0].number ? CT_NEED_ORDER : CT_NEED_APART;
		}
	}
	return need;
}

/* Everything is durable: the crash came right behind this store. */
static void add_newest(const struct ct_scene *scene, struct ct_side *durable)
{
	const struct ct_store *newest = NULL;

	CT_EACH_STORED(word, scene->stores) {
		if (!newest || word->last.number > newest->number) {
			newest = &word->last;
		}
	}

	if (newest) {
		add(durable, newest);
	}
}

struct ct_need ct_sides_guess(const struct ct_scene *scene, struct ct_sides *sides)
{
	add_in_flight(scene, &sides->lost);
	if ((ct_model_info(scene->medium->rules.model)->axioms & CT_A(AT_ONCE))) {
		add_newest(scene, &sides->durable);
	}
	add_pointers(scene, &sides->durable);
	add_around(scene, &sides->durable);
	if (sides->lost.count == 0) {
		add_not_persisted(scene, &sides->durable, &sides->lost);
	}
	return guess_need(&sides->durable, &sides->lost);
}

void ct_sides_take(const struct ct_scene *scene, const struct ct_need *n, struct ct_sides *sides)
{
	if (n->early.kind == NVW_LOG_STORE) {
		add(&sides->durable, &n->early.store);
	}
	if (n->form != CT_NEED_LOGIC && n->lost.kind == NVW_LOG_STORE) {
		add(&sides->lost, &n->lost.store);
	}
	NVW_EACH(loss, n->losses.loss, n->losses.count) {
		for (nvw_off off = loss->off; off < loss->off + n->losses.unit_bytes; off += 8) {
			const struct ct_word *const w = ct_stores_at(scene->stores, off);

			if (w && w->last.number >= loss->from) {
				add(&sides->lost, w->before.number >= loss->from ? &w->before : &w->last);
			}
		}
	}
}
