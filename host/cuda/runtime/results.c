/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C library's functions that store a result where their caller says: nothing announces those stores.
 * Kernels get these in their place (nvwave-nvcc).
 */
#include <math.h>

#include "runtime.h"

static void store(void *to, const void *value, size_t n, const void *place)
{
	nvw_cuda_before_write(to, n, false, place);
	memcpy(to, value, n);
}

#define OF_TYPE(type, suffix)                                                                 \
	type nvw_cuda_frexp##suffix(type x, int *ret_exponent)                                \
	{                                                                                     \
		int exponent;                                                                 \
		const type fraction = frexp##suffix(x, &exponent);                            \
                                                                                              \
		store(ret_exponent, &exponent, sizeof exponent, __builtin_return_address(0)); \
		return fraction;                                                              \
	}                                                                                     \
	type nvw_cuda_modf##suffix(type x, type *ret_whole)                                   \
	{                                                                                     \
		type whole;                                                                   \
		const type fraction = modf##suffix(x, &whole);                                \
                                                                                              \
		store(ret_whole, &whole, sizeof whole, __builtin_return_address(0));          \
		return fraction;                                                              \
	}                                                                                     \
	type nvw_cuda_remquo##suffix(type x, type y, int *ret_quotient)                       \
	{                                                                                     \
		int quotient;                                                                 \
		const type rest = remquo##suffix(x, y, &quotient);                            \
                                                                                              \
		store(ret_quotient, &quotient, sizeof quotient, __builtin_return_address(0)); \
		return rest;                                                                  \
	}                                                                                     \
	void nvw_cuda_sincos##suffix(type x, type *ret_sine, type *ret_cosine)                \
	{                                                                                     \
		type sine, cosine;                                                            \
                                                                                              \
		sincos##suffix(x, &sine, &cosine);                                            \
		store(ret_sine, &sine, sizeof sine, __builtin_return_address(0));             \
		store(ret_cosine, &cosine, sizeof cosine, __builtin_return_address(0));       \
	}
OF_TYPE(double, )
OF_TYPE(float, f)
