/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's intrinsics of which there are many of a kind: rounding modes, conversions, and parts of a word
 * (__v*2, __v*4). */
#ifndef NVW_CUDA_INTRINSICS_H
#define NVW_CUDA_INTRINSICS_H

#include <nvw_cuda_rounding.h>

/* ---- Rounding modes */

/* To the nearest is what the processor does of itself. */
#define NVW_CUDA_COMPUTED(type, suffix)                                                                      \
	NVW_CUDA_INLINE type nvw_cuda_computed##suffix(unsigned operation, int mode, type a, type b, type c) \
	{                                                                                                    \
		if (mode != NVW_CUDA_RN) {                                                                   \
			return nvw_cuda_rounded##suffix(operation, mode, a, b, c);                           \
		}                                                                                            \
		switch (operation) {                                                                         \
		case NVW_CUDA_ROUNDED_ADD:                                                                   \
			return a + b;                                                                        \
		case NVW_CUDA_ROUNDED_SUB:                                                                   \
			return a - b;                                                                        \
		case NVW_CUDA_ROUNDED_MUL:                                                                   \
			return a * b;                                                                        \
		case NVW_CUDA_ROUNDED_DIV:                                                                   \
			return a / b;                                                                        \
		case NVW_CUDA_ROUNDED_SQRT:                                                                  \
			return sqrt##suffix(a);                                                              \
		default:                                                                                     \
			return fma##suffix(a, b, c);                                                         \
		}                                                                                            \
	}
NVW_CUDA_COMPUTED(double, )
NVW_CUDA_COMPUTED(float, f)
#undef NVW_CUDA_COMPUTED

#define NVW_CUDA_IN_EVERY_MODE(X, ...)  \
	X(rn, NVW_CUDA_RN, __VA_ARGS__) \
	X(rd, NVW_CUDA_RD, __VA_ARGS__) X(ru, NVW_CUDA_RU, __VA_ARGS__) X(rz, NVW_CUDA_RZ, __VA_ARGS__)

#define NVW_CUDA_ROUNDED(mode, number, name, suffix, type, operation, parameters, ...)               \
	NVW_CUDA_INLINE type name##_##mode parameters                                                \
	{                                                                                            \
		return nvw_cuda_computed##suffix(NVW_CUDA_ROUNDED_##operation, number, __VA_ARGS__); \
	}
#define NVW_CUDA_ARITHMETIC(suffix, type, letter, fused)                                                  \
	NVW_CUDA_IN_EVERY_MODE(                                                                           \
		NVW_CUDA_ROUNDED, __##letter##add, suffix, type, ADD, (type a, type b), a, b, 0)          \
	NVW_CUDA_IN_EVERY_MODE(                                                                           \
		NVW_CUDA_ROUNDED, __##letter##sub, suffix, type, SUB, (type a, type b), a, b, 0)          \
	NVW_CUDA_IN_EVERY_MODE(                                                                           \
		NVW_CUDA_ROUNDED, __##letter##mul, suffix, type, MUL, (type a, type b), a, b, 0)          \
	NVW_CUDA_IN_EVERY_MODE(                                                                           \
		NVW_CUDA_ROUNDED, __##letter##div, suffix, type, DIV, (type a, type b), a, b, 0)          \
	NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_ROUNDED, __##letter##rcp, suffix, type, DIV, (type a), 1, a, 0)   \
	NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_ROUNDED, __##letter##sqrt, suffix, type, SQRT, (type a), a, 0, 0) \
	NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_ROUNDED, fused, suffix, type, FMA, (type a, type b, type c), a, b, c)
NVW_CUDA_ARITHMETIC(, double, d, __fma)
NVW_CUDA_ARITHMETIC(f, float, f, __fmaf)
NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_ROUNDED, __fmaf_ieee, f, float, FMA, (float a, float b, float c), a, b, c)

#define NVW_CUDA_CONVERTED(mode, number, name, by, to, from) \
	NVW_CUDA_INLINE to name##_##mode(from a)             \
	{                                                    \
		return number ? by(number, a) : (to)a;       \
	}
NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_CONVERTED, __double2float, nvw_cuda_rounded_narrow, float, double)
NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_CONVERTED, __int2float, nvw_cuda_rounded_llf, float, int)
NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_CONVERTED, __uint2float, nvw_cuda_rounded_llf, float, unsigned)
NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_CONVERTED, __ll2float, nvw_cuda_rounded_llf, float, long long)
NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_CONVERTED, __ull2float, nvw_cuda_rounded_ullf, float, unsigned long long)
NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_CONVERTED, __ll2double, nvw_cuda_rounded_ll, double, long long)
NVW_CUDA_IN_EVERY_MODE(NVW_CUDA_CONVERTED, __ull2double, nvw_cuda_rounded_ull, double, unsigned long long)
NVW_CUDA_INLINE double __int2double_rn(int a)
{
	return a;
}
NVW_CUDA_INLINE double __uint2double_rn(unsigned a)
{
	return a;
}
NVW_CUDA_INLINE float __frsqrt_rn(float a)
{
	return (float)(1 / __builtin_sqrt((double)a));
}

