/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning, fork and end of a program in a session. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/each.h"
#include "preload.h"

/* ---- Forks ---------------------------------------------------------------------------------------- */

/* The thread that continues in a child is a new one. */
static void forked(void)
{
	const bool inside = host_self.inside;

	host_self = (struct host_self){.inside = inside};
	host_schedule_forked();
	host_forget_stores(0, UINTPTR_MAX);
	host_count_fork();
	__atomic_add_fetch(&host_control->processes, 1, __ATOMIC_RELAXED);
}

/* No other thread is in the recorder while memory is copied, so the child finds it consistent. */
static void forking(void)
{
	if (!host_self.inside) {
		host_self.inside = true;
		host_lock();
		NVW_INVARIANT(host_control->site_count <= HOST_SITES_MAX &&
			      host_control->file_count <= HOST_FILES_MAX);
		host_thread();
		host_settle(); /* otherwise the child would find this thread's last store */
		host_self.inside = false;
	}
}

static void forked_parent(void)
{
	if (!host_self.inside) {
		host_unlock();
	}
}

/* ---- Attaching ------------------------------------------------------------------------------------ */

/* A program that cannot be watched prints a message, because it may be unable to inform the session. */
static void not_attached(int fd)
{
	const int before = errno;
	uint64_t times = 0;
	const off_t at = offsetof(struct host_control, gap) + HOST_GAP_NOT_ATTACHED * sizeof times;

	dprintf(STDERR_FILENO, "nvwave exec: %s cannot be watched: %s/control: %s\n",
		program_invocation_short_name, host_folder, strerror(before));
	if (fd >= 0 && pread(fd, &times, sizeof times, at) == sizeof times) {
		times++;
		if (pwrite(fd, &times, sizeof times, at) < 0) {
			return;
		}
	}
}

static struct host_control *open_control(void)
{
	const int fd = host_open("control", -1, O_RDWR);
	void *at = NULL;

	if (fd < 0 && errno == ENOENT) {
		return NULL; /* the session is over */
	}
	if (fd >= 0) {
		at = host_map(fd, 0, sizeof *host_control);
	}
	if (at == NULL) {
		not_attached(fd);
	}
	host_close(fd);
	return at;
}

/*
 * Finds the functions behind those that the recorder calls under the session's lock: to find one takes the
 * dynamic linker's lock, and a thread may hold that and wait for the session's, in a constructor that
 * dlopen() calls.
 */
static void find_functions(void)
{
	NVW_INVARIANT(host_control == NULL); /* what is called here is not recorded */

	struct stat s;
	sigset_t set;
	HOST_KEEPS_ERRNO;

	munmap(NULL, 0);
	mprotect(NULL, 0, PROT_NONE);
	if (pread(-1, &s, 0, 0) != 0 && pwrite(-1, &s, 0, 0) != 0 && write(-1, &s, 0) != 0 &&
		ftruncate(-1, 0) != 0 && copy_file_range(-1, NULL, -1, NULL, 0, 0) != 0 &&
		syscall(SYS_ftruncate, -1, 0) != 0) {
		fstat(-1, &s);
	}
	pthread_sigmask(SIG_BLOCK, NULL, &set);
}

__attribute__((constructor)) void host_attach(void)
{
	static bool attached;
	const char *const named = getenv(HOST_SESSION_VARIABLE);

	if (attached || named == NULL || strlen(named) >= sizeof host_folder) {
		return;
	}
	attached = true;
	strcpy(host_folder, named);
	struct host_control *const c = open_control();

	if (c == NULL || c->version != HOST_VERSION || c->closed) {
		return;
	}
	find_functions();
	host_control = c;
	host_recording = c->record || c->advice;
	if (c->check) {
		host_check_attach();
	}
	if (c->schedule) {
		host_schedule_attach();
	}
	__atomic_add_fetch(&c->processes, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&c->attached, 1, __ATOMIC_RELAXED);
	if (host_recording) {
		pthread_atfork(forking, forked_parent, forked);
		host_catch_faults();
	} else {
		pthread_atfork(NULL, NULL, forked);
	}
	host_calibrate();
}

/* Records stores that were never flushed; for a killed process the parent does this. */
__attribute__((destructor)) static void detach(void)
{
	if (host_control == NULL || !host_recording || !host_enter()) {
		return;
	}
	NVW_EACH_IN(one, host_mapping) {
		if (one->length > 0 && one->file >= 0) {
			host_record_rest(one);
		}
	}
	host_leave();
}
