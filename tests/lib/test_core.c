/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with units, nearest names, sealed words, invariants, rows, arrays, temporary folders. */
#include "common/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvw/pool.h>
#include <nvw/random.h>

#include "core/array.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/rows.h"
#include "core/units.h"

enum { ROWS = 3000, ROUNDS = 20000 };

/* Takes and gives rows at random; each holder writes its own number into all of its row. */
TEST(no_two_holders_have_one_row_and_a_row_begins_as_zeros)
{
	static const uint64_t zeros[3];
	static uint32_t held[ROWS];
	struct nvw_rows rows = {.row_bytes = sizeof zeros};
	struct nvw_random random = {1};

	NVW_FOR(round, ROUNDS) {
		const uint64_t k = nvw_random_below(&random, ROWS);

		if (held[k]) {
			const uint64_t mine[] = {k, k, k};

			assert_memory_equal(nvw_row(&rows, held[k]), mine, sizeof mine);
			nvw_rows_give(&rows, held[k]);
			held[k] = 0;
		} else {
			held[k] = nvw_rows_take(&rows);
			assert_int_not_equal(held[k], 0);
			assert_memory_equal(nvw_row(&rows, held[k]), zeros, sizeof zeros);
			NVW_FOR(i, 3) {
				((uint64_t *)nvw_row(&rows, held[k]))[i] = k;
			}
		}
	}
	assert_in_range(rows.count, 1, ROWS); /* rows that were given back have served */
	nvw_rows_reset(&rows);
	assert_int_equal(nvw_rows_take(&rows), 1);
	nvw_rows_finish(&rows);
}

TEST(an_array_grows_with_its_content_and_new_room_is_zero)
{
	uint32_t *array = NULL, capacity = 0;

	for (uint32_t i = 0; i < ROWS; i++) {
		assert_true(NVW_ROOM(array, capacity, i + 1));
		assert_in_range(capacity, i + 1, UINT32_MAX);
		assert_int_equal(array[i], 0);
		array[i] = i + 1;
	}
	NVW_FOR(i, ROWS) {
		assert_int_equal(array[i], i + 1);
	}
	assert_true(NVW_ROOM(array, capacity, 10 * ROWS)); /* by more than twice */
	assert_int_equal(array[10 * ROWS - 1], 0);
	free(array);
}

TEST(numbers_are_read_in_their_units)
{
	uint64_t v;
	bool cycles;

	assert_ok(nvw_parse_bytes("16KiB", &v));
	assert_int_equal(v, 16384);
	assert_int_equal(
		nvw_parse_bytes("0x40B", &v), NVW_E_USAGE); /* B is a hexadecimal digit: 0x40B has no unit */
	assert_ok(nvw_parse_bytes("1.5MiB", &v));
	assert_int_equal(v, 3 << 19);
	assert_ok(nvw_parse_count("12k", &v));
	assert_int_equal(v, 12000);
	assert_ok(nvw_parse_count("0x1f", &v));
	assert_int_equal(v, 31);
	assert_ok(nvw_parse_time("2.5ns", &v, &cycles));
	assert_int_equal(v, 2500);
	assert_false(cycles);
	assert_ok(nvw_parse_time("7cycles", &v, &cycles));
	assert_int_equal(v, 7);
	assert_true(cycles);
	assert_ok(nvw_parse_frequency("1.2GHz", &v));
	assert_int_equal(v, 1200000000);
	assert_ok(nvw_parse_energy("1.265nJ", &v));
	assert_int_equal(v, 1265000);
	assert_int_equal(nvw_parse_energy("1265", &v), NVW_E_USAGE);
	assert_ok(nvw_parse_rate("12.8GB/s", &v));
	assert_int_equal(v, UINT64_C(12800000000));
}

TEST(nonsense_is_refused)
{
	static const char *const bad[] = {
		"", "-1", "1e5", "k", "12kk", "99999999999999999999G", "0x", "1 2", "+3", "nan"};
	uint64_t v;
	bool cycles;

	for_each(option, bad) {
		assert_int_equal(nvw_parse_count(*option, &v), NVW_E_USAGE);
		assert_int_equal(nvw_parse_bytes(*option, &v), NVW_E_USAGE);
		assert_int_equal(nvw_parse_time(*option, &v, &cycles), NVW_E_USAGE);
	}
	assert_int_equal(nvw_parse_time("0.0001ps", &v, &cycles), NVW_E_USAGE);
	assert_int_equal(nvw_parse_time("5", &v, &cycles), NVW_E_USAGE);
}

