/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of the host API: errors, kinds of copies, streams, events, properties. Numbers are CUDA's,
 * where programs print them. */
#ifndef NVW_CUDA_DRIVER_TYPES_H
#define NVW_CUDA_DRIVER_TYPES_H
#define __DRIVER_TYPES_H__ /* programs ask for CUDA's own guards */

#include <stddef.h>

#define NVW_CUDA_ERRORS(X)                                                                       \
	X(cudaSuccess, 0, "no error")                                                            \
	X(cudaErrorInvalidValue, 1, "invalid argument")                                          \
	X(cudaErrorMemoryAllocation, 2, "out of memory")                                         \
	X(cudaErrorInitializationError, 3, "initialization error")                               \
	X(cudaErrorCudartUnloading, 4, "driver shutting down")                                   \
	X(cudaErrorProfilerDisabled, 5, "the profiler is off")                                   \
	X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                    \
	X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                              \
	X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                   \
	X(cudaErrorInvalidHostPointer, 16, "invalid host pointer")                               \
	X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                           \
	X(cudaErrorInvalidTexture, 18, "invalid texture reference")                              \
	X(cudaErrorInvalidTextureBinding, 19, "texture without a pointer")                       \
	X(cudaErrorInvalidChannelDescriptor, 20, "invalid channel descriptor")                   \
	X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")              \
	X(cudaErrorAddressOfConstant, 22, "invalid address of constant")                         \
	X(cudaErrorTextureFetchFailed, 23, "a texture could not be fetched")                     \
	X(cudaErrorTextureNotBound, 24, "texture without a binding")                             \
	X(cudaErrorSynchronizationError, 25, "wrong use of a barrier")                           \
	X(cudaErrorInvalidFilterSetting, 26, "linear filter of a type that is not float")        \
	X(cudaErrorInvalidNormSetting, 27, "normalized reads of a 32-bit integer type")          \
	X(cudaErrorMixedDeviceExecution, 28, "device code both emulated and not")                \
	X(cudaErrorNotYetImplemented, 31, "not implemented")                                     \
	X(cudaErrorMemoryValueTooLarge, 32, "more than 32 bits of size or address")              \
	X(cudaErrorInsufficientDriver, 35, "the driver is older than the runtime needs")         \
	X(cudaErrorInvalidSurface, 37, "invalid surface")                                        \
	X(cudaErrorDuplicateVariableName, 43, "two device variables of one name")                \
	X(cudaErrorDuplicateTextureName, 44, "two textures of one name")                         \
	X(cudaErrorDuplicateSurfaceName, 45, "two surfaces of one name")                         \
	X(cudaErrorDevicesUnavailable, 46, "no device is free")                                  \
	X(cudaErrorIncompatibleDriverContext, 49, "the driver's context does not fit")           \
	X(cudaErrorMissingConfiguration, 52, "a kernel was called without a launch")             \
	X(cudaErrorPriorLaunchFailure, 53, "an earlier launch failed")                           \
	X(cudaErrorLaunchMaxDepthExceeded, 65, "launches nested too deeply")                     \
	X(cudaErrorLaunchFileScopedTex, 66, "a texture with the scope of a file")                \
	X(cudaErrorLaunchFileScopedSurf, 67, "a surface with the scope of a file")               \
	X(cudaErrorSyncDepthExceeded, 68, "synchronization nested too deeply")                   \
	X(cudaErrorLaunchPendingCountExceeded, 69, "too many launches are waiting")              \
	X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                         \
	X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                          \
	X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                 \
	X(cudaErrorStartupFailure, 127, "the runtime did not start")                             \
	X(cudaErrorInvalidKernelImage, 200, "invalid device code")                               \
	X(cudaErrorMapBufferObjectFailed, 205, "a buffer could not be mapped")                   \
	X(cudaErrorUnmapBufferObjectFailed, 206, "a buffer could not be unmapped")               \
	X(cudaErrorArrayIsMapped, 207, "the array is mapped")                                    \
	X(cudaErrorAlreadyMapped, 208, "mapped before")                                          \
	X(cudaErrorNoKernelImageForDevice, 209, "no code of the kernel for this device")         \
	X(cudaErrorECCUncorrectable, 214, "a memory error that ECC cannot correct")              \
	X(cudaErrorUnsupportedLimit, 215, "the device has no such limit")                        \
	X(cudaErrorDeviceAlreadyInUse, 216, "another thread has the device for itself")          \
	X(cudaErrorPeerAccessUnsupported, 217, "these devices have no peer access")              \
	X(cudaErrorInvalidPtx, 218, "PTX that does not compile")                                 \
	X(cudaErrorInvalidGraphicsContext, 219, "invalid graphics context")                      \
	X(cudaErrorSharedObjectSymbolNotFound, 302, "a shared object lacks a symbol")            \
	X(cudaErrorSharedObjectInitFailed, 303, "a shared object did not start")                 \
	X(cudaErrorOperatingSystem, 304, "the operating system refused")                         \
	X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                        \
	X(cudaErrorSymbolNotFound, 500, "there is no symbol of this name")                       \
	X(cudaErrorNotReady, 600, "device not ready")                                            \
	X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")              \
	X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")         \
	X(cudaErrorLaunchTimeout, 702, "the launch took too long")                               \
	X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access was on before")                   \
	X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                \
	X(cudaErrorSetOnActiveProcess, 708, "too late: the process uses the device")             \
	X(cudaErrorContextIsDestroyed, 709, "the context is gone")                               \
	X(cudaErrorAssert, 710, "device-side assert triggered")                                  \
	X(cudaErrorTooManyPeers, 711, "too many peers")                                          \
	X(cudaErrorHostMemoryAlreadyRegistered, 712, "registered before, as a whole or in part") \
	X(cudaErrorHostMemoryNotRegistered, 713, "memory that is not registered")                \
	X(cudaErrorHardwareStackError, 714, "an error of the device's stack")                    \
	X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")            \
	X(cudaErrorMisalignedAddress, 716, "misaligned address")                                 \
	X(cudaErrorInvalidAddressSpace, 717, "not an operation of this address space")           \
	X(cudaErrorInvalidPc, 718, "invalid program counter")                                    \
	X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                             \
	X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")      \
	X(cudaErrorNotPermitted, 800, "operation not permitted")                                 \
	X(cudaErrorNotSupported, 801, "operation not supported")                                 \
	X(cudaErrorSystemNotReady, 802, "the system is not ready yet")                           \
	X(cudaErrorSystemDriverMismatch, 803, "drivers that do not fit each other")              \
	X(cudaErrorUnknown, 999, "unknown error")                                                \
	X(cudaErrorApiFailureBase, 10000, "an error of the API")

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
#define cudaDeviceBlockingSync         4u
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
enum cudaLimit {
	cudaLimitStackSize,
	cudaLimitPrintfFifoSize,
	cudaLimitMallocHeapSize,
	cudaLimitMaxL2FetchGranularity = 5,
	cudaLimitPersistingL2CacheSize
};
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
enum cudaMemLocationType { cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice, cudaMemLocationTypeHost };
struct cudaMemLocation {
	enum cudaMemLocationType type;
	int id;
};
enum cudaMemAccessFlags {
	cudaMemAccessFlagsProtNone,
	cudaMemAccessFlagsProtRead,
	cudaMemAccessFlagsProtReadWrite = 3
};
struct cudaMemAccessDesc {
	struct cudaMemLocation location;
	enum cudaMemAccessFlags flags;
};
enum cudaDeviceP2PAttr {
	cudaDevP2PAttrPerformanceRank = 1,
	cudaDevP2PAttrAccessSupported,
	cudaDevP2PAttrNativeAtomicSupported,
	cudaDevP2PAttrCudaArrayAccessSupported
};
/* What a stream shall keep in the cache: the device has no such window. */
enum cudaAccessProperty {
	cudaAccessPropertyNormal,
	cudaAccessPropertyStreaming,
	cudaAccessPropertyPersisting
};
struct cudaAccessPolicyWindow {
	void *base_ptr;
	size_t num_bytes;
	float hitRatio;
	enum cudaAccessProperty hitProp, missProp;
};
typedef enum { cudaStreamAttributeAccessPolicyWindow = 1 } cudaStreamAttrID;
typedef union {
	struct cudaAccessPolicyWindow accessPolicyWindow;
} cudaStreamAttrValue;

