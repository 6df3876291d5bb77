/* SPDX-License-Identifier: BSD-3-Clause */
/* Input files. See nvw/input.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nvw/input.h>

#include "bounds.h"

enum { FIRST_BYTES = 1 << 16, WRITER_WAIT_MS = 1000, POLL_MS = 20 };

static int cannot_read(const char *path, int error)
{
	return nvw_fail(-error, "%s: %s", path, strerror(error));
}

static const char *kind_name(mode_t mode)
{
	if (S_ISDIR(mode)) {
		return "a folder";
	}
	if (S_ISCHR(mode)) {
		return "a device";
	}
	if (S_ISBLK(mode)) {
		return "a block device";
	}
	if (S_ISFIFO(mode)) {
		return "a pipe";
	}
	return "a socket";
}

static int check_kind(const char *path, mode_t mode, bool pipes_too)
{
	static const char *const expected[] = {"regular file", "file"};

	if (S_ISREG(mode) || (pipes_too && S_ISFIFO(mode))) {
		return 0;
	}
	return nvw_fail(
		NVW_E_INPUT, "%s: expected a %s, found %s", path, expected[pipes_too], kind_name(mode));
}

/* Examined before it is opened, because opening a device may have an effect. */
static int open_checked(const char *path, int flags, bool pipes_too, int *ret_fd, struct stat *s)
{
	int fd, error;

	if (stat(path, s)) {
		return cannot_read(path, errno);
	}
	NVW_TRY(check_kind(path, s->st_mode, pipes_too));
	fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		return cannot_read(path, errno);
	}
	if (fstat(fd, s)) {
		error = cannot_read(path, errno);
	} else {
		error = check_kind(path, s->st_mode, pipes_too);
	}
	if (error) {
		close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

int nvw_input_open(const char *path, int access, int *ret_fd)
{
	struct stat s;

	return open_checked(path, access, false, ret_fd, &s);
}

/* A pipe may have a writer that has not written yet. tee() distinguishes this from no writer, and consumes
 * nothing. */
static bool has_writer(int fd, int spare)
{
	return tee(fd, spare, 1, SPLICE_F_NONBLOCK) > 0 || errno == EAGAIN;
}

static int await_writer(const char *path, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int spare[2];
	bool found = false;

	NVW_FAIL_ERRNO_IF(pipe2(spare, O_CLOEXEC), "%s", path);
	for (unsigned ms = 0; ms < WRITER_WAIT_MS && !found; ms += POLL_MS) {
		errno = 0;
		found = poll(&p, 1, POLL_MS) > 0 || has_writer(fd, spare[1]);
	}
	close(spare[0]);
	close(spare[1]);
	NVW_FAIL_IF(!found, NVW_E_INPUT, "%s: no process has this pipe open for writing", path);
	return 0;
}

int nvw_input_open_stream(const char *path, int *ret_fd)
{
	struct stat s;
	int error = open_checked(path, O_RDONLY, true, ret_fd, &s);

	if (error || S_ISREG(s.st_mode)) {
		return error;
	}
	error = await_writer(path, *ret_fd);
	if (!error && fcntl(*ret_fd, F_SETFL, fcntl(*ret_fd, F_GETFL) & ~O_NONBLOCK)) {
		error = nvw_fail_errno("%s", path);
	}
	if (error) {
		close(*ret_fd);
	}
	return error;
}

struct content {
	char *bytes;
	uint64_t used, room;
};

static int grow_content(const char *path, struct content *c)
{
	const uint64_t room = NVW_OR(2 * c->room, FIRST_BYTES);
	char *const bytes = realloc(c->bytes, room);

	NVW_ALLOCATED(bytes, "%s: no memory for %" PRIu64 " bytes", path, room);
	c->bytes = bytes;
	c->room = room;
	return 0;
}

static int read_all(const char *path, int fd, uint64_t most, struct content *c)
{
	ssize_t n;

	do {
		if (c->room - c->used < 2) {
			NVW_TRY(grow_content(path, c));
		}
		n = read(fd, c->bytes + c->used, c->room - c->used - 1);
		NVW_FAIL_IF(n < 0 && errno != EINTR, NVW_E_INPUT, "%s: cannot be read: %s", path,
			strerror(errno));
		if (n > 0) {
			c->used += (uint64_t)n;
		}
		NVW_FAIL_IF(c->used > most, NVW_E_INPUT, "%s: more than %" PRIu64 " bytes", path, most);
	} while (n != 0);
	c->bytes[c->used] = 0;
	return 0;
}

int nvw_input_read(const char *path, uint64_t most, char **ret_content, uint64_t *ret_bytes)
{
	struct content c = {0};
	int fd, error = nvw_input_open_stream(path, &fd);

	if (error) {
		return error;
	}
	error = read_all(path, fd, most, &c);
	close(fd);
	if (error) {
		free(c.bytes);
		return error;
	}
	*ret_content = c.bytes;
	*ret_bytes = c.used;
	return 0;
}
