/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of the C library that the recorder must observe: those that map and unmap, copy out of a mapping,
 * write to one through the kernel, hide SIGSEGV, look functions up, and execute programs.
 */
#undef _FILE_OFFSET_BITS /* otherwise mmap() is another name of mmap64() */

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <spawn.h>
#include <unistd.h>

#include "core/each.h"
#include "preload.h"
#include "../program.h"

/* ---- Mappings ------------------------------------------------------------------------------------- */

/* A mapping that may become writable, because the file was opened for writing. */
static bool is_ours(int prot, int flags, int fd)
{
	const int type = flags & MAP_TYPE;

	return fd >= 0 && !(flags & MAP_ANONYMOUS) && (type == MAP_SHARED || type == MAP_SHARED_VALIDATE) &&
	       ((prot & PROT_WRITE) || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
}

/* The kernel grants this only for persistent memory. */
static bool is_synchronous(int flags)
{
	return (flags & MAP_TYPE) == MAP_SHARED_VALIDATE && (flags & MAP_SYNC);
}

HOST_EXPORT void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t off)
{
	if (host_control != NULL && (flags & MAP_FIXED)) {
		host_unmapping(addr, length);
	}
	void *const at = REAL(mmap)(addr, length, prot, flags, fd, off);

	if (host_control == NULL || at == MAP_FAILED || host_self.inside || host_self.own ||
		!is_ours(prot, flags, fd)) {
		return at;
	}
	if (prot & PROT_WRITE) {
		host_mapped(at, length, fd, (uint64_t)off, is_synchronous(flags));
	} else {
		host_mapped_read_only(at, length, fd, (uint64_t)off, is_synchronous(flags));
		REAL(mprotect)(at, length, prot); /* perhaps with PROT_NONE */
	}
	return at;
}

HOST_ALIAS(mmap64, mmap);

HOST_EXPORT int munmap(void *addr, size_t length)
{
	if (host_control != NULL && !host_self.inside) {
		host_unmapping(addr, length);
	}
	return REAL(munmap)(addr, length);
}

/* Moving or resizing a mapping ends it and begins another one. */
HOST_EXPORT void *mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	struct host_moved moved;
	va_list list;

	va_start(list, flags);
	void *const to = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
	va_end(list);
	const bool ours = host_control != NULL && !host_self.inside && host_moving(old, old_length, &moved);

	if (host_control != NULL && !host_self.inside && (flags & MREMAP_FIXED)) {
		host_unmapping(to, length);
	}
	void *const at = REAL(mremap)(old, old_length, length, flags, to);

	if (ours && at == MAP_FAILED) {
		host_moved(&moved, old, old_length);
	} else if (ours) {
		host_moved(&moved, at, length);
	}
	return at;
}

HOST_EXPORT int mprotect(void *addr, size_t length, int prot)
{
	const bool watched =
		host_control != NULL && !host_self.inside && host_protecting(addr, length, prot & PROT_WRITE);

	return REAL(mprotect)(addr, length, watched ? prot & ~PROT_WRITE : prot);
}

/* ---- The kernel's ways to make a file durable ----------------------------------------------------- */

/* Finds the file that is mapped there. */
static bool find_mapped(const void *address, struct stat *ret, uint64_t *ret_off)
{
	const struct host_mapping *const m = host_mapping_of(address);

	if (m == NULL) {
		return false;
	}
	*ret = (struct stat){.st_dev = m->device, .st_ino = m->inode, .st_mode = S_IFREG};
	*ret_off = m->off + ((uintptr_t)address - m->start);
	return true;
}

HOST_EXPORT int msync(void *addr, size_t length, int flags)
{
	const struct host_caller caller = HOST_CALLER;
	const uint64_t pages = (length + HOST_PAGE - 1) / HOST_PAGE;
	struct stat s;
	uint64_t off;
	const bool follows = (flags & MS_SYNC) && length > 0 && find_mapped(addr, &s, &off) &&
			     host_sync_begins(&s, off, pages, &caller);
	const int error = REAL(msync)(addr, length, flags);

	if (error == 0 && (flags & MS_SYNC) && host_control != NULL && !host_self.inside) {
		host_synced(addr, length, &caller);
	}
	if (follows) {
		host_sync_ended(&s, error != 0, &caller);
	}
	return error;
}

