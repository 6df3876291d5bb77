/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cures of planted bugs: what is called verified is what the program lacks, and one bug does not hide the
 * other.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/skip.h"
#include "common/test.h"
#include "../explored.h"
#include "../memory_log.h"

#include <nvw/random.h>

#include <check/check.h>
#include <crashtest/crash.h>
#include <crashtest/judge/process.h>
#include <crashtest/explain/cure.h>
#include <crashtest/states/image.h>

enum { POOL_BYTES = 4096, ROUNDS = 3 };

/* Each line has a word of its own, into which the number of the round goes. */
static void store(struct memory_log *log, unsigned item, unsigned line, uint64_t round)
{
	log_store(log, line, item, item, line_at(line), round);
}

static struct memory_log begin(unsigned lines, unsigned items)
{
	struct memory_log log = begin_log("bugs", POOL_BYTES);

	log_sites(&log, lines, 1, "two.c");
	log_launch(&log, 1, 1, items);
	return log;
}

/* Work-item 0 stores at lines 1 and 2, work-item 1 at 3 and 4, and no barrier is between. */
static int make_log(void)
{
	struct memory_log log = begin(4, 2);

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		store(&log, 0, 1, round);
		store(&log, 1, 3, round);
		store(&log, 0, 2, round);
		store(&log, 1, 4, round);
	}
	return log_end(&log);
}

/* One work-item stores at line 1 and acknowledges at line 2. */
static int make_acked_log(void)
{
	struct memory_log log = begin(2, 1);

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		store(&log, 0, 1, round);
		log_append(&log, (struct nvw_log_record){.kind = NVW_LOG_ACK,
					 .ack = {.first = round, .count = 1, .kernel = 1, .site = 2}});
	}
	return log_end(&log);
}

struct law {
	bool first, second; /* what is stored at 2 is never ahead of 1, at 4 never ahead of 3 */
	bool acked;         /* an acknowledged number is at 1 */
	bool odd;           /* and the last word is never 2, which no order can help */
};

CHECK(judge)
{
	const struct law *const law = context;
	uint64_t word[5];
	int verdict = 0;

	*phase = CT_PHASE_CHECK;
	for (unsigned line = 1; line <= 4; line++) {
		word[line] = ct_image_word(image, line_at(line));
	}
	if (law->first && word[2] > word[1]) {
		verdict = nvw_violation(findings, line_at(2), "the second word is ahead of the first");
	}
	if (law->second && word[4] > word[3]) {
		verdict = nvw_violation(findings, line_at(4), "the fourth word is ahead of the third");
	}
	for (uint64_t round = 1; round <= ROUNDS && law->acked; round++) {
		if (nvw_acked(acks, round) && word[1] < round) {
			verdict = nvw_violation(findings, line_at(1),
				"an operation is lost: %llu was acknowledged", (unsigned long long)round);
		}
	}
	if (law->odd && word[4] == 2) {
		verdict = nvw_violation(findings, line_at(4), "the fourth word is even");
	}
	return verdict;
}

static struct ct_result found; /* of the last search, without what it has allocated */

static void search(const struct ct_exploration *e)
{
	assert_ok(ct_explore(e, NULL, &found));
	assert_ok(ct_cure(e, CT_MODEL_EPOCH, &found));
	ct_result_free(&found);
}

static void cure(struct law law, unsigned jobs)
{
	struct ct_exploration e =
		exploration_of(law.acked ? make_acked_log() : make_log(), POOL_BYTES, judge, CT_MODEL_EPOCH);

	e.context = &law;
	e.options.jobs = jobs;
	search(&e);
	close(e.log_fd);
}

/* A barrier of the work-item between the two lines, wherever it stands. */
static bool orders(const struct ct_cure *c, unsigned a, unsigned b)
{
	return c->count == 1 && c->edit[0].kind == CT_EDIT_BARRIER && c->edit[0].scope == NVW_WORKITEM &&
	       (c->edit[0].a.line == a || c->edit[0].b.line == b);
}

