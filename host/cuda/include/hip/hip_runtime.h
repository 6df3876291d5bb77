/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HIP, as nvwave-hipcc compiles it: CUDA under other names, as on HIP's platform for NVIDIA. Warps have 32 lanes, and ballots 32 bits.
 */
#ifndef NVW_HIP_RUNTIME_H
#define NVW_HIP_RUNTIME_H

#include <hip/hip_runtime_api.h>

#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x  (blockIdx.x)
#define hipBlockIdx_y  (blockIdx.y)
#define hipBlockIdx_z  (blockIdx.z)
#define hipBlockDim_x  (blockDim.x)
#define hipBlockDim_y  (blockDim.y)
#define hipBlockDim_z  (blockDim.z)
#define hipGridDim_x   (gridDim.x)
#define hipGridDim_y   (gridDim.y)
#define hipGridDim_z   (gridDim.z)

#define HIP_KERNEL_NAME(...)               __VA_ARGS__
#define HIP_SYMBOL(variable)               variable
#define HIP_DYNAMIC_SHARED(type, variable) extern __shared__ type variable[];
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...)          \
	do {                                                                  \
		kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__); \
	} while (0)

static __forceinline__ __device__ long long wall_clock64(void)
{
	return (long long)globaltimer() / 10; /* 100 MHz */
}
template <class T> static __forceinline__ __device__ T unsafeAtomicAdd(T *address, T value)
{
	return atomicAdd(address, value);
}
template <class T> static __forceinline__ __device__ T safeAtomicAdd(T *address, T value)
{
	return atomicAdd(address, value);
}

#endif
