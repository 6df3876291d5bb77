/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edited logs of small random runs, against a second definition of what an edit means: a pair of a store and
 * a later event is ordered if a barrier of the edit lies between the two, which is counted out here pair by
 * pair. What an edited log permits must be exactly what the run's own order and those pairs permit.
 */
#include <unistd.h>
#include "common/test.h"

#include <crashtest/crash.h>
#include <crashtest/explain/edit.h>
#include "edit_rig.h"

/* ---- Barriers, pair by pair ------------------------------------------------------------------- */

struct cure {
	struct ct_edit edit;
	bool none; /* it is an assumption, which adds no barrier */
};

static bool is_of(const struct event *e, unsigned item)
{
	return e->kind == NVW_LOG_FINISH || (e->kind != NVW_LOG_PERSISTED && is_member(e, item));
}

static bool is_store_at(const struct event *e, unsigned line)
{
	return e->kind == NVW_LOG_STORE && e->line == line;
}

static unsigned next_of(const struct history *h, unsigned item, unsigned i)
{
	for (i++; i < h->events && !is_of(&h->event[i], item); i++) {
	}
	return i;
}

/*
 * The item arrives at the edit's barrier with event i: the last of consecutive stores at line a, or a
 * barrier.
 */
static bool arrives(const struct history *h, const struct cure *c, unsigned item, unsigned i)
{
	const struct event *const e = &h->event[i];
	const unsigned next = next_of(h, item, i);

	if (!is_of(e, item) || c->none) {
		return false;
	}
	/* A barrier before line b is met with the last event before consecutive stores there. */
	if (c->edit.b.line != 0 && c->edit.kind == CT_EDIT_BARRIER) {
		return next < h->events && is_store_at(&h->event[next], LINE_B) && !is_store_at(e, LINE_B);
	}
	if (c->edit.kind == CT_EDIT_WIDEN) {
		return e->kind == NVW_LOG_BARRIER && e->line == LINE_BARRIER;
	}
	return is_store_at(e, LINE_A) && next < h->events && !is_store_at(&h->event[next], LINE_A);
}

/* How often the item has arrived before event i. It has passed as often when it does something at i. */
static unsigned arrivals(const struct history *h, const struct cure *c, unsigned item, unsigned i)
{
	const unsigned first = is_of(&h->event[0], item) ? 0 : next_of(h, item, 0);
	unsigned n = c->edit.b.line != 0 && c->edit.kind == CT_EDIT_BARRIER &&
		     is_store_at(&h->event[first], LINE_B);

	NVW_FOR(k, i) {
		n += arrives(h, c, item, k);
	}
	return n;
}

static bool in_scope(const struct cure *c, unsigned a, unsigned b)
{
	return c->edit.scope == NVW_KERNEL || a == b ||
	       (c->edit.scope == NVW_WORKGROUP && a / GROUP == b / GROUP);
}

/* A barrier of the edit lies between a store and a later event of an item. */
static bool lies_between(
	const struct history *h, const struct cure *c, unsigned store, unsigned event, unsigned item)
{
	const unsigned by = h->event[store].item;

	return store < event && in_scope(c, by, item) && is_of(&h->event[event], item) &&
	       arrivals(h, c, by, store) < arrivals(h, c, item, event);
}

/* Stores that are durable for certain after p events: what the run's own barriers cover, and the edit's. */
static uint32_t floor_at(const struct history *h, const struct cure *c, unsigned p)
{
	uint32_t floor = 0;

	NVW_FOR(q, p) {
		floor |= h->event[q].covers;
		NVW_FOR(s, h->stores) {
			NVW_FOR(item, ITEMS) {
				floor |= (uint32_t)lies_between(h, c, h->store_at[s], q, item) << s;
			}
		}
	}
	return floor;
}

static const struct event *store_of(const struct history *h, unsigned s)
{
	return &h->event[h->store_at[s]];
}

static bool is_word_closed(const struct history *h, uint32_t set)
{
	NVW_FOR(b, h->stores) {
		for (unsigned a = 0; a < b && set >> b & 1; a++) {
			if (store_of(h, a)->word == store_of(h, b)->word && !(set >> a & 1)) {
				return false;
			}
		}
	}
	return true;
}

static uint32_t close_words(const struct history *h, uint32_t set)
{
	for (unsigned b = h->stores; b-- > 0;) {
		for (unsigned a = 0; a < b && set >> b & 1; a++) {
			set |= (uint32_t)(store_of(h, a)->word == store_of(h, b)->word) << a;
		}
	}
	return set;
}

static void add_state(const struct history *h, uint32_t durable, uint32_t acks)
{
	struct state s = {.acks = acks};

	NVW_FOR(i, h->stores) {
		if (durable >> i & 1) {
			s.word[store_of(h, i)->word] = 100 + i;
		}
	}
	add(&permitted, &s);
}

