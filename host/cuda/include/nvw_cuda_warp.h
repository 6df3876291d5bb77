/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warps: 32 work-items of a block. Lanes meet at these functions and nowhere else; the lanes of a mask that
 * have not returned meet there, and a lane that is not in its own mask is an error. Values have at most 8
 * bytes.
 */
#ifndef NVW_CUDA_WARP_H
#define NVW_CUDA_WARP_H

#include "host_defines.h"

enum nvw_cuda_meeting {
	NVW_CUDA_MEET,
	NVW_CUDA_BALLOT,
	NVW_CUDA_SHUFFLE,   /* lane's value; argument: the lane that it reads */
	NVW_CUDA_MATCH_ANY, /* the lanes with the same value */
	NVW_CUDA_MATCH_ALL, /* the mask if all have the same value, else 0 */
	NVW_CUDA_REDUCE_ADD,
	NVW_CUDA_REDUCE_MIN,
	NVW_CUDA_REDUCE_MAX,
	NVW_CUDA_REDUCE_SIGNED_MIN,
	NVW_CUDA_REDUCE_SIGNED_MAX,
	NVW_CUDA_REDUCE_AND,
	NVW_CUDA_REDUCE_OR,
	NVW_CUDA_REDUCE_XOR
};

#ifdef __cplusplus
extern "C" {
__device__ unsigned long long nvw_cuda_meet(
	int kind, unsigned mask, unsigned long long value, unsigned argument) __attribute__((convergent));
__device__ unsigned nvw_cuda_active_mask(void)
	__attribute__((convergent, nomerge)); /* a place of its own for each call */
__device__ unsigned nvw_cuda_lane(void) __attribute__((const, nothrow));
}

NVW_CUDA_INLINE unsigned __activemask(void)
{
	return nvw_cuda_active_mask();
}
NVW_CUDA_INLINE void __syncwarp(unsigned mask = 0xffffffff)
{
	(void)nvw_cuda_meet(NVW_CUDA_MEET, mask, 0, 0);
}
NVW_CUDA_INLINE unsigned __ballot_sync(unsigned mask, int predicate)
{
	return (unsigned)nvw_cuda_meet(NVW_CUDA_BALLOT, mask, predicate != 0, 0);
}
NVW_CUDA_INLINE int __any_sync(unsigned mask, int predicate)
{
	return __ballot_sync(mask, predicate) != 0;
}
NVW_CUDA_INLINE int __all_sync(unsigned mask, int predicate)
{
	return __ballot_sync(mask, !predicate) == 0;
}
template <class T> NVW_CUDA_INLINE unsigned long long nvw_cuda_bits(T value)
{
	static_assert(sizeof value <= 8, "__match_* take values of at most 8 bytes");
	unsigned long long bits = 0;

	__builtin_memcpy(&bits, &value, sizeof value);
	return bits;
}
/* Eight bytes at a time. */
template <class T> NVW_CUDA_INLINE T nvw_cuda_shuffle(unsigned mask, T value, unsigned from)
{
	unsigned long long words[(sizeof value + 7) / 8] = {};
	T result;

	__builtin_memcpy(words, &value, sizeof value);
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		words[i] = nvw_cuda_meet(NVW_CUDA_SHUFFLE, mask, words[i], from);
	}
	__builtin_memcpy(&result, words, sizeof result);
	return result;
}
template <class T> NVW_CUDA_INLINE T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
	const unsigned first = nvw_cuda_lane() & ~(unsigned)(width - 1);

	return nvw_cuda_shuffle(mask, value, first + ((unsigned)from & (unsigned)(width - 1)));
}
template <class T> NVW_CUDA_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
	const unsigned lane = nvw_cuda_lane(), at = lane & (unsigned)(width - 1);

	return nvw_cuda_shuffle(mask, value, at >= by ? lane - by : lane);
}
template <class T> NVW_CUDA_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
	const unsigned lane = nvw_cuda_lane(), at = lane & (unsigned)(width - 1);

	return nvw_cuda_shuffle(mask, value, at + by < (unsigned)width ? lane + by : lane);
}
template <class T> NVW_CUDA_INLINE T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32)
{
	const unsigned lane = nvw_cuda_lane(), last = lane | (unsigned)(width - 1),
		       from = lane ^ (unsigned)with;

	return nvw_cuda_shuffle(mask, value, from <= last ? from : lane);
}
template <class T> NVW_CUDA_INLINE unsigned __match_any_sync(unsigned mask, T value)
{
	return (unsigned)nvw_cuda_meet(NVW_CUDA_MATCH_ANY, mask, nvw_cuda_bits(value), 0);
}
template <class T> NVW_CUDA_INLINE unsigned __match_all_sync(unsigned mask, T value, int *ret_all)
{
	const unsigned same = (unsigned)nvw_cuda_meet(NVW_CUDA_MATCH_ALL, mask, nvw_cuda_bits(value), 0);

	*ret_all = same != 0;
	return same;
}

#define NVW_CUDA_REDUCE(name, type, kind)                                                        \
	NVW_CUDA_INLINE type name(unsigned mask, type value)                                     \
	{                                                                                        \
		return (type)nvw_cuda_meet(kind, mask, (unsigned long long)(long long)value, 0); \
	}
NVW_CUDA_REDUCE(__reduce_add_sync, unsigned, NVW_CUDA_REDUCE_ADD)
NVW_CUDA_REDUCE(__reduce_add_sync, int, NVW_CUDA_REDUCE_ADD)
NVW_CUDA_REDUCE(__reduce_min_sync, unsigned, NVW_CUDA_REDUCE_MIN)
NVW_CUDA_REDUCE(__reduce_max_sync, unsigned, NVW_CUDA_REDUCE_MAX)
NVW_CUDA_REDUCE(__reduce_min_sync, int, NVW_CUDA_REDUCE_SIGNED_MIN)
NVW_CUDA_REDUCE(__reduce_max_sync, int, NVW_CUDA_REDUCE_SIGNED_MAX)
NVW_CUDA_REDUCE(__reduce_and_sync, unsigned, NVW_CUDA_REDUCE_AND)
NVW_CUDA_REDUCE(__reduce_or_sync, unsigned, NVW_CUDA_REDUCE_OR)
NVW_CUDA_REDUCE(__reduce_xor_sync, unsigned, NVW_CUDA_REDUCE_XOR)
#undef NVW_CUDA_REDUCE

/* The forms without a mask, of older programs: the lanes that are active. */
NVW_CUDA_INLINE unsigned __ballot(int predicate)
{
	return __ballot_sync(__activemask(), predicate);
}
NVW_CUDA_INLINE int __any(int predicate)
{
	return __ballot(predicate) != 0;
}
NVW_CUDA_INLINE int __all(int predicate)
{
	return __ballot(!predicate) == 0;
}
#define NVW_CUDA_WITHOUT_MASK(name, type)                                           \
	template <class T> NVW_CUDA_INLINE T name(T value, type by, int width = 32) \
	{                                                                           \
		return name##_sync(__activemask(), value, by, width);               \
	}
NVW_CUDA_WITHOUT_MASK(__shfl, int)
NVW_CUDA_WITHOUT_MASK(__shfl_up, unsigned)
NVW_CUDA_WITHOUT_MASK(__shfl_down, unsigned)
NVW_CUDA_WITHOUT_MASK(__shfl_xor, int)
#undef NVW_CUDA_WITHOUT_MASK
#endif

#endif
