/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the synchronization benchmarks (sinclair15 5.4.2) share: their common options, and which work-group
 * runs where.
 *
 * "Local" is the paper's local scope, one L1: data, locks and queues that are local belong to a CU and are
 * shared by all its work-groups. That is what the machines do for NVW_SCOPE_WORKGROUP: they synchronize in
 * the L1 of the CU. So a work-group asks at its start which CU it runs on, and takes a number there; nothing
 * depends on how many work-groups a CU got.
 *
 * One work-item of a work-group synchronizes for all: it takes the lock, the group meets, works, meets again,
 * and the same work-item releases. The group's stores are in the CU's L1 when it has met, and a release
 * passes on what is there.
 */
#ifndef WORKLOADS_SYNC_PLACE_H
#define WORKLOADS_SYNC_PLACE_H

#include <nvw/kernel.h>
#include <nvw/workload.h>

enum { SYNC_ACCESSES_MAX = 64, SYNC_LINE_WORDS = 16 };

extern const char *const sync_scopes[];

/* Rows of an option table. */
/* clang-format off */
#define SYNC_PLACE_OPTIONS \
	{"groups-per-cu", NVW_OPTION_COUNT, "3", NULL, "work-groups for each CU"}, \
	{"group-size", NVW_OPTION_COUNT, "64", NULL, "work-items a work-group"}, \
	{"scope", NVW_OPTION_CHOICE, "local", sync_scopes, "of the synchronization within a CU"}
#define SYNC_WORK_OPTIONS \
	{"iterations", NVW_OPTION_COUNT, "100", NULL, "of each work-group in the kernel"}, \
	{"accesses", NVW_OPTION_COUNT, "10", NULL, "loads, and stores, of a work-item an iteration"}
/* clang-format on */

/* What these options say; iterations and accesses are 0 for a table without them. */
struct sync_shape {
	uint64_t groups_per_cu, iterations;
	unsigned accesses, group_size;
	enum nvw_scope local; /* for synchronization within a CU */
};

NVW_CHECKED int sync_read_place_options(const struct nvw_options *options, struct sync_shape *ret_shape);
NVW_CHECKED int sync_read_work_options(const struct nvw_options *options, struct sync_shape *shape);

/* NVW_E_USAGE with a message if an option's value is not within. */
NVW_CHECKED int sync_check_range(const char *option, uint64_t value, uint64_t least, uint64_t most);
/* --backoff-max, in cycles. */
NVW_CHECKED int sync_read_backoff(const struct nvw_options *options, uint32_t *ret_cycles);

/* Orders of synchronization: as the paper has them, or relaxed by a seeded bug. */
struct sync_orders {
	enum nvw_order acquire, release, both;
};

struct sync_orders sync_orders(bool is_acquire_relaxed, bool is_release_relaxed);

/* ---- Places ---------------------------------------------------------------------------------------- */

/* What a CU's work-groups share, and what is a work-group's own: a line of device memory each. */
struct sync_cu {
	uint32_t groups; /* that run here */
	uint32_t unused[SYNC_LINE_WORDS - 1];
};
struct sync_group {
	uint32_t place; /* its CU << 16 | its number there */
	uint32_t idle;  /* what it writes to while it backs off */
	uint32_t unused[SYNC_LINE_WORDS - 2];
};

/* Device memory. */
struct sync_places {
	struct sync_cu *cus;
	struct sync_group *groups;
	unsigned cu_count;
	uint64_t group_count;
};

/* Where a work-group is. */
struct sync_place {
	unsigned cu, number; /* of the CU, of the work-group on it */
	unsigned neighbours; /* work-groups on the CU, this one included */
	uint32_t *idle;
};

/* Room for every work-group of the kernel. They wait for each other: NVW_E_USAGE if they do not all fit. */
NVW_CHECKED int sync_make_places(
	struct nvw_machine *machine, const struct sync_shape *shape, struct sync_places *ret_places);

/* The first thing that a kernel does: every work-item knows the work-group's place when all have theirs. */
struct sync_place sync_take_place(const struct sync_places *places);

/* On the host, after the kernel. */
NVW_CHECKED int sync_groups_on(
	struct nvw_machine *machine, const struct sync_places *places, unsigned cu, uint32_t *ret_groups);
NVW_CHECKED int sync_place_of(struct nvw_machine *machine, const struct sync_places *places, uint64_t group,
	struct sync_place *ret_place);

/* Launches a kernel on the places, and says in *ret_ps how long it took. */
NVW_CHECKED int sync_launch(struct nvw_machine *machine, const struct sync_shape *shape,
	const struct sync_places *places, const char *name, nvw_kernel kernel, const void *args,
	uint64_t *ret_ps);

/* Passes so many cycles, about: a work-item cannot sleep, so it stores to its own word in the L1. */
void sync_back_off(uint32_t *idle, uint32_t cycles);

#endif
