/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns the failing states to findings. See account.h. */
#include <stdlib.h>

#include "account.h"
#include "../group.h"

int ct_account_begin(struct ct_account *a, struct ct_result *without)
{
	a->exact = ct_covers_all(without) && !without->failing.some;
	a->all = without->failing;
	without->failing = (struct ct_failed_set){0};
	a->held = calloc(a->all.count + 1, sizeof *a->held);
	return a->held ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for the states of findings");
}

void ct_account_free(struct ct_account *a)
{
	free(a->all.at);
	free(a->held);
	*a = (struct ct_account){0};
}

/* Whether a failing state counts for a text's shape; 0: once for any. */
static bool counts(const struct ct_account *a, uint64_t i, uint64_t shape)
{
	return shape ? a->all.at[i].shape == shape : ct_failed_is_first(&a->all, i);
}

/* Counts the failing states that are gone: those with one text; shape 0: with any. */
static uint64_t count_gone(const struct ct_account *a, const struct ct_failed_set *alone, uint64_t shape)
{
	uint64_t n = 0;

	NVW_FOR(i, a->all.count) {
		n += counts(a, i, shape) && !ct_failed_has(alone, a->all.at[i].state);
	}
	return n;
}

static void count_states(struct ct_account *a, struct ct_finding *f, const struct ct_failed_set *alone)
{
	NVW_INVARIANT(a->exact);
	NVW_FOR(i, a->all.count) {
		a->held[i] = a->held[i] || !ct_failed_has(alone, a->all.at[i].state);
	}
	f->states = count_gone(a, alone, 0);
	f->by_cure = true;
	NVW_EACH(also, f->also, f->also_count) {
		also->states = count_gone(a, alone, ct_shape_hash(also->text));
	}
}

static bool fails_so(const struct ct_failed_set *s, const struct ct_finding *f)
{
	bool fails = ct_failed_has_text(s, f->text);

	for (unsigned k = 0; k < f->also_count && !fails; k++) {
		fails = ct_failed_has_text(s, f->also[k].text);
	}
	return fails;
}

/* An assumption leaves only a bound of the number of states, but all of them are tested; a bound of an
 * interval's orders is of orders that are not. */
static bool has_all(const struct ct_result *r)
{
	return ct_covers_all(r) ||
	       (ct_leaves_nothing_out(r) && !(ct_model_info(r->model)->axioms & CT_A(INTERVAL)));
}

static void note_also_cured(struct ct_result *r, unsigned number, const struct ct_result *alone)
{
	NVW_EACH(finding, r->finding, r->finding_count) {
		struct ct_cure *const c = &finding->cure;

		if (c->gone && c->cured_by == 0 && !fails_so(&alone->failing, finding)) {
			c->cured_by = number + 1;
			c->cured_in = alone->states_tested;
		}
	}
}

void ct_account_alone(
	struct ct_account *a, struct ct_result *r, unsigned number, const struct ct_result *alone)
{
	NVW_INVARIANT(number < r->finding_count);
	if (alone->failing.some) {
		a->open = true;
		return;
	}
	if (a->exact && has_all(alone)) {
		count_states(a, &r->finding[number], &alone->failing);
	} else {
		a->open = true;
	}
	note_also_cured(r, number, alone);
}

/* In the words of a finding for which there is neither cure nor assumption. */
static bool has_shape(const struct ct_finding *f, uint64_t shape)
{
	NVW_INVARIANT(f->also_count <= CT_ALSO_MAX);
	if (ct_shape_hash(f->text) == shape) {
		return true;
	}
	return NVW_ANY(also, f->also, f->also_count, ct_shape_hash(also->text) == shape);
}

static bool is_listed(const struct ct_result *r, uint64_t shape)
{
	return NVW_ANY(f, r->finding, r->finding_count,
		f->cure.count == 0 && !f->cure.masked && !f->cure.gone && has_shape(f, shape));
}

void ct_account_end(struct ct_account *a, struct ct_result *r, const struct ct_result *with_all)
{
	const struct ct_failed_set *const s = &with_all->failing;
	uint64_t i = 0;

	while (i < s->count) {
		const uint64_t state = s->at[i].state;
		bool listed = false;

		for (; i < s->count && s->at[i].state == state; i++) {
			listed = listed || is_listed(r, s->at[i].shape);
		}
		r->states_in_none += !listed;
	}
	for (i = 0; i < a->all.count && a->exact && !a->open; i++) {
		r->states_of_several += ct_failed_is_first(&a->all, i) && !a->held[i] &&
					!ct_failed_has(s, a->all.at[i].state);
	}
}
