// SPDX-License-Identifier: BSD-3-Clause
// unrolled: a kernel of 120 accesses in a row, each of which may give way. A function that is called behind them
// knows its work-item.
#include <cstdio>

__device__ __noinline__ unsigned place()
{
	return threadIdx.x;
}

__global__ void unrolled(const int *in, int *out, int stride)
{
	int sum = 0;

#pragma unroll
	for (int i = 0; i < 120; i++) {
		sum += in[i * stride + threadIdx.x];
	}
	out[place()] = sum;
}

int main()
{
	int *in, *out, wrong = 0;

	cudaMallocManaged(&in, 120 * 32 * sizeof(int));
	cudaMallocManaged(&out, 32 * sizeof(int));
	for (int i = 0; i < 120 * 32; i++) {
		in[i] = i;
	}
	unrolled<<<1, 32>>>(in, out, 32);
	cudaDeviceSynchronize();
	for (int i = 0; i < 32; i++) {
		wrong += out[i] != 120 * i + 32 * 120 * 119 / 2;
	}
	printf("%d wrong\n", wrong);
	return 0;
}
