/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads of a program that take turns (turns.c): from the first one that is created on, of the first
 * process that creates any. And what the library of interposed operations (schedule.c) calls.
 *
 * A thread's turns end with the destructors of its own data, of which the last round is this library's.
 */
#include <fcntl.h>
#include <pthread.h>

#include "controlled.h"
#include "turns.h"

enum { ROUNDS = 4 }; /* of destructors, PTHREAD_DESTRUCTOR_ITERATIONS */

static pthread_key_t ends;
static bool active;
static bool apart; /* the child of a process whose threads take turns */

void host_schedule_attach(void)
{
	NVW_INVARIANT(!host_scheduling && !active);

	const bool inside = host_self.inside;
	const int fd = host_open("schedule", -1, O_RDWR);

	host_self.inside = true; /* the mapping is not the program's */
	host_schedule = host_map(fd, 0, sizeof *host_schedule);
	host_self.inside = inside;
	host_close(fd);
	host_scheduling = host_schedule != NULL;
}

/* A child has one thread. */
void host_schedule_forked(void)
{
	if (active) {
		host_scheduling = false;
		apart = true;
	}
}

/* ---- Threads -------------------------------------------------------------------------------------- */

/* The destructors of a thread's data are called in rounds, as long as there are data. */
static void end(void *turn)
{
	struct host_turn *const t = turn;

	NVW_INVARIANT(t->rounds < ROUNDS);
	if (++t->rounds < ROUNDS) {
		pthread_setspecific(ends, t);
		return;
	}
	host_turn_end(t);
}

__attribute__((noreturn)) static void refuse_two(void)
{
	host_schedule_refuse("threads of two of its processes would have to take turns");
}

/* This is the only thread so far. */
static void begin(void)
{
	NVW_INVARIANT(!active && host_turns.count == 0);

	int32_t none = 0;

	if (!__atomic_compare_exchange_n(
		    &host_schedule->process, &none, getpid(), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		refuse_two();
	}
	if (pthread_key_create(&ends, end) != 0) {
		host_schedule_refuse("it has too many keys of thread-specific data");
	}
	active = true;
	host_policy_begin();
	struct host_turn *const first = host_turn_new();

	first->self = (uint64_t)pthread_self();
	__atomic_store_n(&first->go, 1, __ATOMIC_RELAXED);
	host_turn_begin(first);
	pthread_setspecific(ends, first);
}

static struct host_turn *enter(void *created)
{
	struct host_turn *const t = created;

	host_turn_begin(t);
	t->self = (uint64_t)pthread_self();
	pthread_setspecific(ends, t);
	return t;
}

static void *start(void *created)
{
	const struct host_turn *const t = enter(created);

	return t->start(t->argument);
}

static int start_c11(void *created)
{
	const struct host_turn *const t = enter(created);

	return t->start_c11(t->argument);
}

struct host_turn *host_turn_creates(
	void *(**ret_start)(void *), int (**ret_start_c11)(void *), void **argument)
{
	NVW_INVARIANT((ret_start == NULL) != (ret_start_c11 == NULL));
	if (host_self.inside || host_self.own) {
		return NULL;
	}
	if (apart) {
		refuse_two();
	}
	if (!host_scheduling) {
		return NULL;
	}
	if (!active) {
		begin();
	}
	if (host_self.turn == NULL) {
		host_schedule_refuse("a thread that takes no turns creates another");
	}
	struct host_turn *const t = host_turn_new();

	t->argument = *argument;
	*argument = t;
	if (ret_start != NULL) {
		t->start = *ret_start;
		*ret_start = start;
	} else {
		t->start_c11 = *ret_start_c11;
		*ret_start_c11 = start_c11;
	}
	return t;
}

void host_turn_created(struct host_turn *new, pthread_t thread, bool failed)
{
	NVW_INVARIANT(host_self.turn != NULL);
	if (failed) {
		host_turn_drop(new);
		return;
	}
	new->self = (uint64_t)thread;
	host_turn_changes();
	host_turn_point(HOST_AT_SYNC, NULL, NULL);
}

/* ---- For the interposed operations ------------------------------------------------------------------ */

static bool takes_turns(void)
{
	return host_scheduling && host_self.turn != NULL && !host_self.inside;
}

HOST_EXPORT bool nvwave_turn_1(unsigned what, void *place)
{
	if (!takes_turns()) {
		return false;
	}
	if (what == NVWAVE_TURN_YIELD) {
		host_turn_yield(place);
	} else {
		host_turn_point(what == NVWAVE_TURN_LOOK ? HOST_AT_LOOK : HOST_AT_SYNC, NULL, place);
	}
	return true;
}

HOST_EXPORT bool nvwave_wait_1(unsigned wait, const void *object, uint64_t until, void *place)
{
	return host_turn_wait((enum host_wait)wait, object, until, place);
}

HOST_EXPORT bool nvwave_wait_for_1(struct pollfd *fds, unsigned n, uint64_t until, void *place)
{
	return host_turn_wait_for(fds, n, until, place);
}

HOST_EXPORT void nvwave_descriptors_1(void)
{
	if (takes_turns()) {
		host_turn_ask();
		host_turn_changes();
	}
}

HOST_EXPORT void nvwave_tells_1(void)
{
	if (takes_turns()) {
		host_check_acknowledged();
	}
}

HOST_EXPORT void nvwave_outside_1(bool has)
{
	if (host_scheduling && !host_self.inside) {
		host_turn_outside();
		host_schedule->outside = host_schedule->outside || has;
	}
}

HOST_EXPORT void nvwave_wake_1(const void *object, unsigned n, bool changes)
{
	if (!takes_turns()) {
		return;
	}
	host_turn_wake(object, n);
	if (changes) {
		host_turn_changes();
	}
}

HOST_EXPORT bool nvwave_now_1(uint64_t *ret_ns)
{
	if (!host_scheduling || host_self.inside) {
		return false;
	}
	*ret_ns = host_turn_now();
	return true;
}

HOST_EXPORT bool nvwave_sleep_1(uint64_t until)
{
	if (!host_scheduling || host_self.inside) {
		return false;
	}
	if (host_self.turn == NULL) {
		host_turn_pass(until);
	} else {
		host_turn_wait(HOST_WAIT_TIME, NULL, until, NULL);
	}
	return true;
}

/* The thread of that name that was created last: names of threads that have ended are used again. */
HOST_EXPORT const void *nvwave_thread_1(pthread_t thread, bool *ret_ended)
{
	const struct host_turn *const t = takes_turns() ? host_turn_named((uint64_t)thread) : NULL;

	*ret_ended = t != NULL && t->state == TURN_ENDED;
	return t;
}

HOST_EXPORT void nvwave_refuse_1(const char *why)
{
	if (takes_turns()) {
		host_schedule_refuse(why);
	}
}
