/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads by name. Those that persist are in the command (workloads/workloads.def). Others come in
 * libraries (nvw/workload.h), which are the *.so of these folders: those of the environment variable
 * NVWAVE_WORKLOADS, separated by ':', then the one beside the command, which has the kernels of the papers.
 * If two workloads have one name, the first counts.
 */
#ifndef CLI_REGISTRY_H
#define CLI_REGISTRY_H

#include <nvw/workload.h>

struct cli_workload {
	const struct nvw_workload *workload;
	const char *from; /* "nvwave", or the path of its library */
};

/* All workloads that have a name; the last one is NULL. Loads the libraries at the first call; they remain
 * loaded. A file that is none is noted on standard error. */
const struct cli_workload *cli_workloads(void);

/* NULL if none has this name. No library is loaded for a workload that is in the command. */
const struct nvw_workload *nvw_workload_find(const char *name);

/* Its option of this name; NULL if there is none, or no workload. */
const struct nvw_option *nvw_workload_option(const struct nvw_workload *workload, const char *name);

/*
 * A workload by name, or, if name contains a '/', a shared object that exports "nvw_workload"
 * (docs/tutorial.md). NVW_E_USAGE with the nearest name, or the reason why the object is not a workload. It
 * remains loaded.
 */
NVW_CHECKED int nvw_workload_load(const char *name, const struct nvw_workload **ret_workload);

#endif
