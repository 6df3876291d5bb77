// SPDX-License-Identifier: BSD-3-Clause
// What hipcc's compiler has beside HIP's own names: atomics with scopes, fences, sleep; and tiles that are converted.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
#include <stdio.h>

extern "C" void __builtin_amdgcn_s_sleep(int); // as programs declare it

struct all {
	int sum, data, flag, swapped, once;
	float floats;
	unsigned long long bits;
	int tile[64];
};

__global__ void use(all *a)
{
	const int me = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	cooperative_groups::thread_block_tile<16> tile =
		cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
	int expected = 7;

	__hip_atomic_fetch_add(&a->sum, 2, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	__hip_atomic_fetch_add(&a->floats, 1.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
	__hip_atomic_fetch_or(&a->bits, 1ull << me, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
	if (__hip_atomic_compare_exchange_strong(
		    &a->swapped, &expected, 8, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
		__hip_atomic_fetch_add(&a->once, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	}
	if (me == 0) {
		a->data = 5;
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
		__hip_atomic_store(&a->flag, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	}
	while (!__hip_atomic_load(&a->flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) {
		__builtin_amdgcn_s_sleep(1);
	}
	a->tile[me] = a->data + (int)tile.thread_rank();
}

int main()
{
	all *a;
	bool right;

	if (hipMallocManaged(&a, sizeof *a) != hipSuccess) {
		return 1;
	}
	*a = all();
	a->swapped = 7;
	use<<<2, 32>>>(a);
	right = hipDeviceSynchronize() == hipSuccess && a->sum == 128 && a->floats == 96 && a->bits == ~0ull && a->swapped == 8 && a->once == 1;
	for (int i = 0; i < 64; i++) {
		right = right && a->tile[i] == 5 + i % 16;
	}
	printf(right ? "right\n" : "wrong\n");
	return !right;
}
