/* SPDX-License-Identifier: BSD-3-Clause */
/* Bfloat16, as cuda_fp16.h. */
#ifndef NVW_CUDA_BF16_H
#define NVW_CUDA_BF16_H

#include <nvw_cuda_narrow.h>

NVW_CUDA_NARROW(__nv_bfloat16, __nv_bfloat162, bfloat16, 8, 7)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif
