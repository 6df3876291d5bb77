/* SPDX-License-Identifier: BSD-3-Clause */
#error "nvwave-nvcc does not support tensor cores (mma.h)"
