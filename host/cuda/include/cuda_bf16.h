/* SPDX-License-Identifier: BSD-3-Clause */
/* Bfloat16, as cuda_fp16.h. */
#ifndef NVW_CUDA_BF16_H
#define NVW_CUDA_BF16_H

#define NVW_CUDA_T                    __nv_bfloat16
#define NVW_CUDA_T2                   __nv_bfloat162
#define NVW_CUDA_NAMED(before, after) before##bfloat16##after
#define NVW_CUDA_EXPONENT             8
#define NVW_CUDA_MANTISSA             7
#include <nvw_cuda_narrow.h>

NVW_CUDA_BOTH __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a)
{
	return __nv_bfloat162(a, a);
}
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif
