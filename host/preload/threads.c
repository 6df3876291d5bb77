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

#include "preload.h"

static uint32_t created; /* threads of this process besides its first */
static uint32_t mapped;  /* files that this process has mapped, a bit per file */

_Static_assert(HOST_FILES_MAX <= 32, "a bit per file");

static void count(uint32_t files, uint32_t threads)
{
	for (; files != 0; files &= files - 1) {
		__atomic_add_fetch(
			&host_control->file[__builtin_ctz(files)].threads, threads, __ATOMIC_RELAXED);
	}
}

void host_count_mapper(unsigned file)
{
	const uint32_t bit = UINT32_C(1) << file;

	if ((__atomic_fetch_or(&mapped, bit, __ATOMIC_SEQ_CST) & bit) == 0) {
		count(bit, 1 + __atomic_load_n(&created, __ATOMIC_SEQ_CST));
	}
}

void host_count_fork(void)
{
	created = 0;
	count(mapped, 1);
}

/* A thread that is created during the first mapping of a file may count twice, which is better than not at
 * all. */
static void count_created(uint32_t change)
{
	__atomic_add_fetch(&created, change, __ATOMIC_SEQ_CST);
	count(__atomic_load_n(&mapped, __ATOMIC_SEQ_CST), change);
}

/* Counted before it is created, because it may end the process. */
HOST_EXPORT int pthread_create(
	pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	host_copy_comes(thread, sizeof *thread);
	count_created(1);
	struct host_watched *const watched = host_checking ? host_check_creates(start, NULL, argument) : NULL;

	if (watched != NULL) {
		start = host_check_starts;
		argument = watched;
	}
	struct host_turn *const turn = host_scheduling ? host_turn_creates(&start, NULL, &argument) : NULL;
	const int error = REAL(pthread_create)(thread, attributes, start, argument);

	if (turn != NULL) {
		host_turn_created(turn, *thread, error != 0);
	}
	if (error) {
		count_created(UINT32_MAX); /* undoes it */
	}
	return error;
}

HOST_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
	count_created(1);
	struct host_watched *const watched = host_checking ? host_check_creates(NULL, start, argument) : NULL;

	if (watched != NULL) {
		start = host_check_starts_c11;
		argument = watched;
	}
	struct host_turn *const turn = host_scheduling ? host_turn_creates(NULL, &start, &argument) : NULL;
	const int error = REAL(thrd_create)(thread, start, argument);

	if (turn != NULL) {
		host_turn_created(turn, *thread, error != thrd_success);
	}
	if (error != thrd_success) {
		count_created(UINT32_MAX);
	}
	return error;
}
