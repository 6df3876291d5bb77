// SPDX-License-Identifier: BSD-3-Clause
// A list in a file, to which work-items push nodes by atomicCAS: a node is durable before the head that names it, or, with "unordered", it may not be.
#include <fcntl.h>
#include <nvw_persist.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NODES = 8, LINE = 8 };

struct list {
	unsigned long long head, pad[LINE - 1]; // a node's number, from 1
	unsigned long long node[NODES][LINE];   // value, next
};

static __device__ bool set_head(list *l, unsigned long long from, unsigned long long to)
{
	return atomicCAS(&l->head, from, to) == from; // publish
}

static __device__ void push(list *l, unsigned i, bool ordered)
{
	unsigned long long head;

	l->node[i][0] = 100 + i;
	do {
		head = *(volatile unsigned long long *)&l->head;
		l->node[i][1] = head;
		if (ordered) {
			nvw_persist_barrier();
		}
	} while (!set_head(l, head, i + 1));
	nvw_persist_barrier();
}

__global__ void pushes(list *l, bool ordered)
{
	push(l, blockIdx.x, ordered);
}

static int check(const list *l)
{
	unsigned n = 0;

	for (unsigned long long i = l->head; i; i = l->node[i - 1][1]) {
		if (n++ == NODES || i > NODES || l->node[i - 1][0] != 99 + i) {
			printf("node %llu is in the list and not whole\n", i);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const int fd = open(argv[2], O_RDWR | O_CREAT, 0666);

	if (argc < 3 || fd < 0 || ftruncate(fd, sizeof(list))) {
		return 2;
	}
	list *const l = (list *)mmap(nullptr, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (!strcmp(argv[1], "check")) {
		return check(l);
	}
	cudaHostRegister(l, sizeof *l, cudaHostRegisterMapped);
	pushes<<<NODES, 1>>>(l, strcmp(argv[1], "unordered") != 0);
	return cudaDeviceSynchronize() != cudaSuccess;
}
