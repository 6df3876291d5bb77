/* SPDX-License-Identifier: BSD-3-Clause */
/* The list by which the command finds the kernels of the papers (nvw/workload.h). */
#include <nvw/workload.h>

#define WORKLOAD(name) extern const struct nvw_workload nvw_workload_##name;
#include "kernels.def"
#undef WORKLOAD

const struct nvw_workload *const nvw_workloads[] = {
#define WORKLOAD(name) &nvw_workload_##name,
#include "kernels.def"
#undef WORKLOAD
	NULL,
};
