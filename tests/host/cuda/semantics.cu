// SPDX-License-Identifier: BSD-3-Clause
// What CUDA programs rely on, each in a function that returns whether it holds: "semantics NAME" runs one,
// "semantics -NAME" all others, without a name all.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <stdexcept>
#include <vector>

#include "all_hold.h"
#include "parts.h"

namespace cg = cooperative_groups;

// ---- Helpers

template <class T> static std::vector<T> fetch(const T *device, size_t n)
{
	std::vector<T> host(n);

	cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost);
	return host;
}

template <class T> static T *zeros(size_t n)
{
	T *p;

	cudaMalloc(&p, n * sizeof(T));
	cudaMemset(p, 0, n * sizeof(T));
	return p;
}

static bool is_clean()
{
	return cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess;
}

// ---- Arguments

struct large { int a[12]; };
struct pair { float x, y; };
struct mixed { long n; double d; };
struct tiny { char c; };

__global__ void takes(char c, short s, large l, pair p, mixed m, double d, bool b, tiny t, int i1, int i2, long i3, void *p4,
	large l2, float f1, float f2, float f3, float f4, float f5, float f6, float f7, double last, double *out)
{
	out[0] = c + s + l.a[0] + l.a[11] + p.x + p.y + (double)m.n + m.d + d + b + t.c;
	out[1] = i1 + i2 + (double)i3 + (p4 == nullptr) + l2.a[3] + f1 + f2 + f3 + f4 + f5 + f6 + f7 + last;
}

static bool arguments()
{
	double *out = zeros<double>(2);
	large l = {}, l2 = {};

	l.a[0] = 100;
	l.a[11] = 200;
	l2.a[3] = 7;
	takes<<<1, 1>>>(1, 2, l, pair{3, 4}, mixed{5, 6}, 7, true, tiny{8}, 1, 2, 3, nullptr, l2, 1, 2, 3, 4, 5, 6, 7, 0.5, out);
	const auto v = fetch(out, 2);
	return v[0] == 337 && v[1] == 42.5;
}

struct four_kilobytes { unsigned char b[3800]; };
__global__ void takes_much(int *out, four_kilobytes s) { *out = s.b[0] + s.b[3799]; }

static bool large_argument()
{
	int *out = zeros<int>(1);
	four_kilobytes s = {};

	s.b[0] = 40;
	s.b[3799] = 2;
	takes_much<<<1, 32>>>(out, s);
	return fetch(out, 1)[0] == 42;
}

template <class T> __global__ void doubled(T *p, T by) { p[threadIdx.x] = p[threadIdx.x] * 2 + by; }

template <class T> static bool doubles()
{
	T *p = zeros<T>(32);

	doubled<<<1, 32>>>(p, (T)3);
	doubled<T><<<1, 32>>>(p, (T)1);
	return fetch(p, 32)[31] == (T)7;
}

static bool templates()
{
	return doubles<int>() && doubles<float>() && doubles<double>() && doubles<long long>() && doubles<char>();
}

extern "C" __global__ void unmangled(int *p, int v) { p[threadIdx.x] += v; }
static __global__ void of_this_file(int *p) { *p = 1; }
namespace
{
__global__ void anonymous(int *p) { *p += 2; }
}
namespace outer { namespace inner {
__global__ void nested(int *p) { *p += 4; }
} }

static bool names()
{
	int *p = zeros<int>(1);

	of_this_file<<<1, 1>>>(p);
	anonymous<<<1, 1>>>(p);
	outer::inner::nested<<<1, 1>>>(p);
	unmangled<<<1, 1>>>(p, 8);
	other_file_kernel(p);
	return fetch(p, 1)[0] == 15 + 16 && is_clean();
}

__global__ void no_arguments() {}
__device__ int written;
__global__ void writes() { written = 5; }

