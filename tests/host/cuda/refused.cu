// SPDX-License-Identifier: BSD-3-Clause
// What is not supported is named when it is compiled.
texture<float, 2> image;

__global__ void reads(float *p) { *p = tex2D<float>(0, 1, 2); }
__managed__ int shared_by_both;
int drawn(cudaGraphicsResource *r) { return cudaGraphicsMapResources(1, &r, 0) + shared_by_both; } // line 7
int graph(cudaGraph_t *g) { return cudaGraphCreate(g, 0); }
