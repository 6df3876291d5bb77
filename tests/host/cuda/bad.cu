// SPDX-License-Identifier: BSD-3-Clause
// Mistakes, one a mode; each has to be told with its line, and the error that CUDA has for it.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__global__ void behind(int *p, int n) { p[threadIdx.x + n] = 1; } // line 8
__device__ int recurse(volatile int *p, int n)
{
	volatile char frame[4096];

	frame[n % 4096] = (char)*p;
	return n ? recurse(p, n - 1) + frame[n % 4096] : 0; // line 14
}
__global__ void deep(int *p) { *p = recurse(p, 10000); }
__global__ void asserts(int *p) { assert(*p == 1); }
__global__ void half_of_a_warp(int *p)
{
	if (threadIdx.x < 16) {
		__syncwarp(0x0000ffff);
		__syncthreads();
	} else {
		*p += (int)__ballot_sync(0xffffffff, 1); // line 24
	}
}
__global__ void wrong_mask(int *p) { *p = __shfl_sync(0xf, *p, 0); } // line 27
__global__ void too_much_shared(int *p)
{
	extern __shared__ int more[];

	more[threadIdx.x] = *p; // line 32
}
__global__ void large_frame(int *p) // beyond the whole stack of its neighbour
{
	volatile char frame[600000];

	frame[*p] = 1;
	frame[599999] = 2;
	*p = frame[*p];
}
__device__ int call(int n) // accesses nothing on its way
{
	return n ? call(n - 1) ^ n * 3 : 0;
}
__global__ void endless(int *p) { *p = call(100000000 + *p); }
__global__ void divide(int *p) { *p = 5 / *p; }
__global__ void null(int i) { int *const none = nullptr; none[i] = 1; } // line 48: the compiler can see that it is a null pointer

int main(int argc, char **argv)
{
	const char *const mode = argc > 1 ? argv[1] : "";
	int *p;

	cudaMalloc(&p, 100 * sizeof(int));
	cudaMemset(p, 0, 100 * sizeof(int));
	if (!strcmp(mode, "behind")) {
		behind<<<1, 32>>>(p, 100);
	} else if (!strcmp(mode, "wild")) {
		behind<<<1, 32>>>((int *)nullptr, 0);
	} else if (!strcmp(mode, "far")) {
		behind<<<1, 32>>>((int *)0x100000, 0);
	} else if (!strcmp(mode, "deep")) {
		deep<<<1, 1>>>(p);
	} else if (!strcmp(mode, "asserts")) {
		asserts<<<1, 2>>>(p);
	} else if (!strcmp(mode, "stuck")) {
		half_of_a_warp<<<1, 32>>>(p);
	} else if (!strcmp(mode, "mask")) {
		wrong_mask<<<1, 32>>>(p);
	} else if (!strcmp(mode, "shared")) {
		too_much_shared<<<1, 32, 64>>>(p);
	} else if (!strcmp(mode, "host")) {
		return *p; // line 74
	} else if (!strcmp(mode, "copy")) {
		memcpy(p, argv, (size_t)argc * 8); // line 76
	} else if (!strcmp(mode, "frame")) {
		large_frame<<<1, 32>>>(p);
	} else if (!strcmp(mode, "endless")) {
		endless<<<1, 32>>>(p);
	} else if (!strcmp(mode, "divide")) {
		divide<<<1, 32>>>(p);
	} else if (!strcmp(mode, "misaligned")) {
		behind<<<1, 32>>>((int *)((char *)p + 2), 0);
	} else if (!strcmp(mode, "null")) {
		null<<<1, 32>>>(0);
	} else if (!strcmp(mode, "foreign")) {
		abort();
	}
	printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	printf("%s\n", cudaGetErrorName(cudaMemset(p, 0, 4)));
	return 0;
}
