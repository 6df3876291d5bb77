// SPDX-License-Identifier: BSD-3-Clause
// A hash table in a file, into which a kernel inserts 32 keys at a time: values first, then keys, then their number.
//
//	hash_table insert POOL BATCHES [BUG]     BUG: unordered (a key is not ordered behind its value), or
//	                                         narrow (only the work-item that stores the number persists its key first)
//	hash_table check POOL                    every key has its value, and every counted key is found
#include <fcntl.h>
#include <nvw_persist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long long word;

enum { BATCH = 32, SLOTS = 256 };
enum bug { NONE, UNORDERED, NARROW };

struct table {
	word count;
	word padding[7]; // what follows has lines of its own
	word keys[SLOTS]; // 0: free
	word values[SLOTS];
};

static __host__ __device__ word key_of(word number)
{
	return (number + 1) * 0x9e3779b97f4a7c15;
}

static __host__ __device__ word value_of(word key)
{
	return key ^ key >> 17 ^ 5;
}

static __host__ __device__ unsigned slot_of(word key)
{
	return (unsigned)(key >> 40) % SLOTS;
}

// A slot of its own; who has which need not outlive the program.
__device__ unsigned claim(unsigned *taken, word key)
{
	unsigned at = slot_of(key);

	while (atomicExch(&taken[at], 1u)) {
		at = (at + 1) % SLOTS;
	}
	return at;
}

__global__ void insert(table *t, unsigned *taken, bug planted)
{
	const word key = key_of(t->count + threadIdx.x);
	const unsigned at = claim(taken, key);

	t->values[at] = value_of(key);
	if (planted != UNORDERED) {
		nvw_persist_barrier();
	}
	t->keys[at] = key;
	if (planted == NARROW) {
		__syncthreads();
		if (threadIdx.x == 0) {
			nvw_persist_barrier();
		}
	} else {
		nvw_persist_barrier_block();
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		t->count += BATCH;
	}
	nvw_persist_barrier_block();
}

static bool has(const table *t, word key)
{
	unsigned at = slot_of(key);

	for (unsigned i = 0; i < SLOTS && t->keys[at] && t->keys[at] != key; i++) {
		at = (at + 1) % SLOTS;
	}
	return t->keys[at] == key;
}

static int check(const table *t)
{
	for (unsigned at = 0; at < SLOTS; at++) {
		if (t->keys[at] && t->values[at] != value_of(t->keys[at])) {
			printf("the key of slot %u does not have its value\n", at);
			return 1;
		}
	}
	for (word i = 0; i < t->count; i++) {
		if (!has(t, key_of(i))) {
			printf("key %llu of %llu is not found\n", i, t->count);
			return 1;
		}
	}
	printf("%llu keys\n", t->count);
	return 0;
}

static table *open_table(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT, 0666);

	if (fd < 0 || ftruncate(fd, sizeof(table))) {
		perror(path);
		exit(2);
	}
	void *const p = mmap(nullptr, sizeof(table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (p == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	return (table *)p;
}

static int insert_all(table *t, int batches, bug planted)
{
	unsigned *taken, now[SLOTS], room = 0;

	for (unsigned i = 0; i < SLOTS; i++) {
		now[i] = t->keys[i] != 0;
		room += !now[i];
	}
	if (batches < 0 || (word)batches * BATCH > room) {
		fprintf(stderr, "hash_table: the table has room for %u more keys\n", room);
		return 2;
	}
	cudaMalloc(&taken, sizeof now);
	cudaMemcpy(taken, now, sizeof now, cudaMemcpyHostToDevice);
	cudaHostRegister(t, sizeof *t, cudaHostRegisterMapped);
	for (int i = 0; i < batches; i++) {
		insert<<<1, BATCH>>>(t, taken, planted);
	}
	return cudaDeviceSynchronize() != cudaSuccess;
}

int main(int argc, char **argv)
{
	const bool inserts = argc >= 4 && !strcmp(argv[1], "insert");
	const char *const name = argc > 4 ? argv[4] : "";

	if (!inserts && (argc != 3 || strcmp(argv[1], "check"))) {
		fprintf(stderr, "usage: hash_table insert POOL BATCHES [unordered|narrow], or hash_table check POOL\n");
		return 2;
	}
	table *const t = open_table(argv[2]);

	return inserts ? insert_all(t, atoi(argv[3]), !strcmp(name, "unordered") ? UNORDERED : !strcmp(name, "narrow") ? NARROW : NONE) :
			 check(t);
}
