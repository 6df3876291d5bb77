/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks and joined threads of a program in which persistency races are looked for. A library of its own,
 * which is preloaded for that alone: other programs call their locks as ever. It tells the other library
 * (held.c, order.c).
 *
 * A condition's wait gives its mutex back and takes it again.
 */
#include <pthread.h>
#include <stdbool.h>
#include <threads.h>
#include <time.h>

#include "../real.h"

#define EXPORT __attribute__((visibility("default")))
#define PLACE  __builtin_return_address(0)

extern void nvwave_locked_1(const void *lock, bool for_reading, void *place);
extern void nvwave_unlocking_1(const void *lock);
extern void nvwave_joined_1(pthread_t thread);

#define REAL(name)                                                                  \
	({                                                                          \
		static __typeof__(&name) real;                                      \
		if (real == NULL) {                                                 \
			*(void **)&real = newer_of(#name, dlsym(RTLD_NEXT, #name)); \
		}                                                                   \
		real;                                                               \
	})

#define TAKE(name, type, for_reading)                                            \
	EXPORT int name(type *lock)                                              \
	{                                                                        \
		const int result = REAL(name)(lock);                             \
                                                                                 \
		if (is_taken(result)) {                                          \
			nvwave_locked_1((const void *)lock, for_reading, PLACE); \
		}                                                                \
		return result;                                                   \
	}
#define TAKE_UNTIL(name, type, for_reading)                                       \
	EXPORT int name(type *restrict lock, const struct timespec *restrict end) \
	{                                                                         \
		const int result = REAL(name)(lock, end);                         \
                                                                                  \
		if (is_taken(result)) {                                           \
			nvwave_locked_1((const void *)lock, for_reading, PLACE);  \
		}                                                                 \
		return result;                                                    \
	}
#define GIVE(name, type)                                \
	EXPORT int name(type *lock)                     \
	{                                               \
		nvwave_unlocking_1((const void *)lock); \
		return REAL(name)(lock);                \
	}

TAKE(pthread_mutex_lock, pthread_mutex_t, false)
TAKE(pthread_mutex_trylock, pthread_mutex_t, false)
TAKE_UNTIL(pthread_mutex_timedlock, pthread_mutex_t, false)
GIVE(pthread_mutex_unlock, pthread_mutex_t)
TAKE(pthread_spin_lock, pthread_spinlock_t, false)
TAKE(pthread_spin_trylock, pthread_spinlock_t, false)
GIVE(pthread_spin_unlock, pthread_spinlock_t)
TAKE(pthread_rwlock_wrlock, pthread_rwlock_t, false)
TAKE(pthread_rwlock_trywrlock, pthread_rwlock_t, false)
TAKE_UNTIL(pthread_rwlock_timedwrlock, pthread_rwlock_t, false)
TAKE(pthread_rwlock_rdlock, pthread_rwlock_t, true)
TAKE(pthread_rwlock_tryrdlock, pthread_rwlock_t, true)
TAKE_UNTIL(pthread_rwlock_timedrdlock, pthread_rwlock_t, true)
GIVE(pthread_rwlock_unlock, pthread_rwlock_t)
TAKE(mtx_lock, mtx_t, false) /* thrd_success is 0 */
TAKE(mtx_trylock, mtx_t, false)
GIVE(mtx_unlock, mtx_t)

EXPORT int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict lock)
{
	nvwave_unlocking_1(lock);
	const int result = REAL(pthread_cond_wait)(condition, lock);

	nvwave_locked_1(lock, false, PLACE);
	return result;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict lock,
	const struct timespec *restrict end)
{
	nvwave_unlocking_1(lock);
	const int result = REAL(pthread_cond_timedwait)(condition, lock, end);

	nvwave_locked_1(lock, false, PLACE);
	return result;
}

EXPORT int pthread_join(pthread_t thread, void **ret_value)
{
	const int error = REAL(pthread_join)(thread, ret_value);

	if (error == 0) {
		nvwave_joined_1(thread);
	}
	return error;
}

EXPORT int thrd_join(thrd_t thread, int *ret_value)
{
	const int error = REAL(thrd_join)(thread, ret_value);

	if (error == thrd_success) {
		nvwave_joined_1(thread);
	}
	return error;
}
