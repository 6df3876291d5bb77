/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An exploration saved to a file, to be continued: the memory that workers share with their parent, saved
 * between two states.
 *
 *	magic (8) | identity (8) | workers (8) | intervals | per worker: bytes (8), struct ct_shared | XXH64
 *	(8)
 *
 * The identity is a hash of log, plan and build: a file of another exploration is refused.
 */
#ifndef CRASHTEST_CHECKPOINT_H
#define CRASHTEST_CHECKPOINT_H

#include "worker.h"

/* Hash of the log and everything else that determines the explored states. */
NVW_CHECKED int ct_checkpoint_identity(int log_fd, const struct ct_exploration *e, const struct ct_plan *plan,
	unsigned workers, uint64_t *ret_identity);

/* Replaces the file at path atomically. */
NVW_CHECKED int ct_checkpoint_write(const char *path, uint64_t identity, const struct ct_plan *plan,
	const struct ct_worker *worker, unsigned workers);

/* Restores the workers' shared memory and the plan's intervals. Returns 1, 0 if there is no file, NVW_E_INPUT
 * if it belongs to another exploration, NVW_E_DAMAGED. */
NVW_CHECKED int ct_checkpoint_read(const char *path, uint64_t identity, const struct ct_plan *plan,
	struct ct_worker *worker, unsigned workers);

/*
 * What one of several workers has done, as a checkpoint of its own in the file "slice-NUMBER" of the folder.
 * Reading takes the intervals of the worker's range only. NVW_E_INPUT if there is no such file, or it is of
 * another exploration.
 */
NVW_CHECKED int ct_slice_write(const char *folder, unsigned number, uint64_t identity,
	const struct ct_plan *plan, const struct ct_worker *worker);
NVW_CHECKED int ct_slice_read(const char *folder, unsigned number, uint64_t identity,
	const struct ct_plan *plan, struct ct_worker *worker);

#endif
