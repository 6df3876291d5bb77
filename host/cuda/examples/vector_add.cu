// SPDX-License-Identifier: BSD-3-Clause
// Vector addition, as it is often the first CUDA program.
#include <stdio.h>
#include <stdlib.h>

__global__ void add(const float *a, const float *b, float *c, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		c[i] = a[i] + b[i];
	}
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 10000;
	float *a, *b, *c;

	cudaMallocManaged(&a, n * sizeof(float));
	cudaMallocManaged(&b, n * sizeof(float));
	cudaMallocManaged(&c, n * sizeof(float));
	for (int i = 0; i < n; i++) {
		a[i] = i;
		b[i] = 2 * i;
	}
	add<<<(n + 255) / 256, 256>>>(a, b, c, n);
	cudaDeviceSynchronize();
	for (int i = 0; i < n; i++) {
		if (c[i] != 3.0f * i) {
			printf("wrong at %d\n", i);
			return 1;
		}
	}
	printf("right\n");
	return 0;
}
