/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real programs under nvwave exec and nvwave crash --exec. What is recorded is compared with what the programs did: the
 * log, replayed on the file as it was, gives the file as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include <nvw/persist_log.h>

#include "common/shell.h"

static const char *nvwave, *subject, *loader, *append_log, *list, *indexed_log, *indexed_log_check;

/* ---- Running --------------------------------------------------------------------------------------------------- */

static const char *in_dir(const char *name)
{
	static char path[4][160];
	static unsigned next;
	char *const p = path[next++ % 4];

	snprintf(p, sizeof path[0], "%s/%s", dir, name);
	return p;
}

static void clean(void)
{
	run("rm -rf -- *");
}

/* Records a mode of the subject on the file "pool"; the report is in "report". The exit status. */
static int record(const char *mode, unsigned number)
{
	return run("%s exec --delays=off --record=log --report=report --output-format=json -- %s %s pool %u",
		nvwave, subject, mode, number);
}

static json_t *report(void)
{
	json_t *const o = json_load_file(in_dir("report"), 0, NULL);

	assert_non_null(o);
	return o;
}

static bool noted(const char *text)
{
	json_t *const o = report(), *const notes = json_object_get(o, "notes");
	bool found = false;

	for (size_t i = 0; i < json_array_size(notes); i++) {
		found |= strstr(json_string_value(json_object_get(json_array_get(notes, i), "text")), text) !=
			 NULL;
	}
	json_decref(o);
	return found;
}

static void assert_no_notes(void)
{
	json_t *const o = report();

	assert_int_equal(json_array_size(json_object_get(o, "notes")), 0);
	json_decref(o);
}

/* ---- Logs ---------------------------------------------------------------------------------------------------------- */

static uint8_t *read_whole(const char *name, size_t *ret_n)
{
	const int fd = open(in_dir(name), O_RDONLY);
	struct stat s;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &s), 0);
	uint8_t *const bytes = malloc((size_t)s.st_size + 64);

	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)s.st_size), s.st_size);
	close(fd);
	*ret_n = (size_t)s.st_size;
	return bytes;
}

struct told {
	uint64_t stores, flushes, fences, written, threads;
	uint64_t late; /* stores that the program's processes did not record themselves */
	bool ended;
	uint64_t fences_after_last_store;
};

/* The log on its image must give the file. */
static struct told replay_of(const char *log, const char *file)
{
	char image_name[64];
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	struct told told = {0};
	size_t image_bytes, file_bytes;
	int more;

	snprintf(image_name, sizeof image_name, "%s.image", log);
	uint8_t *const image = read_whole(image_name, &image_bytes), *const now =
									     read_whole(file, &file_bytes);

	assert_int_equal(nvw_log_open(in_dir(log), &reader), 0);
	assert_true(image_bytes == file_bytes);
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

	assert_int_equal(nvw_log_open(in_dir(log), &reader), 0);
	while (nvw_log_next(reader, &r) == 1) {
		n += r.kind == NVW_LOG_STORE && r.store.off == 8 * word && r.store.value == value;
	}
	nvw_log_reader_close(reader);
	return n;
}

/* Makes the stores of a store log in a copy of the image; how many there were. */
static unsigned stores_of_store_log(const char *path, uint8_t *image, size_t bytes)
{
	size_t length;
	char *const text = (char *)read_whole(path, &length), *rest = text;
	unsigned long long base = 0, at, size;
	unsigned n = 0;
	char value[8193];

	text[length] = '\0';
	for (const char *o; (o = strsep(&rest, "|")) != NULL;) {
		sscanf(o, "REGISTER_FILE;%*[^;];%llx", &base);
		if (sscanf(o, "STORE;%llx;0x%8192[0-9a-f];%llx", &at, value, &size) == 3) {
			assert_true(base > 0 && strlen(value) == 2 * size && at - base + size <= bytes);
			for (unsigned long long i = 0; i < size; i++) {
				unsigned byte;

				sscanf(value + 2 * i, "%2x", &byte);
				image[at - base + size - 1 - i] = (uint8_t)byte;
			}
			n++;
		}
	}
	free(text);
	return n;
}

/* ---- Recording ------------------------------------------------------------------------------------------------------ */

static void the_log_on_the_image_gives_the_file(void **state)
{
	for (unsigned seed = 1; seed <= 8; seed++) {
		clean();
		assert_int_equal(record("stress", seed), 0);
		const struct told told = replay_of("log", "pool");

		assert_true(told.ended && told.stores > 2000 && told.flushes > 500 && told.fences > 300);
		assert_no_notes();
	}
}

