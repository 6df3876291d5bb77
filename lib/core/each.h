/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops over the elements of an array, over numbers (nvw/each.h), and over the bits of a set; searches
 * (find.h). */
#ifndef CORE_EACH_H
#define CORE_EACH_H

#include <stdint.h>

#include <nvw/each.h>

#include "find.h"

/* The number of elements of an array, which is no pointer. */
#define NVW_COUNT(array) (sizeof(array) / sizeof *(array))

/* A loop whose variable points to each of the first count elements in turn; the array stays where it is, and
 * the count is not negative:
 *	NVW_EACH(cell, m->cell, m->cell_count) {
 */
#define NVW_EACH(element, array, count) \
	for (__auto_type element = (array) + 0; element < (array) + (count); element++)

/* The same for all elements of an array, which is no pointer. */
#define NVW_EACH_IN(element, array) NVW_EACH(element, array, NVW_COUNT(array))

/* A loop whose variable is the number of each bit of a 64-bit set that is 1, from the lowest on:
 *	NVW_EACH_BIT(lane, wf->live) {
 */
#define NVW_EACH_BIT(bit, set)                                                    \
	for (uint64_t bit##_rest = (set), bit;                                    \
		bit##_rest && ((bit = (unsigned)__builtin_ctzll(bit##_rest)), 1); \
		bit##_rest &= bit##_rest - 1)

#endif
