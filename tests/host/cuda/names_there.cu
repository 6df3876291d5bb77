// SPDX-License-Identifier: BSD-3-Clause
// A variable, a kernel and a function of the same names as in names.cu: this file's are its own. What is extern is names.cu's.
#include "names.h"

__device__ int counter = 100;
__device__ int plus(int a) { return a + 10; }
static __global__ void count(int *out) { *out = plus(counter++); }
extern __device__ int for_the_other;
extern "C" __device__ int of_c(int a);
__global__ void use(int *out) { *out = of_c(2) + for_the_other; }

static int run(void (*kernel)(int *))
{
	int *p, out = 0;

	cudaMalloc(&p, 4);
	kernel<<<1, 1>>>(p);
	cudaMemcpy(&out, p, 4, cudaMemcpyDeviceToHost);
	return out;
}

int count_there() { return run(count); }
int use_of_other_file() { return run(use); }
void copy_there(int *copy) { cudaMemcpyFromSymbol(copy, counter, sizeof counter); }
