// SPDX-License-Identifier: BSD-3-Clause
// A work-item is the first one whose source line is looked up in a file, while the one before it has much on its stack.
#include <cstdio>

#include "parts.h"

__global__ void looks_up(int *p, unsigned *wrong)
{
	volatile unsigned long frame[7500];

	for (unsigned i = 0; i < 7500; i++) {
		frame[i] = i + threadIdx.x;
	}
	if (p[threadIdx.x] == 0 && threadIdx.x == 5) {
		atomicAdd(wrong, (unsigned)of_other_file(p));
	}
	__syncthreads();
	for (unsigned i = 0; i < 7500; i++) {
		if (frame[i] != i + threadIdx.x) {
			atomicAdd(wrong, 1u);
		}
	}
}

int main()
{
	int *p;
	unsigned *wrong, count = 0;

	cudaMalloc(&p, 32 * sizeof *p);
	cudaMalloc(&wrong, sizeof *wrong);
	cudaMemset(p, 0, 32 * sizeof *p);
	cudaMemset(wrong, 0, sizeof *wrong);
	looks_up<<<1, 32>>>(p, wrong);
	cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost);
	printf("%u words of frames are wrong: %s\n", count, cudaGetErrorName(cudaGetLastError()));
	return 0;
}
