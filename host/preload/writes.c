/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel as a writer of files. What write(), pwrite() and their kin write, and what ftruncate() makes of
 * a file's size, is recorded for each file that this process has mapped and for the image, mapped or not
 * (host_follow()); so are the syncs that make it durable. A call is made under the session's lock, so that
 * the record has the order in which the calls changed the file. docs/host.md has the model.
 *
 * Among other calls that change a file, and those made by syscall(), the session notes the first one of
 * each file, and no crash test of the file is given a verdict.
 *
 * Not seen: what the C library writes by itself (stdio), system calls that are made without it, and a process
 * that writes a file which only others have mapped. A file that nothing stores to through a mapping is
 * compared with its record at the end, so that such writes take the verdict away (host/files.c).
 */
#undef _FILE_OFFSET_BITS /* otherwise pwrite() is another name of pwrite64() */

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/each.h"
#include "preload.h"

enum { PIECE = 1 << 20 }; /* bytes of an event, at most */

/* ---- Calls that are not recorded ------------------------------------------------------------------ */

static void find_name(int fd, const struct stat *s, char name[256])
{
	const int file = host_known_file(s);
	char path[4096] = "";

	if (file >= 0) {
		HOST_COPY_TEXT(path, host_control->file[file].path);
	} else if (fd >= 0) {
		host_path_of(fd, path, sizeof path);
	}
	snprintf(name, 256, "%.255s", basename(path));
}

void host_note_unfollowed(int fd, const struct stat *s, const char *call, uint32_t site)
{
	NVW_INVARIANT(host_self.inside && host_control->unfollowed_count <= HOST_UNFOLLOWED_MAX);

	struct host_control *const c = host_control;

	NVW_EACH(unfollowed, c->unfollowed, c->unfollowed_count) {
		if (unfollowed->inode == s->st_ino && unfollowed->device == s->st_dev) {
			return;
		}
	}
	if (c->unfollowed_count < HOST_UNFOLLOWED_MAX) {
		struct host_unfollowed *const u = &c->unfollowed[c->unfollowed_count++];

		*u = (struct host_unfollowed){.device = s->st_dev, .inode = s->st_ino, .site = site};
		HOST_COPY_TEXT(u->call, call);
		find_name(fd, s, u->name);
	}
}

static void changed(int fd, const char *call, const struct host_caller *caller)
{
	HOST_KEEPS_ERRNO;
	struct stat s;

	if (!host_recording || host_self.inside || host_self.own || host_control->closed || fstat(fd, &s) ||
		!S_ISREG(s.st_mode)) {
		return;
	}
	host_self.inside = true;
	host_lock();
	host_thread();
	if (host_follow(fd, &s) >= 0) {
		host_note_unfollowed(fd, &s, call, host_site(caller));
	}
	host_unlock();
	host_self.inside = false;
}

static bool records(void)
{
	return host_recording && host_control->record && !host_self.inside && !host_self.own;
}

/* ---- A call that is recorded ---------------------------------------------------------------------- */

struct recorded {
	int fd, file, before; /* file: its number in the session */
	uint32_t site;
	bool at_position, syncs;
	uint64_t off, size; /* where it writes; the file's size before */
	struct stat s;
};

/* Enters the recorder for a call that changes the file: false if it is not recorded. */
static bool enter(struct recorded *r, int fd, const struct host_caller *caller)
{
	*r = (struct recorded){.fd = fd, .before = errno};
	bool is_recorded = records() && fstat(fd, &r->s) == 0 && S_ISREG(r->s.st_mode) && host_enter();

	if (is_recorded) {
		host_thread();
		r->file = host_follow(fd, &r->s);
		is_recorded = r->file >= 0;
		if (is_recorded) {
			NVW_INVARIANT((uint32_t)r->file < host_control->file_count);
			r->site = host_site(caller);
			r->size = (uint64_t)r->s.st_size;
		} else {
			host_leave();
		}
	}
	errno = r->before;
	return is_recorded;
}

static uint64_t bytes_of(const struct iovec *v, int count)
{
	uint64_t bytes = 0;

	NVW_EACH(one, v, count) {
		bytes += one->iov_len;
	}
	return bytes;
}

/* The end of a range as far as the file's pages reach: there is nothing to read behind them. */
static uint64_t end_of(uint64_t end, uint64_t size)
{
	return nvw_min(end, host_up(size, HOST_PAGE));
}

