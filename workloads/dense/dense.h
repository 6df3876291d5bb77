/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common code of the kernels without synchronization (sinclair15 5.4.1, Table 4): dense arrays that the host
 * fills, copies to device memory, lets a few successive launches change, and compares with its own sequential
 * result. A kernel's file has its sizes, its arrays and the computation.
 *
 * Within a launch no work-item reads an element that another one writes; only launches order accesses. Every
 * element is computed by one work-item in the order of the sequential version, so results, including floats,
 * are compared bit by bit.
 */
#ifndef WORKLOADS_DENSE_DENSE_H
#define WORKLOADS_DENSE_DENSE_H

#include <nvw/kernel.h>
#include <nvw/random.h>
#include <nvw/workload.h>

/* Products of three sizes, in bytes, fit into 64 bits. */
enum { DENSE_SIZES = 4, DENSE_ARRAYS = 6, DENSE_SIZE_MAX = 1 << 20 };

enum dense_type { DENSE_INT32, DENSE_FLOAT, DENSE_DOUBLE };

/* Read-only: neither a launch nor the host changes it after the first launch has begun. */
enum dense_use { DENSE_READ_ONLY, DENSE_WRITTEN };

struct dense_array {
	const char *name;
	enum dense_type type;
	enum dense_use use;
	uint64_t count; /* elements */
	void *device;
	void *input;    /* host memory: the content before the first launch; zeroed, then fill() */
	void *expected; /* host memory during expect(): the same, to become what the launches leave */
};

/* The plan of a run. */
struct dense_plan {
	const struct dense_kernel *kernel;
	struct nvw_machine *machine; /* during run() and report() */
	struct nvw_random random;
	unsigned group_size;
	uint64_t size[DENSE_SIZES]; /* the values of the kernel's options, in order */
	struct dense_array array[DENSE_ARRAYS];
	unsigned arrays; /* number of arrays in use, from 0 */
	uint64_t launches;
};

struct dense_kernel {
	const char *name;
	const struct nvw_option *options;     /* sizes of 1 to DENSE_SIZE_MAX, then DENSE_OPTIONS_END */
	uint64_t least[DENSE_SIZES];          /* smallest value of a size, if not 1 */
	uint64_t most[DENSE_SIZES];           /* largest value of a size, if not DENSE_SIZE_MAX */
	void (*shape)(struct dense_plan *p);  /* dense_array() for each array */
	void (*fill)(struct dense_plan *p);   /* the inputs, from p->random */
	int (*run)(struct dense_plan *p);     /* the launches */
	void (*expect)(struct dense_plan *p); /* the same computation on .expected, sequentially */
	int (*report)(struct dense_plan *p, struct nvw_description *description); /* optional */
};

/* clang-format off */
#define DENSE_OPTIONS_END                                                                          \
	{"group-size", NVW_OPTION_COUNT, "256", NULL, "work-items per work-group"},                  \
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL}
/* clang-format on */

/* Defines the workload nvw_workload_NAME from the file's "static const struct dense_kernel kernel". */
#define DENSE_WORKLOAD(NAME, SUMMARY)                                                            \
	static int prepare(const struct nvw_options *o, uint64_t seed, int mutation, void **ret) \
	{                                                                                        \
		return dense_prepare(&kernel, o, seed, ret);                                     \
	}                                                                                        \
	extern const struct nvw_workload nvw_workload_##NAME;                                    \
	const struct nvw_workload nvw_workload_##NAME = {                                        \
		.name = #NAME,                                                                   \
		.summary = SUMMARY,                                                              \
		.options = options,                                                              \
		.prepare = prepare,                                                              \
		.dispose = dense_dispose,                                                        \
		.run = dense_run,                                                                \
		.verify = dense_verify,                                                          \
		.report = dense_report,                                                          \
	}

/* shape(): array number i has count elements. */
void dense_array(struct dense_plan *p, unsigned i, const char *name, enum dense_type type, enum dense_use use,
	uint64_t count);

/* fill(): elements that are uniform in [low, high); integers. */
void dense_fill_real(struct dense_plan *p, unsigned i, double low, double high);
void dense_fill_int(struct dense_plan *p, unsigned i, int32_t low, int32_t high);

/* run(): launches function once per work-item. */
#define dense_launch(p, function, args, work_items) \
	dense_launch_named(p, #function, function, args, work_items)
NVW_CHECKED int dense_launch_named(
	struct dense_plan *p, const char *name, nvw_kernel function, const void *args, uint64_t work_items);

/* The hooks. */
int dense_prepare(
	const struct dense_kernel *kernel, const struct nvw_options *options, uint64_t seed, void **ret_plan);
void dense_dispose(void *plan);
int dense_run(void *plan, struct nvw_machine *machine);
int dense_verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings);
int dense_report(void *plan, struct nvw_machine *machine, struct nvw_description *description);

#endif
