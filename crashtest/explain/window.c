/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of atomicity. See window.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "../group.h"
#include "core/bounds.h"
#include "core/search.h"
#include "window.h"

enum { CLOSERS_MAX = 48 };

static bool fails_so_with_text(struct need_search *s, uint64_t events)
{
	return need_fails_with_text(s, events, events, NULL);
}

/* ---- Where one begins, and what is in it --------------------------------------------------------------- */

/* The last event before end since which the state fails so; end if there is none. */
uint64_t window_beginning(struct need_search *s, uint64_t end, need_fails_so *fails_as)
{
	uint64_t hi = end, lo = end, step = 1;

	if (end == 0) {
		return end;
	}
	do { /* back by more and more, so that it is the one closest to end */
		hi = lo;
		lo -= MIN(lo, step);
		step *= 2;
	} while (lo > 0 && fails_as(s, lo));
	if (s->need->bounded || (lo == 0 && fails_as(s, 0))) {
		return end;
	}
	const uint64_t first = NVW_FIRST(i, lo + 1, hi, fails_as(s, i));

	return s->need->bounded ? end : first - 1;
}

/* The last one is always among them. */
static bool is_in_group(const struct ct_need *n, uint32_t site)
{
	NVW_INVARIANT(n->group_count <= CT_GROUP_MAX);
	return NVW_ANY(group, n->group, n->group_count, group->site == site);
}

static void add_to_group(struct ct_need *n, const struct ct_store *store, bool is_last)
{
	if (is_in_group(n, store->site)) {
		return;
	}
	if (n->group_count < CT_GROUP_MAX) {
		n->group[n->group_count++] = *store;
		return;
	}
	n->group_more++;
	if (is_last) {
		n->group[CT_GROUP_MAX - 1] = *store;
	}
}

/* True if the state after event first passes with the work-item's stores up to last, but those of a source
 * place. */
static bool passes_without(struct need_search *s, uint64_t first, uint64_t last, uint32_t site, bool alone)
{
	const struct ct_store *const by = &need_event(s, first)->store;

	if (!need_may_test(s)) {
		return false;
	}
	ct_prefix_make(s->p, first + 1, first + 1, NULL);
	for (uint64_t i = first + 1; i <= last; i++) {
		if (need_is_store_of(need_event(s, i), by) && need_event(s, i)->store.site != site) {
			ct_prefix_add(s->p, need_event(s, i));
		}
	}
	const bool fails = need_fails_now(s);

	return alone ? !fails : !need_has_text(s->q->findings, s->text);
}

/* Leaves out source places between the first and the last that the state passes without: they happen to lie
 * there. */
static void trim_group(struct need_search *s, uint64_t first, uint64_t last, bool alone)
{
	struct ct_need *const n = s->need;
	unsigned kept = 1;

	NVW_INVARIANT(first < last);
	for (unsigned i = 1; i < n->group_count; i++) {
		const bool ends = n->group[i].site == need_event(s, last)->store.site;

		if (ends || !passes_without(s, first, last, n->group[i].site, alone)) {
			n->group[kept++] = n->group[i];
		}
	}
	if (n->group_count > 0) {
		n->group_count = kept;
	}
}

/* The crash fell between events first and last. */
void window_note(struct need_search *s, uint64_t first, uint64_t last)
{
	struct ct_need *const n = s->need;

	NVW_INVARIANT(first <= last && last < s->p->count);
	n->form = CT_NEED_APART;
	n->early = *need_event(s, first);
	n->lost = *need_event(s, last);
	for (uint64_t i = first; i <= last; i++) {
		const struct ct_event *const e = need_event(s, i);

		if (need_is_store_of(e, i == last ? &e->store : &n->early.store)) {
			add_to_group(n, &e->store, i == last);
		}
	}
}

