/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edited logs of loops: stores that are atomic or in another order, flushes and fences, against the states
 * that are meant (edit_rig.h).
 */
#include <unistd.h>
#include "common/test.h"

#include <crashtest/crash.h>
#include <crashtest/explain/edit.h>
#include "edit_rig.h"

/* ---- Order of stores -------------------------------------------------------------------------- */

/* Two rounds of a store at each of the lines, in words of their own. */
static int rounds_log(bool host, const unsigned *lines, unsigned count)
{
	static struct history h;

	h = (struct history){.host = host};
	NVW_FOR(i, 2 * count) {
		struct event *const e = &h.event[h.events++];
		const unsigned line = lines[i % count];

		*e = (struct event){.kind = line == LINE_BARRIER && host ? NVW_LOG_FENCE : NVW_LOG_STORE,
			.item = host,
			.line = line,
			.word = 2 + i % count,
			.number = i};
		h.stores += e->kind == NVW_LOG_STORE;
	}
	if (!host) {
		h.event[h.events++] = (struct event){.kind = NVW_LOG_FINISH};
	}
	return write_log(&h);
}

/* The edited log's states go to explored. */
static void explore_rounds(bool host, const unsigned *lines, unsigned count, const struct ct_edit *edits,
	unsigned n, enum ct_model model)
{
	const int fd = rounds_log(host, lines, count);
	struct ct_edited edited;

	assert_ok(ct_edit_log(fd, 0, edits, n, &edited));
	explore(&edited, model);
	ct_edited_free(&edited);
	close(fd);
}

/* The rounds, from 0 for none, that words 2 and on have in a state. */
static unsigned round_of(const struct state *s, unsigned word, unsigned count)
{
	return s->word[2 + word] == 0 ? 0 : (unsigned)(s->word[2 + word] - 100) / count + 1;
}

TEST(atomic_stores_are_there_together_or_not_at_all)
{
	static const unsigned lines[] = {LINE_A, LINE_OTHER, LINE_B};
	static const enum ct_model models[] = {
		CT_MODEL_EPOCH, CT_MODEL_STRICT, CT_MODEL_BUFFERED, CT_MODEL_EADR};
	const struct ct_edit atomic = edit_of(CT_EDIT_ATOMIC, LINE_A, LINE_B, NVW_WORKITEM);

	for_each(model, models) {
		bool rounds[3] = {false};

		explore_rounds(false, lines, 3, &atomic, 1, *model);
		NVW_EACH(state, explored->state, explored->count) {
			const unsigned a = round_of(state, 0, 3), b = round_of(state, 2, 3);

			if (a != b) {
				fail_msg("%s: a state has half of what is atomic",
					ct_model_info(*model)->name);
			}
			rounds[a] = true;
		}
		assert_true(rounds[0] && rounds[1] && rounds[2]);
	}
}

TEST(exchanged_stores_are_visible_in_the_other_order)
{
	static const unsigned lines[] = {LINE_A, LINE_OTHER, LINE_B};
	const struct ct_edit exchange = edit_of(CT_EDIT_EXCHANGE, LINE_A, LINE_B, NVW_WORKITEM);
	bool between = false;

	explore_rounds(false, lines, 3, &exchange, 1, CT_MODEL_STRICT);
	NVW_EACH(state, explored->state, explored->count) {
		const unsigned a = round_of(state, 0, 3), b = round_of(state, 2, 3);

		assert_true(a <= b);
		between = between || a < b;
	}
	assert_true(between);
}

/* A loop at one of the lines: with the first pair alone exchanged, the others would stay as they are. */
TEST(exchanged_rounds_move_every_store_of_a_loop)
{
	static const unsigned lines[][4] = {
		{LINE_A, LINE_B, LINE_OTHER, LINE_B}, {LINE_A, LINE_OTHER, LINE_A, LINE_B}};

	NVW_FOR(k, 2) {
		struct ct_edit exchange = edit_of(CT_EDIT_EXCHANGE, LINE_A, LINE_B, NVW_WORKITEM);
		const int fd = rounds_log(false, lines[k], 4);
		bool between = false;

		assert_ok(ct_edit_look_for_rounds(fd, &exchange));
		assert_true(exchange.rounds);
		close(fd);
		explore_rounds(false, lines[k], 4, &exchange, 1, CT_MODEL_STRICT);
		NVW_EACH(s, explored->state, explored->count) {
			const unsigned first = round_of(s, 0, 4), middle = round_of(s, k == 0 ? 1 : 2, 4),
				       last = round_of(s, 3, 4);

			assert_true(first <= last);
			assert_true(k == 0 ? first <= middle : middle <= last);
			between = between || first < last;
		}
		assert_true(between);
	}
}

TEST(lines_that_come_once_a_round_are_exchanged_in_pairs)
{
	static const unsigned lines[] = {LINE_A, LINE_OTHER, LINE_B};
	struct ct_edit exchange = edit_of(CT_EDIT_EXCHANGE, LINE_A, LINE_B, NVW_WORKITEM);
	const int fd = rounds_log(false, lines, 3);

	assert_ok(ct_edit_look_for_rounds(fd, &exchange));
	assert_false(exchange.rounds);
	close(fd);
}

TEST(a_flush_and_a_fence_make_a_store_durable_before_the_next)
{
	static const unsigned lines[] = {LINE_A, LINE_B};
	const struct ct_edit both[] = {
		edit_of(CT_EDIT_FLUSH, LINE_A, 0, 0), edit_of(CT_EDIT_FENCE, LINE_A, 0, 0)};

	for (unsigned n = 1; n <= 2; n++) {
		bool early = false;

		explore_rounds(true, lines, 2, both, n, CT_MODEL_X86);
		NVW_EACH(state, explored->state, explored->count) {
			early = early || round_of(state, 1, 2) > round_of(state, 0, 2);
		}
		assert_int_equal(early, n == 1); /* a flush without a fence is none */
	}
}

GROUP(set_up, NULL);
