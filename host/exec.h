/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program on emulated persistent memory. Its calls of libpmem are interposed: they take as long as on
 * the machine's NVRAM, and stores, flushes and fences are recorded.
 */
#ifndef HOST_EXEC_H
#define HOST_EXEC_H

#include <nvw/errors.h>
#include <nvw/pool.h>

#include "core/folder.h"

#include "session.h"

/* What a program of the host meets of a machine: an NVRAM device, and what CUDA's fences mean. */
struct host_machine {
	const char *name;
	uint64_t read_ps, write_ps;
	double bytes_per_second;    /* of all channels */
	uint64_t queue;             /* lines that may wait, of all channels */
	bool keeps_caches, accepts; /* the domains eadr and adr */
	const char *further;        /* an NVRAM device besides; NULL: none */
	const char *fences, *sbrp;  /* host.fence_system and host.sbrp, as machine files have them */
};

struct host_options {
	struct host_machine machine;
	bool delays;   /* calls take as long as the NVRAM does */
	bool record;   /* for host_session_convert() */
	bool stacks;   /* the record has the callers of its places */
	bool compare;  /* pages are compared at every fence, even if all stores are announced */
	bool advice;   /* flushed lines are compared, but not recorded */
	bool check;    /* for host_candidates_find() (candidates.h) */
	bool initial;  /* likewise: also stores to what one thread alone has touched so far */
	bool coverage; /* for host_coverage_add() (coverage.h) */
	const struct host_schedule_plan *schedule; /* threads take turns (schedules.h); NULL: they do not */
	const struct host_switch *switches;        /* the list of a plan that has one */
};

enum { HOST_LIBRARY_PATH = 4096 };

/* Where the program's files are: ANY takes files that are written or synced by system calls, and never
 * flushed by the processor, for FILES. */
enum host_model {
	HOST_MODEL_ANY,
	HOST_MODEL_X86,   /* on persistent memory */
	HOST_MODEL_FILES, /* on a disk, behind a page cache */
};

struct host_session {
	struct nvw_folder folder;
	struct host_control *control;
	struct host_schedule *schedule; /* NULL: threads do not take turns */
	const char *named;              /* the file's name in logs; NULL: its path */
	enum host_model model;          /* of logs */
	unsigned fs;                    /* of logs of files: enum nvw__disk_fs (core/disk_image.h) */
	/* If a folder is the image (folder.h): the names below it before the run, as paths, and the
	 * numbers of the files that had them. */
	char (*name_at_first)[1024];
	unsigned *file_at_first, names;
	bool apart; /* the program has its own process group, for control->kill_at; set before the run */
	bool quiet; /* the program's standard output goes to standard error; set before the run */
	bool alone; /* processes left running by the program are ended; set before the run */
	const char *input; /* file that is its standard input; NULL: that of nvwave; set before the run */
	double limit;   /* seconds after which the program is ended by SIGKILL, 0: none; set before the run */
	bool timed_out; /* it was */
	int interrupted; /* the last signal passed on to the program; 0: none */
	int status;      /* of the program, as from waitpid() */
	double seconds;  /* duration of the run */
	char program[256];
	struct { /* kernels.h; library "": they run by themselves */
		char library[HOST_LIBRARY_PATH], machine[64], races[16];
		const char *fences, *sbrp;
	} kernels;
};

/*
 * Makes the session's folder in $TMPDIR (/dev/shm); host_session_end() removes it. Errors: NVW_E_SYSTEM if
 * the folder cannot be made, NVW_E_USAGE in a program that nvwave exec itself runs, NVW_E_CONFIG for delays
 * of more than a second.
 */
NVW_CHECKED int host_session_begin(const struct host_options *options, struct host_session *ret_session);
void host_session_end(struct host_session *session);

/*
 * Runs argv[0] with argv until it ends. It inherits input and output. NVW_E_USAGE for programs that cannot be
 * interposed (missing, static or set-user-id), NVW_E_SYSTEM if the library is not found. A failing or killed
 * program is not an error here: see status. Signals are passed on to the program until host_session_end().
 */
NVW_CHECKED int host_session_run(struct host_session *session, char *const argv[]);

/* NVW_E_INPUT if the program has changed the file, or with NULL any that is recorded, by system calls that
 * are not recorded: what a crash may leave is not known. */
struct stat;
NVW_CHECKED int host_session_check_followed(const struct host_session *session, const struct stat *file);

/* After the run: writes the persist log of file i to fd and closes it. ret_counts may be NULL. */
struct host_counts {
	uint64_t stores, flushes, fences, written;
};
NVW_CHECKED int host_session_convert(
	struct host_session *session, unsigned i, int fd, const char *name, struct host_counts *ret_counts);

/* Continues a hash with what a session has recorded: equal records make equal logs. */
NVW_CHECKED int host_session_hash(const struct host_session *session, uint64_t *hash);

/* Is the file's log of the model "files" (files.c)? */
bool host_is_of_files(const struct host_session *session, unsigned i);

/* Maps n bytes of a file of the session for reading. NULL with a message. */
const void *host_session_map(const struct host_session *session, const char *name, size_t n);
/* The path of a copy of file i with its content when it was first mapped. */
void host_session_base(const struct host_session *session, unsigned i, char *ret_path, size_t n);
/* Copies it to path, which is replaced, with the length of the log's pool. */
NVW_CHECKED int host_session_save_base(const struct host_session *session, unsigned i, const char *path);
/* Writes what the log of file i begins with: the same, or an image of files (core/disk_image.h). */
NVW_CHECKED int host_session_save_image(const struct host_session *session, unsigned i, const char *path);

/* Sums over all threads. */
void host_session_sum(const struct host_session *session, struct host_thread *ret_sum);

/* The path of a library that is beside the one that is preloaded. Errors as of host_session_run(). */
NVW_CHECKED int host_library_beside(const char *name, char *ret_path, size_t n);

/* Each range of lines in whose content a comparison has found stores: f(context, number of the event,
 * offset in the file, bytes). */
typedef void host_found_function(void *context, uint64_t event, uint64_t off, uint64_t bytes);
NVW_CHECKED int host_each_found(const struct host_session *session, host_found_function *f, void *context);

/* A sentence with the reason why the record is incomplete. */
const char *host_gap_text(enum host_gap gap);

/* The place of a site: "file.c:12 (function)", or "library+0x12" without debug information. */
struct host_place {
	char file[256], function[64];
	uint32_t line;
};
void host_place_of(const struct host_control *control, uint32_t site, struct host_place *ret_place);
/*
 * The same and then, outwards, the functions that it was inlined in. Returns their number, from 1 to
 * HOST_INLINED_MAX; 0 if the place is in a function of a library's header that was not inlined: then it is
 * the caller's that counts.
 */
enum { HOST_INLINED_MAX = 8 };
unsigned host_places_of(
	const struct host_control *control, uint32_t site, struct host_place ret_places[HOST_INLINED_MAX]);
/* What the instruction or the copy at a site stores to (lib/source/layout.h); NULL: it is not known. */
const char *host_layout_of(const struct host_control *control, uint32_t site);
/* An object's file, for its debug information; NULL without memory. dwfl_end() closes it. */
struct Dwfl *host_object_open(const char *path);
/* The session ends: another one has modules of its own. What is known of their files stays. */
void host_places_forget(void);

/* The value in ns below which a fraction of the histogram lies; 0 if the histogram is empty. */
uint64_t host_percentile(const struct host_histogram *h, double fraction);

#endif
