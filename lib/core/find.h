/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Searches from the first element on: a loop that ends where a condition holds, as an expression. count and
 * the condition are evaluated each turn, so they must have no effects. Included by each.h.
 */
#ifndef CORE_FIND_H
#define CORE_FIND_H

#include <stddef.h>

/* Points to the first of count elements with which the condition holds; NULL: it holds with none:
 *	return NVW_FIND(row, p->row, p->row_count, !strcmp(row->id, id));
 */
#define NVW_FIND(element, array, count, condition)                              \
	__extension__({                                                         \
		__auto_type element = (array) + 0;                              \
		const __auto_type element##_end_ = element + (count);           \
                                                                                \
		while (element < element##_end_ && !(condition)) {              \
			element++;                                              \
		}                                                               \
		element < element##_end_ ? element : (__typeof__(element))NULL; \
	})

/* Whether it holds with one of them, or with a number below count. */
#define NVW_ANY(element, array, count, condition) (NVW_FIND(element, array, count, condition) != NULL)
#define NVW_ANY_BELOW(number, count, condition)   (NVW_INDEX(number, count, condition) < (count))

/* The first number below count with which the condition holds; count: with none. */
#define NVW_INDEX(number, count, condition)                \
	__extension__({                                    \
		__typeof__((count) + 0u) number = 0;       \
                                                           \
		while (number < (count) && !(condition)) { \
			number++;                          \
		}                                          \
		number;                                    \
	})

#endif
