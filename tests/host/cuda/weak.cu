// SPDX-License-Identifier: BSD-3-Clause
// A function that both halves define so that the linker may keep either: a build that merges them is wrong on one side.
#include <stdio.h>

inline __host__ __device__ int side(int *p)
{
#ifdef __CUDA_ARCH__
	return *p + 1000;
#else
	return *p + 1;
#endif
}

__global__ void on_the_device(int *p) { p[1] = side(p); }

int main()
{
	int *p, one = 1, found[2];

	cudaMalloc(&p, 8);
	cudaMemset(p, 0, 8);
	on_the_device<<<1, 1>>>(p);
	cudaMemcpy(found, p, 8, cudaMemcpyDeviceToHost);
	printf("device %d host %d\n", found[1], side(&one));
	return 0;
}
