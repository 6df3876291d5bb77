/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that take turns, under many schedules of small programs (turns.c): what is wrong is found, and its
 * clean twin stays clean; every way to wait goes on; the same seed gives the same run.
 */
#include "host_rig.h"

#include <string.h>

#include "common/skip.h"

static json_t *schedules;

static void forget(void)
{
	json_decref(schedules);
	schedules = NULL;
}

/* The exit status; the schedules are those of the report. */
static int status_under(const char *mode, const char *options)
{
	forget();
	const int status = run(
		"rm -f pool && $NVWAVE exec %s --report=report --output-format=json -- $HOST_TURNS pool %s",
		options, mode);

	if (status < 2) {
		json_auto_t *o = report();

		schedules = json_incref(json_at(o, "schedules"));
		assert_non_null(schedules);
	}
	return status;
}

static void under(int status, const char *mode, const char *options)
{
	const int found = status_under(mode, options);

	if (found != status) {
		fail_msg("%s %s: status %d, expected %d: %s%s", mode, options, found, status, output,
			text_at(schedules, "ended.0.text"));
	}
}

/* How the first bad schedule ended; "": there is none. */
static const char *first_end(void)
{
	return text_at(schedules, "ended.0.text");
}

static void expect_clean(const char *mode, json_int_t different)
{
	const bool few = one_in(2) == 2;

	under(0, mode, few ? "--schedules=10" : "--schedules=20");
	assert_true(json_is_true(json_at(schedules, "repeats")));
	assert_int_equal(integer_at(schedules, "run"), few ? 10 : 20);
	if (integer_at(schedules, "different") < (few ? (different + 1) / 2 : different)) {
		fail_msg("%s: %lld different", mode, (long long)integer_at(schedules, "different"));
	}
}

/* ---- What goes on ----------------------------------------------------------------------------------- */

TEST(every_way_to_wait_goes_on)
{
	expect_clean("conditions", 10);
	expect_clean("timeouts", 1);
	expect_clean("all", 10);
	expect_clean("events", 10);
	under(0, "streams", "--schedules=6");
	assert_true(json_is_false(json_at(schedules, "outside")));
}

TEST(a_pipe_in_the_place_of_the_file_is_not_waited_for)
{
	succeeds("rm -f pool && timeout 60 $NVWAVE exec --schedules=2 -- $HOST_TURNS pool leaves-pipe");
	assert_output_has("schedules: 2 run");
}

TEST(what_another_process_sends_is_waited_for_and_told)
{
	under(0, "from-outside", "--schedule=2");
	assert_true(json_is_true(json_at(schedules, "outside")));
}

TEST(loops_that_look_let_others_go_on)
{
	expect_clean("spins", 1);
	expect_clean("yields", 1);
	expect_clean("own-lock", 4);
}

TEST(what_a_thread_does_not_look_at_lets_it_wait)
{
	expect_clean("follows", 5);
}

TEST(a_thread_that_looks_at_much_keeps_its_turn)
{
	under(0, "looks-around", "--schedules=1");
}

/* An hour, which would take one, and clocks that agree with it. */
TEST(sleeps_take_the_time_of_the_schedule)
{
	expect_clean("sleeps", 1);
}

/* ---- What does not ---------------------------------------------------------------------------------- */

TEST(a_deadlock_is_found_and_its_threads_are_named)
{
	under(1, "deadlock", "--schedules=25");
	assert_has(first_end(), "deadlock: thread 1 waits for the end of a thread", "waits for a mutex",
		"(take_ab)", "(take_ba)");
	succeeds("rm -f pool; $NVWAVE exec --schedules=30 -- $HOST_TURNS pool deadlock 2>&1 | "
		 "grep 'deadlock: ' >ends; cat ends; test $(wc -l <ends) = 1 && "
		 "grep '    schedule [0-9]* (.*), [0-9]*.*: deadlock' ends");
	expect_clean("in-order", 1);
	under(1, "nobody-writes", "--schedule=1");
	assert_has(first_end(), "thread 2 waits for a descriptor");
}

TEST(threads_that_look_for_ever_are_found)
{
	under(1, "livelock", "--schedule=1");
	assert_has(first_end(), "no thread gets on", "polls at");
}

