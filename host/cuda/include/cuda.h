/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's driver API is not supported: programs include this file for its version and the runtime's types. */
#include <cuda_runtime.h>
