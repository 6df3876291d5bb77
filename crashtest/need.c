/* SPDX-License-Identifier: BSD-3-Clause */
/* What a failing state lacks. See need.h. */
#include <stdlib.h>
#include <string.h>

#include "group.h"
#include "losses.h"
#include "need.h"

enum { CLOSERS_MAX = 48, LOST_TRIED_MAX = 24 };

struct search {
	const struct ct_need_question *q;
	struct ct_prefix *p;
	struct ct_need *need;
	struct nvw_findings with; /* the violations of the last state that was tested with losses */
	char text[NVW__FINDING_TEXT];
};

/* ---- Testing a state --------------------------------------------------------------------------------------- */

static const struct ct_event *event_at(const struct search *s, uint64_t i)
{
	return &s->p->event[i];
}

static bool may_test(struct search *s)
{
	if (s->need->tests >= s->q->tests_max) {
		s->need->bounded = true;
		return false;
	}
	s->need->tests++;
	return true;
}

/* True if the state after so many events fails. */
static bool fails(struct search *s, uint64_t stores, uint64_t acks, const struct ct_losses *losses)
{
	if (!may_test(s)) {
		return false;
	}
	ct_prefix_make(s->p, stores, acks, losses);
	s->q->judge(s->q->context, &s->p->image, &s->p->acks);
	ct_prefix_undo(s->p);
	return s->q->findings->count > 0;
}

static bool has_text(const struct nvw_findings *f, const char *text)
{
	for (unsigned i = 0; i < f->kept; i++) {
		if (strcmp(f->finding[i].text, text) == 0) {
			return true;
		}
	}
	return false;
}

static bool fails_with_text(struct search *s, uint64_t stores, uint64_t acks, const struct ct_losses *losses)
{
	return fails(s, stores, acks, losses) && has_text(s->q->findings, s->text);
}

/* As the question says, but for numbers; text is how. */
static bool fails_likewise(struct search *s, uint64_t events, const struct ct_losses *losses)
{
	char wanted[CT_TEXT_BYTES], shape[CT_TEXT_BYTES];
	bool same = false;

	if (!fails(s, events, events, losses)) {
		return false;
	}
	ct_shape(s->q->text, wanted);
	for (unsigned i = 0; i < s->q->findings->kept && !same; i++) {
		ct_shape(s->q->findings->finding[i].text, shape);
		same = strcmp(shape, wanted) == 0;
		if (same) {
			memcpy(s->text, s->q->findings->finding[i].text, sizeof s->text);
		}
	}
	return same;
}

/* A violation that a has and b has not; NULL: none. */
static const char *new_text(const struct nvw_findings *a, const struct nvw_findings *b)
{
	for (unsigned i = 0; i < a->kept; i++) {
		if (!has_text(b, a->finding[i].text)) {
			return a->finding[i].text;
		}
	}
	return NULL;
}

/* True if it is for the losses that the state after so many events fails; then text is how. */
static bool fails_for_losses(struct search *s, uint64_t events)
{
	const char *text;

	if (!fails(s, events, events, &s->need->losses)) {
		return false;
	}
	s->with = *s->q->findings;
	fails(s, events, events, NULL);
	text = s->need->bounded ? NULL : new_text(&s->with, s->q->findings);
	if (text != NULL) {
		memcpy(s->text, text, sizeof s->text);
	}
	return text != NULL;
}

/* ---- What was lost ------------------------------------------------------------------------------------------ */

/* Of the lost units first to end those that the failure does not take are durable: all together if it may be, else half by half.
 * Moves the kept ones to kept on; how many there are by then. */
static unsigned raise_losses(struct search *s, const struct ct_loss *all, unsigned first, unsigned end,
	unsigned count, unsigned kept)
{
	struct ct_losses *const l = &s->need->losses;

	memcpy(l->loss + kept, all + end, (count - end) * sizeof *all);
	l->count = kept + count - end;
	if (fails_likewise(s, s->p->here, l)) {
		return kept;
	}
	if (end - first == 1 || s->need->bounded) {
		memcpy(l->loss + kept, all + first, (end - first) * sizeof *all);
		return kept + end - first;
	}
	kept = raise_losses(s, all, first, first + (end - first) / 2, count, kept);
	return raise_losses(s, all, first + (end - first) / 2, end, count, kept);
}

