/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of cuda_macros.c, as CUDA: PROGRAM KERNEL LAUNCHES prints nanoseconds per work-item memory operation, of
 * user time and of processor time, and how many operations there were. Kernels: saxpy, sum, hash.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#include "cuda_work.h"

__global__ void saxpy(const float *x, float *y)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = 2 * x[i] + y[i];
}

__global__ void sum(const float *x, float *y)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	float total = 0;

	for (unsigned k = 0; k < SUM_VALUES; k++) {
		total += x[k * WORK_ITEMS + i];
	}
	y[i] = total;
}

__global__ void hash(unsigned long long *table, unsigned round)
{
	const unsigned long long key = work_key(blockIdx.x * blockDim.x + threadIdx.x, round);
	unsigned at = (unsigned)work_hash(key);

	while (atomicCAS(&table[at], 0ull, key) != 0) {
		at = (at + 1) % HASH_SLOTS;
	}
}

/* Launches a kernel so many times; returns how many operations there were. */
static uint64_t run_saxpy(unsigned launches, struct work_time *begin)
{
	float *x, *y;

	cudaMalloc((void **)&x, WORK_ITEMS * sizeof *x);
	cudaMalloc((void **)&y, WORK_ITEMS * sizeof *y);
	*begin = work_time();
	for (unsigned i = 0; i < launches; i++) {
		saxpy<<<WORK_ITEMS / GROUP, GROUP>>>(x, y);
	}
	return 3 * (uint64_t)WORK_ITEMS * launches;
}

static uint64_t run_sum(unsigned launches, struct work_time *begin)
{
	float *x, *y;

	cudaMalloc((void **)&x, SUM_VALUES * WORK_ITEMS * sizeof *x);
	cudaMalloc((void **)&y, WORK_ITEMS * sizeof *y);
	*begin = work_time();
	for (unsigned i = 0; i < launches; i++) {
		sum<<<WORK_ITEMS / GROUP, GROUP>>>(x, y);
	}
	return (SUM_VALUES + 1) * (uint64_t)WORK_ITEMS * launches;
}

static uint64_t run_hash(unsigned launches, struct work_time *begin, struct work_time *end)
{
	unsigned long long *const copy = (unsigned long long *)calloc(HASH_SLOTS, sizeof *copy), *table;
	uint64_t probes;

	cudaMalloc((void **)&table, HASH_SLOTS * sizeof *table);
	cudaMemset(table, 0, HASH_SLOTS * sizeof *table);
	*begin = work_time();
	for (unsigned i = 0; i < launches; i++) {
		hash<<<WORK_ITEMS / GROUP, GROUP>>>(table, i);
	}
	*end = work_time();
	cudaMemcpy(copy, table, HASH_SLOTS * sizeof *copy, cudaMemcpyDeviceToHost);
	probes = work_probes(copy);
	free(copy);
	return probes;
}

int main(int argc, char **argv)
{
	const char *const kernel = argc == 3 ? argv[1] : "";
	const unsigned launches = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	struct work_time begin, end;
	uint64_t operations;

	if (!strcmp(kernel, "saxpy")) {
		operations = run_saxpy(launches, &begin);
		end = work_time();
	} else if (!strcmp(kernel, "sum")) {
		operations = run_sum(launches, &begin);
		end = work_time();
	} else if (!strcmp(kernel, "hash") && launches <= HASH_ROUNDS) {
		operations = run_hash(launches, &begin, &end);
	} else {
		fprintf(stderr, "usage: cuda_sources saxpy|sum|hash LAUNCHES (hash: at most %d)\n",
			HASH_ROUNDS);
		return 2;
	}
	if (cudaDeviceSynchronize() != cudaSuccess) {
		return 1;
	}
	work_print(begin, end, operations);
	return 0;
}
