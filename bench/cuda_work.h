/* SPDX-License-Identifier: BSD-3-Clause */
/* What cuda_sources.cu and cuda_macros.c have in common: sizes, keys of the hash table, the clock. C and
 * C++. */
#ifndef BENCH_CUDA_WORK_H
#define BENCH_CUDA_WORK_H

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

/* A table that HASH_ROUNDS launches fill to a half. */
enum {
	WORK_ITEMS = 65536,
	GROUP = 256,
	SUM_VALUES = 16,
	HASH_ROUNDS = 32,
	HASH_SLOTS = 2 * HASH_ROUNDS * WORK_ITEMS
};

#ifdef __CUDACC__
#define WORK_BOTH __host__ __device__
#else
#define WORK_BOTH
#endif

/* Each work-item of each launch has another one, never 0. */
WORK_BOTH static inline unsigned long long work_key(unsigned item, unsigned round)
{
	return (unsigned long long)round * WORK_ITEMS + item + 1;
}

WORK_BOTH static inline unsigned long long work_hash(unsigned long long key)
{
	return (key * 0x9e3779b97f4a7c15ull >> 32) % HASH_SLOTS;
}

/* How many slots all insertions together have tried: from each key's first choice to its place. */
static inline uint64_t work_probes(const unsigned long long *table)
{
	uint64_t probes = 0;

	for (unsigned i = 0; i < HASH_SLOTS; i++) {
		if (table[i]) {
			probes += (i - (unsigned)work_hash(table[i])) % HASH_SLOTS + 1;
		}
	}
	return probes;
}

struct work_time {
	double user, system;
};

static inline double work_seconds(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static inline struct work_time work_time(void)
{
	struct rusage usage;
	struct work_time ret;

	getrusage(RUSAGE_SELF, &usage);
	ret.user = work_seconds(usage.ru_utime);
	ret.system = work_seconds(usage.ru_stime);
	return ret;
}

static inline void work_print(struct work_time begin, struct work_time end, uint64_t operations)
{
	const double user = end.user - begin.user, all = user + end.system - begin.system;

	printf("%.2f %.2f %llu\n", 1e9 * user / (double)operations, 1e9 * all / (double)operations,
		(unsigned long long)operations);
}

#endif
