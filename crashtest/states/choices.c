/* SPDX-License-Identifier: BSD-3-Clause */
/* All combinations of the words that are looked at. See choices.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "core/bits.h"

#include "choices.h"
#include "states.h"

/* The branch taken, and the number of branches. */
struct ct_fork {
	uint32_t at, of;
};

struct ct_narrowed {
	uint64_t evaluation; /* in which it was narrowed */
	uint64_t levels[CT_CHOICE_LEVELS / 64];
};

/* The levels of a fork, divided. */
struct division {
	unsigned count; /* of levels: those of the cell and one */
	uint8_t branch[CT_CHOICE_LEVELS];
	bool open[CT_CHOICE_LEVELS]; /* the level is possible */
	uint64_t what[CT_CHOICE_LEVELS];
	unsigned branches;
};

void ct_choices_free(struct ct_choices *c)
{
	free(c->fork.at);
	free(c->cell.at);
	free(c->met.at);
	ct_closed_free(&c->closed);
	*c = (struct ct_choices){0};
}

static bool is_chain(const struct ct_choices *c)
{
	return ct_medium_levels(c->medium) == CT_CHAIN;
}

static bool is_graph(const struct ct_choices *c)
{
	return ct_model_info(c->medium->rules.model)->levels == CT_GRAPH;
}

static void begin_evaluation(struct ct_choices *c)
{
	c->depth = 0;
	c->met.count = 0;
	c->evaluation++;
	c->least = 0;
	c->beyond = UINT64_MAX;
	if (is_graph(c)) {
		ct_closed_begin(&c->closed, c->medium);
		c->too_many |= c->closed.has_failed || c->closed.before.too_many;
	}
}

int ct_choices_changed(struct ct_choices *c, const struct ct_medium *m)
{
	c->medium = m;
	return is_graph(c) ? ct_before_update(&c->closed.before, m) : 0;
}

void ct_choices_begin(struct ct_choices *c, const struct ct_medium *m)
{
	c->medium = m;
	c->fork.count = 0;
	c->too_many = ct_array_grow(&c->cell, m->cell_count + 1, sizeof(struct ct_narrowed)) != 0;

	begin_evaluation(c);
}

bool ct_choices_next(struct ct_choices *c)
{
	struct ct_fork *const fork = c->fork.at;

	while (c->fork.count > 0 && fork[c->fork.count - 1].at + 1 == fork[c->fork.count - 1].of) {
		c->fork.count--;
	}
	if (c->fork.count == 0) {
		return false;
	}
	fork[c->fork.count - 1].at++;
	begin_evaluation(c);
	return true;
}

unsigned ct_choices_forks(const struct ct_choices *c)
{
	return c->depth;
}

/* ---- One word ---------------------------------------------------------------------------------------- */

static struct ct_narrowed *narrowed(const struct ct_choices *c, const struct ct_cell *cell)
{
	return (struct ct_narrowed *)c->cell.at + (cell - c->medium->cell);
}

/* Strict persistency: the numbers of stores with which the cell has this level. */
static uint64_t first_of(const struct ct_cell *cell, unsigned level)
{
	NVW_DEEP_INVARIANT(level <= cell->count);
	return level == 0 ? 0 : cell->write[level - 1];
}

static uint64_t beyond_of(const struct ct_cell *cell, unsigned level)
{
	NVW_DEEP_INVARIANT(level <= cell->count);
	return level == cell->count ? UINT64_MAX : cell->write[level];
}

static bool is_open(const struct ct_choices *c, const struct ct_cell *cell, unsigned level)
{
	const struct ct_narrowed *const n = narrowed(c, cell);
	const uint64_t first = first_of(cell, level), beyond = beyond_of(cell, level);

	NVW_DEEP_INVARIANT(level <= cell->count);
	if (n->evaluation == c->evaluation && !nvw_has_bit(n->levels, level)) {
		return false;
	}
	return !is_chain(c) || MAX(first, c->least) < MIN(beyond, c->beyond);
}

/* What is wanted of a word: what a function makes of it; all of it, if of is NULL. */
struct question {
	const struct ct_cell *cell;
	nvw_off off;
	ct_of of;
	const void *from;
};

static uint64_t made_of(const struct question *q, uint64_t word)
{
	return !q->of ? word : q->of(q->from, word);
}

