/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop over numbers, for kernels and for code of the host. */
#ifndef NVW_EACH_H
#define NVW_EACH_H

/* Its variable counts from 0 to below count, which it has the type of; count is asked for before each turn:
 *	NVW_FOR(i, n) {
 *		sum += nvw_load(&from[i]);
 *	}
 */
#define NVW_FOR(index, count) for (__typeof__((count) + 0) index = 0; index < (count); index++)

#endif
