// SPDX-License-Identifier: BSD-3-Clause
// Names in two files, names of types, and arrays of dynamic shared memory with several names; the program checks itself.
#include "all_hold.h"
#include "names.h"

// As in CUDA's samples: an array of a name of its own for each type.
template <class T> struct SharedMemory;
template <> struct SharedMemory<int> {
	__device__ int *get()
	{
		extern __shared__ int shared_int[];
		return shared_int;
	}
};
template <> struct SharedMemory<double> {
	__device__ double *get()
	{
		extern __shared__ double shared_double[];
		return shared_double;
	}
};

template <class T> __global__ void reversed(T *p)
{
	T *const shared = SharedMemory<T>().get();

	shared[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

template <class T> static bool reverses()
{
	T *p, out[64];

	cudaMallocManaged(&p, sizeof out);
	for (int i = 0; i < 64; i++) {
		p[i] = i;
	}
	reversed<<<1, 64, sizeof out>>>(p);
	cudaMemcpy(out, p, sizeof out, cudaMemcpyDefault);
	for (int i = 0; i < 64; i++) {
		if (out[i] != 63 - i) {
			return false;
		}
	}
	return cudaDeviceSynchronize() == cudaSuccess;
}

static bool dynamic_arrays_of_two_names() { return reverses<int>() && reverses<double>(); }

// They are one array, so what is stored by one name is loaded by the other.
__global__ void both_names(unsigned *p)
{
	extern __shared__ float as_float[];
	extern __shared__ unsigned as_bits[];

	as_float[0] = 1.5f;
	p[0] = as_bits[0];
}

static bool dynamic_arrays_are_one()
{
	unsigned *p, bits = 0;

	cudaMalloc(&p, 4);
	both_names<<<1, 1, 4>>>(p);
	cudaMemcpy(&bits, p, 4, cudaMemcpyDeviceToHost);
	return bits == 0x3fc00000;
}

// ---- names.h has a variable, a kernel and a function of these names in the other file, too.

__device__ int counter = 1;
__device__ int plus(int a) { return a + 1; }
static __global__ void count(int *out) { *out = plus(counter++); }
extern "C" __device__ int of_c(int a) { return 3 * a; }
__global__ void call_of_c(int *out) { *out = of_c(7); }
__device__ int for_the_other = 40;

int count_here()
{
	int *p, out = 0;

	cudaMalloc(&p, 4);
	count<<<1, 1>>>(p);
	cudaMemcpy(&out, p, 4, cudaMemcpyDeviceToHost);
	return out;
}

static bool files_have_names_of_their_own()
{
	int here = 0, there = 0;
	const bool counted = count_here() == 2 && count_there() == 110 && count_here() == 3 && count_there() == 111;

	cudaMemcpyFromSymbol(&here, counter, 4);
	copy_there(&there);
	return counted && here == 3 && there == 102;
}

static bool names_of_c_are_for_all()
{
	int *p, out = 0;

	cudaMalloc(&p, 4);
	call_of_c<<<1, 1>>>(p);
	cudaMemcpy(&out, p, 4, cudaMemcpyDeviceToHost);
	return out == 21 && use_of_other_file() == 3 * 2 + 40;
}

// ---- Types

__constant__ struct {
	int a, b;
} nameless;
namespace {
__device__ int hidden;
}

__global__ void read_nameless(int *out) { *out = nameless.a * nameless.b + hidden; }

static bool variables_of_types_without_names()
{
	const struct {
		int a, b;
	} value = {6, 7};
	const int hundred = 100;
	int *p, out = 0;

	cudaMalloc(&p, 4);
	cudaMemcpyToSymbol(nameless, &value, sizeof value);
	cudaMemcpyToSymbol(hidden, &hundred, sizeof hundred);
	read_nameless<<<1, 1>>>(p);
	cudaMemcpy(&out, p, 4, cudaMemcpyDeviceToHost);
	return out == 142;
}

template <class... T> struct several {
	int values[6];
	__device__ int sum() const { return values[0] + values[5]; }
};

__device__ __noinline__ int sum_of(several<int (*)(char), several<char[3]>, decltype(nullptr)> s) { return s.sum(); }

__global__ void pass(several<int (*)(char), several<char[3]>, decltype(nullptr)> s, int *out)
{
	s.values[0] += threadIdx.x;
	out[threadIdx.x] = sum_of(s);
}

static bool structures_with_long_names()
{
	int *p, out[2] = {};

	cudaMalloc(&p, 8);
	pass<<<1, 2>>>({{1, 2, 3, 4, 5, 6}}, p);
	cudaMemcpy(out, p, 8, cudaMemcpyDeviceToHost);
	return out[0] == 7 && out[1] == 8;
}

int main()
{
	const claim all[] = {{"dynamic_arrays_of_two_names", dynamic_arrays_of_two_names}, {"dynamic_arrays_are_one", dynamic_arrays_are_one},
		{"files_have_names_of_their_own", files_have_names_of_their_own}, {"names_of_c_are_for_all", names_of_c_are_for_all},
		{"variables_of_types_without_names", variables_of_types_without_names}, {"structures_with_long_names", structures_with_long_names}};
	return all_hold(all);
}