static int minimise_losses(struct search *s)
{
	struct ct_losses *const l = &s->need->losses;
	const unsigned count = l->count;
	struct ct_loss *const all = malloc((count + 1) * sizeof *all);

	if (all == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the lost stores of a finding");
	}
	memcpy(all, l->loss, count * sizeof *all);
	l->count = count > 0 ? raise_losses(s, all, 0, count, count, 0) : 0;
	free(all);
	return 0;
}

/* ---- Order -------------------------------------------------------------------------------------------------- */

static bool is_same_item(const struct ct_store *a, const struct ct_store *b)
{
	return a->kernel == b->kernel && a->work_item == b->work_item;
}

/* 0: not at all. */
static unsigned related(const struct ct_store *a, const struct ct_store *b)
{
	return a->kernel != b->kernel ? 0 : a->work_item == b->work_item ? 3 : a->group == b->group ? 2 : 1;
}

/* True if the state after so many events passes, or fails in another way, with that unit durable. */
static bool passes_with(struct search *s, uint64_t events, uint64_t acks, unsigned unit)
{
	struct ct_losses *const l = &s->need->losses;
	const struct ct_loss loss = l->loss[unit];

	memmove(&l->loss[unit], &l->loss[unit + 1], (l->count - unit - 1) * sizeof loss);
	l->count--;
	const bool passes = !fails_with_text(s, events, acks, l) && !s->need->bounded;

	memmove(&l->loss[unit + 1], &l->loss[unit], (l->count - unit) * sizeof loss);
	l->loss[unit] = loss;
	l->count++;
	return passes;
}

/* The last store before event end to a lost unit that is lost. */
static const struct ct_event *last_lost(const struct search *s, unsigned unit, uint64_t end)
{
	const struct ct_losses l = {
		.unit_bytes = s->need->losses.unit_bytes, .count = 1, .loss = &s->need->losses.loss[unit]};

	for (uint64_t i = end; i > 0; i--) {
		if (ct_prefix_loses(&l, event_at(s, i - 1))) {
			return event_at(s, i - 1);
		}
	}
	return NULL;
}

/* Another source place, the same work-item, or else group, and early: how likely it is the one that is overdue. */
static bool is_likelier(const struct ct_store *a, bool a_mends, const struct ct_store *b, bool b_mends,
	const struct ct_store *early)
{
	if (a_mends != b_mends) {
		return a_mends;
	}
	if ((a->site != early->site) != (b->site != early->site)) {
		return a->site != early->site;
	}
	if (related(a, early) != related(b, early)) {
		return related(a, early) > related(b, early);
	}
	return a->site == b->site ? a->number > b->number : a->number < b->number;
}

/* Of the lost stores before event end, the likeliest one; rather one that mends the state after events when it is durable. */
static void choose_lost(struct search *s, uint64_t end, uint64_t acks, const struct ct_store *early)
{
	const struct ct_event *best = NULL;
	bool best_mends = false;

	for (unsigned i = 0; i < s->need->losses.count; i++) {
		const struct ct_event *const e = last_lost(s, i, end);
		const bool mends = e != NULL && i < LOST_TRIED_MAX && passes_with(s, end + 1, acks, i);

		if (e != NULL &&
			(best == NULL || is_likelier(&e->store, mends, &best->store, best_mends, early))) {
			best = e;
			best_mends = mends;
		}
	}
	if (best != NULL) {
		s->need->lost = *best;
	}
}

/* The event before end without which the acknowledged operation would be there all the same; end: none. Other operations count
 * as not acknowledged: a check that tells of one violation alone would tell of theirs. */
static uint64_t find_relying(struct search *s, uint64_t begin, uint64_t end)
{
	uint64_t lo = begin, hi = end - 1;

	if (!fails_with_text(s, hi, end, &s->need->losses) || fails_with_text(s, lo, end, &s->need->losses)) {
		return end;
	}
	while (hi - lo > 1) {
		const uint64_t middle = lo + (hi - lo) / 2;

		if (fails_with_text(s, middle, end, &s->need->losses)) {
			hi = middle;
		} else {
			lo = middle;
		}
	}
	return s->need->bounded ? end : hi - 1;
}

/* An acknowledgement is the last straw. If some store before it relies on the lost one as well, that is the cause. begin: just
 * before the first lost store, end: behind the acknowledgement. */
