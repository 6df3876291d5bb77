/* SPDX-License-Identifier: BSD-3-Clause */
/* The mark of a program with thrust, for the runtime. */
#ifndef NVW_CUDA_THRUST_H
#define NVW_CUDA_THRUST_H

#include <iostream> /* as thrust for CUDA does: programs count on it */

#ifndef __CUDA_ARCH__
extern "C" __attribute__((weak)) int nvw_cuda_has_thrust;
int nvw_cuda_has_thrust = 1;
#endif

#endif
