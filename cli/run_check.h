/* SPDX-License-Identifier: BSD-3-Clause */
/* The check at the end of a run, in its own process: if it dies, the report is still printed. */
#ifndef CLI_RUN_CHECK_H
#define CLI_RUN_CHECK_H

#include <check/check.h>
#include <nvw/workload.h>

#include "readers/drive.h"

/* The results of a run. */
struct cli_checked {
	const struct nvw_workload *workload;
	void *plan;
	struct nvw_machine *machine;
	struct nvw_pool *pool; /* NULL: the workload keeps nothing in NVRAM */
	const struct nvw_acks *acks;
	struct nvw__sightings *sightings; /* from host readers; NULL: none */
};

/*
 * 0, NVW_E_INCONSISTENT with the reasons in *findings, or an error; *ret_verdict is the result in words. A
 * check that dies, or that ends its process, is inconsistent as under nvwave crash, and the finding names the
 * source line.
 */
NVW_CHECKED int cli_check(
	const struct cli_checked *checked, struct nvw_findings *findings, const char **ret_verdict);

#endif
