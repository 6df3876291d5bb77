/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an exploration does besides judging states: shares the budget out, takes like for like, goes on from a
 * file, and names the barrier that is missing. On logs written by hand, of a flag that must not be durable
 * before its data.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/test.h"
#include "memory_log.h"

#include <jansson.h>

#include <crashtest/explore/checkpoint.h>
#include <crashtest/crash.h>
#include <crashtest/states/image.h>

enum { POOL_BYTES = 65536, FLAGS = 32768, GROUP = 64, ITEMS = 256, DATA = 1, FLAG, NEAR, WIDE };

static const uint8_t zeroes[POOL_BYTES];

/* ---- Logs -------------------------------------------------------------------------------------------- */

static struct nvw_log_writer *writer;

static void append(struct nvw_log_record record)
{
	static uint64_t time_ps;

	record.time_ps = time_ps += 1000;
	assert_ok(nvw_log_append(writer, &record));
}

/* Site number i is line 10 i. */
static int begin(void)
{
	const int fd = begin_log("flags", POOL_BYTES, &writer);

	for (uint32_t id = DATA; id <= WIDE; id++) {
		append((struct nvw_log_record){.kind = NVW_LOG_SITE,
			.site = {.id = id, .line = 10 * id, .file = "flags.c", .function = "put"}});
	}
	append(launch_record(1, GROUP, ITEMS, "put"));
	return fd;
}

static void store(uint32_t site, uint64_t item, nvw_off off, uint64_t value)
{
	append((struct nvw_log_record){.kind = NVW_LOG_STORE,
		.store = {.site = site,
			.kernel = 1,
			.work_item = item,
			.group = item / GROUP,
			.bytes = 8,
			.off = off,
			.value = value}});
}

static void issue(uint64_t write, nvw_off off, uint64_t value)
{
	uint64_t line[8] = {0};

	line[off % 64 / 8] = value;
	append((struct nvw_log_record){.kind = NVW_LOG_ISSUE,
		.issue = {.write = write,
			.off = off & ~(nvw_off)63,
			.mask = (uint64_t)0xff << off % 64,
			.data = (const uint8_t *)line}});
}

static void done(uint64_t write)
{
	append((struct nvw_log_record){.kind = NVW_LOG_DONE, .done = {.write = write}});
}

static void end(void)
{
	assert_ok(nvw_log_close(writer, UINT64_C(1) << 40));
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

static struct ct_result explore(int fd, enum ct_model model, struct ct_options options)
{
	static struct ct_result result;

	options.seed = options.jobs = 1;
	options.timeout_ms = 10000;
	const struct ct_exploration e = {.rules = {.model = model},
		.log_fd = fd,
		.initial = zeroes,
		.bytes = POOL_BYTES,
		.judge = judge_flags,
		.options = options};

	assert_ok(ct_explore(&e, NULL, &result));
	close(fd);
	ct_result_free(&result);
	return result;
}

/* ---- Claims ------------------------------------------------------------------------------------------ */

/* Ten instants of 2^8 new states each, which are more than their fair shares and less than the budget. */
TEST(instants_together_stay_within_the_budget)
{
	const int fd = begin();
	uint64_t write = 0;

	for (unsigned round = 1; round <= 10; round++) {
		NVW_FOR(i, 8) {
			issue(++write, 64 * i, round);
		}
		for (unsigned i = 8; i-- > 0;) {
			done(write - i);
		}
	}
	end();
	const struct ct_result r = explore(fd, CT_MODEL_OBSERVED, (struct ct_options){.states = 500});

	assert_in_range(r.states_tested, 400, 500);
}

/* Any of the work-items may be the one whose flag comes first: one of them stands for all. */
TEST(work_items_that_change_places_are_tested_once_and_the_bug_is_found)
{
	struct ct_result r[2];

	NVW_FOR(symmetric, 2) {
		const int fd = begin();

		NVW_FOR(i, 6) {
			store(DATA, i, 64 * i, 1);
			store(FLAG, i, FLAGS + 64 * i, 1);
		}
		end();
		r[symmetric] = explore(
			fd, CT_MODEL_EPOCH, (struct ct_options){.states = 100000, .symmetric = symmetric});
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
	const int fd = begin();
	const struct ct_exploration e = {.log_fd = fd,
		.initial = zeroes,
		.bytes = POOL_BYTES,
		.judge = judge_unmarked,
		.options = {.states = 1000, .seed = 1, .jobs = 1, .timeout_ms = 10000}};
	static struct ct_result result;

	NVW_FOR(i, 6) {
		issue(i + 1, 64 * i, 1);
	}
	NVW_FOR(i, 6) {
		done(i + 1);
	}
	end();
	assert_ok(ct_explore(&e, NULL, &result));
	assert_int_equal(result.states_distinct, 64);
	assert_true(result.consistent);
	ct_result_free(&result);
	close(fd);
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

	assert_int_equal(ct_checkpoint_identity(fd, &e, &plan, 1, &identity), 0);
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
	const int fd = begin();

	end();
	const uint64_t mine = identity_of(fd, CT_MODEL_EPOCH);

	assert_int_not_equal(mine, identity_of(fd, CT_MODEL_STRICT));
	assert_int_not_equal(mine, identity_by(fd, CT_MODEL_EPOCH, "0.1.0-889-g1234567"));
	plan.seed++;
	assert_int_not_equal(mine, identity_of(fd, CT_MODEL_EPOCH));
	plan.seed--;
	shared.distinct = 77;
	assert_int_equal(ct_checkpoint_write(path, mine, &plan, &worker, 1), 0);
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

static void barrier(uint32_t site, enum nvw_group scope, uint64_t group)
{
	NVW_FOR(completed, 2) {
		append((struct nvw_log_record){.kind = completed ? NVW_LOG_PERSISTED : NVW_LOG_BARRIER,
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
	const int fd = begin();

	store(DATA, 0, 0, 1);
	barrier(NEAR, NVW_WORKITEM, 0);
	barrier(WIDE, NVW_WORKGROUP, group);
	store(FLAG, item, FLAGS, 1);
	issue(1, 0, 1);
	issue(2, FLAGS, 1);
	done(2);
	done(1);
	end();
	const struct ct_result r = explore(fd, CT_MODEL_OBSERVED, (struct ct_options){.states = 100});

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