static void the_same_program_gives_the_same_log(void **state)
{
	clean();
	assert_int_equal(record("stress", 3), 0);
	assert_int_equal(run("mv log first && rm pool"), 0);
	assert_int_equal(record("stress", 3), 0);
	assert_int_equal(run("cmp log first"), 0);
}

static void a_file_that_was_there_is_the_image(void **state)
{
	clean();
	assert_int_equal(record("stress", 1), 0);
	assert_int_equal(run("cp pool before"), 0);
	assert_int_equal(record("stress", 2), 0);
	assert_int_equal(run("cmp before log.image"), 0);
	replay_of("log", "pool");
}

static void threads_that_block_all_signals_are_recorded(void **state)
{
	for (unsigned seed = 1; seed <= 4; seed++) {
		clean();
		assert_int_equal(record("threads", seed), 0);
		assert_true(replay_of("log", "pool").threads > 2);
		assert_no_notes();
	}
}

/* Pages become hot and cold all the time, in four threads: none may be writable and unwatched. */
static void every_store_is_found_by_the_program_itself(void **state)
{
	for (unsigned seed = 1; seed <= 6; seed++) {
		clean();
		assert_int_equal(record("scatters", seed), 0);
		const struct told told = replay_of("log", "pool");

		assert_true(told.stores > 10000 && told.late == 0);
	}
}

static void every_process_of_a_program_that_forks_is_recorded(void **state)
{
	for (unsigned seed = 1; seed <= 4; seed++) {
		clean();
		assert_int_equal(record("forks", seed), 0);
		assert_true(replay_of("log", "pool").threads > 2);
		json_t *const o = report();

		assert_int_equal(json_integer_value(json_object_get(o, "processes")), 4);
		json_decref(o);
	}
}

static void a_program_that_is_executed_goes_on_in_the_same_log(void **state)
{
	clean();
	assert_int_equal(record("executes", 0), 0);
	replay_of("log", "pool");
	assert_int_equal(stores_to("log", 0, 5), 1);
	assert_int_equal(stores_to("log", 200, 9), 1);
}

static void an_executed_program_that_cannot_be_seen_is_told(void **state)
{
	clean();
	assert_int_equal(record("clears", 0), 0);
	assert_true(noted("without LD_PRELOAD"));
}

static void stores_that_were_never_flushed_are_in_the_log(void **state)
{
	clean();
	assert_int_equal(record("unflushed", 0), 0);
	assert_int_equal(stores_to("log", 3, 7), 1);
	assert_int_equal(stores_to("log", 100, 8), 1);
	assert_int_equal(stores_to("log", 200, 9), 1);
	assert_int_equal(replay_of("log", "pool").fences, 2);
}

static void a_killed_program_leaves_all_its_stores_in_the_log(void **state)
{
	static const int signals[] = {SIGKILL, SIGSEGV, SIGABRT, SIGTERM};

	for (unsigned i = 0; i < 4; i++) {
		clean();
		assert_int_equal(record("dies", (unsigned)signals[i]), 1);
		assert_int_equal(stores_to("log", 300, 11), 1);
		replay_of("log", "pool");
		json_t *const o = report();

		assert_int_equal(json_integer_value(json_object_get(o, "signal")), signals[i]);
		json_decref(o);
	}
}

static void two_pools_have_a_log_each(void **state)
{
	clean();
	assert_int_equal(record("two", 0), 0);
	assert_int_equal(replay_of("log", "pool").fences, 2);
	assert_int_equal(replay_of("log.2", "pool.second").fences, 2);
	assert_int_equal(stores_to("log", 0, 1) + stores_to("log.2", 8, 2), 2);
}

static void stores_are_seen_through_every_mapping_of_a_file(void **state)
{
	clean();
	assert_int_equal(record("twice", 0), 0);
	assert_int_equal(stores_to("log", 9, 90), 1);
	assert_int_equal(stores_to("log", 17, 170), 1);
	replay_of("log", "pool");
}

static void a_write_after_unmapping_kills_the_program_and_is_told(void **state)
{
	clean();
	assert_int_equal(record("stray", 0), 1);
	assert_true(noted("offset 40 of the mapping, after it had unmapped it"));
	replay_of("log", "pool");
}

static void what_was_written_while_unmapped_is_a_durable_write(void **state)
{
	clean();
	assert_int_equal(record("descriptor", 0), 0);
	assert_true(replay_of("log", "pool").written >= 16);
}

