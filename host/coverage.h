/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What runs of a program have executed of what nvwave-cc or nvwave-nvcc has built: statements of its source,
 * kernels included, that store, flush or fence. They are known from a section of its executable and shared
 * objects (cc/hooks.h), executed or not; those of an object that no run has loaded are not known.
 *
 * Likewise the conditional jumps that the compiler has made: whether one has jumped, whether it has gone on.
 *
 * Which of them store to persistent memory no compiler can say. So three things are told apart: statements
 * that were never executed, those that were, and those of them that went to a recorded mapping.
 */
#ifndef HOST_COVERAGE_H
#define HOST_COVERAGE_H

#include "exec.h"

/* A line of a function; of branches each is one, and several may be of a line. */
struct host_statement {
	char *file, *function;
	unsigned line;
	bool flushes;   /* or fences */
	bool is_branch; /* then executed: it has jumped; reached: it has gone on */
	bool is_copy;   /* a branch in a copy of its function */
	bool executed, reached;
	bool now_executed, now_reached; /* by a run that host_coverage_settle() has not kept yet */
};

/* Zero-initialise. */
struct host_coverage {
	struct host_covered_object *object;
	unsigned objects, objects_room;
	uint64_t *place; /* keys of those that records have; 0: free */
	uint64_t places, room;
};

/*
 * Adds what the session's program has executed. *ret_new, which may be NULL: how many statements were
 * executed, or went to a recorded mapping, for the first time, how many branches went a way for the first
 * time, and how many calls led to a store, a flush or a fence for the first time. 1 for a program of which
 * nvwave-cc has built nothing: stores that it never flushes have no place.
 */
NVW_CHECKED int host_coverage_add(
	struct host_coverage *coverage, const struct host_session *session, uint64_t *ret_new);

/* Has nvwave-cc or nvwave-nvcc built some of this file? True of what is stripped, too. */
bool host_coverage_is_counted(const char *program);

/* What was added since the last call counts from now on, or is forgotten: a run of which nothing was
 * tested. */
void host_coverage_settle(struct host_coverage *coverage, bool kept);

/* Calls meet for each statement, object by object, until it returns an error, which is returned. */
NVW_CHECKED int host_coverage_each(const struct host_coverage *coverage,
	int (*meet)(void *context, const struct host_statement *statement), void *context);

void host_coverage_free(struct host_coverage *coverage);

#endif
