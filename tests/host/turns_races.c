/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases of turns.c: a thread reads what another has not yet made durable. */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <nvw/ack.h>

#include "turns.h"

static void put_by_header(volatile uint64_t *at, uint64_t value);

/* ---- Publication: before the flush, and behind it -------------------------------------------------- */

static void *publish_early(void *argument)
{
	pthread_mutex_lock(&a);
	pool->x = 5;
	pthread_mutex_unlock(&a);
	persist(&pool->x);
	return NULL;
}

static void *publish(void *argument)
{
	pthread_mutex_lock(&a);
	pool->x = 5;
	persist(&pool->x);
	pthread_mutex_unlock(&a);
	return NULL;
}

static void *publish_through_header(void *argument)
{
	pthread_mutex_lock(&a);
	put_by_header(&pool->x, 5);
	pthread_mutex_unlock(&a);
	persist(&pool->x);
	return NULL;
}

static void *consume(void *argument)
{
	pthread_mutex_lock(&a);
	const uint64_t x = pool->x;
	pthread_mutex_unlock(&a);

	if (x != 0) {
		pool->y = x + 1;
		persist(&pool->y);
	}
	return NULL;
}

/* The same at another line. */
static void *consume_again(void *argument)
{
	pthread_mutex_lock(&a);
	const uint64_t x = pool->x;
	pthread_mutex_unlock(&a);

	if (x != 0) {
		pool->y = x + 1;
		persist(&pool->y);
	}
	return NULL;
}

static void *consume_twice(void *argument)
{
	both(consume, consume_again);
	return argument;
}

/* It stores nothing, and answers. */
static void *answer_x(void *argument)
{
	pthread_mutex_lock(&a);
	const uint64_t x = pool->x;
	pthread_mutex_unlock(&a);

	if (x != 0) {
		nvw_operation_begins(1, "x is there");
		nvw_operation_is_durable(1);
	}
	return NULL;
}

/* Another thread answers, which has been told by a socket. */
static int told[2];

static void *tell_x(void *argument)
{
	pthread_mutex_lock(&a);
	const uint64_t x = pool->x;
	pthread_mutex_unlock(&a);
	const bool failed = x != 0 && write(told[1], "x", 1) != 1;

	close(told[1]);
	return failed ? argument : NULL;
}

static void *answer_as_told(void *argument)
{
	char c;

	if (read(told[0], &c, 1) == 1) {
		nvw_operation_begins(1, "x is there");
		nvw_operation_is_durable(1);
	}
	return NULL;
}

static void *tell_and_answer(void *argument)
{
	both(answer_as_told, tell_x);
	return NULL;
}

static void told_early(void)
{
	exit_if(socketpair(AF_UNIX, SOCK_STREAM, 0, told), 9);
	both(tell_and_answer, publish_early);
}

static void told_in_time(void)
{
	exit_if(socketpair(AF_UNIX, SOCK_STREAM, 0, told), 9);
	both(tell_and_answer, publish);
}

/* What it makes durable does not depend on what it has read. */
static void *consume_for_nothing(void *argument)
{
	pthread_mutex_lock(&a);
	pool->sum = pool->x;
	pthread_mutex_unlock(&a);
	persist(&pool->sum);
	return NULL;
}

/* It never flushes what it has stored. */
static void *publish_forgotten(void *argument)
{
	pthread_mutex_lock(&a);
	pool->x = 5;
	pthread_mutex_unlock(&a);
	return NULL;
}

static void *forget_and_answer(void *argument)
{
	publish_forgotten(NULL);
	nvw_operation_begins(1, "x is there");
	nvw_operation_is_durable(1);
	return NULL;
}

