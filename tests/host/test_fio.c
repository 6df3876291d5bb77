/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave fio: what is asked for follows the machine, what is measured is fio's, and lost blocks are found. */
#include "common/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json.h"
#include "common/shell.h"
#include "common/skip.h"

#define NEEDS_FIO()                                                      \
	if (run("command -v fio") != 0) {                                \
		skip_test("fio is not installed: its jobs did not run"); \
	}

/* nvwave fio's JSON, and its exit status. What fio says goes to standard error. */
static json_t *fio(int expected, const char *arguments)
{
	json_error_t e;

	exits(expected, "$NVWAVE fio %s --output-format=json 2>messages", arguments);
	json_t *const o = json_loads(output, 0, &e);

	assert_non_null(o);
	return o;
}

static double number(const json_t *row, const char *key)
{
	const json_t *const value = json_at(row, key);

	assert_true(json_is_number(value));
	return json_number_value(value);
}

static const json_t *row_of(const json_t *o, size_t i, const char *op, double bytes)
{
	const json_t *const row = json_array_get(json_at(o, "rows"), i);

	assert_non_null(row);
	assert_string_equal(text_at(row, "op"), op);
	assert_true(number(row, "bytes") == bytes);
	return row;
}

static bool is_near(double a, double b)
{
	return a > b - 0.01 && a < b + 0.01;
}

/* ---- Measuring -------------------------------------------------------------------------------- */

/*
 * Percentiles are of buckets, 3 % wide; and a call's own time is measured when the program starts, by some 10
 * ns.
 */
static void assert_row(const json_t *row, double asked, double operations)
{
	assert_true(is_near(number(row, "asked_ns"), asked));
	assert_true(number(row, "fio.operations") == operations);
	assert_true(number(row, "fio.p50_ns") >= 0.95 * asked);
	assert_true(number(row, "fio.p99_ns") >= number(row, "fio.p50_ns"));
	assert_true(number(row, "exec_p50_ns") >= 0.95 * asked);
	assert_true(number(row, "fio_without_delays.p50_ns") > 0);
}

TEST(accesses_take_at_least_what_the_machine_asks_for)
{
	NEEDS_FIO();
	json_auto_t *o = fio(0,
		"latency --bs=4k --sweep=6us --number-ios=5000 --set nvram.read=2us --set nvram.write=4us "
		"--set nvram.bandwidth=6.4GB/s --set nvram.channels=2");

	/* 64 bytes at 12.8 GB/s: 5 ns. */
	assert_int_equal(size_at(o, "rows"), 4);
	assert_row(row_of(o, 0, "read", 4096), 2000 + 63 * 5, 5000);
	assert_row(row_of(o, 1, "write", 4096), 4000 + 63 * 5, 5000);
	assert_row(row_of(o, 2, "read", 4096), 6000 + 63 * 5, 5000);
	assert_row(row_of(o, 3, "write", 4096), 6000 + 63 * 5, 5000);
}

TEST(what_is_asked_for_follows_the_machine_file_and_the_json_of_each_run_is_kept)
{
	NEEDS_FIO();
	write_text(
		"m.ini", "[nvram]\nread = 2us\nwrite = 5us\nbandwidth = 1GB/s\nchannels = 4\ndomain = adr\n");
	json_auto_t *o =
		fio(0, "latency --machine=./m.ini --bs=128 --sweep=none --number-ios=100 --json=kept");

	assert_true(is_near(number(row_of(o, 0, "read", 128), "asked_ns"), 2016));
	assert_true(number(row_of(o, 1, "write", 128), "asked_ns") == 0); /* accepted is durable */
	assert_string_equal(text_at(o, "domain"), "adr");
	succeeds("cat kept kept.2 | grep -c '\"fio version\" : \"fio-3'"); /* without delays, with */
	assert_string_equal(output, "2\n");
	assert_int_not_equal(run("ls kept.3"), 0);
}

