/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases of turns.c: threads wait for locks, conditions, values and times. */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "turns.h"

enum { SLOTS = 4 };

static pthread_cond_t emptied = PTHREAD_COND_INITIALIZER;

/* ---- Deadlocks ------------------------------------------------------------------------------------- */

static void *take_ab(void *argument)
{
	pthread_mutex_lock(&a);
	pool->x = 1;
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	return NULL;
}

static void *take_ba(void *argument)
{
	pthread_mutex_lock(&b);
	pool->sum = 1;
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
	return NULL;
}

static void *spin_for_ever(void *argument)
{
	while (!atomic_load(&other)) {
	}
	return NULL;
}

/* ---- A queue with conditions ------------------------------------------------------------------------- */

static int queue[SLOTS], head, tail;

static void *produce(void *argument)
{
	for (int i = 1; i <= ITEMS; i++) {
		pthread_mutex_lock(&a);
		while (tail - head == SLOTS) {
			pthread_cond_wait(&emptied, &a);
		}
		queue[tail++ % SLOTS] = i;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&a);
	}
	return NULL;
}

static void *take(void *argument)
{
	for (int i = 0; i < ITEMS / 2; i++) {
		pthread_mutex_lock(&a);
		while (tail == head) {
			struct timespec end;

			clock_gettime(CLOCK_REALTIME, &end);
			end.tv_sec += 60;
			exit_if(pthread_cond_timedwait(&filled, &a, &end) != 0, 3);
		}
		const int item = queue[head++ % SLOTS];

		pool->item[item - 1] = (uint64_t)item;
		pthread_cond_broadcast(&emptied);
		pthread_mutex_unlock(&a);
		persist(&pool->item[item - 1]);
	}
	return NULL;
}

static void conditions(void)
{
	pthread_t t[3];

	pthread_create(&t[0], NULL, produce, NULL);
	pthread_create(&t[1], NULL, take, NULL);
	pthread_create(&t[2], NULL, take, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
	}
	for (int i = 0; i < ITEMS; i++) {
		exit_if(pool->item[i] != (uint64_t)i + 1, 4);
	}
}

/* ---- Loops that look ----------------------------------------------------------------------------------- */

static void *say(void *argument)
{
	pool->x = 5;
	persist(&pool->x);
	atomic_store(&pool->flag, 1);
	return NULL;
}

static void *look(void *argument)
{
	while (!atomic_load(&pool->flag)) {
	}
	pool->y = pool->x + 1;
	persist(&pool->y);
	return NULL;
}

/* Others work while one looks for something else: by the schedule's time, in which a point takes 100 ns, it
 * looks 64 times and not 64 times for each of their stores. Then it goes on at once. */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *lead(void *argument)
{
	const uint64_t began = now_ns();

	persist_often(OFTEN);
	exit_if(now_ns() - began > 1000000, 4);
	atomic_store(&other, 1);
	persist_often(OFTEN);
	return NULL;
}

static void *follow(void *argument)
{
	while (!atomic_load(&other)) {
	}
	pool->y = pool->sum;
	persist(&pool->y);
	return NULL;
}

/* In a long run a thousand looks at different lines in a row are no wait: by the schedule's time nobody else
 * goes on. Two threads take 4,096 turns of 64 looks before. */
static void look_at_lines(int times)
{
	enum { LINES = 16, STEP = 16 };

	static atomic_int around[LINES * STEP];

	for (int i = 0; i < times; i++) {
		atomic_load(&around[i % LINES * STEP]);
	}
}

static void *look_around(void *argument)
{
	look_at_lines(3000 * 64);
	persist_often(1);
	const uint64_t began = now_ns();

	look_at_lines(900);
	exit_if(now_ns() - began > 150000, 4);
	return NULL;
}

static void *yield(void *argument)
{
	while (!atomic_load_explicit(&ready, memory_order_relaxed)) {
		sched_yield();
	}
	return NULL;
}

/* A test-and-set lock of the program's own. */
static void *count_up(void *argument)
{
	for (int i = 0; i < 20; i++) {
		while (atomic_exchange(&other, 1)) {
		}
		pool->sum = pool->sum + 1;
		persist(&pool->sum);
		atomic_store(&other, 0);
	}
	return NULL;
}

static void own_lock(void)
{
	both(count_up, count_up);
	exit_if(pool->sum != 40, 4);
}

/* ---- Time ------------------------------------------------------------------------------------------- */

static void *sleep_and_say(void *argument)
{
	sleep(3600);
	ready = 1;
	pool->x = 1;
	persist(&pool->x);
	return NULL;
}

static void *sleep_and_look(void *argument)
{
	const time_t before = time(NULL);

	while (!ready) {
		usleep(500000);
	}
	pool->sum = time(NULL) - before >= 3600 && time(NULL) - before < 3700;
	persist(&pool->sum);
	return NULL;
}

static void sleeps(void)
{
	both(sleep_and_look, sleep_and_say);
	exit_if(pool->sum != 1, 4);
}

static void *wait_in_vain(void *argument)
{
	struct timespec end;
	struct timespec pause = {.tv_sec = 7};
	int errors = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 100;
	pthread_mutex_lock(&b);
	errors += pthread_cond_timedwait(&filled, &b, &end) != ETIMEDOUT;
	pthread_mutex_unlock(&b);
	end.tv_sec += 100;
	errors += pthread_mutex_timedlock(&a, &end) != ETIMEDOUT;
	errors += sem_timedwait(&semaphore, &end) != -1 || errno != ETIMEDOUT;
	errors += nanosleep(&pause, NULL) != 0;
	return (void *)(intptr_t)errors;
}

static void timeouts(void)
{
	sem_init(&semaphore, 0, 0);
	pthread_mutex_lock(&a);
	exit_if(in_thread(wait_in_vain, NULL) != NULL, 4);
	pthread_mutex_unlock(&a);
}

const struct turns_case turns_waits[] = {
	{"deadlock", take_ab, take_ba},
	{"in-order", take_ab, take_ab},
	{"livelock", spin_for_ever, spin_for_ever},
	{"conditions", .run = conditions},
	{"spins", look, say},
	{"follows", follow, lead},
	{"looks-around", look_around, look_around},
	{"yields", yield, set_ready},
	{"own-lock", .run = own_lock},
	{"sleeps", .run = sleeps},
	{"timeouts", .run = timeouts},
	{NULL},
};