static void look_for_store(struct search *s, uint64_t begin, uint64_t end)
{
	const struct ct_event *const ack = event_at(s, end - 1);
	const uint64_t operation = ack->count == 1 ? ack->store.value : s->q->operation - 1;

	if (operation < ack->store.value || operation - ack->store.value >= ack->count) {
		return;
	}
	s->p->only = operation + 1;
	const uint64_t relying = find_relying(s, begin, end);

	s->p->only = 0;
	if (relying != end && event_at(s, relying)->kind == NVW_LOG_STORE &&
		!ct_prefix_loses(&s->need->losses, event_at(s, relying))) {
		s->need->ack = s->need->early;
		s->need->early = *event_at(s, relying);
	}
}

/* ---- Apart ---------------------------------------------------------------------------------------------------- */

typedef bool fails_so(struct search *s, uint64_t events);

static bool fails_so_with_text(struct search *s, uint64_t events)
{
	return fails_with_text(s, events, events, NULL);
}

static bool fails_somehow(struct search *s, uint64_t events)
{
	return fails(s, events, events, NULL);
}

/* The last event before end since which the state fails so; end if there is none. */
static uint64_t find_beginning(struct search *s, uint64_t end, fails_so *fails_as)
{
	uint64_t hi = end, lo = end, step = 1;

	if (end == 0) {
		return end;
	}
	do { /* back by more and more, so that it is the one closest to end */
		hi = lo;
		lo = lo > step ? lo - step : 0;
		step *= 2;
	} while (lo > 0 && fails_as(s, lo));
	if (s->need->bounded || (lo == 0 && fails_as(s, 0))) {
		return end;
	}
	while (hi - lo > 1) {
		const uint64_t middle = lo + (hi - lo) / 2;

		if (fails_as(s, middle)) {
			hi = middle;
		} else {
			lo = middle;
		}
	}
	return s->need->bounded ? end : hi - 1;
}

/* The last one is always among them. */
static void add_to_group(struct ct_need *n, const struct ct_store *store, bool is_last)
{
	for (unsigned i = 0; i < n->group_count; i++) {
		if (n->group[i].site == store->site) {
			return;
		}
	}
	if (n->group_count == CT_GROUP_MAX) {
		n->group_more++;
		n->group[CT_GROUP_MAX - 1] = is_last ? *store : n->group[CT_GROUP_MAX - 1];
	} else {
		n->group[n->group_count++] = *store;
	}
}

/* True if the state after event first passes with the work-item's stores up to last, but those of a source place. */
static bool passes_without(struct search *s, uint64_t first, uint64_t last, uint32_t site, bool alone)
{
	if (!may_test(s)) {
		return false;
	}
	ct_prefix_make(s->p, first + 1, first + 1, NULL);
	for (uint64_t i = first + 1; i <= last; i++) {
		if (event_at(s, i)->kind == NVW_LOG_STORE && event_at(s, i)->store.site != site &&
			is_same_item(&event_at(s, i)->store, &event_at(s, first)->store)) {
			ct_prefix_add(s->p, event_at(s, i));
		}
	}
	s->q->judge(s->q->context, &s->p->image, &s->p->acks);
	ct_prefix_undo(s->p);
	return alone ? s->q->findings->count == 0 : !has_text(s->q->findings, s->text);
}

/* Leaves out source places between the first and the last that the state passes without: they happen to lie there. */
static void trim_group(struct search *s, uint64_t first, uint64_t last, bool alone)
{
	struct ct_need *const n = s->need;
	unsigned kept = 1;

	for (unsigned i = 1; i < n->group_count; i++) {
		const bool ends = n->group[i].site == event_at(s, last)->store.site;

		if (ends || !passes_without(s, first, last, n->group[i].site, alone)) {
			n->group[kept++] = n->group[i];
		}
	}
	n->group_count = n->group_count > 0 ? kept : 0;
}

/* The crash fell between events first and last. */
static void note_apart(struct search *s, uint64_t first, uint64_t last)
{
	struct ct_need *const n = s->need;

	n->form = CT_NEED_APART;
	n->early = *event_at(s, first);
	n->lost = *event_at(s, last);
	for (uint64_t i = first; i <= last; i++) {
		if (event_at(s, i)->kind == NVW_LOG_STORE &&
			(i == last || is_same_item(&event_at(s, i)->store, &n->early.store))) {
			add_to_group(n, &event_at(s, i)->store, i == last);
		}
	}
}