TEST(what_cannot_be_controlled_is_refused)
{
	under(2, "cancels", "--schedules=2");
	assert_output_has("cannot be made to take turns: it cancels a thread");
	under(2, "selects-many", "--schedules=2");
	assert_output_has("cannot be made to take turns: it selects among more than 1,024 descriptors");
	under(0, "forks", "--schedules=2");
	under(2, "forks-and-starts", "--schedules=2");
	assert_output_has("cannot be made to take turns: threads of two of its processes");
	under(2, "blocks", "--schedules=2");
	assert_output_has("waits in a call that is not controlled, at ", " (lock_file)");
	under(2, "race", "--schedule=2 --schedules=3");
	assert_output_has("--schedule runs schedules 1 and K, ");
	under(0, "race", "--schedule=3");
	assert_int_equal(integer_at(schedules, "run"), 2);
}

/* ---- The same run ------------------------------------------------------------------------------------- */

TEST(one_seed_gives_one_log_byte_for_byte)
{
	static const char *const modes[] = {"all", "events", "works"};
	const unsigned times = 100 / one_in(10);

	NVW_FOR(i, times) {
		for (unsigned schedule = 3; schedule < 6; schedule++) {
			if (schedule == 5 && i >= times / 5) {
				continue;
			}
			succeeds("rm -f pool && $NVWAVE exec --schedule=%u --record=log --report=report "
				 "-- $HOST_TURNS pool %s",
				schedule, modes[schedule - 3]);
			succeeds("test ! -e log.%u || cmp log log.%u && mv log log.%u", schedule, schedule,
				schedule);
		}
	}
}

TEST(other_seeds_give_other_runs)
{
	under(0, "works", "--schedule=3 --schedule-seed=1 --record=log.1");
	under(0, "works", "--schedule=3 --schedule-seed=2 --record=log.2");
	assert_int_not_equal(run("cmp -s log.1 log.2"), 0);
}

/* ---- Crashes ------------------------------------------------------------------------------------------ */

/* Crash-tests the mode under schedules; returns the exit status. */
static void crash(int status, const char *mode, const char *options)
{
	exits(status,
		"rm -rf pool found && truncate -s 65536 pool && $NVWAVE crash --exec=\"$HOST_TURNS "
		"pool "
		"%s\" --image=pool "
		"--check=\"$HOST_TURNS pool\" --save=found %s",
		mode, options);
}

TEST(a_race_that_one_run_does_not_show_is_found_and_replayed)
{
	crash(0, "race", "");
	crash(1, "race", "--schedules=20");
	assert_output_has("1 finding in ", " different schedules of 3 threads", "y is 6, and x is lost",
		"(consume)", "(publish_early)", "under schedule ", " switches; ",
		"replay with: nvwave replay found/finding-1");
	exits(1, "$NVWAVE replay found/finding-1");
	assert_output_has("REPRODUCED", "the schedule was run again, and left the same log");
	exits(1, "printf x | dd of=pool bs=1 seek=9000 conv=notrunc 2>/dev/null; $NVWAVE replay "
		 "found/finding-1");
	assert_output_has("REPRODUCED", "and left another log");
}

/* Two logs with as many states each were tested. Those of the runs between them end at the first failure. */
TEST(what_a_shorter_schedule_leaves_is_tested_up_to_its_failure)
{
	crash(1, "late", "--schedule=6 --cures=off --output-format=json >report");
	json_auto_t *o = report();
	const json_t *const by = json_at(o, "findings.0.thread_schedule.shortened_by");
	const json_int_t tested = integer_at(o, "states_distinct") / 2;
	const json_int_t runs = integer_at(by, "runs"), states = integer_at(by, "states");

	assert_true(runs > 1);
	if (4 * states > 3 * runs * tested) {
		fail_msg("%lld states of %lld runs, of %lld each", (long long)states, (long long)runs,
			(long long)tested);
	}
}

