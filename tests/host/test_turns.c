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
static int under(const char *mode, const char *options)
{
	forget();
	const int status = run(
		"rm -f pool && $NVWAVE exec %s --report=report --output-format=json -- $HOST_TURNS pool %s",
		options, mode);

	if (status < 2) {
		json_t *const o = report();

		schedules = json_incref(json_object_get(o, "schedules"));
		json_decref(o);
		assert_non_null(schedules);
	}
	return status;
}

static json_int_t number(const char *name)
{
	return json_integer_value(json_object_get(schedules, name));
}

/* How the first bad schedule ended; "": there is none. */
static const char *first_end(void)
{
	const char *const text = json_string_value(
		json_object_get(json_array_get(json_object_get(schedules, "ended"), 0), "text"));

	return text ? text : "";
}

static void expect_clean(const char *mode, json_int_t different)
{
	const bool few = one_in(2) == 2;

	if (under(mode, few ? "--schedules=10" : "--schedules=20") != 0) {
		fail_msg("%s: %s%s", mode, output, first_end());
	}
	assert_true(json_is_true(json_object_get(schedules, "repeats")));
	assert_int_equal(number("run"), few ? 10 : 20);
	if (number("different") < (few ? (different + 1) / 2 : different)) {
		fail_msg("%s: %lld different", mode, (long long)number("different"));
	}
}

/* ---- What goes on ----------------------------------------------------------------------------------- */

TEST(every_way_to_wait_goes_on)
{
	expect_clean("conditions", 10);
	expect_clean("timeouts", 1);
	expect_clean("all", 10);
	expect_clean("events", 10);
	assert_int_equal(under("streams", "--schedules=6"), 0);
	assert_true(json_is_false(json_object_get(schedules, "outside")));
}

TEST(a_pipe_in_the_place_of_the_file_is_not_waited_for)
{
	succeeds("rm -f pool && timeout 60 $NVWAVE exec --schedules=2 -- $HOST_TURNS pool leaves-pipe");
	assert_output_has("schedules: 2 run");
}

TEST(what_another_process_sends_is_waited_for_and_told)
{
	assert_int_equal(under("from-outside", "--schedule=2"), 0);
	assert_true(json_is_true(json_object_get(schedules, "outside")));
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
	assert_int_equal(under("looks-around", "--schedules=1"), 0);
}

/* An hour, which would take one, and clocks that agree with it. */
TEST(sleeps_take_the_time_of_the_schedule)
{
	expect_clean("sleeps", 1);
}

/* ---- What does not ---------------------------------------------------------------------------------- */

TEST(a_deadlock_is_found_and_its_threads_are_named)
{
	static const char *const expected[] = {"deadlock: thread 1 waits for the end of a thread",
		"waits for a mutex", "(take_ab)", "(take_ba)"};

	assert_int_equal(under("deadlock", "--schedules=25"), 1);
	for_each(text, expected) {
		assert_has(first_end(), *text);
	}
	succeeds("rm -f pool; $NVWAVE exec --schedules=30 -- $HOST_TURNS pool deadlock 2>&1 | "
		 "grep 'deadlock: ' >ends; cat ends; test $(wc -l <ends) = 1 && "
		 "grep '    schedule [0-9]* (.*), [0-9]*.*: deadlock' ends");
	expect_clean("in-order", 1);
	assert_int_equal(under("nobody-writes", "--schedule=1"), 1);
	assert_has(first_end(), "thread 2 waits for a descriptor");
}

TEST(threads_that_look_for_ever_are_found)
{
	assert_int_equal(under("livelock", "--schedule=1"), 1);
	assert_has(first_end(), "no thread gets on");
	assert_has(first_end(), "polls at");
}