/* Records stores through all recorded mappings of the file. */
static void synced_file(const struct stat *s, const struct host_caller *caller)
{
	const int file = host_known_file(s);

	NVW_EACH_IN(m, host_mapping) {
		if (file >= 0 && m->length > 0 && m->file == file && (uint64_t)s->st_size > m->off) {
			/* behind the file's end there is nothing to read */
			const uint64_t n = (uint64_t)s->st_size - m->off;

			host_synced((void *)m->start, nvw_min(n, m->length), caller);
		}
	}
}

static int sync_folder(int fd, int (*real)(int fd), const struct host_caller *caller)
{
	const bool follows = host_names_sync_begins(fd, caller);
	const int error = real(fd);
	HOST_KEEPS_ERRNO;

	if (follows) {
		host_names_sync_ended(error != 0, caller);
	}
	return error;
}

static int sync_file(int fd, int (*real)(int fd), const struct host_caller *caller)
{
	const int before = errno;
	struct stat s;

	if (!host_recording || host_self.inside || host_self.own || fstat(fd, &s)) {
		errno = before;
		return real(fd);
	}
	if (S_ISDIR(s.st_mode)) {
		return sync_folder(fd, real, caller);
	}
	const bool follows = host_sync_begins(&s, 0, 0, caller);
	const int error = real(fd), after = errno;

	if (error == 0) {
		synced_file(&s, caller);
	}
	if (follows) {
		host_sync_ended(&s, error != 0, caller);
	}
	errno = error == 0 ? before : after;
	return error;
}

HOST_EXPORT int fsync(int fd)
{
	return sync_file(fd, REAL(fsync), &HOST_CALLER);
}

HOST_EXPORT int fdatasync(int fd)
{
	return sync_file(fd, REAL(fdatasync), &HOST_CALLER);
}

/* As far as a sync needs to know it. */
static struct stat state_of(const struct host_file *f)
{
	struct stat s;

	if (stat(f->path, &s) || s.st_dev != f->device || s.st_ino != f->inode) {
		s.st_size = 0;
	}
	return (struct stat){.st_dev = f->device, .st_ino = f->inode, .st_size = s.st_size};
}

/* Syncs all files, and their names. */
static int sync_all(int (*real)(int fd), int fd, const struct host_caller *caller)
{
	bool follows[HOST_FILES_MAX] = {false};
	const unsigned n = host_recording ? host_control->file_count : 0;

	for (unsigned i = 0; i < n; i++) {
		const struct stat s = state_of(&host_control->file[i]);

		follows[i] = host_sync_begins(&s, 0, 0, caller);
	}
	const bool follows_names = host_recording && host_names_sync_begins(-1, caller);
	const int error = real(fd);

	for (unsigned i = 0; i < n; i++) {
		const struct stat s = state_of(&host_control->file[i]);

		if (follows[i]) {
			host_sync_ended(&s, error != 0, caller);
		}
	}
	if (follows_names) {
		host_names_sync_ended(error != 0, caller);
	}
	return error;
}

static int sync_system(int fd)
{
	REAL(sync)();
	return 0;
}

HOST_EXPORT void sync(void)
{
	sync_all(sync_system, -1, &HOST_CALLER);
}

HOST_EXPORT int syncfs(int fd)
{
	return sync_all(REAL(syncfs), fd, &HOST_CALLER);
}

/* ---- Copies --------------------------------------------------------------------------------------- */

typedef void *copy_function(void *to, const void *from, size_t n);

static copy_function *real_memcpy, *real_memmove;

/* Used until the real functions are known, because finding them needs copies. */
static void *copy_bytes(void *to, const void *from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	if (t <= f || t >= f + n) {
		for (size_t i = 0; i < n; i++) {
			t[i] = f[i];
			__asm__ volatile("" ::: "memory"); /* otherwise it becomes a call of memcpy() */
		}
	} else {
		while (n-- > 0) {
			t[n] = f[n];
			__asm__ volatile("" ::: "memory");
		}
	}
	return to;
}

__attribute__((constructor(101))) static void find_copies(void)
{
	*(void **)&real_memmove = host_real("memmove");
	*(void **)&real_memcpy = host_real("memcpy");
}

