// SPDX-License-Identifier: BSD-3-Clause
// __managed__ variables: one for the host and for kernels, declared in several ways, which the exit status counts.
#include <cstdio>

enum { N = 64 };

extern __managed__ int declared;
namespace inside
{
__device__ __managed__ long sum = 5;
}
__managed__ __device__ int values[N];
__managed__ int *pointer, declared = 7;
static __managed__ int own = 3;
__managed__ static int of_kernels = 4;

__device__ void add(int value)
{
	atomicAdd((unsigned long long *)&inside::sum, (unsigned long long)value);
}

__global__ void change()
{
	values[threadIdx.x] += threadIdx.x;
	add(declared);
	pointer[threadIdx.x] = declared;
	if (threadIdx.x == 0) {
		own += of_kernels++;
	}
}

static bool check(bool right, const char *what)
{
	if (!right) {
		printf("wrong: %s\n", what);
	}
	return !right;
}

int main()
{
	int wrong = check(declared == 7 && inside::sum == 5, "initial values");
	cudaPointerAttributes of;

	cudaMallocManaged(&pointer, sizeof values);
	for (int round = 1; round <= 2; round++) {
		declared = round;
		values[1] = 10;
		change<<<1, N>>>();
		wrong += check(cudaDeviceSynchronize() == cudaSuccess, "a kernel fails");
		wrong += check(values[1] == 11 && values[N - 1] == round * (N - 1), "values of kernels");
		wrong += check(pointer[N - 1] == round, "the host's value");
	}
	wrong += check(own == 3 + 4 + 5, "static variables");
	wrong += check(inside::sum == 5 + N + 2 * N, "a sum of atomics");
	wrong += check(cudaPointerGetAttributes(&of, values) == cudaSuccess && of.type == cudaMemoryTypeManaged, "the kind of memory");
	return wrong;
}
