// SPDX-License-Identifier: BSD-3-Clause
// What programs use of the language and of the host API besides semantics.cu. The program checks itself.
#include <immintrin.h>
#include <stdio.h>
#include <string.h>

#include <thread>
#include <type_traits>
#include <vector>

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/scan.h>
#include <cuComplex.h>
#include <cuda_pipeline.h>
#include <cuda_profiler_api.h>

#include "all_hold.h"

namespace cg = cooperative_groups;

static int *managed(size_t count)
{
	int *p;

	cudaMallocManaged(&p, count * sizeof(int));
	memset(p, 0, count * sizeof(int));
	return p;
}

static bool is_clean() { return cudaDeviceSynchronize() == cudaSuccess; }

// A host that persists by itself.
static bool instructions_of_the_processor()
{
	long word = 0;

	_mm_clflush(&word);
	_mm_sfence();
	_mm_lfence();
	_mm_mfence();
	_mm_pause();
	_mm_setcsr(_mm_getcsr());
	return word == 0;
}

// ---- C++

template <class F> __global__ void apply(F f, int n)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (i < n) {
		f(i);
	}
}

static bool lambdas()
{
	int *const p = managed(64), k = 3;
	auto for_both = [=] __host__ __device__(int i) { p[i] += 1; };

	apply<<<2, 32>>>([=] __device__(int i) { p[i] = k * i; }, 50);
	apply<<<2, 32>>>(for_both, 50);
	const bool done = is_clean();
	for_both(0);
	return done && p[0] == 2 && p[10] == 31 && p[50] == 0;
}

typedef int (*function)(int);
__device__ int one_more(int x) { return x + 1; }
__device__ int two_more(int x) { return x + 2; }
__device__ function functions[2] = {one_more, two_more};
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
constexpr int square(int x) { return x * x; }

__global__ void __launch_bounds__(128, 2) calls(int *__restrict__ p)
{
	p[threadIdx.x] = functions[threadIdx.x & 1]((int)threadIdx.x) + 100 * square((int)threadIdx.x);
	p[32 + threadIdx.x] = fibonacci((int)threadIdx.x % 16);
}

static bool functions_of_all_kinds()
{
	int *const p = managed(64);

	calls<<<1, 32>>>(p);
	return is_clean() && p[4] == 1605 && p[5] == 2507 && p[32 + 10] == 55;
}

struct bits {
	unsigned a : 3, b : 7;
	int c;
};
union number {
	float f;
	unsigned u;
};

__global__ void odd_types(bits *b, number *n, volatile int3 *v)
{
	b->a = 5;
	b->b += 9;
	n->f = 1.0f;
	n->u |= 1;
	v->x = 1;
	v->y = v->x + 1;
	v->z = v->y + v->x;
}

static bool structures()
{
	int *const p = managed(64);

	odd_types<<<1, 1>>>((bits *)p, (number *)(p + 16), (int3 *)(p + 32));
	return is_clean() && ((bits *)p)->a == 5 && ((bits *)p)->b == 9 && p[16] == 0x3f800001 && p[34] == 3;
}

// The optimizer stores it by one instruction of 6 bytes.
struct six_bytes {
	unsigned char a, b;
	short c;
	signed char d;
	unsigned char e;
};
template <class T> __host__ __device__ T filled(unsigned byte)
{
	T t;

	memset(&t, (int)byte, sizeof t);
	return t;
}
__global__ void stores_six_bytes(unsigned char byte, int *p)
{
	__shared__ six_bytes shared[128];

	for (unsigned i = 0; i < 2; i++) {
		shared[threadIdx.x * 2 + i] = filled<six_bytes>(byte);
	}
	__syncthreads();
	p[threadIdx.x] = shared[threadIdx.x].e + shared[127 - threadIdx.x].a;
}

static bool odd_sizes()
{
	int *const p = managed(64);

	stores_six_bytes<<<1, 64>>>(0x45, p);
	return is_clean() && p[0] == 2 * 0x45 && p[63] == 2 * 0x45;
}

__global__ void allocates(int **out)
{
	int *const p = (int *)malloc(10 * sizeof(int));

	p[3] = (int)threadIdx.x;
	out[threadIdx.x] = p;
}
__global__ void frees(int **in, int *out)
{
	out[threadIdx.x] = in[threadIdx.x][3];
	free(in[threadIdx.x]);
}

