/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of numbers, each a bit of an array of words. */
#ifndef CORE_BITS_H
#define CORE_BITS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool nvw_has_bit(const uint64_t *words, uint64_t number)
{
	return words[number / 64] >> number % 64 & 1;
}

static inline void nvw_set_bit(uint64_t *words, uint64_t number)
{
	words[number / 64] |= UINT64_C(1) << number % 64;
}

/* The numbers of another set that has so many words are in it, too. */
static inline void nvw_add_bits(uint64_t *to, const uint64_t *words, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		to[i] |= words[i];
	}
}

#endif
