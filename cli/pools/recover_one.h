/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery of one pool as the command does it: the generic one, the structure's own, and the check of the
 * result. */
#ifndef CLI_POOLS_RECOVER_ONE_H
#define CLI_POOLS_RECOVER_ONE_H

#include <stdbool.h>

#include "apart.h"

struct pool_recover_how {
	bool dry_run; /* on a private copy of the pool */
	bool verify;  /* recover once more: the second recovery may write nothing (NVW_E_INCONSISTENT, with a
			 finding) */
};

/* A pool_work; the context is a struct pool_recover_how. */
int pool_recover_one(void *how, const char *path, json_t **ret_report);

#endif
