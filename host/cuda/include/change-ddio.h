/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data direct I/O, by the names of GPM's library. With it on, a kernel's store to persistent memory of the
 * host ends in a cache; with it off, in the memory controller, where it is durable. Here nothing is switched;
 * under host.fence_system=switched (docs/machine-files.md) __threadfence_system() persists while it is off.
 */
#ifndef NVW_CHANGE_DDIO_H
#define NVW_CHANGE_DDIO_H

#ifdef __cplusplus
extern "C" {
#endif
void nvw_cuda_switch_direct_io(int on);
#ifdef __cplusplus
}
#endif

static inline void ddio_on(void)
{
	nvw_cuda_switch_direct_io(1);
}
static inline void ddio_off(void)
{
	nvw_cuda_switch_direct_io(0);
}

#endif
