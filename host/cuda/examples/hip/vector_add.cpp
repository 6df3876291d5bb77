// SPDX-License-Identifier: BSD-3-Clause
// Vector addition in HIP.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define HIP_CHECK(call)                                                               \
	do {                                                                          \
		const hipError_t error = call;                                        \
		if (error != hipSuccess) {                                            \
			fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error)); \
			exit(2);                                                      \
		}                                                                     \
	} while (0)

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
	std::vector<float> a(n), b(n), c(n);
	float *da, *db, *dc;

	for (int i = 0; i < n; i++) {
		a[i] = i;
		b[i] = 2 * i;
	}
	HIP_CHECK(hipMalloc(&da, n * sizeof(float)));
	HIP_CHECK(hipMalloc(&db, n * sizeof(float)));
	HIP_CHECK(hipMalloc(&dc, n * sizeof(float)));
	HIP_CHECK(hipMemcpy(da, a.data(), n * sizeof(float), hipMemcpyHostToDevice));
	HIP_CHECK(hipMemcpy(db, b.data(), n * sizeof(float), hipMemcpyHostToDevice));
	hipLaunchKernelGGL(add, dim3((n + 255) / 256), dim3(256), 0, 0, da, db, dc, n);
	HIP_CHECK(hipGetLastError());
	HIP_CHECK(hipMemcpy(c.data(), dc, n * sizeof(float), hipMemcpyDeviceToHost));
	HIP_CHECK(hipFree(da));
	HIP_CHECK(hipFree(db));
	HIP_CHECK(hipFree(dc));
	for (int i = 0; i < n; i++) {
		if (c[i] != 3.0f * i) {
			printf("wrong at %d\n", i);
			return 1;
		}
	}
	printf("right\n");
	return 0;
}