static bool launch_function()
{
	int *p = zeros<int>(1), v = 9, found = 0;
	void *args[] = {&p, &v};

	no_arguments<<<1, 1>>>();
	if (cudaLaunchKernel((const void *)unmangled, dim3(1), dim3(1), args, 0, 0) != cudaSuccess) {
		return false;
	}
	writes << <1, 1>> >(); // a launch for nvcc; in a text it is a text
	cudaMemcpyFromSymbol(&found, written, sizeof found);
	return fetch(p, 1)[0] == 9 && found == 5 && sizeof "<< <>> >(" == 10;
}

// ---- Indices, in three dimensions

__global__ void mark(unsigned *p)
{
	const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

	p[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

static bool indices()
{
	unsigned *p = zeros<unsigned>(24 * 30);

	mark<<<dim3(2, 3, 4), dim3(5, 3, 2)>>>(p);
	const auto v = fetch(p, 24 * 30);
	for (unsigned i = 0; i < v.size(); i++) {
		if (v[i] != i / 30 * 1000 + i % 30) {
			return false;
		}
	}
	return true;
}

// ---- Shared memory: a group's own, with several groups resident that wait for each other

__global__ void reverse_in_pairs(int *p, volatile int *turn)
{
	__shared__ int tile[64];
	extern __shared__ int more[];
	const int i = (int)threadIdx.x, b = (int)blockIdx.x;

	tile[i] = p[b * 64 + i];
	more[i] = 3 * tile[i];
	__syncthreads();
	// The first block waits for the last: both are resident, and each has its own tile.
	if (b == 0 && i == 0) {
		while (*turn != (int)gridDim.x - 1) {
		}
	} else if (b != 0 && i == 0) {
		atomicAdd((int *)turn, 1);
	}
	__syncthreads();
	p[b * 64 + i] = tile[63 - i] + more[63 - i];
}

static bool shared_memory()
{
	std::vector<int> host(8 * 64);
	int *p = zeros<int>(host.size()), *turn = zeros<int>(1);

	for (size_t i = 0; i < host.size(); i++) {
		host[i] = (int)i;
	}
	cudaMemcpy(p, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice);
	reverse_in_pairs<<<8, 64, 64 * sizeof(int)>>>(p, turn);
	const auto v = fetch(p, host.size());
	for (int i = 0; i < (int)v.size(); i++) {
		if (v[(size_t)i] != 4 * (i / 64 * 64 + 63 - i % 64)) {
			return false;
		}
	}
	return is_clean();
}

struct vec { double x, y, z; };

__device__ vec add(vec a, vec b) { return vec{a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ __noinline__ double total(vec v) { return v.x + v.y + v.z; }

__global__ void shared_structs(double *out)
{
	__shared__ vec v[32];
	__shared__ int count;
	__shared__ unsigned long long sum;
	__shared__ float4 wide[32];
	__shared__ char bytes[33];

	if (threadIdx.x == 0) {
		count = 0;
		sum = 0;
	}
	v[threadIdx.x] = vec{(double)threadIdx.x, 1, 2};
	wide[threadIdx.x] = make_float4(1, 2, 3, threadIdx.x);
	memset(bytes, 0, 33);
	__syncthreads();
	const vec other = add(v[31 - threadIdx.x], v[threadIdx.x]);
	const float4 w = wide[31 - threadIdx.x];
	atomicAdd(&count, 1);
	atomicAdd(&sum, (unsigned long long)threadIdx.x);
	__syncthreads();
	memcpy(&v[threadIdx.x], &other, sizeof other);
	bytes[threadIdx.x]++;
	__syncthreads();
	out[threadIdx.x] = total(v[31 - threadIdx.x]) + count + (double)sum + w.w + bytes[threadIdx.x];
}

static bool shared_aggregates()
{
	double *out = zeros<double>(32);

	shared_structs<<<1, 32>>>(out);
	const auto v = fetch(out, 32);
	for (int i = 0; i < 32; i++) {
		if (v[(size_t)i] != 31 + 6 + 32 + 496 + (31 - i) + 1) {
			return false;
		}
	}
	return is_clean();
}

// The value that the first work-item stores is seen by all: no optimizer may carry one past the barrier.
__global__ void broadcast(int *p)
{
	__shared__ int value;
	__shared__ int two[2];

	value = -1;
	two[threadIdx.x & 1] = (int)threadIdx.x;
	__syncthreads();
	if (threadIdx.x == 3) {
		value = 7;
		two[0] = 5;
	}
	__syncthreads();
	const int seen = value + two[0];
	__syncthreads();
	if (threadIdx.x == 0) {
		value = 11;
	}
	__syncthreads();
	p[threadIdx.x] = seen + value;
}

static bool barriers()
{
	int *p = zeros<int>(256);

	broadcast<<<1, 256>>>(p);
	for (int v : fetch(p, 256)) {
		if (v != 23) {
			return false;
		}
	}
	return is_clean();
}

__global__ void votes(int *p)
{
	const int i = (int)threadIdx.x;

	if (i >= 48) {
		return; // those who have returned do not count
	}
	p[i] = __syncthreads_count(i < 10) * 100 + __syncthreads_and(i < 48) * 10 + __syncthreads_or(i == 47) +
	       __syncthreads_and(i < 47) + __syncthreads_or(i > 50);
}

static bool block_votes()
{
	int *p = zeros<int>(64);

	votes<<<1, 64>>>(p);
	const auto v = fetch(p, 64);
	return v[0] == 1011 && v[47] == 1011 && v[48] == 0 && is_clean();
}

// ---- Warps

__global__ void warp_functions(int *p)
{
	const int lane = (int)threadIdx.x % 32, own = lane * lane;
	int ok = 1, all;

	ok &= __shfl_sync(~0u, own, 5) == 25;
	ok &= __shfl_up_sync(~0u, own, 2) == (lane >= 2 ? (lane - 2) * (lane - 2) : own);
	ok &= __shfl_down_sync(~0u, own, 3) == (lane < 29 ? (lane + 3) * (lane + 3) : own);
	ok &= __shfl_xor_sync(~0u, own, 1) == (lane ^ 1) * (lane ^ 1);
	ok &= __shfl_sync(~0u, own, 1, 8) == (lane / 8 * 8 + 1) * (lane / 8 * 8 + 1);
	ok &= __shfl_sync(~0u, 0.5 * lane, 6) == 3.0;
	ok &= __ballot_sync(~0u, lane % 3 == 0) == 0x49249249u;
	ok &= __any_sync(~0u, lane == 31) && !__any_sync(~0u, lane > 31) && __all_sync(~0u, lane < 32);
	ok &= __match_any_sync(~0u, lane % 4) == 0x11111111u << lane % 4;
	ok &= __match_all_sync(~0u, 4, &all) == ~0u && all;
	ok &= __reduce_add_sync(~0u, (unsigned)lane) == 496 && __reduce_max_sync(~0u, -lane) == 0;
	// Groups of four, each with a mask of its own; more often in some lanes' groups than in others'.
	for (int i = 0; i <= lane / 4; i++) {
		const unsigned mask = 0xfu << lane / 4 * 4;

		ok &= __ballot_sync(mask, lane & 1) == (0xau << lane / 4 * 4);
	}
	p[threadIdx.x] = ok;
}

// Each lane's store is on its way when it comes to its meeting; the two halves of a warp meet apart.
__global__ void halves_that_meet(int *p)
{
	const int lane = (int)threadIdx.x;
	const unsigned mask = lane & 1 ? 0xaaaaaaaau : 0x55555555u;

	for (int i = 0; i < 4; i++) {
		p[lane] = lane + i;
		p[32 + lane] += __ballot_sync(mask, lane > i) == (mask & ~0u << (i + 1)) ? __shfl_sync(mask, 100 * lane + i, lane & 1 ? 31 : 30) : 1;
	}
}

static bool meetings()
{
	int *p = zeros<int>(64);

	halves_that_meet<<<1, 32>>>(p);
	const auto v = fetch(p, 64);
	for (int i = 0; i < 32; i++) {
		if (v[i] != i + 3 || v[32 + i] != 4 * 100 * (30 + i % 2) + 6) {
			return false;
		}
	}
	return is_clean();
}

static bool warps()
{
	int *p = zeros<int>(96);

	warp_functions<<<1, 96>>>(p);
	for (int v : fetch(p, 96)) {
		if (!v) {
			return false;
		}
	}
	return is_clean();
}

__global__ void diverged(unsigned *p)
{
	const unsigned lane = threadIdx.x;

	p[lane] = __activemask();
	if (lane < 8) {
		p[32 + lane] = __activemask();
	} else if (lane % 2) {
		p[32 + lane] = __activemask();
	}
	__syncwarp();
	if (lane >= 16) {
		return;
	}
	p[64 + lane] = __activemask();
	const cg::coalesced_group active = cg::coalesced_threads();
	p[96 + lane] = active.size() * 100 + active.thread_rank();
}

static bool active_mask()
{
	unsigned *p = zeros<unsigned>(128);

	diverged<<<1, 32>>>(p);
	const auto v = fetch(p, 128);
	return v[0] == ~0u && v[31] == ~0u && v[32] == 0xff && v[39] == 0xff && v[41] == 0xaaaaaa00 && v[63] == 0xaaaaaa00 &&
	       v[64] == 0xffff && v[79] == 0xffff && v[96] == 1600 && v[111] == 1615 && is_clean();
}

__global__ void spin_between_lanes(int *lock, int *sum)
{
	for (bool done = false; !done;) {
		if (atomicCAS(lock, 0, 1) == 0) {
			*(volatile int *)sum += 1;
			__threadfence();
			atomicExch(lock, 0);
			done = true;
		}
	}
}

static bool locks()
{
	int *p = zeros<int>(2);

	spin_between_lanes<<<4, 64>>>(p, p + 1);
	return fetch(p, 2)[1] == 256 && is_clean();
}

__global__ void tiles(int *p)
{
	const cg::thread_block block = cg::this_thread_block();
	const auto tile = cg::tiled_partition<8>(block);
	int sum = (int)threadIdx.x;

	for (int by = 4; by; by /= 2) {
		sum += tile.shfl_down(sum, (unsigned)by);
	}
	block.sync();
	if (tile.thread_rank() == 0) {
		p[tile.meta_group_rank()] = sum;
	}
}

// ---- Values of any size among lanes, parts of warps, a parameter that is constant

struct wide {
	double a;
	int b, c;
	float d;
};

__global__ void parts_of_a_warp(int *p, const __grid_constant__ int add)
{
	__shared__ cg::block_tile_memory<32> scratch;
	const int i = (int)threadIdx.x;
	const auto warp = cg::tiled_partition<32>(cg::this_thread_block(scratch));
	const wide w = {i + 0.5, i, -i, 2.0f * (float)i}, got = warp.shfl(w, 31 - i);
	const double2 pair = warp.shfl_xor(make_double2(i, -i), 1);
	const cg::coalesced_group odd = cg::binary_partition(warp, i % 2), third = cg::labeled_partition(warp, i % 3);
	register int sum = 0; // nvcc takes it under C++17, too

	for (int k = i % 3; k < 32; k += 3) {
		sum += k;
	}
	p[i] = add + (got.a == 31 - i + 0.5 && got.b == 31 - i && got.c == i - 31 && got.d == (float)(62 - 2 * i) && pair.x == (i ^ 1) &&
		      pair.y == -(i ^ 1) && odd.size() == 16 && odd.thread_rank() == (unsigned)i / 2 && third.size() == (i % 3 == 2 ? 10 : 11) &&
		      third.thread_rank() == (unsigned)i / 3 && cg::reduce(third, i, cg::plus<int>()) == sum);
}

static bool wide_values_and_parts_of_warps()
{
	unsigned long long most = 1 << 20;
	const cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
	cudaMemPool_t pool;
	int *p, found[32], right = 0;

	cudaDeviceGetDefaultMemPool(&pool, 0);
	cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most);
	cudaMallocFromPoolAsync(&p, sizeof found, pool, 0);
	cudaMemPrefetchAsync(p, sizeof found, here, 0);
	cudaMemAdvise(p, sizeof found, cudaMemAdviseSetPreferredLocation, here);
	parts_of_a_warp<<<1, 32>>>(p, 2);
	cudaMemcpy(found, p, sizeof found, cudaMemcpyDeviceToHost);
	for (int x : found) {
		right += x == 3;
	}
	return cudaFreeAsync(p, 0) == cudaSuccess && right == 32 && is_clean();
}

static bool cooperative_tiles()
{
	int *p = zeros<int>(8);

	tiles<<<1, 64>>>(p);
	const auto v = fetch(p, 8);
	for (int i = 0; i < 8; i++) {
		if (v[(size_t)i] != 64 * i + 28) {
			return false;
		}
	}
	return is_clean();
}

__global__ void across_the_grid(int *p, int *sums)
{
	const cg::grid_group grid = cg::this_grid();
	const unsigned i = (unsigned)grid.thread_rank();

	for (int round = 0; round < 3; round++) {
		p[i] = (int)i + round;
		grid.sync();
		sums[i] += p[(i + 1) % grid.size()];
		grid.sync();
	}
}

static bool grid_barriers()
{
	int *p = zeros<int>(512), *sums = zeros<int>(512);
	void *args[] = {&p, &sums};

	if (cudaLaunchCooperativeKernel((void *)across_the_grid, dim3(8), dim3(64), args) != cudaSuccess) {
		return false;
	}
	const auto v = fetch(sums, 512);
	return v[0] == 6 && v[511] == 3 && v[100] == 3 * 101 + 3 &&
	       cudaLaunchCooperativeKernel((void *)across_the_grid, dim3(100000), dim3(64), args) ==
		       cudaErrorCooperativeLaunchTooLarge;
}

// ---- Atomics

__global__ void all_atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d)
{
	atomicAdd(&i[0], 1);
	atomicSub(&i[1], 2);
	atomicMin(&i[2], -(int)threadIdx.x);
	atomicMax(&i[3], (int)threadIdx.x);
	atomicAdd(&u[0], 0x10000000u);
	atomicInc(&u[1], 9);
	atomicDec(&u[2], 9);
	atomicAnd(&u[3], ~(1u << threadIdx.x % 32));
	atomicOr(&u[4], 1u << threadIdx.x % 32);
	atomicXor(&u[5], 1u << threadIdx.x % 32);
	atomicMin(&u[6], (unsigned)-(int)threadIdx.x);
	atomicAdd_system(&l[0], 1ull << 40);
	atomicMax_block(&l[1], (unsigned long long)threadIdx.x << 40);
	atomicAdd(f, 0.5f);
	atomicAdd(d, 0.25);
#ifdef NVW_CUDA_RUNTIME_H
	__atomic_fetch_add(&l[2], 3, __ATOMIC_RELAXED); // the compiler's own
#else
	atomicAdd(&l[2], 3ull);
#endif
	for (unsigned long long old = l[3], seen; (seen = atomicCAS(&l[3], old, old + 2)) != old; old = seen) {
	}
	if (threadIdx.x == 5) {
		i[4] = atomicExch(&i[5], 17);
	}
}

static bool atomics()
{
	int *i = zeros<int>(6);
	unsigned *u = zeros<unsigned>(7);
	unsigned long long *l = zeros<unsigned long long>(4);
	float *f = zeros<float>(1);
	double *d = zeros<double>(1);

	cudaMemset(u + 3, 0xff, 4);
	cudaMemset(u + 6, 0xff, 4);
	all_atomics<<<2, 64>>>(i, u, l, f, d);
	const auto I = fetch(i, 6);
	const auto U = fetch(u, 7);
	const auto L = fetch(l, 4);
	return I[0] == 128 && I[1] == -256 && I[2] == -63 && I[3] == 63 && I[5] == 17 && U[0] == 0 && U[1] == 8 && U[2] == 2 &&
	       U[3] == 0 && U[4] == ~0u && U[5] == 0 && U[6] == 0 && L[0] == 128ull << 40 && L[1] == 63ull << 40 && L[2] == 384 &&
	       L[3] == 256 && fetch(f, 1)[0] == 64 && fetch(d, 1)[0] == 32;
}

// ---- Variables of the device

__constant__ float weights[3] = {1, 2, 3};
__device__ int counter = 4;
static __device__ int hidden = 3;
struct two { int x, y; };
__device__ two pairs[4];
namespace n { __device__ double inside; }

__global__ void uses_variables(float *out)
{
	atomicAdd(&counter, 1);
	out[threadIdx.x] = weights[threadIdx.x] + (float)n::inside + (float)hidden + (float)pairs[1].y;
	__syncthreads();
	if (threadIdx.x == 0) {
		hidden = 50;
	}
}

static bool variables()
{
	const float w[2] = {20, 30};
	const double half = 0.5;
	const int seven = 7;
	int count = 0, h = 0;
	float *out = zeros<float>(3);
	void *address = nullptr;
	size_t bytes = 0;

	cudaMemcpyToSymbol(weights, w, sizeof w, 4);
	cudaMemcpyToSymbol(n::inside, &half, sizeof half);
	cudaMemcpyToSymbol(pairs, &seven, sizeof seven, 12);
	uses_variables<<<1, 3>>>(out);
	cudaMemcpyFromSymbol(&count, counter, sizeof count);
	cudaMemcpyFromSymbol(&h, hidden, sizeof h);
	cudaGetSymbolAddress(&address, counter);
	cudaGetSymbolSize(&bytes, pairs);
	const auto v = fetch(out, 3);
	return v[0] == 11.5f && v[1] == 30.5f && v[2] == 40.5f && count == 7 && h == 50 && address && bytes == 32;
}

// ---- Both halves define it: the kernel must run its own copy, which announces its accesses; the host the plain one.

__host__ __device__ int both_sides(int *p)
{
#ifdef __CUDA_ARCH__
	return *p + 1000;
#else
	return *p + 1;
#endif
}
template <class T> __host__ __device__ T both_template(T x)
{
#ifdef __CUDA_ARCH__
	return x * 10;
#else
	return x * 100;
#endif
}
struct with_members {
	int v;

	__host__ __device__ inline int get() const
	{
#ifdef __CUDA_ARCH__
		return v + 5;
#else
		return v + 6;
#endif
	}
	__host__ __device__ virtual int made() const
	{
#ifdef __CUDA_ARCH__
		return 1;
#else
		return 2;
#endif
	}
};
extern "C" __host__ __device__ int both_c(int x)
{
#ifdef __CUDA_ARCH__
	return x + 1;
#else
	return x - 1;
#endif
}

__global__ void calls_both(int *p)
{
	with_members m;

	m.v = 100;
	p[1] = both_sides(p);
	p[2] = both_template(7) + both_of_header(3);
	p[3] = m.get();
	p[4] = both_c(10);
	with_members *const made = new with_members;
	p[5] = made->made();
	delete made;
	p[6] = of_other_file(p);
}

static bool halves()
{
	int *p = zeros<int>(7), one = 1;
	with_members m;

	m.v = 100;
	calls_both<<<1, 1>>>(p);
	const auto v = fetch(p, 7);
	return v[1] == 1000 && v[2] == 70 + 33 && v[3] == 105 && v[4] == 11 && v[5] == 1 && v[6] == 77 && both_sides(&one) == 2 &&
	       both_template(7) == 700 && both_of_header(3) == 4 && m.get() == 106 && both_c(10) == 9 && m.made() == 2;
}

// ---- The host API

__global__ void nothing(int) {}

#if CUDART_VERSION >= 13000
static const cudaError_t invalid_launch = cudaErrorInvalidValue;
#else
static const cudaError_t invalid_launch = cudaErrorInvalidConfiguration;
#endif

static bool errors()
{
	int *p = nullptr, h = 0;
	const bool known = cudaMalloc(&p, 4) == cudaSuccess && cudaMalloc((void **)&p, (size_t)1 << 60) == cudaErrorMemoryAllocation &&
			   cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess;

	nothing<<<1, 2000>>>(1);
	const bool configuration = cudaGetLastError() == invalid_launch;
	nothing<<<0, 1>>>(1);
	const bool empty = cudaGetLastError() == invalid_launch;
	cudaMalloc(&p, 4);
#ifdef NVW_CUDA_RUNTIME_H // CUDA lets these pass, or names them otherwise
	const bool range = cudaMemcpy(p, &h, 8, cudaMemcpyHostToDevice) == cudaErrorInvalidValue && cudaGetLastError();
	const bool direction = cudaMemcpy(&h, p, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidMemcpyDirection && cudaGetLastError();
#else
	const bool range = true, direction = cudaMemcpy(&h, p, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue && cudaGetLastError();
#endif
	return known && configuration && empty && range && direction && !strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
}

__global__ void plus_one(int *p, int n)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (i < n) {
		p[i]++;
	}
}

static bool memories()
{
	int *managed, *pinned, plain[64] = {}, *device;
	cudaStream_t stream;
	cudaEvent_t from, to;
	float ms = -1;
	size_t pitch;
	struct cudaDeviceProp properties;

	cudaStreamCreate(&stream);
	cudaEventCreate(&from);
	cudaEventCreate(&to);
	cudaMallocManaged(&managed, 64 * sizeof(int));
	cudaHostAlloc(&pinned, 64 * sizeof(int), cudaHostAllocMapped);
	cudaHostRegister(plain, sizeof plain, cudaHostRegisterMapped);
	cudaHostGetDevicePointer(&device, plain, 0);
	managed[3] = 1;
	pinned[3] = 2;
	plain[3] = 3;
	cudaEventRecord(from, stream);
	plus_one<<<2, 32, 0, stream>>>(managed, 64);
	plus_one<<<2, 32, 0, stream>>>(pinned, 64);
	plus_one<<<2, 32, 0, stream>>>(device, 64);
	cudaEventRecord(to, stream);
	cudaStreamSynchronize(stream);
	cudaEventElapsedTime(&ms, from, to);
	char *pitched;
	cudaMallocPitch(&pitched, &pitch, 10, 4);
	char rows[4][10], back[4][10] = {};
	memset(rows, 'r', sizeof rows);
	cudaMemcpy2D(pitched, pitch, rows, 10, 10, 4, cudaMemcpyHostToDevice);
	cudaMemcpy2D(back, 10, pitched, pitch, 10, 4, cudaMemcpyDefault);
	cudaGetDeviceProperties(&properties, 0);
	return managed[3] == 2 && pinned[3] == 3 && plain[3] == 4 && ms >= 0 && pitch >= 10 && !memcmp(rows, back, sizeof rows) &&
	       properties.warpSize == 32 && cudaHostUnregister(plain) == cudaSuccess && cudaFree(managed) == cudaSuccess &&
	       cudaFreeHost(pinned) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess;
}

__global__ void prints(const char *) { printf("lane %u of block %u says %5.2f\n", threadIdx.x, blockIdx.x, 0.5 * threadIdx.x); }

__global__ void clocks(long long *p)
{
	const long long from = clock64();

	while (clock64() - from < 1000) {
	}
	p[threadIdx.x] = clock64() - from;
}

static bool library()
{
	long long *p = zeros<long long>(32);

	clocks<<<1, 32>>>(p);
	prints<<<1, 2>>>(nullptr);
	return fetch(p, 32)[31] >= 1000 && is_clean();
}

// The C library's functions that store what they return: into shared memory, and into global memory for the same and the next kernel.
__global__ void takes_apart(double *parts, int *exponents, double *sums)
{
	__shared__ double whole[32], sine[32], cosine[32];
	__shared__ int exponent[32];
	const unsigned i = threadIdx.x, at = blockIdx.x * blockDim.x + i;
	const double x = at + 0.25;

	parts[at] = modf(x, &whole[i]) + frexp(x, &exponent[i]);
	(void)frexpf((float)x, &exponents[at]);
	sincos(x, &sine[i], &cosine[i]);
	__syncthreads();
	sums[at] = whole[31 - i] + exponent[31 - i] + sine[31 - i] * sine[31 - i] + cosine[31 - i] * cosine[31 - i] + exponents[at];
}

__global__ void adds_exponents(const int *exponents, double *sums) { sums[blockIdx.x * blockDim.x + threadIdx.x] += exponents[blockIdx.x * blockDim.x + threadIdx.x]; }

static bool results()
{
	const int n = 256;
	double *parts = zeros<double>(n), *sums = zeros<double>(n);
	int *exponents = zeros<int>(n);

	takes_apart<<<n / 32, 32>>>(parts, exponents, sums);
	adds_exponents<<<n / 32, 32>>>(exponents, sums);
	const std::vector<double> has_parts = fetch(parts, n), has_sums = fetch(sums, n);
	for (int at = 0; at < n; at++) {
		const int other = at / 32 * 32 + 31 - at % 32;

		if (has_parts[at] != 0.25 + (at + 0.25) / ldexp(1, ilogb(at + 0.25) + 1) ||
			fabs(has_sums[at] - (other + ilogb(other + 0.25) + 2 + 2 * (ilogb(at + 0.25) + 1))) > 1e-9) {
			return false;
		}
	}
	return is_clean();
}

// Accesses of 16 bytes, which the optimizer makes of float4 now and then, from global memory to shared memory and back.
#ifdef __clang__
typedef float quadruple __attribute__((ext_vector_type(4)));
#else
typedef float4 quadruple;
#endif

__global__ void turn_quadruples(const quadruple *from, quadruple *to)
{
	__shared__ quadruple all[64];

	all[threadIdx.x] = from[blockIdx.x * blockDim.x + threadIdx.x];
	__syncthreads();
	to[blockIdx.x * blockDim.x + threadIdx.x] = all[63 - threadIdx.x];
}

static bool quadruples()
{
	const int n = 512;
	std::vector<float> host(4 * n);
	quadruple *from = zeros<quadruple>(n), *to = zeros<quadruple>(n);

	for (int round = 0; round < 3; round++) { // the host changes what the kernel has read
		for (int i = 0; i < 4 * n; i++) {
			host[i] = (float)(i * (round + 1));
		}
		cudaMemcpy(from, host.data(), n * sizeof *from, cudaMemcpyHostToDevice);
		turn_quadruples<<<n / 64, 64>>>(from, to);
		const std::vector<float> turned = fetch((const float *)to, 4 * n);
		for (int i = 0; i < 4 * n; i++) {
			if (turned[i] != host[(i / 256 * 64 + 63 - i / 4 % 64) * 4 + i % 4]) {
				return false;
			}
		}
	}
	return is_clean();
}

static bool exceptions()
{
	try {
		if (cudaMalloc((void **)nullptr, 4) != cudaSuccess) {
			(void)cudaGetLastError();
			throw std::runtime_error("no pointer");
		}
	} catch (const std::exception &e) {
		return !strcmp(e.what(), "no pointer");
	}
	return false;
}

static const claim claims[] = {{"arguments", arguments}, {"large_argument", large_argument}, {"templates", templates}, {"names", names},
	{"launch_function", launch_function}, {"indices", indices}, {"shared_memory", shared_memory},
	{"shared_aggregates", shared_aggregates}, {"barriers", barriers}, {"block_votes", block_votes}, {"warps", warps}, {"meetings", meetings},
	{"active_mask", active_mask}, {"locks", locks}, {"cooperative_tiles", cooperative_tiles}, {"wide_values_and_parts_of_warps", wide_values_and_parts_of_warps}, {"grid_barriers", grid_barriers},
	{"atomics", atomics}, {"variables", variables}, {"halves", halves}, {"errors", errors}, {"memories", memories},
	{"library", library}, {"results", results}, {"quadruples", quadruples}, {"exceptions", exceptions}};

int main(int argc, char **argv)
{
	return all_hold(claims, argv[1]);
}