/* Between two stores of one work-item, its own stores; else everything. */
static bool is_between(const struct need_search *s, uint64_t first, uint64_t i, uint64_t last)
{
	const struct ct_store *const by = &need_event(s, first)->store;
	const struct ct_event *const e = need_event(s, i);

	if (i == last || need_is_same_item(by, &need_event(s, last)->store)) {
		return i == last || need_is_store_of(e, by);
	}
	return e->kind == NVW_LOG_STORE || e->kind == NVW_LOG_HOST;
}

/* True if the passing state that the first events make without the lost stores fails once the stores behind
 * first up to last are added, or last alone. */
static bool fails_with_group(struct need_search *s, uint64_t events, const struct ct_losses *losses,
	uint64_t first, uint64_t last, bool only_last)
{
	NVW_INVARIANT(first <= last && last < s->p->count);
	if (!need_may_test(s)) {
		return false;
	}
	ct_prefix_make(s->p, events, events, losses);
	for (uint64_t i = only_last ? last : first + 1; i <= last; i++) {
		if (is_between(s, first, i, last)) {
			ct_prefix_add(s->p, need_event(s, i));
		}
	}
	return need_fails_now(s);
}

/* Tries the other order as well: the stores behind the first, but without it. */
void window_try_reversed(
	struct need_search *s, uint64_t events, const struct ct_losses *losses, uint64_t first, uint64_t last)
{
	struct ct_need *const n = s->need;

	if (n->early.kind != NVW_LOG_ACK && n->lost.kind == NVW_LOG_STORE) {
		const bool own = need_is_same_item(&n->early.store, &n->lost.store);

		n->fails_reversed = (own && fails_with_group(s, events, losses, first, last, true)) ||
				    fails_with_group(s, events, losses, first, last, false);
	}
}

/* ---- Where it ends ------------------------------------------------------------------------------------- */

/* True if the failure is gone in the state that is made; alone: nothing at all is wrong. */
static bool closes_now(struct need_search *s, bool alone)
{
	const uint64_t own = s->p->image.undo_count;

	s->q->judge(s->q->context, &s->p->image, &s->p->acks);
	ct_image_undo(&s->p->image, own);
	return alone ? s->q->findings->kept == 0 : !need_has_text(s->q->findings, s->text);
}

/* Whose stores: those of a work-item, or of its work-group (need_related()). */
enum whose { OF_GROUP = 2, OWN = 3 };

/* The next one behind event i; the number of events if there is none. */
static uint64_t next_store(const struct need_search *s, uint64_t i, enum whose whose)
{
	const struct ct_store *const by = &need_event(s, i)->store;

	do {
		i++;
	} while (i < s->p->count && (need_event(s, i)->kind != NVW_LOG_STORE ||
					    need_related(&need_event(s, i)->store, by) < whose));
	return i;
}

/* The next store behind event first with which the failure is gone, of the work-item or of its work-group,
 * which may complete together what each began; 0: none. alone: before first nothing was wrong. The lanes of a
 * wavefront store one after the other, so a state between two stores of one source place is not asked
 * about. */
static uint64_t find_closing_store(struct need_search *s, uint64_t first, enum whose whose, bool alone)
{
	uint64_t found = 0, next;
	unsigned tried = 0;

	if (whose == OF_GROUP && need_event(s, first)->store.kernel == 0) {
		return 0; /* threads have no groups */
	}
	ct_prefix_make(s->p, first + 1, first + 1, NULL);
	for (uint64_t i = next_store(s, first, whose); i < s->p->count && tried < CLOSERS_MAX && found == 0;
		i = next) {
		ct_prefix_add(s->p, need_event(s, i));
		next = next_store(s, i, whose);
		if (whose == OF_GROUP && next < s->p->count &&
			need_event(s, next)->store.site == need_event(s, i)->store.site) {
			continue;
		}
		tried++;
		found = need_may_test(s) && closes_now(s, alone) ? i : 0;
	}
	ct_prefix_undo(s->p);
	return found;
}

/* It fails as the search's text says, but for numbers. */
static bool fails_in_kind(struct need_search *s, uint64_t events)
{
	return need_fails(s, events, events, NULL) && ct_find_alike(s->q->findings, s->text);
}

