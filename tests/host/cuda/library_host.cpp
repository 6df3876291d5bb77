// SPDX-License-Identifier: BSD-3-Clause
// A file of the host compiler that includes CUDA's headers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <curand_kernel.h>

__host__ __device__ int host_sum(const int *values, int n)
{
	int sum = 0, devices = 0;

	cudaGetDeviceCount(&devices);
	for (int i = 0; i < n * devices; i++) {
		sum += values[i];
	}
	return sum;
}
