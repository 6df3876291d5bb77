/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the host API that are others under another name here: everything is complete when it
 * returns, and there is one device. */
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
static inline cudaError_t cudaMallocAsync(nvw_cuda_result ret, size_t bytes, cudaStream_t)
{
	return cudaMalloc(ret, bytes);
}
static inline cudaError_t cudaFreeAsync(void *p, cudaStream_t)
{
	return cudaFree(p);
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
#define X(name, ...)                                \
	static inline cudaError_t name(__VA_ARGS__) \
	{                                           \
		return cudaSuccess;                 \
	}
/* Hints, also as CUDA 13 has them, and settings of what is there without them. */
X(cudaSetDeviceFlags, unsigned)
X(cudaDeviceSetCacheConfig, enum cudaFuncCache)
X(cudaDeviceSetSharedMemConfig, enum cudaSharedMemConfig)
X(cudaMemPrefetchAsync, const void *, size_t, int, cudaStream_t = 0)
X(cudaMemAdvise, const void *, size_t, enum cudaMemoryAdvise, int)
X(cudaMemPoolSetAttribute, cudaMemPool_t, cudaMemPoolAttr, void *)
X(cudaMemPoolSetAccess, cudaMemPool_t, const struct cudaMemAccessDesc *, size_t)
X(cudaMemPoolTrimTo, cudaMemPool_t, size_t)
X(cudaMemPrefetchAsync, const void *, size_t, struct cudaMemLocation, unsigned, cudaStream_t = 0)
X(cudaMemAdvise, const void *, size_t, enum cudaMemoryAdvise, struct cudaMemLocation)
X(cudaStreamAttachMemAsync, cudaStream_t, void *, size_t = 0, unsigned = cudaMemAttachHost)
X(cudaStreamSetAttribute, cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue *)
X(cudaCtxResetPersistingL2Cache)
#undef X
/* What would be waited for is complete: they say whether a kernel has failed. */
#define X(name, ...)                                \
	static inline cudaError_t name(__VA_ARGS__) \
	{                                           \
		return cudaDeviceSynchronize();     \
	}
X(cudaThreadSynchronize)
X(cudaStreamSynchronize, cudaStream_t)
X(cudaStreamQuery, cudaStream_t)
X(cudaStreamWaitEvent, cudaStream_t, cudaEvent_t, unsigned = 0)
X(cudaEventSynchronize, cudaEvent_t)
X(cudaEventQuery, cudaEvent_t)
#undef X
static inline cudaError_t cudaMallocFromPoolAsync(
	nvw_cuda_result ret, size_t bytes, cudaMemPool_t, cudaStream_t)
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
static inline cudaError_t cudaMemcpyToSymbolAsync(nvw_cuda_symbol symbol, const void *from, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind, cudaStream_t = 0)
{
	return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
static inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, nvw_cuda_symbol symbol, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind, cudaStream_t = 0)
{
	return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

/* ---- Three dimensions, of which a copy has some in both */
static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
	return {width, height, depth};
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
	return {x, y, z};
}
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t width, size_t height)
{
	return {p, pitch, width, height};
}
static inline cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ret, struct cudaExtent extent)
{
	*ret = {nullptr, 0, extent.width, extent.height};
	return cudaMallocPitch(&ret->ptr, &ret->pitch, extent.width, extent.height * extent.depth);
}
static inline char *nvw_cuda_slice(struct cudaPitchedPtr p, struct cudaPos at, size_t z)
{
	return (char *)p.ptr + ((at.z + z) * p.ysize + at.y) * p.pitch + at.x;
}
static inline cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	cudaError_t error = p->srcArray || p->dstArray ? cudaErrorNotSupported : cudaSuccess;

	for (size_t z = 0; z < p->extent.depth && error == cudaSuccess; z++) {
		error = cudaMemcpy2D(nvw_cuda_slice(p->dstPtr, p->dstPos, z), p->dstPtr.pitch,
			nvw_cuda_slice(p->srcPtr, p->srcPos, z), p->srcPtr.pitch, p->extent.width,
			p->extent.height, p->kind);
	}
	return error;
}
static inline cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t = 0)
{
	return cudaMemcpy3D(p);
}
static inline cudaError_t cudaMemset3D(struct cudaPitchedPtr p, int byte, struct cudaExtent extent)
{
	cudaError_t error = cudaSuccess;

	for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++) {
		error = cudaMemset2D(
			nvw_cuda_slice(p, {0, 0, 0}, z), p.pitch, byte, extent.width, extent.height);
	}
	return error;
}
static inline cudaError_t cudaMemset3DAsync(
	struct cudaPitchedPtr p, int byte, struct cudaExtent extent, cudaStream_t = 0)
{
	return cudaMemset3D(p, byte, extent);
}

/* ---- Several devices: there is one, which is no peer of itself */
static inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned)
{
	return cudaSetDevice(-1); /* fails */
}
static inline cudaError_t cudaDeviceDisablePeerAccess(int)
{
	return cudaSetDevice(-1);
}
static inline cudaError_t cudaDeviceGetP2PAttribute(int *, enum cudaDeviceP2PAttr, int, int)
{
	return cudaSetDevice(-1);
}
static inline cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t n)
{
	const cudaError_t error = cudaSetDevice(to_device | from_device);

	return error == cudaSuccess ? cudaMemcpy(to, from, n, cudaMemcpyDefault) : error;
}
static inline cudaError_t cudaMemcpyPeerAsync(
	void *to, int to_device, const void *from, int from_device, size_t n, cudaStream_t = 0)
{
	return cudaMemcpyPeer(to, to_device, from, from_device, n);
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