TEST(what_is_formatted_is_read_back_the_same)
{
	struct nvw_random random = {1};

	NVW_FOR(i, 2000) {
		const uint64_t value = nvw_random_u64(&random) >> (8 + nvw_random_below(&random, 50));
		char buffer[NVW_UNIT_TEXT];
		uint64_t back;
		bool cycles;

		assert_ok(nvw_parse_bytes(nvw_format_bytes(value, buffer), &back));
		assert_int_equal(back, value);
		assert_ok(nvw_parse_time(nvw_format_time(value, buffer), &back, &cycles));
		assert_int_equal(back, value);
		assert_ok(nvw_parse_energy(nvw_format_energy(value, buffer), &back));
		assert_int_equal(back, value);
		assert_ok(nvw_parse_rate(nvw_format_rate(value, buffer), &back));
		assert_int_equal(back, value);
	}
}

TEST(large_numbers_have_a_comma_after_every_third_digit_from_the_right)
{
	static const struct {
		uint64_t n;
		const char *text;
	} cases[] = {{0, "0"}, {999, "999"}, {1000, "1,000"}, {123456, "123,456"}, {1234567, "1,234,567"},
		{UINT64_MAX, "18,446,744,073,709,551,615"}};
	char buffer[NVW_UNIT_TEXT];

	for_each(c, cases) {
		assert_string_equal(nvw_format_grouped(c->n, buffer), c->text);
	}
}

TEST(shares_and_rounded_times_are_for_readers)
{
	static const struct {
		double part, whole;
		const char *text;
	} shares[] = {{0, 0, ""}, {5, 0, ""}, {0, 7, " (0 %)"}, {7, 7, " (100 %)"}, {1, 8, " (12.5 %)"},
		{99999, 100000, " (99.9 %)"}, {1, 1e6, " (below 0.01 %)"}, {25, 2, " (1250 %)"}};
	static const struct {
		uint64_t ps;
		const char *text;
	} times[] = {{0, "0 ns"}, {5, "0.005 ns"}, {994000, "994 ns"}, {5551000, "5.551 us"},
		{157812345, "157.8 us"}, {UINT64_C(2500000000000), "2.5 s"}};
	char buffer[NVW_UNIT_TEXT];

	for_each(row, shares) {
		assert_string_equal(nvw_format_share(row->part, row->whole, buffer), row->text);
	}
	for_each(row, times) {
		assert_string_equal(nvw_format_rounded_time(row->ps, 4, buffer), row->text);
	}
}

TEST(the_nearest_name_is_found_and_only_a_near_one)
{
	static const char *const names[] = {"nvram.write", "nvram.read", "gpu.cus", NULL};

	assert_string_equal(nvw_nearest("nvram.wriet", names), "nvram.write");
	assert_string_equal(nvw_nearest("gpu.cu", names), "gpu.cus");
	assert_null(nvw_nearest("zzzzzzzz", names));
}

TEST(every_change_of_a_byte_breaks_a_seal)
{
	struct nvw_random random = {2};

	NVW_FOR(i, 300) {
		const nvw_off off = 8 * nvw_random_below(&random, UINT64_C(1) << 34);
		const uint64_t payload = nvw_random_u64(&random) >> 16;
		const uint64_t word = nvw_seal(off, payload);
		uint64_t back;

		assert_true(nvw_unseal(off, word, &back));
		assert_int_equal(back, payload);
		NVW_FOR(byte, 8) {
			for (unsigned change = 1; change < 256; change++) {
				assert_false(nvw_unseal(off, word ^ (uint64_t)change << 8 * byte, &back));
			}
		}
	}
}

