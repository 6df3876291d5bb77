/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the synchronization benchmarks (sinclair15 5.4.2): common options, and the placement of
 * work-groups.
 *
 * "Local" is the paper's local scope, one L1: local data, locks and queues belong to a CU and are shared by
 * all its work-groups. This is how the machines implement NVW_SCOPE_WORKGROUP: they synchronize in the L1 of
 * the CU. So a work-group asks at its start for its CU, and takes a number there; nothing depends on the
 * number of work-groups per CU.
 *
 * One work-item of a work-group synchronizes for all: it takes the lock, the group meets, works, meets again,
 * and the same work-item releases. The group's stores are in the CU's L1 when it has met, and a release
 * passes on what is there.
 */
#ifndef PAPERS_SYNC_PLACE_H
#define PAPERS_SYNC_PLACE_H

#include <assert.h>

#include <nvw/kernel.h>
#include <nvw/workload.h>

#include "common/bounds.h"

enum { SYNC_ACCESSES_MAX = 64, SYNC_LINE_WORDS = 16 };
enum sync_layout { SYNC_ROWS, SYNC_FLAT };
enum sync_backoff { SYNC_LINEAR, SYNC_EXPONENTIAL };

extern const char *const sync_scopes[], *const sync_layouts[], *const sync_poll_kinds[],
								       *const sync_backoffs[];

/* Rows of an option table. */
/* clang-format off */
#define SYNC_PLACE_OPTIONS(group_size) \
	{"groups-per-cu", NVW_OPTION_COUNT, "3", NULL, "work-groups for each CU"}, \
	{"group-size", NVW_OPTION_COUNT, group_size, NULL, "work-items per work-group"}, \
	{"scope", NVW_OPTION_CHOICE, "local", sync_scopes, \
		"of the synchronization within a CU; local implies gh "\
		"if the machine's protocol does not support it"}
#define SYNC_WORK_OPTIONS \
	{"iterations", NVW_OPTION_COUNT, "100", NULL, "per work-group in the kernel"}, \
	{"accesses", NVW_OPTION_COUNT, "10", NULL, "loads and stores per work-item and iteration"}
#define SYNC_POLL_OPTIONS \
	{"layout", NVW_OPTION_CHOICE, "rows", sync_layouts, \
		"of the data: rows, each computed from the preceding one, the first read-only; " \
		"flat: independent data"}, \
	{"polls", NVW_OPTION_CHOICE, "together", sync_poll_kinds, \
		"a waiting work-group meets before and after each poll, or only its first work-item polls"}, \
	{"poll-gap", NVW_OPTION_COUNT, "25", NULL, \
		"instructions between two polls: HeteroSync's loop takes 80 to 120 cycles " \
		"(the paper does not state any)"}, \
	{"backoff", NVW_OPTION_CHOICE, "linear", sync_backoffs, \
		"waits of spin-backoff: 10 steps and 5 more each time, " \
		"from 1 on after 26 failures; or doubled"}, \
	{"backoff-max", NVW_OPTION_COUNT, "1024", NULL, "longest wait of an exponential back-off, in steps"}
/* clang-format on */

/* Values of these options; iterations and accesses are 0 for a table without them. */
struct sync_shape {
	uint64_t groups_per_cu, iterations;
	unsigned accesses, group_size;
	enum nvw_scope local; /* scope of synchronization within a CU */
};

/* --scope=local requires that the work-groups of a CU share work-group scope. */
struct nvw_asked sync_asks(const struct nvw_options *options);

/* NVW_E_USAGE, and a message that names workload and option, if a value is out of bounds. */
NVW_CHECKED int sync_read_place_options(
	const char *workload, const struct nvw_options *options, struct sync_shape *ret_shape);
NVW_CHECKED int sync_read_work_options(
	const char *workload, const struct nvw_options *options, struct sync_shape *shape);

/* The plan of a run: zeroed memory, which read() fills in from the options; freed if that fails. */
NVW_CHECKED int sync_make_plan(uint64_t bytes,
	int (*read)(const struct nvw_options *options, uint64_t seed, int mutation, void *plan),
	const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan);

/* Notes what a check found: an inconsistency becomes the verdict, and other checks follow; returns any other
 * error. */
NVW_CHECKED int sync_note(int found, int *verdict);

/* The way in which work-groups wait. */
struct sync_polls {
	bool together;  /* all work-items of the group meet before and after each poll */
	bool backs_off; /* after a poll that failed; set by the workload */
	enum sync_backoff backoff;
	uint32_t gap, backoff_max; /* instructions; steps of three */
};

/* Reads the options of SYNC_POLL_OPTIONS; rows need at least two accesses, so that their order can be
 * verified. */
NVW_CHECKED int sync_read_poll_options(const char *workload, const struct nvw_options *options,
	const struct sync_shape *shape, struct sync_polls *ret_polls, enum sync_layout *ret_layout);

/* ---- Places ---------------------------------------------------------------------------------------- */

/* Data shared by a CU's work-groups, and data of a single work-group: one line of device memory each. */
struct sync_cu {
	uint32_t groups; /* work-groups on this CU */
	uint32_t unused[SYNC_LINE_WORDS - 1];
};
struct sync_group {
	uint32_t place; /* the work-group's CU << 16 | its number there */
	uint32_t unused[SYNC_LINE_WORDS - 1];
};

/* Device memory, except where host memory is stated. */
struct sync_places {
	struct sync_cu *cus;
	struct sync_group *groups;
	bool *has; /* host: per work-group, whether its poll succeeded; stands for a scratchpad */
	unsigned cu_count, group_size;
	uint64_t group_count;
	uint64_t ps; /* host: duration of the last launch */
};

/* The place of a work-group. */
struct sync_place {
	unsigned cu, number; /* number of the CU, and of the work-group on it */
	unsigned neighbours; /* work-groups on the CU, including this one */
	bool *has;
};

/* Makes room for every work-group of the kernel, replacing that of the last run. Work-groups wait for each
 * other, so NVW_E_USAGE if they do not all fit. */
NVW_CHECKED int sync_make_places(
	struct nvw_machine *machine, const struct sync_shape *shape, struct sync_places *ret_places);
void sync_free_places(struct sync_places *places);

/* The first action of a kernel; it returns in every work-item when all work-groups have their places. */
struct sync_place sync_take_place(const struct sync_places *places);

/* On the host, after the kernel. */
NVW_CHECKED int sync_groups_on(
	struct nvw_machine *machine, const struct sync_places *places, unsigned cu, uint32_t *ret_groups);
NVW_CHECKED int sync_place_of(struct nvw_machine *machine, const struct sync_places *places, uint64_t group,
	struct sync_place *ret_place);

/* Launches a kernel on the places. */
NVW_CHECKED int sync_launch(struct nvw_machine *machine, struct sync_places *places, const char *name,
	nvw_kernel kernel, const void *args);

/*
 * Called by all of a work-group: its first work-item polls until try() returns true, and then the group
 * meets. try() returns whether polling is over.
 */
void sync_wait(const struct sync_polls *polls, const struct sync_place *place, bool (*try)(void *context),
	void *context);

/* The same for a single work-item, for which no other waits. */
void sync_wait_alone(const struct sync_polls *polls, bool (*try)(void *context), void *context);

/* Reports the number of critical sections in the last launch, and its time per section; whose describes the
 * sections. */
int sync_report_sections(struct nvw_description *description, const struct sync_places *places,
	uint64_t iterations, const char *whose);

#endif