TEST(a_missing_barrier_is_asked_for_and_verified)
{
	cure((struct law){.first = true}, 1);
	assert_int_equal(found.finding_count, 1);
	assert_true(found.finding[0].cure.verified);
	assert_true(found.finding[0].cure.exhaustive);
	assert_true(orders(&found.finding[0].cure, 1, 2));
}

TEST(a_barrier_may_stand_before_an_acknowledgement)
{
	cure((struct law){.acked = true}, 1);
	assert_int_equal(found.finding_count, 1);
	assert_true(found.finding[0].cure.verified && found.finding[0].cure.run == CT_CURE_NOT_RUN);
	assert_true(orders(&found.finding[0].cure, 1, 2));
	assert_int_equal(found.finding[0].cure.edit[0].b.line, 2);
}

TEST(two_bugs_are_both_listed_and_cured)
{
	for (unsigned jobs = 1; jobs <= 2; jobs++) {
		bool first = false, second = false;

		cure((struct law){.first = true, .second = true}, jobs);
		NVW_EACH(finding, found.finding, found.finding_count) {
			const struct ct_cure *const c = &finding->cure;

			assert_true(c->count == 0 || c->verified);
			assert_true(c->count == 0 || c->only > 0);
			first = first || orders(c, 1, 2);
			second = second || orders(c, 3, 4);
		}
		assert_true(first && second);
		assert_int_equal(found.states_uncured, 0);
	}
}

TEST(what_no_order_helps_has_no_verified_cure)
{
	cure((struct law){.first = true, .odd = true}, 1);
	assert_true(found.finding_count >= 2);
	NVW_EACH(finding, found.finding, found.finding_count) {
		assert_false(finding->cure.verified);
	}
	assert_true(found.states_uncured > 0);
	assert_int_equal(found.states_in_none, 0); /* they fail in the words of the finding without a cure */
}

/* ---- Several bugs at once --------------------------------------------------------------------- */

/*
 * Six stores, each once: a state is the set of those that are durable. A rule names a store that must be
 * durable before others.
 */
enum { LINES = 6, SETS = 1 << LINES, RULES_MAX = 3, FIRST_SEED = 10, PROGRAMS = 12 };

struct rules {
	unsigned items, count; /* work-items, which store in turn; rules */
	struct {
		unsigned before, after; /* sets of stores: of the second none without all of the first */
		const char *text;
		bool dies; /* the check does, of a state that breaks the rule */
	} rule[RULES_MAX];
	uint8_t *failed; /* by the set of durable stores: which rules it breaks; shared with the workers */
};

CHECK(judge_rules)
{
	const struct rules *const r = context;
	unsigned set = 0;
	int verdict = 0;

	(void)acks;
	*phase = CT_PHASE_CHECK;
	for (unsigned line = 1; line <= LINES; line++) {
		set |= (unsigned)(ct_image_word(image, line_at(line)) != 0) << (line - 1);
	}
	NVW_FOR(i, r->count) {
		if ((set & r->rule[i].after) == 0 || (set & r->rule[i].before) == r->rule[i].before) {
			continue;
		}
		r->failed[set] |= (uint8_t)(1 << i);
		if (r->rule[i].dies) {
			raise(SIGSEGV);
		}
		verdict = nvw_violation(findings, 0, "%s", r->rule[i].text);
	}
	return verdict;
}

static int log_of_six(unsigned items)
{
	struct memory_log log = begin(LINES, items);

	for (unsigned line = 1; line <= LINES; line++) {
		store(&log, line % items, line, 1);
	}
	return log_end(&log);
}

static struct ct_exploration explore_rules(struct rules *r, unsigned jobs)
{
	struct ct_exploration e =
		exploration_of(log_of_six(r->items), POOL_BYTES, judge_rules, CT_MODEL_EPOCH);

	r->failed = ct_shared_memory(SETS);
	assert_non_null(r->failed);
	e.context = r;
	e.options.jobs = jobs;
	return e;
}