static bool heap()
{
	int *const p = managed(128);

	allocates<<<1, 32>>>((int **)p);
	frees<<<1, 32>>>((int **)p, p + 64);
	return is_clean() && p[64 + 31] == 31;
}

// ---- Groups

__device__ int sum_of(cg::thread_group group, int *shared, int value)
{
	const unsigned rank = (unsigned)group.thread_rank();

	for (unsigned i = (unsigned)group.size() / 2; i > 0; i /= 2) {
		shared[rank] = value;
		group.sync();
		if (rank < i) {
			value += shared[rank + i];
		}
		group.sync();
	}
	return value;
}

__global__ void groups(int *p)
{
	__shared__ int shared[64];
	const cg::thread_block block = cg::this_thread_block();
	const int all = sum_of(block, shared, (int)threadIdx.x);
	const int part = sum_of(cg::tiled_partition(block, 16), shared + threadIdx.x / 16 * 16, (int)threadIdx.x / 16);
	const auto tile = cg::tiled_partition<8>(block);

	p[2 + threadIdx.x] = cg::inclusive_scan(tile, 1) * 100 + cg::exclusive_scan(tile, (int)tile.thread_rank());
	if (threadIdx.x == 0) {
		p[0] = all;
	}
	if (threadIdx.x == 48) {
		p[1] = part;
	}
}

static bool groups_of_any_size()
{
	int *const p = managed(66);

	groups<<<1, 64>>>(p);
	return is_clean() && p[0] == 2016 && p[1] == 48 && p[2] == 100 && p[2 + 15] == 821 && p[2 + 63] == 821;
}

// ---- Intrinsics

__global__ void intrinsics(int *p)
{
	p[0] = __dp4a(0x01020304, 0x01ff0101, 5) == 1 - 2 + 3 + 4 + 5 && __sad(3, 7, 1) == 5 && __hadd(-3, -6) == -5;
	p[1] = __umul24(3, 4) == 12 && __mulhi(1 << 30, 8) == 2 && __funnelshift_l(0x80000000, 1, 1) == 3;
	p[2] = __float_as_int(1.0f) == 0x3f800000 && __float2int_rd(-1.2f) == -2 && __fmaf_rn(2, 3, 4) == 10;
	p[3] = __isShared(p) == 0 && normcdff(0) == 0.5f && __saturatef(2) == 1;
}

static bool intrinsic_functions()
{
	int *const p = managed(4);

	intrinsics<<<1, 1>>>(p);
	return is_clean() && p[0] && p[1] && p[2] && p[3];
}

// ---- The host API

__global__ void counts(int *p)
{
	for (int i = 0; i < 1000; i++) { // so that one kernel still runs when another host thread launches
		atomicAdd(p, 1);
	}
}

static bool host_threads()
{
	int *const p = managed(1);
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++) {
		threads.emplace_back([=] {
			cudaStream_t stream;

			cudaStreamCreate(&stream);
			for (int k = 0; k < 2; k++) {
				counts<<<2, 32, 0, stream>>>(p);
				cudaStreamSynchronize(stream);
			}
			cudaStreamDestroy(stream);
		});
	}
	for (auto &thread : threads) {
		thread.join();
	}
	return is_clean() && p[0] == 4 * 2 * 64 * 1000;
}

static void CUDART_CB called_back(cudaStream_t, cudaError_t, void *p) { *(int *)p = 7; }
static void CUDART_CB called_then(void *p) { *(int *)p += 1; }
__device__ int of_device;

static bool host_functions()
{
	cudaStream_t stream;
	int seen = 0, seven = 7, back = 0, value = 0, *device;
	size_t pitch;
	char *rows, one[20] = {};
	cudaDeviceProp properties;

	cudaProfilerStart();
	cudaStreamCreateWithPriority(&stream, cudaStreamDefault, 0);
	cudaStreamAddCallback(stream, called_back, &seen, 0);
	cudaLaunchHostFunc(stream, called_then, &seen);
	cudaMallocAsync(&device, 100, stream);
	cudaFreeAsync(device, stream);
	cudaMallocPitch(&rows, &pitch, 5, 4);
	cudaMemset2D(rows, pitch, 'x', 5, 4);
	cudaMemcpy2DAsync(one, 5, rows, pitch, 5, 4, cudaMemcpyDeviceToHost, stream);
	cudaMemcpyToSymbolAsync(of_device, &seven, sizeof seven, 0, cudaMemcpyHostToDevice, stream);
	cudaMemcpyFromSymbolAsync(&back, of_device, sizeof back, 0, cudaMemcpyDeviceToHost, stream);
	cudaGetDeviceProperties(&properties, 0);
	cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0);
	printf("%s with %d multiprocessors\n", properties.name, value);
	return is_clean() && seen == 8 && back == 7 && !memcmp(one, "xxxxxxxxxxxxxxxxxxxx", 20) &&
	       value == properties.multiProcessorCount && cudaDeviceGetAttribute(&value, cudaDevAttrMaxBlockDimZ, 0) == cudaSuccess && value == 64;
}

