/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An exploration in a file, to be continued: what its workers share with their parent, between two states.
 *
 *	magic (8) | identity (8) | workers (8) | intervals | per worker: bytes (8), struct ct_shared | XXH64 (8)
 *
 * The identity stands for log, plan and build: a file of another exploration is refused.
 */
#ifndef CRASHTEST_CHECKPOINT_H
#define CRASHTEST_CHECKPOINT_H

#include "worker.h"

/* Of the log and everything else that decides what is explored. */
NVW_CHECKED int ct_checkpoint_identity(int log_fd, const struct ct_exploration *e, const struct ct_plan *plan,
	unsigned workers, uint64_t *ret_identity);

/* Replaces the file at path by this one, as a whole or not at all. */
NVW_CHECKED int ct_checkpoint_write(const char *path, uint64_t identity, const struct ct_plan *plan,
	const struct ct_worker *worker, unsigned workers);

/* Fills the workers' shared memory and the plan's intervals. 1, 0 if there is no file, NVW_E_INPUT if it is of another exploration,
 * NVW_E_DAMAGED. */
NVW_CHECKED int ct_checkpoint_read(const char *path, uint64_t identity, const struct ct_plan *plan,
	struct ct_worker *worker, unsigned workers);

#endif
