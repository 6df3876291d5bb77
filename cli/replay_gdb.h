/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave replay FINDING --gdb: gdb at the instant that a finding is about. */
#ifndef CLI_REPLAY_GDB_H
#define CLI_REPLAY_GDB_H

#include <crashtest/explain/finding.h>

/* Where gdb stops. */
enum replay_at {
	REPLAY_AT_FAILURE, /* recovery or check of the failing state says that it is wrong, or dies */
	REPLAY_AT_LOST,    /* the run again, at the store that was lost */
	REPLAY_AT_EARLY,   /* at the one that relies on it */
	REPLAY_AT_EVENT,   /* the run again, at an event of its persist log */
};

/* Runs gdb, whose exit status it returns, or an error. path: of the finding. event: its number, from 1. */
NVW_CHECKED int replay_in_gdb(
	const char *path, const struct ct_saved *saved, enum replay_at at, uint64_t event);

#endif