/* off negative: at the file's position. What mappings hold there, as far as it is not recorded, came
 * before. */
static bool begins(struct recorded *r, int fd, off64_t off, const struct iovec *v, int count, int flags,
	const struct host_caller *caller)
{
	if (!enter(r, fd, caller)) {
		return false;
	}
	const int status = fcntl(fd, F_GETFL);

	r->syncs = (status & O_DSYNC) || (flags & (RWF_DSYNC | RWF_SYNC));
	r->at_position = off < 0;
	r->off = (uint64_t)off;
	if (off < 0) {
		r->off = (uint64_t)lseek(fd, 0, SEEK_CUR);
	}
	if ((status & O_APPEND) || (flags & RWF_APPEND)) {
		r->off = r->size;
	}
	host_settle();
	host_record_mapped(r->file, r->off, end_of(r->off + bytes_of(v, count), r->size), r->site);
	errno = r->before;
	return true;
}

static void record_bytes(const struct recorded *r, uint64_t off, const uint8_t *from, uint64_t n)
{
	for (uint64_t at = 0; at < n;) {
		/* to the end of a page of the file */
		const uint64_t page = PIECE - (off + at) % HOST_PAGE, piece = nvw_min(n - at, page);

		NVW_INVARIANT(piece > 0 && piece <= PIECE);
		host_event_of(HOST_WRITE, r->file, off + at, from + at, piece, r->site);
		at += piece;
	}
}

/* Mappings are compared with the shadow: it has what was written, too. */
static void record_vector(const struct recorded *r, const struct iovec *v, int count, uint64_t n)
{
	const int shadow = host_open("shadow", r->file, O_RDWR);
	uint64_t off = r->off;

	for (int i = 0; i < count && n > 0; i++) {
		const uint64_t piece = nvw_min(v[i].iov_len, n);

		record_bytes(r, off, v[i].iov_base, piece);
		if (shadow < 0 ||
			REAL(pwrite64)(shadow, v[i].iov_base, piece, (off64_t)off) != (ssize_t)piece) {
			host_gap(HOST_GAP_NO_SHADOW);
		}
		off += piece;
		n -= piece;
	}
	host_close(shadow);
}

/* Records a sync of the pages that hold a range. */
static void record_sync(int file, uint64_t off, uint64_t end, uint32_t site)
{
	NVW_INVARIANT(off <= end);

	const uint64_t first = off / HOST_PAGE, pages = (end + HOST_PAGE - 1) / HOST_PAGE - first;

	host_event(HOST_SYNC, file, first * HOST_PAGE, pages, site);
	host_event(HOST_SYNCED, file, 0, 0, site);
}

/* The call has written so many bytes. */
static void ends(const struct recorded *r, const struct iovec *v, int count, ssize_t done)
{
	NVW_INVARIANT(host_self.inside && r->file >= 0);

	HOST_KEEPS_ERRNO;
	struct host_file *const f = &host_control->file[r->file];

	if (done > 0) {
		const uint64_t end = r->off + (uint64_t)done;

		f->written = true;
		f->bytes = nvw_max(end, f->bytes);
		record_vector(r, v, count, (uint64_t)done);
		if (r->syncs) {
			f->synced = true;
			record_sync(r->file, r->off, end, r->site);
		}
	}
	host_leave();
}

/* call: the name that programs know it by, whatever the width of its offsets. */
#define WRITES(name, arguments, real, fd, off, v, count, flags)                         \
	HOST_EXPORT ssize_t name arguments                                              \
	{                                                                               \
		const struct host_caller caller = HOST_CALLER;                          \
		struct recorded r;                                                      \
		const bool is_recorded = begins(&r, fd, off, v, count, flags, &caller); \
		const ssize_t done = real;                                              \
                                                                                        \
		if (is_recorded) {                                                      \
			ends(&r, v, count, done);                                       \
		}                                                                       \
		return done;                                                            \
	}

#define ONE(from, bytes) (&(const struct iovec){(void *)(uintptr_t)(from), bytes})

WRITES(write, (int fd, const void *from, size_t bytes), REAL(write)(fd, from, bytes), fd, -1,
	ONE(from, bytes), 1, 0)
WRITES(pwrite, (int fd, const void *from, size_t bytes, off_t off), REAL(pwrite)(fd, from, bytes, off), fd,
	off, ONE(from, bytes), 1, 0)
WRITES(writev, (int fd, const struct iovec *v, int count), REAL(writev)(fd, v, count), fd, -1, v, count, 0)
WRITES(pwritev, (int fd, const struct iovec *v, int count, off_t off), REAL(pwritev)(fd, v, count, off), fd,
	off, v, count, 0)
WRITES(pwritev2, (int fd, const struct iovec *v, int count, off_t off, int flags),
	REAL(pwritev2)(fd, v, count, off, flags), fd, off, v, count, flags)

HOST_ALIAS(pwrite64, pwrite);
HOST_ALIAS(pwritev64, pwritev);
HOST_ALIAS(pwritev64v2, pwritev2);

/* ---- Copies within the kernel --------------------------------------------------------------------- */

static const uint64_t MOST = UINT64_C(1) << 62; /* bytes of a call, whatever the program asks for */

/* At the position that is pointed to; negative: at the file's own. */
static off64_t place(const off64_t *off)
{
	return off == NULL ? -1 : *off;
}

/* The file as the call has left it is what the call has written. */
static void copied(const struct recorded *r, const char *call, ssize_t done)
{
	HOST_KEEPS_ERRNO;
	const uint64_t first = host_down(r->off, HOST_PAGE);
	const size_t bytes = done > 0 ? (size_t)(r->off - first) + (size_t)done : HOST_PAGE;
	char link[64];

	snprintf(link, sizeof link, "/proc/self/fd/%d", r->fd); /* the descriptor may be for writing alone */
	const int fd = open(link, O_RDONLY | O_CLOEXEC);
	uint8_t *const at = REAL(mmap)(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)first);

	if (at == MAP_FAILED) {
		host_note_unfollowed(r->fd, &r->s, call, r->site);
		ends(r, NULL, 0, 0);
	} else {
		ends(r, ONE(at + (r->off - first), bytes), 1, done);
		REAL(munmap)(at, bytes);
	}
	host_close(fd);
}

#define COPIES(name, call, arguments, real, to, off, bytes)                                  \
	HOST_EXPORT ssize_t name arguments                                                   \
	{                                                                                    \
		const struct host_caller caller = HOST_CALLER;                               \
		struct recorded r;                                                           \
		const bool is_recorded =                                                     \
			begins(&r, to, off, ONE(NULL, nvw_min(bytes, MOST)), 1, 0, &caller); \
		const ssize_t done = real;                                                   \
                                                                                             \
		if (is_recorded) {                                                           \
			copied(&r, call, done);                                              \
		}                                                                            \
		return done;                                                                 \
	}

COPIES(sendfile, "sendfile", (int to, int from, off_t *off, size_t bytes),
	REAL(sendfile)(to, from, off, bytes), to, -1, bytes)
COPIES(copy_file_range, "copy_file_range",
	(int from, off64_t *from_off, int to, off64_t *to_off, size_t bytes, unsigned flags),
	REAL(copy_file_range)(from, from_off, to, to_off, bytes, flags), to, place(to_off), bytes)

HOST_ALIAS(sendfile64, sendfile);

/* ---- The file's size ------------------------------------------------------------------------------ */

static void record_size(struct recorded *r, uint64_t size)
{
	NVW_INVARIANT(r->file >= 0 && (uint32_t)r->file < host_control->file_count);

	struct host_file *const f = &host_control->file[r->file];

	if (size == r->size) {
		return;
	}
	if (size < r->size && f->mappings > 0) {
		host_note_unfollowed(r->fd, &r->s, "ftruncate", r->site); /* pages of a mapping are gone */
	}
	if (size < r->size) {
		const int shadow = host_open("shadow", r->file, O_RDWR);

		if (shadow < 0 || REAL(fallocate64)(shadow, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					  (off64_t)size, (off64_t)(r->size - size))) {
			host_gap(HOST_GAP_NO_SHADOW);
		}
		host_close(shadow);
	}
	f->bytes = nvw_max(size, f->bytes);
	host_event(HOST_SIZE, r->file, size, 0, r->site);
}

void host_record_cut(int fd, int file, const struct stat *before, uint32_t site)
{
	struct recorded r = {
		.fd = fd, .file = file, .site = site, .size = (uint64_t)before->st_size, .s = *before};

	record_size(&r, 0);
}

