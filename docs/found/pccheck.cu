// SPDX-License-Identifier: BSD-3-Clause
// Drives the GPM checkpoints of PCcheck, published code.
//
//	pccheck run FILE N          N checkpoints of an array, which holds the checkpoint's number in each element
//	pccheck check FILE          the checkpoint that the index names is whole, and not older than the last acknowledged one
//	pccheck size FILE           the header says how large a checkpoint is
//
//	nvwave crash --exec='./pccheck run pool 3' --image=pool \
//		--check='./pccheck check {}' --states=500
//		likewise with `pccheck size {}`
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <nvw/ack.h>

#include "libgpmcp.cuh"

enum { FLOATS = 64, BYTES = FLOATS * sizeof(float), PAGE = 4096 };
static const size_t area_size = 512; // what gpmcp_create() makes of one element of 256 bytes

__global__ void fill(float *array, float value)
{
	array[threadIdx.x] = value;
}

// Where gpmcp_create() puts the index and the two areas, the second one on the next page.
static const char *fault(const char *file, bool of_header)
{
	const char *list = getenv("NVWAVE_ACKNOWLEDGED"),
		   *last = list == nullptr ? nullptr : strchr(list, '-');
	static char content[5 * PAGE];
	FILE *in = fopen(file, "r");
	const float *area;

	if (list == nullptr || *list == 0) {
		return nullptr;
	}
	if (fread(content, 1, sizeof content, in) != sizeof content) {
		return "the file is too short";
	}
	if (of_header) {
		return ((gpmcp_nv *)content)->size == area_size ? nullptr : "the header is lost";
	}
	area = (const float *)(content + (content[PAGE] == 0 ? 2 : 3) * PAGE);
	for (int i = 0; i < FLOATS; i++) {
		if (area[i] != area[0]) {
			return "the checkpoint has parts of two";
		}
	}
	return area[0] < atoi(last == nullptr ? list : last + 1) ? "the acknowledged checkpoint is lost" :
								   nullptr;
}

int main(int argc, char **argv)
{
	const char *found;
	float *array;

	if (strcmp(argv[1], "run") != 0) {
		found = fault(argv[2], strcmp(argv[1], "size") == 0);
		printf("%s\n", found == nullptr ? "right" : found);
		return found != nullptr;
	}
	gpmcp *all = gpmcp_create(argv[2], BYTES, 1, 1);
	cudaMalloc(&array, BYTES);
	gpmcp_register(all, array, BYTES, 0);
	cudaDeviceSynchronize();
	for (int i = 1; i <= atoi(argv[3]); i++) {
		nvw_operation_begins(i, "checkpoint");
		fill<<<1, FLOATS>>>(array, i);
		gpmcp_checkpoint(all, 0);
		nvw_operation_is_durable(i);
	}
	return 0;
}
