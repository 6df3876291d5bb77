/* SPDX-License-Identifier: BSD-3-Clause */
/* What atomics make of values that are held in 64 bits: sums of floating numbers, and the signs of narrow
 * integers. */
#ifndef CORE_ATOMIC_VALUE_H
#define CORE_ATOMIC_VALUE_H

#include <stdint.h>
#include <string.h>

/* The bits of the sum of two floats, which are given as bits. */
static inline uint64_t nvw_sum_of_floats(uint64_t a, uint64_t b)
{
	float x, y;
	uint32_t sum;

	memcpy(&x, &a, sizeof x);
	memcpy(&y, &b, sizeof y);
	x += y;
	memcpy(&sum, &x, sizeof sum);
	return sum;
}

static inline uint64_t nvw_sum_of_doubles(uint64_t a, uint64_t b)
{
	double x, y;

	memcpy(&x, &a, sizeof x);
	memcpy(&y, &b, sizeof y);
	x += y;
	memcpy(&a, &x, sizeof a);
	return a;
}

/* The value has 1, 2, 4 or 8 bytes. */
static inline int64_t nvw_signed_value(uint64_t value, unsigned bytes)
{
	const unsigned unused = 64 - 8 * bytes;

	return (int64_t)(value << unused) >> unused;
}

#endif
