/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common code of the task programs (tasks/tasks.h). Each is a dense kernel (dense/dense.h) whose launches are
 * those of TREES: its file holds sizes, arrays, the task functions, the first task, and the sequential
 * version.
 */
#ifndef PAPERS_TREES_TREES_H
#define PAPERS_TREES_TREES_H

#include "tasks/tasks.h"

#include "dense/dense.h"

enum trees_runtime { TREES_RUNTIME_TREES, TREES_RUNTIME_TVM };

extern const char *const trees_runtimes[];

/* clang-format off */
#define TREES_OPTIONS_END                                                                          \
	{"group-size", NVW_OPTION_COUNT, "256", NULL, "work-items per work-group"},                  \
	{"entries", NVW_OPTION_COUNT, "1M", NULL, "entries of the task vector"},                     \
	{"runtime", NVW_OPTION_CHOICE, "trees", trees_runtimes,                                      \
		"trees: kernel launches; tvm: the formal machine, one task after the other"},            \
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL}
/* clang-format on */

/* Defines a workload, as DENSE_WORKLOAD does. */
#define TREES_WORKLOAD(SYMBOL, NAME, SUMMARY, ...) \
	TREES_DEFINE(SYMBOL, NAME, SUMMARY, options, DENSE_HOOKS(SYMBOL), __VA_ARGS__)
#define TREES_DEFINE(SYMBOL, NAME, SUMMARY, OPTIONS, ...) \
	DENSE_DEFINE(SYMBOL, NAME, SUMMARY, OPTIONS, trees_prepare, .report = trees_report, __VA_ARGS__)

/* run(): the program from function(words ...) to its end, on the runtime that the options choose. */
#define trees_run(p, program, data, function, ...)                                   \
	trees_run_words(p, program, data, function, (const uint32_t[]){__VA_ARGS__}, \
		sizeof((const uint32_t[]){__VA_ARGS__}) / 4)
NVW_CHECKED int trees_run_words(struct dense_plan *p, const struct nvw_task_program *program,
	const void *data, nvw_task_run function, const uint32_t *words, unsigned n);

/* The totals of the last run. */
const struct nvw_task_totals *trees_totals(const struct dense_plan *p);

/* The hooks of kernels that are task programs. */
int trees_prepare(
	const struct dense_kernel *kernel, const struct nvw_options *options, uint64_t seed, void **ret_plan);
int trees_report(struct dense_plan *p, struct nvw_description *description);

#endif
