/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a tiered run. */
#ifndef WORKLOADS_TIERED_PLAN_H
#define WORKLOADS_TIERED_PLAN_H

#include <nvw/workload.h>

#include "layout.h"

/* Seeded bugs, in the order of the table in mutations.c. */
enum tiered_mutation {
	TIERED_UNMUTATED = -1,
	TIERED_VALUE_UNORDERED,
	TIERED_VALUE_LATE,
	TIERED_ACK_EARLY,
	TIERED_ROW_FIRST,
	TIERED_TRUNCATE_UNORDERED,
	TIERED_FORGOTTEN_PUTS,
};

struct tiered_plan {
	uint64_t seed, groups;
	unsigned group_size;
	struct tiered_layout shape;               /* without places */
	char table_device[NVW_DEVICE_NAME_BYTES]; /* "": the table is in the log's pool */
	enum tiered_mutation mutation;
	uint64_t truncations; /* counted by the kernel in host memory */
};

struct tiered_steps;

/* Puts first to end - 1 of a work-item. */
struct tiered_share {
	uint64_t first, end;
};

/* The kernel's arguments. pmem is the first pool's: its offsets are those of the run's range. */
struct tiered_args {
	struct nvw_pmem pmem;
	struct tiered_plan *plan;
	const struct tiered_steps *replaced; /* by a seeded bug (steps.h) */
	struct tiered_layout layout;
	const struct tiered_share *shares; /* of work-items, in host memory */
};

void tiered_kernel(const void *args);

/* The durable structure, as read by recovery, check and inspection. layout.log 0: not set up. */
struct tiered_view {
	struct nvw_pool *log, *table; /* the same without --table-device */
	struct tiered_layout layout;
};
/* NVW_E_DAMAGED if the root words do not name allocated extents of the stated sizes. */
NVW_CHECKED int tiered_view_open(struct nvw_pool *first, struct tiered_view *ret_view);
/* How many puts of a work-item there are in all. */
uint64_t tiered_puts(const struct tiered_layout *layout, uint64_t item);
/* A word of the log, of the table. */
uint64_t tiered_log_word(const struct tiered_view *view, nvw_off off);
uint64_t tiered_table_word(const struct tiered_view *view, nvw_off off);
/* The record of the item's k-th put, if the log has it completely. */
bool tiered_has_record(
	const struct tiered_view *view, uint64_t item, uint64_t k, nvw_off *ret_row, nvw_off *ret_value);

extern const struct nvw_mutation tiered_mutations[]; /* mutations.c */
extern const struct nvw_parts tiered_parts;          /* parts.c */

int tiered_setup(void *plan, struct nvw_machine *machine);
int tiered_run(void *plan, struct nvw_machine *machine);
int tiered_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations);
int tiered_recover(struct nvw_pool *pool, struct nvw_recovery *report);
int tiered_check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings);
int tiered_inspect(struct nvw_pool *pool, struct nvw_description *description);
int tiered_report(void *plan, struct nvw_machine *machine, struct nvw_description *description);
const char *tiered_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found);

#endif