static uint64_t answer(const struct ct_choices *c, const struct question *q, unsigned level)
{
	return made_of(q, ct_cell_word(c->medium, q->cell, level, q->off));
}

/* The branch of a level: that of an earlier one of which the same is known. Under strict persistency, where a
 * branch is an interval, only the one before it. */
static unsigned branch_of(const struct division *d, unsigned level, bool neighbours)
{
	NVW_DEEP_INVARIANT(level < d->count);
	for (unsigned k = level; k-- > 0;) {
		if (d->open[k] && d->what[k] == d->what[level]) {
			return d->branch[k];
		}
		if (neighbours && d->open[k]) {
			break;
		}
	}
	return d->branches;
}

static void divide(const struct ct_choices *c, const struct question *q, struct division *d)
{
	NVW_DEEP_INVARIANT(q->cell->count < CT_CHOICE_LEVELS);
	d->count = q->cell->count + 1;
	d->branches = 0;
	NVW_FOR(level, d->count) {
		d->open[level] = is_open(c, q->cell, level);
		if (d->open[level]) {
			d->what[level] = answer(c, q, level);
			d->branch[level] = (uint8_t)branch_of(d, level, is_chain(c));
			d->branches += d->branch[level] == d->branches;
		}
	}
}

/* The branch of this fork in this evaluation. */
static unsigned take(struct ct_choices *c, unsigned branches)
{
	NVW_DEEP_INVARIANT(branches >= 1);
	if (branches == 1) {
		return 0;
	}
	if (c->depth == c->fork.count) {
		const struct ct_fork fork = {0, branches};

		if (CT_ADD(&c->fork, &fork)) {
			c->too_many = true;
			return 0;
		}
	}
	return ((struct ct_fork *)c->fork.at)[c->depth++].at;
}

static void narrow(
	struct ct_choices *c, const struct ct_cell *cell, const struct division *d, unsigned branch)
{
	struct ct_narrowed *const n = narrowed(c, cell);
	uint64_t levels[CT_CHOICE_LEVELS / 64] = {0};
	unsigned first = d->count, last = 0;

	NVW_DEEP_INVARIANT(branch < d->branches);
	NVW_FOR(level, d->count) {
		if (d->open[level] && d->branch[level] == branch) {
			nvw_set_bit(levels, level);
			first = MIN(first, level);
			last = level;
		}
	}
	if (n->evaluation != c->evaluation) {
		const uint32_t number = (uint32_t)(cell - c->medium->cell);

		if (CT_ADD(&c->met, &number)) {
			c->too_many = true;
			return;
		}
	}
	n->evaluation = c->evaluation;
	memcpy(n->levels, levels, sizeof levels);
	if (is_chain(c)) {
		const uint64_t least = first_of(cell, first), beyond = beyond_of(cell, last);

		c->least = MAX(c->least, least);
		c->beyond = MIN(c->beyond, beyond);
	}
}

/* ---- Closed sets ------------------------------------------------------------------------------------- */

/* The levels from which on the word is another, or of which something else is wanted: the end of the run that
 * begins at level. */
static unsigned end_of_run(const struct ct_choices *c, const struct question *q, unsigned level,
	unsigned most, uint64_t *ret_what)
{
	unsigned end = level;

	NVW_DEEP_INVARIANT(level <= most);
	*ret_what = answer(c, q, level);
	do {
		end++;
	} while (end <= most && answer(c, q, end) == *ret_what);
	return end;
}

/* The level after this one that a word with stores to different bytes may have; beyond the last: there is
 * none. */
static unsigned next_level(struct ct_choices *c, uint32_t number, unsigned level)
{
	NVW_DEEP_INVARIANT(number < c->medium->cell_count);
	while (level <= c->medium->cell[number].count && !ct_closed_may_have(&c->closed, number, level)) {
		level++;
	}
	return level;
}

/* Their sets are no runs, so a branch is one level. */
static uint64_t look_by_bytes(struct ct_choices *c, const struct question *q)
{
	const uint32_t number = (uint32_t)(q->cell - c->medium->cell);
	unsigned branches = 0, level = next_level(c, number, 0);

	for (unsigned i = level; i <= q->cell->count; i = next_level(c, number, i + 1)) {
		branches++;
	}
	for (unsigned branch = take(c, branches); branch > 0; branch--) {
		level = next_level(c, number, level + 1);
	}
	if (branches > 1) {
		ct_closed_take_level(&c->closed, number, level);
		c->too_many |= c->closed.has_failed;
	}
	return answer(c, q, level);
}

