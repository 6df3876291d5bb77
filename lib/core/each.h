/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops over the elements of an array. */
#ifndef CORE_EACH_H
#define CORE_EACH_H

/* The number of elements of an array, which is no pointer. */
#define NVW_COUNT(array) (sizeof(array) / sizeof *(array))

/* A loop whose variable points to each of the first count elements in turn; the array stays where it is, and
 * the count is not negative:
 *	NVW_EACH(cell, m->cell, m->cell_count) {
 */
#define NVW_EACH(element, array, count) \
	for (__auto_type element = (array) + 0; element < (array) + (count); element++)

#endif
