// SPDX-License-Identifier: BSD-3-Clause
// both run POOL [BUG]; both check POOL: host code and a kernel store to one file, in turns, for crash tests of both together.
//
// Host code begins a generation, the kernel fills the data of it, host code commits it: each durable before the next. Bugs: "unflushed" (host code does not flush
// the beginning), "library" (nor that, which a function of the C library stores), "unordered" (the kernel has no persist barrier), "flushed" (nor has it, but host code flushes behind it, which is right), "wild" (the second
// kernel stores outside of all memory).
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <libpmem.h>
#include <nvw_persist.h>

enum { BLOCKS = 2, THREADS = 32, NUMBERS = BLOCKS * THREADS, GENERATIONS = 3 };

struct file {
	unsigned long begun;
	unsigned data[NUMBERS]; // the first ones are in the line of begun
	unsigned long pad[8];
	unsigned long committed;
};

__global__ void fill(file *f, unsigned generation, bool persists, long far)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	f->data[i + far] = generation;
	if (persists) {
		nvw_persist_barrier();
	}
}

static int check(const file *f)
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		if (f->data[i] < f->committed) {
			printf("generation %lu is committed, and number %u is of %u\n", f->committed, i, f->data[i]);
			return 1;
		}
	}
	if (f->committed > f->begun) {
		printf("generation %lu is committed, and %lu has begun\n", f->committed, f->begun);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *const bug = argc > 3 ? argv[3] : "";
	const int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT, 0666) : -1;

	if (fd < 0 || ftruncate(fd, 4096)) {
		return 2;
	}
	file *const f = (file *)mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (!strcmp(argv[1], "check")) {
		return check(f);
	}
	cudaHostRegister(f, sizeof *f, cudaHostRegisterMapped);
	for (unsigned g = 1; g <= GENERATIONS; g++) {
		if (!strcmp(bug, "library")) {
			char number[8];

			snprintf(number, sizeof number, "%u", g);
			sscanf(number, "%lu", &f->begun); // nothing announces this store: it is found by comparison
		} else {
			memcpy(&f->begun, &g, sizeof g);
		}
		if (strcmp(bug, "unflushed") && strcmp(bug, "library")) {
			pmem_persist(&f->begun, sizeof f->begun);
		}
		fill<<<BLOCKS, THREADS>>>(f, g, strcmp(bug, "unordered") && strcmp(bug, "flushed"),
			g == 2 && !strcmp(bug, "wild") ? 1l << 40 : 0);
		if (cudaDeviceSynchronize()) {
			return 3;
		}
		if (!strcmp(bug, "flushed")) {
			pmem_persist(f->data, sizeof f->data);
		}
		const unsigned long committed = g;

		pmem_memcpy_persist(&f->committed, &committed, sizeof committed);
	}
	return 0;
}
