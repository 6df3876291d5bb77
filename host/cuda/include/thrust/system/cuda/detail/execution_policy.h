/* SPDX-License-Identifier: BSD-3-Clause */
/* Cub needs thrust::cuda_cub of this header. Its names in thrust::cuda are others here: policies for CUDA are
 * the host's (thrust/execution_policy.h). */
#ifndef NVW_CUDA_THRUST_CUB_POLICY_H
#define NVW_CUDA_THRUST_CUB_POLICY_H

#include <thrust/detail/allocator_aware_execution_policy.h>
#include <thrust/detail/config.h>
#include <thrust/detail/dependencies_aware_execution_policy.h>
#include <thrust/detail/execution_policy.h>
#include <thrust/iterator/detail/any_system_tag.h>
#include <thrust/system/cuda/config.h>

#define cuda nvw_cub
#include_next <thrust/system/cuda/detail/execution_policy.h>
#undef cuda

#endif
