/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floating numbers of 16 bits, for cuda_fp16.h and cuda_bf16.h, of which one has 5 bits of exponent and 10 of
 * mantissa, the other 8 and 7. Each operation is done in double and rounded once: a double has more than
 * twice the bits and more exponents, so that the result is the correctly rounded one, also where double has
 * rounded before. A fused multiplication and addition is rounded to odd first.
 *
 * It is included once for each type, whose names and sizes are macros then.
 */
#ifndef NVW_CUDA_NARROW_H
#define NVW_CUDA_NARROW_H

#include <cuda_runtime.h>
#include <nvw_cuda_rounding.h>

NVW_CUDA_BOTH unsigned long long nvw_cuda_bits_of(double value)
{
	unsigned long long bits;

	__builtin_memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* 2 to a power of normal doubles. */
NVW_CUDA_BOTH double nvw_cuda_power(int n)
{
	const unsigned long long bits = (unsigned long long)(n + 1023) << 52;
	double result;

	__builtin_memcpy(&result, &bits, sizeof result);
	return result;
}

template <int Exponent, int Mantissa> struct nvw_cuda_format {
	enum { LEAST = 2 - (1 << (Exponent - 1)), MOST = (1 << (Exponent - 1)) - 1 }; /* exponents */
	enum { INFINITE = ((1 << Exponent) - 1) << Mantissa, NOT_A_NUMBER = 0x7fff };

	NVW_CUDA_BOTH double widened(unsigned short x)
	{
		const int e = (x & INFINITE) >> Mantissa, m = x & ((1 << Mantissa) - 1);
		const bool is_normal = e > 0;
		const double sign = 1 - 2 * (x >> 15);

		if ((x & INFINITE) == INFINITE) {
			return m ? __builtin_nan("") : sign * __builtin_inf();
		}
		return sign * (m + (is_normal << Mantissa)) *
		       nvw_cuda_power(e - is_normal + LEAST - Mantissa);
	}

	NVW_CUDA_BOTH unsigned short narrowed(double value, int toward = NVW_CUDA_RN)
	{
		const unsigned long long bits = nvw_cuda_bits_of(value);
		const bool negative = bits >> 63, away = toward == (negative ? NVW_CUDA_RD : NVW_CUDA_RU);
		const int e = (int)(bits >> 52 & 0x7ff) - 1023, exponent = e < LEAST ? LEAST : e;
		const unsigned sign = (unsigned)negative << 15;

		if (value != value) {
			return NOT_A_NUMBER;
		}
		if (e == 1024) {
			return (unsigned short)(sign | INFINITE);
		}
		unsigned n = INFINITE;

		if (e <= MOST) {
			const double scaled = __builtin_fabs(value) * nvw_cuda_power(Mantissa - exponent);
			const unsigned whole = (unsigned)scaled;
			const double rest = scaled - whole;

			bool is_up = away && rest > 0;

			if (toward == NVW_CUDA_RN) {
				is_up = rest > 0.5 || (rest == 0.5 && whole % 2);
			}
			n = whole + ((unsigned)(exponent - LEAST) << Mantissa) + is_up;
		}
		if (n >= INFINITE) {
			n = INFINITE - (toward != NVW_CUDA_RN && !away);
		}
		return (unsigned short)(sign | n);
	}
};

/* a * b is exact. What the sum leaves over makes its last bit odd, so that the next rounding cannot take
 * it for a tie. */
NVW_CUDA_BOTH double nvw_cuda_fused(double a, double b, double c)
{
	const double product = a * b, sum = product + c, part = sum - product,
		     left = (product - (sum - part)) + (c - part);
	unsigned long long bits = nvw_cuda_bits_of(sum);
	double result;

	if (!(left != 0) || bits % 2 || sum - sum != 0) {
		return sum;
	}
	bits += (left > 0) == (sum > 0) ? 1 : -1;
	__builtin_memcpy(&result, &bits, sizeof result);
	return result;
}

#ifdef __CUDA__ /* a .cpp file has no atomics */
template <class Word, class T> NVW_CUDA_INLINE T nvw_cuda_add_narrow(T *to, T value)
{
	Word seen = *(volatile Word *)to, before, after;
	T old;

	do {
		before = seen;
		__builtin_memcpy(&old, &before, sizeof old);
		const T sum = old + value;
		__builtin_memcpy(&after, &sum, sizeof after);
		seen = atomicCAS((Word *)to, before, after);
	} while (seen != before);
	return old;
}
#endif

#define NVW_CUDA_NARROW_OPERATION(name, symbol)                                               \
	NVW_CUDA_BOTH NVW_CUDA_T name(NVW_CUDA_T a, NVW_CUDA_T b)                             \
	{                                                                                     \
		return NVW_CUDA_T::of((double)(float)a symbol(double)(float) b);              \
	}                                                                                     \
	NVW_CUDA_BOTH NVW_CUDA_T name##_sat(NVW_CUDA_T a, NVW_CUDA_T b)                       \
	{                                                                                     \
		const float v = name(a, b);                                                   \
		if (!(v > 0)) {                                                               \
			return NVW_CUDA_T::of(0.0f);                                          \
		}                                                                             \
		return NVW_CUDA_T::of(v < 1 ? v : 1);                                         \
	}                                                                                     \
	NVW_CUDA_BOTH NVW_CUDA_T2 name##2(NVW_CUDA_T2 a, NVW_CUDA_T2 b)                       \
	{                                                                                     \
		return NVW_CUDA_T2(name(a.x, b.x), name(a.y, b.y));                           \
	}                                                                                     \
	NVW_CUDA_BOTH NVW_CUDA_T operator symbol(const NVW_CUDA_T &a, const NVW_CUDA_T &b)    \
	{                                                                                     \
		return name(a, b);                                                            \
	}                                                                                     \
	NVW_CUDA_BOTH NVW_CUDA_T &operator symbol##=(NVW_CUDA_T &a, const NVW_CUDA_T &b)      \
	{                                                                                     \
		return a = name(a, b);                                                        \
	}                                                                                     \
	NVW_CUDA_BOTH NVW_CUDA_T2 operator symbol(const NVW_CUDA_T2 &a, const NVW_CUDA_T2 &b) \
	{                                                                                     \
		return name##2(a, b);                                                         \
	}                                                                                     \
	NVW_CUDA_BOTH NVW_CUDA_T2 &operator symbol##=(NVW_CUDA_T2 &a, const NVW_CUDA_T2 &b)   \
	{                                                                                     \
		return a = name##2(a, b);                                                     \
	}
#define NVW_CUDA_NARROW_COMPARISON(name, symbol)                                                   \
	NVW_CUDA_BOTH bool __h##name(NVW_CUDA_T a, NVW_CUDA_T b)                                   \
	{                                                                                          \
		return (float)a symbol(float) b;                                                   \
	}                                                                                          \
	NVW_CUDA_BOTH NVW_CUDA_T2 __h##name##2(NVW_CUDA_T2 a, NVW_CUDA_T2 b)                       \
	{                                                                                          \
		return NVW_CUDA_T2(                                                                \
			NVW_CUDA_T::of(__h##name(a.x, b.x)), NVW_CUDA_T::of(__h##name(a.y, b.y))); \
	}                                                                                          \
	NVW_CUDA_BOTH bool __hb##name##2(NVW_CUDA_T2 a, NVW_CUDA_T2 b)                             \
	{                                                                                          \
		return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                 \
	}                                                                                          \
	NVW_CUDA_BOTH bool operator symbol(const NVW_CUDA_T &a, const NVW_CUDA_T &b)               \
	{                                                                                          \
		return __h##name(a, b);                                                            \
	}
#define NVW_CUDA_NARROW_FUNCTION(name, value)                   \
	NVW_CUDA_BOTH NVW_CUDA_T h##name(NVW_CUDA_T a)          \
	{                                                       \
		const double v = (float)a;                      \
		return NVW_CUDA_T::of(value);                   \
	}                                                       \
	NVW_CUDA_BOTH NVW_CUDA_T2 h2##name(NVW_CUDA_T2 a)       \
	{                                                       \
		return NVW_CUDA_T2(h##name(a.x), h##name(a.y)); \
	}
/* Exact, also of not a number: on the bits. */
#define NVW_CUDA_NARROW_SIGN(name, bits)                            \
	NVW_CUDA_BOTH NVW_CUDA_T name(NVW_CUDA_T a)                 \
	{                                                           \
		return NVW_CUDA_T::of_bits((unsigned short)(bits)); \
	}                                                           \
	NVW_CUDA_BOTH NVW_CUDA_T2 name##2(NVW_CUDA_T2 a)            \
	{                                                           \
		return NVW_CUDA_T2(name(a.x), name(a.y));           \
	}
#define NVW_CUDA_NARROW_CHOICE(name, symbol)                            \
	NVW_CUDA_BOTH NVW_CUDA_T name(NVW_CUDA_T a, NVW_CUDA_T b)       \
	{                                                               \
		const float v = a, w = b;                               \
		const bool first = w != w || v symbol w;                \
		return v == v && first ? a : b;                         \
	}                                                               \
	NVW_CUDA_BOTH NVW_CUDA_T2 name##2(NVW_CUDA_T2 a, NVW_CUDA_T2 b) \
	{                                                               \
		return NVW_CUDA_T2(name(a.x, b.x), name(a.y, b.y));     \
	}
#define NVW_CUDA_NARROW_TO(Wide, type, suffix, toward)                           \
	NVW_CUDA_BOTH NVW_CUDA_T NVW_CUDA_NAMED(__##type##2, suffix)(Wide value) \
	{                                                                        \
		return NVW_CUDA_T::of(value, toward);                            \
	}

#endif

/* ---- A type: NVW_CUDA_T, whose functions NVW_CUDA_NAMED() names, and NVW_CUDA_T2, two of it */
#ifdef NVW_CUDA_T

struct NVW_CUDA_T {
	unsigned short x;
	typedef nvw_cuda_format<NVW_CUDA_EXPONENT, NVW_CUDA_MANTISSA> format;
	NVW_CUDA_T() = default;
	template <class Number>
	__host__ __device__ NVW_CUDA_T(Number value) : x(format::narrowed((double)value))
	{
	}
	__host__ __device__ operator float() const
	{
		return (float)format::widened(x);
	}
	static __host__ __device__ NVW_CUDA_T of_bits(unsigned short bits)
	{
		NVW_CUDA_T result;
		result.x = bits;
		return result;
	}
	static __host__ __device__ NVW_CUDA_T of(double value, int toward = NVW_CUDA_RN)
	{
		return of_bits(format::narrowed(value, toward));
	}
};
struct __align__(4) NVW_CUDA_T2
{
	NVW_CUDA_T x, y;
	NVW_CUDA_T2() = default;
	__host__ __device__ NVW_CUDA_T2(NVW_CUDA_T a, NVW_CUDA_T b) : x(a), y(b)
	{
	}
};
NVW_CUDA_NARROW_OPERATION(__hadd, +)
NVW_CUDA_NARROW_OPERATION(__hsub, -)
NVW_CUDA_NARROW_OPERATION(__hmul, *)
NVW_CUDA_NARROW_OPERATION(__hdiv, /)
NVW_CUDA_NARROW_COMPARISON(eq, ==)
NVW_CUDA_NARROW_COMPARISON(ne, !=)
NVW_CUDA_NARROW_COMPARISON(lt, <)
NVW_CUDA_NARROW_COMPARISON(le, <=)
NVW_CUDA_NARROW_COMPARISON(gt, >)
NVW_CUDA_NARROW_COMPARISON(ge, >=)
NVW_CUDA_NARROW_CHOICE(__hmax, >)
NVW_CUDA_NARROW_CHOICE(__hmin, <)
NVW_CUDA_NARROW_SIGN(__hneg, a.x ^ 0x8000)
NVW_CUDA_NARROW_SIGN(__habs, a.x & 0x7fff)
NVW_CUDA_NARROW_FUNCTION(sqrt, __builtin_sqrt(v))
NVW_CUDA_NARROW_FUNCTION(floor, __builtin_floor(v))
NVW_CUDA_NARROW_FUNCTION(ceil, __builtin_ceil(v))
NVW_CUDA_NARROW_FUNCTION(trunc, __builtin_trunc(v))
NVW_CUDA_NARROW_FUNCTION(rint, __builtin_rint(v))
NVW_CUDA_NARROW_FUNCTION(rcp, 1 / v)
NVW_CUDA_NARROW_FUNCTION(rsqrt, 1 / __builtin_sqrt(v))
NVW_CUDA_NARROW_FUNCTION(exp, __builtin_exp(v))
NVW_CUDA_NARROW_FUNCTION(log, __builtin_log(v))
NVW_CUDA_NARROW_FUNCTION(exp2, __builtin_exp2(v))
NVW_CUDA_NARROW_FUNCTION(exp10, __builtin_pow(10, v))
NVW_CUDA_NARROW_FUNCTION(log2, __builtin_log2(v))
NVW_CUDA_NARROW_FUNCTION(log10, __builtin_log10(v))
NVW_CUDA_NARROW_FUNCTION(sin, __builtin_sin(v))
NVW_CUDA_NARROW_FUNCTION(cos, __builtin_cos(v))
NVW_CUDA_BOTH NVW_CUDA_T operator-(const NVW_CUDA_T &a)
{
	return __hneg(a);
}
NVW_CUDA_BOTH NVW_CUDA_T2 operator-(const NVW_CUDA_T2 &a)
{
	return __hneg2(a);
}
NVW_CUDA_BOTH NVW_CUDA_T __hfma(NVW_CUDA_T a, NVW_CUDA_T b, NVW_CUDA_T c)
{
	return NVW_CUDA_T::of(nvw_cuda_fused((float)a, (float)b, (float)c));
}
NVW_CUDA_BOTH NVW_CUDA_T2 __hfma2(NVW_CUDA_T2 a, NVW_CUDA_T2 b, NVW_CUDA_T2 c)
{
	return NVW_CUDA_T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
NVW_CUDA_BOTH bool __hisnan(NVW_CUDA_T a)
{
	return (a.x & 0x7fff) > NVW_CUDA_T::format::INFINITE;
}
NVW_CUDA_BOTH int __hisinf(NVW_CUDA_T a)
{
	return ((a.x & 0x7fff) == NVW_CUDA_T::format::INFINITE) * (1 - 2 * (a.x >> 15));
}
NVW_CUDA_NARROW_TO(float, float, , NVW_CUDA_RN)
NVW_CUDA_NARROW_TO(float, float, _rn, NVW_CUDA_RN)
NVW_CUDA_NARROW_TO(float, float, _rz, NVW_CUDA_RZ)
NVW_CUDA_NARROW_TO(float, float, _rd, NVW_CUDA_RD)
NVW_CUDA_NARROW_TO(float, float, _ru, NVW_CUDA_RU)
NVW_CUDA_NARROW_TO(double, double, , NVW_CUDA_RN)
NVW_CUDA_NARROW_TO(int, int, _rn, NVW_CUDA_RN)
NVW_CUDA_NARROW_TO(unsigned, uint, _rn, NVW_CUDA_RN)
NVW_CUDA_BOTH float NVW_CUDA_NAMED(__, 2float)(NVW_CUDA_T a)
{
	return a;
}
#ifdef __CUDA__
NVW_CUDA_INLINE int NVW_CUDA_NAMED(__, 2int_rz)(NVW_CUDA_T a)
{
	return __float2int_rz(a);
}
NVW_CUDA_INLINE int NVW_CUDA_NAMED(__, 2int_rn)(NVW_CUDA_T a)
{
	return __float2int_rn(a);
}
NVW_CUDA_INLINE NVW_CUDA_T atomicAdd(NVW_CUDA_T *to, NVW_CUDA_T value)
{
	return nvw_cuda_add_narrow<unsigned short>(to, value);
}
NVW_CUDA_INLINE NVW_CUDA_T2 atomicAdd(NVW_CUDA_T2 *to, NVW_CUDA_T2 value)
{
	return nvw_cuda_add_narrow<unsigned>(to, value);
}
#endif
NVW_CUDA_BOTH NVW_CUDA_T NVW_CUDA_NAMED(__ushort_as_, )(unsigned short bits)
{
	return NVW_CUDA_T::of_bits(bits);
}
NVW_CUDA_BOTH unsigned short NVW_CUDA_NAMED(__, _as_ushort)(NVW_CUDA_T a)
{
	return a.x;
}
NVW_CUDA_BOTH NVW_CUDA_T2 NVW_CUDA_NAMED(__float2, 2_rn)(float a)
{
	return NVW_CUDA_T2(NVW_CUDA_T::of(a), NVW_CUDA_T::of(a));
}
NVW_CUDA_BOTH NVW_CUDA_T2 NVW_CUDA_NAMED(__floats2, 2_rn)(float a, float b)
{
	return NVW_CUDA_T2(NVW_CUDA_T::of(a), NVW_CUDA_T::of(b));
}
NVW_CUDA_BOTH NVW_CUDA_T2 NVW_CUDA_NAMED(__float22, 2_rn)(float2 a)
{
	return NVW_CUDA_T2(NVW_CUDA_T::of(a.x), NVW_CUDA_T::of(a.y));
}
NVW_CUDA_BOTH float2 NVW_CUDA_NAMED(__, 22float2)(NVW_CUDA_T2 a)
{
	return make_float2(a.x, a.y);
}
NVW_CUDA_BOTH NVW_CUDA_T2 NVW_CUDA_NAMED(__halves2, 2)(NVW_CUDA_T a, NVW_CUDA_T b)
{
	return NVW_CUDA_T2(a, b);
}
NVW_CUDA_BOTH NVW_CUDA_T NVW_CUDA_NAMED(__low2, )(NVW_CUDA_T2 a)
{
	return a.x;
}
NVW_CUDA_BOTH NVW_CUDA_T NVW_CUDA_NAMED(__high2, )(NVW_CUDA_T2 a)
{
	return a.y;
}
NVW_CUDA_BOTH float __low2float(NVW_CUDA_T2 a)
{
	return a.x;
}
NVW_CUDA_BOTH float __high2float(NVW_CUDA_T2 a)
{
	return a.y;
}
NVW_CUDA_BOTH NVW_CUDA_T2 NVW_CUDA_NAMED(__lows2, 2)(NVW_CUDA_T2 a, NVW_CUDA_T2 b)
{
	return NVW_CUDA_T2(a.x, b.x);
}
NVW_CUDA_BOTH NVW_CUDA_T2 NVW_CUDA_NAMED(__highs2, 2)(NVW_CUDA_T2 a, NVW_CUDA_T2 b)
{
	return NVW_CUDA_T2(a.y, b.y);
}
NVW_CUDA_BOTH NVW_CUDA_T2 __lowhigh2highlow(NVW_CUDA_T2 a)
{
	return NVW_CUDA_T2(a.y, a.x);
}
NVW_CUDA_BOTH NVW_CUDA_T2 __h2div(NVW_CUDA_T2 a, NVW_CUDA_T2 b)
{
	return __hdiv2(a, b);
}

#undef NVW_CUDA_T
#undef NVW_CUDA_T2
#undef NVW_CUDA_NAMED
#undef NVW_CUDA_EXPONENT
#undef NVW_CUDA_MANTISSA
#endif