static void what_the_kernel_reads_into_a_mapping_is_recorded(void **state)
{
	clean();
	assert_int_equal(record("reads", 0), 0);
	assert_true(replay_of("log", "pool").stores >= 2);
}

static void a_mapping_may_go_in_parts(void **state)
{
	clean();
	assert_int_equal(record("part", 0), 0);
	assert_int_equal(stores_to("log", 8192, 4), 1);
	replay_of("log", "pool");
}

static void the_programs_own_faults_and_protections_stay_its_own(void **state)
{
	clean();
	assert_int_equal(record("protects", 0), 0);
	assert_int_equal(stores_to("log", 1, 2) + stores_to("log", 512, 3), 2);
	replay_of("log", "pool");
}

static void a_signal_handler_that_flushes_is_recorded(void **state)
{
	clean();
	assert_int_equal(record("interrupts", 0), 0);
	replay_of("log", "pool");
}

static void libpmem_that_is_looked_up_is_interposed(void **state)
{
	clean();
	assert_int_equal(record("looks-up", 0), 0);
	assert_int_equal(stores_to("log", 2, 21), 1);
	assert_int_equal(replay_of("log", "pool").flushes, 1);
	clean();
	assert_int_equal(
		run("%s exec --record=log --report=report --output-format=json -- %s pool", nvwave, loader),
		0);
	assert_int_equal(stores_to("log", 4, 44), 1);
	assert_int_equal(replay_of("log", "pool").flushes, 1);
}

static void msync_and_fsync_make_durable_like_a_flush_and_a_drain(void **state)
{
	clean();
	assert_int_equal(record("syncs", 0), 0);
	const struct told told = replay_of("log", "pool");

	assert_int_equal(stores_to("log", 6, 66) + stores_to("log", 7, 77), 2);
	assert_true(told.flushes >= 2 && told.fences_after_last_store >= 1);
	assert_int_equal(
		run("%s crash --store-log=log --image=log.image --check=true --intervals", nvwave), 0);
}

static void every_line_that_a_range_touches_is_flushed_and_copies_are(void **state)
{
	clean();
	assert_int_equal(record("crosses", 0), 0);
	assert_int_equal(run("%s log dump log", nvwave), 0);
	char *const first = strstr(output, "flush "), *const fence = first ? strstr(first, "fence ") : NULL;

	assert_non_null(fence);
	char *const second = strstr(fence, "flush ");

	assert_non_null(second);
	assert_non_null(strstr(second, "fence "));
	second[-1] = '\0';
	assert_non_null(strstr(first, "0x0, 128 bytes"));
	assert_non_null(strstr(second, "0x400, 128 bytes"));
}

/* The store that is flushed nowhere is found at the next fence, the one behind it at the end. */
static void what_was_stored_before_a_fence_is_in_the_log_before_it(void **state)
{
	clean();
	assert_int_equal(record("unflushed", 0), 0);
	assert_int_equal(run("%s log dump log", nvwave), 0);
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

static void an_event_has_the_programs_source_line(void **state)
{
	char expected[256];
	unsigned line = 0;
	FILE *const source = fopen(SUBJECT_SOURCE, "r");

	assert_non_null(source);
	for (unsigned i = 1; line == 0 && fgets(output, sizeof output, source); i++) {
		line = strstr(output, "the place that a test looks for") ? i : 0;
	}
	fclose(source);
	clean();
	assert_int_equal(record("persist", 0), 0);
	assert_int_equal(run("%s log dump log", nvwave), 0);
	assert_non_null(strstr(output, "/pool, x86 persistency, ")); /* of no machine, by no kernel */
	assert_null(strstr(output, "kernel"));
	snprintf(expected, sizeof expected, "flush     tests/host/subject.c:%u (main)", line);
	char *const flush = strstr(output, "flush     ");

	assert_non_null(flush);
	snprintf(expected, sizeof expected, "subject.c:%u (", line);
	assert_non_null(strstr(flush, expected));
}

/* ---- Statistics, advice, delays --------------------------------------------------------------------------------------- */

static json_int_t stat_of(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(json_object_get(o, "pmem"), name));
}

