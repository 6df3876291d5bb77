/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that take turns, a case each: turns POOL CASE runs it, turns POOL checks what a crash has left: y
 * is what was made from x, so x is there where y is.
 */
#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nvw/ack.h>

enum { BOTH = 1 << 20, POOL_BYTES = 1 << 16, LINE = 64, ITEMS = 12, SLOTS = 4 };

static struct pool {
	_Alignas(LINE) volatile uint64_t x;
	_Alignas(LINE) volatile uint64_t y;
	_Alignas(LINE) _Atomic uint64_t flag;
	_Alignas(LINE) volatile uint64_t sum;
	_Alignas(LINE) volatile uint64_t item[ITEMS];
} * pool;

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t many = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t semaphore;
static _Atomic int ready, other;
static int pipes[2];

static void flush(volatile const void *at)
{
	__asm__ volatile("clwb %0" : : "m"(*(volatile const char *)at) : "memory");
}

static void persist(volatile const void *at)
{
	flush(at);
	_mm_sfence();
}

static void *in_thread(void *(*f)(void *), void *argument)
{
	pthread_t t;
	void *value;

	if (pthread_create(&t, NULL, f, argument) || pthread_join(t, &value)) {
		_exit(9);
	}
	return value;
}

static void both(void *(*f)(void *), void *(*g)(void *))
{
	pthread_t t[2];

	if (pthread_create(&t[0], NULL, f, NULL) || pthread_create(&t[1], NULL, g, NULL)) {
		_exit(9);
	}
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

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

static void answered_early(void)
{
	both(answer_x, publish_early);
}

static void answered(void)
{
	both(answer_x, publish);
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
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, told)) {
		_exit(9);
	}
	both(tell_and_answer, publish_early);
}

static void told_in_time(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, told)) {
		_exit(9);
	}
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

static void harmless(void)
{
	both(consume_for_nothing, publish_early);
}

/* The order of what qsort() stores is not known; in a line of their own, or in that of x. */
static int downwards(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

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

static void harmless_beside_x(void)
{
	both(consume_beside_x, publish_beside_x);
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

static void race_of_two(void)
{
	both(consume_both, publish_both);
}

static void harmless_with_others(void)
{
	both(sort_items, publish_early);
}

static void harmless_in_part(void)
{
	both(consume_for_nothing, sort_behind_x);
}

static void race(void)
{
	both(consume, publish_early);
}

static void clean(void)
{
	both(consume, publish);
}

/* One store among many that others are not interested in. The consumer looks once. */
enum { OFTEN = 500, LATER = 80 };

static void persist_often(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		pool->sum = pool->sum + 1;
		persist(&pool->sum);
	}
}

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

/* A store that is not reached where threads run one after the other, with its load ahead of it, or perhaps behind. */
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

static void exchanged(void)
{
	both(consume_exchanged, exchange_rarely);
}

static void exchanged_in_time(void)
{
	both(consume_exchanged_in_time, exchange_rarely_in_time);
}

/* The first thread looks as well: what one thread alone has touched is not looked at. */
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

static void late(void)
{
	both(publish_late, consume_at_once);
}

static void rare(void)
{
	both(consume, publish_rarely);
}

static void rare_in_time(void)
{
	both(consume, publish_rarely_in_time);
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

static void deadlock(void)
{
	both(take_ab, take_ba);
}

static void in_order(void)
{
	both(take_ab, take_ab);
}

static void *spin_for_ever(void *argument)
{
	while (!atomic_load(&other)) {
	}
	return NULL;
}

static void livelock(void)
{
	both(spin_for_ever, spin_for_ever);
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
			if (pthread_cond_timedwait(&filled, &a, &end) != 0) {
				_exit(3);
			}
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
		if (pool->item[i] != (uint64_t)i + 1) {
			_exit(4);
		}
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

static void spins(void)
{
	both(look, say);
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
	if (now_ns() - began > 1000000) {
		_exit(4);
	}
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

static void follows(void)
{
	both(follow, lead);
}

static void *yield(void *argument)
{
	while (!atomic_load_explicit(&ready, memory_order_relaxed)) {
		sched_yield();
	}
	return NULL;
}

static void *set_ready(void *argument)
{
	ready = 1;
	return NULL;
}

static void yields(void)
{
	both(yield, set_ready);
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
	if (pool->sum != 40) {
		_exit(4);
	}
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
	if (pool->sum != 1) {
		_exit(4);
	}
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
	if (in_thread(wait_in_vain, NULL) != NULL) {
		_exit(4);
	}
	pthread_mutex_unlock(&a);
}

/* ---- Descriptors ------------------------------------------------------------------------------------- */

enum { REQUESTS = 8, MANY = 300000 /* bytes: more than a pipe or a socket takes */ };

static int ends[2], bell, set; /* of a socket pair: the server's, the client's */
static bool replies_early;

static void watch(int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &e)) {
		_exit(9);
	}
}

/* A request: a value, which is durable before the reply. */
static void answer(void)
{
	char value;

	if (read(ends[0], &value, 1) != 1) {
		_exit(4);
	}
	pool->x = (uint64_t)value;
	if (!replies_early) {
		persist(&pool->x);
	}
	if (write(ends[0], &value, 1) != 1) {
		_exit(4);
	}
	if (replies_early) {
		persist(&pool->x);
	}
}

static void *serve(void *argument)
{
	struct epoll_event e;
	uint64_t rung = 0;

	while (rung == 0) {
		const int n = epoll_wait(set, &e, 1, 50);

		if (n < 0) {
			_exit(4);
		}
		if (n == 1 && e.data.fd == ends[0]) {
			answer();
		} else if (n == 1 && read(bell, &rung, sizeof rung) != sizeof rung) {
			_exit(4);
		}
	}
	return NULL;
}

static void *request(void *argument)
{
	const uint64_t one = 1;

	for (int i = 1; i <= REQUESTS; i++) {
		char value = (char)i;

		if (write(ends[1], &value, 1) != 1) {
			_exit(4);
		}
		pool->sum = (uint64_t)i;
		persist(&pool->sum);
		if (read(ends[1], &value, 1) != 1) {
			_exit(4);
		}
		pool->y = (uint64_t)value;
		persist(&pool->y);
		if (i % 4 == 0) {
			sleep(1); /* the server looks 20 times in vain */
		}
	}
	if (write(bell, &one, sizeof one) != sizeof one) {
		_exit(4);
	}
	return NULL;
}

static void events(void)
{
	bell = eventfd(0, 0);
	set = epoll_create1(0);
	if (bell < 0 || set < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
		_exit(9);
	}
	watch(bell);
	watch(ends[0]);
	both(serve, request);
}

static void events_early(void)
{
	replies_early = true;
	events();
}

/* Every other way to wait for a descriptor: the listener's address is the kernel's choice. */
static int listener;
static struct sockaddr_in address = {.sin_family = AF_INET};

static void *send_all(void *argument)
{
	static char many[MANY];
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	for (size_t i = 0; i < MANY; i++) {
		many[i] = (char)(i % 251);
	}
	if (connect(fd, (struct sockaddr *)&address, sizeof address) || write(fd, many, MANY) != MANY ||
		close(fd) || write(pipes[1], many, MANY) != MANY || close(pipes[1])) {
		_exit(4);
	}
	return NULL;
}

static bool comes(int fd, int turn)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	struct timeval most = {.tv_sec = 100};
	fd_set in;

	if (turn % 3 == 0) {
		return poll(&one, 1, 100000) == 1;
	}
	FD_ZERO(&in);
	FD_SET(fd, &in);
	return turn % 3 == 2 || select(fd + 1, &in, NULL, NULL, &most) == 1;
}

static size_t receive(int fd)
{
	char some[5000];
	size_t n = 0;
	ssize_t piece = 1;

	for (int turn = 0; piece > 0; turn++) {
		piece = comes(fd, turn) ? read(fd, some, sizeof some) : -1;
		for (ssize_t i = 0; i < piece; i++, n++) {
			if (some[i] != (char)(n % 251)) {
				_exit(4);
			}
		}
	}
	return n;
}

static void *receive_all(void *argument)
{
	const int fd = accept(listener, NULL, NULL);

	pool->x = receive(fd);
	persist(&pool->x);
	pool->y = receive(pipes[0]);
	persist(&pool->y);
	return NULL;
}

static void streams(void)
{
	socklen_t n = sizeof address;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (pipe(pipes) || bind(listener, (struct sockaddr *)&address, n) || listen(listener, 4) ||
		getsockname(listener, (struct sockaddr *)&address, &n)) {
		_exit(9);
	}
	both(receive_all, send_all);
	if (pool->x != MANY || pool->y != MANY) {
		_exit(4);
	}
}

/* Another process writes. */
static void *read_pipe(void *argument)
{
	char c;

	if (read(pipes[0], &c, 1) != 1) {
		_exit(4);
	}
	pool->x = (uint64_t)c;
	persist(&pool->x);
	return NULL;
}

static void from_outside(void)
{
	if (pipe(pipes)) {
		_exit(9);
	}
	const pid_t child = fork();

	if (child == 0) {
		usleep(20000);
		_exit(write(pipes[1], "x", 1) != 1);
	}
	both(read_pipe, set_ready);
	if (child < 0 || pool->x != 'x' || waitpid(child, NULL, 0) != child) {
		_exit(4);
	}
}

static void *never_comes(void *argument)
{
	char c;

	return (void *)(intptr_t)(read(pipes[0], &c, 1) != 1);
}

static void nobody_writes(void)
{
	if (pipe(pipes)) {
		_exit(9);
	}
	in_thread(never_comes, NULL);
}

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
	if (pool->sum != 1 || pool->y != 3 || pool->item[0] != 3 || pool->item[1] != 3) {
		_exit(4);
	}
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
	if (files[0] < 0 || files[1] < 0 || flock(files[0], LOCK_EX)) {
		_exit(9);
	}
	in_thread(lock_file, NULL);
}

static void *nothing(void *argument)
{
	return NULL;
}

static void cancels(void)
{
	pthread_t t;

	pthread_create(&t, NULL, nothing, NULL);
	pthread_cancel(t);
	pthread_join(t, NULL);
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

static void works(void)
{
	both(work_x, work_y);
}

static const char *pool_path;

static void leaves_pipe(void)
{
	if (unlink(pool_path) || mkfifo(pool_path, 0600)) {
		exit(9);
	}
}

/* ---- The cases --------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {{"race", race}, {"harmless", harmless}, {"harmless-with-others", harmless_with_others},
	{"harmless-in-part", harmless_in_part}, {"harmless-beside-x", harmless_beside_x},
	{"race-of-two", race_of_two}, {"clean", clean}, {"told", told_in_time}, {"told-early", told_early},
	{"answered", answered}, {"answered-early", answered_early}, {"late", late}, {"rare", rare},
	{"unmet", unmet}, {"met", met}, {"exchanged", exchanged}, {"exchanged-in-time", exchanged_in_time},
	{"rare-in-time", rare_in_time}, {"excluded", excluded}, {"in-time", in_time}, {"deadlock", deadlock},
	{"in-order", in_order}, {"livelock", livelock}, {"conditions", conditions}, {"spins", spins},
	{"follows", follows}, {"yields", yields}, {"own-lock", own_lock}, {"events", events},
	{"events-early", events_early}, {"streams", streams}, {"from-outside", from_outside},
	{"nobody-writes", nobody_writes}, {"sleeps", sleeps}, {"timeouts", timeouts}, {"all", all},
	{"blocks", blocks}, {"cancels", cancels}, {"works", works}, {"leaves-pipe", leaves_pipe}};

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
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (strcmp(cases[i].name, argv[2]) == 0) {
			cases[i].run();
			return 0;
		}
	}
	return 9;
}
