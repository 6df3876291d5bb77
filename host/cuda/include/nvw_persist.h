/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave's persist barriers for CUDA kernels (gope18 5): the scope's stores to persistent memory before the barrier persist before
 * those after it. Persistent memory is a shared mapping of a file that is registered by cudaHostRegister().
 *
 * Under epoch persistency the work-items of the scope wait for each other and for durability: all of a block, or of the grid, have to
 * call it. Without an emulated machine (nvwave exec --protocol) the barriers do nothing.
 */
#ifndef NVW_PERSIST_H
#define NVW_PERSIST_H

#include <cuda_runtime.h>

extern "C" __device__ void nvw_cuda_persist_barrier(int scope) __attribute__((convergent));

static __forceinline__ __device__ void nvw_persist_barrier(void) /* of this work-item */
{
	nvw_cuda_persist_barrier(0);
}
static __forceinline__ __device__ void nvw_persist_barrier_block(void)
{
	nvw_cuda_persist_barrier(1);
}
static __forceinline__ __device__ void nvw_persist_barrier_grid(void)
{
	nvw_cuda_persist_barrier(2);
}

#endif