/* The call has ended: the file has the size that it has. */
static void resized(struct recorded *r, bool failed)
{
	struct stat now;
	HOST_KEEPS_ERRNO;

	if (!failed && fstat(r->fd, &now) == 0) {
		record_size(r, (uint64_t)now.st_size);
	}
	host_leave();
}

static bool resizes(struct recorded *r, int fd, uint64_t size, const struct host_caller *caller)
{
	if (!enter(r, fd, caller)) {
		return false;
	}
	host_settle();
	host_record_mapped(r->file, size, end_of(UINT64_MAX, r->size), r->site);
	errno = r->before;
	return true;
}

#define RESIZES(name, arguments, fd, to, real)                         \
	HOST_EXPORT int name arguments                                 \
	{                                                              \
		const struct host_caller caller = HOST_CALLER;         \
		struct recorded r;                                     \
		const bool is_recorded = resizes(&r, fd, to, &caller); \
		const int error = real;                                \
                                                                       \
		if (is_recorded) {                                     \
			resized(&r, error != 0);                       \
		}                                                      \
		return error;                                          \
	}

RESIZES(ftruncate, (int fd, off_t bytes), fd, (uint64_t)bytes, REAL(ftruncate)(fd, bytes))
RESIZES(posix_fallocate, (int fd, off_t off, off_t n), fd, UINT64_MAX, REAL(posix_fallocate)(fd, off, n))

HOST_ALIAS(ftruncate64, ftruncate);
HOST_ALIAS(posix_fallocate64, posix_fallocate);

/* By a descriptor of our own. Of files below a folder alone: others are found by their size. */
HOST_EXPORT int truncate(const char *path, off_t bytes)
{
	if (!host_recording || *host_control->folder == '\0') {
		return REAL(truncate)(path, bytes);
	}
	const struct host_caller caller = HOST_CALLER;
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct recorded r;

	if (fd < 0) {
		return -1;
	}
	const bool is_recorded = resizes(&r, fd, (uint64_t)bytes, &caller);
	const int error = REAL(ftruncate)(fd, bytes);

	if (is_recorded) {
		resized(&r, error != 0);
	}
	HOST_KEEPS_ERRNO;

	close(fd);
	return error;
}

HOST_ALIAS(truncate64, truncate);

/* Space is no content; what is removed, or moved, is not followed. */
static bool removes(int mode)
{
	return mode & ~FALLOC_FL_KEEP_SIZE;
}

HOST_EXPORT int fallocate(int fd, int mode, off_t off, off_t n)
{
	const struct host_caller caller = HOST_CALLER;
	struct recorded r;
	const bool is_recorded = resizes(&r, fd, UINT64_MAX, &caller);
	const int error = REAL(fallocate)(fd, mode, off, n);

	if (is_recorded) {
		resized(&r, error != 0);
	}
	if (error == 0 && removes(mode)) {
		changed(fd, "fallocate", &caller);
	}
	return error;
}

HOST_ALIAS(fallocate64, fallocate);

/* ---- Syncs ---------------------------------------------------------------------------------------- */

bool host_sync_begins(const struct stat *s, uint64_t off, uint64_t pages, const struct host_caller *caller)
{
	if (!records() || host_known_file(s) < 0 || !host_enter()) {
		return false;
	}
	const int file = host_known_file(s);
	const uint64_t end = pages ? off + pages * HOST_PAGE : end_of(UINT64_MAX, (uint64_t)s->st_size);

	host_thread();
	const uint32_t site = host_site(caller);

	host_settle();
	host_record_mapped(file, off, end, site);
	host_control->file[file].synced = true;
	host_event(HOST_SYNC, file, off, pages, site);
	host_leave();
	return true;
}

void host_sync_ended(const struct stat *s, bool failed, const struct host_caller *caller)
{
	HOST_KEEPS_ERRNO;

	if (!host_enter()) {
		return;
	}
	if (failed) {
		host_note_unfollowed(-1, s, "a failing sync",
			host_site(caller)); /* nothing is known of what it has synced */
	} else {
		host_event(HOST_SYNCED, host_known_file(s), 0, 0, host_site(caller));
	}
	host_leave();
}

/* ---- Calls that change a file and are not recorded ------------------------------------------------- */

