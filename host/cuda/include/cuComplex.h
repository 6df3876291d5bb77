/* SPDX-License-Identifier: BSD-3-Clause */
/* Complex numbers by CUDA's names: of float with f at the end, of double without. */
#ifndef CUCOMPLEX_H_
#define CUCOMPLEX_H_

#include <math.h>
#include <vector_types.h>

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define NVW_CUDA_COMPLEX_OF(Name, type, f)                                                         \
	NVW_CUDA_BOTH Name make_##Name(type real, type imaginary)                                  \
	{                                                                                          \
		Name z;                                                                            \
		z.x = real;                                                                        \
		z.y = imaginary;                                                                   \
		return z;                                                                          \
	}                                                                                          \
	NVW_CUDA_BOTH type cuCreal##f(Name z)                                                      \
	{                                                                                          \
		return z.x;                                                                        \
	}                                                                                          \
	NVW_CUDA_BOTH type cuCimag##f(Name z)                                                      \
	{                                                                                          \
		return z.y;                                                                        \
	}                                                                                          \
	NVW_CUDA_BOTH type cuCabs##f(Name z)                                                       \
	{                                                                                          \
		return hypot##f(z.x, z.y);                                                         \
	}                                                                                          \
	NVW_CUDA_BOTH Name cuConj##f(Name z)                                                       \
	{                                                                                          \
		return make_##Name(z.x, -z.y);                                                     \
	}                                                                                          \
	NVW_CUDA_BOTH Name cuCadd##f(Name a, Name b)                                               \
	{                                                                                          \
		return make_##Name(a.x + b.x, a.y + b.y);                                          \
	}                                                                                          \
	NVW_CUDA_BOTH Name cuCsub##f(Name a, Name b)                                               \
	{                                                                                          \
		return make_##Name(a.x - b.x, a.y - b.y);                                          \
	}                                                                                          \
	NVW_CUDA_BOTH Name cuCmul##f(Name a, Name b)                                               \
	{                                                                                          \
		return make_##Name(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                  \
	}                                                                                          \
	/* Scaled, so that no square of b overflows. */                                            \
	NVW_CUDA_BOTH Name cuCdiv##f(Name a, Name b)                                               \
	{                                                                                          \
		const type scale = 1 / (fabs##f(b.x) + fabs##f(b.y));                              \
		const type ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale; \
		const type square = bx * bx + by * by;                                             \
		return make_##Name((ax * bx + ay * by) / square, (ay * bx - ax * by) / square);    \
	}                                                                                          \
	NVW_CUDA_BOTH Name cuCfma##f(Name a, Name b, Name c)                                       \
	{                                                                                          \
		return cuCadd##f(cuCmul##f(a, b), c);                                              \
	}
NVW_CUDA_COMPLEX_OF(cuFloatComplex, float, f)
NVW_CUDA_COMPLEX_OF(cuDoubleComplex, double, )
#undef NVW_CUDA_COMPLEX_OF

#define make_cuComplex make_cuFloatComplex
NVW_CUDA_BOTH cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z)
{
	return make_cuDoubleComplex(z.x, z.y);
}
NVW_CUDA_BOTH cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z)
{
	return make_cuFloatComplex((float)z.x, (float)z.y);
}

#endif
