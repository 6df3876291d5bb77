/* SPDX-License-Identifier: BSD-3-Clause */
/* See fuzz.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

const char *fuzz_file(const void *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("input", MFD_CLOEXEC);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, (off_t)size) || pwrite(fd, data, size, 0) != (ssize_t)size) {
		abort();
	}
	return path;
}

uint64_t fuzz_take(const uint8_t **data, size_t *size, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i<bytes && * size> 0; i++) {
		value |= (uint64_t) * (*data)++ << 8 * i;
		--*size;
	}
	return value;
}

void fuzz_put(uint8_t *to, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++) {
		to[i] = (uint8_t)(value >> 8 * i);
	}
}