/* Whatever event it is from begin on with which no failure of this kind is left; 0: none. */
static uint64_t find_closing_event(struct need_search *s, uint64_t begin)
{
	uint64_t lo = begin, hi = lo, step = 1;

	if (s->p->count <= lo) {
		return 0;
	}
	do {
		lo = hi;
		hi = MIN(hi + step, s->p->count);
		step *= 2;
	} while (hi < s->p->count && fails_in_kind(s, hi));
	if (s->need->bounded || (hi == s->p->count && fails_in_kind(s, hi))) {
		return 0;
	}
	return NVW_FIRST(i, lo + 1, hi, !fails_in_kind(s, i)) - 1;
}

/* ---- The window ---------------------------------------------------------------------------------------- */

/* It fails with nothing lost after so many events: which of them began it? A check that tells of one
 * violation alone may hide this one behind another; so rather the event since which anything is wrong, if it
 * is wrong in the same way. */
static uint64_t find_first(struct need_search *s, uint64_t end, bool *ret_alone)
{
	char text[NVW__FINDING_TEXT];
	const uint64_t any = window_beginning(s, end, need_fails_somehow);

	memcpy(text, s->text, sizeof text);
	*ret_alone = any != end && need_fails_likewise(s, any + 1, NULL);
	if (*ret_alone) {
		return any;
	}
	memcpy(s->text, text, sizeof text);
	return window_beginning(s, end, fails_so_with_text);
}

/* The line of event last stored in an earlier kernel as well, and behind all of its stores there it failed
 * all the same. */
static bool goes_on(struct need_search *s, uint64_t first, uint64_t last)
{
	const struct ct_store *const by = &need_event(s, last)->store;

	NVW_INVARIANT(first < last);
	if (need_event(s, last)->kind != NVW_LOG_STORE) {
		return false;
	}
	for (uint64_t i = last - 1; i > first; i--) {
		const struct ct_event *const e = need_event(s, i);

		if (e->kind == NVW_LOG_STORE && e->store.site == by->site && e->store.kernel != by->kernel) {
			return fails_in_kind(s, i + 1);
		}
	}
	return false;
}

/* Since event first it fails with text and with nothing lost. */
static void find_window(struct need_search *s, uint64_t first, bool alone)
{
	const struct nvw_acks *const granted = s->p->granted;
	const uint64_t own = find_closing_store(s, first, OWN, alone),
		       of_group = find_closing_store(s, first, OF_GROUP, alone);
	uint64_t last = of_group != 0 && (own == 0 || of_group < own) ? of_group : own;

	NVW_INVARIANT(first < s->p->count);
	s->p->granted = NULL; /* what comes behind the crash goes with its acknowledgements */
	last = NVW_OR(last, find_closing_event(s, first + 1));
	s->need->goes_on = last != 0 && goes_on(s, first, last);
	s->p->granted = granted;
	if (s->need->bounded) {
		return;
	}
	if (last != 0) {
		window_note(s, first, last);
		window_try_reversed(s, first, NULL, first, last);
		if (s->need->fails_reversed &&
			need_is_same_item(&s->need->early.store, &s->need->lost.store)) {
			trim_group(s, first, last, alone);
		}
	} else {
		s->need->form = CT_NEED_LOGIC;
		s->need->early = *need_event(s, first);
	}
}

void window_find(struct need_search *s, uint64_t end)
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
	n->fails_reversed = n->goes_on = false;
}

/* Before event end it fails with nothing lost as well, whatever the text: since which event, and what ends
 * it? False if there is no such event. */
bool window_find_any(struct need_search *s, uint64_t end)
{
	const uint64_t first = window_beginning(s, end, need_fails_somehow);

	if (first == end || !need_fails_somehow(s, first + 1)) {
		return false;
	}
	memcpy(s->text, s->q->findings->finding[0].text, sizeof s->text);
	find_window(s, first, true);
	return true;
}

/* Then no order helps. True if the crash fell between stores that must be atomic, and a store of one of two
 * source places is among them. */
