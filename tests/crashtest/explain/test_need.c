/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a failing state is said to lack: laws of a few words, and the stores that a crash must not cut apart.
 */
#include <string.h>
#include <unistd.h>
#include "common/test.h"
#include "../explored.h"
#include "../memory_log.h"

#include <check/check.h>
#include <crashtest/crash.h>
#include <crashtest/states/image.h>

enum { POOL_BYTES = 4096, LINES = 6, GROUPED = 16 };

/*
 * A store of a work-item at a line (items from GROUPED on are of one group, the others of their own), which
 * has its own word; bytes and value as the law wants them.
 */
struct step {
	unsigned item, line;
	nvw_off off;
	uint32_t bytes;
	unsigned kernel;
};

typedef int law(const uint64_t word[LINES], struct nvw_findings *findings);

static int make_log(const struct step *step, unsigned count)
{
	struct memory_log log = begin_log("needs", POOL_BYTES);

	log_sites(&log, LINES - 1, 1, "need.c");
	for (unsigned i = 0, kernel = 0; i < count; i++) {
		if (step[i].kernel != kernel) {
			kernel = step[i].kernel;
			log_launch(&log, kernel, 1, 32);
		}
		log_append(&log, (struct nvw_log_record){.kind = NVW_LOG_STORE,
					 .store = {.site = step[i].line,
						 .kernel = step[i].kernel,
						 .work_item = step[i].item,
						 .group = step[i].item < GROUPED ? step[i].item : GROUPED,
						 .bytes = step[i].bytes,
						 .off = step[i].off,
						 .value = 1}});
	}
	return log_end(&log);
}

CHECK(judge)
{
	law *const *const is_broken = context;
	uint64_t word[LINES] = {0};

	(void)acks;
	*phase = CT_PHASE_CHECK;
	for (unsigned line = 1; line < LINES; line++) {
		word[line] = ct_image_word(image, line_at(line));
	}
	return (*is_broken)(word, findings);
}

static const struct ct_result *explore(law *is_broken, const struct step *step, unsigned count)
{
	struct ct_exploration e = exploration_of(make_log(step, count), POOL_BYTES, judge, CT_MODEL_EPOCH);

	e.context = &is_broken;
	const struct ct_result *const r = explored_by(&e);

	close(e.log_fd);
	return r;
}

static bool has_line(const struct ct_cause *c, unsigned line)
{
	return NVW_ANY(group, c->group, c->group_count, group->line == line);
}

/* A node of a chain is there: its keys, its link and its limit change together. */
static int chain(const uint64_t word[LINES], struct nvw_findings *findings)
{
	if (word[1] == 0 || (word[2] == word[3] && word[3] == word[4])) {
		return 0;
	}
	return word[2] && word[4] ? nvw_violation(findings, line_at(3), "the link is wrong") :
				    nvw_violation(findings, line_at(2), "a key is lost");
}

/*
 * The limit is durable and the link is not: an order of the two does not help. Nor does it help to store the
 * node later, though the state would pass without the node.
 */
TEST(two_stores_in_flight_that_fail_in_both_orders_must_be_atomic)
{
	static const struct step step[] = {
		{0, 1, 64, 8, 1}, {0, 2, 128, 8, 1}, {0, 3, 192, 8, 1}, {0, 4, 256, 8, 1}, {1, 5, 320, 8, 1}};
	const struct ct_result *const r = explore(chain, step, 5);

	assert_true(r->finding_count > 0);
	NVW_EACH(finding, r->finding, r->finding_count) {
		const struct ct_cause *const c = &finding->cause;

		assert_int_equal(c->kind, CT_CAUSE_ATOMIC);
		assert_true(has_line(c, 2) && has_line(c, 4));
		assert_false(has_line(c, 1) || has_line(c, 5));
	}
}

/*
 * Half an announcement names a node of the wrong list, unless the other list's head says that the node is
 * there.
 */
static int announcement(const uint64_t word[LINES], struct nvw_findings *findings)
{
	const bool low = (uint32_t)word[2] != 0, high = word[2] >> 32 != 0;

	if (low == high || (low && word[1] != 0)) {
		return 0;
	}
	return nvw_violation(findings, line_at(2), "the announcement names no node");
}

