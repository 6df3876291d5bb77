/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Candidates of persistency races, predicted from one run of small programs (windows.c): each property with
 * its planted race and the clean program beside it. The first eight are HawkSet's.
 */
#include "host_rig.h"

#include <string.h>

static char *programs[4]; /* one a compiler, NULL at the end */

/* ---- Running -------------------------------------------------------------------------------------- */

static json_t *races;

static void forget(void)
{
	json_decref(races);
	races = NULL;
}

/* The exit status. */
static int look(const char *program, const char *check, const char *mode)
{
	forget();
	const int status =
		run("$NVWAVE exec --check=%s --delays=off --report=report --output-format=json -- %s pool %s",
			check, program, mode);
	json_auto_t *o = report();

	races = json_incref(json_at(o, "persistency_races"));
	assert_non_null(races);
	return status;
}

static size_t candidates(void)
{
	return size_at(races, "candidates");
}

/* How often something was left out, by words of the sentence that says so. */
static json_int_t left_out(const char *words)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_at(races, "left_out"), i, one)
	{
		if (strstr(text_at(one, "text"), words)) {
			return integer_at(one, "times");
		}
	}
	return 0;
}

enum { CLEAN, RACE, SECOND_RANK };

/* One candidate of the rank, between these functions, or none, whatever the compiler. */
static void expect(const char *mode, int rank, const char *store, const char *load)
{
	for (unsigned i = 0; programs[i]; i++) {
		const int status = look(programs[i], "persistency", mode);

		if (candidates() != (rank != CLEAN) || status != (rank == RACE)) {
			fail_msg(
				"%s, %s: %zu candidates, status %d", programs[i], mode, candidates(), status);
		}
		if (rank != CLEAN) {
			assert_int_equal(integer_at(races, "candidates.0.rank"), rank);
			assert_memory_equal(
				text_at(races, "candidates.0.store.function"), store, strlen(store));
			assert_memory_equal(text_at(races, "candidates.0.load.function"), load, strlen(load));
		}
	}
}

static void expect_clean(const char *mode)
{
	expect(mode, CLEAN, NULL, NULL);
}

static void expect_hint(const char *mode, int rank, const char *store, const char *load, const char *words)
{
	expect(mode, rank, store, load);
	const char *const hint = text_at(races, "candidates.0.hint");

	if (words == NULL ? *hint != '\0' : strstr(hint, words) == NULL) {
		fail_msg("%s: the hint is \"%s\"", mode, hint);
	}
}

/* ---- What a lock excludes ------------------------------------------------------------------------- */

TEST(a_lock_over_store_flush_and_fence_protects)
{
	expect_clean("all-locked");
	expect("load-unlocked", RACE, "store_all_locked", "load_unlocked");
}

/* A thread loads its own word first, from the same place. */
TEST(a_load_of_another_threads_word_shares_it)
{
	expect("late", RACE, "store_late", "load_late");
}

TEST(a_flush_behind_the_lock_is_too_late)
{
	expect("flush-outside", RACE, "store_flush_outside", "load_locked");
}

TEST(a_fence_behind_the_lock_is_too_late)
{
	expect("fence-outside", RACE, "store_fence_outside", "load_locked");
	expect_clean("clflush"); /* which needs no fence */
	expect_clean("atomic-fences");
}

TEST(a_lock_released_and_taken_again_does_not_protect)
{
	expect("retaken", RACE, "store_lock_retaken", "load_locked");
	expect("condition", RACE, "store_waits_on_condition", "load_locked");
}

TEST(of_two_locks_the_one_that_is_held_to_the_end_protects)
{
	expect("two-locks-a", RACE, "store_two_locks", "load_locked");
	expect_clean("two-locks-b");
}

TEST(readers_of_a_lock_do_not_exclude_each_other)
{
	expect("both-read", RACE, "store_reading", "load_reading");
	expect_clean("one-writes");
}

