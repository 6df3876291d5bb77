/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that synchronise, and clocks, of a program whose threads take turns (turns.c). A library of its
 * own, which is preloaded for that alone, behind that for locks.
 *
 * An operation never blocks: it is tried, and its thread waits until somebody has given back what it needs.
 * The objects stay the C library's, but for conditions, barriers and pthread_once(), where it would wait by
 * itself. Calls that wait for descriptors are in descriptors.c.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "../real.h"
#include "core/each.h"
#include "interposed.h"

void *schedule_real(const char *name)
{
	return newer_of(name, dlsym(RTLD_NEXT, name));
}

/* An absolute time, by any clock: all are one. 0 stands for none. */
static uint64_t ns_of(const struct timespec *t)
{
	return t->tv_sec <= 0 ? 1 : (uint64_t)t->tv_sec * SECOND_NS + (uint64_t)t->tv_nsec;
}

/* What a thread that takes turns does instead of a call. */
#define INSTEAD(name, declared, arguments, does)               \
	EXPORT int name declared                               \
	{                                                      \
		if (!nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE)) { \
			return REAL(name) arguments;           \
		}                                              \
		return does;                                   \
	}

/* ---- Locks ---------------------------------------------------------------------------------------- */

/* A mutex that this thread has, and that says so: the C library's function returns at once. */
static bool is_own_checked(pthread_mutex_t *m)
{
#ifdef __GLIBC__
	return (m->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK &&
	       m->__data.__owner == (int)syscall(SYS_gettid);
#else
	return false;
#endif
}

/* Tries it until it is not busy, or it is too late. */
#define TAKE_TURNS_FOR(try, lock, kind, until)                                              \
	({                                                                                  \
		int result_;                                                                \
		while ((result_ = REAL(try)(lock)) == EBUSY) {                              \
			if (!nvwave_wait_1((kind), (const void *)(lock), (until), PLACE)) { \
				result_ = ETIMEDOUT;                                        \
				break;                                                      \
			}                                                                   \
		}                                                                           \
		result_;                                                                    \
	})

#define TAKE(name, try, type, kind) INSTEAD(name, (type * lock), (lock), TAKE_TURNS_FOR(try, lock, kind, 0))
#define TRY(name, type)                                                    \
	EXPORT int name(type *lock)                                        \
	{                                                                  \
		const bool turns = nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE); \
		const int result = REAL(name)(lock);                       \
                                                                           \
		if (turns && !is_taken(result)) {                          \
			nvwave_turn_1(NVWAVE_TURN_LOOK, PLACE);            \
		}                                                          \
		return result;                                             \
	}
#define TAKE_UNTIL(name, try, type, kind)                                                      \
	INSTEAD(name, (type *restrict lock, const struct timespec *restrict end), (lock, end), \
		TAKE_TURNS_FOR(try, lock, kind, ns_of(end)))
#define TAKE_BY_CLOCK(name, try, type, kind)                                                       \
	INSTEAD(name, (type *restrict lock, clockid_t clock, const struct timespec *restrict end), \
		(lock, clock, end), TAKE_TURNS_FOR(try, lock, kind, ns_of(end)))
#define GIVE(name, type)                                      \
	EXPORT int name(type *lock)                           \
	{                                                     \
		nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE);       \
		const int result = REAL(name)(lock);          \
                                                              \
		nvwave_wake_1((const void *)lock, -1, false); \
		return result;                                \
	}

EXPORT int pthread_mutex_lock(pthread_mutex_t *lock)
{
	if (!nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE) || is_own_checked(lock)) {
		return REAL(pthread_mutex_lock)(lock);
	}
	return TAKE_TURNS_FOR(pthread_mutex_trylock, lock, HOST_WAIT_MUTEX, 0);
}

