/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real programs under nvwave exec. What is recorded is compared with what the programs did: the log, replayed
 * on the file as it was, gives the file as it is.
 */
#include "common/test.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/persist_log.h>

#include "host_rig.h"

/* ---- Reports ---------------------------------------------------------------------------------- */

static bool noted(const char *text)
{
	json_auto_t *o = report();
	const json_t *note;
	bool found = false;
	size_t i;

	json_array_foreach(json_at(o, "notes"), i, note)
	{
		found |= strstr(text_at(note, "text"), text) != NULL;
	}
	return found;
}

static void assert_no_notes(void)
{
	json_auto_t *o = report();

	assert_int_equal(size_at(o, "notes"), 0);
}

/* ---- Logs ------------------------------------------------------------------------------------- */

struct told {
	uint64_t stores, flushes, fences, written, threads;
	uint64_t late; /* stores that the program's processes did not record themselves */
	bool ended;
	uint64_t fences_after_last_store;
};

/* The log on its image must give the file. */
static struct told replay_of(const char *log, const char *file)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	struct told told = {0};
	size_t image_bytes, file_bytes;
	int more;

	uint8_t *const image = read_whole(formatted("%s.image", log), &image_bytes), *const now = read_whole(
											     file,
											     &file_bytes);

	assert_ok(nvw_log_open(in_dir(log), &reader));
	assert_true(image_bytes >= file_bytes); /* of a log of files, sizes follow */
	while ((more = nvw_log_next(reader, &r)) == 1) {
		if (r.kind == NVW_LOG_STORE) {
			memcpy(image + r.store.off, &r.store.value, r.store.bytes);
			told.stores++;
			told.late += r.store.work_item == 0;
			told.threads = r.store.work_item > told.threads ? r.store.work_item : told.threads;
			told.fences_after_last_store = 0;
		}
		if (r.kind == NVW_LOG_HOST) {
			memcpy(image + r.host.off, r.host.data, r.host.bytes);
			told.written += r.host.bytes;
		}
		told.flushes += r.kind == NVW_LOG_FLUSH;
		told.fences += r.kind == NVW_LOG_FENCE;
		told.fences_after_last_store += r.kind == NVW_LOG_FENCE;
		told.ended |= r.kind == NVW_LOG_END;
	}
	assert_int_equal(more, 0);
	nvw_log_reader_close(reader);
	assert_memory_equal(image, now, file_bytes);
	free(image);
	free(now);
	return told;
}

/* How often the log stores to a word. */
static unsigned stores_to(const char *log, uint64_t word, uint64_t value)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	unsigned n = 0;

	assert_ok(nvw_log_open(in_dir(log), &reader));
	while (nvw_log_next(reader, &r) == 1) {
		n += r.kind == NVW_LOG_STORE && r.store.off == 8 * word && r.store.value == value;
	}
	nvw_log_reader_close(reader);
	return n;
}

/* ---- Recording -------------------------------------------------------------------------------- */

TEST(the_log_on_the_image_gives_the_file)
{
	for (unsigned seed = 1; seed <= 8; seed++) {
		record(0, "stress", seed);
		const struct told told = replay_of("log", "pool");

		assert_true(told.ended && told.stores > 2000 && told.flushes > 500 && told.fences > 300);
		assert_no_notes();
	}
}

TEST(the_same_program_gives_the_same_log)
{
	record(0, "stress", 3);
	succeeds("mv log first && rm pool");
	record_on(0, "stress", 3);
	succeeds("cmp log first");
}

TEST(a_file_that_was_there_is_the_image)
{
	record(0, "stress", 1);
	succeeds("cp pool before");
	record_on(0, "stress", 2);
	succeeds("cmp before log.image");
	replay_of("log", "pool");
}

TEST(threads_that_block_all_signals_are_recorded)
{
	for (unsigned seed = 1; seed <= 4; seed++) {
		record(0, "threads", seed);
		assert_true(replay_of("log", "pool").threads > 2);
		assert_no_notes();
	}
}

/* Pages become hot and cold all the time, in four threads: none may be writable and unwatched. */
TEST(every_store_is_found_by_the_program_itself)
{
	for (unsigned seed = 1; seed <= 6; seed++) {
		record(0, "scatters", seed);
		const struct told told = replay_of("log", "pool");

		assert_true(told.stores > 10000 && told.late == 0);
	}
}

TEST(every_process_of_a_program_that_forks_is_recorded)
{
	for (unsigned seed = 1; seed <= 4; seed++) {
		record(0, "forks", seed);
		assert_true(replay_of("log", "pool").threads > 2);
		json_auto_t *o = report();

		assert_int_equal(integer_at(o, "processes"), 4);
	}
}

TEST(a_program_that_is_executed_goes_on_in_the_same_log)
{
	record(0, "executes", 0);
	replay_of("log", "pool");
	assert_int_equal(stores_to("log", 0, 5), 1);
	assert_int_equal(stores_to("log", 200, 9), 1);
}

TEST(an_executed_program_that_cannot_be_seen_is_told)
{
	record(0, "clears", 0);
	assert_true(noted("without LD_PRELOAD"));
}

