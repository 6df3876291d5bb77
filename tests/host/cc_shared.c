/* SPDX-License-Identifier: BSD-3-Clause */
/* A shared object that nvwave-cc builds. */
#include <stdint.h>

int shared_store(uint64_t *at, uint64_t value);

/* Returns the line of its store. */
int shared_store(uint64_t *at, uint64_t value)
{
	*at = value;
	return __LINE__ - 1;
}