TRY(pthread_mutex_trylock, pthread_mutex_t)
TAKE_UNTIL(pthread_mutex_timedlock, pthread_mutex_trylock, pthread_mutex_t, HOST_WAIT_MUTEX)
TAKE_BY_CLOCK(pthread_mutex_clocklock, pthread_mutex_trylock, pthread_mutex_t, HOST_WAIT_MUTEX)
GIVE(pthread_mutex_unlock, pthread_mutex_t)
TAKE(pthread_spin_lock, pthread_spin_trylock, pthread_spinlock_t, HOST_WAIT_SPIN)
TRY(pthread_spin_trylock, pthread_spinlock_t)
GIVE(pthread_spin_unlock, pthread_spinlock_t)
TAKE(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, HOST_WAIT_RWLOCK)
TRY(pthread_rwlock_trywrlock, pthread_rwlock_t)
TAKE_UNTIL(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, HOST_WAIT_RWLOCK)
TAKE_BY_CLOCK(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, HOST_WAIT_RWLOCK)
TAKE(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, HOST_WAIT_RWLOCK)
TRY(pthread_rwlock_tryrdlock, pthread_rwlock_t)
TAKE_UNTIL(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, HOST_WAIT_RWLOCK)
TAKE_BY_CLOCK(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, HOST_WAIT_RWLOCK)
GIVE(pthread_rwlock_unlock, pthread_rwlock_t)

/* Those of C11 are the same objects, with results of their own. */
static int of_c11(int result)
{
	switch (result) {
	case 0:
		return thrd_success;
	case EBUSY:
		return thrd_busy;
	case ETIMEDOUT:
		return thrd_timedout;
	default:
		return thrd_error;
	}
}

#define AS_C11(name, other, type, of)             \
	EXPORT int name(type *lock)               \
	{                                         \
		return of_c11(other((of *)lock)); \
	}

AS_C11(mtx_lock, pthread_mutex_lock, mtx_t, pthread_mutex_t)
AS_C11(mtx_trylock, pthread_mutex_trylock, mtx_t, pthread_mutex_t)
AS_C11(mtx_unlock, pthread_mutex_unlock, mtx_t, pthread_mutex_t)
AS_C11(cnd_signal, pthread_cond_signal, cnd_t, pthread_cond_t)
AS_C11(cnd_broadcast, pthread_cond_broadcast, cnd_t, pthread_cond_t)

EXPORT int mtx_timedlock(mtx_t *restrict lock, const struct timespec *restrict end)
{
	return of_c11(pthread_mutex_timedlock((pthread_mutex_t *)lock, end));
}

/* ---- Conditions ----------------------------------------------------------------------------------- */

/* The thread is a controlled one. */
static int wait_on(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until, void *place)
{
	const int error = REAL(pthread_mutex_unlock)(lock);

	if (error) {
		return error;
	}
	nvwave_wake_1(lock, -1, false);
	const bool woken = nvwave_wait_1(HOST_WAIT_CONDITION, condition, until, place);
	const int result = TAKE_TURNS_FOR(pthread_mutex_trylock, lock, HOST_WAIT_MUTEX, 0);

	if (result != 0) {
		return result;
	}
	return woken ? 0 : ETIMEDOUT;
}

INSTEAD(pthread_cond_wait, (pthread_cond_t *restrict condition, pthread_mutex_t *restrict lock),
	(condition, lock), wait_on(condition, lock, 0, PLACE))
INSTEAD(pthread_cond_timedwait,
	(pthread_cond_t *restrict condition, pthread_mutex_t *restrict lock,
		const struct timespec *restrict end),
	(condition, lock, end), wait_on(condition, lock, ns_of(end), PLACE))
INSTEAD(pthread_cond_clockwait,
	(pthread_cond_t *restrict condition, pthread_mutex_t *restrict lock, clockid_t clock,
		const struct timespec *restrict end),
	(condition, lock, clock, end), wait_on(condition, lock, ns_of(end), PLACE))

static int wake(pthread_cond_t *condition, unsigned n)
{
	nvwave_wake_1(condition, n, true);
	return 0;
}

INSTEAD(pthread_cond_signal, (pthread_cond_t * condition), (condition), wake(condition, 1))
INSTEAD(pthread_cond_broadcast, (pthread_cond_t * condition), (condition), wake(condition, -1))

EXPORT int cnd_wait(cnd_t *condition, mtx_t *lock)
{
	return of_c11(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)lock));
}

EXPORT int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict lock, const struct timespec *restrict end)
{
	return of_c11(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)lock, end));
}

/* ---- Semaphores, barriers, once ------------------------------------------------------------------- */

