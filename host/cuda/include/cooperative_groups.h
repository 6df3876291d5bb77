/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cooperative groups: the block, the grid (of cudaLaunchCooperativeKernel), tiles, and the lanes that are
 * active. Not: groups of several devices, and clusters.
 */
#ifndef NVW_CUDA_COOPERATIVE_GROUPS_H
#define NVW_CUDA_COOPERATIVE_GROUPS_H

#include <cuda_runtime.h>

extern "C" __device__ void nvw_cuda_grid_barrier(void) __attribute__((convergent));

namespace cooperative_groups
{
/* Where some work-items wait for each other: the last to arrive of those expected begins the next phase. */
struct nvw_meeting {
	unsigned phase, expected, missing;

	__device__ unsigned arrive(unsigned n = 1)
	{
		const unsigned now = __atomic_load_n(&phase, __ATOMIC_RELAXED);

		if (__atomic_fetch_sub(&missing, n, __ATOMIC_ACQ_REL) == n) {
			__atomic_store_n(
				&missing, __atomic_load_n(&expected, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
			__atomic_store_n(&phase, now + 1, __ATOMIC_RELEASE);
		}
		return now;
	}
	__device__ void wait(unsigned of) const
	{
		while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == of) {
		}
	}
};
/* What tiles of more than a warp share, by the number of the tile's first warp and by warp. */
struct nvw_tile_memory {
	nvw_meeting meeting[32];
	unsigned long long value[32];
};

struct thread_block {
	nvw_tile_memory *tiles = nullptr;

	static __device__ void sync()
	{
		__syncthreads();
	}
	static __device__ unsigned thread_rank()
	{
		return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	}
	static __device__ unsigned size()
	{
		return blockDim.x * blockDim.y * blockDim.z;
	}
	static __device__ unsigned num_threads()
	{
		return size();
	}
	static __device__ dim3 group_index()
	{
		return blockIdx;
	}
	static __device__ dim3 thread_index()
	{
		return threadIdx;
	}
	static __device__ dim3 group_dim()
	{
		return blockDim;
	}
	static __device__ dim3 dim_threads()
	{
		return blockDim;
	}
};

struct grid_group {
	static __device__ void sync()
	{
		nvw_cuda_grid_barrier();
	}
	static __device__ bool is_valid()
	{
		return true;
	}
	static __device__ unsigned long long block_rank()
	{
		return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	}
	static __device__ unsigned long long num_blocks()
	{
		return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
	}
	static __device__ unsigned long long thread_rank()
	{
		return block_rank() * thread_block::size() + thread_block::thread_rank();
	}
	static __device__ unsigned long long size()
	{
		return num_blocks() * thread_block::size();
	}
	static __device__ unsigned long long num_threads()
	{
		return size();
	}
	static __device__ dim3 group_dim()
	{
		return gridDim;
	}
};

/* What groups within a warp have in common: the lanes of a mask. */
struct nvw_lanes {
	unsigned lanes;

