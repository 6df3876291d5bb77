/* SPDX-License-Identifier: BSD-3-Clause */
/* Half precision: conversions, arithmetic and comparisons. */
#ifndef NVW_CUDA_FP16_H
#define NVW_CUDA_FP16_H

#define NVW_CUDA_T                    __half
#define NVW_CUDA_T2                   __half2
#define NVW_CUDA_NAMED(before, after) before##half##after
#define NVW_CUDA_EXPONENT             5
#define NVW_CUDA_MANTISSA             10
#include <nvw_cuda_narrow.h>

NVW_CUDA_BOTH __half2 __half2half2(__half a)
{
	return __half2(a, a);
}
#ifndef CUDA_NO_HALF
typedef __half half;
typedef __half2 half2;
#endif

#endif
