// SPDX-License-Identifier: BSD-3-Clause
// The second file of semantics.cu: separate compilation. It has names that the first has, too.
#include "parts.h"

static __device__ int hidden = 60;

static __global__ void of_this_file(int *p)
{
	__shared__ int value;

	value = 16;
	*p += value + both_of_header(0);
}

void other_file_kernel(int *p)
{
	of_this_file<<<1, 1>>>(p);
}

__device__ int of_other_file(int *p)
{
	return p[1] == 1000 ? 17 + hidden : 0;
}
