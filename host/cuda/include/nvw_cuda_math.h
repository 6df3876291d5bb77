/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mathematics in kernels: CUDA's own functions beside the C library's (nvw_cuda_libm.h).
 */
#ifndef NVW_CUDA_MATH_H
#define NVW_CUDA_MATH_H

#include <host_defines.h>

#define NVW_CUDA_MINMAX(type)                  \
	NVW_CUDA_BOTH type min(type a, type b) \
	{                                      \
		return b < a ? b : a;          \
	}                                      \
	NVW_CUDA_BOTH type max(type a, type b) \
	{                                      \
		return a < b ? b : a;          \
	}
NVW_CUDA_MINMAX(int)
NVW_CUDA_MINMAX(unsigned)
NVW_CUDA_MINMAX(long)
NVW_CUDA_MINMAX(unsigned long)
NVW_CUDA_MINMAX(long long)
NVW_CUDA_MINMAX(unsigned long long)
NVW_CUDA_MINMAX(float)
NVW_CUDA_MINMAX(double)
#undef NVW_CUDA_MINMAX
/* CUDA takes the unsigned one of two types that differ in the sign alone, and double. */
#define NVW_CUDA_MINMAX(type, other)             \
	NVW_CUDA_BOTH other min(type a, other b) \
	{                                        \
		return min((other)a, b);         \
	}                                        \
	NVW_CUDA_BOTH other min(other a, type b) \
	{                                        \
		return min(a, (other)b);         \
	}                                        \
	NVW_CUDA_BOTH other max(type a, other b) \
	{                                        \
		return max((other)a, b);         \
	}                                        \
	NVW_CUDA_BOTH other max(other a, type b) \
	{                                        \
		return max(a, (other)b);         \
	}
NVW_CUDA_MINMAX(int, unsigned)
NVW_CUDA_MINMAX(long, unsigned long)
NVW_CUDA_MINMAX(long long, unsigned long long)
NVW_CUDA_MINMAX(float, double)
#undef NVW_CUDA_MINMAX
#define NVW_CUDA_MINMAX(letter, type)                  \
	NVW_CUDA_BOTH type letter##min(type a, type b) \
	{                                              \
		return min(a, b);                      \
	}                                              \
	NVW_CUDA_BOTH type letter##max(type a, type b) \
	{                                              \
		return max(a, b);                      \
	}
NVW_CUDA_MINMAX(u, unsigned)
NVW_CUDA_MINMAX(ll, long long)
NVW_CUDA_MINMAX(ull, unsigned long long)
#undef NVW_CUDA_MINMAX

NVW_CUDA_BOTH float rsqrtf(float x)
{
	return 1.0f / __builtin_sqrtf(x);
}
NVW_CUDA_BOTH double rsqrt(double x)
{
	return 1.0 / __builtin_sqrt(x);
}
NVW_CUDA_INLINE float __fdividef(float a, float b)
{
	return a / b;
}
NVW_CUDA_INLINE float fdividef(float a, float b)
{
	return a / b;
}
#define NVW_CUDA_FAST(name)                     \
	NVW_CUDA_INLINE float __##name(float x) \
	{                                       \
		return name(x);                 \
	}
NVW_CUDA_FAST(expf)
NVW_CUDA_FAST(exp10f)
NVW_CUDA_FAST(logf)
NVW_CUDA_FAST(log2f)
NVW_CUDA_FAST(log10f)
NVW_CUDA_FAST(sinf)
NVW_CUDA_FAST(cosf)
NVW_CUDA_FAST(tanf)
#undef NVW_CUDA_FAST
NVW_CUDA_INLINE float __powf(float x, float y)
{
	return powf(x, y);
}
NVW_CUDA_INLINE float __saturatef(float x)
{
	if (!(x > 0.0f)) {
		return 0.0f;
	}
	return x < 1.0f ? x : 1.0f;
}

