/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Key files: keys from a real trace.
 *
 * Two formats, plain or compressed by anything that libarchive knows (gzip, xz, zstd, bzip2 ...):
 *   text    one key per line, decimal or 0x hexadecimal, 64 bits, no sign; empty lines and lines that begin
 *           with '#' are skipped. A line holds one field; with a column N (from 1) it may hold more,
 *           separated by blanks, tabs or commas, and the N-th is the key;
 *   binary  keys of eight bytes, big-endian, nothing else.
 *
 * A file is text if its first 4096 bytes, decompressed, are only printable ASCII, blanks, tabs and line ends,
 * else binary. A short binary file may look like text by accident: "binary:PATH" and "text:PATH" state the
 * format.
 */
#ifndef WORKLOADS_COMMON_KEYFILE_H
#define WORKLOADS_COMMON_KEYFILE_H

#include <stdint.h>

#include <nvw/pool.h>

/*
 * Reads all keys of path, in file order, with duplicates. The caller frees *ret_keys. column 0: lines of one
 * field. NVW_E_INPUT with file, line and text for a file that is absent, empty, malformed, truncated or not
 * decompressible; NVW_E_MEMORY.
 */
NVW_CHECKED int keyfile_read(const char *path, unsigned column, uint64_t **ret_keys, uint64_t *ret_count);

#endif
