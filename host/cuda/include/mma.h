/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensor cores: names alone, so that the compiler says at each use that they are not supported. */
#ifndef NVW_CUDA_MMA_H
#define NVW_CUDA_MMA_H

#include "cuda_fp16.h"
#include "nvw_cuda_refused.h"

namespace nvcuda
{
namespace wmma
{

enum layout_t { mem_row_major, mem_col_major };
struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
namespace precision
{
struct tf32;
struct u4;
struct s4;
struct b1;
} // namespace precision

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
	NVW_CUDA_REFUSED("tensor cores") __device__ fragment();
	T x[1];
	enum { num_elements = 1 };
};

#define X(name) \
	template <class... Arguments> NVW_CUDA_REFUSED("tensor cores") __device__ void name(Arguments &&...);
X(fill_fragment)
X(load_matrix_sync)
X(store_matrix_sync)
X(mma_sync)
X(bmma_sync)
#undef X

} // namespace wmma
} // namespace nvcuda

#endif
