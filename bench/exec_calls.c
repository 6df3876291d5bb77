/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What calls of libpmem take, as the program sees it: each timed by itself with the time-stamp counter, the
 * counter's own cost taken off. bench/exec.sh runs it with and without nvwave exec.
 *
 *	exec_calls FILE            one line: p50 of a persist of a line, of a copy of 256 bytes, of a step of
 *	                           a pointer chase (a node of 64 bytes copied out of the pool) through a set
 *	                           that caches hold, and through one that they do not, of a drain of nothing,
 *	                           in ns
 *	exec_calls FILE loop N     N times a persist: mean of the CPU time, in ns
 */
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POOL = 64 << 20, CALLS = 20001, NODE = 64, SMALL = 1024, LARGE = POOL / NODE };

static uint64_t took[CALLS];
static double ticks_per_ns;
static uint64_t empty; /* ticks of a measurement of nothing */

static uint64_t ticks(void)
{
	unsigned aux;

	return __builtin_ia32_rdtscp(&aux);
}

/* Ticks of a call. */
#define TICKS_OF(call)                       \
	({                                   \
		const uint64_t t_ = ticks(); \
                                             \
		call;                        \
		ticks() - t_;                \
	})

static int by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double median(void)
{
	qsort(took, CALLS, sizeof *took, by_size);
	if (took[CALLS / 2] <= empty) {
		return 0;
	}
	return (double)(took[CALLS / 2] - empty) / ticks_per_ns;
}

static void calibrate(void)
{
	struct timespec a, b;
	const struct timespec pause = {.tv_nsec = 50000000};

	clock_gettime(CLOCK_MONOTONIC_RAW, &a);
	const uint64_t began = ticks();

	nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC_RAW, &b);
	ticks_per_ns = (double)(ticks() - began) /
		       ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec));
	for (unsigned i = 0; i < CALLS; i++) {
		took[i] = TICKS_OF((void)0);
	}
	qsort(took, CALLS, sizeof *took, by_size);
	empty = took[CALLS / 2];
}

static double persists(char *pool)
{
	for (size_t i = 0; i < CALLS; i++) {
		char *const at = pool + i % 1024 * 64;

		*(volatile size_t *)at = i;
		took[i] = TICKS_OF(pmem_persist(at, 8));
	}
	return median();
}

static double drains(void)
{
	for (unsigned i = 0; i < CALLS; i++) {
		took[i] = TICKS_OF(pmem_drain());
	}
	return median();
}

static double copies(char *pool)
{
	static const char from[256] = {7};

	for (size_t i = 0; i < CALLS; i++) {
		took[i] = TICKS_OF(pmem_memcpy_persist(pool + i % 1024 * 256, from, sizeof from));
	}
	return median();
}

/* A cycle through so many nodes in a random order; each names the next. */
static double chase(char *pool, uint32_t nodes)
{
	static uint32_t order[LARGE];
	uint64_t random = 88172645463325252u, node[NODE / 8];
	volatile size_t node_bytes = NODE; /* or the copy becomes loads of the compiler's */

	for (uint32_t i = 0; i < nodes; i++) {
		order[i] = i;
	}
	for (uint32_t i = nodes - 1; i > 0; i--) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		const uint32_t k = (uint32_t)(random % i), swapped = order[i];

		order[i] = order[k];
		order[k] = swapped;
	}
	for (uint32_t i = 0; i < nodes; i++) {
		*(uint64_t *)(pool + (size_t)i * NODE) = order[i];
	}
	uint64_t at = 0;

	for (unsigned i = 0; i < CALLS; i++) {
		took[i] = TICKS_OF(memcpy(node, pool + at * NODE, node_bytes));
		at = node[0];
	}
	return median();
}

static void loop(char *pool, unsigned long calls)
{
	const clock_t began = clock();

	for (unsigned long i = 0; i < calls; i++) {
		pool[i % 1024 * 64]++;
		pmem_persist(pool + i % 1024 * 64, 8);
	}
	printf("%.1f\n", 1e9 / CLOCKS_PER_SEC * (double)(clock() - began) / (double)calls);
}

int main(int argc, char **argv)
{
	size_t bytes;
	char *pool = NULL;

	if (argc > 1) {
		pool = pmem_map_file(argv[1], POOL, PMEM_FILE_CREATE, 0600, &bytes, NULL);
	}
	if (pool == NULL) {
		fprintf(stderr, "exec_calls FILE [loop N]\n");
		return 2;
	}
	if (argc > 3) {
		loop(pool, strtoul(argv[3], NULL, 0));
		return 0;
	}
	memset(pool, 1, bytes); /* no page fault is timed */
	calibrate();
	const double persist = persists(pool), drain = drains(), copy = copies(pool);
	const double small = chase(pool, SMALL), large = chase(pool, LARGE);

	printf("%.0f %.0f %.0f %.0f %.0f\n", persist, copy, small, large, drain);
	pmem_unmap(pool, bytes);
	return 0;
}