static int wait_for_semaphore(sem_t *s, uint64_t until, void *place)
{
	while (REAL(sem_trywait)(s) != 0) {
		if (errno != EAGAIN) {
			return -1;
		}
		if (!nvwave_wait_1(HOST_WAIT_SEMAPHORE, s, until, place)) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
	return 0;
}

INSTEAD(sem_wait, (sem_t * s), (s), wait_for_semaphore(s, 0, PLACE))
INSTEAD(sem_timedwait, (sem_t *restrict s, const struct timespec *restrict end), (s, end),
	wait_for_semaphore(s, ns_of(end), PLACE))
INSTEAD(sem_clockwait, (sem_t *restrict s, clockid_t clock, const struct timespec *restrict end),
	(s, clock, end), wait_for_semaphore(s, ns_of(end), PLACE))

EXPORT int sem_trywait(sem_t *s)
{
	const bool turns = nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE);
	const int result = REAL(sem_trywait)(s), before = errno;

	if (turns && result != 0) {
		nvwave_turn_1(NVWAVE_TURN_LOOK, PLACE);
		errno = before;
	}
	return result;
}

EXPORT int sem_post(sem_t *s)
{
	nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE);
	const int result = REAL(sem_post)(s);

	nvwave_wake_1(s, -1, true);
	return result;
}

enum { BARRIERS = 256, RUNNING = 64 };

static struct barrier {
	const pthread_barrier_t *at; /* NULL: free */
	unsigned count, arrived;
} barrier[BARRIERS];

static struct barrier *barrier_at(const pthread_barrier_t *at)
{
	return NVW_FIND(b, barrier, BARRIERS, b->at == at);
}

EXPORT int pthread_barrier_init(
	pthread_barrier_t *restrict b, const pthread_barrierattr_t *restrict attributes, unsigned count)
{
	const int error = REAL(pthread_barrier_init)(b, attributes, count);
	struct barrier *const known = barrier_at(b), *const to = known ? known : barrier_at(NULL);

	if (error == 0 && to != NULL) {
		*to = (struct barrier){.at = b, .count = count};
	}
	return error;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *b)
{
	struct barrier *const known = barrier_at(b);

	if (known != NULL) {
		known->at = NULL;
	}
	return REAL(pthread_barrier_destroy)(b);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *b)
{
	if (!nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE)) {
		return REAL(pthread_barrier_wait)(b);
	}
	struct barrier *const known = barrier_at(b);

	NVW_INVARIANT(known == NULL || known->arrived < known->count);
	if (known == NULL) {
		nvwave_refuse_1("it has more than 256 barriers");
	} else if (++known->arrived < known->count) {
		nvwave_wait_1(HOST_WAIT_BARRIER, b, 0, PLACE);
		return 0;
	} else {
		known->arrived = 0;
		nvwave_wake_1(b, -1, true);
	}
	return PTHREAD_BARRIER_SERIAL_THREAD;
}

static const void *running[RUNNING]; /* the controls of what pthread_once() is calling */

static unsigned running_at(const void *control)
{
	return NVW_INDEX(i, RUNNING, running[i] == control);
}

/* Also when an exception leaves it. */
static void has_run(const void **control)
{
	const unsigned i = running_at(*control);

	if (i < RUNNING) {
		running[i] = NULL;
	}
	nvwave_wake_1(*control, -1, true);
}

EXPORT int pthread_once(pthread_once_t *control, void (*function)(void))
{
	if (!nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE)) {
		return REAL(pthread_once)(control, function);
	}
	while (running_at(control) < RUNNING) {
		nvwave_wait_1(HOST_WAIT_ONCE, control, 0, PLACE);
	}
	const unsigned free = running_at(NULL);
	__attribute__((cleanup(has_run))) const void *at = control;

	if (free == RUNNING) {
		nvwave_refuse_1("64 calls of pthread_once() have not returned");
	} else {
		running[free] = at;
	}
	return REAL(pthread_once)(control, function);
}

EXPORT void call_once(once_flag *control, void (*function)(void))
{
	pthread_once((pthread_once_t *)control, function);
}

/* ---- Threads -------------------------------------------------------------------------------------- */

