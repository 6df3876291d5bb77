/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an exploration does besides judging states: shares the budget out, takes like for like, goes on from a
 * file, and names the barrier that is missing. On logs written by hand, of a flag that must not be durable
 * before its data.
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include "explored.h"
#include "memory_log.h"

#include <jansson.h>

#include <crashtest/explore/checkpoint.h>
#include <crashtest/crash.h>
#include <crashtest/states/image.h>

enum { POOL_BYTES = 65536, FLAGS = 32768, GROUP = 64, ITEMS = 256, DATA = 1, FLAG, NEAR, WIDE };

/* ---- Logs -------------------------------------------------------------------------------------------- */

/* Site number i is line 10 i. */
static struct memory_log begin(void)
{
	struct memory_log log = begin_log("flags", POOL_BYTES);

	log_sites(&log, WIDE, 10, "flags.c");
	log_launch(&log, 1, GROUP, ITEMS);
	return log;
}

CHECK(judge_flags)
{
	int verdict = 0;

	*phase = CT_PHASE_CHECK;
	NVW_FOR(i, ITEMS) {
		if (ct_image_word(image, FLAGS + 64 * i) && !ct_image_word(image, 64 * i)) {
			verdict = nvw_violation(findings, FLAGS + 64 * i, "flag %u has no data", i);
		}
	}
	return verdict;
}

static struct ct_result explore(int fd, enum ct_model model, uint64_t states, bool symmetric)
{
	struct ct_exploration e = exploration_of(fd, POOL_BYTES, judge_flags, model);

	e.options.states = states;
	e.options.symmetric = symmetric;
	const struct ct_result *const result = explored_by(&e);

	close(fd);
	return *result;
}

/* ---- Claims ------------------------------------------------------------------------------------------ */

/* Ten instants of 2^8 new states each, which are more than their fair shares and less than the budget. */
TEST(instants_together_stay_within_the_budget)
{
	struct memory_log log = begin();

	for (unsigned round = 1; round <= 10; round++) {
		NVW_FOR(i, 8) {
			log_issue(&log, 64 * i, round);
		}
		for (unsigned i = 8; i-- > 0;) {
			log_done(&log, log.write - i);
		}
	}
	const struct ct_result r = explore(log_end(&log), CT_MODEL_OBSERVED, 500, false);

	assert_in_range(r.states_tested, 400, 500);
}

/* Any of the work-items may be the one whose flag comes first: one of them stands for all. */
TEST(work_items_that_change_places_are_tested_once_and_the_bug_is_found)
{
	struct ct_result r[2];

	NVW_FOR(symmetric, 2) {
		struct memory_log log = begin();

		NVW_FOR(i, 6) {
			log_store(&log, DATA, i, i / GROUP, 64 * i, 1);
			log_store(&log, FLAG, i, i / GROUP, FLAGS + 64 * i, 1);
		}
		r[symmetric] = explore(log_end(&log), CT_MODEL_EPOCH, 100000, symmetric);
		assert_false(r[symmetric].consistent);
		assert_int_equal(r[symmetric].states_symmetric > 0, symmetric);
	}
	/*
	 * Each of six work-items has neither, data, flag or both: combinations in which their order is no
	 * matter.
	 */
	assert_int_equal(r[0].states_distinct, 4096);
	assert_int_equal(r[1].states_distinct, 84);
}

/* A recovery that leaves its mark, in two words: no state may have it before. */
CHECK(judge_unmarked)
{
	const uint64_t mark = 77;

	*phase = CT_PHASE_CHECK;
	for (nvw_off off = POOL_BYTES - 16; off < POOL_BYTES; off += 8) {
		if (ct_image_word(image, off)) {
			return nvw_violation(findings, off, "what another state's recovery wrote is here");
		}
		if (ct_image_write(image, off, &mark, 8)) {
			return nvw_violation(findings, off, "%s", nvw_error_message());
		}
	}
	return 0;
}

TEST(nothing_of_what_recovery_wrote_is_in_another_state)
{
	struct memory_log log = begin();

	NVW_FOR(i, 6) {
		log_issue(&log, 64 * i, 1);
	}
	NVW_FOR(i, 6) {
		log_done(&log, i + 1);
	}
	const struct ct_exploration e =
		exploration_of(log_end(&log), POOL_BYTES, judge_unmarked, CT_MODEL_OBSERVED);
	const struct ct_result *const result = explored_by(&e);

	assert_int_equal(result->states_distinct, 64);
	assert_true(result->consistent);
	close(log.fd);
}

/* ---- Checkpoints ------------------------------------------------------------------------------------- */

static struct ct_shared shared;
static struct ct_interval interval;
static struct ct_worker worker = {.shared = &shared, .shared_bytes = sizeof shared};
static struct ct_plan plan = {.interval = &interval, .instants = 1, .seed = 1, .budget = 100};

