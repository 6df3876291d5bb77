/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkers from elsewhere: a command that is given the path of a file (exit status 0: consistent), or a shared
 * object (nvw/checker.h). Each is a ct_judge.
 *
 * A command gets a file of its own that is made equal to the crash state before every run, whatever the run before
 * did to it; what a run leaves running is ended before the next one. A library sees the state itself, read-only.
 *
 * An answer counts only when the checker has given it. A command that could not be executed (status 126 or 127, the shell's) is
 * an error; one that was killed by SIGKILL is asked again and then gives no answer.
 *
 * Commands are forked rather than executed where that is possible (fork_server.h). On some of the states, the first ones among
 * them, they are executed as well; if the answers differ, they are executed from then on, and what had been judged by forks
 * alone has to be judged again.
 */
#ifndef CRASHTEST_CHECKER_H
#define CRASHTEST_CHECKER_H

#include <nvw/checker.h>

#include "core/folder.h"

#include "crash.h"

struct ct_checker {
	const char *command; /* run with the path as its last argument; NULL: */
	bool by_shell;       /* the command needs one */
	void *library;       /* of dlopen() */
	int (*check)(struct nvw_check *check);
	uint64_t bytes;           /* of the file; the image may be a little longer, to whole lines */
	unsigned timeout_ms;      /* of a command, in wall-clock time */
	struct nvw_folder folder; /* of the files, one a process */
	struct ct_checker_shared *shared;
};

/* What the processes that judge know of each other. */
struct ct_checker_shared {
	volatile uint32_t differs; /* a fork answered otherwise than the executed command: no more forks */
	volatile uint32_t relied;  /* answers of forks were taken without that comparison */
};

/* One of command and library_path is given; strings stay the caller's. NVW_E_USAGE if the object is none. */
NVW_CHECKED int ct_checker_create(const char *command, const char *library_path, uint64_t bytes,
	unsigned timeout_ms, struct ct_checker *ret_checker);
/* True if states were judged by forks that are not to be trusted: all are to be judged again, which is told only once. */
bool ct_checker_begins_anew(struct ct_checker *checker);
void ct_checker_destroy(struct ct_checker *checker);

/* A ct_judge; context is a struct ct_checker. */
int ct_checker_judge(void *checker, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

#endif
