/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program on emulated persistent memory: its libpmem is interposed, so that calls take the time that they would
 * take on the machine's NVRAM, and what they persist is recorded.
 */
#ifndef HOST_EXEC_H
#define HOST_EXEC_H

#include <config.h>
#include <nvw/errors.h>
#include <nvw/pool.h>

#include "core/folder.h"

#include "session.h"

struct host_options {
	const struct emu_config *machine;
	bool delays; /* calls take the NVRAM's time */
	bool record; /* for host_session_convert() */
	bool advice; /* compare flushed lines, but record nothing */
};

struct host_session {
	struct nvw_folder folder;
	struct host_control *control;
	bool apart; /* the program has a process group of its own, as control->kill_at needs; set before the run */
	bool quiet;      /* the program's standard output is our standard error; set before the run */
	bool alone;      /* what the program leaves running is ended with it; set before the run */
	int interrupted; /* the last signal that we were sent and passed on to the program; 0: none */
	int status;      /* of the program, as waitpid() has it */
	double seconds;  /* that it ran */
	char program[256];
};

/*
 * A folder in $TMPDIR (/dev/shm) for what the program shares with us; host_session_end() removes it. NVW_E_SYSTEM, with
 * a message, if it cannot be made; NVW_E_USAGE in a program that is run by nvwave exec; NVW_E_CONFIG for delays of more
 * than a second.
 */
NVW_CHECKED int host_session_begin(const struct host_options *options, struct host_session *ret_session);
void host_session_end(struct host_session *session);

/*
 * Runs argv[0] with argv, its input and output ours, until it ends. NVW_E_USAGE for programs that cannot be interposed:
 * missing, static, set-user-id; NVW_E_SYSTEM if the library is not found. A program that fails or is killed is no error
 * here: status says so. Signals are the program's from here on, until host_session_end().
 */
NVW_CHECKED int host_session_run(struct host_session *session, char *const argv[]);

/* After the run. Writes file number i's persist log to fd, which is closed; the counts may be NULL. */
struct host_counts {
	uint64_t stores, flushes, fences, written;
};
NVW_CHECKED int host_session_convert(
	struct host_session *session, unsigned i, int fd, const char *name, struct host_counts *ret_counts);

/* The file as it was when it was first mapped. */
void host_session_base(const struct host_session *session, unsigned i, char *ret_path, size_t n);
/* The same, copied to a path (replaced), as long as the log's pool. */
NVW_CHECKED int host_session_save_base(const struct host_session *session, unsigned i, const char *path);

/* Sums over all threads. */
void host_session_sum(const struct host_session *session, struct host_thread *ret_sum);

/* Sentence for a reason why the record is incomplete. */
const char *host_gap_text(enum host_gap gap);

/* Where a site is: "file.c:12 (function)", or "library+0x12" without debug information. */
struct host_place {
	char file[256], function[64];
	uint32_t line;
};
void host_place_of(const struct host_control *control, uint32_t site, struct host_place *ret_place);
/* Ends what host_place_of() keeps open. */
void host_places_close(void);

/* Value below which a fraction of the histogram lies, in ns; 0 if it is empty. */
uint64_t host_percentile(const struct host_histogram *h, double fraction);

#endif
