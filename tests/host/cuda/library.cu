// SPDX-License-Identifier: BSD-3-Clause
// What published programs take for granted of nvcc: a library's functions for both sides that call the host API where no device code
// is, constants of the C library and of CUDA without their headers, guards of CUDA's own headers.
#include <cuda.h>
#include <curand.h>
#include <math_constants.h>
#include <stdio.h>

#ifndef __DRIVER_TYPES_H__
#error "helper_cuda.h asks for this"
#endif
#ifndef __CUDA_RUNTIME_H__
#error "helper_cuda.h asks for this"
#endif

static __device__ int set_word(int *to, int value)
{
#ifdef __CUDA_ARCH__
	*to = value;
	return 0;
#else
	return cudaMemcpy(to, &value, sizeof value, cudaMemcpyHostToDevice);
#endif
}

__global__ void set(int *to)
{
	set_word(to, INT_MAX);
}

int host_sum(const int *values, int n); // library_host.cpp

int main()
{
	int *p, mode = -1;

	cudaMallocManaged(&p, 4);
	set<<<1, 1>>>(p);
	cudaDeviceSynchronize();
	cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0);
	printf("%d %d %d\n", host_sum(p, 1) == INT_MAX, mode == cudaComputeModeDefault, CUDART_PI_F > 3.14f);
}
