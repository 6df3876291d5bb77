/* SPDX-License-Identifier: BSD-3-Clause */
/* See schedules_asked.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

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
		.at = cli_text(given, CLI_switch_at)};
	if (ret_asked->only > 0 && ret_asked->count > 0) {
		return nvw_fail(NVW_E_USAGE,
			"--schedule runs one schedule, --schedules all up to a number: expected one of them");
	}
	if (ret_asked->only > 0) {
		ret_asked->count = 1;
	}
	return 0;
}

/* ---- Logs ----------------------------------------------------------------------------------------- */

int cli_log_is_new(struct cli_logs_seen *seen, uint64_t hash)
{
	for (size_t i = 0; i < seen->count; i++) {
		if (seen->hash[i] == hash) {
			return 0;
		}
	}
	if (seen->count == seen->room) {
		uint64_t *const more = realloc(seen->hash, (2 * seen->room + 64) * sizeof *more);

		if (more == NULL) {
			return nvw_fail(NVW_E_MEMORY, "no memory for the hashes of logs");
		}
		seen->hash = more;
		seen->room = 2 * seen->room + 64;
	}
	seen->hash[seen->count++] = hash;
	return 1;
}

int cli_hash_file(const char *path, uint64_t *hash)
{
	char buffer[1 << 16];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0) {
		*hash = XXH64(buffer, (size_t)n, *hash);
	}
	const int error = n < 0 ? nvw_fail_errno("%s", path) : 0;

	if (fd >= 0) {
		close(fd);
	}
	return error;
}
