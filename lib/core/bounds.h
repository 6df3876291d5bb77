/* SPDX-License-Identifier: BSD-3-Clause */
/* Choices that have a name: the smaller one, the larger one, one or its default. */
#ifndef CORE_BOUNDS_H
#define CORE_BOUNDS_H

#include <stdint.h>

#include "invariant.h"

/* The value, or where it is 0 or NULL the other, which is evaluated only then. */
#define NVW_OR(value, other) (__extension__((value) ?: (other)))

static inline uint64_t nvw_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t nvw_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The lowest bits, 1 to 64 of them. */
static inline uint64_t nvw_low_bits(uint64_t count)
{
	NVW_DEEP_INVARIANT(count > 0 && count <= 64);
	return UINT64_MAX >> (64 - count);
}

#endif
