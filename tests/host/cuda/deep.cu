// SPDX-License-Identifier: BSD-3-Clause
// How deep stacks become between two accesses: deep MODE BYTES. Whoever has room for it gets the sum of its frames, everybody else is told.
#include <cstdio>
#include <cstdlib>
#include <cstring>

__device__ __noinline__ long descend(long n) // line 7
{
	long frame[32];

	for (int i = 0; i < 32; i++) {
		frame[i] = (n ^ i) | 1;
	}
	return n > 0 ? descend(n - 1) + frame[n % 32] : frame[0]; // line 14
}
__device__ __noinline__ long variable(long bytes)
{
	volatile char *const array = (volatile char *)__builtin_alloca(bytes); // line 18

	array[0] = 1;
	array[bytes - 1] = 2;
	return array[0] + array[bytes - 1];
}
__device__ __noinline__ long ignores(long n, ...) // the compiler cannot have it ask for room
{
	return n;
}

__global__ void recursion(long *sums, long frames) { sums[threadIdx.x] = ignores(descend(frames), frames); }
__global__ void allocation(long *sums, long bytes) { sums[threadIdx.x] = variable(bytes); } // line 30
__global__ void frame(long *sums, long n)
{
	volatile char larger_than_all_stacks[3000000];

	larger_than_all_stacks[n] = 1;
	sums[threadIdx.x] = larger_than_all_stacks[n] - 1; // line 36
}

int main(int argc, char **argv)
{
	const long n = argc > 2 ? atol(argv[2]) : 0;
	const char *const mode = argc > 1 ? argv[1] : "";
	long *sums;

	cudaMallocManaged(&sums, 64 * sizeof *sums);
	if (!strcmp(mode, "recursion")) {
		recursion<<<1, 64>>>(sums, n);
	} else if (!strcmp(mode, "allocation")) {
		allocation<<<1, 64>>>(sums, n);
	} else {
		frame<<<1, 64>>>(sums, n);
	}
	printf("%s", cudaGetErrorName(cudaDeviceSynchronize()));
	printf(" %d\n", sums[0] && sums[0] == sums[63]);
}