bool window_explains(struct need_search *s, uint64_t end, uint32_t lost, uint32_t early)
{
	struct ct_need *const n = s->need;

	if (!window_find_any(s, end)) {
		return false;
	}
	for (unsigned i = 0; i < n->group_count && (n->fails_reversed || n->goes_on); i++) {
		if (n->group[i].site == lost || n->group[i].site == early) {
			return true;
		}
	}
	forget_window(n);
	return false;
}

/* ---- With losses --------------------------------------------------------------------------------------- */

/* The lost unit of a store is lost from it on. */
static void lose_from(struct ct_losses *l, const struct ct_store *store)
{
	const nvw_off off = store->off & ~(nvw_off)(l->unit_bytes - 1);
	const unsigned i = NVW_INDEX(k, l->count, l->loss[k].off >= off);

	if (i < l->count && l->loss[i].off == off) {
		l->loss[i].from = MIN(l->loss[i].from, store->number);
		return;
	}
	memmove(&l->loss[i + 1], &l->loss[i], (l->count - i) * sizeof *l->loss);
	l->loss[i] = (struct ct_loss){.off = off, .from = store->number};
	l->count++;
}

/* Tries the stores of the work-item of event last before it, until the state passes without one of them: that
 * one alone, or together with all from it on. True if it did. */
static bool find_opening_store(struct need_search *s, uint64_t last, struct ct_losses *more, bool alone)
{
	const struct ct_losses *const l = &s->need->losses;
	unsigned tried = 0;

	for (uint64_t i = last; i > 0 && tried < CLOSERS_MAX && !s->need->bounded; i--) {
		const struct ct_event *const e = need_event(s, i - 1);

		if (!need_is_store_of(e, &need_event(s, last)->store) || ct_prefix_loses(l, e)) {
			continue;
		}
		tried++;
		if (alone || tried == 1) {
			more->count = l->count;
			memcpy(more->loss, l->loss, l->count * sizeof *l->loss);
		}
		lose_from(more, &e->store);
		if (!need_fails(s, s->p->here, s->p->here, more) && !s->need->bounded) {
			window_note(s, i - 1, last);
			window_try_reversed(s, s->p->here, more, i - 1, last);
			s->need->fails_reversed |= !alone;
			return true;
		}
	}
	return false;
}

/* Event last is lost, and before it, it failed already: which store of its work-item before it must be lost
 * as well for the state to pass? In a state in which all others have gone on. */
void window_apart(struct need_search *s, uint64_t last)
{
	const struct ct_losses *const l = &s->need->losses;
	struct ct_losses more = {
		.unit_bytes = l->unit_bytes, .loss = malloc((l->count + CLOSERS_MAX) * sizeof *l->loss)};

	if (!more.loss) {
		return;
	}
	if (!find_opening_store(s, last, &more, true) && !find_opening_store(s, last, &more, false) &&
		!s->need->bounded && need_fails_likewise(s, last, NULL)) {
		window_find(s, last);
	}
	free(more.loss);
}

/* True if the stores are to different bytes of the same word. */
static bool completes_word(const struct ct_store *a, const struct ct_store *b)
{
	return (a->off ^ b->off) < 8 && (a->off + a->bytes <= b->off || b->off + b->bytes <= a->off);
}

/* The next store of the work-item of event first, if it fills in the same word, and mends the state behind
 * first, lost or still to come: the crash tore the word. Its event; 0: none. */
uint64_t window_torn(struct need_search *s, uint64_t first)
{
	const struct ct_store *const by = &need_event(s, first)->store;
	const uint64_t i = next_store(s, first, OWN);

	if (i == s->p->count || !completes_word(by, &need_event(s, i)->store) || !need_may_test(s)) {
		return 0;
	}
	ct_prefix_make(s->p, first + 1, first + 1, &s->need->losses);
	ct_prefix_add(s->p, need_event(s, i));
	const bool mends = closes_now(s, false);

	ct_prefix_undo(s->p);
	return mends ? i : 0;
}
