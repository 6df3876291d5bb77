/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores to a mapped file for test_announced.sh, some of which nothing announces: an instruction that is
 * written as bytes is one that the assembler stage does not know.
 *
 * 	announced FILE plain|hidden|flushed|elsewhere|string|library
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef PART /* built by another compiler, or in a file of its own */
void part(uint64_t *at);
void part(uint64_t *at)
{
	*at = 5;
}
#else

#ifdef WHOLE
void part(uint64_t *at);
#endif

#ifdef DLSYM
#include <dlfcn.h>
#endif

#ifdef ACK
#include <nvw/ack.h>
#endif

#ifdef MALLOC
void *malloc(size_t n)
{
	static char room[1 << 16];
	static size_t used;

	used += n;
	return room + used - n;
}
#endif

enum { BYTES = 1 << 16 };

static void flush(const volatile void *at)
{
	__asm__ volatile("clflush %0" ::"m"(*(const volatile char *)at) : "memory");
}

static void fence(void)
{
	__asm__ volatile("mfence" ::: "memory");
}

/* Each fence finds what the C library has stored by then. */
static void lock_in(pthread_mutex_t *lock)
{
	pthread_mutex_init(lock, NULL);
	pthread_mutex_lock(lock);
	fence();
	pthread_mutex_unlock(lock);
	fence();
	pthread_mutex_destroy(lock);
}

/* Likewise; the wait gives the lock back, and is woken with it. */
struct meeting {
	pthread_mutex_t lock;
	char between[64];
	pthread_cond_t condition;
	char behind[64];
	uint64_t came;
};

static void *come(void *meeting)
{
	struct meeting *const m = meeting;

	pthread_mutex_lock(&m->lock);
	m->came = 1;
	fence();
	pthread_cond_signal(&m->condition);
	fence();
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static void meet_in(struct meeting *m)
{
	pthread_t thread;
	struct timespec now;

	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->condition, NULL);
	pthread_mutex_lock(&m->lock);
	if (pthread_create(&thread, NULL, come, m) != 0) {
		return;
	}
	while (m->came == 0) {
		pthread_cond_wait(&m->condition, &m->lock);
		fence();
	}
	clock_gettime(CLOCK_REALTIME, &now);
	pthread_cond_timedwait(&m->condition, &m->lock, &now);
	fence();
	pthread_mutex_unlock(&m->lock);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&m->condition);
}

static void *give(void *number)
{
	return number;
}

/* Likewise, and what it stores as a result. */
static void wait_in(sem_t *semaphore, void **result)
{
	pthread_t thread;

	sem_init(semaphore, 0, 1);
	fence();
	sem_wait(semaphore);
	fence();
	if (pthread_create(&thread, NULL, give, (void *)7) == 0) {
		pthread_join(thread, result);
	}
	fence();
	sem_getvalue(semaphore, (int *)(result + 1));
}

/* mov %rax, (%rdi) */
static void hide(uint64_t *at, uint64_t value)
{
	__asm__ volatile(".byte 0x48, 0x89, 0x07" ::"D"(at), "a"(value) : "memory");
}

static void plain(uint64_t *pool)
{
#ifdef ACK
	nvw_operation_begins(1, "one");
#endif
	for (unsigned i = 0; i < 40; i++) {
		pool[i * 64] = i + 1;
		if (i % 4 == 0) {
			flush(&pool[i * 64]);
		}
		fence();
	}
#ifdef WHOLE
	part(&pool[8]);
#endif
#ifdef SYSCALL
	uint64_t got = 39;

	__asm__ volatile("syscall" : "+a"(got) : : "rcx", "r11", "memory"); /* getpid */
#endif
#ifdef DOWNWARDS
	__asm__ volatile("std\n	cld" ::: "cc");
#endif
#ifdef SCATTER
	if (pool[1] == 77) {
		__asm__ volatile(
			".arch .avx512f\n	vpscatterdd %%zmm0, (%0, %%zmm1, 4) %{%%k1%}" ::"r"(pool)
			: "memory");
	}
#endif
#ifdef DLSYM
	printf("%s", dlsym(RTLD_DEFAULT, "no such function") ? " " : "");
#endif
}

#ifdef SORT
static int compare(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}
#endif

int main(int argc, char **argv)
{
	const int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	uint64_t *const pool = fd >= 0 && ftruncate(fd, BYTES) == 0 ?
				       mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) :
				       MAP_FAILED;

	if (pool == MAP_FAILED) {
		return 2;
	}
	if (strcmp(argv[2], "plain") == 0) {
		plain(pool);
	} else if (strcmp(argv[2], "hidden") ==
		   0) { /* the page has an announced store, of the value that is there */
		pool[512 + 64] = 0;
		hide(&pool[512], 7);
		fence();
		fence();
	} else if (strcmp(argv[2], "flushed") == 0) {
		pool[512 + 64] = 0;
		hide(&pool[512], 7);
		flush(&pool[512]);
		fence();
	} else if (strcmp(argv[2], "elsewhere") == 0) {
		pool[0] = 1;
		fence();
		hide(&pool[1024], 7);
		fence();
		pool[1] = 1;
	} else if (strcmp(argv[2], "string") == 0) {
		uint64_t *to = pool, count = 8;

		__asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"((uint64_t)9) : "memory");
		fence();
	} else if (strcmp(argv[2], "library") == 0) {
		snprintf((char *)pool, 8, "%s", "123");
		(void)!stat(".", (struct stat *)&pool[512]);
		(void)!fstat(fd, (struct stat *)&pool[1024]);
		(void)clock_gettime(CLOCK_REALTIME, (struct timespec *)&pool[1536]);
		lock_in((pthread_mutex_t *)&pool[2048]);
		wait_in((sem_t *)&pool[2560], (void **)&pool[3072]);
		meet_in((struct meeting *)&pool[3584]);
		(void)strtol("7 8", (char **)&pool[2048], 10);
		fence();
	}
#ifdef SORT
	char text[] = "cab";

	qsort(text, 3, 1, compare);
	return text[0] != 'a';
#endif
	return 0;
}
#endif
