/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets share. See README.md. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* What libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The path of a file in memory with these bytes, the same for every call. */
const char *fuzz_file(const void *data, size_t size);

/* Takes a little-endian number off the front of the input; missing bytes are 0. */
uint64_t fuzz_take(const uint8_t **data, size_t *size, unsigned bytes);

/* Writes a little-endian number. */
void fuzz_put(uint8_t *to, uint64_t value, unsigned bytes);

#endif
