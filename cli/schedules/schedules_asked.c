/* SPDX-License-Identifier: BSD-3-Clause */
/* See schedules_asked.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/array.h"
#include "core/invariant.h"

#include "schedules_asked.h"

/* A crash test of a workload has orders of wavefronts. */
static uint64_t count_of(const struct cli_options *given)
{
	if (cli_given(given, CLI_exec)) {
		return cli_number(given, CLI_kernel_schedules);
	}
	return cli_number(given, CLI_host_schedules);
}

int cli_schedules_from(const struct cli_options *given, struct cli_schedules *ret_asked)
{
	*ret_asked = (struct cli_schedules){.count = count_of(given),
		.only = cli_number(given, CLI_schedule),
		.seed = cli_number(given, CLI_schedule_seed),
		.depth = (unsigned)cli_number(given, CLI_schedule_depth),
		.races = cli_given(given, CLI_race_cuts),
		.at = cli_text(given, CLI_switch_at)};
	NVW_FAIL_IF(ret_asked->only > 0 && ret_asked->count > 0, NVW_E_USAGE,
		"--schedule runs schedules 1 and K, --schedules all up to a number: expected one of them");
	if (ret_asked->only > 0) {
		ret_asked->count = 1;
	}
	return 0;
}

/* ---- Logs ----------------------------------------------------------------------------------------- */

int cli_log_is_new(struct cli_logs_seen *seen, uint64_t hash)
{
	NVW_INVARIANT(seen->count <= seen->room);
	if (NVW_ANY(one, seen->hash, seen->count, *one == hash)) {
		return 0;
	}
	NVW_GROWN(seen->hash, seen->room, seen->count + 1, "no memory for the hashes of logs");
	seen->hash[seen->count++] = hash;
	return 1;
}

enum { PIECE = 1 << 16 };

/* The next piece that is no hole; negative: none. */
static off_t next_piece(int fd, off_t at)
{
	const off_t data = lseek(fd, at, SEEK_DATA);

	if (data < 0) {
		return errno == ENXIO ? -1 : at;
	}
	return data & ~(off_t)(PIECE - 1);
}

/* Equal files have equal hashes, whether zeros are holes or not. */
int cli_hash_file(const char *path, uint64_t *hash)
{
	static const char zeros[PIECE];
	char buffer[PIECE];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat s;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &s) == 0) {
		n = 0;
		*hash = XXH64(&s.st_size, sizeof s.st_size, *hash);
	}
	for (off_t at = 0; n >= 0 && (at = next_piece(fd, at)) >= 0; at += PIECE) {
		n = pread(fd, buffer, sizeof buffer, at);
		if (n <= 0) {
			break;
		}
		if (memcmp(buffer, zeros, (size_t)n) != 0) {
			*hash = XXH64(buffer, (size_t)n, *hash ^ (uint64_t)at);
		}
	}
	const int error = n < 0 ? nvw_fail_errno("%s", path) : 0;

	if (fd >= 0) {
		close(fd);
	}
	return error;
}
