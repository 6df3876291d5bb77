/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a steal-log run. Operation t is the completion of task t. */
#ifndef WORKLOADS_STEAL_LOG_PLAN_H
#define WORKLOADS_STEAL_LOG_PLAN_H

#include <nvw/workload.h>

#include "layout.h"

/* Scopes of the synchronization on deques: alsop16 IV.B, "scope-only", "steal-only" and "RSP". */
enum steal_scenario { STEAL_SCOPED, STEAL_AGENT, STEAL_REMOTE };

/* Seeded bugs, in the order of the table in mutations.c. */
enum steal_mutation {
	STEAL_UNMUTATED = -1,
	STEAL_COMMIT_BEFORE_RESULT,
	STEAL_CHILD_BEFORE_INPUT,
	STEAL_COMPLETE_BEFORE_CHILD,
	STEAL_ACK_BEFORE_BARRIER,
	STEAL_NARROW_SCOPE,
	STEAL_NO_CLAIM,
	STEAL_LATE_CLAIM,
	STEAL_TORN_COMMIT,
	STEAL_OVERWRITTEN_RECORD,
	STEAL_NARROW_STEAL,
	STEAL_NARROW_OWNER,
	STEAL_RACY_STEAL,
	STEAL_FORGOTTEN_CHILD,
};

struct steal_plan {
	/* The options. */
	uint64_t seed, words, groups, skew;
	struct steal_tree tree;
	unsigned group_size;
	enum steal_scenario scenario;
	enum steal_mutation mutation;

	uint64_t count;   /* tasks of the whole run */
	uint64_t *inputs; /* input of task t from t * words on; undefined for tasks that never exist */
	bool *exists;     /* task t of roots * depth */

	/* Figures of the run, counted by kernels in host memory. */
	uint64_t executed, stolen, attempts;
	uint64_t stuck; /* work-groups that gave up */
	uint64_t most;  /* largest number of tasks executed by one work-group */
};

/*
 * A work-group's tasks, in DRAM, under a lock: the owner takes the newest (bottom), thieves the oldest (top).
 * The lock has its own line. When the deque becomes empty, top and bottom return to 0, so an owner that
 * pushes a task that it has just taken, or one child of a stolen task, needs at most one entry more than at
 * the beginning.
 */
struct steal_deque {
	uint64_t lock, unused[7];
	uint64_t top, bottom;
	uint64_t tasks[]; /* roots + 1 */
};

static inline uint64_t steal_deque_bytes(uint64_t roots)
{
	return (sizeof(struct steal_deque) + 8 * (roots + 1) + 63) & ~UINT64_C(63);
}

struct steal_steps;

/* What a crash has left, in host memory. */
struct steal_rest {
	uint64_t *records;      /* of each work-group's log: in use */
	bool *exists, *is_done; /* of each task: nobody makes it, or carries it out, again */
	uint64_t children;      /* of tasks carried out now that may still be carried out */
};

struct steal_args {
	struct nvw_pmem pmem;
	struct steal_plan *plan;
	const struct steal_steps *replaced; /* by a seeded bug (steps.h) */
	enum nvw_scope owner, thief;        /* of synchronization on a deque */
	uint64_t patience; /* unsuccessful rounds without progress after which a work-group gives up */
	nvw_off tasks, logs;
	struct steal_rest *rest; /* NULL: the run */
	/* In DRAM: */
	char *deques;
	uint64_t *left;  /* incomplete tasks among the known ones */
	uint64_t *drawn; /* one line per work-group: the task taken by its first work-item */
};

void steal_kernel(const void *args);

/* The durable tasks and logs, as read by recovery, check and inspection. */
struct steal_view {
	struct nvw_pool *pool;
	nvw_off tasks, logs; /* tasks 0: not set up */
	struct steal_tree tree;
	uint64_t words, groups, records;
};
/* NVW_E_DAMAGED if the root words do not name allocated extents of the stated sizes. */
NVW_CHECKED int steal_view_open(struct nvw_pool *pool, struct steal_view *ret_view);

static inline nvw_off steal_task(nvw_off tasks, uint64_t words, uint64_t task)
{
	return tasks + task * steal_item_bytes(words);
}

static inline nvw_off steal_record(nvw_off logs, uint64_t words, uint64_t records, uint64_t group, uint64_t i)
{
	return logs + (group * records + i) * steal_item_bytes(words);
}

extern const struct nvw_parts steal_parts;          /* parts.c */
extern const struct nvw_mutation steal_mutations[]; /* mutations.c */
extern const struct nvw_lack steal_lacks[];         /* likewise */

int steal_setup(void *plan, struct nvw_machine *machine);
int steal_run(void *plan, struct nvw_machine *machine);
int steal_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations);
int steal_recover(struct nvw_pool *pool, struct nvw_recovery *report);
int steal_check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings);
int steal_inspect(struct nvw_pool *pool, struct nvw_description *description);
int steal_report(void *plan, struct nvw_machine *machine, struct nvw_description *description);
const char *steal_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found);

#endif