TEST(threads_together_get_no_more_than_the_bandwidth)
{
	NEEDS_FIO();
	json_auto_t *o = fio(
		0, "bandwidth --set nvram.bandwidth=100MB/s --sweep=none --size=1m --io-size=4m --threads=2");

	NVW_FOR(i, 2) {
		const json_t *const row = row_of(o, i, i ? "write" : "read", 262144);
		const double measured = number(row, "fio.bytes_per_s");

		assert_true(number(row, "asked_bytes_per_s") == 1e8);
		/*
		 * The first block of each thread finds the device free; fio's clock for this has
		 * milliseconds.
		 */
		assert_true(measured > 0 && measured < 1.2e8);
	}
}

TEST(the_mixed_job_reads_seventy_percent)
{
	NEEDS_FIO();
	json_auto_t *o = fio(0, "mixed --io-size=8m --set nvram.read=2us");
	const json_t *const read = json_object_get(row_of(o, 0, "read", 4096), "fio");
	const json_t *const write = json_object_get(row_of(o, 1, "write", 4096), "fio");
	const double reads = number(read, "operations"), writes = number(write, "operations");

	assert_true(reads + writes == 2 * 2048);
	assert_true(reads > 0.66 * (reads + writes) && reads < 0.74 * (reads + writes));
	assert_true(number(read, "p50_ns") >= 0.95 * 2315);
}

/* ---- Verifying -------------------------------------------------------------------------------- */

TEST(acknowledged_blocks_survive_kills)
{
	NEEDS_FIO();
	json_auto_t *o = fio(0, "verify --size=256k --kills=2 --states=2 --seed=5");

	assert_string_equal(text_at(o, "verdict"), "not-refuted");
	assert_true(number(o, "blocks") == 64 && number(o, "lost") == 0);
	NVW_FOR(i, 2) {
		const json_t *const one = json_array_get(json_at(o, "kills"), i);

		assert_true(number(one, "acknowledged") > 0);
		assert_true(number(one, "acknowledged") < 64);
		assert_true(number(one, "states") > 0);
	}
}

TEST(kills_before_any_acknowledged_block_verify_nothing)
{
	NEEDS_FIO();
	exits(2, "$NVWAVE fio verify --size=4k --kills=2");
	assert_output_has(
		"nothing was verified: no kill came after the first acknowledged block (the job writes 1)");
}

TEST(blocks_that_were_not_drained_are_lost_unless_caches_are_persistent)
{
	NEEDS_FIO();
	json_auto_t *o = fio(1, "verify --size=256k --kills=1 --states=2 --fault=no-drain");
	json_auto_t *kept =
		fio(0, "verify --size=256k --kills=1 --states=2 --fault=no-drain --set nvram.domain=eadr");

	assert_string_equal(text_at(o, "verdict"), "inconsistent");
	assert_true(number(o, "lost") > 0);
	assert_has(text_at(o, "kills.0.text"), "verify: ");
	/* One seed, one kill. */
	assert_true(number(o, "kills.0.event") == number(kept, "kills.0.event"));
	assert_true(number(o, "kills.0.acknowledged") == number(kept, "kills.0.acknowledged"));
}

/* ---- By hand ---------------------------------------------------------------------------------- */

TEST(the_job_files_are_fios)
{
	NEEDS_FIO();
	succeeds(
		"for j in latency bandwidth mixed verify; do NVRAM=pool fio --parse-only $FIO_JOBS/$j.fio || "
		"exit 1; done");
}

TEST(a_damaged_block_is_found_by_hand)
{
	static const char write[] =
		"NVRAM=pool $NVWAVE exec -- fio --section=write --number_ios=20 --output=w "
		"$FIO_JOBS/verify.fio";
	static const char check[] =
		"NVRAM=pool $NVWAVE exec -- fio --section=check --readonly --output=c $FIO_JOBS/verify.fio";

	NEEDS_FIO();
	succeeds(write);
	succeeds(check);
	/* One of the written blocks: those that were not begin otherwise. */
	succeeds("at=$(grep -abo \"$(printf '\\312\\254')\" pool | awk -F: '$1 %% 4096 == 0 { print $1 / "
		 "4096; exit }') && "
		 "dd if=/dev/zero of=pool bs=4096 count=1 seek=$at conv=notrunc");
	exits(1, check);
	assert_output_has("bad magic");
}

