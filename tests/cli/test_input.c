/* SPDX-License-Identifier: BSD-3-Clause */
/* What the command is given to read: folders, devices and pipes in the place of files, and files that lie. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

#include <nvw/persist_log.h>

#include "command.h"

/* Every option and argument that names a file, where the file's name goes. */
static const char *const readers[] = {
	"run mutex --machine=%s",
	"run kv --keys=%s",
	"run kv --keys=binary:%s",
	"run kv --ycsb=%s",
	"run pagerank --graph=%s",
	"inspect %s",
	"recover %s",
	"replay %s",
	"log dump %s",
	"litmus %s",
	"crash --store-log=%s --image=%%D/image --check=true",
};

enum { READERS = NVW_COUNT(readers) };

/* A folder of tests, or of pools, is what it takes. */
static bool takes_folders(const char *words)
{
	return !strncmp(words, "litmus ", 7) || !strncmp(words, "inspect ", 8) ||
	       !strncmp(words, "recover ", 8);
}

static void each_reader_refuses(const char *path, const char *message)
{
	command_write("image", "", 1);
	NVW_EACH(reader, readers, READERS) {
		const char *const words = formatted(*reader, path);

		if (takes_folders(words) && !strcmp(path, "%D")) {
			continue;
		}
		command_refuses(words, message);
	}
	command_remove("image");
}

TEST(a_folder_is_no_input_file)
{
	each_reader_refuses("%D", "found a folder");
}

TEST(a_device_is_no_input_file)
{
	each_reader_refuses("/dev/zero", "found a device");
}

TEST(an_error_of_reading_is_not_the_end_of_the_file)
{
	static const unsigned of_whole_files[] = {0, 1, 2, 3, 4, 7, 8, 9};

	for_each(reader, of_whole_files) {
		command_refuses(formatted(readers[*reader], "/proc/self/mem"), "Input/output error");
	}
}

TEST(a_pipe_that_nobody_writes_to_is_refused_and_not_waited_for)
{
	assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
	command_refuses("inspect %D/pipe", "found a pipe");
	command_refuses("run mutex --machine=%D/pipe", "no process has this pipe open for writing");
	command_refuses("run kv --keys=%D/pipe", "no process has this pipe open for writing");
	command_refuses("litmus %D/pipe", "no process has this pipe open for writing");
	command_refuses("replay %D/pipe", "no process has this pipe open for writing");
	command_remove("pipe");
}

/* Its writer opens it late, and writes in two goes. */
TEST(a_pipe_is_read_to_its_end)
{
	assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
	const pid_t writer = fork();

	if (writer == 0) {
		const int fd = open(in_dir("pipe"), O_WRONLY);

		usleep(100000);
		if (write(fd, "[gpu]\ncus", 9) != 9) {
			_exit(1);
		}
		usleep(100000);
		_exit(write(fd, " = 7\n", 5) != 5);
	}
	command_prints("run kv --count=20 --machine=%D/pipe --dump-machine=-", "cus = 7\n");
	waitpid(writer, NULL, 0);
	command_remove("pipe");
}

TEST(a_key_far_to_the_right_in_a_comment_does_not_count)
{
	write_text("m.ini", formatted("[gpu]\n; %0197dcus = 5\n  # %0600dcus = 6\n", 0, 0));
	command_prints("run kv --count=20 --machine=%D/m.ini --dump-machine=-", "cus = 4\n");
	write_text("m.ini", formatted("[gpu]\ncus = 7 ; %0200d\n", 0));
	command_refuses("run mutex --machine=%D/m.ini", "m.ini:2: a line has at most 198 bytes");
	command_write("m.ini", "[gpu]\0cus = 7\n", 14);
	command_refuses("run mutex --machine=%D/m.ini", "a 0 byte");
	command_remove("m.ini");
}

/* ---- Findings that lie, with a checksum that is right ----------------------------------------- */

static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
	NVW_FOR(i, bytes) {
		to[i] = (uint8_t)(value >> 8 * i);
	}
}

static void write_finding(const char *json, uint64_t claimed)
{
	uint8_t file[4096] = "NVWFIND\n", image[256] = {0};
	const size_t text = strlen(json);
	const size_t packed = ZSTD_compress(file + 32 + text, 1024, image, sizeof image, 3);

	put(file + 8, 1, 4);
	put(file + 12, text, 4);
	put(file + 16, claimed, 8);
	put(file + 24, packed, 8);
	memcpy(file + 32, json, text);
	put(file + 32 + text + packed, XXH64(file, 32 + text + packed, 0), 8);
	command_write("finding", file, 32 + text + packed + 8);
}

TEST(a_finding_that_claims_another_size_than_its_image_has_is_refused)
{
	static const uint64_t claims[] = {UINT64_MAX, 255, 257, UINT64_C(1) << 40};

	for_each(claim, claims) {
		write_finding("{\"acknowledged\": []}", *claim);
		command_refuses("replay %D/finding", "the size of the packed image");
	}
	write_finding("{\"acknowledged\": [[0, 4611686018427387904]]}", 256);
	command_refuses("replay %D/finding", "acknowledged");
	command_remove("finding");
}

/* ---- Logs that lie ---------------------------------------------------------------------------- */

static void write_log(uint64_t pool_bytes)
{
	const struct nvw_log_info info = {
		.workload = "program", .pool_bytes = pool_bytes, .atomicity = 8, .model = "x86"};
	struct nvw_log_writer *log;

	assert_ok(nvw_log_create(in_dir("log"), &info, &log));
	assert_ok(nvw_log_close(log, 0));
}

TEST(a_log_is_believed_only_as_far_as_its_records_and_the_image_go)
{
	static const uint64_t claims[] = {UINT64_C(8) << 30, UINT64_MAX, UINT64_MAX - 63};

	command_write("image", "a", 1);
	for_each(claim, claims) {
		write_log(*claim);
		command_refuses("crash --store-log=%D/log --image=%D/image --check=true",
			"the records "
			"and the image end at 1");
	}
	write_log(100); /* no whole number of lines */
	command_refuses("crash --store-log=%D/log --image=%D/image --check=true", "found 100");
	command_remove("image");
	command_remove("log");
}

/* ---- Pools ------------------------------------------------------------------------------------ */

TEST(inspect_says_which_page_of_the_header_is_broken)
{
	command_prints("run kv --count=50 --pool=%D/a.pool", "");
	command_prints("inspect %D/a.pool", "header                       whole\n");
	command_patch("a.pool", 4096 + 40, 0x11);
	command_prints("inspect %D/a.pool", "whole, its copy is damaged");
	command_prints("recover %D/a.pool", "");
	command_prints("inspect %D/a.pool", "header                       whole\n");
	command_patch("a.pool", 40, 0x11);
	command_prints("inspect %D/a.pool", "damaged, its copy is whole");
	command_remove("a.pool");
}

TEST(a_root_that_is_not_aligned_is_refused_before_it_is_read)
{
	command_prints("run btree --count=50 --pool=%D/a.pool", "");
	command_patch("a.pool", 8192, 0x3); /* the low byte of root word 0 */
	command_finds("inspect %D/a.pool", "which is not a node");
	command_remove("a.pool");
}

GROUP_OF_COMMANDS();