TEST(a_seal_holds_for_its_own_place_near_and_far)
{
	const uint64_t word = nvw_seal(4096, 77);
	uint64_t back;

	for (unsigned bit = 3; bit < 37; bit++) {
		assert_false(nvw_unseal(4096 ^ UINT64_C(1) << bit, word, &back));
	}
	assert_true(nvw_unseal(4096, 0, &back)); /* never written */
	assert_int_equal(back, 0);
}

/* docs/pool-format.md, bit by bit. */
static uint64_t documented_seal(nvw_off off, uint64_t payload)
{
	uint16_t crc = 0;

	NVW_FOR(byte, 11) {
		crc ^= (uint16_t)((byte < 5 ? off / 8 >> (32 - 8 * byte) : payload >> (80 - 8 * byte)) << 8);
		NVW_FOR(bit, 8) {
			crc = (uint16_t)(crc << 1 ^ (crc >> 15 ? 0x1021 : 0));
		}
	}
	crc ^= 0xffff;
	return payload | (uint64_t)(crc ? crc : 0x5aa5) << 48;
}

/* The first payloads are all remainders that there are, 0 among them. */
TEST(a_seal_is_the_one_of_the_pool_format)
{
	struct nvw_random random = {3};

	for (uint64_t i = 0; i < 70000; i++) {
		const nvw_off off = i < 65536 ? 4096 : 8 * nvw_random_below(&random, UINT64_C(1) << 34);
		const uint64_t payload = i < 65536 ? i : nvw_random_u64(&random) >> 16;

		assert_int_equal(nvw_seal(off, payload), documented_seal(off, payload));
	}
}

/* How a process ends in which the invariant holds or not, and what it says. */
static int end_of(bool holds, bool deep, char ret_text[256])
{
	int said[2], status;

	assert_int_equal(pipe(said), 0);
	const pid_t pid = fork();

	if (pid == 0) {
		dup2(said[1], STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		if (deep) {
			NVW_DEEP_INVARIANT(holds);
		} else {
			NVW_INVARIANT(holds);
		}
		_exit(7);
	}
	close(said[1]);
	const ssize_t n = read(said[0], ret_text, 255);

	ret_text[n > 0 ? n : 0] = '\0';
	close(said[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(a_broken_invariant_ends_the_process_in_every_build)
{
	char text[256];

	assert_int_equal(end_of(true, false, text), 7);
	assert_string_equal(text, "");
	assert_int_equal(end_of(false, false, text), -SIGABRT);
	assert_has(text, "test_core.c:");
	assert_has(text, "(end_of): a mistake in nvwave: holds does not hold");
}

TEST(a_broken_deep_invariant_ends_debug_builds)
{
#ifdef NVW_DEEP_INVARIANTS
	const int expected = -SIGABRT;
#else
	const int expected = 7;
#endif
	char text[256];

	assert_int_equal(end_of(true, true, text), 7);
	assert_int_equal(end_of(false, true, text), expected);
}

static void end(int number)
{
	(void)number;
	nvw__folders_remove_all();
	_exit(2);
}

/* Ends while it removes a folder, which takes it some ten milliseconds. */
static void end_while_removing(const char *where)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 2000}};
	struct nvw_folder folder;
	char path[512];

	if (setenv("TMPDIR", where, 1) < 0 || nvw_folder_make("test", false, &folder) < 0) {
		_exit(1);
	}
	NVW_FOR(i, 20000) {
		snprintf(path, sizeof path, "%.400s/%u", folder.path, i);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	signal(SIGALRM, end);
	setitimer(ITIMER_REAL, &soon, NULL);
	nvw_folder_remove(&folder);
	_exit(0);
}

static unsigned entries(const char *folder)
{
	DIR *const d = opendir(folder);
	unsigned n = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d)) != NULL;) {
		n += e->d_name[0] != '.';
	}
	closedir(d);
	return n;
}

TEST(a_folder_goes_though_its_process_ends_while_removing_it)
{
	struct nvw_folder folder;
	int status;

	assert_ok(nvw_folder_make("test", true, &folder));

	const pid_t pid = fork();

	if (pid == 0) {
		end_while_removing(folder.path);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
	assert_int_equal(entries(folder.path), 0);
	nvw_folder_remove(&folder);
}
