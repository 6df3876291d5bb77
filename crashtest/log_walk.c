/* SPDX-License-Identifier: BSD-3-Clause */
/* See log_walk.h. */
#include <sys/param.h>
#include <unistd.h>

#include "core/invariant.h"

#include "log_walk.h"

int ct_log_walk(int log_fd, ct_log_visit *visit, void *context)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	uint64_t number = 1;
	int end;

	NVW_INVARIANT(log_fd >= 0);
	NVW_TRY(nvw_log_open_fd(dup(log_fd), "persist log", &reader));
	while ((end = nvw_log_next(reader, &r)) == 1 && (end = visit(context, &r, number)) == 0) {
		number++;
	}
	nvw_log_reader_close(reader);
	return MIN(end, 0);
}
