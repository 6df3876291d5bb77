// SPDX-License-Identifier: BSD-3-Clause
// memory copies: 4,000 allocations, each copied to and from. memory pitched: a kernel that stores values and a mark to memory by
// cudaMallocPitch(), without a fence. memory check FILE: whether such a file has all values if it has the mark. memory beside: kernels
// that store behind an allocation while another thread makes others.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

enum { COPIES = 4000, VALUES = 64, MISTAKES = 20 };

__global__ void store(int *values, int *mark)
{
	values[threadIdx.x] = 1 + threadIdx.x; // line 14
	__syncthreads();
	if (threadIdx.x == 0) {
		*mark = 1; // line 17
	}
}

static int copies()
{
	static int *blocks[COPIES];
	int wrong = 0;

	for (int i = 0; i < COPIES; i++) {
		cudaMalloc(&blocks[i], sizeof(int));
		cudaMemcpy(blocks[i], &i, sizeof i, cudaMemcpyHostToDevice);
	}
	for (int i = 0; i < COPIES; i++) {
		int value;

		cudaMemcpy(&value, blocks[i], sizeof value, cudaMemcpyDeviceToHost);
		wrong += value != i;
		cudaFree(blocks[i]);
	}
	printf("%d wrong\n", wrong);
	return 0;
}

static int pitched()
{
	int *values, *mark;
	size_t pitch;

	if (cudaMallocPitch(&values, &pitch, VALUES * sizeof(int), 1) || cudaMallocPitch(&mark, &pitch, sizeof(int), 1)) {
		printf("%s\n", cudaGetErrorString(cudaGetLastError()));
		return 1;
	}
	store<<<1, VALUES>>>(values, mark);
	int last = 0;

	cudaMemcpy(&last, values + VALUES - 1, sizeof last, cudaMemcpyDeviceToHost);
	cudaFree(values);
	cudaFree(mark);
	printf("%d\n", last);
	return 0;
}

// Each allocation has begun at a page.
static int check(const char *path)
{
	int page[1024], mark = 0;
	FILE *const f = fopen(path, "rb");

	memset(page, 0, sizeof page);
	if (!f || fread(page, sizeof page, 1, f) != 1 || fread(&mark, sizeof mark, 1, f) != 1) {
		return 0; // it has not begun
	}
	fclose(f);
	for (int i = 0; i < VALUES; i++) {
		if (mark && page[i] != 1 + i) {
			printf("it is marked, and value %d is %d\n", i, page[i]);
			return 1;
		}
	}
	return 0;
}

// The allocation comes last in the list, which the other thread moves up and down.
static int beside()
{
	static int *blocks[COPIES], *last;
	std::atomic<bool> done(false);

	for (int i = 0; i < COPIES; i++) {
		cudaMalloc(&blocks[i], sizeof(int));
	}
	cudaMalloc(&last, VALUES * sizeof(int));
	std::thread other([&] {
		while (!done) {
			cudaFree(blocks[0]);
			cudaMalloc(&blocks[0], sizeof(int));
		}
	});
	for (int i = 0; i < MISTAKES; i++) {
		store<<<1, 1>>>(last + VALUES, last);
		cudaDeviceReset();
	}
	done = true;
	other.join();
	return 0;
}

int main(int argc, char **argv)
{
	return argc == 3 ? check(argv[2]) :
	       !strcmp(argv[1], "copies") ? copies() :
	       !strcmp(argv[1], "beside") ? beside() :
					    pitched();
}
