/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmem2 maps a file that is no persistent memory only if this variable says how its stores become durable:
 * by flushes of lines.
 */
#ifndef CORE_GRANULARITY_H
#define CORE_GRANULARITY_H

#define NVW_GRANULARITY_VARIABLE "PMEM2_FORCE_GRANULARITY"
#define NVW_GRANULARITY          "CACHE_LINE"

#endif
