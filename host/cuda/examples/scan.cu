// SPDX-License-Identifier: BSD-3-Clause
// Prefix sums: of each block in dynamic shared memory, then of the blocks' sums, then both added.
#include <stdio.h>
#include <stdlib.h>

__global__ void scan_blocks(const unsigned *in, unsigned *out, unsigned *sums, int n)
{
	extern __shared__ unsigned tile[];
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	tile[threadIdx.x] = i < n ? in[i] : 0;
	for (unsigned by = 1; by < blockDim.x; by *= 2) {
		__syncthreads();
		const unsigned before = threadIdx.x >= by ? tile[threadIdx.x - by] : 0;
		__syncthreads();
		tile[threadIdx.x] += before;
	}
	if (i < n) {
		out[i] = tile[threadIdx.x];
	}
	if (threadIdx.x == blockDim.x - 1) {
		sums[blockIdx.x] = tile[threadIdx.x];
	}
}

__global__ void add_sums(unsigned *out, const unsigned *sums, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n && blockIdx.x > 0) {
		out[i] += sums[blockIdx.x - 1];
	}
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 10000, blocks = (n + 127) / 128;
	unsigned *in, *out, *sums, *all, *none, right = 0;

	cudaMallocManaged(&in, n * sizeof(unsigned));
	cudaMallocManaged(&out, n * sizeof(unsigned));
	cudaMalloc(&sums, blocks * sizeof(unsigned));
	cudaMalloc(&all, blocks * sizeof(unsigned));
	cudaMalloc(&none, sizeof(unsigned));
	for (int i = 0; i < n; i++) {
		in[i] = i * 7 % 13;
	}
	if (blocks > 1024) {
		fprintf(stderr, "at most %d numbers\n", 128 * 1024);
		return 2;
	}
	scan_blocks<<<blocks, 128, 128 * sizeof(unsigned)>>>(in, out, sums, n);
	scan_blocks<<<1, blocks, blocks * sizeof(unsigned)>>>(sums, all, none, blocks);
	add_sums<<<blocks, 128>>>(out, all, n);
	cudaDeviceSynchronize();
	for (int i = 0; i < n; i++) {
		right += in[i];
		if (out[i] != right) {
			printf("wrong at %d\n", i);
			return 1;
		}
	}
	printf("right\n");
	return 0;
}