static void forget_rules(struct rules *r, const struct ct_exploration *e)
{
	munmap(r->failed, SETS);
	close(e->log_fd);
}

/* Which states fail with these edits alone, as the check saw it. */
static void look(
	const struct ct_exploration *e, const struct ct_edit *edits, unsigned count, uint8_t ret[SETS])
{
	static struct ct_result result;
	struct ct_exploration quiet = *e;
	const struct rules *const r = e->context;

	memset(r->failed, 0, SETS);
	quiet.options.unexplained = true;
	assert_ok(ct_explore_edited(&quiet, edits, count, NULL, &result));
	assert_int_equal(result.instants_exhausted, result.instants);
	memcpy(ret, r->failed, SETS);
	ct_result_free(&result);
}

/* With what a finding has, alone. */
static void look_with(const struct ct_exploration *e, const struct ct_cure *c, uint8_t ret[SETS])
{
	if (c->masked) {
		look(e, &c->mask, 1, ret);
	} else {
		look(e, c->edit, c->count, ret);
	}
}

static bool fails_so(const struct rules *r, const uint8_t failed[SETS], const char *text)
{
	bool fails = false;

	NVW_FOR(i, r->count) {
		const char *const said =
			r->rule[i].dies ? "the check was killed by signal 11" : r->rule[i].text;

		for (unsigned k = 0; k < SETS && strncmp(text, said, strlen(said)) == 0; k++) {
			fails = fails || failed[k] >> i & 1;
		}
	}
	return fails;
}

/* Counts are those of the cure alone, a finding that goes with another does so, and no state is left out. */
static void compare(const struct rules *r, const struct ct_exploration *e, const struct ct_result *result)
{
	uint8_t all[SETS], with[SETS], kept[SETS];
	unsigned in_none = 0;

	look(e, NULL, 0, all);
	memcpy(kept, all, SETS);
	NVW_EACH(f, result->finding, result->finding_count) {
		uint64_t gone = 0;

		if (f->cure.cured_by > 0) {
			look_with(e, &result->finding[f->cure.cured_by - 1].cure, with);
			assert_false(fails_so(r, with, f->text));
		}
		if (f->cure.count == 0 && !f->cure.masked) {
			continue;
		}
		look_with(e, &f->cure, with);
		NVW_FOR(k, SETS) {
			gone += all[k] && !with[k];
			kept[k] = kept[k] && with[k];
		}
		assert_true(f->by_cure);
		assert_int_equal(f->states, gone);
	}
	NVW_EACH(one, kept, SETS) {
		in_none += *one != 0;
	}
	assert_int_equal(in_none, 0);
	assert_int_equal(result->states_in_none, 0);
	assert_int_equal(result->states_of_several, 0);
	assert_int_equal(result->states_uncured, 0);
}

static struct rules program(unsigned seed)
{
	static const char *const texts[] = {"torn", "lost"};
	struct nvw_random random = {.state = seed};
	struct rules r = {.items = 1 + (unsigned)nvw_random_below(&random, 2)};

	r.count = 2 + (unsigned)nvw_random_below(&random, 2);
	NVW_EACH(rule, r.rule, r.count) {
		const unsigned after = 1 + (unsigned)nvw_random_below(&random, LINES - 1);

		rule->before = 1U << nvw_random_below(&random, after);
		rule->after = 1U << after;
		rule->text = texts[nvw_random_below(&random, 2)];
		rule->dies = nvw_random_below(&random, 8) == 0;
	}
	return r;
}

TEST(every_failing_state_belongs_to_a_finding)
{
	for (unsigned i = 0; i < PROGRAMS; i += one_in(2)) {
		static struct ct_result result;
		struct rules r = program(FIRST_SEED + i);
		const struct ct_exploration e = explore_rules(&r, 1 + i / 2 % 2);

		assert_ok(ct_explore(&e, NULL, &result));
		assert_ok(ct_cure(&e, CT_MODEL_EPOCH, &result));
		assert_true(ct_covers_all(&result));
		compare(&r, &e, &result);
		ct_result_free(&result);
		forget_rules(&r, &e);
	}
}