static void wasted_flushes_and_drains_are_counted_with_their_places(void **state)
{
	clean();
	assert_int_equal(run("%s exec --advice --report=report --output-format=json -- %s wastes pool",
				 nvwave, subject),
		0);
	json_t *const o = report(), *const advice = json_object_get(o, "advice");

	assert_int_equal(stat_of(o, "flushes"), 20);
	assert_int_equal(stat_of(o, "idle_flushes"), 10);
	assert_int_equal(stat_of(o, "fences"), 30);
	assert_int_equal(stat_of(o, "empty_fences"), 10);
	assert_int_equal(json_array_size(advice), 2);
	for (size_t i = 0; i < 2; i++) {
		const json_t *const a = json_array_get(advice, i);

		assert_non_null(strstr(json_string_value(json_object_get(a, "file")), "subject.c"));
		assert_int_equal(json_integer_value(json_object_get(a, "idle_flushes")) +
					 json_integer_value(json_object_get(a, "empty_fences")),
			10);
	}
	json_decref(o);
}

static void a_delay_lasts_at_least_as_long_as_was_asked(void **state)
{
	clean();
	assert_int_equal(
		run("%s exec --set nvram.write=2us --report=report --output-format=json -- %s stress pool 1",
			nvwave, subject),
		0);
	json_t *const o = report(), *const delays = json_object_get(o, "write_delays");

	assert_true(json_integer_value(json_object_get(delays, "count")) > 300);
	assert_true(json_integer_value(json_object_get(delays, "requested_p50_ns")) >= 1900);
	assert_true(json_integer_value(json_object_get(delays, "achieved_p50_ns")) >=
		    json_integer_value(json_object_get(delays, "requested_p50_ns")) * 9 / 10);
	json_decref(o);
}

static void without_latencies_the_bandwidth_is_left(void **state)
{
	/* Two lines are a portion: a line takes 90 ns. Without anything to wait for nothing waits. */
	static const char *const bandwidths[] = {"711MB/s", "711GB/s"};

	for (unsigned i = 0; i < 2; i++) {
		clean();
		assert_int_equal(
			run("%s exec --set nvram.read=0ns --set nvram.write=0ns --set nvram.bandwidth=%s --report=report "
			    "--output-format=json -- %s flushes pool",
				nvwave, bandwidths[i], subject),
			0);
		json_t *const o = report();

		assert_int_equal(
			json_integer_value(json_object_get(json_object_get(o, "write_delays"), "count")) > 0,
			i == 0);
		json_decref(o);
	}
}

static void under_eadr_nothing_waits_for_a_flush(void **state)
{
	clean();
	assert_int_equal(
		run("%s exec --set nvram.domain=eadr --report=report --output-format=json -- %s wastes pool",
			nvwave, subject),
		0);
	json_t *const o = report();

	assert_int_equal(json_integer_value(json_object_get(json_object_get(o, "write_delays"), "count")), 0);
	json_decref(o);
}

/* What the threads did in another order was not recorded. */
static void a_verdict_on_threads_is_of_the_recorded_interleaving(void **state)
{
	static const char crash[] = "%s crash --exec='%s %s {} 3' --image=pool --check=true --states=50 %s";

	clean();
	assert_int_equal(run(crash, nvwave, subject, "threads", "--html=page"), 0);
	assert_non_null(strstr(output, "states of this recorded interleaving of"));
	assert_non_null(strstr(output, "other interleavings of the threads may leave other states"));
	assert_int_equal(run("grep -q 'the recorded interleaving of [0-9]* threads' page"), 0);
	assert_int_equal(run(crash, nvwave, subject, "threads", "--output-format=json >json"), 0);
	assert_int_equal(run("grep -q '^  \"threads\": [2-9],' json"), 0);
	assert_int_equal(run(crash, nvwave, subject, "persist", ""), 0);
	assert_null(strstr(output, "interleaving"));
	assert_non_null(strstr(output, "100 %: all instants exhausted"));
}

/* Of all threads, the first alone makes a call that is recorded. */
static void threads_that_only_store_are_counted(void **state)
{
	clean();
	assert_int_equal(run("%s crash --exec='%s stores-apart {}' --image=pool --check=true --states=50",
				 nvwave, subject),
		0);
	assert_non_null(strstr(output, "100 % of this recorded interleaving of 3 threads:"));
	assert_int_equal(run("%s exec --record=log -- %s stores-apart pool", nvwave, subject), 0);
	assert_int_equal(run("%s log export log >lines", nvwave), 0);
	assert_int_equal(run("%s crash --store-log=lines --image=log.image --check=true", nvwave), 0);
	assert_non_null(strstr(output, "in one recorded order (the log names no threads)"));
}

/* ---- Bad input -------------------------------------------------------------------------------------------------------- */

