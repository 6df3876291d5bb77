/* SPDX-License-Identifier: BSD-3-Clause */
/* What a failing state lacks. See need.h. */
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "core/search.h"
#include "window.h"

enum { LOST_TRIED_MAX = 24 };

/* ---- What was lost ------------------------------------------------------------------------------------- */

/* Makes the lost units first to end durable unless the failure needs them: all together if it may, else half
 * by half. Moves the ones that stay lost to kept on; returns how many there are by then. */
static unsigned raise_losses(struct need_search *s, const struct ct_loss *all, unsigned first, unsigned end,
	unsigned count, unsigned kept)
{
	struct ct_losses *const l = &s->need->losses;

	memcpy(l->loss + kept, all + end, (count - end) * sizeof *all);
	l->count = kept + count - end;
	if (need_fails_likewise(s, s->p->here, l)) {
		return kept;
	}
	if (end - first == 1 || s->need->bounded) {
		memcpy(l->loss + kept, all + first, (end - first) * sizeof *all);
		return kept + end - first;
	}
	kept = raise_losses(s, all, first, first + (end - first) / 2, count, kept);
	return raise_losses(s, all, first + (end - first) / 2, end, count, kept);
}

static int minimise_losses(struct need_search *s)
{
	struct ct_losses *const l = &s->need->losses;
	const unsigned count = l->count;
	struct ct_loss *const all = malloc((count + 1) * sizeof *all);

	NVW_ALLOCATED(all, "no memory for the lost stores of a finding");
	memcpy(all, l->loss, count * sizeof *all);
	l->count = count > 0 ? raise_losses(s, all, 0, count, count, 0) : 0;
	free(all);
	return 0;
}

/* ---- Order --------------------------------------------------------------------------------------------- */

/* True if the state after so many events passes, or fails in another way, with that unit durable. */
static bool passes_with(struct need_search *s, uint64_t events, uint64_t acks, unsigned unit)
{
	struct ct_losses *const l = &s->need->losses;
	const struct ct_loss loss = l->loss[unit];

	NVW_INVARIANT(unit < l->count);
	memmove(&l->loss[unit], &l->loss[unit + 1], (l->count - unit - 1) * sizeof loss);
	l->count--;
	const bool passes = !need_fails_with_text(s, events, acks, l) && !s->need->bounded;

	memmove(&l->loss[unit + 1], &l->loss[unit], (l->count - unit) * sizeof loss);
	l->loss[unit] = loss;
	l->count++;
	return passes;
}

/* The last store before event end to a lost unit that is lost. */
static const struct ct_event *last_lost(const struct need_search *s, unsigned unit, uint64_t end)
{
	NVW_INVARIANT(unit < s->need->losses.count);

	const struct ct_losses l = {
		.unit_bytes = s->need->losses.unit_bytes, .count = 1, .loss = &s->need->losses.loss[unit]};

	for (uint64_t i = end; i > 0; i--) {
		if (ct_prefix_loses(&l, need_event(s, i - 1))) {
			return need_event(s, i - 1);
		}
	}
	return NULL;
}

/* Another source place, the same work-item, or else group, and early: how likely it is the one that is
 * overdue. */
static bool is_likelier(const struct ct_store *a, bool a_mends, const struct ct_store *b, bool b_mends,
	const struct ct_store *early)
{
	if (a_mends != b_mends) {
		return a_mends;
	}
	if ((a->site != early->site) != (b->site != early->site)) {
		return a->site != early->site;
	}
	if (need_related(a, early) != need_related(b, early)) {
		return need_related(a, early) > need_related(b, early);
	}
	if (a->site == b->site) {
		return a->number > b->number;
	}
	return a->number < b->number;
}

/* Chooses the likeliest lost store before event end, above all one that mends the state when durable. */
static void choose_lost(struct need_search *s, uint64_t end, uint64_t acks, const struct ct_store *early)
{
	const struct ct_event *best = NULL;
	bool best_mends = false;

	NVW_FOR(i, s->need->losses.count) {
		const struct ct_event *const e = last_lost(s, i, end);
		const bool mends = e && i < LOST_TRIED_MAX && passes_with(s, end + 1, acks, i);

		if (e && (!best || is_likelier(&e->store, mends, &best->store, best_mends, early))) {
			best = e;
			best_mends = mends;
		}
	}
	if (best) {
		s->need->lost = *best;
	}
}

/* The event before end without which the acknowledged operation would be there all the same; end: none. Other
 * operations count as not acknowledged: a check that tells of one violation alone would tell of theirs. */
static uint64_t find_relying(struct need_search *s, uint64_t begin, uint64_t end)
{
	const struct ct_losses *const losses = &s->need->losses;

	NVW_INVARIANT(begin < end);
	if (!need_fails_with_text(s, end - 1, end, losses) || need_fails_with_text(s, begin, end, losses)) {
		return end;
	}
	const uint64_t first = NVW_FIRST(i, begin + 1, end - 1, need_fails_with_text(s, i, end, losses));

	return s->need->bounded ? end : first - 1;
}

/* An acknowledgement is the last straw. If some store before it relies on the lost one as well, that is the
 * cause. begin: just before the first lost store, end: behind the acknowledgement. */
static void look_for_store(struct need_search *s, uint64_t begin, uint64_t end)
{
	const struct ct_event *const ack = need_event(s, end - 1);
	const uint64_t operation = ack->count == 1 ? ack->store.value : s->q->operation - 1;

	if (operation < ack->store.value || operation - ack->store.value >= ack->count) {
		return;
	}
	s->p->only = operation + 1;
	const uint64_t relying = find_relying(s, begin, end);

	s->p->only = 0;
	if (relying != end && need_event(s, relying)->kind == NVW_LOG_STORE &&
		!ct_prefix_loses(&s->need->losses, need_event(s, relying))) {
		s->need->ack = s->need->early;
		s->need->early = *need_event(s, relying);
	}
}