TEST(what_cannot_be_controlled_is_refused)
{
	assert_int_equal(under("cancels", "--schedules=2"), 2);
	assert_output_has("cannot be made to take turns: it cancels a thread");
	assert_int_equal(under("selects-many", "--schedules=2"), 2);
	assert_output_has("cannot be made to take turns: it selects among more than 1,024 descriptors");
	assert_int_equal(under("forks", "--schedules=2"), 0);
	assert_int_equal(under("forks-and-starts", "--schedules=2"), 2);
	assert_output_has("cannot be made to take turns: threads of two of its processes");
	assert_int_equal(under("blocks", "--schedules=2"), 2);
	assert_output_has("waits in a call that is not controlled, at ");
	assert_output_has(" (lock_file)");
	assert_int_equal(under("race", "--schedule=2 --schedules=3"), 2);
	assert_output_has("--schedule runs schedules 1 and K, ");
	assert_int_equal(under("race", "--schedule=3"), 0);
	assert_int_equal(number("run"), 2);
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
	assert_int_equal(under("works", "--schedule=3 --schedule-seed=1 --record=log.1"), 0);
	assert_int_equal(under("works", "--schedule=3 --schedule-seed=2 --record=log.2"), 0);
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

static void expect_words(const char *const *words)
{
	for (; *words; words++) {
		if (!strstr(output, *words)) {
			fail_msg("expected \"%s\" in:\n%s", *words, output);
		}
	}
}

TEST(a_race_that_one_run_does_not_show_is_found_and_replayed)
{
	static const char *const found[] = {"1 finding in ", " different schedules of 3 threads",
		"y is 6, and x is lost", "(consume)", "(publish_early)", "under schedule ", " switches; ",
		"replay with: nvwave replay found/finding-1", NULL};
	static const char *const again[] = {
		"REPRODUCED", "the schedule was run again, and left the same log", NULL};
	static const char *const other[] = {"REPRODUCED", "and left another log", NULL};

	crash(0, "race", "");
	crash(1, "race", "--schedules=20");
	expect_words(found);
	exits(1, "$NVWAVE replay found/finding-1");
	expect_words(again);
	exits(1, "printf x | dd of=pool bs=1 seek=9000 conv=notrunc 2>/dev/null; $NVWAVE replay "
		 "found/finding-1");
	expect_words(other);
}

/* Returns by what the first finding's schedule was shortened. */
static json_int_t shortened_by(const char *what)
{
	json_t *const o = report();
	const json_t *const finding = json_array_get(json_object_get(o, "findings"), 0);
	const json_int_t n = json_integer_value(json_object_get(
		json_object_get(json_object_get(finding, "thread_schedule"), "shortened_by"), what));

	json_decref(o);
	return n;
}

/* Two logs with as many states each were tested. Those of the runs between them end at the first failure. */
TEST(what_a_shorter_schedule_leaves_is_tested_up_to_its_failure)
{
	crash(1, "late", "--schedule=6 --cures=off --output-format=json >report");
	json_t *const o = report();
	const json_int_t tested = json_integer_value(json_object_get(o, "states_distinct")) / 2;
	const json_int_t runs = shortened_by("runs"), states = shortened_by("states");

	json_decref(o);
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
	json_t *const o = report();

	assert_true(json_is_true(json_object_get(o, "interrupted")));
	assert_int_equal(json_array_size(json_object_get(o, "findings")), 1);
	json_decref(o);
}

/* The program's words, numbers aside, and what cannot be asked for. */
TEST(a_race_is_tried_by_a_power_cut_that_loses_its_store_alone)
{
	static const char *const lost[] = {
		"persistency races: 1 store lost (1 load), 0 stores open (0 loads)", "lost: store ",
		"(publish_early)\n        lost: load ", "(consume); schedule ", ": y is 6, and x is lost",
		"smallest case: 1 of 1 writes in flight lost", "; no shorter one was looked for\n",
		"replay with: nvwave replay found/finding-1\n", NULL};
	static const char *const twice[] = {"persistency races: 1 store lost (2 loads)", NULL};
	static const char *const again[] = {"REPRODUCED   y is 6, and x is lost",
		"the schedule was run again, and left the same log", NULL};
	static const char *const tried[] = {"CONSISTENT",
		"persistency races: 0 stores lost (0 loads), 0 stores open (0 loads); not counted among "
		"them: 0 stores lost with one behind it (0 loads), 1 store tried without a loss (1 load)",
		"tried without a loss: store ", "(publish_early)\n", NULL};
	static const char *const none[] = {
		"schedules 1 and 4 of the threads run, and the states of the second",
		"0 stores tried without a loss (0 loads), 0 stores not met (0", NULL};
	static const char *const refused[] = {"--races needs --check", NULL};

	crash(1, "race", "--schedules=20 --races --cures=off");
	expect_words(lost);
	exits(1, "$NVWAVE replay found/finding-1");
	expect_words(again);
	crash(1, "race-with-two-loads", "--schedules=24 --schedule-seed=3 --races --cures=off");
	expect_words(twice);
	succeeds("test -e found/finding-1 && test ! -e found/finding-2");
	crash(0, "harmless", "--schedules=20 --races");
	expect_words(tried);
	crash(0, "clean", "--schedule=4 --races");
	expect_words(none);
	crash(2, "race", "--schedule=4 --races --oracle=robust");
	expect_words(refused);
}

/* Stores that are found by comparison matter in the line of the raced one, and the loss of earlier ones is
 * not its own. */
TEST(a_cut_is_as_exact_as_the_stores_of_its_line)
{
	static const char *const tried[] = {"stores within a line were not ordered", " 0 stores open",
		"tried without a loss: store ", "(publish_early)\n", NULL};
	static const char *const open[] = {"open: store ", "(sort_behind_x)\n        open: load ",
		"not all states of the cut were tested", NULL};

	static const char *const behind[] = {"persistency races: 0 stores lost (0 loads), 0 stores open",
		"; not counted", "tried without a loss: store ", "(publish_beside_x)\n", NULL};

	crash(1, "harmless-beside-x", "--schedules=24 --races --states=1 --cures=off");
	expect_words(behind);
	crash(0, "harmless-with-others", "--schedules=24 --races");
	expect_words(tried);
	crash(0, "harmless-in-part", "--schedules=12 --races");
	expect_words(open);
}

/* What a thread tells others is an effect, too. */
TEST(an_answer_before_what_was_read_is_durable_is_a_race)
{
	static const char *const lost[] = {"persistency races: 1 store lost (1 load)", "(publish_early)\n",
		"lost: load ", "(answer_x); ", "x was there, and is lost", NULL};
	static const char *const none[] = {
		"persistency races: 0 stores lost (0 loads), 0 stores open (0 loads); "
		"not counted among them: 0 stores lost with one",
		NULL};

	crash(1, "answered-early", "--schedules=24 --races --cures=off");
	expect_words(lost);
	crash(0, "answered", "--schedules=6 --races");
	expect_words(none);
}

TEST(a_store_of_a_librarys_header_is_lost_like_others)
{
	static const char *const lost[] = {"persistency races: 1 store lost (1 load)",
		"lost: store /usr/include/put.h:9 (put_by_header)\n", "(answer_x); ",
		"x was there, and is lost", "(publish_through_header)  store of 8 bytes at ", NULL};

	crash(1, "answered-through-header", "--schedules=24 --races --cures=off");
	expect_words(lost);
}

TEST(what_is_sent_before_what_was_read_is_durable_is_a_race)
{
	static const char *const lost[] = {"persistency races: 1 store lost (1 load)", "(publish_early)\n",
		"lost: load ", "(tell_x); ", "x was there, and is lost", NULL};

	crash(1, "told-early", "--schedules=20 --races --cures=off");
	expect_words(lost);
	crash(0, "told", "--schedules=10 --races");
}

/* The first schedule does not reach the store: what others predict is aimed at, too. */
TEST(a_load_that_does_not_come_while_its_store_is_held_is_no_finding)
{
	static const char *const few[] = {"persistency races: 0 stores lost (0 loads), 1 store open (1 load)",
		"it did not happen, with the store held ", NULL};
	static const char *const none[] = {
		"persistency races: 0 stores lost (0 loads), 0 stores open (0 loads); "
		"not counted among them: 0 stores lost with one behind it (0 loads), 0 stores tried "
		"without a loss (0 loads), 1 store not met",
		"not met: store ", "(publish_early)", NULL};
	static const char *const lost[] = {"persistency races: 1 store lost (1 load), 0 stores open",
		"(publish_early)\n        lost: load ", "and x is lost", NULL};

	crash(0, "unmet", "--schedules=6 --races --states=1");
	expect_words(few);
	crash(0, "unmet", "--schedules=30 --races --states=1");
	expect_words(none);
	crash(1, "met", "--schedules=60 --races --states=1 --cures=off");
	expect_words(lost);
}

/* In no other of these schedules does the load come. */
TEST(a_reader_is_held_ahead_of_its_load_until_its_word_is_stored)
{
	static const char *const lost[] = {"persistency races: 1 store lost (1 load), 0 stores open",
		"(fill)\n        lost: load ", "(look_up); ", "and x is lost", NULL};
	static const char *const none[] = {
		"persistency races: 0 stores lost (0 loads), 0 stores open (0 loads)", "not met: store ",
		"(fill", NULL};

	crash(1, "slot", "--schedules=40 --races --states=1 --cures=off");
	expect_words(lost);
	crash(0, "slot-alone", "--schedules=40 --races --states=1");
	expect_words(none);
}

TEST(what_is_lost_with_a_store_behind_it_is_one_mistake)
{
	static const char *const words[] = {
		"persistency races: 1 store lost (1 load), 0 stores open (0 loads); "
		"not counted among them: 1 store lost with one behind it (1 load)",
		"lost: store ", "(publish_both)\n        lost: load ", "what is behind x is lost",
		"lost with one behind it: store ", "(publish_both), with ", NULL};

	crash(1, "race-of-two", "--schedules=8 --races --states=1 --cures=off");
	expect_words(words);
}

/* Only the first schedule, in which the load comes too late to be acknowledged itself. */
TEST(a_store_that_is_never_flushed_is_lost_without_a_load)
{
	static const char *const lost[] = {
		"persistency races: 1 store lost (1 load), 0 stores open (0 loads)",
		"(publish_forgotten)\n"
		"        lost: without a load, its flush is late or missing; schedule 1: ",
		"x was there, and is lost", NULL};
	static const char *const tried[] = {"0 stores lost (0 loads), 0 stores open (0 loads)",
		"tried without a loss: store ", "(publish_forgotten)\n", NULL};
	static const char *const nothing[] = {"0 stores lost (0 loads), 0 stores open (0 loads)",
		"tried without a loss: store ", "(store_what_is_there)\n", NULL};
	static const char *const perhaps[] = {"0 stores lost (0 loads), 1 store open (",
		"(store_what_is_there)\n", "the store was not found in the log", NULL};

	crash(1, "forgotten", "--schedules=1 --races --cures=off");
	expect_words(lost);
	crash(0, "forgotten-harmless", "--schedules=1 --races");
	expect_words(tried);
	crash(0, "forgotten-nothing", "--schedules=1 --races");
	expect_words(nothing);
	crash(0, "forgotten-nothing-yet", "--schedules=8 --races");
	expect_words(nothing);
	crash(0, "forgotten-perhaps", "--schedules=8 --races");
	expect_words(perhaps);
}

TEST(a_reply_before_its_value_is_durable_is_found_in_an_event_loop)
{
	static const char *const found[] = {
		"1 finding in ", "and x is lost", "(request)", "(answer, inlined in serve)", NULL};

	crash(1, "events-early", "--schedules=6 --cures=off");
	expect_words(found);
	crash(0, "events", "--schedules=6");
}

TEST(its_clean_twin_stays_clean)
{
	static const char *const clean[] = {
		"CONSISTENT   5 distinct states of 2 different schedules of 3 threads",
		"20 schedules of the threads run, 2 different", NULL};

	crash(0, "clean", "--schedules=20");
	expect_words(clean);
}

TEST(a_deadlock_under_a_crash_test_is_told)
{
	static const char *const words[] = {"did not get to the end; schedule ", "deadlock: thread 1", NULL};

	crash(1, "deadlock", "--schedules=25");
	expect_words(words);
	crash(2, "race", "--schedules=2 --mode=kill");
}

/* ---- Predicted races --------------------------------------------------------------------------------- */

TEST(a_race_that_happens_is_witnessed)
{
	static const char *const words[] = {
		"persistency races: 0 candidates at stores of 0 places, 0 places whose flush is late or "
		"missing, and 0 of second rank (0 of them witnessed in 20 schedules, and 1 other pair, named "
		"below); ",
		"consume reads what store ", "publish_early has not made durable", NULL};

	exits(1, "rm -f pool && $NVWAVE exec --check=persistency --schedules=20 -- $HOST_TURNS pool race");
	expect_words(words);
	succeeds("rm -f pool && $NVWAVE exec --check=persistency --schedules=10 -- $HOST_TURNS pool clean");
	exits(1, "rm -f pool && $NVWAVE exec --check=persistency --schedules=20 -- $HOST_TURNS pool spins");
	assert_output_has("    witnessed by schedule ");
	assert_output_has("(1 of them witnessed in 20 schedules)");
	exits(1, "rm -f pool && $NVWAVE exec --check=persistency:initial --schedules=20 -- $HOST_TURNS "
		 "pool excluded");
	assert_output_has("    predicted, not witnessed");
	exits(1, "rm -f pool && $NVWAVE exec --check=persistency:initial --schedules=20 -- $HOST_TURNS "
		 "pool in-time");
	assert_output_has("(0 of them witnessed in 20 schedules)");
}

TEST(conditions_are_controlled_where_races_are_looked_for)
{
	assert_true(under("conditions", "--check=persistency --schedules=3") < 2);
}

/* 500 stores of another place are flushed before it, and as many behind it. */
TEST(a_place_that_is_executed_once_is_as_likely_as_one_that_is_executed_often)
{
	static const char *const words[] = {
		"consume reads what store ", "publish_early has not made durable", NULL};

	exits(1, "rm -f pool && $NVWAVE exec --check=persistency --schedules=60 -- $HOST_TURNS pool rare");
	expect_words(words);
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
	static const char *const words[] = {
		"consume_exchanged reads what store ", "exchange_rarely has not made durable", NULL};

	char place[300];

	run("rm -f pool && $NVWAVE exec --check=persistency --schedules=60 -- $HOST_TURNS pool exchanged");
	expect_words(words);
	take_place(place);
	directed(0, "exchanged-in-time", place);
	assert_false(printed("witnessed by schedule"));
}

/* A line that is known: a tenth of the schedules do. */
TEST(a_directed_schedule_switches_behind_the_stores_of_its_line)
{
	static const char *const words[] = {
		"consume reads what store ", "publish_early has not made durable", NULL};
	char place[300];

	run("rm -f pool && $NVWAVE exec --check=persistency --schedules=20 -- $HOST_TURNS pool race");
	take_place(place);
	directed(1, "rare", place);
	expect_words(words);
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
