/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of the host API: errors, kinds of copies, streams, events, properties. Numbers are CUDA's, where programs print them. */
#ifndef NVW_CUDA_DRIVER_TYPES_H
#define NVW_CUDA_DRIVER_TYPES_H
#define __DRIVER_TYPES_H__ /* programs ask for CUDA's own guards */

#include <stddef.h>

#define NVW_CUDA_ERRORS(X)                                                                                             \
	X(cudaSuccess, 0, "no error")                                                                                  \
	X(cudaErrorInvalidValue, 1, "invalid argument")                                                                \
	X(cudaErrorMemoryAllocation, 2, "out of memory")                                                               \
	X(cudaErrorInitializationError, 3, "initialization error")                                                     \
	X(cudaErrorCudartUnloading, 4, "driver shutting down")                                                         \
	X(cudaErrorProfilerDisabled, 5, "profiler disabled while using external profiling tool")                       \
	X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                                          \
	X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                                    \
	X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                                         \
	X(cudaErrorInvalidHostPointer, 16, "invalid host pointer")                                                     \
	X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                                 \
	X(cudaErrorInvalidTexture, 18, "invalid texture reference")                                                    \
	X(cudaErrorInvalidTextureBinding, 19, "texture is not bound to a pointer")                                     \
	X(cudaErrorInvalidChannelDescriptor, 20, "invalid channel descriptor")                                         \
	X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                                    \
	X(cudaErrorAddressOfConstant, 22, "invalid address of constant")                                               \
	X(cudaErrorTextureFetchFailed, 23, "fetch from texture failed")                                                \
	X(cudaErrorTextureNotBound, 24, "cannot fetch from a texture that is not bound")                               \
	X(cudaErrorSynchronizationError, 25, "incorrect use of __syncthreads()")                                       \
	X(cudaErrorInvalidFilterSetting, 26, "linear filtering not supported for non-float type")                      \
	X(cudaErrorInvalidNormSetting, 27,                                                                             \
		"read as normalized float not supported for 32-bit non float type")                                    \
	X(cudaErrorMixedDeviceExecution, 28,                                                                           \
		"device emulation mode and device execution mode cannot be mixed")                                     \
	X(cudaErrorNotYetImplemented, 31, "feature not yet implemented")                                               \
	X(cudaErrorMemoryValueTooLarge, 32, "memory size or pointer value too large to fit in 32 bit")                 \
	X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")             \
	X(cudaErrorInvalidSurface, 37, "invalid surface reference")                                                    \
	X(cudaErrorDuplicateVariableName, 43, "duplicate global variable looked up by string name")                    \
	X(cudaErrorDuplicateTextureName, 44, "duplicate texture looked up by string name")                             \
	X(cudaErrorDuplicateSurfaceName, 45, "duplicate surface looked up by string name")                             \
	X(cudaErrorDevicesUnavailable, 46, "all CUDA-capable devices are busy or unavailable")                         \
	X(cudaErrorIncompatibleDriverContext, 49, "incompatible driver context")                                       \
	X(cudaErrorMissingConfiguration, 52, "__global__ function call is not configured")                             \
	X(cudaErrorPriorLaunchFailure, 53, "unspecified launch failure in prior launch")                               \
	X(cudaErrorLaunchMaxDepthExceeded, 65, "launch would exceed maximum depth of nested launches")                 \
	X(cudaErrorLaunchFileScopedTex, 66,                                                                            \
		"launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)") \
	X(cudaErrorLaunchFileScopedSurf, 67,                                                                           \
		"launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)") \
	X(cudaErrorSyncDepthExceeded, 68,                                                                              \
		"cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth")       \
	X(cudaErrorLaunchPendingCountExceeded, 69,                                                                     \
		"launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount")                     \
	X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                               \
	X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                                \
	X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                                       \
	X(cudaErrorStartupFailure, 127, "startup failure in cuda runtime")                                             \
	X(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid")                                          \
	X(cudaErrorMapBufferObjectFailed, 205, "mapping of buffer object failed")                                      \
	X(cudaErrorUnmapBufferObjectFailed, 206, "unmapping of buffer object failed")                                  \
	X(cudaErrorArrayIsMapped, 207, "array is mapped")                                                              \
	X(cudaErrorAlreadyMapped, 208, "resource already mapped")                                                      \
	X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device")            \
	X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error encountered")                                       \
	X(cudaErrorUnsupportedLimit, 215, "limit is not supported on this architecture")                               \
	X(cudaErrorDeviceAlreadyInUse, 216, "exclusive-thread device already in use by a different thread")            \
	X(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices")               \
	X(cudaErrorInvalidPtx, 218, "a PTX JIT compilation failed")                                                    \
	X(cudaErrorInvalidGraphicsContext, 219, "invalid OpenGL or DirectX context")                                   \
	X(cudaErrorSharedObjectSymbolNotFound, 302, "shared object symbol not found")                                  \
	X(cudaErrorSharedObjectInitFailed, 303, "shared object initialization failed")                                 \
	X(cudaErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS")                       \
	X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                              \
	X(cudaErrorSymbolNotFound, 500, "named symbol not found")                                                      \
	X(cudaErrorNotReady, 600, "device not ready")                                                                  \
	X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                                    \
	X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                               \
	X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                                      \
	X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                                    \
	X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                                      \
	X(cudaErrorSetOnActiveProcess, 708, "cannot set while device is active in this process")                       \
	X(cudaErrorContextIsDestroyed, 709, "context is destroyed")                                                    \
	X(cudaErrorAssert, 710, "device-side assert triggered")                                                        \
	X(cudaErrorTooManyPeers, 711, "peer mapping resources exhausted")                                              \
	X(cudaErrorHostMemoryAlreadyRegistered, 712,                                                                   \
		"part or all of the requested memory range is already mapped")                                         \
	X(cudaErrorHostMemoryNotRegistered, 713,                                                                       \
		"pointer does not correspond to a registered memory region")                                           \
	X(cudaErrorHardwareStackError, 714, "hardware stack error")                                                    \
	X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")                                  \
	X(cudaErrorMisalignedAddress, 716, "misaligned address")                                                       \
	X(cudaErrorInvalidAddressSpace, 717, "operation not supported on global/shared address space")                 \
	X(cudaErrorInvalidPc, 718, "invalid program counter")                                                          \
	X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                                   \
	X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                            \
	X(cudaErrorNotPermitted, 800, "operation not permitted")                                                       \
	X(cudaErrorNotSupported, 801, "operation not supported")                                                       \
	X(cudaErrorSystemNotReady, 802, "system not yet initialized")                                                  \
	X(cudaErrorSystemDriverMismatch, 803,                                                                          \
		"system has unsupported display driver / cuda driver combination")                                     \
	X(cudaErrorUnknown, 999, "unknown error")                                                                      \
	X(cudaErrorApiFailureBase, 10000, "api failure base")

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
