/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies by the lanes of a group: they are made at once, and are there for all of the group behind wait(). */
#ifndef NVW_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define NVW_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include <cooperative_groups.h>

namespace cooperative_groups
{
template <class Group, class T> __device__ void nvw_copy(const Group &group, T *to, const T *from, size_t n)
{
	for (size_t i = group.thread_rank(); i < n; i += group.size()) {
		to[i] = from[i];
	}
}
template <class Group, class T>
__device__ void memcpy_async(const Group &group, T *to, const T *from, size_t bytes)
{
	nvw_copy(group, (char *)to, (const char *)from, bytes);
}
/* As many elements as both layouts have. */
template <class Group, class T>
__device__ void memcpy_async(const Group &group, T *to, size_t room, const T *from, size_t n)
{
	nvw_copy(group, to, from, n < room ? n : room);
}
template <class Group> __device__ void wait(const Group &group)
{
	group.sync();
}
template <unsigned Later, class Group> __device__ void wait_prior(const Group &group)
{
	group.sync();
}
} // namespace cooperative_groups

#endif
