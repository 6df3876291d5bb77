/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The random tester of coherence protocols: race-free programs on small machines, in which every load has
 * exactly one correct value. See torture_program.h for the programs, docs/torture.md for the faults that it
 * can and cannot find.
 *
 * Guarantees
 *	(1) Program number i of a run with seed s is that of seed s + i: any single program can be run again.
 *	(2) Programs run in a process of their own; a machine that is killed by an assertion or a signal, or
 *	    does not terminate, is a failure like a wrong value.
 */
#ifndef LITMUS_TORTURE_H
#define LITMUS_TORTURE_H

#include <emu.h>

struct torture_options {
	const char *protocol;
	uint64_t seed;
	uint64_t programs; /* most programs; 0: no limit */
	double seconds;    /* no program begins later; 0: no limit */
	const char *const
		*settings; /* applied to the drawn machines, "section.key=value"; NULL or NULL-terminated */
	const char *fault; /* action to leave out (emu_plant_fault), NULL for none */
	bool shrink;       /* remove all steps of a failing program that are not needed for the failure */
	void (*show)(
		void *context, uint64_t programs); /* called now and then with what has been run; or NULL */
	void *context;
};

enum { TORTURE_TEXT = 512, TORTURE_LISTING = 32768 };

/* What machines have done for programs. */
struct torture_work {
	uint64_t operations;
	uint64_t l1_hits, l1_misses, l2_hits, l2_misses; /* of loads, by line */
};

struct torture_result {
	uint64_t programs; /* run so far, up to the failure */
	struct torture_work work;
	double cpu_seconds; /* processor time of the programs and their machines */
	bool failed;
	uint64_t seed;                 /* seed of the failing program */
	unsigned steps, steps_left;    /* steps of it, before and after shrinking */
	char text[TORTURE_TEXT];       /* the failure */
	char listing[TORTURE_LISTING]; /* the shrunk program */
};

/* Runs programs until one fails or a limit is reached. NVW_E_USAGE, NVW_E_CONFIG, NVW_E_SYSTEM,
 * NVW_E_MEMORY. */
NVW_CHECKED int torture_run(const struct torture_options *options, struct torture_result *ret_result);

/*
 * Why race-free programs cannot detect the omission of a protocol's action; NULL if they should. The actions
 * of a protocol are those of emu_protocol_action().
 */
const char *torture_unnoticed(const char *protocol, const char *action);

#endif
