/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between intrinsics and the runtime: operations in a rounding mode, one of <fenv.h>'s numbers for this
 * processor.
 */
#ifndef NVW_CUDA_ROUNDING_H
#define NVW_CUDA_ROUNDING_H

#include "host_defines.h"

enum {
	NVW_CUDA_ROUNDED_ADD,
	NVW_CUDA_ROUNDED_SUB,
	NVW_CUDA_ROUNDED_MUL,
	NVW_CUDA_ROUNDED_DIV,
	NVW_CUDA_ROUNDED_SQRT,
	NVW_CUDA_ROUNDED_FMA
};
enum { NVW_CUDA_RN = 0, NVW_CUDA_RD = 0x400, NVW_CUDA_RU = 0x800, NVW_CUDA_RZ = 0xc00 };

#ifdef __cplusplus
extern "C" {
#endif
__device__ double nvw_cuda_rounded(unsigned operation, int mode, double a, double b, double c);
__device__ float nvw_cuda_roundedf(unsigned operation, int mode, float a, float b, float c);
__device__ float nvw_cuda_rounded_narrow(int mode, double a);
__device__ float nvw_cuda_rounded_llf(int mode, long long a);
__device__ double nvw_cuda_rounded_ll(int mode, long long a);
__device__ float nvw_cuda_rounded_ullf(int mode, unsigned long long a);
__device__ double nvw_cuda_rounded_ull(int mode, unsigned long long a);
#ifdef __cplusplus
}
#endif

#endif
