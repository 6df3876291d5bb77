/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's short vectors: int2, float4 ..., each with its make function. Those of 2 and 4 are aligned as on
 * the device, to at most 16 bytes. */
#ifndef NVW_CUDA_VECTOR_TYPES_H
#define NVW_CUDA_VECTOR_TYPES_H

#include <host_defines.h>

#define NVW_CUDA_VECTORS(name, type, align2, align4)                         \
	struct name##1                                                       \
	{                                                                    \
		type x;                                                      \
	};                                                                   \
	struct __align__(align2) name##2                                     \
	{                                                                    \
		type x, y;                                                   \
	};                                                                   \
	struct name##3                                                       \
	{                                                                    \
		type x, y, z;                                                \
	};                                                                   \
	struct __align__(align4) name##4                                     \
	{                                                                    \
		type x, y, z, w;                                             \
	};                                                                   \
	NVW_CUDA_BOTH name##1 make_##name##1(type x)                         \
	{                                                                    \
		return name##1 {x};                                          \
	}                                                                    \
	NVW_CUDA_BOTH name##2 make_##name##2(type x, type y)                 \
	{                                                                    \
		return name##2 {x, y};                                       \
	}                                                                    \
	NVW_CUDA_BOTH name##3 make_##name##3(type x, type y, type z)         \
	{                                                                    \
		return name##3 {x, y, z};                                    \
	}                                                                    \
	NVW_CUDA_BOTH name##4 make_##name##4(type x, type y, type z, type w) \
	{                                                                    \
		return name##4 {x, y, z, w};                                 \
	}

NVW_CUDA_VECTORS(char, signed char, 2, 4)
NVW_CUDA_VECTORS(uchar, unsigned char, 2, 4)
NVW_CUDA_VECTORS(short, short, 4, 8)
NVW_CUDA_VECTORS(ushort, unsigned short, 4, 8)
NVW_CUDA_VECTORS(int, int, 8, 16)
NVW_CUDA_VECTORS(uint, unsigned, 8, 16)
NVW_CUDA_VECTORS(long, long, 16, 16)
NVW_CUDA_VECTORS(ulong, unsigned long, 16, 16)
NVW_CUDA_VECTORS(longlong, long long, 16, 16)
NVW_CUDA_VECTORS(ulonglong, unsigned long long, 16, 16)
NVW_CUDA_VECTORS(float, float, 8, 16)
NVW_CUDA_VECTORS(double, double, 16, 16)

#undef NVW_CUDA_VECTORS

/* The size of a grid or of a block: what is not given is 1. */
struct dim3 {
	unsigned x, y, z;

	constexpr __host__ __device__ dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
	{
	}
	constexpr __host__ __device__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
	{
	}
	constexpr __host__ __device__ operator uint3() const
	{
		return uint3{x, y, z};
	}
};

#endif