/* Its fourth run is one of those that shorten the failing schedule. */
TEST(what_was_found_before_an_interruption_is_reported)
{
	write_text("go",
		"n=$(cat runs)x\necho $n >runs\n[ $n = xxxx ] && kill -INT $(cat pid)\nexec $HOST_TURNS "
		"$1 late\n");
	exits(1, "rm -f pool && truncate -s 65536 pool && : >runs && sh -c 'echo $$ >pid; exec $NVWAVE crash "
		 "--exec=\"sh go pool\" --image=pool --check=\"$HOST_TURNS pool\" --schedule=6 --cures=off "
		 "--output-format=json' >report");
	json_auto_t *o = report();

	assert_true(json_is_true(json_at(o, "interrupted")));
	assert_int_equal(size_at(o, "findings"), 1);
}

/* The program's words, numbers aside, and what cannot be asked for. */
TEST(a_race_is_tried_by_a_power_cut_that_loses_its_store_alone)
{
	crash(1, "race", "--schedules=20 --races --cures=off");
	assert_output_has("persistency races: 1 store lost (1 load), 0 stores open (0 loads)", "lost: store ",
		"(publish_early)\n        lost: load ", "(consume); schedule ", ": y is 6, and x is lost",
		"smallest case: 1 of 1 writes in flight lost", "; no shorter one was looked for\n",
		"replay with: nvwave replay found/finding-1\n");
	exits(1, "$NVWAVE replay found/finding-1");
	assert_output_has(
		"REPRODUCED   y is 6, and x is lost", "the schedule was run again, and left the same log");
	crash(1, "race-with-two-loads", "--schedules=24 --schedule-seed=3 --races --cures=off");
	assert_output_has("persistency races: 1 store lost (2 loads)");
	succeeds("test -e found/finding-1 && test ! -e found/finding-2");
	crash(0, "harmless", "--schedules=20 --races");
	assert_output_has("CONSISTENT",
		("persistency races: 0 stores lost (0 loads), 0 stores open (0 loads); not counted among "
		 "them: 0 stores lost with one behind it (0 loads), 1 store tried without a loss (1 load)"),
		"tried without a loss: store ", "(publish_early)\n");
	crash(0, "clean", "--schedule=4 --races");
	assert_output_has("schedules 1 and 4 of the threads run, and the states of the second",
		"0 stores tried without a loss (0 loads), 0 stores not met (0");
	crash(2, "race", "--schedule=4 --races --oracle=robust");
	assert_output_has("--races needs --check");
}

/* Stores that are found by comparison matter in the line of the raced one, and the loss of earlier ones is
 * not its own. */
TEST(a_cut_is_as_exact_as_the_stores_of_its_line)
{
	crash(1, "harmless-beside-x", "--schedules=24 --races --states=1 --cures=off");
	assert_output_has("persistency races: 0 stores lost (0 loads), 0 stores open", "; not counted",
		"tried without a loss: store ", "(publish_beside_x)\n");
	crash(0, "harmless-with-others", "--schedules=24 --races");
	assert_output_has("stores within a line were not ordered", " 0 stores open",
		"tried without a loss: store ", "(publish_early)\n");
	crash(0, "harmless-in-part", "--schedules=12 --races");
	assert_output_has("open: store ", "(sort_behind_x)\n        open: load ",
		"not all states of the cut were tested");
}

/* What a thread tells others is an effect, too. */
TEST(an_answer_before_what_was_read_is_durable_is_a_race)
{
	crash(1, "answered-early", "--schedules=24 --races --cures=off");
	assert_output_has("persistency races: 1 store lost (1 load)", "(publish_early)\n", "lost: load ",
		"(answer_x); ", "x was there, and is lost");
	crash(0, "answered", "--schedules=6 --races");
	assert_output_has("persistency races: 0 stores lost (0 loads), 0 stores open (0 loads); "
			  "not counted among them: 0 stores lost with one");
}

TEST(a_store_of_a_librarys_header_is_lost_like_others)
{
	crash(1, "answered-through-header", "--schedules=24 --races --cures=off");
	assert_output_has("persistency races: 1 store lost (1 load)",
		"lost: store /usr/include/put.h:9 (put_by_header)\n", "(answer_x); ",
		"x was there, and is lost", "(publish_through_header)  store of 8 bytes at ");
}

