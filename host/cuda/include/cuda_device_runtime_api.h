/* SPDX-License-Identifier: BSD-3-Clause */
/* A name of the SDK for what is in cuda_runtime.h. */
#include <cuda_runtime.h>
