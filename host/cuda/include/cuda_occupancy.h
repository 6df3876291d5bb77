/* SPDX-License-Identifier: BSD-3-Clause */
/* For libraries that include it: occupancy itself is asked for by the host API (cuda_runtime.h). */
#ifndef NVW_CUDA_OCCUPANCY_H
#define NVW_CUDA_OCCUPANCY_H

#include <cuda_runtime.h>

#endif
