// SPDX-License-Identifier: BSD-3-Clause
// A queue in a file, a ring of 64 entries. A kernel sends 32 at a time: entries first, then the tail. Another one receives 32: what it
// received first, then the head, which frees the entries for those that come next.
//
//	queue pass POOL BATCHES [BUG]     BUG: unordered (the tail is not ordered behind the entries),
//	                                  narrow (only the work-item that stores the tail persists its entry first), or
//	                                  reuse (entries are overwritten although the head that frees them may be lost)
//	queue check POOL                  entries between head and tail are whole, and all before the head are received
#include <fcntl.h>
#include <nvw_persist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long long word;

enum { BATCH = 32, ENTRIES = 64, ROOM = 1024 };
enum bug { NONE, UNORDERED, NARROW, REUSE };

struct queue {
	word head, head_s_line[7]; // lines of their own
	word tail, tail_s_line[7];
	word ring[ENTRIES];
	word received[ROOM];
};

static __host__ __device__ word value_of(word number)
{
	return (number + 1) * 0x9e3779b97f4a7c15;
}

__global__ void send(queue *q, bug planted)
{
	const word number = q->tail + threadIdx.x;

	q->ring[number % ENTRIES] = value_of(number);
	if (planted == NONE || planted == REUSE) {
		nvw_persist_barrier_block();
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		if (planted == NARROW) {
			nvw_persist_barrier();
		}
		q->tail += BATCH;
		nvw_persist_barrier();
	}
}

__global__ void receive(queue *q, bug planted)
{
	const word number = q->head + threadIdx.x;

	q->received[number] = q->ring[number % ENTRIES];
	nvw_persist_barrier_block();
	__syncthreads();
	if (threadIdx.x == 0) {
		q->head += BATCH;
		if (planted != REUSE) {
			nvw_persist_barrier();
		}
	}
}

static int check(const queue *q)
{
	if (q->tail < q->head || q->tail - q->head > ENTRIES || q->tail > ROOM) {
		printf("head %llu and tail %llu are not those of a queue of %d entries\n", q->head, q->tail, ENTRIES);
		return 1;
	}
	for (word i = 0; i < q->tail; i++) {
		if ((i < q->head ? q->received[i] : q->ring[i % ENTRIES]) != value_of(i)) {
			printf("entry %llu %s (head %llu, tail %llu)\n", i, i < q->head ? "is not received" : "is not whole", q->head, q->tail);
			return 1;
		}
	}
	printf("%llu received, %llu waiting\n", q->head, q->tail - q->head);
	return 0;
}

static queue *open_queue(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT, 0666);

	if (fd < 0 || ftruncate(fd, sizeof(queue))) {
		perror(path);
		exit(2);
	}
	void *const q = mmap(nullptr, sizeof(queue), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (q == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	return (queue *)q;
}

// Sends while there is room, so that the ring is full when its entries are used again.
static int pass(queue *q, int batches, bug planted)
{
	if (batches < 0 || (word)batches * BATCH > ROOM - q->tail) {
		fprintf(stderr, "queue: there is room for %llu more entries\n", ROOM - q->tail);
		return 2;
	}
	cudaHostRegister(q, sizeof *q, cudaHostRegisterMapped);
	while (batches > 0 || q->head < q->tail) {
		if (batches > 0 && q->tail - q->head < ENTRIES) {
			send<<<1, BATCH>>>(q, planted);
			batches--;
		} else {
			receive<<<1, BATCH>>>(q, planted);
		}
		if (cudaDeviceSynchronize() != cudaSuccess) {
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const bool passes = argc >= 4 && !strcmp(argv[1], "pass");
	const char *const name = argc > 4 ? argv[4] : "";

	if (!passes && (argc != 3 || strcmp(argv[1], "check"))) {
		fprintf(stderr, "usage: queue pass POOL BATCHES [unordered|narrow|reuse], or queue check POOL\n");
		return 2;
	}
	queue *const q = open_queue(argv[2]);

	return !passes ? check(q) :
			 pass(q, atoi(argv[3]),
				 !strcmp(name, "unordered") ? UNORDERED : !strcmp(name, "narrow") ? NARROW : !strcmp(name, "reuse") ? REUSE : NONE);
}
