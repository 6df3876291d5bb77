/* SPDX-License-Identifier: BSD-3-Clause */
/* thrust's algorithms run on the host: its mark has memory of cudaMalloc() open to host code. */
#include_next <thrust/device_ptr.h>
#include <nvw_cuda_thrust.h>
