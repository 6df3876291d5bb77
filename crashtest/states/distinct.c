/* SPDX-License-Identifier: BSD-3-Clause */
/* States counted once. See distinct.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/random.h>

#include "core/array.h"
#include "core/order.h"

#include "distinct.h"

/* Costs that a plan does not feel: cells set for an instant's list, and for all lists; keys in the table. */
enum { STEPS_OF_INSTANT = 1 << 18, STEPS_MAX = 1 << 21, KEYS_MAX = 1 << 20 };

void ct_distinct_free(struct ct_distinct *d)
{
	free(d->keys.at);
	free(d->counted);
	*d = (struct ct_distinct){0};
}

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the count of states");
}

/* ---- A set of keys ---------------------------------------------------------------------------------- */

/* Adds one to ret_new if it is. */
static int add(struct ct_distinct *d, uint64_t key, uint64_t *ret_new)
{
	const uint64_t known = d->keys.count;
	uint64_t *row;

	NVW_TRY(ct_table_take(&d->keys, sizeof *row, nvw_mix64(key) >> 1, &row));
	*ret_new += d->keys.count - known;
	return 0;
}

/* ---- A list ----------------------------------------------------------------------------------------- */

static bool can_be_listed(const struct ct_distinct *d, const struct ct_medium *m, uint64_t numbers)
{
	const uint64_t width = m->cell_count + 4;

	return !d->unlisted && !m->rules.limits && numbers <= STEPS_OF_INSTANT / width &&
	       d->steps + numbers * width <= STEPS_MAX && d->keys.count + numbers <= KEYS_MAX;
}

static int list(struct ct_distinct *d, struct ct_medium *m, uint64_t numbers, uint64_t *ret_new)
{
	unsigned *const levels = calloc(m->cell_count + 1, sizeof *levels);
	struct ct_walk walk = {0};
	int error = levels ? 0 : no_memory();

	d->steps += numbers * (m->cell_count + 4);
	for (uint64_t i = 0; i < numbers && !error; i++) {
		if (ct_states_by_number(m, &walk, i, levels)) {
			ct_medium_apply(m, levels);
			error = add(d, ct_medium_key(m), ret_new);
			ct_medium_undo(m);
		}
	}
	ct_walk_end(&walk);
	free(levels);
	return error;
}

/* ---- Contents --------------------------------------------------------------------------------------- */

static uint64_t key_of(const struct ct_distinct *d, uint64_t key, nvw_off off, uint64_t word)
{
	return nvw_mix64((key ^ nvw_mix64(off + d->period)) + nvw_mix64(word));
}

static uint64_t key_of_level(
	const struct ct_distinct *d, const struct ct_medium *m, const struct ct_cell *c, unsigned level)
{
	uint64_t key = 0;

	NVW_DEEP_INVARIANT(level <= c->count);
	NVW_FOR(i, c->words) {
		key = key_of(d, key, c->off + 8 * i, ct_cell_word(m, c, level, c->off + 8 * i));
	}
	return key;
}

static unsigned different(uint64_t *key, unsigned count)
{
	unsigned n = 1;

	if (count > 1) {
		qsort(key, count, sizeof *key, nvw_by_u64);
	}
	for (unsigned i = 1; i < count; i++) {
		n += key[i] != key[i - 1];
	}
	return n;
}

struct contents {
	unsigned all, old; /* of a unit, now, and of those that it could have at the previous instant */
};

/* Old ones are noted first: a content that is known then, and is none of them, the unit has had before that.
 * In a chain no two may be equal. */
static int count_contents(struct ct_distinct *d, const struct ct_medium *m, const struct ct_cell *c,
	bool is_chain, struct contents *ret_contents)
{
	const unsigned all = c->count + 1, old = c->old_count + 1;
	uint64_t *const key = malloc(2 * all * sizeof *key), *const sorted = key + all;
	uint64_t known = 0, fresh = 0;
	int error = key ? 0 : no_memory();

	for (unsigned level = 0; level < all && !error; level++) {
		key[level] = key_of_level(d, m, c, level);
		error = add(d, key[level], level < old ? &known : &fresh);
	}
	if (!error) {
		memcpy(sorted, key, old * sizeof *key);
		ret_contents->old = different(sorted, old);
		memcpy(sorted, key, all * sizeof *key);
		ret_contents->all = different(sorted, all);
		d->unsure = d->unsure || fresh != ret_contents->all - ret_contents->old ||
			    (is_chain && ret_contents->all != all);
	}
	free(key);
	return error;
}

/* What a unit had when its contents were counted last, in this period. */
struct ct_counted {
	nvw_off off;
	uint64_t first, last, period; /* writes; 0: none */
	unsigned count, all;
	double log2;
};

/* Most units are as they were at the instant before: nothing was stored to them, nothing became durable.
 * Versions come last and go first, unless recovery takes some back. */
static bool is_as_before(const struct ct_counted *k, const struct ct_distinct *d, const struct ct_medium *m,
	const struct ct_cell *c)
{
	return k->period == d->period && k->off == c->off && k->count == c->count &&
	       c->count == c->old_count && c->count > 0 && k->first == c->write[0] &&
	       k->last == c->write[c->count - 1] && !m->rules.trusts;
}

