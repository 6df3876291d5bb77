/* SPDX-License-Identifier: BSD-3-Clause */
/* The session, from inside a program: attaching, threads, the functions behind the interposed ones. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload.h"

struct host_control *host_control;
bool host_recording;
HOST_TLS struct host_self host_self;
static struct host_thread uncounted; /* for threads beyond the last */
static void *libpmem;

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

void host_meet_thread(void)
{
	const uint32_t number = __atomic_add_fetch(&host_control->threads, 1, __ATOMIC_RELAXED);

	host_self.number = number;
	host_self.stats = number <= HOST_THREADS_MAX ? &host_control->thread[number - 1] : &uncounted;
}

/* The thread that goes on in a child is another one. */
static void forked(void)
{
	const bool inside = host_self.inside;

	host_self = (struct host_self){.inside = inside};
	host_forget_stores(0, UINTPTR_MAX);
	__atomic_add_fetch(&host_control->processes, 1, __ATOMIC_RELAXED);
}

/* No other thread is in the recorder while memory is copied, so the child finds it in order. */
static void forking(void)
{
	if (!host_self.inside) {
		host_self.inside = true;
		host_lock();
		host_thread();
		host_settle(); /* or the child would find this thread's last store */
		host_self.inside = false;
	}
}

static void forked_parent(void)
{
	if (!host_self.inside) {
		host_unlock();
	}
}

/* ---- The lock ------------------------------------------------------------------------------------------------------ */

void host_lock(void)
{
	if (pthread_mutex_lock(&host_control->lock) == EOWNERDEAD) {
		pthread_mutex_consistent(&host_control->lock);
	}
}

void host_unlock(void)
{
	pthread_mutex_unlock(&host_control->lock);
}

void host_gap(enum host_gap gap)
{
	__atomic_add_fetch(&host_control->gap[gap], 1, __ATOMIC_RELAXED);
}

/* ---- The functions behind --------------------------------------------------------------------------------------------- */

void host_learn_libpmem(void *handle)
{
	libpmem = handle;
}

void *host_real(const char *name)
{
	host_own_function(NULL, NULL);
	void *f = host_dlsym(RTLD_NEXT, name);

	if (f == NULL && strncmp(name, "pmem_", 5) == 0) {
		libpmem = libpmem ? libpmem : dlopen("libpmem.so.1", RTLD_NOW | RTLD_NOLOAD);
		f = libpmem ? host_dlsym(libpmem, name) : NULL;
	}
	if (f == NULL) {
		dprintf(STDERR_FILENO, "nvwave exec: there is no function %s behind the interposed one\n", name);
		abort();
	}
	return f;
}

/* ---- Attaching ------------------------------------------------------------------------------------------------------------ */

int host_open(const char *name, int number, int flags)
{
	char path[4096];
	const char *const folder = getenv(HOST_SESSION_VARIABLE);

	snprintf(path, sizeof path, number < 0 ? "%s/%s" : "%s/%s-%d", folder ? folder : "", name, number);
	return open(path, flags | O_CLOEXEC, 0600);
}

__attribute__((constructor)) void host_attach(void)
{
	static bool attached;

	if (attached) {
		return;
	}
	attached = true;
	const int fd = getenv(HOST_SESSION_VARIABLE) ? host_open("control", -1, O_RDWR) : -1;

	if (fd < 0) {
		return;
	}
	struct host_control *const c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (c == MAP_FAILED || c->version != HOST_VERSION || c->closed) {
		return;
	}
	host_control = c;
	host_recording = c->record || c->advice;
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

/* What was stored and never flushed; a process that is killed leaves that to the parent. */
__attribute__((destructor)) static void detach(void)
{
	if (host_control == NULL || !host_recording || !host_enter()) {
		return;
	}
	for (unsigned i = 0; i < HOST_MAPPINGS_MAX; i++) {
		if (host_mapping[i].length > 0 && host_mapping[i].file >= 0) {
			host_record_rest(&host_mapping[i]);
		}
	}
	host_leave();
}