/* The compiler has casts end at the type's ends. */
#define NVW_CUDA_TO_INTEGER_BY(mode, by, name, from, type) \
	NVW_CUDA_INLINE type name##_##mode(from a)         \
	{                                                  \
		return (type)__builtin_##by(a);            \
	}
#define NVW_CUDA_TO_INTEGER(name, from, type, f)               \
	NVW_CUDA_TO_INTEGER_BY(rn, rint##f, name, from, type)  \
	NVW_CUDA_TO_INTEGER_BY(rd, floor##f, name, from, type) \
	NVW_CUDA_TO_INTEGER_BY(ru, ceil##f, name, from, type)  \
	NVW_CUDA_TO_INTEGER_BY(rz, trunc##f, name, from, type)
NVW_CUDA_TO_INTEGER(__float2int, float, int, f)
NVW_CUDA_TO_INTEGER(__float2uint, float, unsigned, f)
NVW_CUDA_TO_INTEGER(__float2ll, float, long long, f)
NVW_CUDA_TO_INTEGER(__float2ull, float, unsigned long long, f)
NVW_CUDA_TO_INTEGER(__double2int, double, int, )
NVW_CUDA_TO_INTEGER(__double2uint, double, unsigned, )
NVW_CUDA_TO_INTEGER(__double2ll, double, long long, )
NVW_CUDA_TO_INTEGER(__double2ull, double, unsigned long long, )

/* ---- Integers and halves of a double */

NVW_CUDA_INLINE long long __mul64hi(long long a, long long b)
{
	return (long long)((__int128)a * b >> 64);
}
NVW_CUDA_INLINE int __rhadd(int a, int b)
{
	return (int)(((long long)a + b + 1) >> 1);
}
NVW_CUDA_INLINE unsigned __urhadd(unsigned a, unsigned b)
{
	return (unsigned)(((unsigned long long)a + b + 1) >> 1);
}
NVW_CUDA_INLINE int __double2hiint(double a)
{
	return (int)(__double_as_longlong(a) >> 32);
}
NVW_CUDA_INLINE int __double2loint(double a)
{
	return (int)__double_as_longlong(a);
}
NVW_CUDA_INLINE double __hiloint2double(int high, int low)
{
	return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
/* The place of the n-th set bit from base upwards, of the -n-th downwards, of base itself for 0; ~0: there
 * is none. */
NVW_CUDA_INLINE unsigned __fns(unsigned mask, unsigned base, int n)
{
	const int step = n < 0 ? -1 : 1;
	int left = n == 0 ? 1 : n * step;

	for (unsigned i = base; i < 32; i += (unsigned)step) {
		if (mask >> i & 1 && --left == 0) {
			return i;
		}
		if (n == 0) {
			break;
		}
	}
	return ~0u;
}
NVW_CUDA_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by)
{
	return (unsigned)(((unsigned long long)high << 32 | low) << min(by, 32u) >> 32);
}
NVW_CUDA_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by)
{
	return (unsigned)(((unsigned long long)high << 32 | low) >> min(by, 32u));
}

/* ---- Numbers */

NVW_CUDA_INLINE double sinpi(double x)
{
	const double part = remainder(x, 2.0);

	return fabs(part) == 1 ? copysign(0.0, x) : sin(part * 3.14159265358979323846);
}
NVW_CUDA_INLINE double cospi(double x)
{
	const double part = fabs(remainder(x, 2.0));

	return part == 0.5 ? 0.0 : cos(part * 3.14159265358979323846);
}
NVW_CUDA_INLINE double norm3d(double a, double b, double c)
{
	return hypot(hypot(a, b), c);
}
NVW_CUDA_INLINE double norm4d(double a, double b, double c, double d)
{
	return hypot(hypot(a, b), hypot(c, d));
}
NVW_CUDA_INLINE double rnorm3d(double a, double b, double c)
{
	return 1 / norm3d(a, b, c);
}
NVW_CUDA_INLINE double rhypot(double a, double b)
{
	return 1 / hypot(a, b);
}
NVW_CUDA_INLINE double rnorm4d(double a, double b, double c, double d)
{
	return 1 / norm4d(a, b, c, d);
}
NVW_CUDA_INLINE double rcbrt(double a)
{
	return 1 / cbrt(a);
}
template <class T> NVW_CUDA_INLINE T nvw_cuda_norm(int n, const T *p)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		sum = hypot(sum, (double)p[i]);
	}
	return (T)sum;
}
NVW_CUDA_INLINE double norm(int n, const double *p)
{
	return nvw_cuda_norm(n, p);
}
NVW_CUDA_INLINE float normf(int n, const float *p)
{
	return nvw_cuda_norm(n, p);
}
NVW_CUDA_INLINE double rnorm(int n, const double *p)
{
	return 1 / norm(n, p);
}
NVW_CUDA_INLINE float rnormf(int n, const float *p)
{
	return 1 / normf(n, p);
}
__device__ double erfinv(double) __asm__("nvw_cuda_erfinv");
__device__ double erfcinv(double) __asm__("nvw_cuda_erfcinv");
__device__ double erfcx(double) __asm__("nvw_cuda_erfcx");
extern "C" __device__ double nvw_cuda_cyl_bessel_i(int, double);
NVW_CUDA_INLINE double normcdfinv(double a)
{
	return -1.41421356237309504880 * erfcinv(2 * a);
}
NVW_CUDA_INLINE double cyl_bessel_i0(double a)
{
	return nvw_cuda_cyl_bessel_i(0, a);
}
NVW_CUDA_INLINE double cyl_bessel_i1(double a)
{
	return nvw_cuda_cyl_bessel_i(1, a);
}
NVW_CUDA_INLINE void sincospi(double a, double *sine, double *cosine)
{
	*sine = sinpi(a);
	*cosine = cospi(a);
}
NVW_CUDA_INLINE double nan(const char *)
{
	return __builtin_nan("");
}
NVW_CUDA_INLINE float nanf(const char *)
{
	return __builtin_nanf("");
}
#define NVW_CUDA_FLOAT(name, parameters, ...)    \
	NVW_CUDA_INLINE float name##f parameters \
	{                                        \
		return (float)name(__VA_ARGS__); \
	}
NVW_CUDA_FLOAT(norm3d, (float a, float b, float c), a, b, c)
NVW_CUDA_FLOAT(norm4d, (float a, float b, float c, float d), a, b, c, d)
NVW_CUDA_FLOAT(rnorm3d, (float a, float b, float c), a, b, c)
NVW_CUDA_FLOAT(rhypot, (float a, float b), a, b)
NVW_CUDA_FLOAT(rnorm4d, (float a, float b, float c, float d), a, b, c, d)
/* These are overloaded: a float has the function of floats. */
#define NVW_CUDA_OVERLOAD(name)             \
	NVW_CUDA_INLINE float name(float a) \
	{                                   \
		return name##f(a);          \
	}
NVW_CUDA_OVERLOAD(rsqrt)
NVW_CUDA_OVERLOAD(exp10)
NVW_CUDA_OVERLOAD(normcdf)
NVW_CUDA_OVERLOAD(j0)
NVW_CUDA_OVERLOAD(j1)
NVW_CUDA_OVERLOAD(y0)
NVW_CUDA_OVERLOAD(y1)
#define NVW_CUDA_FLOATS(name)                      \
	NVW_CUDA_FLOAT(name, (float a), (double)a) \
	NVW_CUDA_OVERLOAD(name)
NVW_CUDA_FLOATS(sinpi)
NVW_CUDA_FLOATS(cospi)
NVW_CUDA_FLOATS(rcbrt)
NVW_CUDA_FLOATS(erfinv)
NVW_CUDA_FLOATS(erfcinv)
NVW_CUDA_FLOATS(erfcx)
NVW_CUDA_FLOATS(normcdfinv)
NVW_CUDA_FLOATS(cyl_bessel_i0)
NVW_CUDA_FLOATS(cyl_bessel_i1)
NVW_CUDA_INLINE void sincospif(float a, float *sine, float *cosine)
{
	*sine = sinpif(a);
	*cosine = cospif(a);
}
NVW_CUDA_INLINE float jn(int n, float a)
{
	return jnf(n, a);
}
NVW_CUDA_INLINE float yn(int n, float a)
{
	return ynf(n, a);
}

/* ---- Two or four parts of a word: x and y are a part of each operand */
#ifndef NVW_CUDA_LEAN /* nvwave-nvcc tries without them first: reading them takes its time */

NVW_CUDA_BOTH int nvw_cuda_within(int value, int least, int most)
{
	return min(max(value, least), most);
}
#define NVW_CUDA_SATURATED(value) nvw_cuda_within(value, most - all, most)
#define NVW_CUDA_PARTS_OF(name, part, expression)                                                  \
	NVW_CUDA_BOTH unsigned name(unsigned a, unsigned b)                                        \
	{                                                                                          \
		const int all = (1 << 8 * sizeof(part)) - 1, most = (part)~0 < 0 ? all >> 1 : all; \
		unsigned result = 0;                                                               \
                                                                                                   \
		for (unsigned i = 0; i < 32; i += 8 * sizeof(part)) {                              \
			const int x = (part)(a >> i), y = (part)(b >> i);                          \
                                                                                                   \
			result |= ((unsigned)(expression) & (unsigned)all) << i;                   \
		}                                                                                  \
		(void)most;                                                                        \
		return result;                                                                     \
	}
#define NVW_CUDA_SIGNED_PARTS(name, expression)       \
	NVW_CUDA_PARTS_OF(name##2, short, expression) \
	NVW_CUDA_PARTS_OF(name##4, signed char, expression)
#define NVW_CUDA_UNSIGNED_PARTS(name, expression)              \
	NVW_CUDA_PARTS_OF(name##2, unsigned short, expression) \
	NVW_CUDA_PARTS_OF(name##4, unsigned char, expression)
#define NVW_CUDA_BOTH_PARTS(name, expression)      \
	NVW_CUDA_SIGNED_PARTS(name##s, expression) \
	NVW_CUDA_UNSIGNED_PARTS(name##u, expression)
NVW_CUDA_UNSIGNED_PARTS(__vadd, x + y)
NVW_CUDA_UNSIGNED_PARTS(__vsub, x - y)
NVW_CUDA_SIGNED_PARTS(__vaddss, NVW_CUDA_SATURATED(x + y))
NVW_CUDA_SIGNED_PARTS(__vsubss, NVW_CUDA_SATURATED(x - y))
NVW_CUDA_UNSIGNED_PARTS(__vaddus, NVW_CUDA_SATURATED(x + y))
NVW_CUDA_UNSIGNED_PARTS(__vsubus, NVW_CUDA_SATURATED(x - y))
NVW_CUDA_SIGNED_PARTS(__vavgs, (x + y + (x + y >= 0)) >> 1)
NVW_CUDA_UNSIGNED_PARTS(__vavgu, (x + y + 1) >> 1)
NVW_CUDA_UNSIGNED_PARTS(__vhaddu, (x + y) >> 1)
NVW_CUDA_BOTH_PARTS(__vmax, max(x, y))
NVW_CUDA_BOTH_PARTS(__vmin, min(x, y))
NVW_CUDA_BOTH_PARTS(__vabsdiff, max(x, y) - min(x, y))
NVW_CUDA_UNSIGNED_PARTS(__vcmpeq, -(x == y))
NVW_CUDA_UNSIGNED_PARTS(__vcmpne, -(x != y))
NVW_CUDA_BOTH_PARTS(__vcmpge, -(x >= y))
NVW_CUDA_BOTH_PARTS(__vcmpgt, -(x > y))
NVW_CUDA_BOTH_PARTS(__vcmple, -(x <= y))
NVW_CUDA_BOTH_PARTS(__vcmplt, -(x < y))
NVW_CUDA_UNSIGNED_PARTS(__vseteq, x == y)
NVW_CUDA_UNSIGNED_PARTS(__vsetne, x != y)
NVW_CUDA_BOTH_PARTS(__vsetge, x >= y)
NVW_CUDA_BOTH_PARTS(__vsetgt, x > y)
NVW_CUDA_BOTH_PARTS(__vsetle, x <= y)
NVW_CUDA_BOTH_PARTS(__vsetlt, x < y)

#define NVW_CUDA_OF_ONE(name, by, a, b)              \
	NVW_CUDA_INLINE unsigned name##2(unsigned v) \
	{                                            \
		return by##2(a, b);                  \
	}                                            \
	NVW_CUDA_INLINE unsigned name##4(unsigned v) \
	{                                            \
		return by##4(a, b);                  \
	}
NVW_CUDA_OF_ONE(__vneg, __vsub, 0, v)
NVW_CUDA_OF_ONE(__vnegss, __vsubss, 0, v)
NVW_CUDA_OF_ONE(__vabs, __vabsdiffs, v, 0)
NVW_CUDA_INLINE unsigned __vabsss2(unsigned v)
{
	return __vmaxs2(v, __vnegss2(v));
}
NVW_CUDA_INLINE unsigned __vabsss4(unsigned v)
{
	return __vmaxs4(v, __vnegss4(v));
}

#define NVW_CUDA_SUM_OF(name, by, part)                               \
	NVW_CUDA_INLINE unsigned name(unsigned a, unsigned b)         \
	{                                                             \
		const unsigned all = by(a, b);                        \
		unsigned sum = 0;                                     \
                                                                      \
		for (unsigned i = 0; i < 32; i += 8 * sizeof(part)) { \
			sum += (part)(all >> i);                      \
		}                                                     \
		return sum;                                           \
	}
NVW_CUDA_SUM_OF(__vsads2, __vabsdiffs2, unsigned short)
NVW_CUDA_SUM_OF(__vsads4, __vabsdiffs4, unsigned char)
NVW_CUDA_SUM_OF(__vsadu2, __vabsdiffu2, unsigned short)
NVW_CUDA_SUM_OF(__vsadu4, __vabsdiffu4, unsigned char)

/* ---- DPX: the larger or smaller of two or three, and of a sum; with _relu at least 0 */

NVW_CUDA_BOTH unsigned nvw_cuda_sum(unsigned a, unsigned b)
{
	return a + b;
}
#define NVW_CUDA_OF_THREE(bound, type, suffix, of, sum)                      \
	NVW_CUDA_BOTH type __viadd##bound##_##suffix(type a, type b, type c) \
	{                                                                    \
		return of((type)sum((unsigned)a, (unsigned)b), c);           \
	}                                                                    \
	NVW_CUDA_BOTH type __vi##bound##3_##suffix(type a, type b, type c)   \
	{                                                                    \
		return of(of(a, b), c);                                      \
	}
/* A choice says of which operand it is, in packed words of the upper part first. */
#define NVW_CUDA_DPX(bound, relation, compared, type, sign)                                               \
	NVW_CUDA_OF_THREE(bound, type, sign##32, bound, nvw_cuda_sum)                                     \
	NVW_CUDA_OF_THREE(bound, unsigned, sign##16x2, __v##bound##sign##2, __vadd2)                      \
	NVW_CUDA_BOTH type __vib##bound##_##sign##32(type a, type b, bool *first)                         \
	{                                                                                                 \
		*first = a relation b;                                                                    \
		return bound(a, b);                                                                       \
	}                                                                                                 \
	NVW_CUDA_BOTH unsigned __vib##bound##_##sign##16x2(unsigned a, unsigned b, bool *high, bool *low) \
	{                                                                                                 \
		const unsigned first = __vcmp##compared##sign##2(a, b);                                   \
                                                                                                          \
		*high = first >> 31;                                                                      \
		*low = first & 1;                                                                         \
		return __v##bound##sign##2(a, b);                                                         \
	}
#define NVW_CUDA_RELU(bound, type, suffix, most)                                    \
	NVW_CUDA_BOTH type __viadd##bound##_##suffix##_relu(type a, type b, type c) \
	{                                                                           \
		return most(__viadd##bound##_##suffix(a, b, c), 0);                 \
	}                                                                           \
	NVW_CUDA_BOTH type __vi##bound##3_##suffix##_relu(type a, type b, type c)   \
	{                                                                           \
		return most(__vi##bound##3_##suffix(a, b, c), 0);                   \
	}                                                                           \
	NVW_CUDA_BOTH type __vi##bound##_##suffix##_relu(type a, type b)            \
	{                                                                           \
		return __vi##bound##3_##suffix##_relu(a, b, b);                     \
	}
NVW_CUDA_DPX(max, >=, ge, int, s)
NVW_CUDA_DPX(min, <=, le, int, s)
NVW_CUDA_DPX(max, >=, ge, unsigned, u)
NVW_CUDA_DPX(min, <=, le, unsigned, u)
NVW_CUDA_RELU(max, int, s32, max)
NVW_CUDA_RELU(min, int, s32, max)
NVW_CUDA_RELU(max, unsigned, s16x2, __vmaxs2)
NVW_CUDA_RELU(min, unsigned, s16x2, __vmaxs2)

#undef NVW_CUDA_RELU
#undef NVW_CUDA_DPX
#undef NVW_CUDA_OF_THREE
#undef NVW_CUDA_SUM_OF
#undef NVW_CUDA_OF_ONE
#undef NVW_CUDA_BOTH_PARTS
#undef NVW_CUDA_UNSIGNED_PARTS
#undef NVW_CUDA_SIGNED_PARTS
#undef NVW_CUDA_PARTS_OF
#undef NVW_CUDA_SATURATED
#endif

#undef NVW_CUDA_FLOAT
#undef NVW_CUDA_TO_INTEGER
#undef NVW_CUDA_TO_INTEGER_BY
#undef NVW_CUDA_CONVERTED
#undef NVW_CUDA_ARITHMETIC
#undef NVW_CUDA_ROUNDED
#undef NVW_CUDA_IN_EVERY_MODE

#endif
