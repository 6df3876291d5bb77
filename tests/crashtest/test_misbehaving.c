/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery and checks that die, hang, end or write where they must not, while a log written by hand is
 * explored (hand_log.h).
 */
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "common/test.h"

#include <crashtest/crash.h>
#include <crashtest/judge/process.h>
#include <crashtest/states/image.h>

#include "common/skip.h"
#include "hand_log.h"

static bool has_entry(const struct ct_image *image, unsigned op)
{
	return image->ro[flag_off(op)] != 0;
}

CHECK(judge_crashing)
{
	*phase = CT_PHASE_CHECK;
	if (has_entry(image, 5) && !has_entry(image, 6)) {
		raise(SIGSEGV);
	}
	return judge_queue(context, image, acks, findings, phase);
}

TEST(a_check_that_dies_is_a_finding_and_the_rest_is_tested)
{
	const struct ct_result clean = explored(log_of_queue(40, true), judge_queue, 20000, 1);
	const struct ct_result r = explored(log_of_queue(40, true), judge_crashing, 20000, 1);

	assert_false(r.consistent);
	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].signal, SIGSEGV);
	assert_has(r.finding[0].text, "the check was killed by signal 11");
	assert_int_equal(r.states_distinct, clean.states_distinct);
	assert_int_equal(r.states_failing, r.finding[0].states);
	assert_false(r.gave_up);
}

CHECK(judge_hanging)
{
	*phase = CT_PHASE_RECOVER;
	while (has_entry(image, 1) && !has_entry(image, 2) && nvw_acked_count(acks) < 2) {
	}
	return 0;
}

TEST(a_recovery_that_hangs_is_a_finding_and_the_rest_is_tested)
{
	const struct ct_result clean = explored(log_of_queue(10, true), judge_queue, 20000, 1);
	const struct ct_result r = explored(log_of_queue(10, true), judge_hanging, 20000, 1);

	assert_int_equal(r.finding_count, 1);
	assert_true(r.finding[0].hung);
	assert_string_equal(r.finding[0].text, "recovery does not terminate");
	assert_int_equal(r.states_distinct, clean.states_distinct);
}

static volatile unsigned rounds;

/* Where both what hangs and what is only slow take their time. */
static void __attribute__((noinline)) go_round(uint64_t times)
{
	NVW_FOR(i, times) {
		rounds++;
	}
}

/* Hangs in every state with one entry missing; is slow where two are. */
CHECK(judge_hanging_often)
{
	unsigned missing = 0;

	*phase = CT_PHASE_CHECK;
	NVW_FOR(i, 2) {
		missing += !has_entry(image, i);
	}
	if (missing == 1) {
		go_round(UINT64_MAX);
	} else if (missing == 2) {
		go_round(3000000); /* milliseconds */
	}
	return 0;
}

TEST(states_that_hang_alike_are_cut_early)
{
	skip_if_sanitized();
	const int fd = log_of_queue(2, false);
	struct ct_exploration e = exploration_of(fd, POOL_BYTES, judge_hanging_often, CT_MODEL_EPOCH);

	e.options.timeout_ms = 800;
	e.options.unexplained = true;
	const struct ct_result r = *explored_by(&e);

	close(fd);
	assert_int_equal(r.finding_count, 1);
	assert_string_equal(r.finding[0].text, "the check does not terminate");
	assert_has(r.finding[0].where, "go_round");
	assert_true(r.states_failing >= 3);
	assert_true(r.hangs_alike > 0 && r.hangs_alike < r.states_failing);
	assert_true(r.states_failing < r.states_distinct - 1); /* the slow ones passed */
}

/* How often states died from outside, in all processes. */
static volatile unsigned *kills;

static struct ct_result explored_killing(unsigned times, bool barrier, ct_judge judge)
{
	kills = ct_shared_memory(sizeof *kills);
	assert_true(kills != NULL);
	*kills = times;
	const struct ct_result r = explored(log_of_queue(10, barrier), judge, 20000, 1);

	assert_int_equal(*kills, 0);
	munmap((void *)(uintptr_t)kills, sizeof *kills);
	return r;
}

