// SPDX-License-Identifier: BSD-3-Clause
// What is not supported is named when it is compiled.
texture<float, 2> image;

__global__ void reads(float *p) { *p = tex2D<float>(0, 1, 2); }
static int own;
int drawn(cudaGraphicsResource *r) { return cudaGraphicsMapResources(1, &r, 0) + own; } // line 7
int graph(cudaGraph_t *g) { return cudaGraphCreate(g, 0); }
#include <mma.h>
using namespace nvcuda;
__global__ void multiplies(const half *a, float *d)
{
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum; // line 13
	wmma::fill_fragment(d, 0.0f);
	wmma::load_matrix_sync(d, a, 16);
	d[0] = tex1Dfetch<float>(0, 1);
	tex2D(d, 0, 1.5f, 2.5f);
	surf2Dwrite(1.0f, 0, 4, 4);
}
void driver(CUmodule *m) {} // line 20
void own(CUstomers *c, CUdeviceless *d) {}
