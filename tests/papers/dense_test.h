/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small kernel (papers/kernels/dense/dense.h) on the emulated machine: its inputs before a run, its results
 * after it.
 */
#ifndef TESTS_PAPERS_DENSE_TEST_H
#define TESTS_PAPERS_DENSE_TEST_H

#include "common/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <emu.h>

#include "check/check.h"
#include "common/options.h"
#include "common/rig.h"
#include "papers/kernels/dense/dense.h"

struct test {
	const struct nvw_workload *workload;
	struct dense_plan *plan;
	struct nvw_machine *machine;
	struct nvw_findings findings;
	void *results[DENSE_ARRAYS]; /* copies */
	unsigned count;
};

static inline struct test begin(const struct nvw_workload *w, const char *sizes, const char *protocol)
{
	struct test t = {.workload = w};
	void *plan;

	if (prepare_with(w, sizes, 1, -1, &plan) != 0 ||
		rig_alone("sinclair15", SETTINGS("seed=1", formatted("protocol=%s", protocol)), &t.machine) !=
			0) {
		fail_msg("%s: %s", w->name, nvw_error_message());
	}
	t.plan = plan;
	return t;
}

static inline void run(struct test *t)
{
	if (t->workload->run(t->plan, t->machine) != 0) {
		fail_msg("%s: %s", t->workload->name, nvw_error_message());
	}
}

static inline int verify(struct test *t)
{
	nvw__findings_clear(&t->findings);
	return t->workload->verify(t->plan, t->machine, &t->findings);
}

static inline void run_and_verify(struct test *t)
{
	run(t);
	if (verify(t) != 0) {
		fail_msg("%s: %s", t->workload->name,
			t->findings.count ? t->findings.finding[0].text : nvw_error_message());
	}
}

static inline uint64_t bytes_of(const struct dense_array *a)
{
	return a->count * (a->type == DENSE_DOUBLE ? 8 : 4);
}

static inline unsigned array_of(const struct test *t, const char *name)
{
	unsigned i = 0;

	while (strcmp(t->plan->array[i].name, name) != 0) {
		i++;
	}
	return i;
}

/* An array before the run, to look at and to change. */
static inline void *input(const struct test *t, const char *array)
{
	return t->plan->input[array_of(t, array)];
}

/* A copy of what the device made of it, kept until the end. */
static inline void *result(struct test *t, const char *array)
{
	const unsigned i = array_of(t, array);
	const uint64_t bytes = bytes_of(&t->plan->array[i]);
	void *const copy = malloc(bytes);

	assert_non_null(copy);
	assert_ok(nvw_read(t->machine, copy, t->plan->device[i], bytes));
	return t->results[t->count++] = copy;
}

/* Changes a bit of a byte that the device has. */
static inline void flip(const struct test *t, void *device)
{
	uint8_t byte;

	assert_ok(nvw_read(t->machine, &byte, device, 1));
	byte ^= 1;
	assert_ok(nvw_write(t->machine, device, &byte, 1));
}

/* After a run. */
static inline void *verified(struct test *t, const char *array)
{
	run_and_verify(t);
	return result(t, array);
}

static inline void end(struct test *t)
{
	while (t->count > 0) {
		free(t->results[--t->count]);
	}
	t->workload->dispose(t->plan);
	emu_destroy(t->machine);
}

/* A test that ends with its block. */
#define RUN(name) struct test name __attribute__((cleanup(end)))

static inline void assert_close(double found, double expected, double tolerance)
{
	if (!(fabs(found - expected) <= tolerance)) {
		fail_msg("found %.9g, expected %.9g within %g", found, expected, tolerance);
	}
}

#endif