/* The head is another work-item's, which no barrier of this one orders; the word is torn all the same. */
TEST(halves_of_a_word_must_be_atomic_whoever_was_overtaken)
{
	static const struct step step[] = {{1, 1, 64, 8, 1}, {0, 2, 128, 4, 1}, {0, 3, 132, 4, 1}};
	const struct ct_result *const r = explore(announcement, step, 3);

	assert_true(r->finding_count > 0);
	NVW_EACH(finding, r->finding, r->finding_count) {
		const struct ct_cause *const c = &finding->cause;

		assert_int_equal(c->kind, CT_CAUSE_ATOMIC);
		assert_true(has_line(c, 2) && has_line(c, 3));
	}
}

/* Whoever stores at line 2 once has to store there again. */
static int content(const uint64_t word[LINES], struct nvw_findings *findings)
{
	return word[2] && !word[3] ? nvw_violation(findings, line_at(2), "the content is wrong") : 0;
}

TEST(a_line_that_stores_too_little_is_not_exchanged_with_itself)
{
	static const struct step step[] = {{0, 2, 128, 8, 1}, {0, 2, 192, 8, 2}};
	const struct ct_result *const r = explore(content, step, 2);

	assert_int_equal(r->finding_count, 1);
	assert_int_equal(r->finding[0].cause.kind, CT_CAUSE_CONTENT);
	assert_int_equal(r->finding[0].proposals.count, 0);
}

/*
 * While block 1 has no reference, of line 4, there is a leak; what else is lost changes the words of the
 * violation.
 */
static int leak(const uint64_t word[LINES], struct nvw_findings *findings)
{
	if (word[1] == 0 || word[4] != 0) {
		return 0;
	}
	return word[2] && word[5] && !word[3] ? nvw_violation(findings, line_at(3), "the parent is wrong") :
						nvw_violation(findings, line_at(1), "%u words and a leak",
							(unsigned)(word[2] + word[3] + word[5]));
}

/* With nothing lost it fails as well: what was lost is not the cause. */
TEST(what_changes_how_a_state_fails_is_not_its_cause)
{
	static const struct step step[] = {
		{0, 1, 64, 8, 1}, {1, 2, 128, 8, 1}, {1, 3, 192, 8, 1}, {1, 5, 320, 8, 1}, {0, 4, 256, 8, 1}};
	const struct ct_result *const r = explore(leak, step, 5);

	assert_int_equal(r->finding_count, 1);
	assert_int_equal(r->finding[0].cause.kind, CT_CAUSE_REVERSED);
	assert_string_equal(r->finding[0].cause.early, "need.c:1");
	assert_string_equal(r->finding[0].cause.lost, "need.c:4");
}

/*
 * A work-item makes a failure, and another one of its group ends it; then it happens once more, in another
 * group.
 */
static int broken_twice(const uint64_t word[LINES], struct nvw_findings *findings)
{
	return (word[1] && !word[2]) || (word[3] && !word[4]) ?
		       nvw_violation(findings, line_at(1), "it is open") :
		       0;
}

/* What another work-item of the group does next is what ends the window, not the end of a later one. */
TEST(a_window_ends_with_the_next_store_of_the_group_that_ends_it)
{
	static const struct step step[] = {{GROUPED, 1, 64, 8, 1}, {5, 5, 320, 8, 1},
		{GROUPED + 1, 2, 128, 8, 1}, {2, 3, 192, 8, 1}, {5, 5, 328, 8, 1}, {5, 5, 336, 8, 1},
		{5, 5, 344, 8, 1}, {5, 5, 352, 8, 1}, {5, 5, 360, 8, 1}, {3, 4, 256, 8, 1}};
	bool seen = false;
	const struct ct_result *const r = explore(broken_twice, step, NVW_COUNT(step));

	NVW_EACH(finding, r->finding, r->finding_count) {
		const struct ct_cause *const c = &finding->cause;

		if (strcmp(c->early, "need.c:1") == 0) {
			seen = true;
			assert_string_equal(c->lost, "need.c:2");
		}
	}
	assert_true(seen);
}

/* In every second kernel line 2 stores where nobody looks: it ends what line 1 began in the others alone. */
static int in_the_wrong_place(const uint64_t word[LINES], struct nvw_findings *findings)
{
	return word[1] && !word[4] ? nvw_violation(findings, line_at(1), "it is not where it should be") : 0;
}

TEST(what_goes_on_behind_the_store_that_should_end_it_needs_no_order)
{
	static const struct step step[] = {
		{0, 1, 64, 8, 1}, {0, 2, 320, 8, 1}, {0, 1, 72, 8, 2}, {0, 2, 256, 8, 2}};
	const struct ct_result *const r = explore(in_the_wrong_place, step, 4);

	assert_int_equal(r->finding_count, 1);
	assert_int_equal(r->finding[0].cause.kind, CT_CAUSE_CONTENT);
}
