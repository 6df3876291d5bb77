/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running fio on the emulated NVRAM with one of the shipped job files (workloads/fio), and reading the
 * results from its JSON output.
 *
 * The job files are text in the command; fio runs a copy in which some lines "key=..." have other values.
 */
#ifndef CLI_FIO_RUN_H
#define CLI_FIO_RUN_H

#include <jansson.h>

#include "../../host/exec.h"

/* A folder in $TMPDIR (/dev/shm) with the job file, fio's output, its saved states and the file that it works
 * on. */
struct fio_place {
	struct nvw_folder folder;
	char job[288], output[288], pool[288];
};

/* NVW_E_USAGE if there is no fio, NVW_E_USAGE or NVW_E_SYSTEM if no folder can be made. Sets the
 * environment's NVRAM to the pool. */
NVW_CHECKED int fio_place_begin(struct fio_place *ret_place);
void fio_place_end(struct fio_place *place);

/* Lines of the job file with replaced values: every line of the key gets the value. */
struct fio_lines {
	unsigned count;
	struct {
		const char *key;
		char value[32];
	} line[8]; /* one per key */
};

/* Replaces the key's value if present. The value is cut to 31 characters. */
void fio_add_line(struct fio_lines *lines, const char *key, const char *value);

/* Writes the job file; NVW_E_USAGE if it has no line with one of the keys. */
NVW_CHECKED int fio_write_job(const struct fio_place *place, const char *job, const struct fio_lines *lines);

enum { FIO_ARGUMENTS_MAX = 8 };

struct fio_run {
	const struct emu_config *machine;
	bool delays;
	const char *argument[FIO_ARGUMENTS_MAX]; /* arguments of fio before the job file; NULL ends them */
	const char *keep;                        /* fio's JSON is copied to this file; NULL: not copied */
	json_t *result;                          /* fio's JSON: owned */
	struct host_thread sum;                  /* the session's counts and delays */
};

/*
 * Runs the written job file as nvwave exec does, and reads fio's output; fio_run_end() frees it. NVW_E_INPUT
 * with a message if fio fails, is killed, is too old, or writes other output.
 */
NVW_CHECKED int fio_run(const struct fio_place *place, struct fio_run *run);
void fio_run_end(struct fio_run *run);

/* NVW_E_INPUT with fio's output, unless the status is that of a successful run. */
NVW_CHECKED int fio_check(const struct fio_place *place, int status);

/* fio's measurements of one direction ("read", "write") of a job. */
struct fio_measured {
	double count, p50_ns, p99_ns, iops, bytes_per_s;
};
NVW_CHECKED int fio_measured(
	const struct fio_run *run, const char *job, const char *direction, struct fio_measured *ret_measured);

/* fio's version string. */
const char *fio_version(const struct fio_run *run);

/* Options shared by the commands. */
struct fio_request {
	const struct emu_config *machine;
	bool json;
	const char *bs, *sweep; /* NULL: not given */
	const char *keep; /* --json: file for fio's own JSON; further runs use FILE.2 ...; NULL: not given */
	struct fio_lines lines; /* from the command line */
	uint64_t repeat;        /* 0: not given */
	uint64_t kills, states; /* of verify; 0: not given */
	bool fault;             /* for verify: writes are not drained */
};

/* nvwave fio verify (fio_verify.c): the exit status, or an error. */
int fio_verify(const struct fio_request *request);

#endif
