/* SPDX-License-Identifier: BSD-3-Clause */
/* Half precision: conversions, arithmetic and comparisons. */
#ifndef NVW_CUDA_FP16_H
#define NVW_CUDA_FP16_H

#include <nvw_cuda_narrow.h>

NVW_CUDA_NARROW(__half, __half2, half, 5, 10)
#ifndef CUDA_NO_HALF
typedef __half half;
typedef __half2 half2;
#endif

#endif
