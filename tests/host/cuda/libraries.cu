// SPDX-License-Identifier: BSD-3-Clause
// libcu++'s atomics, barriers and pipelines, cub's functions of a block and of a device, and curand's generators in kernels. The program checks itself.
#include <stdio.h>

#include <cub/cub.cuh>
#include <cuda/atomic>
#include <cuda/pipeline>
#include <curand_kernel.h>
#include <memory>

using device_atomic = cuda::atomic<int, cuda::thread_scope_device>;

__device__ device_atomic total;

struct results {
	int data, flag[31], handed, total, sums[2], reduced, swapped;
	int scan[64];
	float uniform[10];
	unsigned skipped[2];
	int met[64], piped[64];
	bool philox;
};

// A block hands a value over by release and acquire; all count, in three scopes.
__global__ void atomics(results *r, device_atomic *flag)
{
	__shared__ cuda::atomic<int, cuda::thread_scope_block> own;

	if (threadIdx.x == 0) {
		own.store(0, cuda::std::memory_order_relaxed);
	}
	__syncthreads();
	own.fetch_add(1, cuda::memory_order_relaxed);
	total++;
	if (blockIdx.x == 1 && threadIdx.x == 0) {
		r->data = 42;
		flag->store(1, cuda::memory_order_release);
	}
	if (blockIdx.x == 0 && threadIdx.x == 0) {
		while (!flag->load(cuda::memory_order_acquire)) {
		}
		r->handed = r->data;
	}
	cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
	__syncthreads();
	if (threadIdx.x == 0) {
		cuda::atomic_ref<int, cuda::thread_scope_system> sum(r->sums[blockIdx.x]), swapped(r->swapped);
		int expected = 0;

		sum.fetch_add(own.load());
		swapped.compare_exchange_strong(expected, 7, cuda::memory_order_acq_rel);
	}
}

__global__ void counts(results *r) { r->total = total.load(); }

__global__ void blocks(results *r)
{
	typedef cub::BlockReduce<int, 64> reduce;
	typedef cub::BlockScan<int, 64> scan;
	__shared__ union {
		typename reduce::TempStorage r;
		typename scan::TempStorage s;
	} t;
	const int sum = reduce(t.r).Sum((int)threadIdx.x);
	int before;

	__syncthreads();
	scan(t.s).ExclusiveSum((int)threadIdx.x, before);
	r->scan[threadIdx.x] = before;
	if (threadIdx.x == 0) {
		r->reduced = sum;
	}
}

__global__ void numbers(results *r)
{
	const unsigned i = threadIdx.x;
	curandState a, b;

	curand_init(1234, i, 0, &a);
	r->uniform[i] = curand_uniform(&a);
	curand_init(1234, i, 1, &b);
	if (i == 3) {
		r->skipped[0] = curand(&a);
		r->skipped[1] = curand(&b);
	}
}

// The known answers of Philox4x32-10 that its authors publish (Random123's kat_vectors), and that its calls agree on where they are.
__global__ void philox(results *r)
{
	static const unsigned answers[3][4] = {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
	static const unsigned long long key[3] = {0, ~0ull, 0x299f31d0a4093822}, low[3] = {0, ~0ull, 0x85a308d3243f6a88}, high[3] = {0, ~0ull, 0x0370734413198a2e};
	curandStatePhilox4_32_10_t s, t;

	r->philox = true;
	for (int i = 0; i < 3; i++) {
		curand_init(key[i], high[i], 4 * (low[i] % 4), &s);
		for (int times = 0; times < 4; times++) {
			skipahead(low[i] & ~3ull, &s); // a quarter of it, in blocks
		}
		for (int k = 0; k < 4; k++) {
			r->philox = r->philox && curand(&s) == answers[i][k];
		}
	}
	curand_init(5, 7, 0, &s);
	for (int i = 0; i < 6; i++) {
		curand(&s);
	}
	curand_init(5, 0, 6, &t);
	skipahead_sequence(7, &t);
	const uint4 four = curand4(&t);
	r->philox = r->philox && curand(&s) == four.x && curand(&s) == four.y && curand(&s) == four.z && curand(&s) == four.w && curand(&s) == curand(&t);
	const float4 u = curand_uniform4(&t), v = {curand_uniform(&s), curand_uniform(&s), curand_uniform(&s), curand_uniform(&s)};
	r->philox = r->philox && u.x == v.x && u.y == v.y && u.z == v.z && u.w == v.w && curand_normal4(&s).w == curand_normal4(&t).w;
}

// All arrive ten times, and each sees what another has stored before.
__global__ void meets(results *r)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> all;
	__shared__ int stored[64];
	int seen = 0;

	if (threadIdx.x == 0) {
		init(&all, blockDim.x);
	}
	__syncthreads();
	for (int i = 0; i < 10; i++) {
		stored[threadIdx.x] = threadIdx.x + i;
		all.wait(all.arrive());
		seen += stored[63 - threadIdx.x];
		all.arrive_and_wait();
	}
	r->met[threadIdx.x] = seen;
}

