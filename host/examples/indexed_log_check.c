/* SPDX-License-Identifier: BSD-3-Clause */
/* The indexed log's checker as a library, for nvwave crash --check-lib: no process and no file for a state. */
#include <nvw/checker.h>

#include "indexed_log.h"

int nvw_check(struct nvw_check *c)
{
	if (c->bytes < sizeof(struct indexed_log)) {
		snprintf(c->message, c->message_bytes, "%llu bytes are no log", (unsigned long long)c->bytes);
		return 1;
	}
	return check(c->image, c->message, c->message_bytes);
}
