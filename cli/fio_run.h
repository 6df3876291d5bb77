/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fio, run on the emulated NVRAM with one of the shipped job files (workloads/fio), its results read from its own JSON.
 *
 * The job files are text in the command; what is run is a copy of which some lines "key=..." have other values.
 */
#ifndef CLI_FIO_RUN_H
#define CLI_FIO_RUN_H

#include <stdio.h>

#include <jansson.h>

#include "../host/exec.h"

/* A folder in $TMPDIR (/dev/shm) with the job file, fio's output, its saved states and the file that it works on. */
struct fio_place {
	struct nvw_folder folder;
	char job[288], output[288], pool[288];
};

/* NVW_E_USAGE if there is no fio, NVW_E_USAGE or NVW_E_SYSTEM if no folder can be made. Sets the environment's NVRAM to the pool. */
NVW_CHECKED int fio_place_begin(struct fio_place *ret_place);
void fio_place_end(struct fio_place *place);

/* Lines of the job file that have another value: every line of that key has it. */
struct fio_lines {
	unsigned count;
	struct {
		const char *key;
		char value[32];
	} line[8]; /* one for each key there is */
};

/* Replaces the key's value if it is there. The value is cut to 31 characters. */
void fio_add_line(struct fio_lines *lines, const char *key, const char *value);

/* Writes the job file; NVW_E_USAGE if it has no line of a key. */
NVW_CHECKED int fio_write_job(const struct fio_place *place, const char *job, const struct fio_lines *lines);

enum { FIO_ARGUMENTS_MAX = 8 };

struct fio_run {
	const struct emu_config *machine;
	bool delays;
	const char *argument[FIO_ARGUMENTS_MAX]; /* of fio, before the job file; NULL ends them */
	const char *keep;                        /* fio's JSON is copied there; NULL: it is not */
	json_t *result;                          /* fio's JSON: owned */
	struct host_thread sum;                  /* the session's counts and delays */
};

/*
 * Runs the job file that was written, as nvwave exec does, and reads what fio wrote; fio_run_end() frees it. NVW_E_INPUT
 * with a message if fio fails, is killed, is too old, or writes something else.
 */
NVW_CHECKED int fio_run(const struct fio_place *place, struct fio_run *run);
void fio_run_end(struct fio_run *run);

/* NVW_E_INPUT, with what fio said in its output, unless the status is that of a run that went well. */
NVW_CHECKED int fio_check(const struct fio_place *place, int status);

/* What fio measured of one direction ("read", "write") of a job. */
struct fio_measured {
	double count, p50_ns, p99_ns, iops, bytes_per_s;
};
NVW_CHECKED int fio_measured(
	const struct fio_run *run, const char *job, const char *direction, struct fio_measured *ret_measured);

/* fio's version as it calls it. */
const char *fio_version(const struct fio_run *run);

/* What the commands share. */
struct fio_request {
	const struct emu_config *machine;
	bool json;
	const char *keep; /* --json: fio's own, of the runs after the first FILE.2 ...; NULL: not asked for */
	struct fio_lines lines; /* from the command line */
	uint64_t repeat;        /* 0: not given */
	uint64_t kills, states; /* of verify; 0: not given */
	bool fault;             /* of verify: writes are not drained */
};

/* nvwave fio verify (fio_verify.c): the exit status. */
int fio_verify(const struct fio_request *request);

#endif
