/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave's persist barriers for CUDA kernels (gope18 5): the scope's stores to persistent memory before the
 * barrier persist before those after it. Persistent memory is a shared mapping of a file that is registered
 * by cudaHostRegister().
 *
 * Under epoch persistency the work-items of the scope wait for each other and for durability: all of a block,
 * or of the grid, have to call it. In a record (nvwave crash --exec) the barriers flush and fence what the
 * scope has stored. Without record and machine those of a block and of the grid only meet. That of the grid
 * takes a cooperative launch, except on the machine.
 *
 * With nvcc they are fences of the system: what they order is durable where such fences make it so (gpm22 4:
 * direct I/O off).
 */
#ifndef NVW_PERSIST_H
#define NVW_PERSIST_H

#include <cuda_runtime.h>

#ifdef NVW_CUDA_RUNTIME_H
extern "C" __device__ void nvw_cuda_persist_barrier(int scope) __attribute__((convergent));
#else
#include <cooperative_groups.h>

static inline __device__ void nvw_cuda_persist_barrier(int scope)
{
	__threadfence_system();
	if (scope == 1) {
		__syncthreads();
	} else if (scope == 2) {
		cooperative_groups::this_grid().sync();
	}
}
#endif

/* Macros, so that reports have the line of the program. */
#define nvw_persist_barrier()       nvw_cuda_persist_barrier(0) /* of this work-item */
#define nvw_persist_barrier_block() nvw_cuda_persist_barrier(1)
#define nvw_persist_barrier_grid()  nvw_cuda_persist_barrier(2)

#endif
