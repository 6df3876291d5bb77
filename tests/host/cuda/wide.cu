// SPDX-License-Identifier: BSD-3-Clause
// Accesses of sizes that are no power of two, or more than 16 bytes: each value is stored in another size than it is loaded in, so both have to be announced.
#include <cstdio>

typedef int eight __attribute__((ext_vector_type(8)));
typedef float three __attribute__((ext_vector_type(3)));
typedef double four __attribute__((ext_vector_type(4)));
struct long_pair {
	long double first, second;
};
enum { BLOCKS = 8, ITEMS = 32 };

__global__ void shared(int *out)
{
	__shared__ __attribute__((aligned(64))) int narrow[ITEMS * 8];
	__shared__ eight wide[ITEMS];
	__shared__ __attribute__((aligned(64))) long_pair pairs[ITEMS];
	const int me = threadIdx.x, other = me ^ 5;

	for (int i = 0; i < 8; i++) {
		narrow[me + ITEMS * i] = me + ITEMS * i + blockIdx.x;
	}
	__syncthreads();
	wide[me] = ((const eight *)narrow)[other] + 1;
	pairs[me].first = me;
	pairs[me].second = pairs[me].first + blockIdx.x;
	__syncthreads();
	int sum = (int)pairs[other].second - other - (int)blockIdx.x;

	for (int i = 0; i < 8; i++) {
		sum += ((const volatile int *)wide)[8 * other + i] * (i + 1);
	}
	out[blockIdx.x * ITEMS + me] = sum;
}

__global__ void global(four *fours, three *threes)
{
	const int me = blockIdx.x * ITEMS + threadIdx.x;

	fours[me ^ 1] = fours[me ^ 1] * 2.0;
	threes[me] = threes[me] + 1.0f;
}
__global__ void narrow(const volatile double *fours, const volatile float *threes, double *sums)
{
	const int me = blockIdx.x * ITEMS + threadIdx.x;

	sums[me] = fours[4 * me] + fours[4 * me + 3] + threes[4 * me + 2]; // 12 bytes of 16
}

int main()
{
	const int n = BLOCKS * ITEMS;
	int *out, wrong = 0;
	double *fours, *sums;
	float *threes;

	cudaMallocManaged(&out, n * sizeof *out);
	cudaMallocManaged(&fours, n * sizeof(four));
	cudaMallocManaged(&threes, n * sizeof(three));
	cudaMallocManaged(&sums, n * sizeof *sums);
	for (int i = 0; i < 4 * n; i++) {
		fours[i] = threes[i] = i;
	}
	shared<<<BLOCKS, ITEMS>>>(out);
	global<<<BLOCKS, ITEMS>>>((four *)fours, (three *)threes);
	narrow<<<BLOCKS, ITEMS>>>(fours, threes, sums);
	cudaDeviceSynchronize();
	for (int i = 0; i < n; i++) {
		int sum = 0;

		for (int j = 0; j < 8; j++) { // of item me, wide of me ^ 5 is narrow of me
			sum += (8 * (i % ITEMS) + j + i / ITEMS + 1) * (j + 1);
		}
		wrong += out[i] != sum;
		wrong += sums[i] != 2 * (8 * i + 3) + 4 * i + 3;
	}
	printf("wrong: %d\n", wrong);
	return 0;
}