/* Copies in three dimensions. Arrays are for textures. */
struct cudaExtent {
	size_t width, height, depth;
};
struct cudaPos {
	size_t x, y, z;
};
struct cudaPitchedPtr {
	void *ptr;
	size_t pitch, xsize, ysize;
};
struct cudaMemcpy3DParms {
	void *srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	void *dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	struct cudaExtent extent;
	enum cudaMemcpyKind kind;
};

enum cudaComputeMode {
	cudaComputeModeDefault,
	cudaComputeModeExclusive,
	cudaComputeModeProhibited,
	cudaComputeModeExclusiveProcess
};
/* Their values are those of the properties at p. */
#define NVW_CUDA_ATTRIBUTES(X)                                                                 \
	X(cudaDevAttrMaxThreadsPerBlock, 1, p->maxThreadsPerBlock)                             \
	X(cudaDevAttrMaxBlockDimX, 2, p->maxThreadsDim[0])                                     \
	X(cudaDevAttrMaxBlockDimY, 3, p->maxThreadsDim[1])                                     \
	X(cudaDevAttrMaxBlockDimZ, 4, p->maxThreadsDim[2])                                     \
	X(cudaDevAttrMaxGridDimX, 5, p->maxGridSize[0])                                        \
	X(cudaDevAttrMaxGridDimY, 6, p->maxGridSize[1])                                        \
	X(cudaDevAttrMaxGridDimZ, 7, p->maxGridSize[2])                                        \
	X(cudaDevAttrMaxSharedMemoryPerBlock, 8, (int)p->sharedMemPerBlock)                    \
	X(cudaDevAttrTotalConstantMemory, 9, (int)p->totalConstMem)                            \
	X(cudaDevAttrWarpSize, 10, p->warpSize)                                                \
	X(cudaDevAttrMaxPitch, 11, (int)p->memPitch)                                           \
	X(cudaDevAttrMaxRegistersPerBlock, 12, p->regsPerBlock)                                \
	X(cudaDevAttrClockRate, 13, p->clockRate)                                              \
	X(cudaDevAttrTextureAlignment, 14, (int)p->textureAlignment)                           \
	X(cudaDevAttrGpuOverlap, 15, p->deviceOverlap)                                         \
	X(cudaDevAttrMultiProcessorCount, 16, p->multiProcessorCount)                          \
	X(cudaDevAttrKernelExecTimeout, 17, p->kernelExecTimeoutEnabled)                       \
	X(cudaDevAttrIntegrated, 18, p->integrated)                                            \
	X(cudaDevAttrCanMapHostMemory, 19, p->canMapHostMemory)                                \
	X(cudaDevAttrComputeMode, 20, p->computeMode)                                          \
	X(cudaDevAttrConcurrentKernels, 31, p->concurrentKernels)                              \
	X(cudaDevAttrEccEnabled, 32, p->ECCEnabled)                                            \
	X(cudaDevAttrPciBusId, 33, p->pciBusID)                                                \
	X(cudaDevAttrPciDeviceId, 34, p->pciDeviceID)                                          \
	X(cudaDevAttrMemoryClockRate, 36, p->memoryClockRate)                                  \
	X(cudaDevAttrGlobalMemoryBusWidth, 37, p->memoryBusWidth)                              \
	X(cudaDevAttrL2CacheSize, 38, p->l2CacheSize)                                          \
	X(cudaDevAttrMaxThreadsPerMultiProcessor, 39, p->maxThreadsPerMultiProcessor)          \
	X(cudaDevAttrAsyncEngineCount, 40, p->asyncEngineCount)                                \
	X(cudaDevAttrUnifiedAddressing, 41, p->unifiedAddressing)                              \
	X(cudaDevAttrPciDomainId, 50, p->pciDomainID)                                          \
	X(cudaDevAttrComputeCapabilityMajor, 75, p->major)                                     \
	X(cudaDevAttrComputeCapabilityMinor, 76, p->minor)                                     \
	X(cudaDevAttrStreamPrioritiesSupported, 78, p->streamPrioritiesSupported)              \
	X(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81, (int)p->sharedMemPerMultiprocessor) \
	X(cudaDevAttrMaxRegistersPerMultiprocessor, 82, p->regsPerMultiprocessor)              \
	X(cudaDevAttrManagedMemory, 83, p->managedMemory)                                      \
	X(cudaDevAttrIsMultiGpuBoard, 84, p->isMultiGpuBoard)                                  \
	X(cudaDevAttrHostNativeAtomicSupported, 86, p->hostNativeAtomicSupported)              \
	X(cudaDevAttrPageableMemoryAccess, 88, p->pageableMemoryAccess)                        \
	X(cudaDevAttrConcurrentManagedAccess, 89, p->concurrentManagedAccess)                  \
	X(cudaDevAttrComputePreemptionSupported, 90, p->computePreemptionSupported)            \
	X(cudaDevAttrCooperativeLaunch, 95, p->cooperativeLaunch)                              \
	X(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97, (int)p->sharedMemPerBlockOptin)         \
	X(cudaDevAttrMaxBlocksPerMultiprocessor, 106, p->maxBlocksPerMultiProcessor)           \
	X(cudaDevAttrMemoryPoolsSupported, 115, p->memoryPoolsSupported)

enum cudaDeviceAttr {
#define X(name, number, value) name = number,
	NVW_CUDA_ATTRIBUTES(X)
#undef X
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
	size_t textureAlignment, surfaceAlignment, texturePitchAlignment, reservedSharedMemPerBlock;
	/* None: there are no textures, no window of the cache, and no second device. */
	int maxTexture1D, maxTexture2D[2], maxTexture3D[3], maxTexture1DLayered[2], maxTexture2DLayered[3];
	int maxSurface1D, maxSurface2D[2], maxSurface3D[3];
	int persistingL2CacheMaxSize, accessPolicyMaxWindowSize, cooperativeMultiDeviceLaunch,
		isMultiGpuBoard, multiGpuBoardGroupID, tccDriver;
	int computePreemptionSupported, streamPrioritiesSupported, memoryPoolsSupported,
		globalL1CacheSupported, localL1CacheSupported, singleToDoublePrecisionPerfRatio,
		directManagedMemAccessFromHost, pageableMemoryAccessUsesHostPageTables;
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
