/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A workload on the ideal machine (ideal.h): its plan is run, the power cut after stores, its pool damaged.
 */
#ifndef TESTS_WORKLOADS_SUBJECT_H
#define TESTS_WORKLOADS_SUBJECT_H

#include "ideal.h"

struct subject {
	const struct nvw_workload *workload;
	void *plan;
	struct nvw_machine *machine;
	uint64_t stores, every;
	uint64_t states, inconsistent; /* power cuts; those after which recovery or check found something */
};

/*
 * The workload's plan of options as options_of() takes them; fails the test where there is none. The caller
 * disposes of it.
 */
void *subject_prepare(const struct nvw_workload *workload, const char *given, uint64_t seed, int mutation);

/* A plan, and a machine with a pool of so many bytes. */
struct subject subject_begin(
	const struct nvw_workload *workload, const char *given, uint64_t seed, int mutation, uint64_t bytes);
void subject_end(struct subject *subject);

/*
 * Sets the structure up and runs the plan; with every != 0, cuts the power (on a copy of the pool) after
 * every so many stores. Without a mutation it fails the test if a state was inconsistent or the last one is,
 * or if recovery finds a leak at the end.
 */
void subject_run(struct subject *subject, int mutation, uint64_t every);

/*
 * Runs a plan, calls look() for a copy of the pool and then damage(), which changes it; recovers it and
 * expects part in the oracle's words, or with part NULL that it says nothing.
 */
typedef void (*subject_hook)(struct nvw_pool *pool);
void subject_expect(const struct nvw_workload *workload, const char *given, subject_hook look,
	subject_hook damage, const char *part);

/* An option that prepare() refuses with a message that has part, and with the error given for all. */
struct subject_refusal {
	const char *option;
	const char *part;
};
#define subject_expect_refusals(workload, error, refusals) \
	subject_expect_each_refused(workload, error, refusals, sizeof(refusals) / sizeof *(refusals))
void subject_expect_each_refused(const struct nvw_workload *workload, int error,
	const struct subject_refusal *refusals, unsigned count);

/* The words at an offset of a copy of the pool. */
uint64_t *subject_words(struct nvw_pool *pool, nvw_off off);
/* A root of the pool leads where nothing is. */
void subject_break_root(struct nvw_pool *pool, unsigned root);

#endif