static uint64_t identity_by(int fd, enum ct_model model, const char *revision)
{
	json_t *const head = json_pack("{s:{s:s}}", "made_by", "version", revision);
	const struct ct_exploration e = {.rules = {.model = model}, .head = head};
	uint64_t identity;

	assert_ok(ct_checkpoint_identity(fd, &e, &plan, 1, &identity));
	json_decref(head);
	return identity;
}

static uint64_t identity_of(int fd, enum ct_model model)
{
	return identity_by(fd, model, "0.1.0-888-g7ed8afe");
}

TEST(a_checkpoint_is_of_its_own_exploration_and_whole)
{
	const char *const path = "/tmp/nvwave-test-checkpoint";
	struct memory_log log = begin();
	const int fd = log_end(&log);
	const uint64_t mine = identity_of(fd, CT_MODEL_EPOCH);

	assert_int_not_equal(mine, identity_of(fd, CT_MODEL_STRICT));
	assert_int_not_equal(mine, identity_by(fd, CT_MODEL_EPOCH, "0.1.0-889-g1234567"));
	plan.seed++;
	assert_int_not_equal(mine, identity_of(fd, CT_MODEL_EPOCH));
	plan.seed--;
	shared.distinct = 77;
	assert_ok(ct_checkpoint_write(path, mine, &plan, &worker, 1));
	shared.distinct = 0;
	assert_int_equal(ct_checkpoint_read(path, mine, &plan, &worker, 1), 1);
	assert_int_equal(shared.distinct, 77);
	assert_int_equal(ct_checkpoint_read(path, mine + 1, &plan, &worker, 1), NVW_E_INPUT);
	FILE *const f = fopen(path, "r+b");

	fseek(f, 24 + (long)(sizeof interval + 8 + offsetof(struct ct_shared, distinct)), SEEK_SET);
	fputc(78, f);
	fclose(f);
	assert_int_equal(ct_checkpoint_read(path, mine, &plan, &worker, 1), NVW_E_DAMAGED);
	unlink(path);
	close(fd);
}

/* ---- Causes ------------------------------------------------------------------------------------------ */

static void barrier(struct memory_log *log, uint32_t site, enum nvw_group scope, uint64_t group)
{
	NVW_FOR(completed, 2) {
		log_append(
			log, (struct nvw_log_record){.kind = completed ? NVW_LOG_PERSISTED : NVW_LOG_BARRIER,
				     .barrier = {.site = site,
					     .kernel = 1,
					     .scope = scope,
					     .work_item = group * GROUP,
					     .group = group,
					     .work_items = GROUP,
					     .lanes = scope == NVW_WORKITEM}});
	}
}

/* Work-item 0's data, a barrier that somebody meets, the flag of a work-item of that group. */
static struct ct_cause cause_of(uint64_t item, uint64_t group)
{
	struct memory_log log = begin();

	log_store(&log, DATA, 0, 0, 0, 1);
	barrier(&log, NEAR, NVW_WORKITEM, 0);
	barrier(&log, WIDE, NVW_WORKGROUP, group);
	log_store(&log, FLAG, item, item / GROUP, FLAGS, 1);
	log_issue(&log, 0, 1);
	log_issue(&log, FLAGS, 1);
	log_done(&log, 2);
	log_done(&log, 1);
	const struct ct_result r = explore(log_end(&log), CT_MODEL_OBSERVED, 100, false);

	assert_int_equal(r.finding_count, 1);
	return r.finding[0].cause;
}

TEST(the_barrier_that_is_named_is_one_that_the_lost_store_s_work_item_met)
{
	const struct ct_cause far = cause_of(130, 2), near = cause_of(30, 0), own = cause_of(0, 1);

	/* It met its own, which is too narrow; the other group's is none of its. */
	assert_int_equal(far.kind, CT_CAUSE_NARROW);
	assert_int_equal(far.line, 10 * NEAR);
	assert_string_equal(far.needed, "kernel");
	assert_int_equal(near.kind, CT_CAUSE_APART);
	assert_int_equal(near.line, 10 * WIDE);
	assert_string_equal(near.needed, "work-group");
	assert_int_equal(own.kind, CT_CAUSE_APART);
	assert_int_equal(own.line, 10 * NEAR);
	assert_string_equal(own.needed, "work-item");
}

/* A recorded run of a server had 2^2368 states; a double has less than 2^1024. */
TEST(states_of_several_runs_are_added_by_their_logarithms)
{
	assert_true(ct_log2_sum(2000, 2000) == 2001);
	assert_true(ct_log2_sum(3, 3000) == 3000);
	assert_true(ct_log2_sum(-INFINITY, 5) == 5);
	assert_true(ct_log2_sum(-INFINITY, -INFINITY) == -INFINITY);
}
