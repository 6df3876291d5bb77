/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of four threads, each in a part of its own of a mapped file, to see what taking turns costs.
 *
 *	exec_threads FILE stores COUNT      stores of 8 bytes, of values that take a dozen instructions
 *	exec_threads FILE persists COUNT    a store, a flush and a fence
 *	exec_threads FILE inserts COUNT     into sorted leaves: moves the greater pairs up (exec_inserts.c)
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "flush.h"

enum { THREADS = 4, WORDS = 1 << 12, LEAF = 32, PAIRS = 14, HEAD = 4 };

static uint64_t count;

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static void *store(void *part)
{
	volatile uint64_t *const word = part;

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t key = mix(i);

		word[key % WORDS] = key;
	}
	return NULL;
}

static void *persist(void *part)
{
	volatile uint64_t *const word = part;

	for (uint64_t i = 0; i < count; i++) {
		word[i % WORDS] = i + 1;
		flush(&word[i % WORDS]);
		fence();
	}
	return NULL;
}

/* The number of pairs is in the first word. */
static void insert(volatile uint64_t *leaf, uint64_t key, uint64_t value)
{
	volatile uint64_t *const pair = leaf + HEAD;
	uint64_t i = leaf[0];

	if (i == PAIRS) {
		i = 0;
		leaf[0] = 0;
	}
	for (; i > 0 && pair[2 * i - 2] > key; i--) {
		pair[2 * i] = pair[2 * i - 2];
		pair[2 * i + 1] = pair[2 * i - 1];
		if ((uintptr_t)&pair[2 * i] % 64 == 0) {
			flush(&pair[2 * i]);
		}
	}
	pair[2 * i + 1] = value;
	pair[2 * i] = key;
	flush(&pair[2 * i]);
	fence();
	leaf[0]++;
	flush(leaf);
	fence();
}

static void *fill(void *part)
{
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t key = mix(i);

		insert((volatile uint64_t *)part + key % (WORDS / LEAF) * LEAF, key, i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*run)(void *part);
	} loops[] = {{"stores", store}, {"persists", persist}, {"inserts", fill}};
	const size_t bytes = THREADS * WORDS * sizeof(uint64_t);
	pthread_t thread[THREADS];
	const int fd = argc > 3 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	unsigned k = 0;

	if (fd < 0 || ftruncate(fd, (off_t)bytes)) {
		fprintf(stderr, "exec_threads FILE stores|persists|inserts COUNT\n");
		return 2;
	}
	while (k < 2 && strcmp(loops[k].name, argv[2]) != 0) {
		k++;
	}
	writes_back = processor_writes_back();
	count = strtoull(argv[3], NULL, 0);
	void *const at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		return 2;
	}
	for (uintptr_t i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, loops[k].run, (uint64_t *)at + i * WORDS)) {
			return 2;
		}
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
	}
	return 0;
}
