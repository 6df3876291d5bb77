/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of the queue's kernel that seeded bugs replace (mutations.c), and helpers of both. */
#ifndef WORKLOADS_QUEUE_STEPS_H
#define WORKLOADS_QUEUE_STEPS_H

#include "common/step.h"
#include "plan.h"

/* One message and its work-item. */
struct queue_message {
	uint64_t batch, ticket, lap;
	bool exists; /* the last batch may not be full */
	nvw_off slot;
};

/* In order; the letters are those of kernel.c. */
struct queue_steps {
	uint64_t (*draw)(const struct queue_args *a, uint64_t *next);
	void (*acquire)(uint64_t *turn, uint64_t wanted);
	void (*store_state)(uint64_t *state, uint64_t word);
	void (*take_over)(const struct queue_args *a, const struct queue_message *m);           /* (a), (b) */
	void (*order_message)(const struct queue_args *a);                                      /* (d) */
	void (*complete_production)(const struct queue_args *a, const struct queue_message *m); /* (f), (g) */
	void (*claim)(const struct queue_args *a, const struct queue_message *m);               /* (j) */
	void (*order_records)(const struct queue_args *a);                                      /* (l) */
	void (*complete_effect)(const struct queue_args *a, const struct queue_message *m);     /* (n), (o) */
	void (*mark_done)(const struct queue_args *a, const struct queue_message *m);           /* (p) */
	/* After a crash: where record number i of those that a consumer writes is in its ledger. */
	uint64_t (*place)(const struct queue_args *a, uint64_t consumer, uint64_t i);
};

/* The steps that a seeded bug replaces; none for QUEUE_UNMUTATED. */
const struct queue_steps *queue_replaced(enum queue_mutation mutation);

void queue_set_state(const struct queue_args *a, const struct queue_message *m, enum queue_phase phase);

static inline void queue_acknowledge(const struct queue_message *m, uint64_t op)
{
	if (m->exists) {
		nvw_ack(op);
	}
}

/*
 * The persist barrier of the chosen scope; a macro, so that findings name its place of use. The work-group
 * also meets, because a persist barrier may not wait: neighbours write to one line, and a fast work-item must
 * not store there what has to persist after stores that the others have not made yet.
 */
#define ORDER(a) ORDER_WITHIN(a, NVW_WORKGROUP)
#define ORDER_WITHIN(a, group)                                   \
	do {                                                     \
		if ((a)->plan->scope == QUEUE_SCOPE_WORKGROUP) { \
			nvw_barrier(NVW_WORKGROUP);              \
			nvw_p_barrier(group);                    \
		} else {                                         \
			nvw_p_barrier_wi();                      \
		}                                                \
	} while (0)

#endif