/* False: it is too late. */
static bool wait_for_end(pthread_t thread, uint64_t until, void *place)
{
	const bool turns = nvwave_turn_1(NVWAVE_TURN_SYNC, place);
	bool ended;
	const void *const object = turns ? nvwave_thread_1(thread, &ended) : NULL;

	while (object != NULL && !ended) {
		if (!nvwave_wait_1(HOST_WAIT_JOIN, object, until, place)) {
			return false;
		}
		nvwave_thread_1(thread, &ended);
	}
	return true;
}

EXPORT int pthread_join(pthread_t thread, void **ret_value)
{
	wait_for_end(thread, 0, PLACE);
	return REAL(pthread_join)(thread, ret_value);
}

EXPORT int thrd_join(thrd_t thread, int *ret_value)
{
	wait_for_end((pthread_t)thread, 0, PLACE);
	return REAL(thrd_join)(thread, ret_value);
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **ret_value, const struct timespec *end)
{
	if (!wait_for_end(thread, ns_of(end), PLACE)) {
		return ETIMEDOUT;
	}
	return REAL(pthread_join)(thread, ret_value);
}

EXPORT int pthread_tryjoin_np(pthread_t thread, void **ret_value)
{
	bool ended;

	if (nvwave_turn_1(NVWAVE_TURN_LOOK, PLACE) && nvwave_thread_1(thread, &ended) != NULL && !ended) {
		return EBUSY;
	}
	return REAL(pthread_tryjoin_np)(thread, ret_value);
}

EXPORT int pthread_cancel(pthread_t thread)
{
	nvwave_refuse_1("it cancels a thread");
	return REAL(pthread_cancel)(thread);
}

EXPORT int sched_yield(void)
{
	if (nvwave_turn_1(NVWAVE_TURN_YIELD, PLACE)) {
		return 0;
	}
	return REAL(sched_yield)();
}

EXPORT void thrd_yield(void)
{
	sched_yield();
}

/* ---- Time ----------------------------------------------------------------------------------------- */

bool schedule_sleep(uint64_t ns)
{
	uint64_t now;

	return nvwave_now_1(&now) && nvwave_sleep_1(now + ns);
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *ret_left)
{
	if (schedule_sleep(ns_of(time))) {
		return 0;
	}
	return REAL(nanosleep)(time, ret_left);
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *ret_left)
{
	const bool slept = flags & TIMER_ABSTIME ? nvwave_sleep_1(ns_of(time)) : schedule_sleep(ns_of(time));

	return slept ? 0 : REAL(clock_nanosleep)(clock, flags, time, ret_left);
}

EXPORT int thrd_sleep(const struct timespec *time, struct timespec *ret_left)
{
	return nanosleep(time, ret_left);
}

EXPORT int usleep(useconds_t us)
{
	return schedule_sleep(us * UINT64_C(1000)) ? 0 : REAL(usleep)(us);
}

EXPORT unsigned sleep(unsigned seconds)
{
	return schedule_sleep(seconds * SECOND_NS) ? 0 : REAL(sleep)(seconds);
}

static bool is_of_time(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
	       clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME ||
	       clock == CLOCK_TAI;
}

/* Who reads the clock again and again waits. */
static bool now(uint64_t *ret_ns, void *place)
{
	if (!nvwave_now_1(ret_ns)) {
		return false;
	}
	nvwave_turn_1(NVWAVE_TURN_LOOK, place);
	return true;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	uint64_t ns;

	if (!is_of_time(clock) || !now(&ns, PLACE)) {
		return REAL(clock_gettime)(clock, ret_time);
	}
	*ret_time = (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
	return 0;
}

EXPORT int timespec_get(struct timespec *ret_time, int base)
{
	if (base == TIME_UTC && clock_gettime(CLOCK_REALTIME, ret_time) == 0) {
		return base;
	}
	return 0;
}

EXPORT int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
	uint64_t ns;

	if (!now(&ns, PLACE)) {
		return REAL(gettimeofday)(ret_time, zone);
	}
	*ret_time = (struct timeval){
		.tv_sec = (time_t)(ns / SECOND_NS), .tv_usec = (suseconds_t)(ns % SECOND_NS / 1000)};
	return 0;
}

EXPORT time_t time(time_t *ret_time)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (ret_time != NULL) {
		*ret_time = t.tv_sec;
	}
	return t.tv_sec;
}
