// SPDX-License-Identifier: BSD-3-Clause
// Drives gpKVS of GPM's artifact, a published key-value store in persistent memory.
//
//	gpkvs insert ROUND      16 pairs; the pairs of round 0 make the table
//	gpkvs check             after the program's recovery, every key has its value, and those of round 0 are there
//
//	nvwave crash --exec='env NVWAVE_GPM_POOL={} ./gpkvs insert 1' --image=pool \
//		--check='env NVWAVE_GPM_POOL={} ./gpkvs check' --machine=gpm22 --states=400
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "gpu_hash.h"
#include "libgpm.cuh"

enum { PAIRS = 16, PER_BLOCK = PAIRS / INSERT_BLOCK };

static loc_t value_of(sign_t key)
{
	return 1000003UL * key;
}

static void insert(bucket_t *table, int round)
{
	ielem_t *pairs, *all[INSERT_BLOCK], **blocks;
	int counts[INSERT_BLOCK], *sizes;
	double times[3] = {};

	cudaMallocManaged(&pairs, PAIRS * sizeof *pairs);
	cudaMalloc(&blocks, sizeof all);
	cudaMalloc(&sizes, sizeof counts);
	for (int i = 0; i < PAIRS; i++) { // a block of the kernel has a part of the table
		pairs[i].sig = 100 * (round + 1) + i;
		pairs[i].hash = i / PER_BLOCK * (BUC_NUM / INSERT_BLOCK) + i % PER_BLOCK;
		pairs[i].loc = value_of(pairs[i].sig);
	}
	for (int b = 0; b < INSERT_BLOCK; b++) {
		all[b] = pairs + b * PER_BLOCK;
		counts[b] = PER_BLOCK;
	}
	cudaMemcpy(blocks, all, sizeof all, cudaMemcpyHostToDevice);
	cudaMemcpy(sizes, counts, sizeof counts, cudaMemcpyHostToDevice);
	gpu_hash_insert(table, blocks, sizes, INSERT_BLOCK, PAIRS, 0, times[0], times[1], times[2]);
	cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
	const bool first = argc > 2 && atoi(argv[2]) == 0;
	size_t size = first ? HT_SIZE : 0;
	int old = 0, out = dup(1);

	freopen("/dev/null", "w", stdout);
	bucket_t *table = (bucket_t *)gpm_map_file("./imkv.out", size, first);
	if (strcmp(argv[1], "insert") == 0) {
		insert(table, atoi(argv[2]));
		return 0;
	}
	if (gpmlog_open("IMKV_insert") != nullptr) { // the crash may have come before there was a log
		recover_insert(table);
	}
	for (int b = 0; b < BUC_NUM; b++) {
		for (int i = 0; i < ELEM_NUM; i++) {
			old += table[b].sig[i] != 0 && table[b].sig[i] < 200;
			if (table[b].sig[i] != 0 && table[b].loc[i] != value_of(table[b].sig[i])) {
				dprintf(out, "a key is left without its value\n");
				return 1;
			}
		}
	}
	dprintf(out, old == PAIRS ? "right\n" : "keys are lost\n");
	return old != PAIRS;
}