/* Between two stores of one work-item, its own stores; else everything. */
static bool is_between(const struct search *s, uint64_t first, uint64_t i, uint64_t last)
{
	const bool own = is_same_item(&event_at(s, first)->store, &event_at(s, last)->store);

	return i == last ||
	       (own ? event_at(s, i)->kind == NVW_LOG_STORE &&
				       is_same_item(&event_at(s, i)->store, &event_at(s, first)->store) :
		      event_at(s, i)->kind == NVW_LOG_STORE || event_at(s, i)->kind == NVW_LOG_HOST);
}

/* True if a state that passes, of the first events without losses, fails with what is behind first up to last, or the last of
 * it alone. */
static bool fails_with_group(struct search *s, uint64_t events, const struct ct_losses *losses,
	uint64_t first, uint64_t last, bool only_last)
{
	if (!may_test(s)) {
		return false;
	}
	ct_prefix_make(s->p, events, events, losses);
	for (uint64_t i = only_last ? last : first + 1; i <= last; i++) {
		if (is_between(s, first, i, last)) {
			ct_prefix_add(s->p, event_at(s, i));
		}
	}
	s->q->judge(s->q->context, &s->p->image, &s->p->acks);
	ct_prefix_undo(s->p);
	return s->q->findings->count > 0;
}

/* Both orders: the stores behind the first without it. */
static void try_reversed(
	struct search *s, uint64_t events, const struct ct_losses *losses, uint64_t first, uint64_t last)
{
	struct ct_need *const n = s->need;

	if (n->early.kind != NVW_LOG_ACK && n->lost.kind == NVW_LOG_STORE) {
		const bool own = is_same_item(&n->early.store, &n->lost.store);

		n->fails_reversed = (own && fails_with_group(s, events, losses, first, last, true)) ||
				    fails_with_group(s, events, losses, first, last, false);
	}
}

/* True if nothing of that kind is wrong any more: with none, nothing at all. */
static bool is_closed(const struct search *s, const char *kind)
{
	char shape[CT_TEXT_BYTES];

	for (unsigned i = 0; i < s->q->findings->kept; i++) {
		ct_shape(s->q->findings->finding[i].text, shape);
		if (kind == NULL || strcmp(shape, kind) == 0) {
			return false;
		}
	}
	return true;
}

/* Of the state that is made: the failure is gone. */
static bool closes_now(struct search *s, bool alone)
{
	const uint64_t own = s->p->image.undo_count;

	s->q->judge(s->q->context, &s->p->image, &s->p->acks);
	ct_image_undo(&s->p->image, own);
	return alone ? is_closed(s, NULL) : !has_text(s->q->findings, s->text);
}

/* The next store of the work-item behind event first with which the failure is gone; 0: none. alone: before first nothing was
 * wrong. */
static uint64_t find_closing_store(struct search *s, uint64_t first, bool alone)
{
	const struct ct_store *const by = &event_at(s, first)->store;
	uint64_t found = 0;
	unsigned tried = 0;

	ct_prefix_make(s->p, first + 1, first + 1, NULL);
	for (uint64_t i = first + 1; i < s->p->count && tried < CLOSERS_MAX && found == 0; i++) {
		const struct ct_event *const e = event_at(s, i);

		if (e->kind != NVW_LOG_STORE || !is_same_item(&e->store, by)) {
			continue;
		}
		tried++;
		ct_prefix_add(s->p, e);
		if (!may_test(s)) {
			break;
		}
		found = closes_now(s, alone) ? i : 0;
	}
	ct_prefix_undo(s->p);
	return found;
}

/* The next store of the same work-group behind event i; the last event if there is none. */
static uint64_t next_of_group(const struct search *s, uint64_t i, const struct ct_store *by)
{
	do {
		i++;
	} while (i < s->p->count &&
		 (event_at(s, i)->kind != NVW_LOG_STORE || related(&event_at(s, i)->store, by) < 2));
	return i;
}

/* The same with the stores of its work-group, which may complete together what each began. The lanes of a wavefront store one
 * after the other: a state between two stores of one source place is none to ask about. */
static uint64_t find_closing_in_group(struct search *s, uint64_t first, bool alone)
{
	const struct ct_store *const by = &event_at(s, first)->store;
	uint64_t found = 0, next;
	unsigned tried = 0;

	if (by->kernel == 0) {
		return 0; /* threads have no groups */
	}
	ct_prefix_make(s->p, first + 1, first + 1, NULL);
	for (uint64_t i = next_of_group(s, first, by); i < s->p->count && tried < CLOSERS_MAX && found == 0;
		i = next) {
		ct_prefix_add(s->p, event_at(s, i));
		next = next_of_group(s, i, by);
		if (next < s->p->count && event_at(s, next)->store.site == event_at(s, i)->store.site) {
			continue;
		}
		tried++;
		found = may_test(s) && closes_now(s, alone) ? i : 0;
	}
	ct_prefix_undo(s->p);
	return found;
}

