/* SPDX-License-Identifier: BSD-3-Clause */
/* What nvwave-cc has not built. */
#include <stdint.h>

void plain_store(volatile uint64_t *at, uint64_t value);

void plain_store(volatile uint64_t *at, uint64_t value)
{
	*at = value;
}