static void programs_that_cannot_be_interposed_are_refused(void **state)
{
	clean();
	assert_int_equal(run("%s exec -- ./nothing", nvwave), 2);
	assert_non_null(strstr(output, "expected a program"));
	assert_int_equal(run("cp /bin/true t && chmod 4755 t && %s exec -- ./t", nvwave), 2);
	assert_non_null(strstr(output, "set-user-id"));
	assert_int_equal(run("%s exec -- %s", nvwave, dir), 2);
	assert_int_equal(run("%s exec --", nvwave), 2);
	assert_int_equal(run("%s exec true", nvwave), 2);
	assert_int_equal(run("%s exec --delays=perhaps -- true", nvwave), 2);
	assert_int_equal(run("echo 'int main(void) { return 0; }' >s.c && cc -static -o s s.c"), 0);
	assert_int_equal(run("%s exec -- ./s", nvwave), 2);
	assert_non_null(strstr(output, "statically linked"));
	assert_int_equal(run("NVWAVE_PMEM_LIBRARY=/nowhere.so %s exec -- true", nvwave), 2);
	assert_non_null(strstr(output, "/nowhere.so"));
}

static void a_program_without_libpmem_is_told(void **state)
{
	clean();
	assert_int_equal(run("%s exec -- true", nvwave), 0);
	assert_non_null(strstr(output, "no function of libpmem was called"));
	assert_int_equal(run("%s exec --record=log -- true", nvwave), 2);
	assert_non_null(strstr(output, "mapped no file"));
}

static void nothing_is_left_behind(void **state)
{
	clean();
	assert_int_equal(
		run("mkdir t && TMPDIR=t %s exec --record=log --report=r -- %s dies pool 9", nvwave, subject),
		1);
	assert_int_equal(
		run("TMPDIR=t %s crash --exec='%s unflushed {}' --image=pool --check=true", nvwave, subject),
		0);
	assert_int_equal(run("rmdir t"), 0);
}

/* ---- Crash tests --------------------------------------------------------------------------------------------------------- */

static void a_right_log_is_consistent_and_each_planted_bug_is_found(void **state)
{
	static const char *const bugs[] = {"one-drain", "no-flush", "header-first"};

	clean();
	assert_int_equal(run("%s pool 2", append_log), 0);
	assert_int_equal(run("cp pool before"), 0);
	assert_int_equal(
		run("%s crash --exec='%s pool 3' --image=pool --check=%s", nvwave, append_log, append_log),
		0);
	assert_non_null(strstr(output, "100 %"));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(
			run("%s crash --exec='%s pool 3 %s' --image=pool --check=%s --save=saved --states=200",
				nvwave, append_log, bugs[i], append_log),
			1);
		assert_non_null(strstr(output, "counts and is not whole"));
		assert_non_null(strstr(output, "examples/append_log.c:"));
		assert_int_equal(run("%s replay saved/finding-1", nvwave), 1);
		assert_non_null(strstr(output, "REPRODUCED"));
	}
	assert_int_equal(run("cmp pool before"), 0); /* the programs worked on copies */
}

static void a_right_indexed_log_is_consistent_and_each_planted_bug_is_found(void **state)
{
	static const struct {
		const char *name, *text;
	} bugs[] = {{"one-drain", "counts and is not whole"}, {"no-flush", "counts and is not whole"},
		{"index-first", "has an entry that does not count"},
		{"index-unflushed", "is not in the index"}};

	clean();
	assert_int_equal(run("%s pool 2", indexed_log), 0);
	assert_int_equal(
		run("%s crash --exec='%s pool 6' --image=pool --check=%s", nvwave, indexed_log, indexed_log),
		0);
	assert_non_null(strstr(output, "100 %"));
	assert_int_equal(run("%s crash --exec='%s pool 6' --image=pool --check-lib=%s --model=pmreorder",
				 nvwave, indexed_log, indexed_log_check),
		0);
	for (unsigned i = 0; i < sizeof bugs / sizeof *bugs; i++) {
		assert_int_equal(run("%s crash --exec='%s pool 4 %s' --image=pool --check=%s", nvwave,
					 indexed_log, bugs[i].name, indexed_log),
			1);
		assert_non_null(strstr(output, bugs[i].text));
		assert_non_null(strstr(output, "examples/indexed_log.c:"));
		assert_int_equal(run("%s crash --exec='%s pool 4 %s' --image=pool --check-lib=%s", nvwave,
					 indexed_log, bugs[i].name, indexed_log_check),
			1);
		assert_non_null(strstr(output, bugs[i].text));
	}
}