TEST(spin_locks_and_those_of_c11_protect)
{
	expect_clean("spin");
	expect_clean("c11");
}

TEST(a_lock_that_was_tried_protects_if_it_was_taken)
{
	expect_clean("trylock");
	expect("trylock-fails", RACE, "store_two_locks", "load_trylock_fails");
}

/* ---- What threads order --------------------------------------------------------------------------- */

TEST(what_is_durable_before_a_thread_is_created_is_durable_for_it)
{
	expect_clean("before-create");
	expect_clean("before-create-c11");
	expect("across-create", RACE, "before_create", "child_loads");
}

TEST(what_a_thread_made_durable_is_so_for_who_joins_it)
{
	expect_clean("after-join");
}

TEST(who_has_joined_a_thread_makes_its_stores_durable)
{
	expect_clean("joined-flush");
	expect("joined-no-flush", RACE, "store_never", "child_loads");
}

TEST(one_thread_has_no_races)
{
	expect_clean("alone");
}

/* ---- Which stores and loads ----------------------------------------------------------------------- */

TEST(bytes_of_one_thread_alone_are_left_out_unless_asked_for)
{
	for (unsigned i = 0; programs[i]; i++) {
		assert_int_equal(look(programs[i], "persistency", "until-published"), 0);
		assert_int_equal(candidates(), 0);
		assert_int_equal(left_out("one thread alone"), 2);
		assert_int_equal(look(programs[i], "persistency:initial", "until-published"), 1);
		assert_int_equal(candidates(), 1);
		assert_int_equal(left_out("one thread alone"), 0);
	}
}

TEST(a_store_that_is_never_flushed_is_a_window_without_an_end)
{
	expect("never", RACE, "store_never", "load_locked");
	assert_true(json_is_null(json_at(races, "candidates.0.end")));
	assert_true(json_is_true(json_at(races, "candidates.0.never")));
}

TEST(a_store_past_the_caches_has_a_window_up_to_the_fence)
{
	expect("streamed", RACE, "store_streamed", "load_unlocked");
	expect_clean("streamed-locked");
}

TEST(bytes_beside_are_others)
{
	expect("half", RACE, "store_half", "load_half");
	expect_clean("other-half");
	expect("text", RACE, "store_text", "load_text");
	expect_clean("text-behind");
}

TEST(what_the_reader_makes_durable_itself_is_no_race)
{
	expect_clean("helped");
	expect("helped-once", RACE, "store_flush_outside", "read_x");
	expect("helped-late", RACE, "store_flush_outside", "load_and_help_late");
	expect("helped-behind-a-store", RACE, "store_flush_outside", "load_store_and_help");
}

TEST(what_is_durable_in_the_line_that_was_read_comes_after_it)
{
	expect_clean("effect-beside");
	expect("effects", RACE, "store_flush_outside", "load_and_store_both");
}

TEST(a_load_that_nothing_durable_follows_is_left_out_and_counted)
{
	expect_clean("no-effect");
	assert_int_equal(left_out("nothing was made durable after the load"), 1);
}

TEST(what_atomics_order_in_this_run_is_of_second_rank)
{
	expect("published", SECOND_RANK, "store_then_publish", "load_when_published");
	expect("published-again", SECOND_RANK, "store_then_publish", "load_when_published");
}

TEST(an_atomic_that_loads_from_the_same_place_again_acquires)
{
	for (unsigned i = 0; programs[i]; i++) {
		assert_int_equal(look(programs[i], "persistency", "published-in-pool"), 0);
		assert_true(candidates() > 0);
	}
}

TEST(what_may_be_a_lock_is_of_second_rank)
{
	expect("own-lock", SECOND_RANK, "store_own_lock", "load_lock_free");
	expect("lock-free", RACE, "store_lock_free", "load_lock_free");
}

