/* SPDX-License-Identifier: BSD-3-Clause */
/* The shipped workloads by name. */
#ifndef CLI_REGISTRY_H
#define CLI_REGISTRY_H

#include <nvw/workload.h>

/* All shipped workloads, in the order of workloads/workloads.def; ends with NULL. */
extern const struct nvw_workload *const nvw_workloads[];

/* NULL if none has this name. */
const struct nvw_workload *nvw_workload_find(const char *name);

/*
 * A shipped workload by name, or, if name contains a '/', a shared object that exports "nvw_workload"
 * (docs/tutorial.md). NVW_E_USAGE with the nearest name, or the reason why the object is not a workload. It
 * remains loaded.
 */
NVW_CHECKED int nvw_workload_load(const char *name, const struct nvw_workload **ret_workload);

#endif
