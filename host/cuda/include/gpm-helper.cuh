/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of libgpm.cuh. */
#include "libgpm.cuh"
