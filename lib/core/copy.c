/* SPDX-License-Identifier: BSD-3-Clause */
/* See copy.h. */
#include "copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "invariant.h"

static bool copy_range(int from, int to, off_t at, off_t end)
{
	char buffer[1 << 14];

	NVW_INVARIANT(0 <= at && at <= end);
	while (at < end) {
		const ssize_t n = pread(from, buffer, nvw_min((uint64_t)(end - at), sizeof buffer), at);

		/* A write that runs out of room is short at first; the next one says why. */
		const ssize_t written = n > 0 ? pwrite(to, buffer, (size_t)n, at) : n;

		if (written <= 0) {
			return false;
		}
		at += written;
	}
	return true;
}

/* From one hole to the next. */
static bool copy_data(int from, int to)
{
	off_t at = 0;

	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		const off_t hole = lseek(from, at, SEEK_HOLE);

		if (hole < 0 || !copy_range(from, to, at, hole)) {
			return false;
		}
		at = hole;
	}
	return errno == ENXIO; /* no data behind it */
}

int nvw_copy_file(const char *from_path, const char *to_path)
{
	struct stat s;

	if (stat(from_path, &s)) {
		NVW_FAIL_IF(errno == ENOENT, -ENOENT, "%s: %s", from_path, strerror(ENOENT));
		return nvw_fail_errno("%s", from_path);
	}
	NVW_FAIL_IF(!S_ISREG(s.st_mode), NVW_E_INPUT,
		"%s: expected a regular file, found a folder, a device or a pipe", from_path);
	const int from = open(from_path, O_RDONLY | O_CLOEXEC);
	int to = -1, error = 0;

	if (from >= 0) {
		to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (to < 0 || fchmod(to, s.st_mode & 0777) || ftruncate(to, s.st_size) || !copy_data(from, to)) {
		error = nvw_fail_errno("%s: cannot be copied to %s", from_path, to_path);
	}
	if (from >= 0) {
		close(from);
	}
	if (to >= 0) {
		close(to);
	}
	return error;
}
