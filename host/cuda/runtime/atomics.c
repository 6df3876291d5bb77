/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics: CUDA's functions (include/nvw_cuda_atomics.h), and the compiler's own (std::atomic, __atomic_fetch_add ...), which the
 * thread sanitizer's names announce. Both do the whole operation. The host may touch the same memory, so they are atomic there,
 * too. A work-item that executes one lets others run now and then.
 */
#include <string.h>

#include "../include/nvw_cuda_atomics.h"
#include "runtime.h"

static const unsigned char bytes_of[] = {
	[NVW_CUDA_U8] = 1,
	[NVW_CUDA_U16] = 2,
	[NVW_CUDA_U32] = 4,
	[NVW_CUDA_U64] = 8,
	[NVW_CUDA_S32] = 4,
	[NVW_CUDA_S64] = 8,
	[NVW_CUDA_F32] = 4,
	[NVW_CUDA_F64] = 8,
};

/* ---- What an operation makes of a value ------------------------------------------------------------------ */

static uint64_t add_floats(unsigned type, uint64_t a, uint64_t b)
{
	uint64_t result = 0;

	if (type == NVW_CUDA_F32) {
		float x, y;

		memcpy(&x, &a, 4);
		memcpy(&y, &b, 4);
		x += y;
		memcpy(&result, &x, 4);
	} else {
		double x, y;

		memcpy(&x, &a, 8);
		memcpy(&y, &b, 8);
		x += y;
		memcpy(&result, &x, 8);
	}
	return result;
}

static bool is_less(unsigned type, uint64_t a, uint64_t b)
{
	switch (type) {
	case NVW_CUDA_S32:
		return (int32_t)a < (int32_t)b;
	case NVW_CUDA_S64:
		return (int64_t)a < (int64_t)b;
	default:
		return a < b;
	}
}

static uint64_t combine(unsigned operation, unsigned type, uint64_t old, uint64_t value, uint64_t compare)
{
	const bool is_float = type == NVW_CUDA_F32 || type == NVW_CUDA_F64;

	switch (operation) {
	case NVW_CUDA_ADD:
		return is_float ? add_floats(type, old, value) : old + value;
	case NVW_CUDA_SUB:
		return old - value;
	case NVW_CUDA_CAS:
		return old == compare ? value : old;
	case NVW_CUDA_MIN:
		return is_less(type, value, old) ? value : old;
	case NVW_CUDA_MAX:
		return is_less(type, old, value) ? value : old;
	case NVW_CUDA_INC:
		return old >= value ? 0 : old + 1;
	case NVW_CUDA_DEC:
		return old == 0 || old > value ? value : old - 1;
	case NVW_CUDA_AND:
		return old & value;
	case NVW_CUDA_OR:
		return old | value;
	case NVW_CUDA_XOR:
		return old ^ value;
	case NVW_CUDA_LOAD:
		return old;
	default:
		return value;
	}
}

/* ---- Doing it ------------------------------------------------------------------------------------------------ */

