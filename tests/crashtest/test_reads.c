/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pruning by what is looked at must not change a verdict. The judges here are random decision trees over the
 * words of a state: each looks at few of them, which ones depends on what it has seen so far, and some leaves
 * fail. Whether any state fails is known by going through all of them.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "explored.h"
#include "memory_log.h"

#include <check/check.h>
#include <crashtest/crash.h>
#include <crashtest/judge/process.h>
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
	struct memory_log log = begin_log("words", POOL_BYTES);

	log_sites(&log, 1, 1, "w.c");
	log_launch(&log, 1, 1, 1);
	NVW_FOR(i, WORDS) {
		log_store(&log, 1, 0, 0, place(i), 1);
	}
	return log_end(&log);
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

static struct ct_exploration in_a_tree(int fd, ct_judge judge)
{
	struct ct_exploration e = exploration_of(fd, POOL_BYTES, judge, CT_MODEL_EPOCH);

	e.tells_reads = true;
	e.options.states = BUDGET;
	e.options.unexplained = true;
	return e;
}

CHECK(judge)
{
	const uint64_t *const seed = context;

	*phase = CT_PHASE_CHECK;
	return fails(*seed, look, image) ? nvw_violation(findings, 0, "a leaf that fails") : 0;
}

TEST(verdicts_are_those_of_going_through_every_state)
{
	const int fd = make_log();
	struct ct_exploration e = in_a_tree(fd, judge);
	unsigned consistent = 0;

	for (uint64_t seed = 1; seed <= JUDGES; seed++) {
		e.rules.unit_bytes = seed % 2 ? 8 : 64;
		e.context = &seed;
		e.options.seed = seed;
		e.options.unexplained = seed % 8 != 0;
		const struct ct_result *const result = explored_by(&e);

		assert_int_equal(result->consistent, !some_state_fails(seed));
		if (result->consistent) {
			assert_int_equal(result->instants_by_reads, 1);
			assert_true(result->states_distinct <= 1 << DEPTH);
		} else if (seed % 8 == 0) {
			assert_true(result->finding[0].minimised);
		}
		consistent += result->consistent;
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

TEST(a_death_in_a_tree_loses_no_state)
{
	const int fd = make_log();
	const struct ct_exploration e = in_a_tree(fd, judge_that_dies);
	const struct ct_result *const result = explored_by(&e);
	bool killed = false, failed = false;

	NVW_EACH(finding, result->finding, result->finding_count) {
		killed = killed || finding->signal == SIGABRT;
		failed = failed || !strcmp(finding->text, "behind a state that kills");
	}
	assert_true(killed);
	assert_true(failed);
	assert_int_equal(result->instants_exhausted, 0);
	assert_true(result->states_distinct >= BUDGET / 2);
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

	kills = ct_shared_memory(sizeof *kills);
	assert_true(kills != NULL);
	NVW_FOR(i, 2) {
		*kills = 2 * i;
		result[i] = *explored_by(&e);
		assert_int_equal(*kills, 0);
	}
	assert_int_equal(result[0].states_distinct, result[1].states_distinct);
	assert_int_equal(result[0].states_equal, result[1].states_equal);
	assert_int_equal(result[0].states_failing, result[1].states_failing);
	assert_int_equal(result[0].finding_count, result[1].finding_count);
	assert_int_equal(result[1].states_undecided, 0);
	munmap((void *)(uintptr_t)kills, sizeof *kills);
	close(fd);
}
