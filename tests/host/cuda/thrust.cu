// SPDX-License-Identifier: BSD-3-Clause
// thrust's algorithms, which run on the host, beside a kernel on the same vector. The program checks itself.
#include <cstdio>

#if __has_include(<cub/version.cuh>)
#include <cub/device/device_reduce.cuh> // by itself, and beside thrust's policies
#endif
#include <thrust/host_vector.h>

#include <thrust/device_vector.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

__global__ void doubles(int *p, int n)
{
	if (threadIdx.x < n) {
		p[threadIdx.x] *= 2;
	}
}

struct square {
	__host__ __device__ int operator()(int x) const { return x * x; }
};

// Memory of cudaMalloc(): by pointers of thrust's, and by plain ones under its policy.
static int of_cuda()
{
	int *p, last = 0;

	cudaMalloc(&p, 100 * sizeof *p);
	thrust::device_ptr<int> d(p);
	thrust::sequence(d, d + 100);
	doubles<<<1, 128>>>(p, 100);
	thrust::sort(thrust::cuda::par.on(0), p, p + 100);
	thrust::reverse(thrust::cuda::par_nosync.on(0), p, p + 50);
	thrust::sort(thrust::device, p, p + 100, thrust::greater<int>());
	doubles<<<1, 128>>>(p, 100);
	cudaMemcpy(&last, p + 99, sizeof last, cudaMemcpyDeviceToHost);
	const int by = 2; // an extended lambda
	thrust::transform(d, d + 100, d, [by] __device__(int x) { return x * by; });
	return d[0] != 792 || last != 0 || thrust::reduce(d, d + 100) != 39600;
}

int main()
{
	thrust::device_vector<int> v(100), squares(100);
	thrust::host_vector<int> sequence;

	sequence.push_back(0); // which asserts something: cuda_runtime.h includes <assert.h>
	sequence.resize(100);
	thrust::sequence(sequence.begin(), sequence.end());
	v = sequence;
	doubles<<<1, 128>>>(thrust::raw_pointer_cast(v.data()), 100);
	cudaDeviceSynchronize();
	printf("%d ", thrust::reduce(v.begin(), v.end(), 0, thrust::plus<int>()));
	thrust::transform(v.begin(), v.end(), squares.begin(), square());
	thrust::sort(squares.begin(), squares.end(), thrust::greater<int>());
	printf("%d ", (int)squares[0]);
	thrust::inclusive_scan(squares.begin(), squares.end(), squares.begin());
	std::cout << squares[99] << "\n"; // as with thrust for CUDA, which has included <iostream>
	return of_cuda();
}