CHECK(judge_killed)
{
	*phase = CT_PHASE_RECOVER;
	if (has_entry(image, 5) && !has_entry(image, 6) && *kills > 0) {
		--*kills;
		raise(SIGKILL);
	}
	return judge_queue(context, image, acks, findings, phase);
}

CHECK(judge_killed_after)
{
	const int verdict = judge_queue(context, image, acks, findings, phase);

	if (verdict && *kills > 0) {
		--*kills;
		raise(SIGKILL);
	}
	return verdict;
}

TEST(a_worker_that_is_killed_from_outside_changes_no_verdict)
{
	static struct ct_result clean; /* results are large */
	const ct_judge judges[] = {judge_killed, judge_killed_after};

	clean = explored(log_of_queue(10, false), judge_queue, 20000, 1);
	NVW_EACH(judge, judges, 2) {
		const struct ct_result r = explored_killing(2, false, *judge);

		assert_int_equal(r.finding_count, clean.finding_count);
		assert_string_equal(r.finding[0].text, clean.finding[0].text);
		assert_int_equal(r.finding[0].states, clean.finding[0].states);
		assert_int_equal(r.states_failing, clean.states_failing);
		assert_int_equal(r.states_distinct, clean.states_distinct);
		assert_int_equal(r.states_equal, clean.states_equal);
		assert_int_equal(r.states_undecided, 0);
	}
}

TEST(a_state_whose_workers_are_killed_again_and_again_is_undecided)
{
	static struct ct_result clean;

	clean = explored(log_of_queue(10, true), judge_queue, 20000, 1);
	assert_true(ct_is_consistent(&clean));
	const struct ct_result r = explored_killing(CT_KILLS_MAX, true, judge_killed);

	assert_int_equal(r.finding_count, 0);
	assert_int_equal(r.states_failing, 0);
	assert_int_equal(r.states_undecided, 1);
	assert_int_equal(r.instants_exhausted, r.instants - 1);
	assert_int_equal(r.states_distinct, clean.states_distinct);
	assert_false(ct_is_consistent(&r));
	assert_string_equal(ct_verdict_name(ct_verdict_of(&r)), "undecided");
	assert_has(r.undecided, "SIGKILL");
}

CHECK(judge_leaving)
{
	*phase = CT_PHASE_CHECK;
	if (has_entry(image, 5) && !has_entry(image, 6)) {
		_exit(0);
	}
	return judge_queue(context, image, acks, findings, phase);
}

TEST(a_check_that_ends_the_process_as_if_all_were_well_gives_no_answer)
{
	const struct ct_result r = explored(log_of_queue(10, true), judge_leaving, 20000, 1);

	assert_int_equal(r.finding_count, 0);
	assert_true(r.states_undecided > 0);
	assert_string_equal(ct_verdict_name(ct_verdict_of(&r)), "undecided");
	assert_string_equal(r.undecided, "the check ended the process with status 0, which is no verdict");
}

CHECK(judge_scribbling)
{
	*phase = CT_PHASE_CHECK;
	if (has_entry(image, 3) && !has_entry(image, 4)) {
		((volatile uint8_t *)(uintptr_t)image->ro)[data_off(0)] = 0;
	}
	return judge_queue(context, image, acks, findings, phase);
}

TEST(a_check_that_writes_to_the_image_is_a_finding_and_spoils_no_other_state)
{
	const struct ct_result r = explored(log_of_queue(10, true), judge_scribbling, 20000, 1);

	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].signal, SIGSEGV);
}

CHECK(judge_recovering)
{
	const uint64_t zero = 0;

	NVW_FOR(op, 16) { /* a recovery that takes back what is half there */
		if (!has_entry(image, op)) {
			ct_image_write(image, data_off(op), &zero, 8);
		} else if (image->ro[data_off(op)] == 0) {
			ct_image_write(image, flag_off(op), &zero, 8);
		}
	}
	return judge_queue(context, image, acks, findings, phase);
}

TEST(what_recovery_wrote_is_undone_before_the_next_state)
{
	const struct ct_result r = explored(log_of_queue(10, false), judge_recovering, 20000, 1);

	assert_true(r.consistent);
}