static void *copy_read(
	copy_function *real, void *to, const void *from, size_t n, const struct host_caller *caller)
{
	const uint64_t began = host_began();
	struct host_thread *const t = host_thread();

	t->reads++;
	t->bytes_read += n;
	if (host_checking) {
		host_check_load(host_find(from), from, n, caller);
	}
	real(to, from, n);
	host_delay_read(began, n);
	return to;
}

#define COPIES(name)                                                                    \
	HOST_EXPORT void *name(void *to, const void *from, size_t n)                    \
	{                                                                               \
		copy_function *const real = NVW_OR(real_##name, copy_bytes);            \
                                                                                        \
		host_copy_comes(to, n);                                                 \
		if (__builtin_expect(host_find(from) == NULL, 1) || host_self.inside) { \
			return real(to, from, n);                                       \
		}                                                                       \
		return copy_read(real, to, from, n, &HOST_CALLER);                      \
	}

COPIES(memcpy)
COPIES(memmove)

/* ---- The kernel as a writer: a protected page would make the call fail -------------------------- */

static void touch(void *to, size_t n)
{
	if (host_recording && host_find(to) != NULL) {
		host_touch(to, n);
	}
}

static void touch_all(const struct iovec *v, ssize_t count)
{
	for (ssize_t i = 0; i < count; i++) {
		touch(v[i].iov_base, v[i].iov_len);
	}
}

/* With its prototype, which headers lack of some. */
#define READS(type, name, declared, arguments, touches) \
	type name declared;                             \
	HOST_EXPORT type name declared                  \
	{                                               \
		touches;                                \
		return REAL(name) arguments;            \
	}

READS(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), touch(to, n))
READS(ssize_t, pread, (int fd, void *to, size_t n, off_t off), (fd, to, n, off), touch(to, n))
READS(ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags), touch(to, n))
READS(ssize_t, recvfrom,
	(int fd, void *restrict to, size_t n, int flags, struct sockaddr *restrict from,
		socklen_t *restrict length),
	(fd, to, n, flags, from, length), touch(to, n))
READS(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags),
	touch_all(message->msg_iov, (ssize_t)message->msg_iovlen))
READS(ssize_t, readv, (int fd, const struct iovec *v, int count), (fd, v, count), touch_all(v, count))
READS(ssize_t, preadv, (int fd, const struct iovec *v, int count, off_t off), (fd, v, count, off),
	touch_all(v, count))

HOST_ALIAS(pread64, pread);
HOST_ALIAS(preadv64, preadv);

/* For unbuffered data, the C library calls read() internally. */
READS(size_t, fread, (void *restrict to, size_t size, size_t n, FILE *restrict from), (to, size, n, from),
	touch(to, (size) * (n)))

/* The same functions for programs built with _FORTIFY_SOURCE; the real ones check the sizes. */
READS(ssize_t, __read_chk, (int fd, void *to, size_t n, size_t room), (fd, to, n, room), touch(to, n))
READS(ssize_t, __pread_chk, (int fd, void *to, size_t n, off_t off, size_t room), (fd, to, n, off, room),
	touch(to, n))
READS(ssize_t, __recv_chk, (int fd, void *to, size_t n, size_t room, int flags), (fd, to, n, room, flags),
	touch(to, n))
READS(size_t, __fread_chk, (void *to, size_t room, size_t size, size_t n, FILE *from),
	(to, room, size, n, from), touch(to, (size) * (n)))

HOST_ALIAS(__pread64_chk, __pread_chk);

/* ---- SIGSEGV and SIGBUS remain handled by this library, and unblocked --------------------------- */

struct sigaction host_program_action[2]; /* the actions that the program has set */

HOST_EXPORT int sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
	struct sigaction changed;

	if (!host_recording || host_self.inside) {
		return REAL(sigaction)(number, new, old);
	}
	if (number == SIGSEGV || number == SIGBUS) {
		struct sigaction *const own = &host_program_action[number == SIGBUS];

		if (old != NULL) {
			*old = *own;
		}
		if (new != NULL) {
			*own = *new;
		}
		return 0;
	}
	if (new != NULL) {
		changed = *new;
		sigdelset(&changed.sa_mask, SIGSEGV);
		sigdelset(&changed.sa_mask, SIGBUS);
		new = &changed;
	}
	return REAL(sigaction)(number, new, old);
}

