/* SPDX-License-Identifier: BSD-3-Clause */
/* The persist log of a file of a session: of persistent memory (convert.c), or of a disk (files.c). */
#include <unistd.h>

#include "convert.h"
#include "folder.h"
#include "core/invariant.h"

static void finish_log(struct converter *c, int *error)
{
	if (c->log == NULL) {
		return;
	}
	if (*error || c->s->control->gap[HOST_GAP_SPOOL_FULL] > 0) {
		nvw_log_abandon(c->log);
	} else {
		*error = nvw_log_close(c->log, c->time_ps + 1000);
	}
}

int host_session_convert(
	struct host_session *s, unsigned i, int fd, const char *name, struct host_counts *ret_counts)
{
	NVW_INVARIANT(i < s->control->file_count || host_is_of_folder(s)); /* a folder may be empty */

	struct converter c;
	int error = host_convert_begin(s, i, &c);
	struct nvw_log_info info = {.workload = s->program,
		.options = NVW_OR(s->named, s->control->file[i].path),
		.pool_bytes = c.bytes,
		.model = "x86",
		.operations = s->control->operations,
		.callers = s->control->stacks,
		.layouts = s->control->instrumented && !host_is_of_files(s, i),
		.ranges = s->control->ranges && !host_is_of_files(s, i)};

	if (error) {
		close(fd);
	} else if (host_is_of_files(s, i)) {
		error = host_files_convert(&c, &info, fd, name);
	} else {
		error = host_memory_convert(&c, &info, fd, name);
	}
	finish_log(&c, &error);
	if (ret_counts != NULL) {
		*ret_counts = c.counts;
	}
	host_convert_end(&c);
	return error;
}

static int save_image_of_files(const struct host_session *s, unsigned i, const char *path)
{
	struct converter c;
	int error = host_convert_begin(s, i, &c);

	if (!error) {
		error = host_files_image(&c, path);
	}
	host_convert_end(&c);
	return error;
}

int host_session_save_image(const struct host_session *s, unsigned i, const char *path)
{
	if (host_is_of_files(s, i)) {
		return save_image_of_files(s, i, path);
	}
	return host_session_save_base(s, i, path);
}
