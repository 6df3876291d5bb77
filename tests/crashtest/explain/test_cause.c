/* SPDX-License-Identifier: BSD-3-Clause */
/* What a failing state is put down to: causes by need, atomicity, order (hand_log.h). */
#include "common/test.h"

#include <string.h>
#include <crashtest/crash.h>
#include <crashtest/states/image.h>
#include "crashtest/group.h"
#include "../hand_log.h"

enum { THIRD_SITE = 3, FOURTH_SITE = 4 };

/* A stack: word 0 is its head, a node's word its link. */
CHECK(judge_stack)
{
	bool there[16] = {false};
	uint64_t node = ct_image_word(image, 0);
	int verdict = 0;

	*phase = CT_PHASE_CHECK;
	while (node != 0 && node < 16 && !there[node]) {
		there[node] = true;
		node = ct_image_word(image, line_at((unsigned)node));
	}
	for (unsigned op = 1; op < 16; op++) {
		if (nvw_acked(acks, op) && !there[op]) {
			verdict = nvw_violation(findings, line_at(op), "acknowledged node %u is missing", op);
		}
	}
	return verdict;
}

/*
 * The link of node 2 is lost, and its head is durable: node 1 is missing, whose acknowledgement came last. A
 * barrier before that acknowledgement would not help.
 */
TEST(a_store_that_relies_is_the_cause_where_an_acknowledgement_relies_as_well)
{
	struct memory_log run = log_begin(8);

	log_store(&run, DATA_SITE, 1, 0, line_at(1), 0x100);
	log_store(&run, DATA_SITE, 1, 0, line_at(1), 0);
	log_store(&run, FLAG_SITE, 1, 0, 0, 1);
	log_store(&run, DATA_SITE, 2, 0, line_at(2), 1);
	log_store(&run, FLAG_SITE, 2, 0, 0, 2);
	log_append(&run, (struct nvw_log_record){.kind = NVW_LOG_ACK,
				 .ack = {.first = 1, .count = 1, .kernel = 1, .work_item = 1}});
	const struct ct_result r = explored_under(CT_MODEL_EPOCH, log_end(&run), judge_stack, 1000, 1);
	bool found = false;

	NVW_EACH(finding, r.finding, r.finding_count) {
		const struct ct_cause *const c = &finding->cause;

		found = found || (c->kind == CT_CAUSE_MISSING && !strcmp(c->lost, "queue.c:10") &&
					 !strcmp(c->early, "queue.c:20") && !strcmp(c->needed, "work-item"));
	}
	assert_true(found);
}

CHECK(judge_pair)
{
	*phase = CT_PHASE_CHECK;
	return ct_image_word(image, 0) == ct_image_word(image, 64) ?
		       0 :
		       nvw_violation(findings, 64, "half a pair");
}

CHECK(judge_first)
{
	*phase = CT_PHASE_CHECK;
	return ct_image_word(image, 0) == 0 || ct_image_word(image, 64) != 0 ?
		       0 :
		       nvw_violation(findings, 64, "the first without the second");
}

CHECK(judge_never)
{
	*phase = CT_PHASE_CHECK;
	return ct_image_word(image, 0) == 0 ? 0 : nvw_violation(findings, 0, "never right");
}

/* The first word, then the second, by one work-item. */
static struct ct_finding of_two_stores(ct_judge judge)
{
	struct memory_log run = log_begin(8);

	log_store(&run, DATA_SITE, 1, 0, 0, 7);
	log_store(&run, FLAG_SITE, 1, 0, 64, 7);
	const struct ct_result r = explored_under(CT_MODEL_EPOCH, log_end(&run), judge, 1000, 1);

	assert_int_equal(r.finding_count, 1);
	return r.finding[0];
}

TEST(stores_of_which_no_order_helps_must_be_atomic)
{
	const struct ct_finding f = of_two_stores(judge_pair);

	assert_int_equal(f.cause.kind, CT_CAUSE_ATOMIC);
	assert_int_equal(f.cause.group_count, 2);
	assert_int_equal(f.cause.group[0].line, 10);
	assert_int_equal(f.cause.group[1].line, 20);
	assert_has(f.cause.text, "the crash fell between queue.c:10 and :20");
	assert_has(f.cause.text, "must be atomic");
	assert_int_equal(f.proposals.edit[0].kind, CT_EDIT_ATOMIC);
}

TEST(stores_that_pass_in_the_other_order_are_exchanged)
{
	const struct ct_finding f = of_two_stores(judge_first);

	assert_int_equal(f.cause.kind, CT_CAUSE_REVERSED);
	assert_string_equal(f.cause.early, "queue.c:10");
	assert_string_equal(f.cause.lost, "queue.c:20");
	assert_int_equal(f.proposals.edit[0].kind, CT_EDIT_EXCHANGE);
}

CHECK(judge_complete)
{
	const uint64_t word = ct_image_word(image, 0);

	*phase = CT_PHASE_CHECK;
	return word == 0 || word >> 48 != 0 ? 0 : nvw_violation(findings, 0, "reserved, and not complete");
}

