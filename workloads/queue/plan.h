/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a queue run. Operation t is the production of message t, operation count + t its
 * consumption. */
#ifndef WORKLOADS_QUEUE_PLAN_H
#define WORKLOADS_QUEUE_PLAN_H

#include <nvw/workload.h>

#include "layout.h"

enum queue_scope { QUEUE_SCOPE_WORKITEM, QUEUE_SCOPE_WORKGROUP };
enum queue_placement { QUEUE_APART, QUEUE_TOGETHER };
enum queue_release { QUEUE_DURABLE, QUEUE_VISIBLE };
enum queue_operation { QUEUE_OPERATION_PRODUCE, QUEUE_OPERATION_CONSUME };

/* Seeded bugs, in the order of the table in mutations.c. */
enum queue_mutation {
	QUEUE_UNMUTATED = -1,
	QUEUE_PUBLISH_BEFORE_PAYLOAD,
	QUEUE_NARROW_SCOPE,
	QUEUE_ACK_BEFORE_BARRIER,
	QUEUE_NO_TAKE_OVER,
	QUEUE_TORN_STATE,
	QUEUE_VISIBLE_IS_DURABLE,
	QUEUE_NO_CLAIM,
	QUEUE_NARROW_ACQUIRE,
	QUEUE_COMMIT_BEFORE_RECORD,
	QUEUE_MARK_BEFORE_EFFECT,
	QUEUE_MARK_WITH_EFFECT,
	QUEUE_EFFECT_ACK_EARLY,
	QUEUE_NARROW_EFFECT,
	QUEUE_RACY_TICKETS,
	QUEUE_COUNTED_RECORDS,
};

struct queue_plan {
	/* The options. */
	uint64_t seed, count, capacity, payload;
	uint64_t producers, consumers;
	unsigned group_size;
	enum queue_scope scope;
	enum queue_placement placement;
	enum queue_release release;
	enum queue_mutation mutation;

	uint64_t *digests; /* of message t */

	/* Figures of the run, counted by kernels in host memory. */
	uint64_t polls; /* polls of a part of the ring before its turn */
	uint64_t torn;  /* torn messages that consumers read */
	uint64_t stuck; /* work-groups that gave up waiting */
	uint64_t consumed[QUEUE_CONSUMERS_MAX];
};

/* What is left to do with a message. */
enum { QUEUE_TO_PRODUCE = 1, QUEUE_TO_CONSUME = 2 };

/* What a crash has left, in host memory. */
struct queue_rest {
	uint8_t *to_do;                /* of each message */
	uint64_t *places;              /* of each ledger: its empty records, in their order */
	uint64_t *used;                /* of each ledger: how many are not empty */
	uint64_t first_batch, batches; /* with something left to do; all before the first are done */
};

struct queue_steps;

/* The arguments of a kernel. A *batch* is group_size messages and the part of the ring that holds them. */
struct queue_args {
	struct nvw_pmem pmem;
	struct queue_plan *plan;
	const struct queue_steps *replaced; /* by a seeded bug (steps.h) */
	const struct queue_rest *rest;      /* NULL: the run */
	nvw_off ring, ledgers;
	uint64_t batches, ring_batches;
	/* In DRAM: */
	uint64_t *tail, *head; /* the next batch to produce, to consume */
	uint64_t *turns;       /* of a part of the ring: 2 x lap to fill it, 2 x lap + 1 to empty it */
	uint64_t *drawn;       /* one line per work-group: the batch drawn by its first work-item */
	uint64_t *digests;     /* one word per work-item, for its work-group */
};

/* Runs producers and consumers concurrently (kernel.c). */
void queue_kernel(const void *args);

/* The durable queue, as read by recovery, check and inspection. */
struct queue_view {
	struct nvw_pool *pool;
	nvw_off ring, ledgers; /* ring 0: not set up */
	uint64_t capacity, payload, records, consumers;
};
/* NVW_E_DAMAGED if the root words do not name allocated extents of the stated sizes. */
NVW_CHECKED int queue_view_open(struct nvw_pool *pool, struct queue_view *ret_view);

static inline nvw_off queue_slot(nvw_off ring, uint64_t payload, uint64_t slot)
{
	return ring + slot * queue_slot_bytes(payload);
}

static inline nvw_off queue_record(nvw_off ledgers, uint64_t records, uint64_t consumer, uint64_t i)
{
	return ledgers + consumer * queue_ledger_bytes(records) + i * QUEUE_RECORD_BYTES;
}

extern const struct nvw_parts queue_parts;          /* parts.c */
extern const struct nvw_mutation queue_mutations[]; /* mutations.c */
extern const struct nvw_lack queue_lacks[];         /* likewise */

int queue_setup(void *plan, struct nvw_machine *machine);
int queue_run(void *plan, struct nvw_machine *machine);
int queue_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations);
int queue_recover(struct nvw_pool *pool, struct nvw_recovery *report);
int queue_check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings);
int queue_inspect(struct nvw_pool *pool, struct nvw_description *description);
int queue_report(void *plan, struct nvw_machine *machine, struct nvw_description *description);
const char *queue_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found);

#endif
