/* SPDX-License-Identifier: BSD-3-Clause */
/* See array.h. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "invariant.h"

enum { ROOM_MIN = 16 };

bool nvw__room(void **at, uint64_t *capacity, uint64_t count, size_t bytes)
{
	uint64_t more = NVW_OR(*capacity, ROOM_MIN);
	char *grown;

	NVW_INVARIANT(bytes > 0 && (*at || *capacity == 0));
	if (count <= *capacity) {
		return true;
	}
	while (more < count) {
		more *= 2;
	}
	grown = realloc(*at, more * bytes);
	if (!grown) {
		return false;
	}
	memset(grown + *capacity * bytes, 0, (more - *capacity) * bytes);
	*at = grown;
	*capacity = more;
	return true;
}
