/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA's runtime API, as nvwave-nvcc includes it before every source. Device code reaches the runtime
 * (host/cuda/runtime) by the functions nvw_cuda_*; its loads, stores and atomics on plain types are announced
 * by the compiler.
 */
#ifndef NVW_CUDA_RUNTIME_H
#define NVW_CUDA_RUNTIME_H
#define __CUDA_RUNTIME_H__ /* programs ask for CUDA's own guards */

#ifdef NVW_CUDA_LEAN /* nvwave-nvcc tries without them first */
#include <bits/c++config.h>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#endif

#ifdef __CUDA_ARCH__ /* clang takes these of the host's functions for the device's there */
#define _mm_clflush nvw_host_mm_clflush
#define _mm_sfence  nvw_host_mm_sfence
#define _mm_lfence  nvw_host_mm_lfence
#define _mm_mfence  nvw_host_mm_mfence
#define _mm_pause   nvw_host_mm_pause
#define _mm_getcsr  nvw_host_mm_getcsr
#define _mm_setcsr  nvw_host_mm_setcsr
#endif

#ifdef __CUDA__
#include <nvw_cuda_libm.h>
#endif

#include <assert.h> /* programs count on what CUDA's own includes */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#define CUDART_VERSION 11080
#define CUDA_VERSION   11080

#include <driver_types.h>
#include <host_defines.h>
#include <vector_types.h>

#include <nvw_cuda_host_api.h>

#ifdef __CUDA__ /* what follows is for kernels: a .cpp file has the host API only */
#include <nvw_cuda_atomics.h>
#include <nvw_cuda_math.h>
#include <nvw_cuda_refused.h>
#include <nvw_cuda_warp.h>

