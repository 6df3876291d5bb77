/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the host API that are others under another name here: everything is complete when it returns, and there is one device. */
#ifndef NVW_CUDA_HOST_MORE_H
#define NVW_CUDA_HOST_MORE_H

static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret, unsigned flags, int)
{
	return cudaStreamCreateWithFlags(ret, flags);
}
static inline cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
	*ret_least = *ret_greatest = 0;
	return cudaSuccess;
}
template <class T> static inline cudaError_t cudaMallocAsync(T **ret, size_t bytes, cudaStream_t)
{
	return cudaMalloc(ret, bytes);
}
static inline cudaError_t cudaFreeAsync(void *p, cudaStream_t)
{
	return cudaFree(p);
}
/* As CUDA 13 has them. */
enum cudaMemLocationType { cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice, cudaMemLocationTypeHost };
struct cudaMemLocation {
	enum cudaMemLocationType type;
	int id;
};
static inline cudaError_t cudaMemPrefetchAsync(
	const void *p, size_t bytes, struct cudaMemLocation where, unsigned, cudaStream_t stream = 0)
{
	return cudaMemPrefetchAsync(
		p, bytes, where.type == cudaMemLocationTypeDevice ? where.id : cudaCpuDeviceId, stream);
}
static inline cudaError_t cudaMemAdvise(
	const void *p, size_t bytes, enum cudaMemoryAdvise advice, struct cudaMemLocation where)
{
	return cudaMemAdvise(
		p, bytes, advice, where.type == cudaMemLocationTypeDevice ? where.id : cudaCpuDeviceId);
}
/* Pools: what is allocated from one is allocated like everything else, and freed at once. */
typedef struct nvw_cuda_pool *cudaMemPool_t;
enum cudaMemPoolAttr {
	cudaMemPoolReuseFollowEventDependencies = 1,
	cudaMemPoolReuseAllowOpportunistic,
	cudaMemPoolReuseAllowInternalDependencies,
	cudaMemPoolAttrReleaseThreshold
};
static inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret, int)
{
	*ret = nullptr;
	return cudaSuccess;
}
static inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *)
{
	return cudaSuccess;
}
static inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t)
{
	return cudaSuccess;
}
template <class T>
static inline cudaError_t cudaMallocFromPoolAsync(T **ret, size_t bytes, cudaMemPool_t, cudaStream_t)
{
	return cudaMalloc(ret, bytes);
}
static inline cudaError_t cudaMemset2D(void *to, size_t pitch, int byte, size_t width, size_t height)
{
	cudaError_t error = cudaSuccess;

	for (size_t row = 0; row < height && error == cudaSuccess; row++) {
		error = cudaMemset((char *)to + row * pitch, byte, width);
	}
	return error;
}
static inline cudaError_t cudaMemset2DAsync(
	void *to, size_t pitch, int byte, size_t width, size_t height, cudaStream_t = 0)
{
	return cudaMemset2D(to, pitch, byte, width, height);
}
static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
	size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t = 0)
{
	return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
template <class T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind, cudaStream_t = 0)
{
	return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(
	void *to, const T &symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind, cudaStream_t = 0)
{
	return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
static inline cudaError_t cudaDeviceCanAccessPeer(int *ret, int, int)
{
	*ret = 0;
	return cudaSuccess;
}
static inline cudaError_t cudaGetDeviceFlags(unsigned *ret)
{
	*ret = cudaDeviceScheduleAuto;
	return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetPCIBusId(char *ret, int n, int)
{
	snprintf(ret, (size_t)n, "0000:00:00.0");
	return cudaSuccess;
}
static inline cudaError_t cudaChooseDevice(int *ret, const struct cudaDeviceProp *)
{
	*ret = 0;
	return cudaSuccess;
}

#endif
