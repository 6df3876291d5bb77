/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole input files in memory, plain or compressed in a format of libarchive (gzip, xz, zstd ...). */
#ifndef WORKLOADS_COMMON_BYTES_H
#define WORKLOADS_COMMON_BYTES_H

#include <stdint.h>

#include <nvw/pool.h>

/*
 * The decompressed content of path, followed by a 0 byte that *ret_bytes does not count. The caller frees it.
 * NVW_E_INPUT names a file that is absent, empty or not decompressible; NVW_E_MEMORY.
 */
NVW_CHECKED int bytes_slurp(const char *path, char **ret_content, uint64_t *ret_bytes);

#endif
