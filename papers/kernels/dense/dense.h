/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small kernels: arrays that the host fills, copies to device memory, lets a few successive launches change,
 * and compares with its own sequential result. A kernel's file has its sizes, its arrays and the computation
 * (sinclair15 5.4.1, hechtman14 3.4.2 and 4.4.2, stc 6).
 *
 * Results, including floats, are compared bit by bit: every compared element comes from the operations of the
 * sequential version in the same order, whatever order the work-items run in. In most kernels only launches
 * order accesses: within one, no work-item reads an element that another one writes. A kernel that shares
 * data within a launch uses atomics or barriers, and its header says why the result is the same in every
 * order: integers are added, there is one fixed point, or all work-items store the same value. DENSE_SCRATCH
 * arrays have the data that do depend on the order, for example intermediate values.
 */
#ifndef PAPERS_DENSE_DENSE_H
#define PAPERS_DENSE_DENSE_H

#include <assert.h>

#include <nvw/kernel.h>
#include <nvw/random.h>
#include <nvw/workload.h>

#include "common/bounds.h"
#include "graph/graph.h"

/* Products of three sizes, in bytes, fit into 64 bits. */
enum { DENSE_SIZES = 4, DENSE_ARRAYS = 10, DENSE_SIZE_MAX = 1 << 20 };

enum dense_type { DENSE_INT32, DENSE_UINT32, DENSE_FLOAT, DENSE_DOUBLE };

/*
 * READ_ONLY: neither a launch nor the host changes it once the first launch has begun. SCRATCH: launches
 * write it, but its contents are not compared.
 */
enum dense_use { DENSE_READ_ONLY, DENSE_WRITTEN, DENSE_SCRATCH };

struct dense_array {
	const char *name;
	enum dense_type type;
	enum dense_use use;
	uint64_t count;        /* elements */
	const uint32_t *graph; /* its content, if it is a part of the graph; else NULL */
};

/* The plan of a run. */
struct dense_plan {
	const struct dense_kernel *kernel;
	struct nvw_machine *machine; /* during run() and report() */
	struct nvw_random random;
	unsigned group_size;
	uint64_t size[DENSE_SIZES]; /* the values of the kernel's sizes, in order */
	struct graph graph;         /* if the kernel has DENSE_GRAPH_OPTION */
	struct dense_array array[DENSE_ARRAYS];
	unsigned arrays; /* number of arrays in use, from 0 */
	void *device[DENSE_ARRAYS];
	/* Host memory: the content before the first launch, zeroed, then fill(); in expect() a copy of it,
	 * which becomes the expected result. */
	void *input[DENSE_ARRAYS], *expected[DENSE_ARRAYS];
	uint64_t launches;
	bool has_scratchpad; /* --scratchpad=on */
	void *more;          /* of the kernel's family; freed with the plan */
};

struct dense_kernel {
	const char *name;
	/* DENSE_SIZE for each size of 1 to DENSE_SIZE_MAX, DENSE_GRAPH_OPTION if it reads a graph,
	 * DENSE_SCRATCHPAD_OPTION if it can keep data there, then DENSE_OPTIONS_END. */
	const struct nvw_option *options;
	uint64_t least[DENSE_SIZES]; /* smallest value of a size, if not 1 */
	uint64_t most[DENSE_SIZES];  /* largest value of a size, if not DENSE_SIZE_MAX */
	uint64_t nodes_most;         /* largest number of nodes of the graph, if not GRAPH_NODES_MAX */
	void (*shape)(struct dense_plan *p);  /* dense_written() or another for each array */
	void (*fill)(struct dense_plan *p);   /* the inputs, from p->random */
	int (*run)(struct dense_plan *p);     /* the launches */
	void (*expect)(struct dense_plan *p); /* the same computation on .expected, sequentially */
	int (*report)(struct dense_plan *p, struct nvw_description *description); /* optional */
};

/* clang-format off */
#define DENSE_SIZE(name, value, help) {name, NVW_OPTION_COUNT, value, NULL, help}

#define DENSE_GRAPH_OPTION(source) {"graph", NVW_OPTION_STRING, source, NULL, GRAPH_HELP}

#define DENSE_SCRATCHPAD_OPTION                                                                    \
	{"scratchpad", NVW_OPTION_BOOL, "off", NULL,                                                 \
		"work-groups keep in a scratchpad, which takes no time, "                            \
		"what the original program keeps there"}

