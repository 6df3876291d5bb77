/* SPDX-License-Identifier: BSD-3-Clause */
/* The shipped structures: nvw_workload_NAME of each, and a list of them. */
#ifndef TESTS_CRASHTEST_SHIPPED_H
#define TESTS_CRASHTEST_SHIPPED_H

#include <nvw/workload.h>

#define WORKLOAD(name) extern const struct nvw_workload nvw_workload_##name;
#include "workloads/workloads.def"
#undef WORKLOAD

#define WORKLOAD(name) &nvw_workload_##name,
static const struct nvw_workload *const shipped[] = {
#include "workloads/workloads.def"
};
#undef WORKLOAD

#endif