static void a_right_pmemobj_list_is_consistent_and_each_planted_bug_is_found(void **state)
{
	static const char *const bugs[] = {"no-add", "no-tx"};

	clean();
	assert_int_equal(run("%s create pool && %s append pool 1", list, list), 0);
	assert_int_equal(
		run("%s crash --exec='%s append pool 1' --image=pool --check='%s check' --states=150", nvwave,
			list, list),
		0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			run("%s crash --exec='%s append pool 1 %s' --image=pool --check='%s check' --states=150",
				nvwave, list, bugs[i], list),
			1);
		assert_non_null(strstr(output, "examples/list.c:"));
	}
}

static void what_a_line_held_at_an_event_persists_together(void **state)
{
	clean();
	/* The checker is not interposed, and the subject insists on persistent memory. */
	assert_int_equal(
		run("PMEM_IS_PMEM_FORCE=1 %s crash --exec='%s same-line {}' --image=pool --check='%s check-same-line'",
			nvwave, subject, subject),
		0);
	assert_non_null(strstr(output, "100 %"));
}

static void a_recorded_log_is_explored_like_the_run_itself(void **state)
{
	char first[64], *states;

	clean();
	assert_int_equal(run("%s pool 2 && cp pool copy", append_log), 0);
	assert_int_equal(run("%s crash --exec='%s pool 3 one-drain' --image=pool --check=%s", nvwave,
				 append_log, append_log),
		1);
	states = strstr(output, "possible:");
	assert_non_null(states);
	snprintf(first, sizeof first, "%.40s", states);
	assert_int_equal(run("%s exec --record=log -- %s pool 3 one-drain", nvwave, append_log), 0);
	assert_int_equal(run("cmp copy log.image"), 0);
	assert_int_equal(run("%s crash --store-log=log --image=log.image --check=%s", nvwave, append_log), 1);
	assert_non_null(strstr(output, first));
}

static void an_exported_store_log_gives_the_file(void **state)
{
	static const char *const modes[] = {"stress", "descriptor", "unflushed", "scatters"};

	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
		unsigned stores[2];

		clean();
		assert_int_equal(record(modes[i], 1), 0);
		assert_int_equal(
			run("%s log export log >lines && %s log export log --words >words", nvwave, nvwave),
			0);
		for (unsigned words = 0; words < 2; words++) {
			size_t bytes, now_bytes;
			uint8_t *const image = read_whole("log.image", &bytes), *const now = read_whole(
											"pool", &now_bytes);

			assert_int_equal(bytes, now_bytes);
			stores[words] = stores_of_store_log(words ? "words" : "lines", image, bytes);
			assert_memory_equal(image, now, bytes);
			free(image);
			free(now);
		}
		assert_true(stores[0] > 0 && stores[0] <= stores[1]);
	}
}

/* What the report says of the possible states. */
static const char *possible(const char *log, const char *model)
{
	static char text[4][96];
	static unsigned next;
	char *const kept = text[next++ % 4];

	run("%s crash --store-log=%s --image=log.image --check-lib=%s --model=%s", nvwave, log,
		indexed_log_check, model);
	const char *const found = strstr(output, "possible:");

	assert_non_null(found);
	snprintf(kept, sizeof text[0], "%.90s", found);
	return kept;
}

static void an_exported_store_log_is_explored_like_the_record(void **state)
{
	clean();
	assert_int_equal(run("%s pool 2", indexed_log), 0);
	assert_int_equal(run("%s exec --record=log -- %s pool 4 one-drain", nvwave, indexed_log), 0);
	assert_int_equal(
		run("%s log export log >lines && %s log export log --words >words", nvwave, nvwave), 0);
	assert_string_equal(possible("lines", "pmreorder"), possible("log", "pmreorder"));
	assert_non_null(strstr(output, "counts and is not whole"));
	assert_non_null(strstr(output, "examples/indexed_log.c:"));
	assert_string_not_equal(possible("words", "pmreorder"), possible("log", "pmreorder"));
	assert_int_equal(run("%s log export log --file='a;b'", nvwave), 2);
	assert_non_null(strstr(output, "a;b"));
	assert_int_equal(
		run("%s run kv --count=20 --log=kernel && %s log export kernel >out", nvwave, nvwave), 2);
	assert_non_null(strstr(output, "found a kernel's"));
	assert_int_equal(run("test -s out"), 1);
}

