/* SPDX-License-Identifier: BSD-3-Clause */
/* What is not supported has a name all the same, so that the compiler says at each use that it is not. */
#ifndef NVW_CUDA_REFUSED_H
#define NVW_CUDA_REFUSED_H

#define NVW_CUDA_REFUSED(what) __attribute__((unavailable("nvwave does not support " what)))

template <class T, int Dimensions = 1, int Mode = 0> struct NVW_CUDA_REFUSED("textures") texture {
};
template <class T, int Dimensions = 1> struct NVW_CUDA_REFUSED("surfaces") surface {
};
typedef unsigned long long cudaTextureObject_t NVW_CUDA_REFUSED("textures");
typedef unsigned long long cudaSurfaceObject_t NVW_CUDA_REFUSED("surfaces");
typedef struct nvw_cuda_graph *cudaGraph_t NVW_CUDA_REFUSED("graphs");
typedef struct nvw_cuda_graph_exec *cudaGraphExec_t NVW_CUDA_REFUSED("graphs");
typedef struct nvw_cuda_array *cudaArray_t NVW_CUDA_REFUSED("arrays for textures");

#define X(name)                                \
	template <class T, class... Arguments> \
	NVW_CUDA_REFUSED("textures")           \
	__host__ __device__ T name(Arguments...);
X(tex1D)
X(tex1Dfetch)
X(tex2D)
X(tex3D)
X(tex2DLayered)
X(texCubemap)
#undef X

#endif
