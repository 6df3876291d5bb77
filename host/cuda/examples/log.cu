// SPDX-License-Identifier: BSD-3-Clause
// A log in a file that a kernel appends to, 32 records at a time: records first, then their number.
//
//	log append POOL BATCHES [HOW]     HOW: fence (by fences of the system, for platforms where these persist), or a bug:
//	                                  unordered (the number is not ordered behind the records), or
//	                                  narrow (only the work-item that stores the number persists its record first)
//	log check POOL                    every counted record is whole
#include <fcntl.h>
#include <nvw_persist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long long word;

enum { BATCH = 32, ROOM = 1024 };
enum how { BARRIERS, FENCES, UNORDERED, NARROW };

struct record {
	word value, check;
};
struct pool {
	word count;
	word padding[7]; // the records have lines of their own
	record records[ROOM];
};

static __host__ __device__ word check_of(word value)
{
	return value * 0x9e3779b97f4a7c15 + 1;
}

__device__ void persist_records(how way)
{
	switch (way) {
	case BARRIERS:
		nvw_persist_barrier_block();
		break;
	case FENCES:
		__threadfence_system();
		break;
	case NARROW:
		__syncthreads();
		if (threadIdx.x == 0) {
			nvw_persist_barrier();
		}
		break;
	default:
		break;
	}
	__syncthreads();
}

__global__ void append(pool *p, how way)
{
	const word at = p->count + threadIdx.x;

	p->records[at].value = at * at + 7;
	p->records[at].check = check_of(at * at + 7);
	persist_records(way);
	if (threadIdx.x == 0) {
		p->count += BATCH;
	}
	if (way == FENCES) {
		__threadfence_system();
	} else {
		nvw_persist_barrier_block();
	}
}

static int check(const pool *p)
{
	if (p->count > ROOM || p->count % BATCH) {
		printf("there are %llu records: expected a multiple of %d, at most %d\n", p->count, BATCH, ROOM);
		return 1;
	}
	for (word i = 0; i < p->count; i++) {
		if (p->records[i].value != i * i + 7 || p->records[i].check != check_of(p->records[i].value)) {
			printf("record %llu of %llu is not whole\n", i, p->count);
			return 1;
		}
	}
	printf("%llu records\n", p->count);
	return 0;
}

static pool *open_pool(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT, 0666);

	if (fd < 0 || ftruncate(fd, sizeof(pool))) {
		perror(path);
		exit(2);
	}
	void *const p = mmap(nullptr, sizeof(pool), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (p == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	return (pool *)p;
}

static how how_of(const char *name)
{
	return !strcmp(name, "fence") ? FENCES : !strcmp(name, "unordered") ? UNORDERED : !strcmp(name, "narrow") ? NARROW : BARRIERS;
}

int main(int argc, char **argv)
{
	const bool appends = argc >= 4 && !strcmp(argv[1], "append");

	if (!appends && (argc != 3 || strcmp(argv[1], "check"))) {
		fprintf(stderr, "usage: log append POOL BATCHES [fence|unordered|narrow], or log check POOL\n");
		return 2;
	}
	pool *const p = open_pool(argv[2]);

	if (!appends) {
		return check(p);
	}
	cudaHostRegister(p, sizeof *p, cudaHostRegisterMapped);
	for (int i = 0; i < atoi(argv[3]); i++) {
		append<<<1, BATCH>>>(p, how_of(argc > 4 ? argv[4] : ""));
	}
	return cudaDeviceSynchronize() != cudaSuccess;
}
