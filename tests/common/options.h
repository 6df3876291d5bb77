/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a workload as text, as its trials have them, and its seeded bugs by name. */
#ifndef TESTS_COMMON_OPTIONS_H
#define TESTS_COMMON_OPTIONS_H

#include <nvw/workload.h>

#include "core/options.h"

/* "name=value name=value"; a wrong one fails the test. Freed by nvw__options_free(). */
struct nvw_options *options_of(const struct nvw_option *table, const char *assignments);

/* The workload's plan with options as above; returns the error of an option or of its prepare(). */
int prepare_with(const struct nvw_workload *workload, const char *assignments, uint64_t seed, int mutation,
	void **ret_plan);

/* The number of a bug; -1: of none (NULL). One that is not there fails the test. */
int mutation_of(const struct nvw_workload *workload, const char *name);

#endif