NVW_CUDA_INLINE int __popc(unsigned x)
{
	return __builtin_popcount(x);
}
NVW_CUDA_INLINE int __popcll(unsigned long long x)
{
	return __builtin_popcountll(x);
}
NVW_CUDA_INLINE int __clz(int x)
{
	return x ? __builtin_clz((unsigned)x) : 32;
}
NVW_CUDA_INLINE int __clzll(long long x)
{
	return x ? __builtin_clzll((unsigned long long)x) : 64;
}
NVW_CUDA_INLINE int __ffs(int x)
{
	return __builtin_ffs(x);
}
NVW_CUDA_INLINE int __ffsll(long long x)
{
	return __builtin_ffsll(x);
}
NVW_CUDA_INLINE unsigned __brev(unsigned x)
{
	return __builtin_bitreverse32(x);
}
NVW_CUDA_INLINE unsigned long long __brevll(unsigned long long x)
{
	return __builtin_bitreverse64(x);
}
NVW_CUDA_INLINE int __mul24(int a, int b)
{
	return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8));
}
NVW_CUDA_INLINE unsigned __umul24(unsigned a, unsigned b)
{
	return (a & 0xffffff) * (b & 0xffffff);
}
NVW_CUDA_INLINE int __mulhi(int a, int b)
{
	return (int)((long long)a * b >> 32);
}
NVW_CUDA_INLINE unsigned __umulhi(unsigned a, unsigned b)
{
	return (unsigned)((unsigned long long)a * b >> 32);
}
NVW_CUDA_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
	return (unsigned long long)((unsigned __int128)a * b >> 64);
}
NVW_CUDA_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
	return (unsigned)((((unsigned long long)high << 32 | low) << (by & 31)) >> 32);
}
NVW_CUDA_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
	return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
NVW_CUDA_INLINE int __dp4a(int a, int b, int sum)
{
	for (int i = 0; i < 32; i += 8) {
		sum += (signed char)(a >> i) * (signed char)(b >> i);
	}
	return sum;
}
NVW_CUDA_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned sum)
{
	for (int i = 0; i < 32; i += 8) {
		sum += (a >> i & 0xff) * (b >> i & 0xff);
	}
	return sum;
}
NVW_CUDA_INLINE unsigned __sad(int x, int y, unsigned sum)
{
	return sum + (unsigned)max(x, y) - (unsigned)min(x, y);
}
NVW_CUDA_INLINE unsigned __usad(unsigned x, unsigned y, unsigned sum)
{
	return sum + max(x, y) - min(x, y);
}
NVW_CUDA_INLINE int __hadd(int x, int y)
{
	return (int)(((long long)x + y) >> 1);
}
NVW_CUDA_INLINE unsigned __uhadd(unsigned x, unsigned y)
{
	return (unsigned)(((unsigned long long)x + y) >> 1);
}
NVW_CUDA_INLINE double normcdf(double x)
{
	return 0.5 * erfc(-x * 0.70710678118654752440);
}
NVW_CUDA_INLINE float normcdff(float x)
{
	return (float)normcdf((double)x);
}
NVW_CUDA_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
	const unsigned long long all = (unsigned long long)y << 32 | x;
	unsigned result = 0;

	for (unsigned i = 0; i < 4; i++) {
		const unsigned which = selector >> 4 * i & 15;
		unsigned byte = (unsigned)(all >> 8 * (which & 7)) & 0xff;

		if (which & 8) { /* its sign */
			byte = (byte >> 7) * 0xff;
		}
		result |= byte << 8 * i;
	}
	return result;
}
#define NVW_CUDA_AS(to, name, from)                      \
	NVW_CUDA_INLINE to name(from x)                  \
	{                                                \
		to result;                               \
		__builtin_memcpy(&result, &x, sizeof x); \
		return result;                           \
	}
NVW_CUDA_AS(int, __float_as_int, float)
NVW_CUDA_AS(unsigned, __float_as_uint, float)
NVW_CUDA_AS(float, __int_as_float, int)
NVW_CUDA_AS(float, __uint_as_float, unsigned)
NVW_CUDA_AS(long long, __double_as_longlong, double)
NVW_CUDA_AS(double, __longlong_as_double, long long)
#undef NVW_CUDA_AS

#include <nvw_cuda_intrinsics.h>

#endif
