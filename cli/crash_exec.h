/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorded run of a program, to its end or to a kill, as crash tests of programs need it. */
#ifndef CLI_CRASH_EXEC_H
#define CLI_CRASH_EXEC_H

#include "../host/exec.h"

struct crash_recording {
	const struct emu_config *machine;
	char *const *words;     /* of the command; NULL ends them */
	const char *path;       /* the file whose log is wanted */
	const char *log, *base; /* written: the persist log, and the file as it was when it was mapped */
	uint64_t kill_at;       /* the session's processes die by SIGKILL before this event; 0: never */
	bool judged;            /* the caller judges how the program ended: no note of it */
	uint64_t events;        /* set: how many there were */
	int status;             /* set: as waitpid() has it */
	bool interrupted;       /* set: we were sent a signal to end, and passed it on */
};

/* 1 if there is a log then, 0 if the program was killed before it mapped the file, or an error with a message. */
NVW_CHECKED int crash_record(struct crash_recording *recording);

#endif
