/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of turns.c share: the pool, locks, threads, and their cases. */
#ifndef TESTS_HOST_TURNS_H
#define TESTS_HOST_TURNS_H

#include <emmintrin.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { LINE = 64, ITEMS = 12, OFTEN = 500, BOTH = 1 << 20 };

extern struct pool {
	_Alignas(LINE) volatile uint64_t x;
	_Alignas(LINE) volatile uint64_t y;
	_Alignas(LINE) _Atomic uint64_t flag;
	_Alignas(LINE) volatile uint64_t sum;
	_Alignas(LINE) volatile uint64_t item[ITEMS];
} * pool;

extern pthread_mutex_t a, b;
extern pthread_cond_t filled;
extern pthread_rwlock_t many;
extern sem_t semaphore;
extern _Atomic int ready, other;

static inline void flush(volatile const void *at)
{
	__asm__ volatile("clwb %0" : : "m"(*(volatile const char *)at) : "memory");
}

static inline void persist(volatile const void *at)
{
	flush(at);
	_mm_sfence();
}

/* A case that went wrong ends the program with this status. */
static inline void exit_if(bool wrong, int status)
{
	if (wrong) {
		_exit(status);
	}
}

static inline void *in_thread(void *(*f)(void *), void *argument)
{
	pthread_t t;
	void *value;

	exit_if(pthread_create(&t, NULL, f, argument) || pthread_join(t, &value), 9);
	return value;
}

static inline void both(void *(*f)(void *), void *(*g)(void *))
{
	pthread_t t[2];

	exit_if(pthread_create(&t[0], NULL, f, NULL) || pthread_create(&t[1], NULL, g, NULL), 9);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

static inline void persist_often(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		pool->sum = pool->sum + 1;
		persist(&pool->sum);
	}
}

static inline void *set_ready(void *argument)
{
	ready = 1;
	return NULL;
}

struct turns_case {
	const char *name;
	void *(*first)(void *), *(*second)(void *); /* its threads, if that is all of it; else NULL */
	void (*run)(void);
};
extern const struct turns_case turns_races[], turns_waits[],
	turns_descriptors[]; /* up to one without a name */

#endif