static void visible_at(const struct history *h, unsigned p, uint32_t *ret_stores, uint32_t *ret_acks)
{
	*ret_stores = *ret_acks = 0;
	NVW_EACH(event, h->event, p) {
		*ret_stores |= (uint32_t)(event->kind == NVW_LOG_STORE) << event->number;
		*ret_acks |= (uint32_t)(event->kind == NVW_LOG_ACK) << event->number;
	}
}

/* What the assumption asks of a set of durable stores. */
static bool keeps(const struct history *h, enum ct_edit_kind kind, uint32_t visible, uint32_t set)
{
	bool good = true;

	NVW_FOR(a, h->stores) {
		const bool lost = store_of(h, a)->line == LINE_A && (visible & ~set) >> a & 1;

		good = good && !(lost && kind == CT_EDIT_DURABLE);
		for (unsigned b = a + 1; b < h->stores && lost; b++) {
			good = good &&
			       !(kind == CT_EDIT_ORDERED && (set >> b & 1) && store_of(h, b)->line == LINE_B);
		}
	}
	return good;
}

static void permit_epoch(const struct history *h, const struct cure *c)
{
	for (unsigned p = 0; p <= h->events; p++) {
		const uint32_t floor = close_words(h, floor_at(h, c, p));
		uint32_t stores, acks;

		visible_at(h, p, &stores, &acks);
		NVW_FOR(set, 1u << h->stores) {
			if ((set & ~stores) == 0 && (floor & ~set) == 0 && is_word_closed(h, set) &&
				keeps(h, c->edit.kind, stores, set)) {
				add_state(h, set, acks);
			}
		}
	}
}

static bool is_ordered(const struct history *h, const struct cure *c, unsigned a, unsigned b)
{
	const struct event *const x = &h->event[a], *const y = &h->event[b];

	return (x->item == y->item && x->wi < y->wi) ||
	       (x->item / GROUP == y->item / GROUP && x->wg < y->wg) || lies_between(h, c, a, b, y->item);
}

static void permit_buffered(const struct history *h, const struct cure *c)
{
	NVW_FOR(set, 1u << h->stores) {
		bool closed = is_word_closed(h, set);
		uint32_t acks = 0;

		for (unsigned b = 0; b < h->stores && closed; b++) {
			for (unsigned a = 0; a < b && closed; a++) {
				closed = !(set >> b & 1) || (set >> a & 1) ||
					 !is_ordered(h, c, h->store_at[a], h->store_at[b]);
			}
		}
		for (unsigned k = 0; k < h->acks && closed; k++) {
			bool told = true;

			NVW_FOR(a, h->stores) {
				told = told && ((set >> a & 1) || h->store_at[a] > h->ack_at[k] ||
						       !is_ordered(h, c, h->store_at[a], h->ack_at[k]));
			}
			acks |= (uint32_t)told << k;
		}
		if (closed) {
			add_state(h, set, acks);
		}
	}
}

/* ---- Comparing -------------------------------------------------------------------------------- */

/* The edited log's states are those that the edit permits; it is freed. */
static void compare_edited(struct ct_edited *edited, enum ct_model model, const struct history *h,
	const struct cure *c, void (*permit)(const struct history *h, const struct cure *c), const char *what,
	uint64_t seed)
{
	permitted.count = 0;
	permit(h, c);
	explore(edited, model);
	assert_same_states(model, what, seed);
	ct_edited_free(edited);
}

static bool all_come_equally_often(const struct history *h, const struct cure *c)
{
	for (unsigned i = 1; i < ITEMS; i++) {
		if (arrivals(h, c, i, h->events) != arrivals(h, c, 0, h->events)) {
			return false;
		}
	}
	return true;
}

/* Before line b, whatever line a is. */
static void compare_before(enum ct_model model, unsigned a, enum nvw_group scope,
	void (*permit)(const struct history *h, const struct cure *c))
{
	unsigned runs = 0; /* of few do all come equally often */

	for (uint64_t seed = 1; seed <= 8 * RUNS && runs < RUNS; seed++) {
		static struct history h;
		const struct cure c = {.edit = edit_of(CT_EDIT_BARRIER, a, LINE_B, scope)};
		struct ct_edited edited;

		make_run(seed, LINE_A, NVW_WORKITEM, &h);
		if (scope > NVW_WORKITEM && !all_come_equally_often(&h, &c)) {
			continue;
		}
		const int fd = write_log(&h);

		const int error = ct_edit_log(fd, 0, &c.edit, 1, &edited);

		if (!error) { /* some run has no store at line b */
			compare_edited(&edited, model, &h, &c, permit, "before a line", seed);
			runs++;
		}
		close(fd);
	}
	assert_true(runs > 5);
}

