/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the compiler has put before every load and store of kernels: the functions of the thread sanitizer, which is not linked.
 *
 * Global memory is plain memory. A shared variable has one address for all work-groups and a place per work-group: a load's hook
 * brings the value to that address, where the load that follows finds it; a store's hook leaves a note, and the next hook, or
 * whatever else lets others run, takes the stored value to the group's place. Nothing else runs between a hook and its access.
 */
#include <string.h>

#include "runtime.h"

/* Turns of a work-item: how many accesses, at most, before others run. Volatile and atomic ones count more: somebody may spin on them. */
enum { BUDGET = 64, VOLATILE_COST = 16 };

static int budget = BUDGET;

static inline void spend(int cost)
{
	budget -= cost;
	if (__builtin_expect(budget <= 0, 0)) {
		budget = BUDGET;
		if (nvw_cuda_now) {
			nvw_cuda_yield();
		}
	}
}

static inline void before_read(void *address, size_t n, int cost)
{
	nvw_cuda_settle();
	spend(cost);
	char *const place = nvw_cuda_translate(address, n);

	if (__builtin_expect(place != address, 0)) {
		memcpy(address, place, n);
	}
}

static inline void before_write(void *address, size_t n, int cost)
{
	nvw_cuda_settle();
	spend(cost);
	char *const place = nvw_cuda_translate(address, n);

	if (__builtin_expect(place != address, 0)) {
		nvw_cuda_announce(address, place, n);
	}
}

#define HOOKS(n)                                          \
	void __tsan_read##n(void *p);                     \
	void __tsan_write##n(void *p);                    \
	void __tsan_unaligned_read##n(void *p);           \
	void __tsan_unaligned_write##n(void *p);          \
	void __tsan_volatile_read##n(void *p);            \
	void __tsan_volatile_write##n(void *p);           \
	void __tsan_unaligned_volatile_read##n(void *p);  \
	void __tsan_unaligned_volatile_write##n(void *p); \
	void __tsan_read##n(void *p)                      \
	{                                                 \
		before_read(p, n, 1);                     \
	}                                                 \
	void __tsan_write##n(void *p)                     \
	{                                                 \
		before_write(p, n, 1);                    \
	}                                                 \
	void __tsan_unaligned_read##n(void *p)            \
	{                                                 \
		before_read(p, n, 1);                     \
	}                                                 \
	void __tsan_unaligned_write##n(void *p)           \
	{                                                 \
		before_write(p, n, 1);                    \
	}                                                 \
	void __tsan_volatile_read##n(void *p)             \
	{                                                 \
		before_read(p, n, VOLATILE_COST);         \
	}                                                 \
	void __tsan_volatile_write##n(void *p)            \
	{                                                 \
		before_write(p, n, VOLATILE_COST);        \
	}                                                 \
	void __tsan_unaligned_volatile_read##n(void *p)   \
	{                                                 \
		before_read(p, n, VOLATILE_COST);         \
	}                                                 \
	void __tsan_unaligned_volatile_write##n(void *p)  \
	{                                                 \
		before_write(p, n, VOLATILE_COST);        \
	}
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void nvw_cuda_before_copy(void *p, size_t n);

/* A structure that is passed by value (byval.awk). */
void nvw_cuda_before_copy(void *p, size_t n)
{
	before_read(p, n, 1);
}

void __tsan_vptr_read(void *p);
void __tsan_vptr_update(void *p, void *value);
void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);

void __tsan_vptr_read(void *p)
{
	before_read(p, sizeof(void *), 1);
}

void __tsan_vptr_update(void *p, void *value)
{
	(void)value;
	before_write(p, sizeof(void *), 1);
}

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void)
{
	nvw_cuda_settle();
}

/* ---- Copies: calls, which do the whole of it ------------------------------------------------------------- */

void *nvw_cuda_memmove(void *to, const void *from, size_t n);
void *nvw_cuda_memcpy(void *to, const void *from, size_t n);
void *nvw_cuda_memset(void *to, int byte, size_t n);
void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memmove(void *to, const void *from, size_t n);
void *__tsan_memset(void *to, int byte, size_t n);

void *nvw_cuda_memmove(void *to, const void *from, size_t n)
{
	nvw_cuda_settle();
	spend((int)(n / 8 < BUDGET ? n / 8 : BUDGET));
	memmove(nvw_cuda_translate(to, n), nvw_cuda_translate((void *)(uintptr_t)from, n), n);
	return to;
}

void *nvw_cuda_memcpy(void *to, const void *from, size_t n)
{
	return nvw_cuda_memmove(to, from, n);
}

void *nvw_cuda_memset(void *to, int byte, size_t n)
{
	nvw_cuda_settle();
	spend((int)(n / 8 < BUDGET ? n / 8 : BUDGET));
	memset(nvw_cuda_translate(to, n), byte, n);
	return to;
}

void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	return nvw_cuda_memmove(to, from, n);
}

void *__tsan_memmove(void *to, const void *from, size_t n)
{
	return nvw_cuda_memmove(to, from, n);
}

void *__tsan_memset(void *to, int byte, size_t n)
{
	return nvw_cuda_memset(to, byte, n);
}
