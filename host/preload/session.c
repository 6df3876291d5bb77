/* SPDX-License-Identifier: BSD-3-Clause */
/* The session's state in a program: the shared block, this thread's number, the lock, files of the folder. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

struct host_control *host_control;
bool host_recording;
HOST_TLS struct host_self host_self;
static struct host_thread uncounted; /* for threads beyond the last, and for those without memory */
char host_folder[256];

/* The control file has memory for the counters of a few threads, and grows by those of each further one: most
 * programs have few, and a thousand threads' counters take 25 MB. */
static bool has_memory(uint32_t number)
{
	NVW_INVARIANT(number > 0 && number <= HOST_THREADS_MAX);

	HOST_KEEPS_ERRNO;
	const bool inside = host_self.inside;

	if (number <= HOST_THREADS_FIRST) {
		return true;
	}
	host_self.inside = true;
	const int fd = host_open("control", -1, O_RDWR);
	const bool has =
		fd >= 0 && host_grow(fd, host_control_bytes(number - 1), sizeof uncounted, false) == 0;

	host_close(fd);
	host_self.inside = inside;
	return has;
}

void host_meet_thread(void)
{
	const uint32_t number = __atomic_add_fetch(&host_control->threads, 1, __ATOMIC_RELAXED);

	host_self.number = number;
	host_self.stats = &uncounted;
	if (number > HOST_THREADS_MAX) {
		return;
	}
	if (!has_memory(number)) {
		__atomic_add_fetch(&host_control->uncounted, 1, __ATOMIC_RELAXED);
		return;
	}
	host_self.stats = &host_control->thread[number - 1];
	__atomic_store_n(&host_control->counted[number - 1], true, __ATOMIC_RELEASE);
}

/* ---- The lock ------------------------------------------------------------------------------------- */

void host_meet_kernel(void)
{
	HOST_KEEPS_ERRNO;
	static HOST_TLS struct robust_list_head none; /* the C library has none */
	size_t bytes;

	host_self.id = (uint32_t)syscall(SYS_gettid);
	if (syscall(SYS_get_robust_list, 0, &host_self.robust, &bytes) != 0 || host_self.robust == NULL) {
		host_self.robust = &none;
	}
	NVW_INVARIANT((host_self.id & FUTEX_TID_MASK) == host_self.id && host_self.id > 0);
}

void host_gap(enum host_gap gap)
{
	NVW_INVARIANT(gap < HOST_GAP_COUNT);
	__atomic_add_fetch(&host_control->gap[gap], 1, __ATOMIC_RELAXED);
}

/* ---- Files of the folder -------------------------------------------------------------------------- */

int host_open(const char *name, int number, int flags)
{
	char path[300];

	snprintf(path, sizeof path, number < 0 ? "%s/%s" : "%s/%s-%d", host_folder, name, number);
	return open(path, flags | O_CLOEXEC, 0600);
}

int host_grow(int fd, uint64_t off, uint64_t n, bool hole)
{
	NVW_INVARIANT(fd >= 0);

	const struct timespec now = {0};
	sigset_t limit, before;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &before);
	const int error = hole ? ftruncate(fd, (off_t)(off + n)) : posix_fallocate(fd, (off_t)off, (off_t)n);

	if (error && !sigismember(&before, SIGXFSZ)) {
		sigtimedwait(&limit, NULL, &now); /* ours */
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