static void compare(enum ct_model model, enum ct_edit_kind kind, enum nvw_group scope, enum nvw_group waiting,
	void (*permit)(const struct history *h, const struct cure *c))
{
	unsigned runs = 0;

	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		static struct history h;
		const struct cure c = {
			.edit = edit_of(kind, kind == CT_EDIT_WIDEN ? LINE_BARRIER : LINE_A, 0, scope)};
		struct ct_edited edited;
		char text[200];

		make_run(seed, kind == CT_EDIT_WIDEN ? LINE_BARRIER : LINE_A, waiting, &h);
		if (!all_come_equally_often(&h, &c)) {
			continue; /* a store was left out, since they were too many */
		}
		runs++;
		const int fd = write_log(&h);

		assert_ok(ct_edit_log(fd, 0, &c.edit, 1, &edited));
		ct_edit_text(&c.edit, text, sizeof text);
		compare_edited(&edited, model, &h, &c, permit, text, seed);
		close(fd);
	}
	assert_true(runs > RUNS / 4);
}

TEST(a_work_item_barrier_orders_what_equation_1_says)
{
	compare(CT_MODEL_EPOCH, CT_EDIT_BARRIER, NVW_WORKITEM, NVW_WORKITEM, permit_epoch);
	compare(CT_MODEL_BUFFERED, CT_EDIT_BARRIER, NVW_WORKITEM, NVW_WORKITEM, permit_buffered);
	for (unsigned a = 0; a <= LINE_A; a += LINE_A) {
		compare_before(CT_MODEL_EPOCH, a, NVW_WORKITEM, permit_epoch);
		compare_before(CT_MODEL_BUFFERED, a, NVW_WORKITEM, permit_buffered);
	}
}

TEST(a_work_group_barrier_orders_what_equation_2_says)
{
	compare(CT_MODEL_EPOCH, CT_EDIT_BARRIER, NVW_WORKGROUP, NVW_WORKITEM, permit_epoch);
	compare(CT_MODEL_BUFFERED, CT_EDIT_BARRIER, NVW_WORKGROUP, NVW_WORKGROUP, permit_buffered);
	compare_before(CT_MODEL_EPOCH, LINE_A, NVW_WORKGROUP, permit_epoch);
}

TEST(a_kernel_barrier_orders_what_equation_3_says)
{
	compare(CT_MODEL_EPOCH, CT_EDIT_BARRIER, NVW_KERNEL, NVW_WORKITEM, permit_epoch);
	compare(CT_MODEL_BUFFERED, CT_EDIT_BARRIER, NVW_KERNEL, NVW_KERNEL, permit_buffered);
}

TEST(a_widened_barrier_orders_what_its_new_scope_says)
{
	compare(CT_MODEL_EPOCH, CT_EDIT_WIDEN, NVW_WORKGROUP, NVW_WORKITEM, permit_epoch);
	compare(CT_MODEL_BUFFERED, CT_EDIT_WIDEN, NVW_WORKGROUP, NVW_WORKGROUP, permit_buffered);
	compare(CT_MODEL_EPOCH, CT_EDIT_WIDEN, NVW_KERNEL, NVW_WORKITEM, permit_epoch);
	compare(CT_MODEL_BUFFERED, CT_EDIT_WIDEN, NVW_KERNEL, NVW_KERNEL, permit_buffered);
}

/* ---- Order of stores -------------------------------------------------------------------------- */

static void assume(enum ct_edit_kind kind)
{
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		static struct history h;
		const struct cure c = {.edit = edit_of(kind, LINE_A, LINE_B, NVW_WORKITEM), .none = true};
		struct ct_edited edited;

		make_run(seed, LINE_A, NVW_WORKITEM, &h);
		const int fd = write_log(&h);

		if (ct_edit_log(fd, 0, &c.edit, 1, &edited) == 0) { /* some run has no store at line B */
			compare_edited(
				&edited, CT_MODEL_EPOCH, &h, &c, permit_epoch, ct_edit_name(kind), seed);
		}
		close(fd);
	}
}

TEST(an_assumption_leaves_exactly_the_states_that_keep_to_it)
{
	assume(CT_EDIT_DURABLE);
	assume(CT_EDIT_ORDERED);
}

TEST(an_edit_of_a_line_without_records_names_lines_near_it)
{
	static struct history h;
	const struct ct_edit nowhere = edit_of(CT_EDIT_DURABLE, LINE_A + 5, 0, 0);
	struct ct_edited edited;

	make_run(1, LINE_A, NVW_WORKITEM, &h);
	const int fd = write_log(&h);

	assert_int_equal(ct_edit_log(fd, 0, &nowhere, 1, &edited), NVW_E_USAGE);
	assert_error_has("r.c:15");
	assert_error_has("10");
	close(fd);
}

GROUP(set_up, NULL);
