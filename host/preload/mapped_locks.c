/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of the C library that lie in a mapping: what its functions store to them is announced, as a copy is. It
 * belongs to no transaction, so no undo log has to take it back. So are results of such functions.
 *
 * They jump, so that the next library that has the function (locks.c, schedule.c) sees the program's place.
 * Conditions are left out: the C library has two versions of their functions.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "preload.h"

/* clang-format off */
#define LOCKS(LOCK, RESULT) \
	LOCK(0, pthread_mutex_init, pthread_mutex_t) LOCK(1, pthread_mutex_destroy, pthread_mutex_t) \
	LOCK(2, pthread_mutex_lock, pthread_mutex_t) LOCK(3, pthread_mutex_trylock, pthread_mutex_t) \
	LOCK(4, pthread_mutex_timedlock, pthread_mutex_t) LOCK(5, pthread_mutex_clocklock, pthread_mutex_t) \
	LOCK(6, pthread_mutex_unlock, pthread_mutex_t) \
	LOCK(7, pthread_rwlock_init, pthread_rwlock_t) LOCK(8, pthread_rwlock_destroy, pthread_rwlock_t) \
	LOCK(9, pthread_rwlock_rdlock, pthread_rwlock_t) LOCK(10, pthread_rwlock_tryrdlock, pthread_rwlock_t) \
	LOCK(11, pthread_rwlock_wrlock, pthread_rwlock_t) LOCK(12, pthread_rwlock_trywrlock, pthread_rwlock_t) \
	LOCK(13, pthread_rwlock_timedrdlock, pthread_rwlock_t) LOCK(14, pthread_rwlock_timedwrlock, pthread_rwlock_t) \
	LOCK(15, pthread_rwlock_clockrdlock, pthread_rwlock_t) LOCK(16, pthread_rwlock_clockwrlock, pthread_rwlock_t) \
	LOCK(17, pthread_rwlock_unlock, pthread_rwlock_t) \
	LOCK(18, pthread_spin_init, pthread_spinlock_t) LOCK(19, pthread_spin_destroy, pthread_spinlock_t) \
	LOCK(20, pthread_spin_lock, pthread_spinlock_t) LOCK(21, pthread_spin_trylock, pthread_spinlock_t) \
	LOCK(22, pthread_spin_unlock, pthread_spinlock_t) \
	LOCK(23, pthread_barrier_init, pthread_barrier_t) LOCK(24, pthread_barrier_destroy, pthread_barrier_t) \
	LOCK(25, pthread_barrier_wait, pthread_barrier_t) \
	LOCK(26, sem_init, sem_t) LOCK(27, sem_destroy, sem_t) LOCK(28, sem_post, sem_t) LOCK(29, sem_wait, sem_t) \
	LOCK(30, sem_trywait, sem_t) LOCK(31, sem_timedwait, sem_t) LOCK(32, sem_clockwait, sem_t) \
	RESULT(33, sem_getvalue, int) RESULT(34, pthread_join, void *)
/* clang-format on */

#define ROW(number, name, type)           [number] = {#name, sizeof(type), false, NULL},
#define ROW_OF_RESULT(number, name, type) [number] = {#name, sizeof(type), true, NULL},
static struct function {
	const char *name;
	size_t bytes;
	bool second; /* it stores to what its second argument points to, of that size */
	void *real;
} functions[] = {LOCKS(ROW, ROW_OF_RESULT)};

__attribute__((used, visibility("hidden"))) void *host_lock_comes(
	void *first, void *address, uintptr_t frame, unsigned number, void *second);

/* Returns what to jump to. */
void *host_lock_comes(void *first, void *address, uintptr_t frame, unsigned number, void *second)
{
	struct function *const f = &functions[number];
	void *const lock = f->second ? second : first;

	if (f->real == NULL) {
		f->real = host_real(f->name);
	}
	if (__builtin_expect(host_find(lock) != NULL, 0) && host_recording && !host_self.inside) {
		const struct host_caller caller = {address, frame};
		const int before = errno;

		host_announce(lock, f->bytes);
		host_lock_store(lock, f->bytes, &caller);
		errno = before;
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
	"	sub $8, %rsp\n"
	"	mov %rsi, %r8\n"
	"	mov 40(%rsp), %rsi\n"
	"	lea 48(%rsp), %rdx\n"
	"	mov 32(%rsp), %ecx\n"
	"	call host_lock_comes\n"
	"	mov %rax, %r11\n"
	"	add $8, %rsp\n"
	"	pop %rdx\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	lea 8(%rsp), %rsp\n"
	"	jmp *%r11\n" LOCKS(JUMP, JUMP) ".popsection\n");
