/* SPDX-License-Identifier: BSD-3-Clause */
/* The accesses in the source of kernels: of this program, and of the workloads that it has loaded. Not
 * thread-safe. */
#ifndef LIB_DEVICE_SITES_H
#define LIB_DEVICE_SITES_H

#include <nvw/kernel.h>

/* How many there are. A workload that is loaded adds its own behind the others. */
unsigned nvw__site_count(void);

/* Site i of nvw__site_count(); it says whether it was executed since nvw__sites_forget(). */
const struct nvw_site *nvw__site(unsigned i);

/* None has been executed. */
void nvw__sites_forget(void);

#endif