TEST(what_is_sent_before_what_was_read_is_durable_is_a_race)
{
	crash(1, "told-early", "--schedules=20 --races --cures=off");
	assert_output_has("persistency races: 1 store lost (1 load)", "(publish_early)\n", "lost: load ",
		"(tell_x); ", "x was there, and is lost");
	crash(0, "told", "--schedules=10 --races");
}

/* The first schedule does not reach the store: what others predict is aimed at, too. */
TEST(a_load_that_does_not_come_while_its_store_is_held_is_no_finding)
{
	crash(0, "unmet", "--schedules=6 --races --states=1");
	assert_output_has("persistency races: 0 stores lost (0 loads), 1 store open (1 load)",
		"it did not happen, with the store held ");
	crash(0, "unmet", "--schedules=30 --races --states=1");
	assert_output_has(
		("persistency races: 0 stores lost (0 loads), 0 stores open (0 loads); "
		 "not counted among them: 0 stores lost with one behind it (0 loads), 0 stores tried "
		 "without a loss (0 loads), 1 store not met"),
		"not met: store ", "(publish_early)");
	crash(1, "met", "--schedules=60 --races --states=1 --cures=off");
	assert_output_has("persistency races: 1 store lost (1 load), 0 stores open",
		"(publish_early)\n        lost: load ", "and x is lost");
}

/* In no other of these schedules does the load come. */
TEST(a_reader_is_held_ahead_of_its_load_until_its_word_is_stored)
{
	crash(1, "slot", "--schedules=40 --races --states=1 --cures=off");
	assert_output_has("persistency races: 1 store lost (1 load), 0 stores open",
		"(fill)\n        lost: load ", "(look_up); ", "and x is lost");
	crash(0, "slot-alone", "--schedules=40 --races --states=1");
	assert_output_has("persistency races: 0 stores lost (0 loads), 0 stores open (0 loads)",
		"not met: store ", "(fill");
}

TEST(what_is_lost_with_a_store_behind_it_is_one_mistake)
{
	crash(1, "race-of-two", "--schedules=8 --races --states=1 --cures=off");
	assert_output_has(("persistency races: 1 store lost (1 load), 0 stores open (0 loads); "
			   "not counted among them: 1 store lost with one behind it (1 load)"),
		"lost: store ", "(publish_both)\n        lost: load ", "what is behind x is lost",
		"lost with one behind it: store ", "(publish_both), with ");
}

/* Only the first schedule, in which the load comes too late to be acknowledged itself. */
TEST(a_store_that_is_never_flushed_is_lost_without_a_load)
{
	crash(1, "forgotten", "--schedules=1 --races --cures=off");
	assert_output_has("persistency races: 1 store lost (1 load), 0 stores open (0 loads)",
		("(publish_forgotten)\n"
		 "        lost: without a load, its flush is late or missing; schedule 1: "),
		"x was there, and is lost");
	crash(0, "forgotten-harmless", "--schedules=1 --races");
	assert_output_has("0 stores lost (0 loads), 0 stores open (0 loads)", "tried without a loss: store ",
		"(publish_forgotten)\n");
	crash(0, "forgotten-nothing", "--schedules=1 --races");
	assert_output_has("0 stores lost (0 loads), 0 stores open (0 loads)", "tried without a loss: store ",
		"(store_what_is_there)\n");
	crash(0, "forgotten-nothing-yet", "--schedules=8 --races");
	assert_output_has("0 stores lost (0 loads), 0 stores open (0 loads)", "tried without a loss: store ",
		"(store_what_is_there)\n");
	crash(0, "forgotten-perhaps", "--schedules=8 --races");
	assert_output_has("0 stores lost (0 loads), 1 store open (", "(store_what_is_there)\n",
		"the store was not found in the log");
}

TEST(a_reply_before_its_value_is_durable_is_found_in_an_event_loop)
{
	crash(1, "events-early", "--schedules=6 --cures=off");
	assert_output_has("1 finding in ", "and x is lost", "(request)", "(answer, inlined in serve)");
	crash(0, "events", "--schedules=6");
}

TEST(its_clean_twin_stays_clean)
{
	crash(0, "clean", "--schedules=20");
	assert_output_has("CONSISTENT   5 distinct states of 2 different schedules of 3 threads",
		"20 schedules of the threads run, 2 different");
}