/* The words of both are the same, and only one of them is explained at first. */
TEST(a_check_that_dies_of_two_bugs_has_two_findings)
{
	static struct ct_result result;
	struct rules r = {.items = 1,
		.count = 2,
		.rule = {{.before = 1, .after = 2, .dies = true}, {.before = 8, .after = 16, .dies = true}}};
	const struct ct_exploration e = explore_rules(&r, 1);

	assert_ok(ct_explore(&e, NULL, &result));
	assert_int_equal(result.finding_count, 1);
	assert_ok(ct_cure(&e, CT_MODEL_EPOCH, &result));
	assert_int_equal(result.finding_count, 2);
	assert_true(result.finding[0].cure.verified && result.finding[1].cure.verified);
	compare(&r, &e, &result);
	ct_result_free(&result);
	forget_rules(&r, &e);
}

/*
 * A kernel barrier of two of the three work-items does not cover the third: what is left has the same words,
 * and relies on the same store.
 */
TEST(what_is_left_of_a_cause_is_a_finding_of_its_own)
{
	static struct ct_result result;
	struct rules r = {.items = 3,
		.count = 2,
		.rule = {{.before = 8, .after = 32, .text = "torn"},
			{.before = 16, .after = 32, .text = "torn"}}};
	const struct ct_exploration e = explore_rules(&r, 1);

	assert_ok(ct_explore(&e, NULL, &result));
	assert_int_equal(result.finding_count, 1);
	assert_ok(ct_cure(&e, CT_MODEL_EPOCH, &result));
	assert_true(result.finding_count > 1);
	compare(&r, &e, &result);
	ct_result_free(&result);
	forget_rules(&r, &e);
}

/* A search with this budget, of two bugs. */
static void search_with(uint64_t states, unsigned stop_after)
{
	struct rules rules = {.items = 1,
		.count = 2,
		.rule = {{.before = 1, .after = 2, .text = "torn"},
			{.before = 8, .after = 16, .text = "lost"}}};
	struct ct_exploration e = explore_rules(&rules, 1);

	e.options.cure_states = states;
	e.options.stop_after = stop_after;
	search(&e);
	forget_rules(&rules, &e);
}

TEST(the_search_for_cures_keeps_to_its_budget)
{
	const struct ct_cure *const c = &found.finding[1].cure;

	search_with(1, 0);
	assert_int_equal(found.finding_count, 2);
	assert_true(found.cure_search_ended);
	assert_int_equal(found.cure_states_most, 1);
	assert_true(!c->searched && c->left > 0 && !c->gone && c->cured_by == 0);
	/* They have the words of a finding that was not searched. */
	assert_int_equal(found.states_in_none, 0);

	search_with(0, 0);
	assert_false(found.cure_search_ended);
	assert_true(found.cure_states <= found.cure_states_most);
	assert_true(c->searched && c->left == 0 && c->verified);
}

/*
 * A test that ends with the first kind of failure has one finding, and the second bug's states are in none.
 */
TEST(states_that_no_finding_has_are_counted)
{
	search_with(0, 1);
	assert_int_equal(found.finding_count, 1);
	assert_true(found.finding[0].cure.count > 0 && !found.finding[0].cure.verified);
	assert_true(found.states_in_none > 0);
	assert_int_equal(found.states_in_none, found.states_uncured);
}

TEST(a_cure_is_named_in_words)
{
	const struct ct_cure c = {.count = 2,
		.edit = {{.kind = CT_EDIT_FLUSH, .a = {.file = "src/list.c", .line = 31}},
			{.kind = CT_EDIT_FENCE, .a = {.file = "src/list.c", .line = 31}}}};
	char text[200];

	ct_cure_text(&c, text, sizeof text);
	assert_string_equal(text, "a flush after list.c:31 and a fence after list.c:31");
}
