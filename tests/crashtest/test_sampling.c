/* SPDX-License-Identifier: BSD-3-Clause */
/* More states than the budget: which are tested, by one job or several (hand_log.h). */
#include <sys/mman.h>
#include <unistd.h>
#include "common/test.h"

#include <crashtest/crash.h>
#include <crashtest/judge/process.h>
#include <crashtest/states/image.h>
#include "hand_log.h"
#include "same_result.h"

/* Batches of 40 data words and flags in flight at once: far too many states. */
static int batch_log(unsigned batches)
{
	struct memory_log run = log_begin(8);

	NVW_FOR(batch, batches) {
		uint64_t write[80];

		NVW_FOR(i, 40) {
			const unsigned op = 40 * batch + i;

			write[i] = log_issue(&run, data_off(op), 100 + op);
			write[40 + i] = log_issue(&run, flag_off(op), 1);
		}
		NVW_EACH(one, write, 80) {
			log_done(&run, *one);
		}
		NVW_FOR(i, 40) {
			log_acknowledge(&run, 40 * batch + i);
		}
	}
	return log_end(&run);
}

TEST(too_many_states_are_sampled_within_the_budget)
{
	const struct ct_result r = explored(batch_log(10), judge_queue, 500, 1);

	assert_false(r.consistent);
	assert_true(r.states_tested <= 500 && r.states_tested > 400);
	assert_true(r.states_possible_log2 > 80);
	assert_true(r.instants_exhausted < r.instants);
	assert_true(r.finding[0].minimised);
	assert_int_equal(r.finding[0].units_lost, 1); /* one lost word is enough */
}

enum { CELLS = 80, FEW = 10 };

/*
 * The processes share these counts of states with few cells durable, and of those with few lost: how often
 * each was the odd one.
 */
static struct odd {
	unsigned durable[CELLS], lost[CELLS], sparse, dense;
} * odd;

CHECK(judge_density)
{
	unsigned durable = 0;

	*phase = CT_PHASE_CHECK;
	NVW_FOR(i, CELLS) {
		durable += image->ro[8 * i] != 0;
	}
	odd->sparse += durable <= FEW;
	odd->dense += durable >= CELLS - FEW;
	NVW_FOR(i, CELLS) {
		odd->durable[i] += durable <= FEW && image->ro[8 * i];
		odd->lost[i] += durable >= CELLS - FEW && !image->ro[8 * i];
	}
	return 0;
}

/* Uniform draws alone have half of the cells durable, more or less. */
TEST(samples_have_every_density_and_leave_out_no_cell)
{
	struct memory_log run = log_begin(8);
	uint64_t write[CELLS];

	NVW_FOR(i, CELLS) {
		write[i] = log_issue(&run, 8 * (nvw_off)i, 1);
	}
	NVW_EACH(one, write, CELLS) {
		log_done(&run, *one);
	}
	log_end(&run);
	odd = ct_shared_memory(sizeof *odd);
	assert_non_null(odd);
	explored(run.fd, judge_density, 8000, 1);
	assert_true(odd->sparse > 100 && odd->dense > 100);
	NVW_FOR(i, CELLS) {
		assert_in_range(odd->durable[i], 1, odd->sparse / 2);
		assert_in_range(odd->lost[i], 1, odd->dense / 2);
	}
	munmap(odd, sizeof *odd);
}

TEST(fewer_states_than_instants_are_spread_over_them)
{
	const struct ct_result r = explored(log_of_queue(300, true), judge_queue, 50, 1);

	assert_true(r.consistent);
	assert_true(r.instants > 500);
	assert_in_range(r.states_tested, 45, 50);
}

TEST(one_seed_gives_one_result_whatever_the_number_of_jobs)
{
	static struct ct_result one, again, four; /* 2 MiB each */

	one = explored(batch_log(10), judge_queue, 2000, 1);
	again = explored(batch_log(10), judge_queue, 2000, 1);
	four = explored(batch_log(10), judge_queue, 2000, 4);

	assert_same_result(&one, &again);
	assert_same_result(&one, &four);
}

/*
 * Every second round leaves the words as the one before the last did, and acknowledges what is acknowledged.
 */
static int repeating_log(void)
{
	struct memory_log run = log_begin(8);
	uint64_t write[6];

	NVW_FOR(round, 8) {
		NVW_FOR(i, 6) {
			write[i] = log_issue(&run, 64 * i, round % 2 ? 7 : 1);
		}
		NVW_EACH(one, write, 6) {
			log_done(&run, *one);
		}
		log_acknowledge(&run, 0);
	}
	return log_end(&run);
}

CHECK(judge_nothing)
{
	return 0;
}

TEST(what_is_acknowledged_twice_does_not_divide_equal_states_among_jobs)
{
	static struct ct_result one, r;

	one = explored(repeating_log(), judge_nothing, 100000, 1);
	assert_true(one.states_equal > 64);
	for (unsigned jobs = 2; jobs <= 5; jobs++) {
		r = explored(repeating_log(), judge_nothing, 100000, jobs);
		assert_same_result(&one, &r);
	}
}

TEST(a_damaged_log_is_an_error_and_not_a_verdict)
{
	const int fd = log_of_queue(10, true);
	const struct ct_exploration e = exploration_of(fd, POOL_BYTES, judge_queue, CT_MODEL_OBSERVED);
	struct ct_result result;

	assert_int_equal(pwrite(fd, "x", 1, 200), 1);
	assert_int_equal(ct_explore(&e, NULL, &result), NVW_E_DAMAGED);
	close(fd);
}
