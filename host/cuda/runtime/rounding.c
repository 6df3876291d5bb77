/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic and conversions that round as they are told (include/nvw_cuda_intrinsics.h). */
#include <fenv.h>
#include <math.h>

#include "../include/nvw_cuda_rounding.h"

/* Volatile operands keep an operation between the calls that change the mode. */
#define ROUNDED(type, expression)                                    \
	const volatile type x = a, y = b, z = c;                     \
	const int before = fegetround();                             \
                                                                     \
	(void)y, (void)z;                                            \
	fesetround(mode);                                            \
	const volatile __typeof__(expression) result = (expression); \
                                                                     \
	fesetround(before);                                          \
	return result

#define ARITHMETIC(type, suffix)                                                            \
	type nvw_cuda_rounded##suffix(unsigned operation, int mode, type a, type b, type c) \
	{                                                                                   \
		switch (operation) {                                                        \
		case NVW_CUDA_ROUNDED_ADD: {                                                \
			ROUNDED(type, x + y);                                               \
		}                                                                           \
		case NVW_CUDA_ROUNDED_SUB: {                                                \
			ROUNDED(type, x - y);                                               \
		}                                                                           \
		case NVW_CUDA_ROUNDED_MUL: {                                                \
			ROUNDED(type, x *y);                                                \
		}                                                                           \
		case NVW_CUDA_ROUNDED_DIV: {                                                \
			ROUNDED(type, x / y);                                               \
		}                                                                           \
		case NVW_CUDA_ROUNDED_SQRT: {                                               \
			ROUNDED(type, sqrt##suffix(x));                                     \
		}                                                                           \
		default: {                                                                  \
			ROUNDED(type, fma##suffix(x, y, z));                                \
		}                                                                           \
		}                                                                           \
	}
ARITHMETIC(double, )
ARITHMETIC(float, f)

#define CONVERSION(name, to, from)       \
	to name(int mode, from a)        \
	{                                \
		const from b = 0, c = 0; \
                                         \
		ROUNDED(from, (to)(x));  \
	}
CONVERSION(nvw_cuda_rounded_narrow, float, double)
CONVERSION(nvw_cuda_rounded_llf, float, long long)
CONVERSION(nvw_cuda_rounded_ll, double, long long)
CONVERSION(nvw_cuda_rounded_ullf, float, unsigned long long)
CONVERSION(nvw_cuda_rounded_ull, double, unsigned long long)
