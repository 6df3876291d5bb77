/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pruning by what is looked at must not change a verdict. The judges here are random decision trees over the
 * words of a state: each looks at few of them, which ones depends on what it has seen so far, and some leaves
 * fail. Whether any state fails is known by going through all of them.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/test.h"
#include "memory_log.h"

#include <check/check.h>
#include <crashtest/crash.h>
#include <crashtest/states/image.h>
#include <nvw/random.h>

enum { POOL_BYTES = 8192, WORDS = 14, DEPTH = 5, JUDGES = 300, BUDGET = 200 };

static nvw_off place(unsigned word)
{
	return 512 * (nvw_off)word + 24; /* not the first of its line */
}

/* Fourteen stores that nothing orders. */
static int make_log(void)
{
	struct nvw_log_writer *w;
	const int fd = begin_log("words", POOL_BYTES, &w);

	struct nvw_log_record r = site_record(1, 1, "w.c");

	assert_ok(nvw_log_append(w, &r));
	r = launch_record(1, 1, 1, "words");
	assert_ok(nvw_log_append(w, &r));
	NVW_FOR(i, WORDS) {
		r = (struct nvw_log_record){.kind = NVW_LOG_STORE,
			.time_ps = 1000 * (i + 1),
			.store = {.site = 1, .kernel = 1, .bytes = 8, .off = place(i), .value = 1}};
		assert_ok(nvw_log_append(w, &r));
	}
	assert_ok(nvw_log_close(w, 100000));
	return fd;
}

/* Walks down the tree of a seed: true if the leaf fails. */
static bool fails(uint64_t seed, uint64_t (*word)(const void *state, unsigned i), const void *state)
{
	uint64_t path = nvw_mix64(seed);

	NVW_FOR(depth, DEPTH) {
		path = nvw_mix64(path + word(state, (unsigned)(path % WORDS)));
	}
	return path % 128 == 0;
}

static uint64_t bit(const void *state, unsigned i)
{
	return *(const uint32_t *)state >> i & 1;
}

static bool some_state_fails(uint64_t seed)
{
	NVW_FOR(state, 1u << WORDS) {
		if (fails(seed, bit, &state)) {
			return true;
		}
	}
	return false;
}

static uint64_t look(const void *state, unsigned i)
{
	const struct ct_image *const image = state;

	struct nvw_pool_reads *const r = image->reads;

	if (r != NULL) { /* an element a word, so that the order is known: places are 512 bytes apart */
		if (r->words[i] == 0) {
			r->rank[i] = r->count;
			r->order[r->count++] = i;
		}
		r->words[i] |= 1 << 3;
	}
	return ct_image_word(image, place(i));
}

CHECK(judge)
{
	const uint64_t *const seed = context;

	*phase = CT_PHASE_CHECK;
	return fails(*seed, look, image) ? nvw_violation(findings, 0, "a leaf that fails") : 0;
}

TEST(verdicts_are_those_of_going_through_every_state)
{
	static const uint8_t initial[POOL_BYTES];
	static struct ct_result result;
	const int fd = make_log();
	unsigned consistent = 0;

	for (uint64_t seed = 1; seed <= JUDGES; seed++) {
		const struct ct_exploration e = {
			.rules = {.model = CT_MODEL_EPOCH, .unit_bytes = seed % 2 ? 8 : 64},
			.log_fd = fd,
			.initial = initial,
			.bytes = POOL_BYTES,
			.judge = judge,
			.context = (void *)(uintptr_t)&seed,
			.tells_reads = true,
			.options = {.states = BUDGET,
				.seed = seed,
				.jobs = 1,
				.timeout_ms = 10000,
				.unexplained = seed % 8 != 0},
		};

		assert_ok(ct_explore(&e, NULL, &result));
		assert_int_equal(result.consistent, !some_state_fails(seed));
		if (result.consistent) {
			assert_int_equal(result.instants_by_reads, 1);
			assert_true(result.states_distinct <= 1 << DEPTH);
		} else if (seed % 8 == 0) {
			assert_true(result.finding[0].minimised);
		}
		consistent += result.consistent;
		ct_result_free(&result);
	}
	assert_true(consistent > JUDGES / 10 && consistent < JUDGES * 9 / 10);
	close(fd);
}

/* Word 0 alone decides, but for the states that have it: of these some kill, others fail. */
CHECK(judge_that_dies)
{
	*phase = CT_PHASE_CHECK;
	if (look(image, 0) == 0) {
		return 0;
	}
	if (look(image, 1) == 0 && look(image, 2) == 0 && look(image, 3) == 0) {
		raise(SIGABRT);
	}
	return look(image, 1) ? nvw_violation(findings, 0, "behind a state that kills") : 0;
}

static struct ct_exploration in_a_tree(int fd, ct_judge judge)
{
	static const uint8_t initial[POOL_BYTES];

	return (struct ct_exploration){
		.rules = {.model = CT_MODEL_EPOCH},
		.log_fd = fd,
		.initial = initial,
		.bytes = POOL_BYTES,
		.judge = judge,
		.tells_reads = true,
		.options = {.states = BUDGET, .seed = 1, .jobs = 1, .timeout_ms = 10000, .unexplained = true},
	};
}

TEST(a_death_in_a_tree_loses_no_state)
{
	static struct ct_result result;
	const int fd = make_log();
	const struct ct_exploration e = in_a_tree(fd, judge_that_dies);
	bool killed = false, failed = false;

	assert_ok(ct_explore(&e, NULL, &result));
	NVW_EACH(finding, result.finding, result.finding_count) {
		killed = killed || finding->signal == SIGABRT;
		failed = failed || !strcmp(finding->text, "behind a state that kills");
	}
	assert_true(killed);
	assert_true(failed);
	assert_int_equal(result.instants_exhausted, 0);
	assert_true(result.states_distinct >= BUDGET / 2);
	ct_result_free(&result);
	close(fd);
}

static volatile unsigned *kills;

/* Word 0 alone decides, if nobody kills the process on the way. */
CHECK(judge_that_is_killed)
{
	*phase = CT_PHASE_CHECK;
	if (look(image, 0) == 0) {
		return 0;
	}
	if (*kills > 0) {
		--*kills;
		raise(SIGKILL);
	}
	return look(image, 1) && look(image, 2) ? nvw_violation(findings, 0, "three words") : 0;
}

TEST(a_kill_from_outside_in_a_tree_changes_nothing)
{
	static struct ct_result result[2];
	const int fd = make_log();
	const struct ct_exploration e = in_a_tree(fd, judge_that_is_killed);

	kills = mmap(NULL, sizeof *kills, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true((const void *)kills != MAP_FAILED);
	NVW_FOR(i, 2) {
		*kills = 2 * i;
		assert_ok(ct_explore(&e, NULL, &result[i]));
		assert_int_equal(*kills, 0);
		ct_result_free(&result[i]);
	}
	assert_int_equal(result[0].states_distinct, result[1].states_distinct);
	assert_int_equal(result[0].states_equal, result[1].states_equal);
	assert_int_equal(result[0].states_failing, result[1].states_failing);
	assert_int_equal(result[0].finding_count, result[1].finding_count);
	assert_int_equal(result[1].states_undecided, 0);
	munmap((void *)(uintptr_t)kills, sizeof *kills);
	close(fd);
}
