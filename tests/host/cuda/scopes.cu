// SPDX-License-Identifier: BSD-3-Clause
// Scopes, fences, locks and volatile data as programs get them wrong and right, one a kernel: its name says where the two work-items are, and whether
// they race. After ScoR's 32 labelled programs (kamath20, table IV), in source of our own.
#include <stdio.h>
#include <string.h>

static __device__ int flag, seen;

enum place { BETWEEN_BLOCKS = 1, BETWEEN_WARPS = 32 };

// Which of the two a work-item is: 0, 1, or -1 for those between.
template <place P> static __device__ int who()
{
	const int i = P == BETWEEN_BLOCKS ? blockIdx.x : threadIdx.x;

	return i == 0 ? 0 : i == P ? 1 : -1;
}

static __device__ void no_fence()
{
}
static __device__ void fence() { __threadfence(); }
static __device__ void fence_block() { __threadfence_block(); }

// ---- A message: data, a fence, a flag

template <place P, void order()> __global__ void message(volatile unsigned *data)
{
	if (who<P>() == 0) {
		data[0] = 1;
		order();
		atomicExch(&flag, 1);
	} else if (who<P>() == 1) {
		while (atomicExch(&flag, 0) == 0) {
		}
		seen = data[0];
	}
}

// The first one reads again what it has given away.
__global__ void reads_again(volatile unsigned *data)
{
	if (who<BETWEEN_BLOCKS>() == 0) {
		seen = data[0];
		__threadfence();
		atomicExch(&flag, 1);
		seen = data[0];
	} else {
		while (atomicExch(&flag, 0) == 0) {
		}
		data[0] = 1;
	}
}

// Through four work-items, with scopes just as wide as each step needs.
__global__ void in_steps(volatile unsigned *data)
{
	const int step = 2 * blockIdx.x + (threadIdx.x == 32);

	if (threadIdx.x % 32) {
		return;
	}
	while (atomicAdd(&flag, 0) != step) {
	}
	data[0] += 2;
	if (step == 1) {
		__threadfence();
	} else {
		__threadfence_block();
	}
	atomicExch(&flag, step + 1);
}

__global__ void atomics_in_steps(volatile unsigned *data)
{
	const int step = 2 * blockIdx.x + (threadIdx.x == 32);

	if (threadIdx.x % 32) {
		return;
	}
	while (atomicAdd(&flag, 0) != step) {
	}
	if (step % 2) {
		atomicExch((unsigned *)data, step);
		__threadfence();
	} else {
		atomicExch_block((unsigned *)data, step);
		__threadfence_block();
	}
	atomicExch(&flag, step + 1);
}

// ---- A lock; each of the two with its own scope

enum scope { NO_LOCK, BLOCK, DEVICE };

template <scope S> static __device__ void lock()
{
	if (S == BLOCK) {
		while (atomicCAS_block(&flag, 0, 1) != 0) {
		}
	} else if (S == DEVICE) {
		while (atomicCAS(&flag, 0, 1) != 0) {
		}
	}
}

template <scope S> static __device__ void unlock()
{
	if (S == BLOCK) {
		atomicExch_block(&flag, 0);
	} else if (S == DEVICE) {
		atomicExch(&flag, 0);
	}
}

template <scope S> static __device__ void whole_fence()
{
	if (S == BLOCK) {
		__threadfence_block();
	} else if (S == DEVICE) {
		__threadfence();
	}
}

template <scope S> static __device__ void locked_store(volatile unsigned *data, unsigned value)
{
	lock<S>();
	whole_fence<S>();
	data[0] = value;
	whole_fence<S>();
	unlock<S>();
}

template <place P, scope A, scope B> __global__ void locked(volatile unsigned *data)
{
	if (who<P>() == 0) {
		locked_store<A>(data, 1);
	} else if (who<P>() == 1) {
		locked_store<B>(data, 2);
	}
}

// The first one has other fences than it needs, or lacks one.
template <place P, scope A, scope B, void behind_lock(), void before_unlock()> __global__ void
badly_locked(volatile unsigned *data)
{
	if (who<P>() == 0) {
		lock<A>();
		behind_lock();
		data[0] = 1;
		before_unlock();
		unlock<A>();
	} else if (who<P>() == 1) {
		locked_store<B>(data, 2);
	}
}

__global__ void stores_behind_the_lock(volatile unsigned *data)
{
	lock<DEVICE>();
	__threadfence();
	seen = data[0];
	__threadfence();
	unlock<DEVICE>();
	if (who<BETWEEN_BLOCKS>() == 0) {
		data[0] = 1;
	}
}

// ---- Atomics, and an atomic beside a volatile store

template <scope S> static __device__ void put(volatile unsigned *data, unsigned value)
{
	if (S == NO_LOCK) {
		data[0] = value;
	} else if (S == BLOCK) {
		atomicExch_block((unsigned *)data, value);
	} else {
		atomicExch((unsigned *)data, value);
	}
}

template <place P, scope A, scope B> __global__ void puts(volatile unsigned *data)
{
	if (who<P>() == 0) {
		put<A>(data, 1);
	} else if (who<P>() == 1) {
		put<B>(data, 2);
	}
}

__global__ void alone(volatile unsigned *data)
{
	locked_store<BLOCK>(data, 1);
	lock<BLOCK>();
	data[0] = 2;
	unlock<BLOCK>();
	atomicExch_block((unsigned *)data, 1);
	data[0] = 3;
}

typedef void kernel(volatile unsigned *data);

static const struct {
	const char *name;
	int blocks, threads;
	kernel *k;
} shapes[] = {
	{"race:message-of-a-block", 2, 1, message<BETWEEN_BLOCKS, fence_block>},
	{"race:reads-again", 2, 1, reads_again},
	{"race:locks-of-blocks", 2, 1, locked<BETWEEN_BLOCKS, BLOCK, BLOCK>},
	{"race:fences-of-blocks", 2, 1, badly_locked<BETWEEN_BLOCKS, DEVICE, DEVICE, fence_block, fence_block>},
	{"race:no-fence-before-unlock", 2, 1, badly_locked<BETWEEN_BLOCKS, DEVICE, DEVICE, fence, no_fence>},
	{"race:one-without-lock", 2, 1, locked<BETWEEN_BLOCKS, DEVICE, NO_LOCK>},
	{"race:stores-behind-the-lock", 2, 1, stores_behind_the_lock},
	{"race:atomics-of-blocks", 2, 1, puts<BETWEEN_BLOCKS, BLOCK, BLOCK>},
	{"race:atomic-and-volatile", 2, 1, puts<BETWEEN_BLOCKS, DEVICE, NO_LOCK>},
	{"race:warps-no-fence-before-unlock", 1, 33, badly_locked<BETWEEN_WARPS, BLOCK, BLOCK, fence_block, no_fence>},
	{"race:warps-device-no-fence", 1, 33, badly_locked<BETWEEN_WARPS, DEVICE, BLOCK, fence, no_fence>},
	{"race:warps-one-without-lock", 1, 33, locked<BETWEEN_WARPS, DEVICE, NO_LOCK>},
	{"race:warps-one-without-block-lock", 1, 33, locked<BETWEEN_WARPS, BLOCK, NO_LOCK>},
	{"race:warps-atomic-and-volatile", 1, 33, puts<BETWEEN_WARPS, DEVICE, NO_LOCK>},
	{"race:warps-block-atomic-and-volatile", 1, 33, puts<BETWEEN_WARPS, BLOCK, NO_LOCK>},
	{"missed:no-fence-behind-lock", 2, 1, badly_locked<BETWEEN_BLOCKS, DEVICE, DEVICE, no_fence, fence>},
	{"missed:warps-no-fence-behind-lock", 1, 33, badly_locked<BETWEEN_WARPS, BLOCK, BLOCK, no_fence, fence_block>},
	{"missed:warps-device-no-fence-behind", 1, 33, badly_locked<BETWEEN_WARPS, DEVICE, BLOCK, no_fence, fence>},
	{"right:message", 2, 1, message<BETWEEN_BLOCKS, fence>},
	{"right:warps-message-of-a-block", 1, 33, message<BETWEEN_WARPS, fence_block>},
	{"right:warps-message", 1, 33, message<BETWEEN_WARPS, fence>},
	{"right:in-steps", 2, 33, in_steps},
	{"right:atomics-in-steps", 2, 33, atomics_in_steps},
	{"right:locks", 2, 1, locked<BETWEEN_BLOCKS, DEVICE, DEVICE>},
	{"right:warps-locks-of-blocks", 1, 33, locked<BETWEEN_WARPS, BLOCK, BLOCK>},
	{"right:warps-device-and-block-locks", 1, 33, locked<BETWEEN_WARPS, DEVICE, BLOCK>},
	{"right:atomics", 2, 1, puts<BETWEEN_BLOCKS, DEVICE, DEVICE>},
	{"right:warps-atomics-of-blocks", 1, 33, puts<BETWEEN_WARPS, BLOCK, BLOCK>},
	{"right:warps-device-and-block-atomics", 1, 33, puts<BETWEEN_WARPS, DEVICE, BLOCK>},
	{"right:alone", 1, 1, alone},
};

// Those of this name, or whose name begins with it and a colon. Without one, the names of those that race are listed.
int main(int, char **argv)
{
	unsigned *data;
	const int none = 0;

	for (unsigned i = 0; !argv[1] && strncmp(shapes[i].name, "race:", 5) == 0; i++) {
		printf("%s\n", shapes[i].name);
	}
	if (!argv[1]) {
		return 0;
	}
	cudaMalloc(&data, sizeof *data);
	for (const auto &s : shapes) {
		const size_t n = strlen(argv[1]);

		if (strncmp(s.name, argv[1], n) == 0 && (s.name[n] == 0 || s.name[n] == ':')) {
			cudaMemcpyToSymbol(flag, &none, sizeof none);
			s.k<<<s.blocks, s.threads>>>(data);
		}
	}
	return cudaDeviceSynchronize() != cudaSuccess;
}
