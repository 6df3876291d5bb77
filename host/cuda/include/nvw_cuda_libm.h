/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C library's functions in kernels. Results are the host's; a GPU rounds some of them otherwise. It is
 * included before <cmath>, whose templates (pow(x, 2)) call what is declared before them.
 */
#ifndef NVW_CUDA_LIBM_H
#define NVW_CUDA_LIBM_H

#include <host_defines.h>

/* clang-format off */
#define NVW_CUDA_ONE(X) \
	X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cbrt) X(ceil) X(cos) X(cosh) X(erf) X(erfc) \
	X(exp) X(exp10) X(exp2) X(expm1) X(fabs) X(floor) X(j0) X(j1) X(lgamma) X(log) X(log10) X(log1p) \
	X(log2) X(logb) X(nearbyint) X(rint) X(round) X(sin) X(sinh) X(sqrt) X(tan) X(tanh) X(tgamma) \
	X(trunc) X(y0) X(y1)
/* clang-format on */
#define NVW_CUDA_TWO(X) \
	X(atan2) X(copysign) X(fdim) X(fmax) X(fmin) X(fmod) X(hypot) X(nextafter) X(pow) X(remainder)

extern "C" {
#define X(name)                                  \
	__device__ double name(double) noexcept; \
	__device__ float name##f(float) noexcept;
NVW_CUDA_ONE(X)
#undef X
#define X(name)                                          \
	__device__ double name(double, double) noexcept; \
	__device__ float name##f(float, float) noexcept;
NVW_CUDA_TWO(X)
#undef X
#define X(type, f)                                             \
	__device__ type fma##f(type, type, type) noexcept;     \
	__device__ type ldexp##f(type, int) noexcept;          \
	__device__ type scalbn##f(type, int) noexcept;         \
	__device__ type scalbln##f(type, long) noexcept;       \
	__device__ type jn##f(int, type) noexcept;             \
	__device__ type yn##f(int, type) noexcept;             \
	__device__ int ilogb##f(type) noexcept;                \
	__device__ long lrint##f(type) noexcept;               \
	__device__ long lround##f(type) noexcept;              \
	__device__ long long llrint##f(type) noexcept;         \
	__device__ long long llround##f(type) noexcept;        \
	__device__ type remquo##f(type, type, int *) noexcept; \
	__device__ type frexp##f(type, int *) noexcept;        \
	__device__ type modf##f(type, type *) noexcept;        \
	__device__ void sincos##f(type, type *, type *) noexcept;
X(double, )
X(float, f)
#undef X
__device__ int abs(int) noexcept;
__device__ long labs(long) noexcept;
__device__ long long llabs(long long) noexcept;
}

#endif
