/* SPDX-License-Identifier: BSD-3-Clause */
#error "nvwave does not support tensor cores (mma.h)"