#define DENSE_OPTIONS_END                                                                          \
	{"group-size", NVW_OPTION_COUNT, "256", NULL, "work-items per work-group"},                  \
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL}
/* clang-format on */

/*
 * DENSE_WORKLOAD defines the workload nvw_workload_SYMBOL from the file's options and its functions
 * SYMBOL_shape(), SYMBOL_fill(), SYMBOL_run() and SYMBOL_expect(). Other fields of the kernel follow the
 * summary. DENSE_DEFINE leaves the choice of all of them.
 */
#define DENSE_WORKLOAD(SYMBOL, NAME, SUMMARY, ...) \
	DENSE_DEFINE(SYMBOL, NAME, SUMMARY, options, dense_prepare, DENSE_HOOKS(SYMBOL), __VA_ARGS__)
#define DENSE_HOOKS(SYMBOL) \
	.shape = SYMBOL##_shape, .fill = SYMBOL##_fill, .run = SYMBOL##_run, .expect = SYMBOL##_expect
#define DENSE_DEFINE(SYMBOL, NAME, SUMMARY, OPTIONS, PREPARE, ...)                                         \
	static int SYMBOL##_prepare(const struct nvw_options *o, uint64_t seed, int mutation, void **ret)  \
	{                                                                                                  \
		static const struct dense_kernel kernel = {.name = NAME, .options = OPTIONS, __VA_ARGS__}; \
		return PREPARE(&kernel, o, seed, ret);                                                     \
	}                                                                                                  \
	extern const struct nvw_workload nvw_workload_##SYMBOL;                                            \
	const struct nvw_workload nvw_workload_##SYMBOL = {                                                \
		.name = NAME,                                                                              \
		.summary = SUMMARY,                                                                        \
		.options = OPTIONS,                                                                        \
		.prepare = SYMBOL##_prepare,                                                               \
		.dispose = dense_dispose,                                                                  \
		.run = dense_run,                                                                          \
		.verify = dense_verify,                                                                    \
		.report = dense_report,                                                                    \
	}

/* shape(): the arrays from number first on, one for each name, have count elements, at least 1. */
#define dense_read_only(p, ...) DENSE_ADD(p, DENSE_READ_ONLY, __VA_ARGS__)
#define dense_written(p, ...)   DENSE_ADD(p, DENSE_WRITTEN, __VA_ARGS__)
#define dense_scratch(p, ...)   DENSE_ADD(p, DENSE_SCRATCH, __VA_ARGS__)
#define DENSE_ADD(p, use, first, type, count, ...) \
	dense_arrays(p, use, first, type, count, (const char *const[]){__VA_ARGS__, NULL})
void dense_arrays(struct dense_plan *p, enum dense_use use, unsigned first, enum dense_type type,
	uint64_t count, const char *const *names);

/* shape(): arrays i and i + 1 are the rows and the columns of the plan's graph, as in graph/graph.h. They
 * need no fill(). */
void dense_array_graph(struct dense_plan *p, unsigned i);

/* A loop over the plan's arrays. */
#define DENSE_EACH(array_, p) \
	for (struct dense_array *array_ = (p)->array; array_ < (p)->array + (p)->arrays; array_++)

/* fill(): elements that are uniform in [low, high); integers. */
void dense_fill_real(struct dense_plan *p, unsigned i, double low, double high);
void dense_fill_int(struct dense_plan *p, unsigned i, int32_t low, int32_t high);

/* fill(): lengths of edges between all pairs of nodes, 1 to most; about one pair in eight has an edge, the
 * others are far. And distances between n nodes without edges: far, but 0 from a node to itself. */
void dense_fill_edges(struct dense_plan *p, unsigned i, int32_t most, int32_t far);
void dense_fill_far(int32_t *distances, uint64_t n, int32_t far);

/* expect(): n rows of the lengths of edges become the distances between all nodes, by Floyd and Warshall's
 * algorithm. Whether a row is of edges from a node or to it makes no difference. */
void dense_shorten(int32_t *distances, uint64_t n);

/* expect(): n keys become ascending. */
void dense_sort(int32_t *keys, uint64_t n);

