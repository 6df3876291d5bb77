/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of the stacks' kernel that seeded bugs replace (mutations.c), and helpers of both. */
#ifndef WORKLOADS_STACK_STEPS_H
#define WORKLOADS_STACK_STEPS_H

#include "common/step.h"
#include "plan.h"

/* A node being pushed. */
struct stack_push {
	uint64_t node;
	uint64_t *head, *words; /* the node's: link, payload, digest */
};

/* A node being taken. */
struct stack_take {
	uint64_t node, stack;
	uint64_t *head, *announcement;
	uint64_t first, next; /* present and intended value of the head */
};

/* In order; the letters are those of kernel.c. */
struct stack_steps {
	void (*fill)(const struct stack_args *a, const struct stack_push *push); /* (a) */
	void (*order_group)(void);                                               /* (b) */
	void (*link)(
		const struct stack_args *a, const struct stack_push *push, uint64_t first); /* (c), (d) */
	/* Returns the previous head: first if it succeeded. */
	uint64_t (*publish)(
		const struct stack_args *a, const struct stack_push *push, uint64_t first); /* (e) */
	void (*complete_push)(const struct stack_push *push);                               /* (f), (g) */
	void (*announce)(const struct stack_take *take);                                    /* (i), (j) */
	uint64_t (*unlink)(const struct stack_take *take);                                  /* (k) */
	void (*complete_take)(const struct stack_args *a, const struct stack_take *take);   /* (l), (m) */
	/* By the host, after a crash: of an announced node whose push is acknowledged. */
	int (*finish_taking)(const struct stack_plan *plan, struct nvw_machine *machine, uint64_t node);
};

/* The steps that a seeded bug replaces; none for STACK_UNMUTATED. */
const struct stack_steps *stack_replaced(enum stack_mutation mutation);

/* (a), word by word. */
void stack_fill_node(const struct stack_args *a, const struct stack_push *push);

#define STACK_COMPARE_EXCHANGE(head, first, next, scope) \
	nvw_atomic_compare_exchange(head, first, next, NVW_ACQ_REL, scope)

#endif
