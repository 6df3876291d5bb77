/* SPDX-License-Identifier: BSD-3-Clause */
/* Source lines of a CUDA program's code, as the machine's reports know them. */
#ifndef HOST_CUDA_MACHINE_SITES_H
#define HOST_CUDA_MACHINE_SITES_H

#include <nvw/kernel.h>

/* The site of the call that returns to place. It lives as long as the process; the same place has the same
 * site. NULL: no memory. The end of the kernel has no place: NULL. */
const struct nvw_site *site_of(const void *place);

#endif
