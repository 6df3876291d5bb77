/* SPDX-License-Identifier: BSD-3-Clause */
/* See export.h. */
#include "core/print.h"

#include "export.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "../run.h"
#include "worker.h"

enum { PATH_BYTES = 4096 };

static bool is_zero(const uint8_t *page, uint64_t n)
{
	return page[0] == 0 && !memcmp(page, page + 1, n - 1);
}

/* Pages of zeros stay holes. */
static bool write_page(int fd, const uint8_t *bytes, uint64_t n, uint64_t at)
{
	return is_zero(bytes, n) || pwrite(fd, bytes, n, (off_t)at) == (ssize_t)n;
}

static bool write_pages(int fd, const uint8_t *bytes, uint64_t n)
{
	for (uint64_t at = 0; at < n; at += CT_PAGE) {
		const uint64_t length = MIN(n - at, CT_PAGE);

		if (!write_page(fd, bytes + at, length, at)) {
			return false;
		}
	}
	return ftruncate(fd, (off_t)n) == 0;
}

static int write_image(const char *path, const uint8_t *bytes, uint64_t n)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	const bool good = fd >= 0 && write_pages(fd, bytes, n);
	const int error = good ? 0 : nvw_fail_errno("%s: a crash state cannot be written", path);

	if (fd >= 0) {
		close(fd);
	}
	return error;
}

/* A run with several pools has their bytes one after the other. */
static int write_pools(const struct ct_exploration *e, const char *path, const uint8_t *bytes)
{
	if (!e->bench || e->bench->pool_count < 2) {
		return write_image(path, bytes, e->bytes);
	}
	NVW_FOR(i, e->bench->pool_count) {
		char its[PATH_BYTES];

		NVW_PRINT(its, i == 0 ? "%s" : "%s.%u", path, i);
		NVW_TRY(write_image(its, bytes, e->bench->pool_bytes[i]));
		bytes += e->bench->pool_bytes[i];
	}
	return 0;
}

/* Workers append side by side: a line is one write. */
static int write_line(const struct ct_exploration *e, const struct ct_medium *m, const char *name)
{
	char path[PATH_BYTES], line[512];
	const int n = NVW_PRINT(line,
		"{\"file\": \"%s\", \"instant\": %" PRIu64 ", \"time_ps\": %" PRIu64
		", \"acknowledged\": %" PRIu64 ", \"state\": \"%016" PRIx64 "\"}\n",
		name, m->instant, m->time_ps, m->acks.count, ct_medium_key(m));

	NVW_PRINT(path, "%s/states.jsonl", e->options.exports);
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	const int error = fd >= 0 && write(fd, line, (size_t)n) == n ? 0 : nvw_fail_errno("%s", path);

	if (fd >= 0) {
		close(fd);
	}
	return error;
}

int ct_export_state(const struct ct_exploration *e, const struct ct_medium *m, uint64_t draw)
{
	char name[64], path[PATH_BYTES];

	NVW_PRINT(name, "%06" PRIu64 "-%s%06" PRIu64, m->instant, draw >= CT_DRAW_LEAF ? "leaf" : "",
		draw & ~CT_DRAW_LEAF);
	NVW_PRINT(path, "%s/%s", e->options.exports, name);
	NVW_TRY(write_pools(e, path, m->image.rw));
	return write_line(e, m, name);
}
