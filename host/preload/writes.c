/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel as a writer of a file: calls that change a file which this process has mapped. The record does
 * not follow them, so the session notes the first one of each file, and no crash test of the file is given a
 * verdict. What is written before the first mapping is in the file's first content, and what is written
 * between two mappings is found at the second one.
 *
 * Not seen: what the C library writes by itself (stdio), system calls that are made without it (io_uring),
 * and a process that writes a file which only others have mapped.
 */
#undef _FILE_OFFSET_BITS /* otherwise pwrite() is another name of pwrite64() */

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload.h"

static void find_name(int fd, char name[256])
{
	char link[64], path[4096];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	host_read_link(link, path, sizeof path);
	snprintf(name, 256, "%.255s", basename(path));
}

/* Under the lock. */
static void note(int fd, const struct stat *s, const char *call, const struct host_caller *caller)
{
	struct host_control *const c = host_control;

	for (unsigned i = 0; i < c->unfollowed_count; i++) {
		if (c->unfollowed[i].inode == s->st_ino && c->unfollowed[i].device == s->st_dev) {
			return;
		}
	}
	if (c->unfollowed_count < HOST_UNFOLLOWED_MAX) {
		struct host_unfollowed *const u = &c->unfollowed[c->unfollowed_count++];

		*u = (struct host_unfollowed){
			.device = s->st_dev, .inode = s->st_ino, .site = host_site(caller)};
		snprintf(u->call, sizeof u->call, "%s", call);
		find_name(fd, u->name);
	}
}

static void written(int fd, const char *call, const struct host_caller *caller)
{
	const int before = errno;
	struct stat s;

	if (!host_recording || host_highest == 0 || host_self.inside || host_self.own ||
		host_control->closed || fstat(fd, &s) || !S_ISREG(s.st_mode) ||
		!host_has_mapped(s.st_dev, s.st_ino)) {
		errno = before;
		return;
	}
	host_self.inside = true;
	host_lock();
	host_thread();
	note(fd, &s, call, caller);
	host_unlock();
	host_self.inside = false;
	errno = before;
}

/* call: the name that programs know it by, whatever the width of its offsets. */
#define WRITES(type, name, call, arguments, real, fd)          \
	HOST_EXPORT type name arguments                        \
	{                                                      \
		const struct host_caller caller = HOST_CALLER; \
		const type done = real;                        \
                                                               \
		if (done > 0) {                                \
			written(fd, call, &caller);            \
		}                                              \
		return done;                                   \
	}

WRITES(ssize_t, write, "write", (int fd, const void *from, size_t bytes), REAL(write)(fd, from, bytes), fd)
WRITES(ssize_t, pwrite, "pwrite", (int fd, const void *from, size_t bytes, off_t off),
	REAL(pwrite)(fd, from, bytes, off), fd)
WRITES(ssize_t, pwrite64, "pwrite", (int fd, const void *from, size_t bytes, off64_t off),
	REAL(pwrite64)(fd, from, bytes, off), fd)
WRITES(ssize_t, writev, "writev", (int fd, const struct iovec *v, int count), REAL(writev)(fd, v, count), fd)
WRITES(ssize_t, pwritev, "pwritev", (int fd, const struct iovec *v, int count, off_t off),
	REAL(pwritev)(fd, v, count, off), fd)
WRITES(ssize_t, pwritev64, "pwritev", (int fd, const struct iovec *v, int count, off64_t off),
	REAL(pwritev64)(fd, v, count, off), fd)
WRITES(ssize_t, pwritev2, "pwritev2", (int fd, const struct iovec *v, int count, off_t off, int flags),
	REAL(pwritev2)(fd, v, count, off, flags), fd)
WRITES(ssize_t, pwritev64v2, "pwritev2", (int fd, const struct iovec *v, int count, off64_t off, int flags),
	REAL(pwritev64v2)(fd, v, count, off, flags), fd)
WRITES(ssize_t, sendfile, "sendfile", (int to, int from, off_t *off, size_t bytes),
	REAL(sendfile)(to, from, off, bytes), to)
WRITES(ssize_t, sendfile64, "sendfile", (int to, int from, off64_t *off, size_t bytes),
	REAL(sendfile64)(to, from, off, bytes), to)
WRITES(ssize_t, splice, "splice",
	(int from, off64_t *from_off, int to, off64_t *to_off, size_t bytes, unsigned flags),
	REAL(splice)(from, from_off, to, to_off, bytes, flags), to)
WRITES(ssize_t, copy_file_range, "copy_file_range",
	(int from, off64_t *from_off, int to, off64_t *to_off, size_t bytes, unsigned flags),
	REAL(copy_file_range)(from, from_off, to, to_off, bytes, flags), to)

/* Growing a file changes nothing that is there. */
static bool cuts(int fd, off64_t bytes)
{
	const int before = errno;
	struct stat s;
	const bool is = host_recording && fstat(fd, &s) == 0 && bytes < s.st_size;

	errno = before;
	return is;
}

static bool removes(int mode)
{
	return mode & ~FALLOC_FL_KEEP_SIZE;
}

#define CHANGES(name, call, arguments, changes, real)          \
	HOST_EXPORT int name arguments                         \
	{                                                      \
		const struct host_caller caller = HOST_CALLER; \
		const bool is_change = changes;                \
		const int error = real;                        \
                                                               \
		if (error == 0 && is_change) {                 \
			written(fd, call, &caller);            \
		}                                              \
		return error;                                  \
	}

CHANGES(ftruncate, "ftruncate", (int fd, off_t bytes), cuts(fd, bytes), REAL(ftruncate)(fd, bytes))
CHANGES(ftruncate64, "ftruncate", (int fd, off64_t bytes), cuts(fd, bytes), REAL(ftruncate64)(fd, bytes))
CHANGES(fallocate, "fallocate", (int fd, int mode, off_t off, off_t n), removes(mode),
	REAL(fallocate)(fd, mode, off, n))
CHANGES(fallocate64, "fallocate", (int fd, int mode, off64_t off, off64_t n), removes(mode),
	REAL(fallocate64)(fd, mode, off, n))

/* It may happen later. */
HOST_EXPORT int aio_write(struct aiocb *request)
{
	const struct host_caller caller = HOST_CALLER;

	written(request->aio_fildes, "aio_write", &caller);
	return REAL(aio_write)(request);
}

HOST_EXPORT int aio_write64(struct aiocb64 *request)
{
	const struct host_caller caller = HOST_CALLER;

	written(request->aio_fildes, "aio_write", &caller);
	return REAL(aio_write64)(request);
}
