/* SPDX-License-Identifier: BSD-3-Clause */
/* The check at the end of a run, in a process of its own: it may die without taking the report along. */
#ifndef CLI_RUN_CHECK_H
#define CLI_RUN_CHECK_H

#include <check/check.h>
#include <nvw/workload.h>

#include "readers/drive.h"

/* What a run has left behind. */
struct cli_checked {
	const struct nvw_workload *workload;
	void *plan;
	struct nvw_machine *machine;
	struct nvw_pool *pool; /* NULL: the workload keeps nothing in NVRAM */
	const struct nvw_acks *acks;
	struct nvw__sightings *sightings; /* of host readers; NULL: there were none */
};

/*
 * 0, NVW_E_INCONSISTENT and why in *findings, or an error; *ret_verdict says it in words. A check that dies, or that ends
 * its process, is inconsistent as under nvwave crash, and the finding names the source line.
 */
NVW_CHECKED int cli_check(
	const struct cli_checked *checked, struct nvw_findings *findings, const char **ret_verdict);

#endif
