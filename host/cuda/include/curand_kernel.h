/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * curand's device API with its generators XORWOW (the default) and Philox4x32-10: the same numbers as
 * curand's for the same seed, sequence and offset. Other generators, and distributions other than uniform and
 * normal ones, are not there.
 */
#ifndef NVW_CUDA_CURAND_KERNEL_H
#define NVW_CUDA_CURAND_KERNEL_H

#include <cuda_runtime.h>

struct curandStateXORWOW {
	unsigned d, v[5];
	int boxmuller_flag, boxmuller_flag_double;
	float boxmuller_extra;
	double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandState_t, curandState, curandStateXORWOW_t;

/* Salmon et al. 2011: the number of a block of four, encrypted. */
struct curandStatePhilox4_32_10 {
	unsigned long long at[2]; /* the offset in blocks, the sequence */
	uint4 output;
	uint2 key;
	unsigned used; /* of the output */
	int boxmuller_flag, boxmuller_flag_double;
	float boxmuller_extra;
	double boxmuller_extra_double;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

#ifdef __CUDA__ /* else a host compiler's file, which has the type alone */
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t NVW_CUDA_REFUSED("this generator of curand");
typedef struct curandStateMtgp32 curandStateMtgp32_t NVW_CUDA_REFUSED("this generator of curand");

extern "C" __device__ void nvw_cuda_curand_skip(unsigned v[5], unsigned long long n, int by_sequences);

NVW_CUDA_INLINE void skipahead(unsigned long long n, curandState *state)
{
	curandState own = *state;

	nvw_cuda_curand_skip(own.v, n, 0);
	own.d += 362437u * (unsigned)n;
	*state = own;
}

NVW_CUDA_INLINE void skipahead_sequence(unsigned long long n, curandState *state)
{
	curandState own = *state;

	nvw_cuda_curand_skip(own.v, n, 1);
	*state = own;
}

NVW_CUDA_INLINE void curand_init(
	unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandState *state)
{
	const unsigned low = 1099087573u * ((unsigned)seed ^ 0xaad26b49u),
		       high = 2591861531u * ((unsigned)(seed >> 32) ^ 0xf7dcefddu);
	curandState own = {6615241u + high + low,
		{123456789u + low, 362436069u ^ low, 521288629u + high, 88675123u ^ high, 5783321u + low}, 0,
		0, 0, 0};

	nvw_cuda_curand_skip(own.v, sequence, 1);
	nvw_cuda_curand_skip(own.v, offset, 0);
	own.d += 362437u * (unsigned)offset;
	*state = own;
}

NVW_CUDA_INLINE unsigned curand(curandState *state)
{
	const unsigned t = state->v[0] ^ (state->v[0] >> 2);

	state->v[0] = state->v[1];
	state->v[1] = state->v[2];
	state->v[2] = state->v[3];
	state->v[3] = state->v[4];
	state->v[4] = (state->v[4] ^ (state->v[4] << 4)) ^ (t ^ (t << 1));
	state->d += 362437u;
	return state->v[4] + state->d;
}

NVW_CUDA_INLINE void nvw_cuda_philox(curandStatePhilox4_32_10_t *state)
{
	uint4 x = {(unsigned)state->at[0], (unsigned)(state->at[0] >> 32), (unsigned)state->at[1],
		(unsigned)(state->at[1] >> 32)};
	uint2 key = state->key;

	for (int round = 0; round < 10; round++) {
		const unsigned long long a = 0xd2511f53ull * x.x, b = 0xcd9e8d57ull * x.z;

		x = {(unsigned)(b >> 32) ^ x.y ^ key.x, (unsigned)b, (unsigned)(a >> 32) ^ x.w ^ key.y,
			(unsigned)a};
		key = {key.x + 0x9e3779b9u, key.y + 0xbb67ae85u};
	}
	state->output = x;
}

NVW_CUDA_INLINE void skipahead(unsigned long long n, curandStatePhilox4_32_10_t *state)
{
	const unsigned used = state->used + (unsigned)(n & 3);
	const unsigned long long before = state->at[0];

	state->at[0] += n / 4 + used / 4;
	state->at[1] += state->at[0] < before;
	state->used = used % 4;
	nvw_cuda_philox(state);
}

NVW_CUDA_INLINE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t *state)
{
	state->at[1] += n;
	nvw_cuda_philox(state);
}

NVW_CUDA_INLINE void curand_init(unsigned long long seed, unsigned long long sequence,
	unsigned long long offset, curandStatePhilox4_32_10_t *state)
{
	*state = {{0, sequence}, {}, {(unsigned)seed, (unsigned)(seed >> 32)}};
	skipahead(offset, state);
}

NVW_CUDA_INLINE unsigned curand(curandStatePhilox4_32_10_t *state)
{
	const uint4 o = state->output;
	const unsigned all[4] = {o.x, o.y, o.z, o.w}, one = all[state->used];

	if (state->used == 3) {
		skipahead(1, state);
	} else {
		state->used++;
	}
	return one;
}

NVW_CUDA_INLINE uint4 curand4(curandStatePhilox4_32_10_t *state)
{
	const unsigned a = curand(state), b = curand(state), c = curand(state);

	return make_uint4(a, b, c, curand(state));
}

/* Above 0, up to 1. */
template <class State> NVW_CUDA_INLINE float curand_uniform(State *state)
{
	return (float)curand(state) * 0x1p-32f + 0x1p-33f;
}

template <class State> NVW_CUDA_INLINE double curand_uniform_double(State *state)
{
	const unsigned x = curand(state), y = curand(state);

	return (double)(x ^ (unsigned long long)y << 21) * 0x1p-53 + 0x1p-54;
}

NVW_CUDA_INLINE float4 curand_uniform4(curandStatePhilox4_32_10_t *state)
{
	const float a = curand_uniform(state), b = curand_uniform(state), c = curand_uniform(state);

	return make_float4(a, b, c, curand_uniform(state));
}

/* Box and Muller's. */
template <class State> NVW_CUDA_INLINE float2 curand_normal2(State *state)
{
	const float u = curand_uniform(state);
	const float angle = (float)curand(state) * (0x1p-32f * 6.2831855f) + 0x1p-33f * 6.2831855f;
	const float length = sqrtf(-2.0f * logf(u));

	return make_float2(length * sinf(angle), length * cosf(angle));
}

NVW_CUDA_INLINE float4 curand_normal4(curandStatePhilox4_32_10_t *state)
{
	const float2 a = curand_normal2(state), b = curand_normal2(state);

	return make_float4(a.x, a.y, b.x, b.y);
}

template <class State> NVW_CUDA_INLINE double2 curand_normal2_double(State *state)
{
	const double u = curand_uniform_double(state),
		     angle = curand_uniform_double(state) * 2 * 3.14159265358979323846;
	const double length = sqrt(-2.0 * log(u));

	return make_double2(length * sin(angle), length * cos(angle));
}

template <class State> NVW_CUDA_INLINE float curand_normal(State *state)
{
	if (state->boxmuller_flag) {
		state->boxmuller_flag = 0;
		return state->boxmuller_extra;
	}
	const float2 both = curand_normal2(state);

	state->boxmuller_extra = both.y;
	state->boxmuller_flag = 1;
	return both.x;
}

template <class State> NVW_CUDA_INLINE double curand_normal_double(State *state)
{
	if (state->boxmuller_flag_double) {
		state->boxmuller_flag_double = 0;
		return state->boxmuller_extra_double;
	}
	const double2 both = curand_normal2_double(state);

	state->boxmuller_extra_double = both.y;
	state->boxmuller_flag_double = 1;
	return both.x;
}

template <class State> NVW_CUDA_INLINE float curand_log_normal(State *state, float mean, float deviation)
{
	return expf(mean + deviation * curand_normal(state));
}

#endif
#endif
