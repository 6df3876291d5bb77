/* SPDX-License-Identifier: BSD-3-Clause */
/* Broken invariants. See invariant.h. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "invariant.h"

void nvw__broken(const char *condition, const char *file, int line, const char *function)
{
	dprintf(STDERR_FILENO, "nvwave: %s:%d (%s): a mistake in nvwave: %s does not hold\n", file, line,
		function, condition);
	abort();
}
