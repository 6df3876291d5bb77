/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HIP's host API: other names for CUDA's, as on HIP's platform for NVIDIA. What has no counterpart is refused
 * by name at each use.
 */
#ifndef NVW_HIP_RUNTIME_API_H
#define NVW_HIP_RUNTIME_API_H

#include <cuda_runtime.h>

typedef cudaError_t hipError_t;
typedef enum cudaMemcpyKind hipMemcpyKind;
typedef cudaStream_t hipStream_t;
typedef cudaEvent_t hipEvent_t;
typedef enum cudaFuncCache hipFuncCache_t;
typedef enum cudaSharedMemConfig hipSharedMemConfig;
typedef enum cudaLimit hipLimit_t;
typedef enum cudaFuncAttribute hipFuncAttribute;
typedef struct cudaFuncAttributes hipFuncAttributes;
typedef enum cudaMemoryAdvise hipMemoryAdvise;
typedef enum cudaMemoryType hipMemoryType;
typedef struct cudaPointerAttributes hipPointerAttribute_t;
typedef enum cudaDeviceAttr hipDeviceAttribute_t;
typedef enum cudaFuncAttribute hipFuncAttribute_t;
typedef void *hipDeviceptr_t;
typedef int hipDevice_t;

#define hipMemcpyHostToHost                        cudaMemcpyHostToHost
#define hipMemcpyHostToDevice                      cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost                      cudaMemcpyDeviceToHost
#define hipMemcpyDeviceToDevice                    cudaMemcpyDeviceToDevice
#define hipMemcpyDefault                           cudaMemcpyDefault
#define hipStreamDefault                           cudaStreamDefault
#define hipStreamNonBlocking                       cudaStreamNonBlocking
#define hipStreamPerThread                         cudaStreamPerThread
#define hipEventDefault                            cudaEventDefault
#define hipEventBlockingSync                       cudaEventBlockingSync
#define hipEventDisableTiming                      cudaEventDisableTiming
#define hipHostRegisterDefault                     cudaHostRegisterDefault
#define hipHostRegisterPortable                    cudaHostRegisterPortable
#define hipHostRegisterMapped                      cudaHostRegisterMapped
#define hipHostRegisterIoMemory                    cudaHostRegisterIoMemory
#define hipMemAttachGlobal                         cudaMemAttachGlobal
#define hipMemAttachHost                           cudaMemAttachHost
#define hipDeviceScheduleAuto                      cudaDeviceScheduleAuto
#define hipDeviceScheduleSpin                      cudaDeviceScheduleSpin
#define hipDeviceScheduleYield                     cudaDeviceScheduleYield
#define hipDeviceScheduleBlockingSync              cudaDeviceScheduleBlockingSync
#define hipDeviceMapHost                           cudaDeviceMapHost
#define hipCpuDeviceId                             cudaCpuDeviceId
#define hipFuncCachePreferNone                     cudaFuncCachePreferNone
#define hipFuncCachePreferShared                   cudaFuncCachePreferShared
#define hipFuncCachePreferL1                       cudaFuncCachePreferL1
#define hipFuncCachePreferEqual                    cudaFuncCachePreferEqual
#define hipSharedMemBankSizeDefault                cudaSharedMemBankSizeDefault
#define hipSharedMemBankSizeFourByte               cudaSharedMemBankSizeFourByte
#define hipSharedMemBankSizeEightByte              cudaSharedMemBankSizeEightByte
#define hipLimitStackSize                          cudaLimitStackSize
#define hipLimitPrintfFifoSize                     cudaLimitPrintfFifoSize
#define hipLimitMallocHeapSize                     cudaLimitMallocHeapSize
#define hipFuncAttributeMaxDynamicSharedMemorySize cudaFuncAttributeMaxDynamicSharedMemorySize
#define hipMemAdviseSetReadMostly                  cudaMemAdviseSetReadMostly
#define hipMemAdviseUnsetReadMostly                cudaMemAdviseUnsetReadMostly
#define hipMemAdviseSetPreferredLocation           cudaMemAdviseSetPreferredLocation
#define hipMemAdviseUnsetPreferredLocation         cudaMemAdviseUnsetPreferredLocation
#define hipMemAdviseSetAccessedBy                  cudaMemAdviseSetAccessedBy
#define hipMemAdviseUnsetAccessedBy                cudaMemAdviseUnsetAccessedBy
#define hipMemoryTypeUnregistered                  cudaMemoryTypeUnregistered
#define hipMemoryTypeHost                          cudaMemoryTypeHost
#define hipMemoryTypeDevice                        cudaMemoryTypeDevice
#define hipMemoryTypeManaged                       cudaMemoryTypeManaged
#define hipSuccess                                 cudaSuccess
#define hipErrorInvalidValue                       cudaErrorInvalidValue
#define hipErrorInvalidConfiguration               cudaErrorInvalidConfiguration
#define hipErrorInvalidSymbol                      cudaErrorInvalidSymbol
#define hipErrorInvalidDevicePointer               cudaErrorInvalidDevicePointer
#define hipErrorInvalidMemcpyDirection             cudaErrorInvalidMemcpyDirection
#define hipErrorInvalidDeviceFunction              cudaErrorInvalidDeviceFunction
#define hipErrorNoDevice                           cudaErrorNoDevice
#define hipErrorInvalidDevice                      cudaErrorInvalidDevice
#define hipErrorNotReady                           cudaErrorNotReady
#define hipErrorIllegalAddress                     cudaErrorIllegalAddress
#define hipErrorLaunchOutOfResources               cudaErrorLaunchOutOfResources
#define hipErrorPeerAccessNotEnabled               cudaErrorPeerAccessNotEnabled
#define hipErrorAssert                             cudaErrorAssert
#define hipErrorHostMemoryAlreadyRegistered        cudaErrorHostMemoryAlreadyRegistered
#define hipErrorHostMemoryNotRegistered            cudaErrorHostMemoryNotRegistered
#define hipErrorLaunchFailure                      cudaErrorLaunchFailure
#define hipErrorCooperativeLaunchTooLarge          cudaErrorCooperativeLaunchTooLarge
#define hipErrorNotSupported                       cudaErrorNotSupported
#define hipErrorUnknown                            cudaErrorUnknown
#define hipErrorInitializationError                cudaErrorInitializationError
#define hipErrorOutOfMemory                        cudaErrorMemoryAllocation
#define hipErrorMemoryAllocation                   cudaErrorMemoryAllocation
#define hipErrorNotInitialized                     cudaErrorInitializationError
#define hipErrorInvalidHandle                      cudaErrorInvalidResourceHandle
#define hipErrorInvalidResourceHandle              cudaErrorInvalidResourceHandle
#define hipHostMallocDefault                       cudaHostAllocDefault
#define hipHostMallocPortable                      cudaHostAllocPortable
#define hipHostMallocMapped                        cudaHostAllocMapped
#define hipHostMallocWriteCombined                 cudaHostAllocWriteCombined
#define hipHostMallocCoherent                      0x40000000u
#define hipHostMallocNonCoherent                   0x80000000u
#define hipDeviceMallocDefault                     0u
#define hipDeviceMallocFinegrained                 1u
#define HIP_VERSION_MAJOR                          5
#define HIP_VERSION_MINOR                          2
#define HIP_VERSION                                50200000

