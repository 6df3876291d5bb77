/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorded run of a program, to its end or to a kill. */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include <config/config.h>

#include <crashtest/crash.h>

#include "../../host/coverage.h"
#include "../../host/schedules.h"

struct crash_races;
struct crash_recording {
	const struct emu_config *machine;
	char *const *words;     /* of the command; NULL ends them */
	const char *path;       /* the file whose log is required */
	bool is_folder;         /* a folder: that of the files below it (host/folder.h) */
	const char *except;     /* of a folder: patterns of names that are no part of it; NULL: none */
	unsigned fs;            /* on this file system: enum nvw__disk_fs */
	const char *log, *base; /* output: the persist log, and the file's content when it was mapped */
	uint64_t kill_at;       /* kill the session's processes by SIGKILL before this event; 0: never */
	bool emulate;           /* a CUDA program's kernels run on the machine */
	bool stacks;            /* with the callers of its places */
	bool compare;           /* pages are compared at every fence */
	const char *input;      /* a file that is its standard input; NULL: that of nvwave */
	bool from_map;          /* what comes before the file's first mapping is not recorded */
	bool named;             /* the log has the file's name without its folder */
	uint64_t before;        /* a hash of the file before the run; 0: there was none */
	enum host_model model;  /* of the log */
	bool judged;            /* the caller judges how the program ended: print no note */
	bool quiet;             /* nor any other */
	double limit;           /* seconds after which it is ended by SIGKILL; 0: none */
	bool timed_out;         /* output: it was, and there is no log */
	/* Gets what it has executed; NULL: nobody asks. How much of it no earlier run had, output. */
	struct host_coverage *coverage;
	uint64_t fresh;
	double seconds;                   /* output: it took */
	uint64_t events;                  /* output: number of events */
	int status;                       /* output: as from waitpid() */
	struct ct_unlogged_list unlogged; /* output */
	/* Its threads take turns; NULL: they do not. Then, with the list of a plan that has one, what the
	 * schedule has become, and how it ended if no thread could go on. */
	const struct host_schedule_plan *schedule;
	const char *switch_at; /* of the first schedule of a directed plan: its line; else NULL */
	const struct host_switch *switches;
	struct host_schedule *made; /* output, up to its switches; the caller's room */
	char end[2048];             /* output */
	/* Gets its persistency races (../schedules/crash_races.h); NULL: they are not looked for. */
	int (*take_races)(struct crash_races *races, struct host_session *session);
	struct crash_races *races;
};

/* Returns 1 if there is a log, 0 if the program was killed before it mapped the file, or an error with a
 * message: NVW_E_STOPPED if nvwave was told to stop meanwhile, and the program with it. */
NVW_CHECKED int crash_record(struct crash_recording *recording);

#endif
