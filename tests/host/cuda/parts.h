// SPDX-License-Identifier: BSD-3-Clause
// What semantics.cu has in its second file, and what both have from here.
#ifndef PARTS_H
#define PARTS_H

inline __host__ __device__ int both_of_header(int x)
{
#ifdef __CUDA_ARCH__
	return x * 11;
#else
	return x + 1;
#endif
}

__device__ int of_other_file(int *p);
void other_file_kernel(int *p);

#endif
