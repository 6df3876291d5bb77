/* SPDX-License-Identifier: BSD-3-Clause */
/* What atomics make of values that are held in 64 bits. */
#ifndef CORE_ATOMIC_VALUE_H
#define CORE_ATOMIC_VALUE_H

#include <stdint.h>
#include <string.h>

#include <nvw/kernel.h>

#include "bounds.h"

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

/* What a read-modify-write (enum nvw__kind) makes of a value of so many bytes; the bits above them have no
 * meaning. */
static inline uint64_t nvw_atomic_value(unsigned kind, unsigned size, uint64_t old, uint64_t operand)
{
	switch (kind) {
	case NVW__ADD:
		return old + operand;
	case NVW__SUB:
		return old - operand;
	case NVW__AND:
		return old & operand;
	case NVW__OR:
		return old | operand;
	case NVW__XOR:
		return old ^ operand;
	case NVW__MIN:
		return nvw_min(old, operand);
	case NVW__MAX:
		return nvw_max(old, operand);
	case NVW__SIGNED_MIN:
		return nvw_signed_value(operand, size) < nvw_signed_value(old, size) ? operand : old;
	case NVW__SIGNED_MAX:
		return nvw_signed_value(operand, size) > nvw_signed_value(old, size) ? operand : old;
	case NVW__INCREMENT:
		return old < operand ? old + 1 : 0;
	case NVW__DECREMENT:
		return old - 1 < operand ? old - 1 : operand;
	case NVW__ADD_FLOAT:
		return size == sizeof(float) ? nvw_sum_of_floats(old, operand) :
					       nvw_sum_of_doubles(old, operand);
	default:
		return operand;
	}
}

#endif
