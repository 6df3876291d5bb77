// SPDX-License-Identifier: BSD-3-Clause
// A sum in HIP: by a tree in dynamic shared memory per block, then by shuffles, then by an atomic.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

template <class T> __global__ void sum(const int *in, int n, T *out)
{
	HIP_DYNAMIC_SHARED(int, part)
	const unsigned me = hipThreadIdx_x;
	int own = 0;

	for (int i = hipBlockIdx_x * hipBlockDim_x + me; i < n; i += hipGridDim_x * hipBlockDim_x) {
		own += in[i];
	}
	part[me] = own;
	__syncthreads();
	for (unsigned half = hipBlockDim_x / 2; half >= warpSize; half /= 2) {
		if (me < half) {
			part[me] += part[me + half];
		}
		__syncthreads();
	}
	if (me < warpSize) {
		int rest = part[me];

		for (int by = warpSize / 2; by; by /= 2) {
			rest += __shfl_down(rest, by);
		}
		if (me == 0) {
			atomicAdd(out, (T)rest);
		}
	}
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 100000;
	std::vector<int> host(n);
	unsigned long long *out, found = 0, right = 0;
	int *in;
	hipStream_t stream;

	for (int i = 0; i < n; i++) {
		host[i] = i % 17;
		right += i % 17;
	}
	if (hipMalloc(&in, n * sizeof(int)) != hipSuccess || hipMalloc(&out, sizeof *out) != hipSuccess ||
		hipStreamCreate(&stream) != hipSuccess) {
		return 2;
	}
	hipMemcpyAsync(in, host.data(), n * sizeof(int), hipMemcpyHostToDevice, stream);
	hipMemsetAsync(out, 0, sizeof *out, stream);
	hipLaunchKernelGGL(HIP_KERNEL_NAME(sum<unsigned long long>), dim3(16), dim3(128), 128 * sizeof(int), stream, in, n, out);
	hipMemcpyAsync(&found, out, sizeof found, hipMemcpyDeviceToHost, stream);
	if (hipStreamSynchronize(stream) != hipSuccess) {
		return 2;
	}
	printf("%s\n", found == right ? "right" : "wrong");
	return found != right;
}
