/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only pseudo-random generator of the project: splitmix64. It is small, seedable, the same on every host,
 * and not for secrets.
 */
#ifndef NVW_RANDOM_H
#define NVW_RANDOM_H

#include <stdint.h>

struct nvw_random {
	uint64_t state;
};

static inline uint64_t nvw_mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static inline uint64_t nvw_random_u64(struct nvw_random *r)
{
	r->state += 0x9e3779b97f4a7c15u;
	return nvw_mix64(r->state);
}

/* Uniform in [0, bound), bound > 0 (multiply-shift: the bias is below 2^-32 for bounds below 2^32). */
static inline uint64_t nvw_random_below(struct nvw_random *r, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)nvw_random_u64(r) * bound) >> 64);
}

/* Uniform in [0, 1). */
static inline double nvw_random_real(struct nvw_random *r)
{
	return (double)(nvw_random_u64(r) >> 11) * 0x1.0p-53;
}

#endif
