/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External checkers: a command that gets the path of a file (exit status 0: consistent), or a shared object
 * (nvw/checker.h). Each is a ct_judge.
 *
 * A command gets its own file, which is made equal to the crash state before every run, whatever the previous
 * run did to it; processes that a run leaves running are ended before the next one. A library sees the state
 * itself, read-only.
 *
 * Only an answer of the checker itself counts. A command that could not be executed (the shell's status 126
 * or 127) is an error; one that was killed by SIGKILL is retried and then gives no answer.
 *
 * Commands are forked instead of executed if possible (fork_server.h). For some of the states, including the
 * first ones, they are executed as well; if the answers differ, they are executed from then on, and states
 * judged only by forks are judged again.
 */
#ifndef CRASHTEST_CHECKER_H
#define CRASHTEST_CHECKER_H

#include <nvw/checker.h>

#include "core/folder.h"

#include "crash.h"

struct ct_checker {
	const char *command; /* run with the path as its last argument; or NULL */
	bool by_shell;       /* the command needs one */
	void *library;       /* of dlopen() */
	int (*check)(struct nvw_check *check);
	uint64_t bytes;           /* size of the file; the image may be longer, rounded up to whole lines */
	unsigned timeout_ms;      /* for a command, in wall-clock time */
	struct nvw_folder folder; /* for the files, one per process */
	struct ct_checker_shared *shared;
};

/* Shared between the judging processes. */
struct ct_checker_shared {
	volatile uint32_t differs; /* a fork and an executed command gave different answers: no more forks */
	volatile uint32_t relied;  /* answers of forks were accepted without a comparison */
};

/* Exactly one of command and library_path is given; the caller owns the strings. NVW_E_USAGE if the file is
 * not a checker. */
NVW_CHECKED int ct_checker_create(const char *command, const char *library_path, uint64_t bytes,
	unsigned timeout_ms, struct ct_checker *ret_checker);
/* True if states were judged by forks that turned out to be unreliable: all must be judged again. Returns
 * true only once. */
bool ct_checker_begins_anew(struct ct_checker *checker);
void ct_checker_destroy(struct ct_checker *checker);

/* A ct_judge; context is a struct ct_checker. */
int ct_checker_judge(void *checker, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

#endif