HOST_EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	struct sigaction new = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

	if (!host_recording || (number != SIGSEGV && number != SIGBUS)) {
		return REAL(signal)(number, handler);
	}
	sigaction(number, &new, &old);
	return old.sa_handler;
}

static const sigset_t *without_faults(int how, const sigset_t *set, sigset_t *changed)
{
	if (!host_recording || set == NULL || how == SIG_UNBLOCK) {
		return set;
	}
	*changed = *set;
	sigdelset(changed, SIGSEGV);
	sigdelset(changed, SIGBUS);
	return changed;
}

HOST_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t changed;

	return REAL(sigprocmask)(how, without_faults(how, set, &changed), old);
}

HOST_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t changed;

	return REAL(pthread_sigmask)(how, without_faults(how, set, &changed), old);
}

/* ---- Executed programs: recorded if the linker loads this library into them --------------------- */

static bool has(char *const *environment, const char *variable)
{
	const size_t n = strlen(variable);

	for (; environment != NULL && *environment != NULL; environment++) {
		if (strncmp(*environment, variable, n) == 0 && (*environment)[n] == '=') {
			return true;
		}
	}
	return false;
}

/* Called before the program is executed, because a message is impossible afterwards. */
static void note_program(const char *path, char *const *environment)
{
	if (host_control == NULL || path == NULL) {
		return;
	}
	host_settle_last();
	HOST_KEEPS_ERRNO;
	const enum host_program kind = host_program_look(path, NULL, 0);

	if (kind == HOST_PROGRAM_STATIC || kind == HOST_PROGRAM_SET_ID || kind == HOST_PROGRAM_FOREIGN) {
		host_gap(HOST_GAP_EXEC_STATIC);
	} else if (kind == HOST_PROGRAM_FITS &&
		   (!has(environment, "LD_PRELOAD") || !has(environment, HOST_SESSION_VARIABLE))) {
		host_gap(HOST_GAP_EXEC_CLEARED);
	}
}

extern char **environ;

#define EXECUTES(name, declared, arguments, path, environment) \
	HOST_EXPORT int name declared                          \
	{                                                      \
		note_program(path, environment);               \
		return REAL(name) arguments;                   \
	}

EXECUTES(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp), path, envp)
EXECUTES(execv, (const char *path, char *const argv[]), (path, argv), path, environ)
EXECUTES(execvp, (const char *file, char *const argv[]), (file, argv), file, environ)
EXECUTES(execvpe, (const char *file, char *const argv[], char *const envp[]), (file, argv, envp), file, envp)
EXECUTES(posix_spawn,
	(pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]),
	(pid, path, actions, attributes, argv, envp), path, envp)
EXECUTES(posix_spawnp,
	(pid_t * pid, const char *file, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]),
	(pid, file, actions, attributes, argv, envp), file, envp)

HOST_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	note_program(path, envp);
	return REAL(fexecve)(fd, argv, envp);
}

/* execl() and similar functions, by means of those that take an array. */
static size_t count_words(const char *first, va_list list)
{
	size_t n = first != NULL;
	va_list copy;

	va_copy(copy, list);
	while (n > 0 && va_arg(copy, char *) != NULL) {
		n++;
	}
	va_end(copy);
	return n;
}

static void take_words(char **argv, const char *first, size_t n, va_list *list)
{
	argv[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i <= n; i++) {
		argv[i] = va_arg(*list, char *);
	}
}

#define EXECUTE_LIST(name, call)                                       \
	HOST_EXPORT int name(const char *path, const char *first, ...) \
	{                                                              \
		va_list list;                                          \
                                                                       \
		va_start(list, first);                                 \
		const size_t n = count_words(first, list);             \
		char **const argv = alloca((n + 1) * sizeof *argv);    \
                                                                       \
		take_words(argv, first, n, &list);                     \
		call;                                                  \
		va_end(list);                                          \
		return -1;                                             \
	}

EXECUTE_LIST(execl, execv(path, argv))
EXECUTE_LIST(execlp, execvp(path, argv))
EXECUTE_LIST(execle, execve(path, argv, va_arg(list, char *const *)))
