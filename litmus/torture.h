/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The random tester of coherence protocols: programs without data races on small machines, whose every load has one
 * right value. See torture_program.h for the programs, docs/torture.md for what it finds and what it cannot.
 *
 * Guarantees
 *	(1) Program number i of a run with seed s is that of seed s + i: one program can be run again by itself.
 *	(2) Programs run in a process of their own; a machine that dies of an assertion or a signal, or that does not come
 *	    back, is a failure like a wrong value.
 */
#ifndef LITMUS_TORTURE_H
#define LITMUS_TORTURE_H

#include <emu.h>

struct torture_options {
	const char *protocol;
	uint64_t seed;
	uint64_t programs; /* at most; 0: no limit */
	double seconds;    /* no program begins later; 0: no limit */
	const char *const
		*settings; /* over the drawn machines, "section.key=value"; NULL or NULL-terminated */
	const char *fault; /* action to leave out (emu_plant_fault), NULL for none */
	bool shrink;       /* leave out of a failing program what it fails without */
};

enum { TORTURE_TEXT = 512, TORTURE_LISTING = 32768 };

struct torture_result {
	uint64_t programs, operations; /* that were run, to the end or to the failure */
	bool failed;
	uint64_t seed;                 /* of the program that failed */
	unsigned steps, steps_left;    /* of it, before and after shrinking */
	char text[TORTURE_TEXT];       /* what went wrong */
	char listing[TORTURE_LISTING]; /* the shrunk program */
};

/* Runs programs until one fails or a limit is reached. NVW_E_USAGE, NVW_E_CONFIG, NVW_E_SYSTEM, NVW_E_MEMORY. */
NVW_CHECKED int torture_run(const struct torture_options *options, struct torture_result *ret_result);

/*
 * Why programs without races cannot notice that a protocol leaves an action out; NULL where they should. A protocol's
 * actions are those of emu_protocol_action().
 */
const char *torture_unnoticed(const char *protocol, const char *action);

#endif