TEST(what_seems_to_be_a_lock_of_the_programs_own_excludes_in_second_rank)
{
	expect_hint("own-locked", SECOND_RANK, "store_own_locked", "load_own_locked",
		"lock of the program's own");
	expect_hint("own-flush-outside", RACE, "store_own_flush_outside", "load_own_locked", NULL);
	expect_hint("own-load-unlocked", RACE, "store_own_locked", "load_unlocked", NULL);
}

/* The lock's own bytes make candidates, too: the rank of what this function stores; 0: there is none. */
static json_int_t rank_of(const char *program, const char *mode, const char *store)
{
	const json_t *one;
	size_t i;

	look(program, "persistency", mode);
	json_array_foreach(json_at(races, "candidates"), i, one)
	{
		if (strncmp(text_at(one, "store.function"), store, strlen(store)) == 0) {
			return integer_at(one, "rank");
		}
	}
	return 0;
}

TEST(a_lock_that_inline_assembly_takes_is_one)
{
	for (unsigned i = 0; programs[i]; i++) {
		assert_int_equal(
			rank_of(programs[i], "by-assembly", "store_locked_by_assembly"), SECOND_RANK);
		assert_int_equal(
			rank_of(programs[i], "by-assembly-too-early", "store_unlocked_too_early"), RACE);
	}
}

TEST(a_bit_that_others_clear_is_no_lock)
{
	expect_hint("own-cleared-by-others", SECOND_RANK, "store_own_locked", "load_own_and_leave_it",
		"an atomic orders");
}

TEST(a_flush_behind_later_stores_is_late)
{
	expect_hint("flushed-late", RACE, "store_flushed_late", "load_unlocked", "a flush is missing");
	expect_hint("fenced-twice", RACE, "store_fenced_twice", "load_unlocked", NULL);
	expect_hint("never", RACE, "store_never", "load_locked", "a flush is missing");
}

/* ---- The report ----------------------------------------------------------------------------------- */

TEST(the_report_names_both_places_the_end_and_the_locks)
{
	exits(1, "$NVWAVE exec --check=persistency --delays=off -- %s pool two-locks-a", programs[0]);
	assert_output_has(
		("persistency races: 1 candidate at stores of 1 place, 0 places whose flush is late or "
		 "missing, and 0 of second rank"),
		"candidate: not witnessed", "store ", "(store_two_locks), durable from ", "(fence",
		"1  load ", "(load_locked) of another thread may come before that: 8 bytes at 0x0, 1 time\n",
		"locks over that time: of ", "; at the load: of ",
		"not looked at: code that nvwave-cc --loads has not built");
}

TEST(a_program_whose_loads_are_not_announced_is_told)
{
	succeeds("%s cc -O1 -g -pthread -o plain %s", getenv("HOST_CC"), WINDOWS_SOURCE);
	assert_int_equal(look("./plain", "persistency", "flush-outside"), 0);
	assert_int_equal(candidates(), 0);
	assert_int_equal(left_out("build the program with nvwave-cc --loads"), 1);
}

TEST(candidates_are_found_beside_a_record_and_after_a_kill)
{
	exits(1,
		"$NVWAVE exec --check=persistency --record=log --delays=off --report=report "
		"--output-format=json -- %s pool flush-outside",
		programs[0]);
	json_auto_t *o = report();

	assert_int_equal(size_at(o, "persistency_races.candidates"), 1);
	succeeds("$NVWAVE log dump log | grep -q fence");
	assert_int_equal(look(programs[0], "persistency", "killed"), 1);
	assert_int_equal(candidates(), 1);
}

/* ---- Setting up ----------------------------------------------------------------------------------- */

static int begin_windows(void **state)
{
	char *list = getenv("HOST_WINDOWS");
	unsigned n = 0;

	for (char *name = strtok(list, ":"); name && n < 3; name = strtok(NULL, ":")) {
		programs[n++] = name;
	}
	return n > 0 ? begin(state) : -1;
}

static int end_windows(void **state)
{
	forget();
	return shell_end(state);
}

GROUP(begin_windows, end_windows);
