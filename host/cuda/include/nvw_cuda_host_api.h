/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host API, as far as it exists here; docs/cuda.md has the table. Launches and copies are complete when
 * they return, whatever their stream: streams order nothing that is not ordered already. Errors of a kernel
 * are sticky, as with CUDA: every later call returns them.
 */
#ifndef NVW_CUDA_HOST_API_H
#define NVW_CUDA_HOST_API_H

#include <driver_types.h>
#include <vector_types.h>

/*
 * In the host half nobody executes device functions, and nvcc does not look into them: a library's may call
 * these where its device code is left out (#ifdef __CUDA_ARCH__).
 */
#if defined __CUDA__ && !defined __CUDA_ARCH__
#pragma clang force_cuda_host_device begin
#endif

/* What C++ programs pass with its type, and the runtime, which is in C, gets as a pointer. */
struct nvw_cuda_result {
	void **p;

	nvw_cuda_result(void **p) : p(p)
	{
	}
	template <class T> nvw_cuda_result(T **p) : p((void **)(void *)p)
	{
	}
};
struct nvw_cuda_kernel {
	const void *p;

	nvw_cuda_kernel(const void *p) : p(p)
	{
	}
	template <class K> nvw_cuda_kernel(K *kernel) : p((const void *)kernel)
	{
	}
};
struct nvw_cuda_symbol {
	const void *p;

	nvw_cuda_symbol(const void *p) : p(p)
	{
	}
	template <class T> nvw_cuda_symbol(const T &variable) : p((const void *)&variable)
	{
	}
};

extern "C" {
/* ---- Memory: device memory cannot be read or written by host code, other than by these copies. */
cudaError_t cudaMalloc(nvw_cuda_result ret, size_t bytes);
cudaError_t cudaMallocPitch(nvw_cuda_result ret, size_t *ret_pitch, size_t width, size_t height);
cudaError_t cudaMallocManaged(nvw_cuda_result ret, size_t bytes, unsigned flags = cudaMemAttachGlobal);
cudaError_t cudaMallocHost(nvw_cuda_result ret, size_t bytes, unsigned flags = 0);
cudaError_t cudaHostAlloc(nvw_cuda_result ret, size_t bytes, unsigned flags);
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaHostGetDevicePointer(nvw_cuda_result ret, void *host, unsigned flags);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(
	void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
	size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemset(void *to, int byte, size_t bytes);
cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream = 0);
cudaError_t cudaMemcpyToSymbol(nvw_cuda_symbol symbol, const void *from, size_t bytes, size_t offset = 0,
	enum cudaMemcpyKind kind = cudaMemcpyHostToDevice);
cudaError_t cudaMemcpyFromSymbol(void *to, nvw_cuda_symbol symbol, size_t bytes, size_t offset = 0,
	enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost);
cudaError_t cudaGetSymbolAddress(nvw_cuda_result ret, nvw_cuda_symbol symbol);
cudaError_t cudaGetSymbolSize(size_t *ret, nvw_cuda_symbol symbol);
cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret, const void *p);

/* ---- Launches */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
unsigned __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t cudaLaunchKernel(
	const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);
cudaError_t cudaLaunchCooperativeKernel(nvw_cuda_kernel kernel, dim3 grid, dim3 block, void **args,
	size_t shared = 0, cudaStream_t stream = 0);
cudaError_t cudaFuncSetCacheConfig(nvw_cuda_kernel kernel, enum cudaFuncCache config);
cudaError_t cudaFuncSetAttribute(nvw_cuda_kernel kernel, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *ret, nvw_cuda_kernel kernel);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
	int *ret, nvw_cuda_kernel kernel, int block_size, size_t shared);

/* ---- Devices, streams, events, errors */
cudaError_t cudaGetDeviceCount(int *ret);
cudaError_t cudaGetDevice(int *ret);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int device);
cudaError_t cudaDeviceGetAttribute(int *ret, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t *ret, enum cudaLimit limit);
cudaError_t cudaRuntimeGetVersion(int *ret);
cudaError_t cudaDriverGetVersion(int *ret);
cudaError_t cudaStreamCreate(cudaStream_t *ret);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
/* In the calling thread, before they return. */
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void *data, unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void *data);
cudaError_t cudaEventCreate(cudaEvent_t *ret);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
}

/* The compiler calls the one above of each launch. */
template <class K>
static inline cudaError_t cudaLaunchKernel(
	K *kernel, dim3 grid, dim3 block, void **args, size_t shared = 0, cudaStream_t stream = 0)
{
	return cudaLaunchKernel((const void *)kernel, grid, block, args, shared, stream);
}
template <class K>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(
	int *ret_grid, int *ret_block, K *, size_t = 0, int limit = 0)
{
	*ret_block = limit && limit < 256 ? limit : 256;
	*ret_grid = 16;
	return cudaSuccess;
}

#include <nvw_cuda_host_more.h>

#if defined __CUDA__ && !defined __CUDA_ARCH__
#pragma clang force_cuda_host_device end
#endif

#endif