static void the_models_differ_where_they_should(void **state)
{
	clean();
	assert_int_equal(run("%s pool 2", append_log), 0);
	assert_int_equal(run("%s crash --exec='%s pool 3 no-flush' --image=pool --check=%s --model=eadr",
				 nvwave, append_log, append_log),
		0); /* caches are inside */
	assert_int_equal(run("%s crash --exec='%s pool 3 header-first' --image=pool --check=%s --model=eadr",
				 nvwave, append_log, append_log),
		1);
	assert_int_equal(
		run("%s crash --exec='%s pool 3 one-drain' --image=pool --check=%s --model=pmreorder", nvwave,
			append_log, append_log),
		1);
}

static void a_killed_program_leaves_states_that_are_checked(void **state)
{
	clean();
	assert_int_equal(run("%s pool 2 && cp pool before", append_log), 0);
	assert_int_equal(run("%s crash --mode=kill --exec='%s pool 4' --image=pool --check=%s --states=10",
				 nvwave, append_log, append_log),
		0);
	assert_non_null(strstr(output, "10 kills"));
	assert_int_equal(
		run("%s crash --mode=kill --exec='%s pool 4 one-drain' --image=pool --check=%s --states=20 --save=saved",
			nvwave, append_log, append_log),
		1);
	assert_non_null(strstr(output, "counts and is not whole"));
	assert_int_equal(run("%s replay saved/finding-1", nvwave), 1);
	assert_int_equal(run("cmp pool before"), 0);
	assert_int_equal(run("%s crash --mode=kill --exec='%s forks {}' --image=new --check=true --states=5",
				 nvwave, subject),
		0);
}

/* The report of a checker that is a script, or a program of a line of C built with flags. */
static int crash_with(const char *check)
{
	return run("%s crash --exec='%s pool 3' --image=pool --check=%s --timeout=2s --states=12", nvwave,
		append_log, check);
}

static void every_kind_of_checker_is_asked_about_every_state(void **state)
{
	clean();
	assert_int_equal(run("%s pool 2", append_log), 0);
	/* Forked from a server: none of it is left in the environment, and each run is one of its own. */
	assert_int_equal(
		run("printf '#!/bin/sh\\ntest -z \"$LD_PRELOAD$NVWAVE_FORK_SERVER$NVWAVE_FORK_PRELOAD\" -a "
		    "-f \"$1\" && echo $$ >>runs\\n' >script && chmod +x script"),
		0);
	assert_int_equal(crash_with("./script"), 0);
	assert_int_equal(run("test $(sort -u runs | wc -l) -ge 8"), 0);
	/* Static: executed each time. It changes the file, which must be made new. */
	assert_int_equal(
		run("printf '#include <stdio.h>\\nint main(int n, char **a) { FILE *f = fopen(a[1], \"r+\"); int c = "
		    "fgetc(f); rewind(f); fputc(255, f); fclose(f); return c == 255; }' >s.c && cc -static -o s s.c"),
		0);
	assert_int_equal(crash_with("./s"), 0);
	assert_int_equal(run("cc -o s s.c"), 0);
	assert_int_equal(crash_with("./s"), 0);
	assert_int_equal(
		run("sed -i 's/return c == 255/raise(11)/; s/^#/#include <signal.h>\\n#/' s.c && cc -o s s.c"),
		0);
	assert_int_equal(crash_with("./s"), 1);
	assert_non_null(strstr(output, "was killed by signal 11"));
	assert_int_equal(
		run("sed -i 's/raise(11)/pause()/; s/^#/#include <unistd.h>\\n#/' s.c && cc -o s s.c"), 0);
	assert_int_equal(
		run("%s crash --exec='%s pool 3' --image=pool --check=./s --timeout=100ms --states=2", nvwave,
			append_log),
		1);
	assert_non_null(strstr(output, "does not terminate"));
}

