/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a stack run. Operation t is the push of node t, operation count + t its taking, by any
 * work-item. */
#ifndef WORKLOADS_STACK_PLAN_H
#define WORKLOADS_STACK_PLAN_H

#include <nvw/workload.h>

#include "layout.h"

enum stack_scope { STACK_SCOPE_WORKITEM, STACK_SCOPE_WORKGROUP };
enum stack_operation { STACK_OPERATION_PUSH, STACK_OPERATION_TAKE };

/* Seeded bugs, in the order of the table in mutations.c. */
enum stack_mutation {
	STACK_UNMUTATED = -1,
	STACK_PUBLISH_UNORDERED,
	STACK_FILL_AFTER_BARRIER,
	STACK_FILL_AFTER_PUBLISH,
	STACK_NARROW_SCOPE,
	STACK_PUSH_ACK_EARLY,
	STACK_RACY_PUSH,
	STACK_STALE_LINK,
	STACK_LOCAL_HEAD,
	STACK_TAKE_UNORDERED,
	STACK_TAKE_FIRST,
	STACK_TORN_ANNOUNCEMENT,
	STACK_TAKE_ACK_EARLY,
	STACK_FORGOTTEN_TAKING,
};

struct stack_plan {
	/* The options. */
	uint64_t seed, count, stacks, payload, groups, take;
	unsigned group_size;
	enum stack_scope scope;
	enum stack_mutation mutation;

	/* Figures of the run, counted by the kernel in host memory. */
	uint64_t pushed, taken;
	uint64_t retries; /* failed compare-exchanges of a head */
	uint64_t empty;   /* takings that found no node */
	uint64_t stuck;   /* operations given up after too many retries */
};

struct stack_steps;

/* What a launch does with a node. */
enum { STACK_DOES_PUSH = 1, STACK_DOES_TAKE = 2 };

/* The arguments of the kernel. */
struct stack_args {
	struct nvw_pmem pmem;
	struct stack_plan *plan;
	const struct stack_steps *replaced; /* by a seeded bug (steps.h) */
	struct stack_layout layout;
	const uint8_t *does; /* with each node, in host memory; NULL: both, the run */
};

void stack_kernel(const void *args);

/* Whether the push of a node is followed by a taking, and from which stack: any; the seed decides. */
bool stack_takes_after(const struct stack_plan *plan, uint64_t node, uint64_t *ret_stack);

/* The layout for a plan, without a place. */
struct stack_layout stack_layout_of(const struct stack_plan *plan);

/* The durable stacks, as read by recovery, check and inspection. layout.extent 0: not set up. */
struct stack_view {
	struct nvw_pool *pool;
	struct stack_layout layout;
};
/* NVW_E_DAMAGED if the root words do not name an allocated extent of the stated size. */
NVW_CHECKED int stack_view_open(struct nvw_pool *pool, struct stack_view *ret_view);

/*
 * Follows a stack downwards, for at most as many nodes as exist. on_node gets the offset in a head or link
 * and its node's number, or UINT64_MAX if no node begins there; the walk ends there, or when on_node returns
 * false.
 */
typedef bool stack_on_node(void *context, uint64_t stack, nvw_off off, uint64_t node);
void stack_walk(const struct stack_view *view, uint64_t stack, stack_on_node *on_node, void *context);

extern const struct nvw_mutation stack_mutations[]; /* mutations.c */
extern const struct nvw_lack stack_lacks[];         /* likewise */

int stack_setup(void *plan, struct nvw_machine *machine);
int stack_run(void *plan, struct nvw_machine *machine);
int stack_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations);
int stack_recover(struct nvw_pool *pool, struct nvw_recovery *report);
int stack_check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings);
int stack_inspect(struct nvw_pool *pool, struct nvw_description *description);
int stack_report(void *plan, struct nvw_machine *machine, struct nvw_description *description);
const char *stack_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found);

#endif
