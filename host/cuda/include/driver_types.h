/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of the host API: errors, kinds of copies, streams, events, properties. Numbers are CUDA's, where programs print them. */
#ifndef NVW_CUDA_DRIVER_TYPES_H
#define NVW_CUDA_DRIVER_TYPES_H
#define __DRIVER_TYPES_H__ /* programs ask for CUDA's own guards */

#include <stddef.h>

#define NVW_CUDA_ERRORS(X)                                                                  \
	X(cudaSuccess, 0, "no error")                                                       \
	X(cudaErrorInvalidValue, 1, "invalid argument")                                     \
	X(cudaErrorMemoryAllocation, 2, "out of memory")                                    \
	X(cudaErrorInitializationError, 3, "initialization error")                          \
	X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")               \
	X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                              \
	X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                      \
	X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")         \
	X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                    \
	X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                     \
	X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                            \
	X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                   \
	X(cudaErrorNotReady, 600, "device not ready")                                       \
	X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")         \
	X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")    \
	X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")           \
	X(cudaErrorAssert, 710, "device-side assert triggered")                             \
	X(cudaErrorHostMemoryAlreadyRegistered, 712,                                        \
		"part or all of the requested memory range is already mapped")              \
	X(cudaErrorHostMemoryNotRegistered, 713,                                            \
		"pointer does not correspond to a registered memory region")                \
	X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                        \
	X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch") \
	X(cudaErrorNotSupported, 801, "operation not supported")                            \
	X(cudaErrorUnknown, 999, "unknown error")

enum cudaError {
#define X(name, number, text) name = number,
	NVW_CUDA_ERRORS(X)
#undef X
};
typedef enum cudaError cudaError_t;

enum cudaMemcpyKind {
	cudaMemcpyHostToHost,
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice,
	cudaMemcpyDefault
};

typedef struct nvw_cuda_stream *cudaStream_t;
typedef struct nvw_cuda_event *cudaEvent_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);
typedef void (*cudaHostFn_t)(void *data);

#define cudaStreamDefault      0u
#define cudaStreamNonBlocking  1u
#define cudaStreamLegacy       ((cudaStream_t)1)
#define cudaStreamPerThread    ((cudaStream_t)2)
#define cudaEventDefault       0u
#define cudaEventBlockingSync  1u
#define cudaEventDisableTiming 2u

#define cudaHostAllocDefault           0u
#define cudaHostAllocPortable          1u
#define cudaHostAllocMapped            2u
#define cudaHostAllocWriteCombined     4u
#define cudaHostRegisterDefault        0u
#define cudaHostRegisterPortable       1u
#define cudaHostRegisterMapped         2u
#define cudaHostRegisterIoMemory       4u
#define cudaMemAttachGlobal            1u
#define cudaMemAttachHost              2u
#define cudaDeviceScheduleAuto         0u
#define cudaDeviceScheduleSpin         1u
#define cudaDeviceScheduleYield        2u
#define cudaDeviceScheduleBlockingSync 4u
#define cudaDeviceMapHost              8u
#define cudaCpuDeviceId                (-1)

enum cudaFuncCache {
	cudaFuncCachePreferNone,
	cudaFuncCachePreferShared,
	cudaFuncCachePreferL1,
	cudaFuncCachePreferEqual
};
enum cudaSharedMemConfig {
	cudaSharedMemBankSizeDefault,
	cudaSharedMemBankSizeFourByte,
	cudaSharedMemBankSizeEightByte
};
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
enum cudaFuncAttribute {
	cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
	cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaMemoryAdvise {
	cudaMemAdviseSetReadMostly = 1,
	cudaMemAdviseUnsetReadMostly,
	cudaMemAdviseSetPreferredLocation,
	cudaMemAdviseUnsetPreferredLocation,
	cudaMemAdviseSetAccessedBy,
	cudaMemAdviseUnsetAccessedBy
};
enum cudaMemoryType {
	cudaMemoryTypeUnregistered,
	cudaMemoryTypeHost,
	cudaMemoryTypeDevice,
	cudaMemoryTypeManaged
};
enum cudaComputeMode {
	cudaComputeModeDefault,
	cudaComputeModeExclusive,
	cudaComputeModeProhibited,
	cudaComputeModeExclusiveProcess
};
enum cudaDeviceAttr {
	cudaDevAttrMaxThreadsPerBlock = 1,
	cudaDevAttrMaxBlockDimX,
	cudaDevAttrMaxBlockDimY,
	cudaDevAttrMaxBlockDimZ,
	cudaDevAttrMaxGridDimX,
	cudaDevAttrMaxGridDimY,
	cudaDevAttrMaxGridDimZ,
	cudaDevAttrMaxSharedMemoryPerBlock = 8,
	cudaDevAttrTotalConstantMemory = 9,
	cudaDevAttrWarpSize = 10,
	cudaDevAttrMaxRegistersPerBlock = 12,
	cudaDevAttrClockRate = 13,
	cudaDevAttrMultiProcessorCount = 16,
	cudaDevAttrIntegrated = 18,
	cudaDevAttrCanMapHostMemory = 19,
	cudaDevAttrComputeMode = 20,
	cudaDevAttrConcurrentKernels = 31,
	cudaDevAttrMemoryClockRate = 36,
	cudaDevAttrGlobalMemoryBusWidth = 37,
	cudaDevAttrL2CacheSize = 38,
	cudaDevAttrMaxThreadsPerMultiProcessor = 39,
	cudaDevAttrUnifiedAddressing = 41,
	cudaDevAttrComputeCapabilityMajor = 75,
	cudaDevAttrComputeCapabilityMinor = 76,
	cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
	cudaDevAttrManagedMemory = 83,
	cudaDevAttrPageableMemoryAccess = 88,
	cudaDevAttrConcurrentManagedAccess = 89,
	cudaDevAttrCooperativeLaunch = 95,
	cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
	cudaDevAttrMaxBlocksPerMultiprocessor = 106
};

struct cudaDeviceProp {
	char name[256];
	size_t totalGlobalMem, sharedMemPerBlock;
	int regsPerBlock, warpSize;
	size_t memPitch;
	int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
	int clockRate;
	size_t totalConstMem;
	int major, minor;
	int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory,
		computeMode;
	int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, asyncEngineCount,
		unifiedAddressing;
	int memoryClockRate, memoryBusWidth, l2CacheSize, maxThreadsPerMultiProcessor;
	size_t sharedMemPerMultiprocessor;
	int regsPerMultiprocessor, managedMemory, cooperativeLaunch, concurrentManagedAccess,
		pageableMemoryAccess;
	size_t sharedMemPerBlockOptin;
	int maxBlocksPerMultiProcessor, hostNativeAtomicSupported, canUseHostPointerForRegisteredMem;
	size_t textureAlignment;
};

struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
	void *devicePointer, *hostPointer;
};

struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion;
};

#endif