	__device__ unsigned thread_rank() const
	{
		return (unsigned)__popc(lanes & ((1u << nvw_cuda_lane()) - 1));
	}
	__device__ unsigned size() const
	{
		return (unsigned)__popc(lanes);
	}
	__device__ unsigned num_threads() const
	{
		return size();
	}
	__device__ void sync() const
	{
		__syncwarp(lanes);
	}
	__device__ int any(int predicate) const
	{
		return __any_sync(lanes, predicate);
	}
	__device__ int all(int predicate) const
	{
		return __all_sync(lanes, predicate);
	}
	__device__ unsigned ballot(int predicate) const
	{
		return packed(__ballot_sync(lanes, predicate));
	}
	template <class T> __device__ unsigned match_any(T value) const
	{
		return packed(__match_any_sync(lanes, value));
	}
	template <class T> __device__ T shfl(T value, unsigned from) const
	{
		return nvw_cuda_shuffle(lanes, value, lane_of(from));
	}
	template <class T> __device__ T shfl_up(T value, unsigned by) const
	{
		const unsigned rank = thread_rank();

		return nvw_cuda_shuffle(lanes, value, lane_of(rank >= by ? rank - by : rank));
	}
	template <class T> __device__ T shfl_down(T value, unsigned by) const
	{
		const unsigned rank = thread_rank();

		return nvw_cuda_shuffle(lanes, value, lane_of(rank + by < size() ? rank + by : rank));
	}
	template <class T> __device__ T shfl_xor(T value, unsigned with) const
	{
		const unsigned rank = thread_rank();

		return nvw_cuda_shuffle(lanes, value, lane_of((rank ^ with) < size() ? rank ^ with : rank));
	}
	__device__ unsigned lane_of(unsigned rank) const
	{
		unsigned rest = lanes;

		for (rank %= size(); rank; rank--) {
			rest &= rest - 1;
		}
		return (unsigned)__ffs((int)rest) - 1;
	}
	/* The bits of the lanes, one after the other. */
	__device__ unsigned packed(unsigned bits) const
	{
		unsigned result = 0, at = 0;

		for (unsigned rest = lanes; rest; rest &= rest - 1, at++) {
			result |= (bits & rest & -rest ? 1u : 0u) << at;
		}
		return result;
	}
};

struct coalesced_group : nvw_lanes {
	__device__ explicit coalesced_group(unsigned mask) : nvw_lanes{mask}
	{
	}
	__device__ unsigned meta_group_size() const
	{
		return 1;
	}
	__device__ unsigned meta_group_rank() const
	{
		return 0;
	}
};

template <unsigned Size> struct nvw_tile : nvw_lanes {
	__device__ nvw_tile(const nvw_tile_memory *)
	    : nvw_lanes{(Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1) << (nvw_cuda_lane() & ~(Size - 1))}
	{
	}
	__device__ unsigned thread_rank() const
	{
		return nvw_cuda_lane() & (Size - 1);
	}
	template <class T> __device__ T shfl(T value, unsigned from) const
	{
		return __shfl_sync(lanes, value, (int)from, Size);
	}
	template <class T> __device__ T shfl_up(T value, unsigned by) const
	{
		return __shfl_up_sync(lanes, value, by, Size);
	}
	template <class T> __device__ T shfl_down(T value, unsigned by) const
	{
		return __shfl_down_sync(lanes, value, by, Size);
	}
	template <class T> __device__ T shfl_xor(T value, unsigned with) const
	{
		return __shfl_xor_sync(lanes, value, (int)with, Size);
	}
	__device__ unsigned ballot(int predicate) const
	{
		return __ballot_sync(lanes, predicate) >> (nvw_cuda_lane() & ~(Size - 1));
	}
	template <class T> __device__ unsigned match_any(T value) const
	{
		return __match_any_sync(lanes, value) >> (nvw_cuda_lane() & ~(Size - 1));
	}
};

template <unsigned Size> struct nvw_wide_tile {
	nvw_tile_memory *memory;

	__device__ nvw_wide_tile(nvw_tile_memory *memory) : memory(memory)
	{
	}
	static __device__ unsigned thread_rank()
	{
		return thread_block::thread_rank() & (Size - 1);
	}
	static __device__ unsigned first_warp()
	{
		return (thread_block::thread_rank() & ~(Size - 1)) / 32;
	}
	__device__ void sync() const
	{
		nvw_meeting *const meeting = &memory->meeting[first_warp()];

		meeting->wait(meeting->arrive());
	}
	template <class T> __device__ T shfl(T value, unsigned from) const
	{
		return exchange(value, thread_rank() == from % Size, from / 32 % (Size / 32));
	}
	/* Some store a value for their warp, all get that of one. */
	template <class T> __device__ T exchange(T value, bool stores, unsigned warp) const
	{
		static_assert(
			sizeof value <= 8, "tiles of more than a warp exchange values of at most 8 bytes");
		sync();
		if (stores) {
			memcpy(&memory->value[thread_block::thread_rank() / 32], &value, sizeof value);
		}
		sync();
		memcpy(&value, &memory->value[first_warp() + warp], sizeof value);
		return value;
	}
	__device__ int any(int predicate) const
	{
		return reduce(__any_sync(0xffffffff, predicate), [](int a, int b) { return a | b; });
	}
	__device__ int all(int predicate) const
	{
		return !any(!predicate);
	}
	template <class T, class Operation> __device__ T reduce(T own, Operation operation) const
	{
		T result = exchange(own, nvw_cuda_lane() == 0, 0);

		for (unsigned warp = 1; warp < Size / 32; warp++) {
			memcpy(&own, &memory->value[first_warp() + warp], sizeof own);
			result = operation(result, own);
		}
		return result;
	}
};

template <bool Wide, unsigned Size> struct nvw_tile_of {
	typedef nvw_tile<Size> type;
};
template <unsigned Size> struct nvw_tile_of<true, Size> {
	typedef nvw_wide_tile<Size> type;
};
template <unsigned Size, class Parent = void>
struct thread_block_tile : nvw_tile_of<(Size > 32), Size>::type {
	static_assert(
		Size && Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4 ... 1024 work-items");
	typedef typename nvw_tile_of<(Size > 32), Size>::type base;

	unsigned parent; /* the size of the group that it is a part of */

	template <class Other>
	__device__ thread_block_tile(const thread_block_tile<Size, Other> &other)
	    : base(other), parent(other.parent)
	{
	}
	__device__ explicit thread_block_tile(unsigned parent, nvw_tile_memory *memory = nullptr)
	    : base(memory), parent(parent)
	{
	}
	static constexpr __device__ unsigned size()
	{
		return Size;
	}
	static constexpr __device__ unsigned num_threads()
	{
		return Size;
	}
	__device__ unsigned meta_group_rank() const
	{
		return thread_block::thread_rank() % parent / Size;
	}
	__device__ unsigned meta_group_size() const
	{
		return (parent + Size - 1) / Size;
	}
};

/* Any of them: the block, or lanes of a warp. */
class thread_group
{
	unsigned lanes; /* 0: the block */