#define hipMalloc                                    cudaMalloc
#define hipMallocPitch                               cudaMallocPitch
#define hipMallocManaged                             cudaMallocManaged
#define hipFree                                      cudaFree
#define hipHostRegister                              cudaHostRegister
#define hipHostUnregister                            cudaHostUnregister
#define hipHostGetDevicePointer                      cudaHostGetDevicePointer
#define hipMemcpy                                    cudaMemcpy
#define hipMemcpyAsync                               cudaMemcpyAsync
#define hipMemcpy2D                                  cudaMemcpy2D
#define hipMemset                                    cudaMemset
#define hipMemsetAsync                               cudaMemsetAsync
#define hipMemcpyToSymbol                            cudaMemcpyToSymbol
#define hipMemcpyFromSymbol                          cudaMemcpyFromSymbol
#define hipGetSymbolAddress                          cudaGetSymbolAddress
#define hipGetSymbolSize                             cudaGetSymbolSize
#define hipMemGetInfo                                cudaMemGetInfo
#define hipMemPrefetchAsync                          cudaMemPrefetchAsync
#define hipMemAdvise                                 cudaMemAdvise
#define hipPointerGetAttributes                      cudaPointerGetAttributes
#define hipLaunchKernel                              cudaLaunchKernel
#define hipLaunchCooperativeKernel                   cudaLaunchCooperativeKernel
#define hipFuncSetCacheConfig                        cudaFuncSetCacheConfig
#define hipFuncSetAttribute                          cudaFuncSetAttribute
#define hipFuncGetAttributes                         cudaFuncGetAttributes
#define hipOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessor
#define hipOccupancyMaxPotentialBlockSize            cudaOccupancyMaxPotentialBlockSize
#define hipGetDeviceCount                            cudaGetDeviceCount
#define hipGetDevice                                 cudaGetDevice
#define hipSetDevice                                 cudaSetDevice
#define hipSetDeviceFlags                            cudaSetDeviceFlags
#define hipDeviceSynchronize                         cudaDeviceSynchronize
#define hipDeviceCanAccessPeer                       cudaDeviceCanAccessPeer
#define hipDeviceReset                               cudaDeviceReset
#define hipDeviceSetLimit                            cudaDeviceSetLimit
#define hipDeviceGetLimit                            cudaDeviceGetLimit
#define hipDeviceSetCacheConfig                      cudaDeviceSetCacheConfig
#define hipDeviceSetSharedMemConfig                  cudaDeviceSetSharedMemConfig
#define hipRuntimeGetVersion                         cudaRuntimeGetVersion
#define hipDriverGetVersion                          cudaDriverGetVersion
#define hipStreamCreate                              cudaStreamCreate
#define hipStreamCreateWithFlags                     cudaStreamCreateWithFlags
#define hipStreamDestroy                             cudaStreamDestroy
#define hipStreamSynchronize                         cudaStreamSynchronize
#define hipStreamQuery                               cudaStreamQuery
#define hipStreamWaitEvent                           cudaStreamWaitEvent
#define hipEventCreate                               cudaEventCreate
#define hipEventCreateWithFlags                      cudaEventCreateWithFlags
#define hipEventDestroy                              cudaEventDestroy
#define hipEventRecord                               cudaEventRecord
#define hipEventSynchronize                          cudaEventSynchronize
#define hipEventQuery                                cudaEventQuery
#define hipEventElapsedTime                          cudaEventElapsedTime
#define hipGetLastError                              cudaGetLastError
#define hipPeekAtLastError                           cudaPeekAtLastError
#define hipGetErrorString                            cudaGetErrorString
#define hipHostFree                                  cudaFreeHost
#define hipFreeHost                                  cudaFreeHost
#define hipHostAlloc                                 cudaHostAlloc
#define hipMallocHost                                cudaMallocHost
#define hipEventDisableSystemFence                   0u