// A part of 2 x 2 x 2 numbers from the middle of 4 x 3 x 3.
static bool copies_in_three_dimensions()
{
	int from[3][3][4], back[2][2][2], *const first = &from[0][0][0];
	cudaPitchedPtr device;
	cudaMemcpy3DParms in = {}, out = {};

	for (int i = 0; i < 36; i++) {
		first[i] = i;
	}
	in.extent = make_cudaExtent(4 * sizeof(int), 3, 3);
	cudaMalloc3D(&device, in.extent);
	cudaMemset3D(device, 1, in.extent);
	in.srcPtr = make_cudaPitchedPtr(from, 4 * sizeof(int), 4, 3);
	in.dstPtr = out.srcPtr = device;
	in.kind = cudaMemcpyHostToDevice;
	cudaMemcpy3D(&in);
	out.extent = make_cudaExtent(2 * sizeof(int), 2, 2);
	out.srcPos = make_cudaPos(2 * sizeof(int), 1, 1);
	out.dstPtr = make_cudaPitchedPtr(back, 2 * sizeof(int), 2, 2);
	out.kind = cudaMemcpyDeviceToHost;
	cudaMemcpy3DAsync(&out);
	return is_clean() && back[0][0][0] == 18 && back[0][1][1] == 23 && back[1][0][0] == 30 && back[1][1][1] == 35;
}

struct most_words {
	int word[8190]; // and a pointer: all that a launch may have
};
__global__ void sums_its_argument(const most_words words, int *out)
{
	int sum = 0;

	for (int i = threadIdx.x; i < 8190; i += 64) {
		sum += words.word[i];
	}
	atomicAdd(out, sum);
}

static bool arguments_of_32_kilobytes()
{
	int *out;
	static most_words words;
	int sum = 0;

	for (int i = 0; i < 8190; i++) {
		words.word[i] = i;
		sum += i;
	}
	cudaMallocManaged(&out, sizeof *out);
	*out = 0;
	sums_its_argument<<<2, 64>>>(words, out);
	cudaDeviceSynchronize();
	return is_clean() && *out == 2 * sum;
}

// Tiles of four warps, and of one within them.
__global__ void tiles_of_warps(int *out)
{
	__shared__ cg::block_tile_memory<256> memory;
	const auto block = cg::this_thread_block(memory);
	const auto tile = cg::tiled_partition<128>(block);
	const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(tile);
	const int sum = cg::reduce(tile, (int)threadIdx.x, cg::plus<int>()), other = tile.shfl((int)threadIdx.x, 100);

	tile.sync();
	out[threadIdx.x] = sum + other + (tile.any(threadIdx.x == 200) ? 100000 : 0) + 1000000 * (int)warp.meta_group_rank() +
			   10000000 * (int)warp.meta_group_size() + 100000000 * (int)tile.meta_group_rank();
}

static bool tiles_of_more_than_a_warp()
{
	int *out;

	cudaMallocManaged(&out, 256 * sizeof *out);
	tiles_of_warps<<<1, 256>>>(out);
	cudaDeviceSynchronize();
	return is_clean() && out[0] == 40000000 + 8128 + 100 && out[127] == 43000000 + 8128 + 100 && out[255] == 143000000 + 24512 + 228 + 100000;
}

// There is one device: it has no peers, and copies from it to itself are plain ones.
static bool one_device()
{
	int there = 5, back = 0, *device, can;

	cudaMalloc(&device, sizeof there);
	cudaMemcpyPeer(device, 0, &there, 0, sizeof there);
	cudaMemcpyPeerAsync(&back, 0, device, 0, sizeof back);
	cudaDeviceCanAccessPeer(&can, 0, 1);
	return is_clean() && back == 5 && can == 0 && cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice &&
	       cudaMemcpyPeer(device, 1, &there, 0, sizeof there) == cudaErrorInvalidDevice && cudaGetLastError() == cudaErrorInvalidDevice &&
	       umin(3u, 0xffffffffu) == 3 && llmax(-1, 2) == 2;
}

