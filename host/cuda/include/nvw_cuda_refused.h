/* SPDX-License-Identifier: BSD-3-Clause */
/* What is not supported has a name all the same, so that the compiler says at each use that it is not. */
#ifndef NVW_CUDA_REFUSED_H
#define NVW_CUDA_REFUSED_H

#define NVW_CUDA_REFUSED(what) __attribute__((unavailable("nvwave does not support " what)))

/* The compiler checks no attribute of a class template, but those of its constructors. */
template <class T, int Dimensions = 1, int Mode = 0> struct texture {
	NVW_CUDA_REFUSED("textures") __host__ __device__ texture();
};
template <class T, int Dimensions = 1> struct surface {
	NVW_CUDA_REFUSED("surfaces") __host__ __device__ surface();
};
typedef unsigned long long cudaTextureObject_t NVW_CUDA_REFUSED("textures");
typedef unsigned long long cudaSurfaceObject_t NVW_CUDA_REFUSED("surfaces");
typedef struct nvw_cuda_graph *cudaGraph_t NVW_CUDA_REFUSED("graphs");
typedef struct nvw_cuda_graph_exec *cudaGraphExec_t NVW_CUDA_REFUSED("graphs");
typedef struct nvw_cuda_array *cudaArray_t NVW_CUDA_REFUSED("arrays for textures");

#define X(what, name)                                  \
	template <class T = float, class... Arguments> \
	NVW_CUDA_REFUSED(what)                         \
	__host__ __device__ T name(Arguments...);
X("textures", tex1D)
X("textures", tex1DLod)
X("textures", tex1DGrad)
X("textures", tex1DLayered)
X("textures", tex1Dfetch)
X("textures", tex2D)
X("textures", tex2DLod)
X("textures", tex2DGrad)
X("textures", tex2DLayered)
X("textures", tex2Dgather)
X("textures", tex3D)
X("textures", tex3DLod)
X("textures", tex3DGrad)
X("textures", texCubemap)
X("textures", texCubemapLayered)
X("surfaces", surf1Dread)
X("surfaces", surf1Dwrite)
X("surfaces", surf2Dread)
X("surfaces", surf2Dwrite)
X("surfaces", surf3Dread)
X("surfaces", surf3Dwrite)
X("surfaces", surf2DLayeredread)
X("surfaces", surf2DLayeredwrite)
#undef X

#define X(what, name) template <class... Arguments> NVW_CUDA_REFUSED(what) enum cudaError name(Arguments...);
X("graphs", cudaGraphCreate)
X("graphs", cudaGraphInstantiate)
X("graphs", cudaGraphLaunch)
X("graphs", cudaGraphAddKernelNode)
X("graphs", cudaStreamBeginCapture)
X("graphs", cudaStreamEndCapture)
X("graphics", cudaGraphicsMapResources)
X("graphics", cudaGraphicsUnmapResources)
X("graphics", cudaGraphicsGLRegisterBuffer)
X("graphics", cudaGraphicsResourceGetMappedPointer)
X("graphics", cudaGraphicsUnregisterResource)
X("textures", cudaCreateTextureObject)
X("textures", cudaDestroyTextureObject)
X("textures", cudaBindTexture)
X("textures", cudaBindTexture2D)
X("textures", cudaUnbindTexture)
X("textures", cudaBindTextureToArray)
X("surfaces", cudaCreateSurfaceObject)
X("surfaces", cudaDestroySurfaceObject)
X("surfaces", cudaBindSurfaceToArray)
X("arrays for textures", cudaFreeArray)
X("arrays for textures", cudaMemcpy2DToArray)
X("arrays for textures", cudaMallocArray)
X("arrays for textures", cudaMalloc3DArray)
X("arrays for textures", cudaMemcpyToArray)
X("memory shared by processes", cudaIpcGetMemHandle)
X("memory shared by processes", cudaIpcOpenMemHandle)
#undef X
typedef struct nvw_cuda_graphics cudaGraphicsResource NVW_CUDA_REFUSED("graphics");
typedef struct nvw_cuda_ipc cudaIpcMemHandle_t NVW_CUDA_REFUSED("memory shared by processes");
#define __managed__ NVW_CUDA_REFUSED("__managed__ variables") __attribute__((device))

#endif