#define MODIFY(bits)                                                                                  \
	static uint64_t modify##bits(                                                                 \
		void *address, unsigned operation, unsigned type, uint64_t value, uint64_t compare)   \
	{                                                                                             \
		uint##bits##_t *const p = address;                                                    \
		uint##bits##_t old = __atomic_load_n(p, __ATOMIC_RELAXED);                            \
                                                                                                      \
		while (operation != NVW_CUDA_LOAD &&                                                  \
			!__atomic_compare_exchange_n(p, &old,                                         \
				(uint##bits##_t)combine(operation, type, old, value, compare), false, \
				__ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {                                \
		}                                                                                     \
		return old;                                                                           \
	}
MODIFY(8)
MODIFY(16)
MODIFY(32)
MODIFY(64)

static uint64_t modify(void *address, unsigned operation, unsigned type, uint64_t value, uint64_t compare)
{
	switch (bytes_of[type]) {
	case 1:
		return modify8(address, operation, type, value, compare);
	case 2:
		return modify16(address, operation, type, value, compare);
	case 4:
		return modify32(address, operation, type, value, compare);
	default:
		return modify64(address, operation, type, value, compare);
	}
}

/* Every fourth lets others run: those that it may wait for. */
static void give_way(void)
{
	static unsigned count;

	if (nvw_cuda_now && ++count % 4 == 0) {
		nvw_cuda_yield();
	}
}

uint64_t nvw_cuda_atomic(unsigned what, void *address, uint64_t value, uint64_t compare);

uint64_t nvw_cuda_atomic(unsigned what, void *address, uint64_t value, uint64_t compare)
{
	const unsigned operation = what & 0xff, type = what >> 8 & 0xff;

	nvw_cuda_settle();
	give_way();
	return modify(nvw_cuda_translate(address, bytes_of[type]), operation, type, value, compare);
}

/* ---- The compiler's ------------------------------------------------------------------------------------------- */

/* They have no scope: the widest. */
#define AS(operation, bits) (operation | NVW_CUDA_U##bits << 8 | NVW_CUDA_SYSTEM << 16)

#define READ_MODIFY_WRITE(bits, name, operation)                                           \
	uint##bits##_t __tsan_atomic##bits##_##name(void *p, uint##bits##_t v, int order); \
	uint##bits##_t __tsan_atomic##bits##_##name(void *p, uint##bits##_t v, int order)  \
	{                                                                                  \
		(void)order;                                                               \
		return (uint##bits##_t)nvw_cuda_atomic(AS(operation, bits), p, v, 0);      \
	}

#define OF_SIZE(bits)                                                                     \
	uint##bits##_t __tsan_atomic##bits##_load(void *p, int order);                    \
	void __tsan_atomic##bits##_store(void *p, uint##bits##_t v, int order);           \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                        \
		void *p, uint##bits##_t c, uint##bits##_t v, int order, int failed);      \
	READ_MODIFY_WRITE(bits, fetch_add, NVW_CUDA_ADD)                                  \
	READ_MODIFY_WRITE(bits, fetch_sub, NVW_CUDA_SUB)                                  \
	READ_MODIFY_WRITE(bits, fetch_and, NVW_CUDA_AND)                                  \
	READ_MODIFY_WRITE(bits, fetch_or, NVW_CUDA_OR)                                    \
	READ_MODIFY_WRITE(bits, fetch_xor, NVW_CUDA_XOR)                                  \
	READ_MODIFY_WRITE(bits, exchange, NVW_CUDA_EXCHANGE)                              \
	uint##bits##_t __tsan_atomic##bits##_load(void *p, int order)                     \
	{                                                                                 \
		(void)order;                                                              \
		return (uint##bits##_t)nvw_cuda_atomic(AS(NVW_CUDA_LOAD, bits), p, 0, 0); \
	}                                                                                 \
	void __tsan_atomic##bits##_store(void *p, uint##bits##_t v, int order)            \
	{                                                                                 \
		(void)order;                                                              \
		(void)nvw_cuda_atomic(AS(NVW_CUDA_STORE, bits), p, v, 0);                 \
	}                                                                                 \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                        \
		void *p, uint##bits##_t c, uint##bits##_t v, int order, int failed)       \
	{                                                                                 \
		(void)order;                                                              \
		(void)failed;                                                             \
		return (uint##bits##_t)nvw_cuda_atomic(AS(NVW_CUDA_CAS, bits), p, v, c);  \
	}
OF_SIZE(8)
OF_SIZE(16)
OF_SIZE(32)
OF_SIZE(64)

/* ---- Fences ---------------------------------------------------------------------------------------------------- */

void nvw_cuda_fence(int scope);
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

void nvw_cuda_fence(int scope)
{
	(void)scope;
	nvw_cuda_settle();
}

void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	nvw_cuda_fence(NVW_CUDA_SYSTEM);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
