/* SPDX-License-Identifier: BSD-3-Clause */
/* What exec and crash have in common of schedules of a program's threads: the options, and logs that were
 * seen. */
#ifndef CLI_SCHEDULES_ASKED_H
#define CLI_SCHEDULES_ASKED_H

#include <stddef.h>

#include "../options.h"

/* What the user has asked for. */
struct cli_schedules {
	uint64_t count; /* 0: threads do not take turns */
	uint64_t only;  /* this one alone; 0: all */
	uint64_t seed;
	unsigned depth;
	bool races;     /* what is lost in the persistency races that happen */
	const char *at; /* changes come behind stores of this line; NULL: anywhere */
};
NVW_CHECKED int cli_schedules_from(const struct cli_options *given, struct cli_schedules *ret_asked);

/* Logs that have been seen, by their hashes. */
struct cli_logs_seen {
	uint64_t *hash;
	size_t count, room;
};
/* 1: it is new, 0: it is not; or an error. */
NVW_CHECKED int cli_log_is_new(struct cli_logs_seen *seen, uint64_t hash);
/* Continues a hash with a file's content. */
NVW_CHECKED int cli_hash_file(const char *path, uint64_t *hash);

#endif