/* ---- The three forms ----------------------------------------------------------------------------------- */

/* The same before event end, which relies on what is lost. */
static bool fails_in_both_orders(struct need_search *s, uint64_t end)
{
	struct ct_need *const n = s->need;

	if (need_event(s, end)->kind != NVW_LOG_STORE || !need_fails_somehow(s, end)) {
		return false;
	}
	choose_lost(s, end, end + 1, &need_event(s, end)->store);
	return window_explains(s, end, n->lost.store.site, need_event(s, end)->store.site);
}

/* The event of a store. */
static uint64_t index_of(const struct need_search *s, const struct ct_event *e)
{
	uint64_t i = 0;

	while (need_event(s, i)->store.number < e->store.number) {
		i++;
	}
	return i;
}

static uint64_t first_lost(const struct need_search *s)
{
	return NVW_INDEX(i, s->p->here, ct_prefix_loses(&s->need->losses, need_event(s, i)));
}

/* Event early fails without the stores that were lost before it. */
static void find_order(struct need_search *s, uint64_t begin, uint64_t early)
{
	const struct ct_event *const e = need_event(s, early);
	const uint64_t torn = e->kind == NVW_LOG_STORE ? window_torn(s, early) : 0;

	NVW_INVARIANT(begin <= early && early < s->p->count);
	if (torn != 0) {
		window_note(s, early, torn);
		window_try_reversed(s, early, &s->need->losses, early, torn);
		return;
	}
	s->need->early = *e;
	if (e->kind == NVW_LOG_ACK) {
		look_for_store(s, begin, early + 1);
	}
	if (!s->need->bounded) {
		choose_lost(s, index_of(s, &s->need->early), early + 1, &s->need->early.store);
		s->need->form = CT_NEED_ORDER;
	}
}

/* It fails for what was lost since event last, which is lost itself. */
static void find_what_is_cut(struct need_search *s, uint64_t last)
{
	const uint32_t site = need_event(s, last)->store.site;

	if (need_fails_somehow(s, last) && window_explains(s, last, site, site)) {
		return;
	}
	window_apart(s, last);
	if (s->need->form == CT_NEED_UNKNOWN && need_fails_somehow(s, last + 1)) {
		window_find_any(s, last + 1); /* the loss changes how it fails, not that it does */
	}
}

/* It fails for what was lost: since which event? */
static void find_with_losses(struct need_search *s)
{
	const uint64_t begin = first_lost(s);

	if (begin == s->p->here) {
		return;
	}
	const uint64_t hi = NVW_FIRST(i, begin + 1, s->p->here, need_fails_for_losses(s, i));

	if (!need_fails_for_losses(s, hi)) {
		return;
	}

	const struct ct_event *const e = need_event(s, hi - 1);

	if (ct_prefix_loses(&s->need->losses, e)) {
		find_what_is_cut(s, hi - 1);
		return;
	}
	if (e->kind == NVW_LOG_STORE && need_fails_with_text(s, hi - 1, hi - 1, &s->need->losses)) {
		choose_lost(s, hi - 1, hi,
			&e->store); /* it failed before; what is new is that it passes with all */
		window_apart(s, index_of(s, &s->need->lost));
		return;
	}
	if (fails_in_both_orders(s, hi - 1) || !need_fails_for_losses(s, hi)) {
		return;
	}
	find_order(s, begin, hi - 1);
}

/* The run's own end fails, with everything durable: then no order of its stores helps. */
static bool ends_wrong(struct need_search *s)
{
	if (s->q->prefix->cut || !need_fails_somehow(s, s->p->count)) {
		return false;
	}
	const uint64_t first = window_beginning(s, s->p->count, need_fails_somehow);

	if (first == s->p->count) {
		return false;
	}
	s->need->form = CT_NEED_LOGIC;
	s->need->early = *need_event(s, first);
	return true;
}

/* What comes behind the crash goes with its acknowledgements. */
static bool is_logic(struct need_search *s)
{
	const struct nvw_acks *const granted = s->p->granted;

	s->p->granted = NULL;
	const bool is = ends_wrong(s);

	s->p->granted = granted;
	return is;
}

int ct_need_find(const struct ct_need_question *q, struct ct_need *ret_need)
{
	struct need_search s = {.q = q, .p = q->prefix, .need = ret_need};
	bool known;

	*ret_need = (struct ct_need){.form = CT_NEED_UNKNOWN};
	int error = ct_losses_find(q->prefix, q->image, q->filled, q->unit_bytes, &ret_need->losses, &known);

	if (!error && (!known || !need_fails_likewise(&s, q->prefix->here, &ret_need->losses))) {
		return 0;
	}
	if (!error && q->raises) {
		error = minimise_losses(&s);
	}
	if (error) {
		ct_need_free(ret_need);
		return error;
	}
	if (is_logic(&s)) {
		return 0;
	}
	if (ret_need->losses.count > 0 && need_fails_for_losses(&s, q->prefix->here)) {
		find_with_losses(&s);
	} else if (need_fails_likewise(&s, q->prefix->here, NULL)) {
		window_find(&s, q->prefix->here);
	}
	return 0;
}

void ct_need_free(struct ct_need *n)
{
	free(n->losses.loss);
	n->losses = (struct ct_losses){0};
}