static bool fails_in_kind(struct search *s, uint64_t events, const char *kind)
{
	return fails(s, events, events, NULL) && !is_closed(s, kind);
}

/* Whatever event it is from begin on with which no failure of this kind is left; 0: none. */
static uint64_t find_closing_event(struct search *s, uint64_t begin)
{
	uint64_t lo = begin, hi = lo, step = 1;
	char kind[CT_TEXT_BYTES];

	ct_shape(s->text, kind);
	if (s->p->count <= lo) {
		return 0;
	}
	do {
		lo = hi;
		hi = hi + step < s->p->count ? hi + step : s->p->count;
		step *= 2;
	} while (hi < s->p->count && fails_in_kind(s, hi, kind));
	if (s->need->bounded || (hi == s->p->count && fails_in_kind(s, hi, kind))) {
		return 0;
	}
	while (hi - lo > 1) {
		const uint64_t middle = lo + (hi - lo) / 2;

		if (fails_in_kind(s, middle, kind)) {
			lo = middle;
		} else {
			hi = middle;
		}
	}
	return hi - 1;
}

/* ---- The three forms ------------------------------------------------------------------------------------------ */

/* It fails with nothing lost after so many events: which of them began it? A check that tells of one violation alone may
 * hide this one behind another; so rather the event since which anything is wrong, if it is wrong in the same way. */
static uint64_t find_first(struct search *s, uint64_t end, bool *ret_alone)
{
	char text[NVW__FINDING_TEXT];
	const uint64_t any = find_beginning(s, end, fails_somehow);

	memcpy(text, s->text, sizeof text);
	*ret_alone = any != end && fails_likewise(s, any + 1, NULL);
	if (*ret_alone) {
		return any;
	}
	memcpy(s->text, text, sizeof text);
	return find_beginning(s, end, fails_so_with_text);
}

/* Since event first it fails with text and with nothing lost. */
static void find_window(struct search *s, uint64_t first, bool alone)
{
	const struct nvw_acks *const granted = s->p->granted;
	const uint64_t own = find_closing_store(s, first, alone),
		       of_group = find_closing_in_group(s, first, alone);
	uint64_t last = of_group != 0 && (own == 0 || of_group < own) ? of_group : own;

	s->p->granted = NULL; /* what comes behind the crash goes with its acknowledgements */
	last = last ? last : find_closing_event(s, first + 1);
	s->p->granted = granted;
	if (s->need->bounded) {
		return;
	}
	if (last != 0) {
		note_apart(s, first, last);
		try_reversed(s, first, NULL, first, last);
		if (s->need->fails_reversed && is_same_item(&s->need->early.store, &s->need->lost.store)) {
			trim_group(s, first, last, alone);
		}
	} else {
		s->need->form = CT_NEED_LOGIC;
		s->need->early = *event_at(s, first);
	}
}

static void find_without_losses(struct search *s, uint64_t end)
{
	bool alone;
	const uint64_t first = find_first(s, end, &alone);

	if (first != end) {
		find_window(s, first, alone);
	}
}

static void forget_window(struct ct_need *n)
{
	n->form = CT_NEED_UNKNOWN;
	n->group_count = n->group_more = 0;
	n->fails_reversed = false;
}

/* Before event end it fails with nothing lost as well, whatever the text: since which event, and what ends it? False if there is
 * no such event. */
static bool find_any_window(struct search *s, uint64_t end)
{
	const uint64_t first = find_beginning(s, end, fails_somehow);

	if (first == end || !fails_somehow(s, first + 1)) {
		return false;
	}
	memcpy(s->text, s->q->findings->finding[0].text, sizeof s->text);
	find_window(s, first, true);
	return true;
}

/* Then no order helps. True if the crash fell between stores that must be atomic, and a store of one of two source places is
 * among them. */
static bool fails_without_losses(struct search *s, uint64_t end, uint32_t lost, uint32_t early)
{
	struct ct_need *const n = s->need;

	if (!find_any_window(s, end)) {
		return false;
	}
	for (unsigned i = 0; i < n->group_count && n->fails_reversed; i++) {
		if (n->group[i].site == lost || n->group[i].site == early) {
			return true;
		}
	}
	forget_window(n);
	return false;
}

