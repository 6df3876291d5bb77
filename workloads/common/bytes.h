/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole input files in memory, plain or compressed by anything that libarchive knows (gzip, xz, zstd ...). */
#ifndef WORKLOADS_COMMON_BYTES_H
#define WORKLOADS_COMMON_BYTES_H

#include <stdint.h>

#include <nvw/pool.h>

/*
 * The decompressed content of path, with a 0 after its last byte; *ret_bytes does not count the 0. The
 * caller frees it. NVW_E_INPUT naming the file if it is absent, empty, or not decompressible; NVW_E_MEMORY.
 */
NVW_CHECKED int bytes_slurp(const char *path, char **ret_content, uint64_t *ret_bytes);

#endif
