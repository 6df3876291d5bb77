// SPDX-License-Identifier: BSD-3-Clause
// A sum: by a tree in shared memory per block, then by shuffles, then by an atomic.
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                   \
	do {                                                                          \
		const cudaError_t error = call;                                       \
		if (error != cudaSuccess) {                                           \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
			exit(2);                                                      \
		}                                                                     \
	} while (0)

template <int Threads> __global__ void sum(const int *in, int n, unsigned long long *out)
{
	__shared__ int part[Threads];
	int own = 0;

	for (int i = blockIdx.x * Threads + threadIdx.x; i < n; i += gridDim.x * Threads) {
		own += in[i];
	}
	part[threadIdx.x] = own;
	__syncthreads();
	for (int half = Threads / 2; half >= 32; half /= 2) {
		if (threadIdx.x < half) {
			part[threadIdx.x] += part[threadIdx.x + half];
		}
		__syncthreads();
	}
	if (threadIdx.x < 32) {
		int rest = part[threadIdx.x];

		for (int by = 16; by; by /= 2) {
			rest += __shfl_down_sync(0xffffffff, rest, by);
		}
		if (threadIdx.x == 0) {
			atomicAdd(out, (unsigned long long)rest);
		}
	}
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 100000;
	int *const host = (int *)malloc(n * sizeof(int)), *in;
	unsigned long long *out, found, right = 0;

	for (int i = 0; i < n; i++) {
		host[i] = i % 17;
		right += i % 17;
	}
	CHECK(cudaMalloc(&in, n * sizeof(int)));
	CHECK(cudaMalloc(&out, sizeof *out));
	CHECK(cudaMemcpy(in, host, n * sizeof(int), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(out, 0, sizeof *out));
	sum<128><<<16, 128>>>(in, n, out);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(&found, out, sizeof found, cudaMemcpyDeviceToHost));
	printf("%s\n", found == right ? "right" : "wrong");
	free(host);
	return found != right;
}