/* The same before event end, which relies on what is lost. */
static bool fails_in_both_orders(struct search *s, uint64_t end)
{
	struct ct_need *const n = s->need;

	if (event_at(s, end)->kind != NVW_LOG_STORE || !fails_somehow(s, end)) {
		return false;
	}
	choose_lost(s, end, end + 1, &event_at(s, end)->store);
	return fails_without_losses(s, end, n->lost.store.site, event_at(s, end)->store.site);
}

/* The lost unit of a store is lost from it on. */
static void lose_from(struct ct_losses *l, const struct ct_store *store)
{
	const nvw_off off = store->off & ~(nvw_off)(l->unit_bytes - 1);
	unsigned i = 0;

	while (i < l->count && l->loss[i].off < off) {
		i++;
	}
	if (i < l->count && l->loss[i].off == off) {
		l->loss[i].from = store->number < l->loss[i].from ? store->number : l->loss[i].from;
		return;
	}
	memmove(&l->loss[i + 1], &l->loss[i], (l->count - i) * sizeof *l->loss);
	l->loss[i] = (struct ct_loss){.off = off, .from = store->number};
	l->count++;
}

/* Tries the stores of the work-item of event last before it, until the state passes without one of them: that one alone, or
 * together with all from it on. True if it did. */
static bool find_opening_store(struct search *s, uint64_t last, struct ct_losses *more, bool alone)
{
	const struct ct_losses *const l = &s->need->losses;
	unsigned tried = 0;

	for (uint64_t i = last; i > 0 && tried < CLOSERS_MAX && !s->need->bounded; i--) {
		const struct ct_event *const e = event_at(s, i - 1);

		if (e->kind != NVW_LOG_STORE || !is_same_item(&e->store, &event_at(s, last)->store) ||
			ct_prefix_loses(l, e)) {
			continue;
		}
		tried++;
		if (alone || tried == 1) {
			more->count = l->count;
			memcpy(more->loss, l->loss, l->count * sizeof *l->loss);
		}
		lose_from(more, &e->store);
		if (!fails(s, s->p->here, s->p->here, more) && !s->need->bounded) {
			note_apart(s, i - 1, last);
			try_reversed(s, s->p->here, more, i - 1, last);
			s->need->fails_reversed = s->need->fails_reversed || !alone;
			return true;
		}
	}
	return false;
}

/* Event last is lost, and before it, it failed already: which store of its work-item before it must be lost as well for the
 * state to pass? In a state in which all others have gone on. */
static void find_apart(struct search *s, uint64_t last)
{
	const struct ct_losses *const l = &s->need->losses;
	struct ct_losses more = {
		.unit_bytes = l->unit_bytes, .loss = malloc((l->count + CLOSERS_MAX) * sizeof *l->loss)};

	if (more.loss == NULL) {
		return;
	}
	if (!find_opening_store(s, last, &more, true) && !find_opening_store(s, last, &more, false) &&
		!s->need->bounded && fails_likewise(s, last, NULL)) {
		find_without_losses(s, last);
	}
	free(more.loss);
}

/* The event of a store. */
static uint64_t index_of(const struct search *s, const struct ct_event *e)
{
	uint64_t i = 0;

	while (event_at(s, i)->store.number < e->store.number) {
		i++;
	}
	return i;
}

static uint64_t first_lost(const struct search *s)
{
	uint64_t i = 0;

	while (i < s->p->here && !ct_prefix_loses(&s->need->losses, event_at(s, i))) {
		i++;
	}
	return i;
}

/* Other bytes of the same word. */
static bool completes_word(const struct ct_store *a, const struct ct_store *b)
{
	return (a->off ^ b->off) < 8 && (a->off + a->bytes <= b->off || b->off + b->bytes <= a->off);
}

/* The next store of the work-item of event first, if it fills in the same word, and mends the state behind first, lost or still
 * to come: the crash tore the word. Its event; 0: none. */