// One warp copies by two places, the other adds what it finds there.
__global__ void pipes(results *r)
{
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
	__shared__ int place[2][32];
	const bool copies = threadIdx.x < 32;
	auto pipe = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state, copies ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
	int sum = 0;

	for (int i = 0; i < 10; i++) {
		if (copies) {
			pipe.producer_acquire();
			cuda::memcpy_async(&place[i % 2][threadIdx.x], &r->scan[threadIdx.x + i], cuda::aligned_size_t<4>(sizeof(int)), pipe);
			pipe.producer_commit();
		} else {
			pipe.consumer_wait();
			sum += place[i % 2][63 - threadIdx.x];
			pipe.consumer_release();
		}
	}
	r->piped[threadIdx.x] = sum;
}

// Sums of a whole device: cub asks for memory, then launches.
static bool device_sums()
{
	enum { N = 1000 };
	int *numbers, *sum;
	void *room = NULL;
	size_t bytes = 0;
	bool right;

	cudaMallocManaged(&numbers, N * sizeof *numbers);
	cudaMallocManaged(&sum, sizeof *sum);
	for (int i = 0; i < N; i++) {
		numbers[i] = i;
	}
	right = !cub::DeviceReduce::Sum(NULL, bytes, numbers, sum, (int)N) && !cudaMalloc(&room, bytes) &&
		!cub::DeviceReduce::Sum(room, bytes, numbers, sum, (int)N) && !cudaDeviceSynchronize();
	return right && *sum == N * (N - 1) / 2;
}

int main()
{
	// What NVIDIA prints for the host API's default generator with seed 1234: the first number of each sequence.
	static const char *const published = "0.1455 0.8202 0.5504 0.2948 0.9147 0.8690 0.3219 0.7829 0.0113 0.2855 ";
	char numbers_here[80] = "";
	results *r;
	auto owned = std::make_shared<int>(0); // libstdc++ in host code
	int &wrong = *owned;

	cudaMallocManaged(&r, sizeof *r);
	cudaMemset(r, 0, sizeof *r);
	atomics<<<2, 64>>>(r, (device_atomic *)&r->flag[16]);
	counts<<<1, 1>>>(r);
	blocks<<<1, 64>>>(r);
	numbers<<<1, 10>>>(r);
	philox<<<1, 1>>>(r);
	meets<<<1, 64>>>(r);
	pipes<<<1, 64>>>(r);
	wrong |= cudaDeviceSynchronize() != cudaSuccess;
	wrong |= (r->handed != 42 || r->total != 128 || r->sums[0] != 64 || r->sums[1] != 64 || r->swapped != 7) << 1;
	wrong |= (r->reduced != 63 * 32 || r->scan[63] != 62 * 63 / 2 || r->scan[5] != 10) << 2;
	for (int i = 0; i < 10; i++) {
		sprintf(numbers_here + 7 * i, "%.4f ", r->uniform[i]);
	}
	wrong |= (strcmp(numbers_here, published) || r->skipped[0] != r->skipped[1] || !r->philox) << 3;
	wrong |= !device_sums() << 4;
	wrong |= (r->met[0] != 10 * 63 + 45 || r->met[63] != 45 || r->piped[0] != 0 || r->piped[63] != 120 || r->piped[32] != 6165) << 5;
	printf(wrong ? "wrong: %d\n" : "right\n", wrong);
	return wrong;
}
