/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader with a mistake, which only a mutant of its seed meets: a value that ends with the input is read a
 * byte too far. What drives the targets has to find it.
 */
#include <string.h>

#include "fuzz.h"

static volatile unsigned sum; /* the bytes are read */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = size == 0 ? NULL : memchr(data, '=', size);

	while (at != NULL && *at != '\n') {
		sum += *at;
		at++;
	}
	return 0;
}
