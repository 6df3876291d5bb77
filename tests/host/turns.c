/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that take turns, a case each: turns POOL CASE runs it, turns POOL checks what a crash has left: y
 * is what was made from x, so x is there where y is.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "turns.h"

enum { POOL_BYTES = 1 << 16 };

struct pool *pool;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t many = PTHREAD_RWLOCK_INITIALIZER;
sem_t semaphore;
_Atomic int ready, other;

static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

/* ---- Everything else ---------------------------------------------------------------------------------- */

static void init(void)
{
	sched_yield();
	pool->sum = pool->sum + 1;
	persist(&pool->sum);
}

static void leave(void *value)
{
	pthread_mutex_lock(&a);
	pool->x = pool->x + 1;
	persist(&pool->x);
	pthread_mutex_unlock(&a);
}

/* A robust lock, for as long as the thread lives: the next one gets it from nobody. */
static pthread_mutex_t lasting;

static void inherit(void)
{
	const int error = pthread_mutex_lock(&lasting);

	if (error == EOWNERDEAD) {
		pthread_mutex_consistent(&lasting);
	} else if (error != 0) {
		_exit(4);
	}
}

static void *everything(void *argument)
{
	pthread_once(&once, init);
	pthread_setspecific(key, pool);
	pthread_barrier_wait(&barrier);
	pthread_rwlock_rdlock(&many);
	const uint64_t sum = pool->sum;
	pthread_rwlock_unlock(&many);
	pthread_rwlock_wrlock(&many);
	pool->y = pool->y + sum;
	persist(&pool->y);
	pthread_rwlock_unlock(&many);
	pthread_spin_lock(&spin);
	pool->item[0] = pool->item[0] + 1;
	persist(&pool->item[0]);
	pthread_spin_unlock(&spin);
	while (pthread_mutex_trylock(&b) != 0) {
	}
	pool->item[1] = pool->item[1] + 1;
	pthread_mutex_unlock(&b);
	sem_post(&semaphore);
	inherit();
	pthread_exit(NULL);
}

static void all(void)
{
	pthread_t t[3];
	pthread_mutexattr_t robust;

	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&lasting, &robust);
	pthread_key_create(&key, leave);
	pthread_barrier_init(&barrier, NULL, 3);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	sem_init(&semaphore, 0, 0);
	for (int i = 0; i < 3; i++) {
		pthread_create(&t[i], NULL, everything, NULL);
	}
	pthread_detach(t[2]);
	for (int i = 0; i < 3; i++) {
		sem_wait(&semaphore);
	}
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	while (pool->x < 3) {
		sched_yield();
	}
	exit_if(pool->sum != 1 || pool->y != 3 || pool->item[0] != 3 || pool->item[1] != 3, 4);
}

/* ---- What is not controlled ------------------------------------------------------------------- */

static int files[2]; /* one file, opened twice */

static void *lock_file(void *argument)
{
	return (void *)(intptr_t)flock(files[1], LOCK_EX);
}

static void blocks(void)
{
	files[0] = open("pool", O_RDWR);
	files[1] = open("pool", O_RDWR);
	exit_if(files[0] < 0 || files[1] < 0 || flock(files[0], LOCK_EX), 9);
	in_thread(lock_file, NULL);
}

static void *nothing(void *argument)
{
	return NULL;
}

/* The child, which has one thread, starts another, and this thread waits for it. */
static void *fork_and_start(void *argument)
{
	const pid_t child = fork();

	if (child == 0) {
		in_thread(nothing, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return NULL;
}

static void *fork_alone(void *argument)
{
	const pid_t child = fork();

	if (child == 0) {
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return NULL;
}

static void cancels(void)
{
	pthread_t t;

	pthread_create(&t, NULL, nothing, NULL);
	pthread_cancel(t);
	pthread_join(t, NULL);
}

/* More than a set has room for, as with memory of its own. */
static void *select_among_many(void *unused)
{
	fd_set all[2] = {0};

	select(FD_SETSIZE + 1, all, NULL, NULL, &(struct timeval){0});
	return NULL;
}

/* Many accesses, for the time that they take. */
static void *work(void *argument)
{
	volatile uint64_t *const at = argument;

	for (int i = 0; i < 20000; i++) {
		at[i % 4] = (uint64_t)i;
		if (i % 8 == 7) {
			persist(at);
		}
		if (i % 256 == 0) {
			pthread_mutex_lock(&a);
			pool->sum = pool->sum + 1;
			pthread_mutex_unlock(&a);
		}
	}
	return NULL;
}

static void *work_x(void *argument)
{
	return work((void *)(uintptr_t)&pool->item[0]);
}

static void *work_y(void *argument)
{
	return work((void *)(uintptr_t)&pool->item[8]);
}

static const char *pool_path;

static void leaves_pipe(void)
{
	if (unlink(pool_path) || mkfifo(pool_path, 0600)) {
		exit(9);
	}
}

/* ---- The cases --------------------------------------------------------------------------------------- */

static const struct turns_case others[] = {
	{"all", .run = all},
	{"blocks", .run = blocks},
	{"cancels", .run = cancels},
	{"forks", fork_alone},
	{"forks-and-starts", fork_and_start},
	{"works", work_x, work_y},
	{"leaves-pipe", .run = leaves_pipe},
	{"selects-many", select_among_many},
	{NULL},
};

static int run(const struct turns_case *c)
{
	if (c->run != NULL) {
		c->run();
	} else if (c->second != NULL) {
		both(c->first, c->second);
	} else {
		in_thread(c->first, NULL);
	}
	return 0;
}

static int check(void)
{
	const char *const answered = getenv("NVWAVE_ACKNOWLEDGED");

	if (answered != NULL && answered[0] != '\0' && pool->x == 0) {
		puts("x was there, and is lost");
		return 1;
	}
	if (pool->y == BOTH && pool->x != 0 && (&pool->x)[1] == 0) {
		puts("what is behind x is lost");
		return 1;
	}
	if (pool->y != 0 && pool->x == 0) {
		printf("y is %llu, and x is lost\n", (unsigned long long)pool->y);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, POOL_BYTES)) {
		return 9;
	}
	pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pool == MAP_FAILED) {
		return 9;
	}
	if (argc < 3) {
		return check();
	}
	pool_path = argv[1];
	const struct turns_case *const parts[] = {turns_races, turns_waits, turns_descriptors, others};

	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
		for (const struct turns_case *c = parts[i]; c->name != NULL; c++) {
			if (strcmp(c->name, argv[2]) == 0) {
				return run(c);
			}
		}
	}
	return 9;
}