// The optimizer has the call copy both straight out of their places, and other blocks have the same address for theirs.
struct four_longs {
	long a, b, c, d;
};
__device__ __noinline__ long mixes(four_longs x, four_longs y, four_longs z)
{
	return x.a + 100 * x.d + 10000 * y.b + 1000000 * z.c;
}
__global__ void passes_structures(const four_longs *from, long *out)
{
	__shared__ alignas(16) four_longs own[32];
	long differ = 0;

	own[threadIdx.x] = four_longs{(long)blockIdx.x, 0, (long)(threadIdx.x + blockIdx.x), 1};
	__syncthreads();
	for (unsigned i = 0; i < 8; i++) {
		differ += mixes(own[i], from[i + blockIdx.x], own[31 - i]) !=
			  blockIdx.x + 100 + 10000 * (long)(i + blockIdx.x) + 1000000 * (long)(31 - i + blockIdx.x);
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = differ;
}

static bool structures_of_one_call()
{
	four_longs *const from = (four_longs *)managed(64 * 8);
	long *const out = (long *)managed(2 * 256);
	long differ = 0;

	for (int i = 0; i < 64; i++) {
		from[i] = four_longs{-1, i, -1, -1};
	}
	passes_structures<<<8, 32>>>(from, out);
	cudaDeviceSynchronize();
	for (int i = 0; i < 256; i++) {
		differ += out[i];
	}
	return is_clean() && differ == 0;
}

__global__ void moves(char *p, unsigned to, unsigned from, unsigned n)
{
#ifdef NVW_CUDA_RUNTIME_H // nvcc has none in device code
	memmove(p + to, p + from, n);
#else
	for (unsigned i = 0; i < n; i++) {
		const unsigned at = to < from ? i : n - 1 - i;

		p[to + at] = p[from + at];
	}
#endif
}

// Either way, over more than the runtime moves at once.
static bool overlapping_moves()
{
	char *const p = (char *)managed(256);
	char expected[1024];
	bool right = true;

	for (unsigned i = 0; i < 4; i++) {
		const unsigned to = i & 1 ? 10 : 30 + 200 * (i & 2), from = i & 1 ? 30 + 200 * (i & 2) : 10;

		for (unsigned k = 0; k < sizeof expected; k++) {
			expected[k] = p[k] = (char)(k * 7 / 3);
		}
		moves<<<1, 1>>>(p, to, from, 590);
		cudaDeviceSynchronize();
		memmove(expected + to, expected + from, 590);
		right = right && !memcmp(p, expected, sizeof expected);
	}
	return is_clean() && right;
}

// ---- Empty structures by value travel in no register.

struct twice {
	__host__ __device__ int operator()(int x) const { return 2 * x; }
};

template <class F, class G> __global__ void map(F f, int *p, G g, double d, F again)
{
	p[threadIdx.x] = again(g(f(p[threadIdx.x]))) + (int)d;
}

// Host code may name its own variables so, and a kernel may copy or hand on CUDA's.
__device__ unsigned area(dim3 d) { return d.x * d.y * d.z; }
__global__ void extents(unsigned *p)
{
	const uint3 thread = threadIdx;
	const dim3 block = blockDim;
	auto grid = gridDim;

	p[threadIdx.y * blockDim.x + thread.x] = 1000 * area(block) + 10 * area(grid) + blockIdx.x + area(gridDim);
}

static bool extents_have_names()
{
	unsigned *const p = (unsigned *)managed(8);
	dim3 gridDim(1, 3), blockDim(4, 2);

	extents<<<gridDim, blockDim>>>(p);
	return is_clean() && p[0] == 8033 && p[7] == 8033 && blockDim.y == 2;
}

// What travels in which register: the stub of a kernel keeps copies of some beside its arguments.
__global__ void mixes(int n, float a, float b, const float *x, bool all, float *y, double2 d, signed char c)
{
	y[0] = a;
	y[1] = b;
	y[2] = n + x[0];
	y[3] = (float)(all ? d.x : d.y);
	y[4] = c;
}

static bool mixed_arguments()
{
	float *y;

	cudaMallocManaged(&y, 6 * sizeof *y);
	y[5] = 0.5f;
	mixes<<<1, 1>>>(9, 3, 2, y + 5, true, y, make_double2(6, 7), -8);
	return is_clean() && y[0] == 3 && y[1] == 2 && y[2] == 9.5f && y[3] == 6 && y[4] == -8;
}

// An object that a function copies travels as its address, and is each work-item's own.
struct copied {
	int a;
	float b[9];
	copied() = default;
	__host__ __device__ copied(const copied &x) : a(x.a) { memcpy(b, x.b, sizeof b); }
};

__global__ void changes_its_own(copied x, int *p, float f, copied y)
{
	x.a += (int)threadIdx.x;
	__syncthreads();
	y.b[8] += (float)x.a;
	__syncthreads();
	p[threadIdx.x] = x.a * 1000 + (int)(y.b[8] + f);
}

static bool copied_objects()
{
	int *const p = managed(32);
	copied x, y;
	bool right = true;

	x.a = 5;
	y.b[8] = 7;
	changes_its_own<<<1, 32>>>(x, p, 0.5f, y);
	right = is_clean();
	for (int i = 0; i < 32; i++) {
		right = right && p[i] == (5 + i) * 1000 + 12 + i;
	}
	return right && x.a == 5 && y.b[8] == 7;
}

// What a kernel's name does not say, or says in a way of its own: how many parameters it has.
struct has_x {
	int x;
};
template <class T>
__global__ void deduced(decltype(((T *)0)->x) a, float b, std::enable_if_t<(sizeof(T) > 2), double> c, double *y)
{
	*y = a + b + c;
}
extern "C" __global__ void without_types_in_its_name(twice e, int a, twice f, float b, twice g, double *y, twice h)
{
	*y = h(a) + b;
}

// Numbers of two words, in two registers, one, or none, and structures that are aligned by more than a stack.
struct alignas(64) far_apart {
	int v[3];
};
#ifdef __clang__
typedef long double beyond_double; // nvcc takes it for a double on one side
#else
typedef double beyond_double;
#endif
__global__ void wide(unsigned __int128 a, int b, unsigned __int128 c, unsigned __int128 d, beyond_double e, int f, float g, double *y)
{
	*y = (double)(a >> 64) + b + (double)(long)c + (double)(c >> 64) + (double)(d >> 64) + (double)e + f + g;
}
// It does not know what the compiler knows of the address.
__device__ unsigned beside(const volatile void *p) { return (unsigned)(unsigned long)p % 64; }
__global__ void aligned(char c, far_apart a, int i, far_apart b, double *y)
{
	unsigned (*volatile const by)(const volatile void *) = beside;

	*y = a.v[1] + b.v[2] + i + c + .25 * (by(&a) + by(&b));
}

// Nothing of the structure's first word travels.
struct begins_empty {
	twice e;
	double d;
};
__global__ void half_of(twice e, begins_empty a, double b, long c, begins_empty d, double *y) { *y = a.d + 10 * b + 100 * c + 1000 * d.d + a.e(0); }

// The last one is on the stack, and in the stub's frame beside the second.
__global__ void seven(int a, int b, int c, double *y, double *z, const double *x, int d)
{
	*y = a + 10 * b + 100 * c + 1000 * d + (z - x);
}

// What calls have left on the stack, far below, is no argument.
__attribute__((noinline)) static void fill_stack()
{
	volatile char left[128 << 10];

	for (volatile char &byte : left) {
		byte = -1;
	}
}

static bool arguments_of_all_kinds()
{
	const far_apart a = {{1, 2, 3}}, b = {{10, 20, 30}};
	double *y;

	fill_stack();
	cudaMallocManaged(&y, 6 * sizeof *y);
	half_of<<<1, 1>>>(twice(), {twice(), 1}, 2, 3, {twice(), 4}, y + 5);
	seven<<<1, 1>>>(1, 2, 3, y + 4, y, y, 4);
	deduced<has_x><<<1, 1>>>(3, 4.5f, 7.25, y);
	without_types_in_its_name<<<1, 1>>>(twice(), 3, twice(), 2.5f, twice(), y + 1, twice());
	wide<<<1, 1>>>((unsigned __int128)5 << 64, 6, (unsigned __int128)7 << 64 | 8, (unsigned __int128)9 << 64, 10.5L, 11, 12, y + 2);
	aligned<<<1, 1>>>(100, a, 1000, b, y + 3);
	return is_clean() && y[0] == 14.75 && y[1] == 8.5 && y[2] == 68.5 && y[3] == 1132 && y[4] == 4321 && y[5] == 4321;
}

// Copies into shared memory by a block and by its lanes, and complex numbers.
__global__ void copies(const int *from, cuDoubleComplex *z, int *out)
{
	__shared__ int all[96];
	__shared__ int4 own[32];
	const auto block = cooperative_groups::this_thread_block();
	const unsigned i = threadIdx.x;

	cooperative_groups::memcpy_async(block, all, from, 90 * sizeof *from);
	__pipeline_memcpy_async(&own[i], from + 4 * i, sizeof *own);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	cooperative_groups::wait(block);
	out[i] = all[89 - i] + own[i].w;
	if (i == 0) {
		z[2] = cuCdiv(cuCmul(z[0], z[1]), cuConj(z[1]));
		z[3] = cuComplexFloatToDouble(cuCaddf(make_cuComplex(1, 2), make_cuFloatComplex(3, 4)));
	}
}

static bool copies_into_shared_memory()
{
	int *const from = managed(128), *const out = managed(32);
	cuDoubleComplex *z;
	bool right = true;

	cudaMallocManaged(&z, 4 * sizeof *z);
	z[0] = make_cuDoubleComplex(3, 4);
	z[1] = make_cuDoubleComplex(0, 2);
	for (int i = 0; i < 128; i++) {
		from[i] = i * i;
	}
	copies<<<1, 32>>>(from, z, out);
	right = is_clean();
	for (int i = 0; i < 32; i++) {
		right = right && out[i] == (89 - i) * (89 - i) + (4 * i + 3) * (4 * i + 3);
	}
	return right && z[2].x == -3 && z[2].y == -4 && z[3].x == 4 && cuCimag(z[3]) == 6 && cuCabs(z[0]) == 5;
}

// A library that has variants by architecture (cub) launches the one that its kernels were compiled as.
__global__ void architecture(int *p)
{
#ifdef __CUDA_ARCH__
	*p = __CUDA_ARCH__;
#endif
}

static bool kernels_have_an_architecture()
{
	int *const p = managed(1);
	cudaFuncAttributes attributes;

	architecture<<<1, 1>>>(p);
	return is_clean() && !cudaFuncGetAttributes(&attributes, architecture) && *p == 10 * attributes.ptxVersion;
}

static bool empty_structures()
{
	int *const p = managed(32);
	bool right = true;

	for (int i = 0; i < 32; i++) {
		p[i] = i;
	}
	map<<<1, 32>>>(twice(), p, [] __device__(int x) { return x + 1; }, 3, twice());
	right = is_clean();
	for (int i = 0; i < 32; i++) {
		right = right && p[i] == 2 * (2 * i + 1) + 3;
	}
	return right;
}

// Of two types that differ in the sign alone the comparison is without one.
static bool least_and_most_of_two_signs()
{
	return min(-1, 1U) == 1 && min(1UL, -1L) == 1 && min(-1LL, 1ULL) == 1 && max(-1L, 1UL) == ~0UL &&
		max(1ULL, -1LL) == ~0ULL && max(1U, -1) == ~0U;
}

int main()
{
	const claim all[] = {{"lambdas", lambdas}, {"functions", functions_of_all_kinds}, {"structures", structures}, {"odd_sizes", odd_sizes}, {"structures_of_one_call", structures_of_one_call}, {"overlapping_moves", overlapping_moves},
		{"heap", heap}, {"empty_structures", empty_structures}, {"mixed_arguments", mixed_arguments}, {"copied_objects", copied_objects}, {"arguments_of_all_kinds", arguments_of_all_kinds},
		{"kernels_have_an_architecture", kernels_have_an_architecture}, {"copies_into_shared_memory", copies_into_shared_memory}, {"extents_have_names", extents_have_names},
		{"groups", groups_of_any_size}, {"intrinsics", intrinsic_functions}, {"host_threads", host_threads}, {"host_functions", host_functions},
		{"copies_in_three_dimensions", copies_in_three_dimensions}, {"one_device", one_device},
		{"arguments_of_32_kilobytes", arguments_of_32_kilobytes}, {"tiles_of_more_than_a_warp", tiles_of_more_than_a_warp},
		{"least_and_most_of_two_signs", least_and_most_of_two_signs}, {"instructions_of_the_processor", instructions_of_the_processor}};
	return all_hold(all);
}