TEST(stores_that_were_never_flushed_are_in_the_log)
{
	record(0, "unflushed", 0);
	assert_int_equal(stores_to("log", 3, 7), 1);
	assert_int_equal(stores_to("log", 100, 8), 1);
	assert_int_equal(stores_to("log", 200, 9), 1);
	assert_int_equal(replay_of("log", "pool").fences, 2);
}

TEST(a_killed_program_leaves_all_its_stores_in_the_log)
{
	static const int signals[] = {SIGKILL, SIGSEGV, SIGABRT, SIGTERM};

	for_each(signal, signals) {
		record(1, "dies", (unsigned)*signal);
		assert_int_equal(stores_to("log", 300, 11), 1);
		replay_of("log", "pool");
		json_auto_t *o = report();

		assert_int_equal(integer_at(o, "signal"), *signal);
	}
}

TEST(two_pools_have_a_log_each)
{
	record(0, "two", 0);
	assert_int_equal(replay_of("log", "pool").fences, 2);
	assert_int_equal(replay_of("log.2", "pool.second").fences, 2);
	assert_int_equal(stores_to("log", 0, 1) + stores_to("log.2", 8, 2), 2);
}

TEST(stores_are_seen_through_every_mapping_of_a_file)
{
	record(0, "twice", 0);
	assert_int_equal(stores_to("log", 9, 90), 1);
	assert_int_equal(stores_to("log", 17, 170), 1);
	replay_of("log", "pool");
}

TEST(a_write_after_unmapping_kills_the_program_and_is_told)
{
	record(1, "stray", 0);
	assert_true(noted("offset 40 of the mapping, after it had unmapped it"));
	replay_of("log", "pool");
}

TEST(what_was_written_while_unmapped_is_a_store)
{
	record(0, "descriptor", 0);
	const struct told told = replay_of("log", "pool");

	assert_true(told.written == 0 && told.stores >= 2);
}

TEST(what_the_kernel_reads_into_a_mapping_is_recorded)
{
	record(0, "reads", 0);
	assert_true(replay_of("log", "pool").stores >= 2);
}

TEST(a_mapping_may_go_in_parts)
{
	record(0, "part", 0);
	assert_int_equal(stores_to("log", 8192, 4), 1);
	replay_of("log", "pool");
}

TEST(the_programs_own_faults_and_protections_stay_its_own)
{
	record(0, "protects", 0);
	assert_int_equal(stores_to("log", 1, 2) + stores_to("log", 512, 3), 2);
	replay_of("log", "pool");
}

TEST(a_signal_handler_that_flushes_is_recorded)
{
	record(0, "interrupts", 0);
	replay_of("log", "pool");
}

TEST(libpmem_that_is_looked_up_is_interposed)
{
	record(0, "looks-up", 0);
	assert_int_equal(stores_to("log", 2, 21), 1);
	assert_int_equal(replay_of("log", "pool").flushes, 1);
	clean();
	succeeds("$NVWAVE exec --record=log --report=report --output-format=json -- %s pool",
		getenv("HOST_LOADER"));
	assert_int_equal(stores_to("log", 4, 44), 1);
	assert_int_equal(replay_of("log", "pool").flushes, 1);
}

TEST(msync_and_fsync_make_durable_like_a_flush_and_a_drain)
{
	record(0, "syncs", 0);
	const struct told told = replay_of("log", "pool");

	assert_int_equal(stores_to("log", 6, 66) + stores_to("log", 7, 77), 2);
	assert_true(told.flushes >= 2 && told.fences_after_last_store >= 1);
	succeeds("$NVWAVE crash --store-log=log --image=log.image --check=true --intervals");
}

TEST(every_line_that_a_range_touches_is_flushed_and_copies_are)
{
	record(0, "crosses", 0);
	succeeds("$NVWAVE log dump log");
	char *const first = strstr(output, "flush "), *const fence = first ? strstr(first, "fence ") : NULL;

	assert_non_null(fence);
	char *const second = strstr(fence, "flush ");

	assert_non_null(second);
	assert_has(second, "fence ");
	second[-1] = '\0';
	assert_has(first, "0x0, 128 bytes");
	assert_has(second, "0x400, 128 bytes");
}

/* The store that is flushed nowhere is found at the next fence, the one behind it at the end. */
TEST(what_was_stored_before_a_fence_is_in_the_log_before_it)
{
	record(0, "unflushed", 0);
	succeeds("$NVWAVE log dump log");
	char *const before = strstr(output, "0x320 = 0x0000000000000008"),
		    *const after = strstr(output, "0x640 = 0x0000000000000009");
	char *fence = output;

	for (char *next = output; (next = strstr(next + 1, "fence ")) != NULL;) {
		fence = next;
	}
	assert_non_null(before);
	assert_non_null(after);
	assert_true(before < fence && fence < after);
}

TEST(an_event_has_the_programs_source_line)
{
	record(0, "persist", 0);
	succeeds("$NVWAVE log dump log");
	assert_output_has("/pool, x86 persistency, "); /* of no machine, by no kernel */
	assert_output_lacks("kernel");
	assert_has(strstr(output, "flush     "),
		formatted("subject.c:%u (", line_with(SUBJECT_SOURCE, "the place that a test looks for")));
}

GROUP(begin, shell_end);