/* A word that one store reserves and the next one completes: earlier, the second would be overwritten. */
TEST(stores_to_the_same_bytes_are_not_exchanged)
{
	struct memory_log run = log_begin(8);

	log_store(&run, DATA_SITE, 1, 0, 0, 7);
	log_append(&run, (struct nvw_log_record){.kind = NVW_LOG_STORE,
				 .store = {.site = FLAG_SITE,
					 .kernel = 1,
					 .work_item = 1,
					 .bytes = 2,
					 .off = 6,
					 .value = 9}});
	const struct ct_result r = explored_under(CT_MODEL_EPOCH, log_end(&run), judge_complete, 1000, 1);

	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].cause.kind, CT_CAUSE_ATOMIC);
	assert_string_equal(r.finding[0].cause.lost, "queue.c:20");
	assert_int_equal(r.finding[0].proposals.edit[0].kind, CT_EDIT_ATOMIC);
}

TEST(a_run_that_ends_wrong_needs_no_crash)
{
	const struct ct_finding f = of_two_stores(judge_never);

	assert_int_equal(f.cause.kind, CT_CAUSE_LOGIC);
	assert_has(f.cause.text, "no crash is needed");
}

/* Two flags, each of which needs its own data; the check has one sentence for both. */
CHECK(judge_two)
{
	*phase = CT_PHASE_CHECK;
	for (nvw_off off = 0; off < 512; off += 256) {
		if (ct_image_word(image, off + 64) != 0 && ct_image_word(image, off) == 0) {
			return nvw_violation(findings, 0, "a flag has no data");
		}
	}
	return 0;
}

static struct ct_result of_two_bugs(unsigned jobs)
{
	struct memory_log run = log_begin(8);

	log_name_site(&run, THIRD_SITE, 30);
	log_name_site(&run, FOURTH_SITE, 40);
	log_store(&run, DATA_SITE, 1, 0, 0, 1);
	log_store(&run, FLAG_SITE, 1, 0, 64, 1);
	NVW_FOR(completed, 2) {
		log_append(
			&run, (struct nvw_log_record){.kind = completed ? NVW_LOG_PERSISTED : NVW_LOG_BARRIER,
				      .barrier = {.site = FLAG_SITE,
					      .kernel = 1,
					      .scope = NVW_WORKITEM,
					      .work_item = 1,
					      .work_items = 1,
					      .lanes = 1}});
	}
	log_store(&run, THIRD_SITE, 2, 0, 256, 1);
	log_store(&run, FOURTH_SITE, 2, 0, 320, 1);
	return explored_under(CT_MODEL_EPOCH, log_end(&run), judge_two, 1000, jobs);
}

TEST(two_causes_behind_one_sentence_are_two_findings)
{
	for (unsigned jobs = 1; jobs <= 3; jobs++) {
		const struct ct_result r = of_two_bugs(jobs);

		assert_int_equal(r.finding_count, 2);
		assert_string_equal(r.finding[0].text, r.finding[1].text);
		assert_string_equal(r.finding[0].cause.early, "queue.c:20");
		assert_string_equal(r.finding[1].cause.early, "queue.c:40");
		assert_false(r.finding[0].sample);
		assert_true(r.finding[1].sample);
	}
}

/* A finding of this cause: nothing waits for the store at a line before the one at 60. */
static void make_finding(struct ct_finding *f, unsigned lost)
{
	*f = (struct ct_finding){.cause.kind = CT_CAUSE_MISSING, .place_count = 2};
	snprintf(f->text, sizeof f->text, "line %u is missing", lost);
	snprintf(f->cause.early, sizeof f->cause.early, "queue.c:60");
	snprintf(f->cause.lost, sizeof f->cause.lost, "queue.c:%u", lost);
	f->place[0] = (struct ct_place){.file = "queue.c", .line = 60, .fate = CT_FATE_DURABLE};
	f->place[1] = (struct ct_place){.file = "queue.c", .line = lost, .fate = CT_FATE_LOST};
}

/* One cure does for both, and its cause has the words of the second finding. */
TEST(what_a_joined_cause_names_is_listed_as_lost_in_another_state)
{
	static struct ct_finding f[2];
	unsigned count = 2;

	make_finding(&f[0], 53);
	make_finding(&f[1], 55);
	ct_merge_causes(f, &count);
	assert_int_equal(count, 1);
	assert_string_equal(f[0].text, "line 53 is missing");
	assert_string_equal(f[0].cause.lost, "queue.c:55");
	assert_int_equal(f[0].place_count, 3);
	assert_int_equal(f[0].place[1].line, 53);
	assert_int_equal(f[0].place[1].fate, CT_FATE_LOST);
	assert_int_equal(f[0].place[2].line, 55);
	assert_int_equal(f[0].place[2].fate, CT_FATE_ELSEWHERE);
}