static int downwards(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* It is zero already. */
static void *store_what_is_there(void *argument)
{
	pthread_mutex_lock(&a);
	pool->x = 0;
	pthread_mutex_unlock(&a);
	return NULL;
}

/* What changes it later is recorded by itself, or is found by comparison. */
static void forgotten_nothing_yet(void)
{
	both(store_what_is_there, consume_for_nothing);
	pool->x = 5;
	persist(&pool->x);
}

static void forgotten_perhaps(void)
{
	both(store_what_is_there, consume_for_nothing);
	pool->x = 0;
	(&pool->x)[1] = 1;
	persist(&pool->y);
	qsort((void *)&pool->x, 2, sizeof pool->x, downwards);
	persist(&pool->x);
}

/* The order of what qsort() stores is not known; in a line of their own, or in that of x. */
static void *sort_items(void *argument)
{
	consume_for_nothing(NULL);
	pool->item[1] = 1;
	qsort((void *)pool->item, 2, sizeof *pool->item, downwards);
	persist(pool->item);
	return NULL;
}

static void *sort_behind_x(void *argument)
{
	uint64_t *const beside = (uint64_t *)&pool->x + 1;

	beside[1] = 1;
	persist(beside);
	pthread_mutex_lock(&a);
	pool->x = 5;
	pthread_mutex_unlock(&a);
	qsort(beside, 2, sizeof *beside, downwards);
	persist(&pool->x);
	return NULL;
}

/* What the consumer reads is beside x, and behind it; without x, what it makes durable is wrong. */
static void *publish_beside_x(void *argument)
{
	volatile uint64_t *const beside = &pool->x + 1;

	pool->x = 5;
	pthread_mutex_lock(&a);
	*beside = 1;
	pthread_mutex_unlock(&a);
	persist(beside);
	return NULL;
}

static void *consume_beside_x(void *argument)
{
	pthread_mutex_lock(&a);
	const uint64_t beside = (&pool->x)[1];
	pthread_mutex_unlock(&a);

	if (beside != 0) {
		pool->y = 6;
		persist(&pool->y);
	}
	return NULL;
}

/* The first thread looks as well: what one thread alone has touched is not looked at. */
static void harmless_beside_x(void)
{
	(void)(&pool->x)[1];
	both(publish_beside_x, consume_beside_x);
}

/* What the consumer has read of one line is lost together. */
static void *publish_both(void *argument)
{
	pthread_mutex_lock(&a);
	pool->x = 5;
	(&pool->x)[1] = 1;
	pthread_mutex_unlock(&a);
	persist(&pool->x);
	return NULL;
}

static void *consume_both(void *argument)
{
	pthread_mutex_lock(&a);
	const bool there = pool->x != 0 && (&pool->x)[1] != 0;
	pthread_mutex_unlock(&a);

	if (there) {
		pool->y = BOTH;
		persist(&pool->y);
	}
	return NULL;
}

static void harmless_with_others(void)
{
	(void)pool->x;
	both(sort_items, publish_early);
}

static void harmless_in_part(void)
{
	(void)pool->x;
	both(consume_for_nothing, sort_behind_x);
}

/* One store among many that others are not interested in. The consumer looks once. */
enum { LATER = 80 };

static void *publish_rarely(void *argument)
{
	persist_often(OFTEN);
	publish_early(NULL);
	persist_often(OFTEN);
	return NULL;
}

static void *publish_rarely_in_time(void *argument)
{
	persist_often(OFTEN);
	publish(NULL);
	persist_often(OFTEN);
	return NULL;
}

/* A store that is not reached where threads run one after the other, its load ahead of it or behind. */
static volatile int begun;

static void *publish_if_begun(void *argument)
{
	for (unsigned i = 0; i < LATER; i++) {
		pool->item[0] = i;
		persist(&pool->item[0]);
	}
	return begun ? publish_early(NULL) : NULL;
}

static void *consume_and_begin(void *argument)
{
	consume(NULL);
	begun = 1;
	persist_often(LATER);
	return NULL;
}

static void *begin_and_consume(void *argument)
{
	begun = 1;
	persist_often(LATER);
	consume(NULL);
	persist_often(1);
	return NULL;
}

/* Many states behind the first that fails, and many switches that do not matter. */
static void *publish_late(void *argument)
{
	pool->x = 5;
	persist_often(LATER);
	persist(&pool->x);
	return NULL;
}

static void *consume_at_once(void *argument)
{
	consume(NULL);
	persist_often(LATER);
	return NULL;
}

/* The same with an exchange in place of the store. */
static void *exchange_rarely(void *argument)
{
	persist_often(OFTEN);
	atomic_exchange(&pool->flag, 5);
	persist(&pool->flag);
	persist_often(OFTEN);
	return NULL;
}

static void *exchange_rarely_in_time(void *argument)
{
	pthread_mutex_lock(&a);
	exchange_rarely(NULL);
	pthread_mutex_unlock(&a);
	return NULL;
}

static void *consume_exchanged(void *argument)
{
	const uint64_t x = atomic_load(&pool->flag);

	if (x != 0) {
		pool->y = x + 1;
		persist(&pool->y);
	}
	return NULL;
}

static void *consume_exchanged_in_time(void *argument)
{
	pthread_mutex_lock(&a);
	consume_exchanged(NULL);
	pthread_mutex_unlock(&a);
	return NULL;
}

static void unmet(void)
{
	(void)pool->x;
	both(publish_if_begun, consume_and_begin);
}

static void met(void)
{
	(void)pool->x;
	both(publish_if_begun, begin_and_consume);
}

/* A slot is looked at if it is listed, and is filled while it is not: who is to read it before it is durable
 * has looked at the list before. Or never does, as the two exclude each other. */
static volatile int listed = 1;

static void *fill(void *argument)
{
	listed = 0;
	persist_often(LATER);
	pool->x = 5;
	persist(&pool->x);
	listed = 1;
	return NULL;
}

static void *look_up(void *argument)
{
	const uint64_t x = listed ? pool->x : 0;

	if (x != 0) {
		pool->y = x + 1;
		persist(&pool->y);
	}
	return NULL;
}

static void slot(void)
{
	(void)pool->x;
	both(fill, look_up);
}

static void *fill_alone(void *argument)
{
	sem_wait(&semaphore);
	fill(NULL);
	sem_post(&semaphore);
	return NULL;
}

static void *look_up_alone(void *argument)
{
	sem_wait(&semaphore);
	look_up(NULL);
	sem_post(&semaphore);
	return NULL;
}

static void slot_alone(void)
{
	(void)pool->x;
	sem_init(&semaphore, 0, 1);
	both(fill_alone, look_up_alone);
}

/* A lock of a kind that is not seen as one: only one of them is between these points. Their places are a
 * candidate, and never come to pass. */
static void *store_excluded(void *argument)
{
	while (sem_trywait(&semaphore) != 0) {
	}
	pool->x = pool->x + 1;
	persist(&pool->x);
	sem_post(&semaphore);
	return NULL;
}

static void *load_excluded(void *argument)
{
	store_excluded(NULL);
	while (sem_trywait(&semaphore) != 0) {
	}
	pool->y = pool->x;
	persist(&pool->y);
	sem_post(&semaphore);
	return NULL;
}

static void excluded(void)
{
	sem_init(&semaphore, 0, 1);
	both(store_excluded, load_excluded);
}

/* What is read before it is durable, and is durable before anything comes of it. */
static sem_t step[3];

static void *store_and_wait(void *argument)
{
	pool->x = 5;
	sem_post(&step[0]);
	sem_wait(&step[1]);
	persist(&pool->x);
	sem_post(&step[2]);
	return NULL;
}

static void *load_and_wait(void *argument)
{
	sem_wait(&step[0]);
	const uint64_t x = pool->x;

	sem_post(&step[1]);
	sem_wait(&step[2]);
	pool->y = x + 1;
	persist(&pool->y);
	return NULL;
}

static void in_time(void)
{
	for (int i = 0; i < 3; i++) {
		sem_init(&step[i], 0, 0);
	}
	both(store_and_wait, load_and_wait);
}

const struct turns_case turns_races[] = {
	{"race", consume, publish_early},
	{"harmless", consume_for_nothing, publish_early},
	{"harmless-with-others", .run = harmless_with_others},
	{"harmless-in-part", .run = harmless_in_part},
	{"harmless-beside-x", .run = harmless_beside_x},
	{"race-of-two", consume_both, publish_both},
	{"race-with-two-loads", consume_twice, publish_early},
	{"clean", consume, publish},
	{"told", .run = told_in_time},
	{"told-early", .run = told_early},
	{"answered", answer_x, publish},
	{"answered-early", answer_x, publish_early},
	{"answered-through-header", answer_x, publish_through_header},
	{"late", publish_late, consume_at_once},
	{"rare", consume, publish_rarely},
	{"unmet", .run = unmet},
	{"met", .run = met},
	{"slot", .run = slot},
	{"slot-alone", .run = slot_alone},
	{"exchanged", consume_exchanged, exchange_rarely},
	{"exchanged-in-time", consume_exchanged_in_time, exchange_rarely_in_time},
	{"rare-in-time", consume, publish_rarely_in_time},
	{"excluded", .run = excluded},
	{"in-time", .run = in_time},
	{"forgotten", forget_and_answer, consume_for_nothing},
	{"forgotten-harmless", publish_forgotten, consume_for_nothing},
	{"forgotten-nothing", store_what_is_there, consume_for_nothing},
	{"forgotten-nothing-yet", .run = forgotten_nothing_yet},
	{"forgotten-perhaps", .run = forgotten_perhaps},
	{NULL},
};

/* As if it were a library's header's: in the log, its store has its caller's place. */
#line 7 "/usr/include/put.h"
__attribute__((noinline)) static void put_by_header(volatile uint64_t *at, uint64_t value)
{
	*at = value;
}
