/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linked into programs built by nvwave-cc: the functions that the compiler calls before memory accesses when
 * it instruments for thread sanitizer, instead of the sanitizer's library. Stores are passed to the hooks of
 * "nvwave exec", atomics are executed. Loads are passed on if they are looked at (nvwave-cc --loads;
 * otherwise the assembler stage removes most of their calls).
 *
 * Hidden: every executable and shared object has its own copy.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "hooks.h"

#define PLACE       __builtin_return_address(0)
#define UNLIKELY(x) __builtin_expect((x) != 0, 0)

extern __typeof__(dlsym) dlsym __attribute__((weak)); /* absent without a C library */

static const struct nvwave_cc_hooks *hooks;
static void (*on_store)(void *address, size_t n, void *place);
static void (*on_load)(const void *address, size_t n, void *place);
static void (*on_atomic)(const void *address, size_t n, unsigned how, void *place);
static const uintptr_t *lowest, *highest;
uintptr_t __nvwave_cc_marks; /* of executed places; 0: nobody asks */
void (*__nvwave_cc_on_instruction)(unsigned what, void *address, void *place, size_t times);

/* The linker stage (ld.in) links watched.c, which replaces this, where all of the link was built by
 * nvwave-cc. */
extern const volatile bool __nvwave_cc_watched;
__attribute__((weak)) const volatile bool __nvwave_cc_watched = false;

#define HIDDEN __attribute__((visibility("hidden")))
extern char __start_nvwave_cc_counters[] HIDDEN, __stop_nvwave_cc_counters[] HIDDEN;
extern char __nvwave_cc_behind_counters[] HIDDEN; /* thunk.S */

/* 0: something was linked behind the runtime, so they are not whole pages. */
static size_t bytes_of_counters(void)
{
	if (__nvwave_cc_behind_counters + NVWAVE_CC_PAGE != __stop_nvwave_cc_counters) {
		return 0;
	}
	return (size_t)(__nvwave_cc_behind_counters - __start_nvwave_cc_counters);
}

/* For nvwave's headers, whose hooks these are (nvw/ack.h, valgrind/pmemcheck.h), too. */
void *__nvwave_cc_look_up(void *handle, const char *name)
{
	return dlsym != NULL ? dlsym(handle, name) : NULL;
}

__attribute__((constructor(101))) static void find_hooks(void)
{
	nvwave_cc_find_hooks *find = NULL;
	nvwave_cc_find_marks *find_marks = NULL;

	*(void **)&find = __nvwave_cc_look_up(RTLD_DEFAULT, NVWAVE_CC_HOOKS);
	*(void **)&find_marks = __nvwave_cc_look_up(RTLD_DEFAULT, NVWAVE_CC_MARKS);
	if (find != NULL && (hooks = find((const void *)&find_hooks, __nvwave_cc_watched)) != NULL) {
		lowest = hooks->lowest;
		highest = hooks->highest;
		on_store = hooks->store;
		on_load = hooks->load;
		on_atomic = hooks->atomic;
		__nvwave_cc_on_instruction = hooks->instruction;
	}
	if (find_marks != NULL) {
		__nvwave_cc_marks = find_marks(
			(const void *)&find_hooks, __start_nvwave_cc_counters, bytes_of_counters());
	}
}

/* ---- Stores and loads ----------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void mark(void *place)
{
	if (UNLIKELY(__nvwave_cc_marks)) {
		volatile uint8_t *const count = (volatile uint8_t *)(__nvwave_cc_marks + (uintptr_t)place);

		*count += *count != UINT8_MAX;
	}
}

static inline __attribute__((always_inline)) void announce(void *address, size_t n, void *place)
{
	if (!UNLIKELY(on_store)) {
		return;
	}
	mark(place);
	if (UNLIKELY((uintptr_t)address - *lowest < *highest - *lowest)) {
		on_store(address, n, place);
	}
}

static inline __attribute__((always_inline)) void announce_load(const void *address, size_t n, void *place)
{
	if (UNLIKELY(on_load) && UNLIKELY((uintptr_t)address - *lowest < *highest - *lowest)) {
		on_load(address, n, place);
	}
}

#define STORE(name, n)                       \
	void __tsan_##name(void *address)    \
	{                                    \
		announce(address, n, PLACE); \
	}
#define LOAD(name, n)                             \
	void __tsan_##name(void *address)         \
	{                                         \
		announce_load(address, n, PLACE); \
	}
#define LOAD_AND_STORE_OF(name, n)                \
	void __tsan_##name(void *address)         \
	{                                         \
		announce_load(address, n, PLACE); \
		announce(address, n, PLACE);      \
	}
#define ACCESSES(prefix, n)                         \
	STORE(prefix##write##n, n)                  \
	LOAD_AND_STORE_OF(prefix##read_write##n, n) \
	LOAD(prefix##read##n, n)
#define SIZE(n)                 \
	ACCESSES(, n)           \
	ACCESSES(unaligned_, n) \
	ACCESSES(volatile_, n)  \
	ACCESSES(unaligned_volatile_, n)

SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)
LOAD(vptr_read, sizeof(void *))

void __tsan_func_entry(void *address)
{
}

void __tsan_init(void)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_vptr_update(void **address, void *value)
{
	announce(address, sizeof *address, PLACE);
}

void __tsan_write_range(void *address, size_t n)
{
	announce(address, n, PLACE);
}

void __tsan_read_range(void *address, size_t n)
{
	announce_load(address, n, PLACE);
}

/* Newer compilers' names for copies: the preloaded library interposes the C library's functions itself. */
void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	return __builtin_memcpy(to, from, n);
}

void *__tsan_memmove(void *to, const void *from, size_t n)
{
	return __builtin_memmove(to, from, n);
}

