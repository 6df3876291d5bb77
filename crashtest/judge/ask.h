/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands that judge crash states. Each judging process has a file, which is made equal to the state before
 * every run, whatever the previous run did to it; processes that a run leaves running are ended before the
 * next one.
 *
 * Only an answer of the command itself counts. A command that could not be executed (the shell's status 126
 * or 127) is an error; one that was killed by SIGKILL is retried and then gives no answer. One that SIGINT,
 * SIGTERM or SIGHUP ended, or that ran while this process was told to stop, is retried, too. Commands have
 * process groups of their own: what a terminal tells nvwave does not reach them.
 *
 * Commands are forked instead of executed if possible (fork_server.h). For some of the states, including the
 * first ones, they are executed as well; if the answers differ, they are executed from then on, and states
 * judged only by forks are judged again.
 *
 * A state that agrees with an earlier one in all that the command read has its answer (same_reads.h). Some of
 * these answers are compared with the command's own; if one differs, all states are judged again, each by
 * itself.
 *
 * With next, a state that the command accepts is worked on: next runs on the file as the command has left it,
 * and the command is asked again. Its answer counts then; where the output counts as a whole, both outputs
 * do.
 */
#ifndef CRASHTEST_ASK_H
#define CRASHTEST_ASK_H

#include "core/folder.h"

#include "command.h"
#include "../crash.h"
#include "hang.h"
#include "operations.h"
#include "output.h"
#include "read_set.h"

/* "off": every state is asked. */
#define CT_READ_SETS_VARIABLE "NVWAVE_READ_SETS"

/* What is asked. All stays the caller's. */
struct ct_asked_is {
	const char *command; /* the file's path takes the place of {}, or comes last */
	const char *next;    /* NULL: none */
	uint64_t bytes;
	unsigned timeout_ms;
	const struct ct_operations *operations; /* of the program; may be NULL */
};

/* Zero-initialise. */
struct ct_asked {
	struct ct_command command;
	struct ct_command next;   /* source NULL: none */
	bool whole_output;        /* the standard output counts as a whole; the standard error is left out */
	uint64_t bytes;           /* of the file; the image may be a little longer, to whole lines */
	unsigned timeout_ms;      /* of one run, in CPU time (hang.h) */
	struct nvw_folder folder; /* of the files, one a process */
	char operations_path[NVW__FOLDER_PATH + 32]; /* environment.h; "": there are none */
	struct ct_asked_shared *shared;
};

/* Shared between the judging processes. */
struct ct_asked_shared {
	volatile uint32_t differs; /* a fork answered otherwise than the executed command: no more forks */
	volatile uint32_t relied;  /* answers of forks were taken without that comparison */
	volatile uint32_t refused; /* it cannot be forked; not: its server was killed */
	volatile uint32_t
		misread;          /* states that it reads alike have different answers: each is asked again */
	volatile uint32_t spared; /* answers of other states were taken without that comparison */
	uint64_t forked, found;   /* states with answers of forks, of other states: both atomic */
	struct ct_hangs hangs;
};

/* How a command ended. */
struct ct_answer {
	/* Which run: the command's first, that of next, or the command's second. */
	enum ct_run_of { CT_RUN_FIRST, CT_RUN_NEXT, CT_RUN_AFTER } run;
	bool in_time; /* otherwise it had to be killed */
	int status;   /* as waitpid() has it */
	char line[CT_LINE_BYTES];
	char where[CT_TEXT_BYTES]; /* of a hang, "": unknown */
	struct ct_output whole;
};

/* option: that the command was given with, for messages. */
NVW_CHECKED int ct_asked_make(const struct ct_asked_is *is, const char *option, struct ct_asked *ret_asked);
void ct_asked_destroy(struct ct_asked *asked);

/* Runs the command on a state. CT_NO_ANSWER, and errors of which none is the state's. */
NVW_CHECKED int ct_ask(const struct ct_asked *asked, const struct ct_image *image,
	const struct nvw_acks *acks, struct ct_answer *ret_answer);
/*
 * The same, and which of these words of 8 bytes it reads (bits as read_set.h has them). NULL: that cannot be
 * seen; else valid until this process asks again. Every state is asked.
 */
NVW_CHECKED int ct_ask_reads(const struct ct_asked *asked, const struct ct_image *image,
	const struct nvw_acks *acks, const uint64_t (*words)[CT_READ_BITS], struct ct_answer *ret_answer,
	const struct ct_read_set **ret_reads);
/* Why it could not be seen, last, behind "because". */
void ct_asked_why_unseen(const struct ct_asked *asked, char ret_why[CT_TEXT_BYTES]);
/* What a violation's text begins with: "" of the first run. */
const char *ct_answer_when(const struct ct_answer *answer);
/* An answer that is a hang or a death is a violation, and so is a status of next that is not 0; 0 if it is
 * none. */
int ct_answer_note(const struct ct_answer *answer, struct nvw_findings *findings);

/* The stack of a command that dies of a signal or hangs in this state (trace.h); "" if it does neither. */
void ct_asked_stack(const struct ct_asked *asked, const struct ct_image *image, const struct nvw_acks *acks,
	char ret_stack[CT_STACK_BYTES]);

/* True if states were judged by forks that turned out to be unreliable: all must be judged again. Returns
 * true only once. */
bool ct_asked_begins_anew(struct ct_asked *asked);
/* Why the command is executed in every state instead of forked, behind "..., because"; "" if it is not. */
void ct_asked_why_executed(const struct ct_asked *asked, char ret_why[CT_TEXT_BYTES]);
/* How many runs were cut early, since they were where others had hung. */
uint64_t ct_asked_alike(const struct ct_asked *asked);

#endif
