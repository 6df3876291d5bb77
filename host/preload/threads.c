/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the threads that may store to a file: those of each process that maps it, from the first mapping on.
 * Threads are counted when they are created. A thread that only stores, while another one flushes, makes no
 * recorded call, but a verdict on the record must take it into account.
 *
 * The number may be too large (a thread may never touch the file), never too small, except for threads that
 * are made by the system call clone().
 */
#include <pthread.h>
#include <threads.h>

#include "core/each.h"
#include "preload.h"

static uint32_t created;            /* threads of this process besides its first */
static bool mapped[HOST_FILES_MAX]; /* this process has mapped the file */

static void count(unsigned file, uint32_t threads)
{
	NVW_INVARIANT(file < HOST_FILES_MAX);
	__atomic_add_fetch(&host_control->file[file].threads, threads, __ATOMIC_RELAXED);
}

static void count_all(uint32_t threads)
{
	NVW_FOR(i, HOST_FILES_MAX) {
		if (__atomic_load_n(&mapped[i], __ATOMIC_SEQ_CST)) {
			count(i, threads);
		}
	}
}

void host_count_mapper(unsigned file)
{
	NVW_INVARIANT(file < HOST_FILES_MAX && file < host_control->file_count);
	if (!__atomic_exchange_n(&mapped[file], true, __ATOMIC_SEQ_CST)) {
		count(file, 1 + __atomic_load_n(&created, __ATOMIC_SEQ_CST));
	}
}

void host_count_fork(void)
{
	created = 0;
	count_all(1);
}

/* A thread that is created during the first mapping of a file may count twice, which is better than not at
 * all. */
static void count_created(uint32_t change)
{
	NVW_INVARIANT(change == 1 || change == UINT32_MAX);
	__atomic_add_fetch(&created, change, __ATOMIC_SEQ_CST);
	count_all(change);
}

/* Counted before it is created, because it may end the process. One of the two starts is NULL. */
static struct host_turn *creates(void *(**start)(void *), int (**start_c11)(void *), void **argument)
{
	NVW_INVARIANT(!start != !start_c11);
	count_created(1);
	host_check_creates(start, start_c11, argument);
	return host_turn_creates(start, start_c11, argument);
}

static void has_created(struct host_turn *turn, const pthread_t *thread, bool failed)
{
	if (turn != NULL) {
		host_turn_created(turn, *thread, failed);
	}
	if (failed) {
		count_created(UINT32_MAX); /* undoes it */
	}
}

HOST_EXPORT int pthread_create(
	pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	host_copy_comes(thread, sizeof *thread);
	struct host_turn *const turn = creates(&start, NULL, &argument);
	const int error = REAL(pthread_create)(thread, attributes, start, argument);

	has_created(turn, thread, error != 0);
	return error;
}

HOST_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
	struct host_turn *const turn = creates(NULL, &start, &argument);
	const int error = REAL(thrd_create)(thread, start, argument);

	has_created(turn, thread, error != thrd_success);
	return error;
}