static uint64_t find_torn(struct search *s, uint64_t first)
{
	const struct ct_store *const by = &event_at(s, first)->store;
	uint64_t i = first + 1;

	while (i < s->p->count &&
		(event_at(s, i)->kind != NVW_LOG_STORE || !is_same_item(&event_at(s, i)->store, by))) {
		i++;
	}
	if (i < s->p->count && !completes_word(by, &event_at(s, i)->store)) {
		return 0;
	}
	if (i == s->p->count || !may_test(s)) {
		return 0;
	}
	ct_prefix_make(s->p, first + 1, first + 1, &s->need->losses);
	ct_prefix_add(s->p, event_at(s, i));
	const bool mends = closes_now(s, false);

	ct_prefix_undo(s->p);
	return mends ? i : 0;
}

/* Event early fails without the stores that were lost before it. */
static void find_order(struct search *s, uint64_t begin, uint64_t early)
{
	const struct ct_event *const e = event_at(s, early);
	const uint64_t torn = e->kind == NVW_LOG_STORE ? find_torn(s, early) : 0;

	if (torn != 0) {
		note_apart(s, early, torn);
		try_reversed(s, early, &s->need->losses, early, torn);
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
static void find_what_is_cut(struct search *s, uint64_t last)
{
	const uint32_t site = event_at(s, last)->store.site;

	if (fails_somehow(s, last) && fails_without_losses(s, last, site, site)) {
		return;
	}
	find_apart(s, last);
	if (s->need->form == CT_NEED_UNKNOWN && fails_somehow(s, last + 1)) {
		find_any_window(s, last + 1); /* the loss changes how it fails, not that it does */
	}
}

/* It fails for what was lost: since which event? */
static void find_with_losses(struct search *s)
{
	const uint64_t begin = first_lost(s);
	uint64_t lo = begin, hi = s->p->here;

	while (hi - lo > 1) {
		const uint64_t middle = lo + (hi - lo) / 2;

		if (fails_for_losses(s, middle)) {
			hi = middle;
		} else {
			lo = middle;
		}
	}
	if (lo == s->p->here || !fails_for_losses(s, hi)) {
		return;
	}
	const struct ct_event *const e = event_at(s, hi - 1);

	if (ct_prefix_loses(&s->need->losses, e)) {
		find_what_is_cut(s, hi - 1);
		return;
	}
	if (e->kind == NVW_LOG_STORE && fails_with_text(s, hi - 1, hi - 1, &s->need->losses)) {
		choose_lost(s, hi - 1, hi,
			&e->store); /* it failed before; what is new is that it passes with all */
		find_apart(s, index_of(s, &s->need->lost));
		return;
	}
	if (fails_in_both_orders(s, hi - 1) || !fails_for_losses(s, hi)) {
		return;
	}
	find_order(s, begin, hi - 1);
}

/* The run's own end fails, with everything durable: then no order of its stores helps. */
static bool ends_wrong(struct search *s)
{
	if (s->q->prefix->cut || !fails_somehow(s, s->p->count)) {
		return false;
	}
	const uint64_t first = find_beginning(s, s->p->count, fails_somehow);

	if (first == s->p->count) {
		return false;
	}
	s->need->form = CT_NEED_LOGIC;
	s->need->early = *event_at(s, first);
	return true;
}

/* What comes behind the crash goes with its acknowledgements. */
static bool is_logic(struct search *s)
{
	const struct nvw_acks *const granted = s->p->granted;

	s->p->granted = NULL;
	const bool is = ends_wrong(s);

	s->p->granted = granted;
	return is;
}

int ct_need_find(const struct ct_need_question *q, struct ct_need *ret_need)
{
	struct search s = {.q = q, .p = q->prefix, .need = ret_need};
	bool known;

	*ret_need = (struct ct_need){.form = CT_NEED_UNKNOWN};
	int error = ct_losses_find(q->prefix, q->image, q->unit_bytes, &ret_need->losses, &known);

	if (!error && (!known || !fails_likewise(&s, q->prefix->here, &ret_need->losses))) {
		return 0;
	}
	if (!error && q->raises) {
		error = minimise_losses(&s);
	}
	if (error) {
		ct_need_free(ret_need);
		return error;
	}
	ret_need->lost_count = ret_need->losses.count;
	if (is_logic(&s)) {
		return 0;
	}
	if (ret_need->losses.count > 0 && fails_for_losses(&s, q->prefix->here)) {
		find_with_losses(&s);
	} else if (fails_likewise(&s, q->prefix->here, NULL)) {
		find_without_losses(&s, q->prefix->here);
	}
	return 0;
}

void ct_need_free(struct ct_need *n)
{
	free(n->losses.loss);
	n->losses = (struct ct_losses){0};
}
