/* SPDX-License-Identifier: BSD-3-Clause */
/* What the compiler would take for something else says at each use that it is not supported. nvwave-nvcc
 * names what it does not know. */
#ifndef NVW_CUDA_REFUSED_H
#define NVW_CUDA_REFUSED_H

#define NVW_CUDA_REFUSED(what) __attribute__((unavailable("nvwave does not support " what)))

#endif
