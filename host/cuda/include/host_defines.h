/* SPDX-License-Identifier: BSD-3-Clause */
/* The function and variable qualifiers of CUDA, as clang spells them. */
#ifndef NVW_CUDA_HOST_DEFINES_H
#define NVW_CUDA_HOST_DEFINES_H
#define __HOST_DEFINES_H__ /* libraries ask for CUDA's own guard */

#ifdef __CUDA__
#define __host__     __attribute__((host))
#define __device__   __attribute__((device))
#define __global__   __attribute__((global, annotate("nvw_kernel"))) /* for compiler/names.c */
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))
#else /* a host compiler's file */
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#endif

/* A variable of the host that kernels know by its name (compiler/variables.c). */
#ifdef __CUDA_ARCH__
#define __managed__ __device__ __attribute__((section("nvw_managed")))
#else
#define __managed__ __attribute__((section("nvw_managed")))
#endif

#define __launch_bounds__(...) /* every kernel fits */
#define __forceinline__        __inline__ __attribute__((always_inline))
#if !defined __noinline__ && __clang_major__ < 15
#define __noinline__ __attribute__((noinline))
#endif
#define NVW_CUDA_INLINE      static __forceinline__ __device__
#define NVW_CUDA_BOTH        static __forceinline__ __host__ __device__
#define __align__(n)         __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __cudart_builtin__
#define __device_builtin__
#define __grid_constant__
#define CUDARTAPI
#define CUDART_CB

#ifdef __CUDA_ARCH__
#define NVW_CUDA_IN_DEVICE_HALF 1
#endif

#endif
