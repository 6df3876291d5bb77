/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of the kernel that seeded bugs replace (mutations.c), and their common code. */
#ifndef WORKLOADS_TIERED_STEPS_H
#define WORKLOADS_TIERED_STEPS_H

#include "common/step.h"
#include "plan.h"

/* A put in progress. */
struct tiered_put {
	uint64_t op, item, k;
	nvw_off row, value;
};

/* In order; the letters are those of kernel.c. */
struct tiered_steps {
	void (*store_value)(const struct tiered_args *a, const struct tiered_put *put); /* (a) */
	void (*order_value)(void);                                                      /* (b) */
	void (*log_put)(const struct tiered_args *a, const struct tiered_put *put);     /* (c), (d), (e) */
	void (*truncate)(const struct tiered_args *a, uint64_t item, uint64_t applied); /* (g), (h) */
	/* By the host, after a crash: the first put that the table lacks. */
	uint64_t (*first_put)(const struct tiered_view *v, uint64_t item);
};

/* The steps that a seeded bug replaces; none for TIERED_UNMUTATED. */
const struct tiered_steps *tiered_replaced(enum tiered_mutation mutation);

/* (a) */
void tiered_store_value(const struct tiered_args *a, const struct tiered_put *put);
/* (c) */
void tiered_store_record(const struct tiered_args *a, const struct tiered_put *put);
/* (f) */
void tiered_store_row(const struct tiered_args *a, const struct tiered_put *put);
/* (h) */
void tiered_store_applied(const struct tiered_args *a, uint64_t item, uint64_t applied);

#endif
