// SPDX-License-Identifier: BSD-3-Clause
// A histogram of bytes in HIP: of each block by atomics in shared memory, then added.
#include <hip/hip_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__constant__ unsigned char fold[256]; // which bin a byte belongs to

__global__ void count(const unsigned char *bytes, int n, unsigned *bins)
{
	__shared__ unsigned own[256];

	own[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		atomicAdd(&own[fold[bytes[i]]], 1);
	}
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 20000;
	unsigned char *const host = (unsigned char *)malloc(n), map[256], *bytes;
	unsigned *bins, found[256], right[256] = {};

	for (int i = 0; i < 256; i++) {
		map[i] = i / 2;
	}
	for (int i = 0; i < n; i++) {
		host[i] = i * 31 % 253;
		right[map[host[i]]]++;
	}
	hipMalloc(&bytes, n);
	hipMalloc(&bins, sizeof found);
	hipMemset(bins, 0, sizeof found);
	hipMemcpy(bytes, host, n, hipMemcpyHostToDevice);
	hipMemcpyToSymbol(HIP_SYMBOL(fold), map, sizeof map);
	count<<<8, 256>>>(bytes, n, bins);
	hipMemcpy(found, bins, sizeof found, hipMemcpyDeviceToHost);
	printf("%s\n", memcmp(found, right, sizeof right) ? "wrong" : "right");
	free(host);
	return memcmp(found, right, sizeof right) != 0;
}
