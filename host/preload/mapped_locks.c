/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of the C library that lie in a mapping: what its functions store to them is announced, as a copy is.
 * It belongs to no transaction, so no undo log has to take it back. So are results of such functions.
 *
 * They jump, so that the next library that has the function (locks.c, schedule.c) sees the program's place.
 */
#include <pthread.h>
#include <semaphore.h>

#include "preload.h"
#include "real.h"

/* clang-format off */
#define LOCKS(LOCK, TAKE, RESULT, WAIT) \
	LOCK(0, pthread_mutex_init, pthread_mutex_t) LOCK(1, pthread_mutex_destroy, pthread_mutex_t) \
	TAKE(2, pthread_mutex_lock, pthread_mutex_t) LOCK(3, pthread_mutex_trylock, pthread_mutex_t) \
	TAKE(4, pthread_mutex_timedlock, pthread_mutex_t) \
	TAKE(5, pthread_mutex_clocklock, pthread_mutex_t) \
	LOCK(6, pthread_mutex_unlock, pthread_mutex_t) \
	LOCK(7, pthread_rwlock_init, pthread_rwlock_t) LOCK(8, pthread_rwlock_destroy, pthread_rwlock_t) \
	TAKE(9, pthread_rwlock_rdlock, pthread_rwlock_t) \
	LOCK(10, pthread_rwlock_tryrdlock, pthread_rwlock_t) \
	TAKE(11, pthread_rwlock_wrlock, pthread_rwlock_t) \
	LOCK(12, pthread_rwlock_trywrlock, pthread_rwlock_t) \
	TAKE(13, pthread_rwlock_timedrdlock, pthread_rwlock_t) \
	TAKE(14, pthread_rwlock_timedwrlock, pthread_rwlock_t) \
	TAKE(15, pthread_rwlock_clockrdlock, pthread_rwlock_t) \
	TAKE(16, pthread_rwlock_clockwrlock, pthread_rwlock_t) \
	LOCK(17, pthread_rwlock_unlock, pthread_rwlock_t) \
	LOCK(18, pthread_spin_init, pthread_spinlock_t) LOCK(19, pthread_spin_destroy, pthread_spinlock_t) \
	TAKE(20, pthread_spin_lock, pthread_spinlock_t) \
	LOCK(21, pthread_spin_trylock, pthread_spinlock_t) \
	LOCK(22, pthread_spin_unlock, pthread_spinlock_t) \
	LOCK(23, pthread_barrier_init, pthread_barrier_t) \
	LOCK(24, pthread_barrier_destroy, pthread_barrier_t) \
	TAKE(25, pthread_barrier_wait, pthread_barrier_t) \
	LOCK(26, sem_init, sem_t) LOCK(27, sem_destroy, sem_t) \
	LOCK(28, sem_post, sem_t) TAKE(29, sem_wait, sem_t) \
	LOCK(30, sem_trywait, sem_t) TAKE(31, sem_timedwait, sem_t) TAKE(32, sem_clockwait, sem_t) \
	RESULT(33, sem_getvalue, int) RESULT(34, pthread_join, void *) \
	LOCK(35, pthread_cond_init, pthread_cond_t) LOCK(36, pthread_cond_destroy, pthread_cond_t) \
	LOCK(37, pthread_cond_signal, pthread_cond_t) LOCK(38, pthread_cond_broadcast, pthread_cond_t) \
	WAIT(39, pthread_cond_wait, pthread_cond_t) WAIT(40, pthread_cond_timedwait, pthread_cond_t) \
	WAIT(41, pthread_cond_clockwait, pthread_cond_t)
/* clang-format on */

#define ROW(n, name, type)           [n] = {#name, sizeof(type), 0, false, NULL},
#define ROW_OF_TAKE(n, name, type)   [n] = {#name, sizeof(type), 0, true, NULL},
#define ROW_OF_RESULT(n, name, type) [n] = {#name, 0, sizeof(type), true, NULL},
#define ROW_OF_WAIT(n, name, type)   [n] = {#name, sizeof(type), sizeof(pthread_mutex_t), true, NULL},
static struct function {
	const char *name;
	size_t first, second; /* bytes that it may store to where its arguments point to */
	bool waits;
	void *real;
} functions[] = {LOCKS(ROW, ROW_OF_TAKE, ROW_OF_RESULT, ROW_OF_WAIT)};

__attribute__((used, visibility("hidden"))) void *host_lock_comes(
	void *first, void *address, uintptr_t frame, unsigned number, void *second);

/* Returns what to jump to. */
void *host_lock_comes(void *first, void *address, uintptr_t frame, unsigned number, void *second)
{
	struct function *const f = &functions[number];
	struct host_bytes stored = {(uintptr_t)first, f->first}, also = {(uintptr_t)second, f->second};

	if (f->real == NULL) {
		f->real = newer_of(f->name, host_real(f->name));
	}
	if (also.n > 0 && host_find(second) == NULL) {
		also.n = 0;
	}
	if (stored.n == 0 || host_find(first) == NULL) {
		stored = also;
		also.n = 0;
	}
	if (__builtin_expect(stored.n > 0, 0) && host_recording && !host_self.inside) {
		const struct host_caller caller = {address, frame};
		HOST_KEEPS_ERRNO;

		host_lock_store(stored, also, f->waits, &caller);
	}
	return f->real;
}

#define JUMP(number, name, type)       \
	".globl " #name "\n"           \
	".type " #name ", @function\n" \
	"" #name ":\n"                 \
	"	push $" #number "\n"   \
	"	jmp nvwave_lock_comes\n"     \
	".size " #name ", . - " #name "\n"

__asm__(".pushsection .text\n"
	"nvwave_lock_comes:\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	push %rcx\n"
	"	mov %rsi, %r8\n"
	"	mov 40(%rsp), %rsi\n"
	"	lea 48(%rsp), %rdx\n"
	"	mov 32(%rsp), %ecx\n"
	"	call host_lock_comes\n"
	"	mov %rax, %r11\n"
	"	pop %rcx\n"
	"	pop %rdx\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	lea 8(%rsp), %rsp\n"
	"	jmp *%r11\n" LOCKS(JUMP, JUMP, JUMP, JUMP) ".popsection\n");