/* ---- Refusals --------------------------------------------------------------------------------- */

/* A program of that name that fio is taken to be. */
static void with_fio(int status, const char *script, const char *arguments)
{
	run("mkdir -p bin");
	write_text("bin/fio", script);
	run("chmod +x bin/fio");
	exits(status, "PATH=%s/bin:$PATH $NVWAVE fio %s", dir, arguments);
}

TEST(fio_that_is_missing_or_fails_is_told)
{
	static const char says[] =
		"#!/bin/sh\nfor a; do case $a in --output=*) echo '%s' >${a#*=};; esac; done\n";
	static const struct {
		const char *json, *message;
	} bad[] = {
		{"nothing", "expected a JSON object"},
		{"{ \"fio version\" : oops", "fio's JSON: line 1"},
		{"{ \"fio version\" : \"fio-2.16\" }", "expected fio-3"},
		{"{ \"fio version\" : \"fio-3.33\", \"jobs\" : [] }", "expected results of the job \"read\""},
		{"{ \"fio version\" : \"fio-3.33\", \"jobs\" : [ { \"jobname\" : \"read\" } ] }",
			"job \"read\", read:"},
	};

	NEEDS_FIO();
	for_each(option, bad) {
		with_fio(2, formatted(says, option->json), "latency");
		assert_output_has(option->message);
	}
	with_fio(2, "#!/bin/sh\nexit 3\n", "mixed");
	assert_output_has("fio exited with status 3");
	with_fio(2, "#!/bin/sh\nexit 3\n", "verify");
	assert_output_has("fio exited with status 3");
	/* Verifies nothing, and says that all is lost. */
	with_fio(2,
		"#!/bin/sh\nfor a; do case $a in --section=check) exit 1;; esac; done\n"
		"PATH=${PATH#*:} exec fio \"$@\"\n",
		"verify --size=64k");
	assert_output_has("without a crash, fio fails to verify what it wrote");
	with_fio(2, "#!/bin/sh\nkill -9 $$\n", "bandwidth");
	assert_output_has("killed by signal 9");
	exits(2, "PATH=%s $NVWAVE fio mixed", dir);
	assert_output_has("fio is not in PATH");
}

TEST(bad_options_are_told)
{
	static const struct {
		const char *arguments, *message;
	} bad[] = {
		{"", "expected latency, bandwidth, mixed or verify"},
		{"latensy", "found \"latensy\""},
		{"latency --set nvram.reed=1ns", "did you mean nvram.read?"},
		{"latency --bs=6x", "--bs: expected a size"},
		{"latency --bs=64,,64", "--bs: expected a size"},
		{"mixed --bs=64,128", "--bs: expected one size"},
		{"latency --bs=none", "--bs: expected a size"},
		{"latency --sweep=100ns,10", "--sweep: 10 has no unit"},
		{"bandwidth --sweep=0GB/s", "--sweep: expected a rate"},
		{"latency --threads=2", "--threads has no effect in fio latency"},
		{"mixed --sweep=1us", "--sweep has no effect in fio mixed"},
		{"latency --kills=2", "--kills has no effect in fio latency"},
		{"verify --kills=0", "expected a number from 1 to 1000"},
		{"latency --repeat=100", "expected a number from 1 to 99"},
		{"latency --bs=64 --sweep=2s --number-ios=10", "expected at most 1s, found 2s"},
		{"verify --fault=none", "expected no-drain"},
		{"latency --pool=x", "it belongs to nvwave run"},
	};

	NEEDS_FIO();
	for_each(option, bad) {
		exits(2, "$NVWAVE fio %s", option->arguments);
		assert_output_has(option->message);
	}
	exits(2, "$NVWAVE fio verify --bs=3"); /* fio's own words */
	assert_output_has("Blocksize too small");
}

static int begin(void **state)
{
	setenv("TMPDIR", test_folder(), strcmp(test_folder(), "/dev/shm") == 0);
	return shell_begin_in(test_folder(), (const char *const[]){"NVWAVE", "FIO_JOBS", NULL});
}

GROUP(begin, shell_end);
