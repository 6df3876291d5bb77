/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA's atomics. They are relaxed; the suffix _block or _system is the scope, without one it is the device.
 * All reach one function of the runtime, with the operation, the size and the scope in one number, since the
 * compiler's own atomics lose the scope.
 */
#ifndef NVW_CUDA_ATOMICS_H
#define NVW_CUDA_ATOMICS_H

#include "host_defines.h"
#include <string.h>

/* The number: operation | size << 8 | scope << 16. The runtime (host/cuda/runtime/atomics.c) has the same. */
enum nvw_cuda_operation { /* enum nvw__kind (nvw/kernel.h) */
	NVW_CUDA_LOAD = 3,
	NVW_CUDA_STORE,
	NVW_CUDA_EXCHANGE,
	NVW_CUDA_ADD,
	NVW_CUDA_SUB,
	NVW_CUDA_AND,
	NVW_CUDA_OR,
	NVW_CUDA_MIN,
	NVW_CUDA_MAX,
	NVW_CUDA_SIGNED_MIN,
	NVW_CUDA_SIGNED_MAX,
	NVW_CUDA_XOR,
	NVW_CUDA_INC,
	NVW_CUDA_DEC,
	NVW_CUDA_ADD_FLOAT,
	NVW_CUDA_CAS
};
enum nvw_cuda_size {
	NVW_CUDA_8 = 0,
	NVW_CUDA_16 = 1,
	NVW_CUDA_32 = 2,
	NVW_CUDA_64 = 3
}; /* bits; log2 of bytes */
enum nvw_cuda_scope { NVW_CUDA_BLOCK = 1, NVW_CUDA_DEVICE = 2, NVW_CUDA_SYSTEM = 3 };

#ifdef __cplusplus
extern "C" __device__ unsigned long long nvw_cuda_atomic(
	unsigned what, void *address, unsigned long long value, unsigned long long compare);

template <class T> NVW_CUDA_INLINE T nvw_cuda_typed_atomic(unsigned what, T *address, T value, T compare)
{
	unsigned long long v = 0, c = 0;
	T result;

	__builtin_memcpy(&v, &value, sizeof value);
	__builtin_memcpy(&c, &compare, sizeof compare);
	v = nvw_cuda_atomic(what, address, v, c);
	__builtin_memcpy(&result, &v, sizeof result);
	return result;
}

#define NVW_CUDA_ATOMIC_OF_SCOPE(name, operation, type, number, scope)                   \
	NVW_CUDA_INLINE type name(type *address, type value)                             \
	{                                                                                \
		return nvw_cuda_typed_atomic<type>(                                      \
			operation | number << 8 | scope << 16, address, value, (type)0); \
	}
#define NVW_CUDA_ATOMIC(name, operation, type, number)                                  \
	NVW_CUDA_ATOMIC_OF_SCOPE(name, operation, type, number, NVW_CUDA_DEVICE)        \
	NVW_CUDA_ATOMIC_OF_SCOPE(name##_block, operation, type, number, NVW_CUDA_BLOCK) \
	NVW_CUDA_ATOMIC_OF_SCOPE(name##_system, operation, type, number, NVW_CUDA_SYSTEM)
#define NVW_CUDA_SIGNED(name, operation)                         \
	NVW_CUDA_ATOMIC(name, operation, int, NVW_CUDA_32)       \
	NVW_CUDA_ATOMIC(name, operation, long long, NVW_CUDA_64) \
	NVW_CUDA_ATOMIC(name, operation, long, NVW_CUDA_64)
#define NVW_CUDA_UNSIGNED(name, operation)                                \
	NVW_CUDA_ATOMIC(name, operation, unsigned, NVW_CUDA_32)           \
	NVW_CUDA_ATOMIC(name, operation, unsigned long long, NVW_CUDA_64) \
	NVW_CUDA_ATOMIC(name, operation, unsigned long, NVW_CUDA_64)
#define NVW_CUDA_INTEGERS(name, operation) NVW_CUDA_SIGNED(name, operation) NVW_CUDA_UNSIGNED(name, operation)

NVW_CUDA_INTEGERS(atomicAdd, NVW_CUDA_ADD)
NVW_CUDA_ATOMIC(atomicAdd, NVW_CUDA_ADD_FLOAT, float, NVW_CUDA_32)
NVW_CUDA_ATOMIC(atomicAdd, NVW_CUDA_ADD_FLOAT, double, NVW_CUDA_64)
NVW_CUDA_INTEGERS(atomicSub, NVW_CUDA_SUB)
NVW_CUDA_INTEGERS(atomicExch, NVW_CUDA_EXCHANGE)
NVW_CUDA_ATOMIC(atomicExch, NVW_CUDA_EXCHANGE, float, NVW_CUDA_32)
NVW_CUDA_SIGNED(atomicMin, NVW_CUDA_SIGNED_MIN)
NVW_CUDA_UNSIGNED(atomicMin, NVW_CUDA_MIN)
NVW_CUDA_SIGNED(atomicMax, NVW_CUDA_SIGNED_MAX)
NVW_CUDA_UNSIGNED(atomicMax, NVW_CUDA_MAX)
NVW_CUDA_ATOMIC(atomicInc, NVW_CUDA_INC, unsigned, NVW_CUDA_32)
NVW_CUDA_ATOMIC(atomicDec, NVW_CUDA_DEC, unsigned, NVW_CUDA_32)
NVW_CUDA_INTEGERS(atomicAnd, NVW_CUDA_AND)
NVW_CUDA_INTEGERS(atomicOr, NVW_CUDA_OR)
NVW_CUDA_INTEGERS(atomicXor, NVW_CUDA_XOR)

#define NVW_CUDA_CAS_OF_SCOPE(name, type, number, scope)                                    \
	NVW_CUDA_INLINE type name(type *address, type compare, type value)                  \
	{                                                                                   \
		return nvw_cuda_typed_atomic<type>(                                         \
			NVW_CUDA_CAS | number << 8 | scope << 16, address, value, compare); \
	}
#define NVW_CUDA_CASES(type, number)                                         \
	NVW_CUDA_CAS_OF_SCOPE(atomicCAS, type, number, NVW_CUDA_DEVICE)      \
	NVW_CUDA_CAS_OF_SCOPE(atomicCAS_block, type, number, NVW_CUDA_BLOCK) \
	NVW_CUDA_CAS_OF_SCOPE(atomicCAS_system, type, number, NVW_CUDA_SYSTEM)
NVW_CUDA_CASES(int, NVW_CUDA_32)
NVW_CUDA_CASES(unsigned, NVW_CUDA_32)
NVW_CUDA_CASES(unsigned short, NVW_CUDA_16)
NVW_CUDA_CASES(long long, NVW_CUDA_64)
NVW_CUDA_CASES(unsigned long long, NVW_CUDA_64)
NVW_CUDA_CASES(long, NVW_CUDA_64)
NVW_CUDA_CASES(unsigned long, NVW_CUDA_64)

#undef NVW_CUDA_CASES
#undef NVW_CUDA_CAS_OF_SCOPE
#undef NVW_CUDA_INTEGERS
#undef NVW_CUDA_UNSIGNED
#undef NVW_CUDA_SIGNED
#undef NVW_CUDA_ATOMIC
#undef NVW_CUDA_ATOMIC_OF_SCOPE
#endif

#endif