static void crash_tests_that_cannot_be_are_refused(void **state)
{
	clean();
	assert_int_equal(run("%s pool 1", append_log), 0);
	assert_int_equal(
		run("%s crash --exec='%s pool 3' --image=other --check=true", nvwave, append_log), 2);
	assert_non_null(strstr(output, "expected other, or {}"));
	assert_int_equal(run("%s crash --exec='%s pool 3' --check=true", nvwave, append_log), 2);
	assert_int_equal(run("%s crash --exec='%s pool 3' --image=pool", nvwave, append_log), 2);
	assert_int_equal(run("%s crash --exec='ls pool' --image=pool --check=true", nvwave), 2);
	assert_non_null(strstr(output, "did not map"));
	assert_int_equal(run("%s crash kv --exec='ls pool' --image=pool --check=true", nvwave), 2);
	assert_int_equal(run("%s crash --exec='%s pool 3' --image=pool --check=true --model=epoch", nvwave,
				 append_log),
		2);
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------------------ */

static int begin(void **state)
{
	nvwave = getenv("NVWAVE");
	subject = getenv("HOST_SUBJECT");
	loader = getenv("HOST_LOADER");
	append_log = getenv("HOST_APPEND_LOG");
	list = getenv("HOST_LIST");
	indexed_log = getenv("HOST_INDEXED_LOG");
	indexed_log_check = getenv("HOST_INDEXED_LOG_CHECK");
	setenv("PMEM_IS_PMEM_FORCE", "0", 1);
	snprintf(dir, sizeof dir, "/tmp/nvwave-host-XXXXXX");
	return nvwave && subject && loader && append_log && list && indexed_log && indexed_log_check &&
			       mkdtemp(dir) ?
		       0 :
		       -1;
}

static int end(void **state)
{
	clean();
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_log_on_the_image_gives_the_file),
		cmocka_unit_test(the_same_program_gives_the_same_log),
		cmocka_unit_test(a_file_that_was_there_is_the_image),
		cmocka_unit_test(threads_that_block_all_signals_are_recorded),
		cmocka_unit_test(every_store_is_found_by_the_program_itself),
		cmocka_unit_test(every_process_of_a_program_that_forks_is_recorded),
		cmocka_unit_test(a_program_that_is_executed_goes_on_in_the_same_log),
		cmocka_unit_test(an_executed_program_that_cannot_be_seen_is_told),
		cmocka_unit_test(stores_that_were_never_flushed_are_in_the_log),
		cmocka_unit_test(a_killed_program_leaves_all_its_stores_in_the_log),
		cmocka_unit_test(two_pools_have_a_log_each),
		cmocka_unit_test(stores_are_seen_through_every_mapping_of_a_file),
		cmocka_unit_test(a_write_after_unmapping_kills_the_program_and_is_told),
		cmocka_unit_test(what_was_written_while_unmapped_is_a_durable_write),
		cmocka_unit_test(what_the_kernel_reads_into_a_mapping_is_recorded),
		cmocka_unit_test(a_mapping_may_go_in_parts),
		cmocka_unit_test(the_programs_own_faults_and_protections_stay_its_own),
		cmocka_unit_test(a_signal_handler_that_flushes_is_recorded),
		cmocka_unit_test(libpmem_that_is_looked_up_is_interposed),
		cmocka_unit_test(msync_and_fsync_make_durable_like_a_flush_and_a_drain),
		cmocka_unit_test(every_line_that_a_range_touches_is_flushed_and_copies_are),
		cmocka_unit_test(what_was_stored_before_a_fence_is_in_the_log_before_it),
		cmocka_unit_test(an_event_has_the_programs_source_line),
		cmocka_unit_test(wasted_flushes_and_drains_are_counted_with_their_places),
		cmocka_unit_test(a_delay_lasts_at_least_as_long_as_was_asked),
		cmocka_unit_test(without_latencies_the_bandwidth_is_left),
		cmocka_unit_test(under_eadr_nothing_waits_for_a_flush),
		cmocka_unit_test(programs_that_cannot_be_interposed_are_refused),
		cmocka_unit_test(a_program_without_libpmem_is_told),
		cmocka_unit_test(nothing_is_left_behind),
		cmocka_unit_test(a_right_log_is_consistent_and_each_planted_bug_is_found),
		cmocka_unit_test(a_right_indexed_log_is_consistent_and_each_planted_bug_is_found),
		cmocka_unit_test(a_right_pmemobj_list_is_consistent_and_each_planted_bug_is_found),
		cmocka_unit_test(what_a_line_held_at_an_event_persists_together),
		cmocka_unit_test(a_recorded_log_is_explored_like_the_run_itself),
		cmocka_unit_test(an_exported_store_log_gives_the_file),
		cmocka_unit_test(an_exported_store_log_is_explored_like_the_record),
		cmocka_unit_test(the_models_differ_where_they_should),
		cmocka_unit_test(a_killed_program_leaves_states_that_are_checked),
		cmocka_unit_test(every_kind_of_checker_is_asked_about_every_state),
		cmocka_unit_test(crash_tests_that_cannot_be_are_refused),
		cmocka_unit_test(a_verdict_on_threads_is_of_the_recorded_interleaving),
		cmocka_unit_test(threads_that_only_store_are_counted),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