/* A kernel, by a pointer to its arguments. */
#define DENSE_KERNEL(name, type, given)             \
	static void name(type *given);              \
	static void name##_kernel(const void *args) \
	{                                           \
		name(args);                         \
	}                                           \
	static void name(type *const given)

/* A kernel for the work-items below a count: each gets a pointer to the struct args, and its number. */
#define DENSE_ITEMS(name, given, item, count)                      \
	static void name(const struct args *given, uint64_t item); \
	static void name##_kernel(const void *args)                \
	{                                                          \
		const struct args *const given = args;             \
		const uint64_t item = nvw_global_id();             \
                                                                   \
		if (item < (count)) {                              \
			name(given, item);                         \
		}                                                  \
	}                                                          \
	static void name(const struct args *const given, const uint64_t item)

/* run(): launches such a kernel once per work-item. */
#define dense_launch(p, kernel, args, work_items) \
	dense_launch_named(p, #kernel, kernel##_kernel, args, work_items)
NVW_CHECKED int dense_launch_named(
	struct dense_plan *p, const char *name, nvw_kernel function, const void *args, uint64_t work_items);

/*
 * run(): scratchpads of bytes each, zeroed, one per work-group of launches of at most so many work-items, in
 * p->more. They are host memory: kernels access them in no time, as they do registers, and a work-group's
 * barriers order its accesses. Those of an earlier call are gone.
 */
NVW_CHECKED int dense_scratchpads(struct dense_plan *p, uint64_t bytes, uint64_t work_items);

/*
 * run() and report(): the host reads or writes count elements of array i from number first on, between
 * launches; or it reads all of them into a copy, which the caller frees.
 */
NVW_CHECKED int dense_get(struct dense_plan *p, unsigned i, uint64_t first, uint64_t count, void *to);
NVW_CHECKED int dense_put(struct dense_plan *p, unsigned i, uint64_t first, uint64_t count, const void *from);
NVW_CHECKED int dense_copy(struct dense_plan *p, unsigned i, void **ret_copy);

/*
 * run(): a flag, element 0 of array i of integers. The host clears it before a launch and reads it
 * afterwards; work-items set it by dense_tell() if there is more to do.
 */
NVW_CHECKED int dense_clear_flag(struct dense_plan *p, unsigned i);
NVW_CHECKED int dense_get_flag(struct dense_plan *p, unsigned i, bool *ret_is_set);

/* Loads the element at a place, or takes "here", which is beside it, if the array ends between them. It is a
 * macro, so that each load is an instruction of its own: lanes at different ones do not issue together. */
#define DENSE_BESIDE(is_there, place, here) ((is_there) ? nvw_load(place) : (here))

/* A block of a matrix: the place of its first element, and its size, which ends with the matrix. */
struct dense_block {
	uint64_t top, left, rows, columns;
};

static inline struct dense_block dense_block(
	uint64_t top, uint64_t left, uint64_t side, uint64_t rows, uint64_t columns)
{
	return (struct dense_block){top, left, u64_min(rows - top, side), u64_min(columns - left, side)};
}

/* A work-item's share of what its work-group does: neighbours take neighbouring ones. */
#define DENSE_SHARE(type, i, count) for (type i = nvw_local_id(); i < (count); i += nvw_group_size())

/* A kernel's loop over the arcs of node v, of arguments with the graph's rows. */
#define DENSE_ARCS(i, args, v)                                           \
	for (uint32_t end_ = nvw_load_read_only(&(args)->rows[(v) + 1]), \
		      i = nvw_load_read_only(&(args)->rows[v]);          \
		i < end_; i++)

static inline void dense_tell(int32_t *flag)
{
	nvw_atomic_store(flag, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

/*
 * For a function with the memory operations of a branch in a loop. It is not inlined: lanes that are deeper
 * in calls issue first, so the lanes in the branch catch up with those that skipped it. In the loop's own
 * function the skipping lanes would run ahead, iteration by iteration.
 */
#define DENSE_BRANCH static __attribute__((noinline))

/* The hooks. */
int dense_prepare(
	const struct dense_kernel *kernel, const struct nvw_options *options, uint64_t seed, void **ret_plan);
void dense_dispose(void *plan);
int dense_run(void *plan, struct nvw_machine *machine);
int dense_verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings);
int dense_report(void *plan, struct nvw_machine *machine, struct nvw_description *description);

#endif
