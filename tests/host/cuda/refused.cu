// SPDX-License-Identifier: BSD-3-Clause
// What is not supported is named when it is compiled.
texture<float, 2> image;

__global__ void reads(float *p) { *p = tex2D<float>(0, 1, 2); }