static int count_again(struct ct_distinct *d, const struct ct_medium *m, const struct ct_cell *c,
	bool is_chain, struct ct_counted *k, struct contents *ret_of)
{
	NVW_TRY(count_contents(d, m, c, is_chain, ret_of));
	*k = (struct ct_counted){.off = c->off,
		.count = c->count,
		.all = ret_of->all,
		.period = d->period,
		.log2 = log2(ret_of->all)};
	if (c->count > 0) {
		k->first = c->write[0];
		k->last = c->write[c->count - 1];
	}
	return 0;
}

static int make_room(struct ct_distinct *d, unsigned cells)
{
	NVW_GROWN(d->counted, d->counted_room, cells, "no memory for the count of states");
	return 0;
}

/* Counts the states of all combinations of levels, or of a chain of them. */
static int count_combinations(struct ct_distinct *d, const struct ct_medium *m, struct ct_count *n)
{
	const bool is_chain = ct_medium_levels(m) == CT_CHAIN;
	double product[2] = {0}, sum[2] = {1, 1};
	int error = make_room(d, m->cell_count);

	for (unsigned i = 0; i < m->cell_count && !error; i++) {
		struct ct_counted *const k = &d->counted[i];
		struct contents of = {k->all, k->all};

		if (!is_as_before(k, d, m, &m->cell[i])) {
			error = count_again(d, m, &m->cell[i], is_chain, k, &of);
		}
		product[0] += k->log2;
		product[1] += of.old == k->all ? k->log2 : log2(of.old);
		sum[0] += of.all - 1;
		sum[1] += of.old - 1;
	}
	n->log2 = product[0];
	n->old_log2 = product[1];
	if (is_chain) {
		n->log2 = log2(sum[0]);
		n->old_log2 = log2(sum[1]);
	}
	return error;
}

/* ---- Writes of the host ----------------------------------------------------------------------------- */

/* No state before has this word. If the word is in flight, its versions change as well. */
static int note_word(struct ct_distinct *d, const struct ct_medium *m, nvw_off off, uint64_t word)
{
	const uint64_t had = ct_image_word(&m->image, off);
	uint64_t known = 0, fresh = 0;
	int error = 0;

	if (m->cell_of[off / m->unit_bytes] != 0) {
		d->written = true;
	} else if (word != had) {
		error = add(d, key_of(d, 0, off, had), &known);
		if (!error) {
			error = add(d, key_of(d, 0, off, word), &fresh);
		}
		d->written = true;
		if (fresh > 0) {
			d->unseen = off;
			d->unseen_word = word;
		}
	}
	return error;
}

int ct_distinct_host(struct ct_distinct *d, const struct ct_medium *m, const struct nvw_log_record *r)
{
	const nvw_off end = r->host.off + r->host.bytes;
	int error = 0;

	NVW_INVARIANT(r->kind == NVW_LOG_HOST);
	for (nvw_off off = r->host.off & ~(nvw_off)7; off < end && !error; off += 8) {
		uint64_t word = ct_image_word(&m->image, off);

		NVW_FOR(i, 8u) {
			if (off + i >= r->host.off && off + i < end) {
				((uint8_t *)&word)[i] = r->host.data[off + i - r->host.off];
			}
		}
		error = note_word(d, m, off, word);
	}
	return error;
}

/* ---- An instant ------------------------------------------------------------------------------------- */

/* Others are acknowledged: the states that were are not those that are. */
static void begin_period(struct ct_distinct *d)
{
	d->begun = true;
	d->period++;
	d->unlisted = d->unsure = false;
	if (d->keys.count > KEYS_MAX / 2) {
		ct_table_clear(&d->keys, sizeof(uint64_t));
	}
}

/* Has the host written what all states have, and none before? */
static bool is_unseen(const struct ct_distinct *d, const struct ct_medium *m)
{
	return d->unseen != 0 && m->cell_of[d->unseen / m->unit_bytes] == 0 &&
	       ct_image_word(&m->image, d->unseen) == d->unseen_word;
}

int ct_distinct_count(struct ct_distinct *d, struct ct_medium *m, struct ct_count *n)
{
	const struct ct_model_info *const model = ct_model_info(m->rules.model);
	const uint64_t numbers = n->fresh == CT_COUNT_MANY ? UINT64_MAX : ct_states_numbers(m);
	const bool may_undo = model->axioms & CT_A(TOLD);
	const bool begins = !d->begun || (m->obliged_by_ack && !may_undo), is_new = is_unseen(d, m);
	struct ct_count of_contents = *n;
	uint64_t count = 0;
	int error = 0;

	if (begins) {
		begin_period(d);
	}
	d->unsure = d->unsure || (d->written && !begins && !is_new) || model->levels == CT_GRAPH ||
		    (model->axioms & (CT_A(AT_ONCE) | CT_A(SIZE))) || m->rules.mixed ||
		    d->keys.count > KEYS_MAX;
	d->written = false;
	d->unseen = 0;
	if (can_be_listed(d, m, numbers)) {
		error = list(d, m, numbers, &count);
	} else {
		d->unlisted = true;
	}
	if (!d->unsure && !error) {
		error = count_combinations(d, m, &of_contents);
	}
	if (!d->unlisted) {
		n->log2 = log2((double)count);
		n->old_log2 = -1;
	} else if (!d->unsure) {
		n->log2 = of_contents.log2;
		n->old_log2 = begins || is_new ? -1 : of_contents.old_log2;
	} else {
		n->exact = false;
	}
	return error;
}