/* It may wait for a pipe: not under the lock. */
HOST_EXPORT ssize_t splice(int from, off64_t *from_off, int to, off64_t *to_off, size_t bytes, unsigned flags)
{
	const struct host_caller caller = HOST_CALLER;
	const ssize_t done = REAL(splice)(from, from_off, to, to_off, bytes, flags);

	if (done > 0) {
		changed(to, "splice", &caller);
	}
	return done;
}

/* Which files it writes is not seen: none has a verdict. */
static void uses_io_uring(const char *call, const struct host_caller *caller)
{
	const struct stat any = {.st_ino = 0};
	HOST_KEEPS_ERRNO;

	if (host_recording && !host_self.inside && !host_self.own && host_enter()) {
		host_thread();
		host_note_unfollowed(-1, &any, call, host_site(caller));
		host_leave();
	}
}

/* liburing has these. */
struct io_uring;
struct io_uring_params;
#define USES_IO_URING(name, declared, arguments)    \
	int name declared;                          \
	HOST_EXPORT int name declared               \
	{                                           \
		uses_io_uring(#name, &HOST_CALLER); \
		return REAL(name) arguments;        \
	}

USES_IO_URING(io_uring_queue_init, (unsigned entries, struct io_uring *ring, unsigned flags),
	(entries, ring, flags))
USES_IO_URING(io_uring_queue_init_params,
	(unsigned entries, struct io_uring *ring, struct io_uring_params *params), (entries, ring, params))
USES_IO_URING(io_uring_setup, (unsigned entries, struct io_uring_params *params), (entries, params))
/* The program gives a buffer (since liburing 2.5). */
USES_IO_URING(io_uring_queue_init_mem,
	(unsigned entries, struct io_uring *ring, struct io_uring_params *params, void *buffer, size_t bytes),
	(entries, ring, params, buffer, bytes))

/* It may happen later. */
HOST_EXPORT int aio_write(struct aiocb *request)
{
	const struct host_caller caller = HOST_CALLER;

	changed(request->aio_fildes, "aio_write", &caller);
	return REAL(aio_write)(request);
}

HOST_EXPORT int aio_write64(struct aiocb64 *request)
{
	const struct host_caller caller = HOST_CALLER;

	changed(request->aio_fildes, "aio_write", &caller);
	return REAL(aio_write64)(request);
}

/* ---- Calls that are made by their numbers ----------------------------------------------------------- */

/* fd: which argument is the file. */
static const struct by_number {
	long number;
	const char *call;
	unsigned fd;
} by_number[] = {
	{SYS_write, "syscall(SYS_write)", 0},
	{SYS_pwrite64, "syscall(SYS_pwrite64)", 0},
	{SYS_writev, "syscall(SYS_writev)", 0},
	{SYS_pwritev, "syscall(SYS_pwritev)", 0},
	{SYS_pwritev2, "syscall(SYS_pwritev2)", 0},
	{SYS_ftruncate, "syscall(SYS_ftruncate)", 0},
	{SYS_fallocate, "syscall(SYS_fallocate)", 0},
	{SYS_sendfile, "syscall(SYS_sendfile)", 0},
	{SYS_splice, "syscall(SYS_splice)", 2},
	{SYS_copy_file_range, "syscall(SYS_copy_file_range)", 2},
	{SYS_fsync, "syscall(SYS_fsync)", 0},
	{SYS_fdatasync, "syscall(SYS_fdatasync)", 0},
};

static void called(long number, const long a[6], const struct host_caller *caller)
{
	if (number == SYS_io_uring_setup) {
		uses_io_uring("syscall(SYS_io_uring_setup)", caller);
		return;
	}
	NVW_EACH_IN(one, by_number) {
		if (one->number == number) {
			changed((int)a[one->fd], one->call, caller);
		}
	}
}

HOST_EXPORT long syscall(long number, ...)
{
	const struct host_caller caller = HOST_CALLER;
	long a[6];
	va_list list;

	va_start(list, number);
	NVW_FOR(i, 6) { /* as the C library reads them, whether the call has them or not */
		a[i] = va_arg(list, long);
	}
	va_end(list);
	const long done = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);

	if (host_recording && (done >= 0 || number == SYS_io_uring_setup)) {
		called(number, a, &caller);
	}
	return done;
}
