/* SPDX-License-Identifier: BSD-3-Clause */
/* thrust's algorithms run on the host: its mark has memory of cudaMalloc() open to host code, and its
 * policies for CUDA are the host's. */
#ifndef NVW_CUDA_THRUST_POLICY_H
#define NVW_CUDA_THRUST_POLICY_H

#include_next <thrust/execution_policy.h>
#include <nvw_cuda_thrust.h>

namespace thrust
{
namespace system
{
namespace cuda
{
template <class Derived> using execution_policy = thrust::system::cpp::execution_policy<Derived>;
typedef thrust::system::cpp::tag tag;

struct nvw_policy : thrust::system::cpp::detail::par_t {
	constexpr __host__ __device__ nvw_policy()
	{
	}
	constexpr __host__ __device__ const nvw_policy &on(cudaStream_t) const
	{
		return *this;
	}
};
static constexpr nvw_policy par, par_nosync;
} // namespace cuda
} // namespace system
namespace cuda
{
using thrust::system::cuda::execution_policy;
using thrust::system::cuda::par;
using thrust::system::cuda::par_nosync;
using thrust::system::cuda::tag;
} // namespace cuda
} // namespace thrust

#endif
