// SPDX-License-Identifier: BSD-3-Clause
// All work-items that a cooperative launch may have, each with a stack of its own at the barrier of the grid.
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>

enum { BLOCKS = 32, ITEMS = 1024 };

__global__ void meet(int *p)
{
	const int me = blockIdx.x * ITEMS + threadIdx.x;

	p[me] = me;
	cooperative_groups::this_grid().sync();
	assert(p[BLOCKS * ITEMS - 1 - me] == BLOCKS * ITEMS - 1 - me);
}

int main()
{
	int *p;
	void *arguments[] = {&p};

	cudaMallocManaged(&p, BLOCKS * ITEMS * sizeof *p);
	const int error = cudaLaunchCooperativeKernel((void *)meet, dim3(BLOCKS), dim3(ITEMS), arguments, 0, 0);
	printf("%d %s\n", error, cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}