void *__tsan_memset(void *to, int c, size_t n)
{
	return __builtin_memset(to, c, n);
}

/* ---- Atomics -------------------------------------------------------------------------------------- */

#define ATOMIC(address, how)                                                                            \
	do {                                                                                            \
		if (UNLIKELY(on_atomic)) {                                                              \
			on_atomic((const void *)(uintptr_t)(address), sizeof *(address), (how), PLACE); \
		}                                                                                       \
	} while (0)

/* Between the two, changes at the address are recorded as one store; fences: as by a locked instruction. how:
 * what it has turned out to be. */
#define BEGIN(address, fences)               \
	mark(PLACE);                         \
	ATOMIC(address, NVWAVE_CC_RELEASES); \
	const bool held = UNLIKELY(hooks) && \
			  hooks->begin((void *)(uintptr_t)(address), sizeof *(address), fences, PLACE)
#define END(address, how)             \
	do {                          \
		if (UNLIKELY(held)) { \
			hooks->end(); \
		}                     \
		ATOMIC(address, how); \
	} while (0)
#define BOTH (NVWAVE_CC_LOADED | NVWAVE_CC_STORED)

typedef unsigned __int128 uint128_t;

#define UPDATE(bits, name, operation)                                                                        \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *a, uint##bits##_t v, int order) \
	{                                                                                                    \
		BEGIN(a, true);                                                                              \
		const uint##bits##_t before = operation;                                                     \
                                                                                                             \
		END(a, BOTH);                                                                                \
		return before;                                                                               \
	}
#define COMPARED(bits, expected)                                                     \
	BEGIN(a, true);                                                              \
	const uint##bits##_t before = __sync_val_compare_and_swap(a, (expected), v); \
	const int done = before == (expected);                                       \
                                                                                     \
	END(a, done ? BOTH : NVWAVE_CC_LOADED)
#define COMPARE(bits, name)                                                           \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *a, \
		uint##bits##_t *expected, uint##bits##_t v, int order, int failed)    \
	{                                                                             \
		COMPARED(bits, *expected);                                            \
		if (!done) {                                                          \
			*expected = before;                                           \
		}                                                                     \
		return done;                                                          \
	}
#define COMPARES(bits)                                                                        \
	COMPARE(bits, strong)                                                                 \
	COMPARE(bits, weak)                                                                   \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *a, \
		uint##bits##_t expected, uint##bits##_t v, int order, int failed)             \
	{                                                                                     \
		COMPARED(bits, expected);                                                     \
		return before;                                                                \
	}
#define UPDATES(bits)                                           \
	UPDATE(bits, exchange, EXCHANGE(a, v))                  \
	UPDATE(bits, fetch_add, FETCH(a, v, add, old + v))      \
	UPDATE(bits, fetch_sub, FETCH(a, v, sub, old - v))      \
	UPDATE(bits, fetch_and, FETCH(a, v, and, old &v))       \
	UPDATE(bits, fetch_or, FETCH(a, v, or, old | v))        \
	UPDATE(bits, fetch_xor, FETCH(a, v, xor, old ^ v))      \
	UPDATE(bits, fetch_nand, FETCH(a, v, nand, ~(old & v))) \
	COMPARES(bits)
#define LOAD_AND_STORE(bits)                                                                      \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *a, int order)    \
	{                                                                                         \
		const uint##bits##_t v = __atomic_load_n(a, __ATOMIC_SEQ_CST);                    \
                                                                                                  \
		ATOMIC(a, NVWAVE_CC_LOADED);                                                      \
		return v;                                                                         \
	}                                                                                         \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *a, uint##bits##_t v, int order) \
	{                                                                                         \
		const bool locked = order == __ATOMIC_SEQ_CST; /* xchg; weaker ones are a mov */  \
		BEGIN(a, locked);                                                                 \
                                                                                                  \
		if (locked) {                                                                     \
			__atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                 \
		} else {                                                                          \
			__atomic_store_n(a, v, __ATOMIC_RELEASE);                                 \
		}                                                                                 \
		END(a, NVWAVE_CC_STORED);                                                         \
	}

#define EXCHANGE(a, v)            __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST)
#define FETCH(a, v, name, result) __atomic_fetch_##name(a, v, __ATOMIC_SEQ_CST)
#define WIDTH(bits)          \
	LOAD_AND_STORE(bits) \
	UPDATES(bits)

WIDTH(8)
WIDTH(16)
WIDTH(32)
WIDTH(64)

/* For 16 bytes there is only cmpxchg16b. */
#undef EXCHANGE
#undef FETCH
#define LOOP(a, result)                                                                \
	({                                                                             \
		uint128_t old = *(a), found;                                           \
                                                                                       \
		while ((found = __sync_val_compare_and_swap(a, old, result)) != old) { \
			old = found;                                                   \
		}                                                                      \
		old;                                                                   \
	})
#define EXCHANGE(a, v)            LOOP(a, v)
#define FETCH(a, v, name, result) LOOP(a, result)

UPDATES(128)

uint128_t __tsan_atomic128_load(const volatile uint128_t *a, int order)
{
	const uint128_t v = __sync_val_compare_and_swap((volatile uint128_t *)(uintptr_t)a, 0, 0);

	ATOMIC(a, NVWAVE_CC_LOADED);
	return v;
}

void __tsan_atomic128_store(volatile uint128_t *a, uint128_t v, int order)
{
	BEGIN(a, true);

	EXCHANGE(a, v);
	END(a, NVWAVE_CC_STORED);
}

void __tsan_atomic_thread_fence(int order)
{
	if (order != __ATOMIC_SEQ_CST) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the processor does no more for them */
		return;
	}
	mark(PLACE);
	if (UNLIKELY(hooks)) {
		hooks->fence(PLACE);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