/* A branch is a run of levels. Runs are counted when the word is met for the first time: the fork knows how
 * many there are. */
static uint64_t look_closed(struct ct_choices *c, const struct question *q)
{
	const uint32_t number = (uint32_t)(q->cell - c->medium->cell);
	unsigned least, most, runs = 1, level;
	uint64_t what = 0, other;

	ct_closed_levels(&c->closed, number, &least, &most);
	unsigned end = end_of_run(c, q, least, most, &what);

	if (end > most) {
		return what;
	}
	for (level = end; level <= most && c->depth == c->fork.count; runs++) {
		level = end_of_run(c, q, level, most, &other);
	}
	level = least;
	for (unsigned branch = take(c, MAX(runs, 2)); branch > 0; branch--) {
		level = end;
		end = end_of_run(c, q, level, most, &what);
	}
	ct_closed_take(&c->closed, number, level, end - 1);
	c->too_many |= c->closed.has_failed;
	return what;
}

bool ct_choices_acked(struct ct_choices *c, uint64_t op)
{
	const uint32_t told = is_graph(c) ? ct_before_told(&c->closed.before, op) : 0;

	c->too_many |= told == CT_TOLD_TWICE;
	if (told == 0 || c->too_many) {
		return true;
	}
	const bool may_be = ct_closed_may_be_acked(&c->closed, told - 1),
		   may_not = ct_closed_may_be_unacked(&c->closed, told - 1);

	if (may_be != may_not) {
		return may_be;
	}
	const bool acked = take(c, 2) == 1;

	ct_closed_take_ack(&c->closed, told - 1, acked);
	c->too_many |= c->closed.has_failed;
	return acked;
}

/* ---- Any word ---------------------------------------------------------------------------------------- */

static uint64_t look(struct ct_choices *c, const struct question *q)
{
	const struct ct_cell *const cell = q->cell;
	struct division d;
	unsigned level = 0;

	c->too_many |= cell->beyond > 0 ||
		       (cell->count >= CT_CHOICE_LEVELS && (!is_graph(c) || cell->straight != 0));
	if (c->too_many) {
		return answer(c, q, 0);
	}
	if (is_graph(c) && cell->straight == 0) {
		return look_closed(c, q);
	}
	if (is_graph(c)) {
		return look_by_bytes(c, q);
	}
	divide(c, q, &d);
	const unsigned branch = take(c, d.branches);

	if (d.branches > 1) {
		narrow(c, cell, &d, branch);
	}
	while (!d.open[level] || d.branch[level] != branch) {
		level++;
	}
	return d.what[level];
}

uint64_t ct_choices_ask(struct ct_choices *c, nvw_off off, ct_of of, const void *from)
{
	const struct question q = {ct_medium_cell_at(c->medium, off), off, of, from};

	NVW_DEEP_INVARIANT(off % 8 == 0);
	return q.cell ? look(c, &q) : made_of(&q, ct_image_word(&c->medium->image, off));
}

uint64_t ct_choices_word(struct ct_choices *c, nvw_off off)
{
	NVW_DEEP_INVARIANT(off % 8 == 0);
	return ct_choices_ask(c, off, NULL, NULL);
}

/* ---- A state ----------------------------------------------------------------------------------------- */

void ct_choices_state(const struct ct_choices *c, unsigned *levels)
{
	const uint32_t *const met = c->met.at;

	if (is_graph(c)) {
		ct_closed_state(&c->closed, levels);
		return;
	}
	memset(levels, 0, c->medium->cell_count * sizeof *levels);
	NVW_EACH(one, met, c->met.count) {
		unsigned level = 0;

		while (!is_open(c, &c->medium->cell[*one], level)) {
			level++;
		}
		ct_levels_raise(c->medium, *one, level, levels);
	}
}

bool ct_choices_hold(const struct ct_choices *c, const unsigned *levels)
{
	const uint32_t *const met = c->met.at;
	bool hold = true;

	if (is_graph(c)) {
		return ct_closed_hold(&c->closed, levels);
	}
	for (uint64_t i = 0; i < c->met.count && hold; i++) {
		hold = is_open(c, &c->medium->cell[met[i]], levels[met[i]]);
	}
	return hold;
}
