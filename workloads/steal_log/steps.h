/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of the kernel that seeded bugs replace (mutations.c), and helpers of both. */
#ifndef WORKLOADS_STEAL_LOG_STEPS_H
#define WORKLOADS_STEAL_LOG_STEPS_H

#include "common/step.h"
#include "plan.h"

/* A work-group's current task: uniform over its work-items. */
struct steal_work {
	uint64_t task, record;
	bool is_stolen, has_child;
	uint64_t *from, *to, *child; /* the task, the record, the child: one word, then words more */
};

/* In order; the letters are those of kernel.c. */
struct steal_steps {
	void (*choose_scopes)(struct steal_args *a); /* by the host */
	void (*lock_victim)(const struct steal_args *a, struct steal_deque *d);
	void (*unlock_victim)(const struct steal_args *a, struct steal_deque *d);
	void (*claim)(const struct steal_args *a, const struct steal_work *w);        /* (a) */
	void (*write_result)(const struct steal_args *a, const struct steal_work *w); /* (b) */
	void (*write_child)(const struct steal_args *a, const struct steal_work *w);  /* (c) */
	void (*order_work)(const struct steal_args *a, const struct steal_work *w);   /* (d) */
	void (*order_child)(const struct steal_work *w);                              /* (f) */
	void (*commit)(const struct steal_args *a, const struct steal_work *w);       /* (g) */
	void (*acknowledge)(const struct steal_work *w);                              /* (h), (i) */
	uint64_t (*records_used)(const struct steal_work *w);
	bool (*is_made)(const struct steal_args *a, uint64_t task); /* after a crash */
};

/* The correct steps, for bugs that perform them at another time. */
extern const struct steal_steps steal_steps;

/* The steps that a seeded bug replaces; none for STEAL_UNMUTATED. */
const struct steal_steps *steal_replaced(enum steal_mutation mutation);

#endif
