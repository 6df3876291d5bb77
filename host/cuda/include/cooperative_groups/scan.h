/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans of groups within a warp. */
#ifndef NVW_CUDA_COOPERATIVE_GROUPS_SCAN_H
#define NVW_CUDA_COOPERATIVE_GROUPS_SCAN_H

#include <cooperative_groups.h>

namespace cooperative_groups
{
template <class Group, class T, class Operation>
__device__ T inclusive_scan(const Group &group, T value, Operation operation)
{
	T result = value;

	for (unsigned by = 1; by < group.size(); by *= 2) {
		const T before = group.shfl_up(result, by);

		result = group.thread_rank() >= by ? operation(before, result) : result;
	}
	return result;
}
template <class Group, class T> __device__ T inclusive_scan(const Group &group, T value)
{
	return inclusive_scan(group, value, plus<T>());
}
/* The first one gets a T(). */
template <class Group, class T, class Operation>
__device__ T exclusive_scan(const Group &group, T value, Operation operation)
{
	const T before = group.shfl_up(inclusive_scan(group, value, operation), 1);

	return group.thread_rank() ? before : T();
}
template <class Group, class T> __device__ T exclusive_scan(const Group &group, T value)
{
	return exclusive_scan(group, value, plus<T>());
}
} // namespace cooperative_groups

#endif
