/* SPDX-License-Identifier: BSD-3-Clause */
/* The types, for headers that mention them: there is no arithmetic of bfloat16. */
#ifndef NVW_CUDA_BF16_H
#define NVW_CUDA_BF16_H

struct __nv_bfloat16 {
	unsigned short x;
};
struct __nv_bfloat162 {
	__nv_bfloat16 x, y;
};

#endif