      public:
	__device__ thread_group(const thread_block &) : lanes(0)
	{
	}
	__device__ thread_group(const nvw_lanes &other) : lanes(other.lanes)
	{
	}
	__device__ void sync() const
	{
		if (lanes) {
			__syncwarp(lanes);
		} else {
			__syncthreads();
		}
	}
	__device__ unsigned long long size() const
	{
		return lanes ? (unsigned)__popc(lanes) : thread_block::size();
	}
	__device__ unsigned long long num_threads() const
	{
		return size();
	}
	__device__ unsigned long long thread_rank() const
	{
		return lanes ? nvw_lanes{lanes}.thread_rank() : thread_block::thread_rank();
	}
};

NVW_CUDA_INLINE thread_block this_thread_block()
{
	return thread_block();
}
NVW_CUDA_INLINE grid_group this_grid()
{
	return grid_group();
}
NVW_CUDA_INLINE coalesced_group coalesced_threads()
{
	return coalesced_group(__activemask());
}
template <unsigned Size, class Parent>
__device__ thread_block_tile<Size, Parent> tiled_partition(const Parent &group)
{
	static_assert(Size <= 32, "tiles of more than a warp are parts of a block");
	return thread_block_tile<Size, Parent>((unsigned)group.size());
}
template <unsigned Size>
__device__ thread_block_tile<Size, thread_block> tiled_partition(const thread_block &block)
{
	if (Size > 32) {
		const unsigned rank = block.thread_rank();

		if (rank % Size == 0) {
			block.tiles->meeting[rank / 32] = {0, Size, Size};
		}
		block.sync();
	}
	return thread_block_tile<Size, thread_block>(block.size(), block.tiles);
}
/* Tiles of a size that is known when it runs: a power of two, at most a warp. */
NVW_CUDA_INLINE thread_group tiled_partition(const thread_group &, unsigned size)
{
	const unsigned lane = nvw_cuda_lane();

	return nvw_lanes{(size >= 32 ? 0xffffffffu : (1u << size) - 1) << (lane & ~(size - 1))};
}
/* The lanes of a group that have the same label as the caller. */
struct nvw_part : coalesced_group {
	using coalesced_group::coalesced_group;
	NVW_CUDA_REFUSED("numbers of parts by label") __device__ unsigned meta_group_size() const;
	NVW_CUDA_REFUSED("numbers of parts by label") __device__ unsigned meta_group_rank() const;
};
template <class Label> __device__ nvw_part labeled_partition(const nvw_lanes &group, Label label)
{
	return nvw_part(__match_any_sync(group.lanes, label));
}
NVW_CUDA_INLINE nvw_part binary_partition(const nvw_lanes &group, bool predicate)
{
	return labeled_partition(group, (int)predicate);
}
template <unsigned Threads> struct block_tile_memory : nvw_tile_memory {
};
template <unsigned Threads> __device__ thread_block this_thread_block(block_tile_memory<Threads> &memory)
{
	return thread_block{&memory};
}
template <class Group> __device__ void sync(const Group &group)
{
	group.sync();
}

/* Reductions of groups within a warp. */
template <class T> struct plus {
	__device__ T operator()(T a, T b) const
	{
		return a + b;
	}
};
template <class T> struct less {
	__device__ T operator()(T a, T b) const
	{
		return b < a ? b : a;
	}
};
template <class T> struct greater {
	__device__ T operator()(T a, T b) const
	{
		return a < b ? b : a;
	}
};
template <class Group, class T, class Operation>
__device__ T reduce(const Group &group, T value, Operation operation)
{
	T result = group.shfl(value, 0);

	for (unsigned i = 1; i < group.size(); i++) {
		result = operation(result, group.shfl(value, i));
	}
	return result;
}
template <unsigned Size, class Parent, class T, class Operation>
__device__ auto reduce(const thread_block_tile<Size, Parent> &tile, T value, Operation operation)
	-> decltype(tile.nvw_wide_tile<Size>::reduce(value, operation))
{
	return tile.nvw_wide_tile<Size>::reduce(
		reduce(thread_block_tile<32>(Size), value, operation), operation);
}
} // namespace cooperative_groups

#endif
