/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HIP, as nvwave-hipcc compiles it: CUDA under other names, as on HIP's platform for NVIDIA. Warps have 32
 * lanes, and ballots 32 bits.
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

/* AMD's devices take 64 cycles each, at 1 GHz. It is a function, because programs declare it, too. */
extern "C" __forceinline__ __device__ void __builtin_amdgcn_s_sleep(int n)
{
	__nanosleep(64u * (unsigned)n);
}

NVW_CUDA_INLINE long long wall_clock64(void)
{
	return (long long)globaltimer() / 10; /* 100 MHz */
}
template <class T> NVW_CUDA_INLINE T unsafeAtomicAdd(T *address, T value)
{
	return atomicAdd(address, value);
}
template <class T> NVW_CUDA_INLINE T safeAtomicAdd(T *address, T value)
{
	return atomicAdd(address, value);
}

/*
 * clang's atomics for HIP: with their order, and the widest scope whichever is asked for. Those that are
 * missing (minimum and maximum) are errors at their use.
 */
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT    2
#define __HIP_MEMORY_SCOPE_WORKGROUP    3
#define __HIP_MEMORY_SCOPE_AGENT        4
#define __HIP_MEMORY_SCOPE_SYSTEM       5

#define __hip_atomic_load(address, order, scope)            __atomic_load_n(address, order)
#define __hip_atomic_store(address, value, order, scope)    __atomic_store_n(address, value, order)
#define __hip_atomic_exchange(address, value, order, scope) __atomic_exchange_n(address, value, order)
#define __hip_atomic_compare_exchange_strong(address, expected, desired, success, failure, scope) \
	__atomic_compare_exchange_n(address, expected, desired, false, success, failure)
#define __hip_atomic_compare_exchange_weak(address, expected, desired, success, failure, scope) \
	__atomic_compare_exchange_n(address, expected, desired, true, success, failure)
#define __hip_atomic_fetch_add(address, value, order, scope) nvw_hip_fetch_add(address, value, order)
#define __hip_atomic_fetch_and(address, value, order, scope) __atomic_fetch_and(address, value, order)
#define __hip_atomic_fetch_or(address, value, order, scope)  __atomic_fetch_or(address, value, order)
#define __hip_atomic_fetch_xor(address, value, order, scope) __atomic_fetch_xor(address, value, order)
#define __builtin_amdgcn_fence(order, scope)                 __atomic_thread_fence(order)

template <class T, class V> NVW_CUDA_INLINE T nvw_hip_fetch_add(T *address, V value, int order)
{
	return __atomic_fetch_add(address, (T)value, order);
}
NVW_CUDA_INLINE float nvw_hip_fetch_add(float *address, float value, int)
{
	return atomicAdd(address, value);
}
NVW_CUDA_INLINE double nvw_hip_fetch_add(double *address, double value, int)
{
	return atomicAdd(address, value);
}

#endif