TEST(a_deadlock_under_a_crash_test_is_told)
{
	crash(1, "deadlock", "--schedules=25");
	assert_output_has("did not get to the end; schedule ", "deadlock: thread 1");
	crash(2, "race", "--schedules=2 --mode=kill");
}

/* ---- Predicted races --------------------------------------------------------------------------------- */

TEST(a_race_that_happens_is_witnessed)
{
	exits(1, "rm -f pool && $NVWAVE exec --check=persistency --schedules=20 -- $HOST_TURNS pool race");
	assert_output_has(
		("persistency races: 0 candidates at stores of 0 places, 0 places whose flush is late or "
		 "missing, and 0 of second rank (0 of them witnessed in 20 schedules, and 1 other pair, "
		 "named below); "),
		"consume reads what store ", "publish_early has not made durable");
	succeeds("rm -f pool && $NVWAVE exec --check=persistency --schedules=10 -- $HOST_TURNS pool clean");
	exits(1, "rm -f pool && $NVWAVE exec --check=persistency --schedules=20 -- $HOST_TURNS pool spins");
	assert_output_has("    witnessed by schedule ", "(1 of them witnessed in 20 schedules)");
	exits(1, "rm -f pool && $NVWAVE exec --check=persistency:initial --schedules=20 -- $HOST_TURNS "
		 "pool excluded");
	assert_output_has("    predicted, not witnessed");
	exits(1, "rm -f pool && $NVWAVE exec --check=persistency:initial --schedules=20 -- $HOST_TURNS "
		 "pool in-time");
	assert_output_has("(0 of them witnessed in 20 schedules)");
}

TEST(conditions_are_controlled_where_races_are_looked_for)
{
	assert_true(status_under("conditions", "--check=persistency --schedules=3") < 2);
}

/* 500 stores of another place are flushed before it, and as many behind it. */
TEST(a_place_that_is_executed_once_is_as_likely_as_one_that_is_executed_often)
{
	exits(1, "rm -f pool && $NVWAVE exec --check=persistency --schedules=60 -- $HOST_TURNS pool rare");
	assert_output_has("consume reads what store ", "publish_early has not made durable");
	succeeds("rm -f pool && $NVWAVE exec --check=persistency --schedules=12 -- $HOST_TURNS pool "
		 "rare-in-time");
}

/* FILE:LINE of the store of the first race that was witnessed. */
static void take_place(char place[300])
{
	const char *const at = strstr(output, "reads what store ");

	assert_non_null(at);
	assert_int_equal(sscanf(at, "reads what store %299s", place), 1);
}

static void directed(int status, const char *mode, const char *place)
{
	exits(status,
		"rm -f pool && $NVWAVE exec --check=persistency --schedules=12 --switch-at=%s -- "
		"$HOST_TURNS pool %s",
		place, mode);
}

TEST(an_exchange_of_what_is_mapped_is_a_store)
{
	char place[300];

	run("rm -f pool && $NVWAVE exec --check=persistency --schedules=60 -- $HOST_TURNS pool exchanged");
	assert_output_has("consume_exchanged reads what store ", "exchange_rarely has not made durable");
	take_place(place);
	directed(0, "exchanged-in-time", place);
	assert_output_lacks("witnessed by schedule");
}

/* A line that is known: a tenth of the schedules do. */
TEST(a_directed_schedule_switches_behind_the_stores_of_its_line)
{
	char place[300];

	run("rm -f pool && $NVWAVE exec --check=persistency --schedules=20 -- $HOST_TURNS pool race");
	take_place(place);
	directed(1, "rare", place);
	assert_output_has("consume reads what store ", "publish_early has not made durable");
	assert_output_has("schedules: 12 run");
	directed(2, "clean", strrchr(place, '/') + 1);
	assert_output_has("no store of that line was executed while threads took turns");
}

/* ---- Setting up --------------------------------------------------------------------------------------- */

static int begin_turns(void **state)
{
	return getenv("HOST_TURNS") ? begin(state) : -1;
}

static int end_turns(void **state)
{
	forget();
	return shell_end(state);
}

GROUP(begin_turns, end_turns);
