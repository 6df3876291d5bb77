/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of two comes first, as qsort() asks: less than 0 if x comes before y, 0 if they are alike. */
#ifndef CORE_ORDER_H
#define CORE_ORDER_H

#include <stdint.h>

#define NVW_ORDER(x, y) (((x) > (y)) - ((x) < (y)))

static inline int nvw_by_u64(const void *a, const void *b)
{
	return NVW_ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
}

static inline int nvw_by_u32(const void *a, const void *b)
{
	return NVW_ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

static inline int nvw_by_double(const void *a, const void *b)
{
	return NVW_ORDER(*(const double *)a, *(const double *)b);
}

#endif