/* ---- Who am I: constant for a work-item, so that the compiler may ask once */
extern "C" {
__device__ uint3 nvw_cuda_thread_idx(void) __attribute__((const, nothrow));
__device__ uint3 nvw_cuda_block_idx(void) __attribute__((const, nothrow));
__device__ uint3 nvw_cuda_block_dim(void) __attribute__((const, nothrow));
__device__ uint3 nvw_cuda_grid_dim(void) __attribute__((const, nothrow));
}
/* Objects and no macros, since host code has variables of these names: dim3 gridDim(x, y). */
#define NVW_CUDA_PART(function, part)                                         \
	__declspec(property(get = get_##part)) unsigned part;                 \
	__device__ __attribute__((always_inline)) unsigned get_##part() const \
	{                                                                     \
		return function().part;                                       \
	}
#define NVW_CUDA_EXTENT(name, function)           \
	struct nvw_cuda_##name {                  \
		NVW_CUDA_PART(function, x)        \
		NVW_CUDA_PART(function, y)        \
		NVW_CUDA_PART(function, z)        \
		__device__ operator uint3() const \
		{                                 \
			return function();        \
		}                                 \
		__device__ operator dim3() const  \
		{                                 \
			return function();        \
		}                                 \
	};                                        \
	static constexpr nvw_cuda_##name name{};
NVW_CUDA_EXTENT(threadIdx, nvw_cuda_thread_idx)
NVW_CUDA_EXTENT(blockIdx, nvw_cuda_block_idx)
NVW_CUDA_EXTENT(blockDim, nvw_cuda_block_dim)
NVW_CUDA_EXTENT(gridDim, nvw_cuda_grid_dim)
#undef NVW_CUDA_EXTENT
#undef NVW_CUDA_PART
static const int warpSize = 32;

/* ---- Barriers of the block, fences */
#define __syncthreads \
	nvw_cuda_sync_threads /* clang has a builtin of that name, for its own GPU targets alone */
extern "C" {
__device__ void nvw_cuda_sync_threads(void) __attribute__((convergent));
/* kind: 0 barrier, 1 count, 2 and, 3 or of the predicates of the block's work-items */
__device__ int nvw_cuda_barrier(int kind, int predicate) __attribute__((convergent));
/* scope: 1 block, 2 device, 3 system */
__device__ void nvw_cuda_fence(int scope);
}
NVW_CUDA_INLINE int __syncthreads_count(int predicate)
{
	return nvw_cuda_barrier(1, predicate != 0);
}
NVW_CUDA_INLINE int __syncthreads_and(int predicate)
{
	return nvw_cuda_barrier(2, predicate != 0);
}
NVW_CUDA_INLINE int __syncthreads_or(int predicate)
{
	return nvw_cuda_barrier(3, predicate != 0);
}
NVW_CUDA_INLINE void __threadfence_block(void)
{
	nvw_cuda_fence(1);
}
NVW_CUDA_INLINE void __threadfence(void)
{
	nvw_cuda_fence(2);
}
NVW_CUDA_INLINE void __threadfence_system(void)
{
	nvw_cuda_fence(3);
}
__device__ long long clock64(void) __asm__("nvw_cuda_clock");
__device__ clock_t clock(void) __asm__("nvw_cuda_clock");
__device__ unsigned long long globaltimer(void) __asm__("nvw_cuda_nanoseconds");
__device__ void __nanosleep(unsigned ns) __asm__("nvw_cuda_sleep");
__device__ void __trap(void) __asm__("nvw_cuda_trap") __attribute__((noreturn));
__device__ void __brkpt(void) __asm__("nvw_cuda_trap") __attribute__((noreturn));

/* ---- Address spaces: addresses are the same in all of them. Those of shared variables fit into 32 bits. */
NVW_CUDA_INLINE size_t __cvta_generic_to_shared(const void *p)
{
	return (size_t)p;
}
NVW_CUDA_INLINE size_t __cvta_generic_to_global(const void *p)
{
	return (size_t)p;
}
NVW_CUDA_INLINE void *__cvta_shared_to_generic(size_t p)
{
	return (void *)p;
}
NVW_CUDA_INLINE void *__cvta_global_to_generic(size_t p)
{
	return (void *)p;
}
__device__ unsigned __isShared(const void *p) __asm__("nvw_cuda_is_shared");

/* ---- Loads and stores with cache hints. Some go past the L1s, as volatile accesses do, by words: a
 * structure has no volatile copy. */
template <size_t Bytes> struct nvw_cuda_word {
	typedef unsigned long long __attribute__((may_alias)) type;
};
template <> struct nvw_cuda_word<4> {
	typedef unsigned __attribute__((may_alias)) type;
};
template <> struct nvw_cuda_word<2> {
	typedef unsigned short __attribute__((may_alias)) type;
};
template <> struct nvw_cuda_word<1> {
	typedef unsigned char type;
};
template <class T> NVW_CUDA_INLINE void nvw_cuda_past_l1(T *to, const T *from)
{
	typedef typename nvw_cuda_word<alignof(T)>::type word;

	for (unsigned i = 0; i < sizeof(T) / sizeof(word); i++) {
		((volatile word *)to)[i] = ((const volatile word *)from)[i];
	}
}
#define NVW_CUDA_LOAD(name, copy)                             \
	template <class T> NVW_CUDA_INLINE T name(const T *p) \
	{                                                     \
		T value;                                      \
		copy;                                         \
		return value;                                 \
	}
#define NVW_CUDA_STORE(name, copy)                                  \
	template <class T> NVW_CUDA_INLINE void name(T *p, T value) \
	{                                                           \
		copy;                                               \
	}
NVW_CUDA_LOAD(__ldg, value = *p)
NVW_CUDA_LOAD(__ldca, value = *p)
NVW_CUDA_LOAD(__ldcs, value = *p)
NVW_CUDA_LOAD(__ldlu, value = *p)
NVW_CUDA_LOAD(__ldcg, nvw_cuda_past_l1(&value, p))
NVW_CUDA_LOAD(__ldcv, nvw_cuda_past_l1(&value, p))
NVW_CUDA_STORE(__stwb, *p = value)
NVW_CUDA_STORE(__stcs, *p = value)
NVW_CUDA_STORE(__stcg, nvw_cuda_past_l1(p, &value))
NVW_CUDA_STORE(__stwt, nvw_cuda_past_l1(p, &value))

/* ---- The C library inside kernels */
extern "C" {
__device__ int printf(const char *format, ...);
__device__ void *malloc(size_t bytes) __asm__("nvw_cuda_malloc");
__device__ void free(void *p) __asm__("nvw_cuda_free");
__device__ void *memcpy(void *to, const void *from, size_t n) __asm__("nvw_cuda_memcpy");
__device__ void *memmove(void *to, const void *from, size_t n) __asm__("nvw_cuda_memmove");
__device__ void *memset(void *to, int byte, size_t n) __asm__("nvw_cuda_memset");
__device__ void __assert_fail(const char *expression, const char *file, unsigned line,
	const char *function) noexcept __asm__("nvw_cuda_assert_failed") __attribute__((noreturn));
__device__ void abort(void) noexcept __asm__("nvw_cuda_trap") __attribute__((noreturn));
__device__ void __cxa_pure_virtual(void) __asm__("nvw_cuda_trap");
}
/* What cub's and thrust's launches within kernels call: nothing defines it, as there is no dynamic
 * parallelism. */
extern "C" {
__device__ void *cudaGetParameterBuffer(size_t alignment, size_t bytes);
__device__ cudaError_t cudaLaunchDevice(
	void *kernel, void *arguments, dim3 grid, dim3 block, unsigned shared, cudaStream_t stream);
}
static inline __host__ __device__ cudaError_t __cudaDeviceSynchronizeDeprecationAvoidance(void)
{
	return cudaErrorNotSupported; /* in kernels only */
}
#include <new> /* clang's, with the device's operators on malloc() and free() */

#endif /* __CUDA__ */

#endif
