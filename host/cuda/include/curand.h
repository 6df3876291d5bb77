/* SPDX-License-Identifier: BSD-3-Clause */
/* The host API of curand is not supported. Programs that include this file may use the generators of
 * kernels (curand_kernel.h). */
#include <curand_kernel.h>
