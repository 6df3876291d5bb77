// SPDX-License-Identifier: BSD-3-Clause
// Matrix multiplication by tiles in shared memory.
#include <stdio.h>
#include <stdlib.h>

#define TILE 16

__global__ void multiply(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < n; t += TILE) {
		as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++) {
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		}
		__syncthreads();
	}
	c[row * n + column] = sum;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) / TILE * TILE : 64;
	float *a, *b, *c;

	cudaMallocManaged(&a, n * n * sizeof(float));
	cudaMallocManaged(&b, n * n * sizeof(float));
	cudaMallocManaged(&c, n * n * sizeof(float));
	for (int i = 0; i < n * n; i++) {
		a[i] = i % 5;
		b[i] = i % 3;
	}
	multiply<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(a, b, c, n);
	cudaDeviceSynchronize();
	for (int i = 0; i < n * n; i++) {
		float right = 0;

		for (int k = 0; k < n; k++) {
			right += a[i / n * n + k] * b[k * n + i % n];
		}
		if (c[i] != right) {
			printf("wrong at %d, %d\n", i / n, i % n);
			return 1;
		}
	}
	printf("right\n");
	return 0;
}
