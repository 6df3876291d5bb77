/* SPDX-License-Identifier: BSD-3-Clause */
/* The rest of the host API: devices, streams, events. */
#include <time.h>

#include "runtime.h"

/* ---- The device: there is one ------------------------------------------------------------------- */

static struct cudaDeviceProp properties = {
	.name = "nvwave",
	.totalGlobalMem = (size_t)16 << 30,
	.sharedMemPerBlock = 48 << 10,
	.sharedMemPerBlockOptin = DYNAMIC_MAX,
	.sharedMemPerMultiprocessor = DYNAMIC_MAX,
	.regsPerBlock = 65536,
	.regsPerMultiprocessor = 65536,
	.warpSize = WARP,
	.memPitch = INT32_MAX,
	.maxThreadsPerBlock = BLOCK_MAX,
	.maxThreadsDim = {BLOCK_MAX, BLOCK_MAX, 64},
	.maxGridSize = {INT32_MAX, UINT16_MAX, UINT16_MAX},
	.clockRate = 1000000,
	.totalConstMem = 64 << 10,
	.major = 7,
	.minor = 0,
	.multiProcessorCount = MULTIPROCESSORS,
	.canMapHostMemory = 1,
	.concurrentKernels = 1,
	.asyncEngineCount = 1,
	.unifiedAddressing = 1,
	.memoryClockRate = 1000000,
	.memoryBusWidth = 256,
	.l2CacheSize = 4 << 20,
	.maxThreadsPerMultiProcessor = 2048,
	.managedMemory = 1,
	.cooperativeLaunch = 1,
	.maxBlocksPerMultiProcessor = 32,
	.textureAlignment = 512,
	.memoryPoolsSupported = 1,
	.deviceOverlap = 1,
};

/* Returns the properties of the machine, if there is one. Several threads may fill in the same. */
static const struct cudaDeviceProp *of_device(void)
{
	struct nvw_cuda_description d;

	if (!nvw_cuda_machine) {
		return &properties;
	}
	nvw_cuda_machine->describe(&d);
	snprintf(properties.name, sizeof properties.name, "nvwave %s", d.name);
	properties.multiProcessorCount = (int)d.compute_units;
	properties.clockRate = (int)(d.clock_hz / 1000);
	properties.l2CacheSize = (int)d.l2_bytes;
	properties.totalGlobalMem = d.dram_bytes;
	return &properties;
}

cudaError_t cudaGetDeviceCount(int *ret)
{
	*ret = 1;
	return cudaSuccess;
}

cudaError_t cudaGetDevice(int *ret)
{
	*ret = 0;
	return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
	return nvw_cuda_unless(cudaErrorInvalidDevice, device == 0);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int device)
{
	if (device != 0) {
		return nvw_cuda_fail(cudaErrorInvalidDevice);
	}
	*ret = *of_device();
	return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *ret, enum cudaDeviceAttr attribute, int device)
{
	const struct cudaDeviceProp *const p = of_device();

	if (device != 0) {
		return nvw_cuda_fail(cudaErrorInvalidDevice);
	}
	switch (attribute) {
#define X(name, number, value)       \
	case name:                   \
		*ret = (int)(value); \
		return cudaSuccess;
		NVW_CUDA_ATTRIBUTES(X)
#undef X
	default:
		return nvw_cuda_fail(cudaErrorInvalidValue);
	}
}

cudaError_t cudaDeviceSynchronize(void)
{
	return nvw_cuda_failed();
}

cudaError_t cudaDeviceReset(void)
{
	nvw_cuda_forget_errors();
	return cudaSuccess;
}

static size_t limits[3] = {STACK_BYTES, 1 << 20, 8 << 20};

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	/* Stacks are large, and neither buffer nor heap have a bound. */
	return nvw_cuda_unless(cudaErrorUnsupportedLimit, limit <= cudaLimitMallocHeapSize);
}

cudaError_t cudaDeviceGetLimit(size_t *ret, enum cudaLimit limit)
{
	if (limit > cudaLimitMallocHeapSize) {
		return nvw_cuda_fail(cudaErrorUnsupportedLimit);
	}
	*ret = limits[limit];
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *ret)
{
	*ret = 11080;
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *ret)
{
	return cudaRuntimeGetVersion(ret);
}

/* ---- Functions ---------------------------------------------------------------------------------- */

static cudaError_t check_kernel(const void *kernel)
{
	return nvw_cuda_unless(cudaErrorInvalidDeviceFunction, nvw_cuda_kernel_of(kernel));
}

cudaError_t cudaFuncSetCacheConfig(const void *kernel, enum cudaFuncCache config)
{
	return check_kernel(kernel);
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
	if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value > DYNAMIC_MAX) {
		return nvw_cuda_fail(cudaErrorInvalidValue);
	}
	return check_kernel(kernel);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *ret, const void *kernel)
{
	const struct kernel_entry *const entry = nvw_cuda_kernel_of(kernel);

	memset(ret, 0, sizeof *ret);
	ret->maxThreadsPerBlock = BLOCK_MAX;
	ret->numRegs = 32;
	if (entry) { /* a library launches the kernel as its code for that one expects (cub) */
		ret->ptxVersion = ret->binaryVersion = (int)entry->arch;
	}
	return check_kernel(kernel);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
	int *ret, const void *kernel, int block_size, size_t shared)
{
	int blocks = 0;

	if (block_size > 0) {
		blocks = properties.maxThreadsPerMultiProcessor / block_size;
	}
	if (shared && blocks > (int)(properties.sharedMemPerMultiprocessor / shared)) {
		blocks = (int)(properties.sharedMemPerMultiprocessor / shared);
	}
	*ret = blocks;
	return check_kernel(kernel);
}

/* ---- Streams: everything is complete when its call returns -------------------------------------- */

struct nvw_cuda_stream {
	unsigned flags;
};

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret, unsigned flags)
{
	*ret = malloc(sizeof **ret);
	if (!*ret) {
		return nvw_cuda_fail(cudaErrorMemoryAllocation);
	}
	(*ret)->flags = flags;
	return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *ret)
{
	return cudaStreamCreateWithFlags(ret, cudaStreamDefault);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void *data, unsigned flags)
{
	call(stream, nvw_cuda_failed(), data);
	return nvw_cuda_failed();
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void *data)
{
	call(data);
	return nvw_cuda_failed();
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	free(stream);
	return cudaSuccess;
}

struct nvw_cuda_event {
	struct timespec when;
	bool recorded;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags)
{
	*ret = calloc(1, sizeof **ret);
	return nvw_cuda_unless(cudaErrorMemoryAllocation, *ret);
}

cudaError_t cudaEventCreate(cudaEvent_t *ret)
{
	return cudaEventCreateWithFlags(ret, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	clock_gettime(CLOCK_MONOTONIC, &event->when);
	event->recorded = true;
	return nvw_cuda_failed();
}

cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t from, cudaEvent_t to)
{
	if (!from->recorded || !to->recorded) {
		return nvw_cuda_fail(cudaErrorInvalidResourceHandle);
	}
	*ret_ms = (float)((double)(to->when.tv_sec - from->when.tv_sec) * 1e3 +
			  (double)(to->when.tv_nsec - from->when.tv_nsec) / 1e6);
	return nvw_cuda_failed();
}