/* ---- Attributes of the device */
#define hipDeviceAttributeMaxThreadsPerBlock          cudaDevAttrMaxThreadsPerBlock
#define hipDeviceAttributeWarpSize                    cudaDevAttrWarpSize
#define hipDeviceAttributeClockRate                   cudaDevAttrClockRate
#define hipDeviceAttributeComputeCapabilityMajor      cudaDevAttrComputeCapabilityMajor
#define hipDeviceAttributeComputeCapabilityMinor      cudaDevAttrComputeCapabilityMinor
#define hipDeviceAttributeUnifiedAddressing           cudaDevAttrUnifiedAddressing
#define hipDeviceAttributeManagedMemory               cudaDevAttrManagedMemory
#define hipDeviceAttributeCooperativeLaunch           cudaDevAttrCooperativeLaunch
#define hipDeviceAttributeMaxSharedMemoryPerBlock     cudaDevAttrMaxSharedMemoryPerBlock
#define hipDeviceAttributeMultiprocessorCount         cudaDevAttrMultiProcessorCount
#define hipDeviceAttributeMaxThreadsPerMultiProcessor cudaDevAttrMaxThreadsPerMultiProcessor
#define hipDeviceGetAttribute                         cudaDeviceGetAttribute

struct hipDeviceProp_t : cudaDeviceProp {
	char gcnArchName[256];
};

static inline hipError_t hipGetDeviceProperties(hipDeviceProp_t *ret, int device)
{
	strcpy(ret->gcnArchName, "nvwave");
	return cudaGetDeviceProperties(ret, device);
}

template <class T> static inline hipError_t hipHostMalloc(T **ret, size_t bytes, unsigned flags = 0)
{
	return cudaHostAlloc(ret, bytes, flags & 7);
}
template <class T> static inline hipError_t hipExtMallocWithFlags(T **ret, size_t bytes, unsigned)
{
	return cudaMalloc(ret, bytes);
}
static inline hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void *from, size_t bytes)
{
	return cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
}
static inline hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t bytes)
{
	return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
}
static inline hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes)
{
	return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
static inline hipError_t hipInit(unsigned)
{
	return cudaSuccess;
}
/* With HIP's prefix. The string lives until the thread asks for the next one. */
static inline const char *hipGetErrorName(hipError_t error)
{
	static thread_local char name[64];

	snprintf(name, sizeof name, "hip%s",
		error == cudaErrorMemoryAllocation ? "ErrorOutOfMemory" : cudaGetErrorName(error) + 4);
	return name;
}

#endif
