/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkers from elsewhere: a command that is given the path of a file (exit status 0: consistent), or a shared
 * object (nvw/checker.h). Each is a ct_judge.
 *
 * A command gets a file of its own that is made equal to the crash state before every run, whatever the run before
 * did to it. A library sees the state itself, read-only.
 */
#ifndef CRASHTEST_CHECKER_H
#define CRASHTEST_CHECKER_H

#include <nvw/checker.h>

#include "core/folder.h"

#include "crash.h"

struct ct_checker {
	const char *command; /* run by sh with the path as its last argument; NULL: */
	void *library;       /* of dlopen() */
	int (*check)(struct nvw_check *check);
	uint64_t bytes;           /* of the file; the image may be a little longer, to whole lines */
	unsigned timeout_ms;      /* of a command, in wall-clock time */
	struct nvw_folder folder; /* of the files, one a process */
};

/* One of command and library_path is given; strings stay the caller's. NVW_E_USAGE if the object is none. */
NVW_CHECKED int ct_checker_create(const char *command, const char *library_path, uint64_t bytes,
	unsigned timeout_ms, struct ct_checker *ret_checker);
void ct_checker_destroy(struct ct_checker *checker);

/* A ct_judge; context is a struct ct_checker. */
int ct_checker_judge(void *checker, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

#endif
