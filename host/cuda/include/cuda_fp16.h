/* SPDX-License-Identifier: BSD-3-Clause */
/* The types, for headers that mention them: there is no arithmetic of half precision. */
#ifndef NVW_CUDA_FP16_H
#define NVW_CUDA_FP16_H

struct __half {
	unsigned short x;
};
struct __half2 {
	__half x, y;
};
#ifndef CUDA_NO_HALF
typedef __half half;
typedef __half2 half2;
#endif

#endif
