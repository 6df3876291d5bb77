/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One emulated run of a subject, in its own process: with a persist log, with a power cut, or both.
 */
#ifndef CRASHTEST_RUN_H
#define CRASHTEST_RUN_H

#include <sys/types.h>

#include <emu.h>

#include "core/folder.h"

#include "crash.h"
#include "judge/process.h"

/* Data prepared once for all runs of a crash test. */
struct ct_bench {
	const struct ct_subject *subject;
	void *plan;
	struct nvw_folder folder; /* of the pools */
	uint8_t *initial;         /* the bytes of the new pools, one behind the other */
	uint64_t bytes;
	unsigned pool_count;
	uint64_t pool_bytes[NVW_POOLS_MAX]; /* of each */
};

/* Written by the run, read by its parent. */
struct ct_run_shared {
	struct ct_left left;
	uint64_t first_record;        /* of the measured part */
	uint64_t begin_ps, end_ps;    /* of the measured part */
	uint64_t inserted_met;        /* how often work-items met barriers that the source does not have */
	bool goes_on;                 /* it was ended by the subject's limits */
	uint64_t operations;          /* memory instructions of wavefronts, with those of set-up */
	struct emu_order_seen order;  /* of a subject with an order */
	struct emu_race_report races; /* likewise */
	struct emu_undo_report undo;  /* of the structure's epochs */
	int syncs_fd;                 /* who synchronized with whom (emu.h) is written here; 0: nowhere */
	unsigned sites;               /* accesses in the source, of which ct_run_executed() tells */
	uint64_t ack_capacity;
	volatile uint64_t ack_count; /* set after the entry is written */
	struct ct_ack {
		uint64_t first, count;
	} ack[];
};

struct ct_cut {
	uint64_t time_ps, seed; /* UINT64_MAX: never */
};

/* crashes: refuses a workload that keeps nothing in NVRAM or has no check, and options unfit for a crash
 * test. */
NVW_CHECKED int ct_bench_create(const struct ct_subject *subject, bool crashes, struct ct_bench *ret_bench);
void ct_bench_destroy(struct ct_bench *bench);

/* Writes the pool of this number of a run; path is that of the first pool. */
NVW_CHECKED int ct_write_pool(const char *path, unsigned number, const uint8_t *content, uint64_t bytes);

/* A file without a name for a run's persist log. *ret_fd: -1 if there is none. */
NVW_CHECKED int ct_log_file(int *ret_fd);

/* As many acknowledgements as a run may have; memory is used only as needed. */
enum { CT_ACK_RANGES_MAX = 1 << 26 };

/* Memory for a run's report with room for this many acknowledgements. */
NVW_CHECKED int ct_run_shared_create(uint64_t ack_capacity, struct ct_run_shared **ret_shared);
void ct_run_shared_destroy(struct ct_run_shared *shared);

/* Which accesses in the source of kernels (device/sites.h) a run that has ended executed, of
 * shared->sites. */
const uint8_t *ct_run_executed(const struct ct_run_shared *shared);

/* Adds what the run has acknowledged so far. */
NVW_CHECKED int ct_run_acks(const struct ct_run_shared *shared, struct nvw_acks *acks);

/* Path of the first pool of a slot (one a process that runs at a time); nvw_pool_open() finds the others. */
void ct_bench_pool_path(const struct ct_bench *bench, unsigned slot, char *ret_path, size_t n);

/*
 * Starts a run with a new pool in the slot. log_fd (-1: none) receives the persist log, also of a cut run.
 * The process ends with status 0, by SIGKILL (cut), or with status 1 and an error in shared.
 */
NVW_CHECKED int ct_run_start(const struct ct_bench *bench, unsigned slot, int log_fd,
	const struct ct_cut *cut, struct ct_run_shared *shared, pid_t *ret_pid);

/* Starts a run in slot 0 and waits for it. cut: NULL for none. */
NVW_CHECKED int ct_run_whole(
	const struct ct_bench *bench, int log_fd, const struct ct_cut *cut, struct ct_run_shared *shared);

#endif
