/* SPDX-License-Identifier: BSD-3-Clause */
/* GPM's annotations of accesses, which let a program emulate NVRAM's delays itself: here the machine does. */
#ifndef NVW_GPM_ANNOTATIONS_CUH
#define NVW_GPM_ANNOTATIONS_CUH

#define PMEM_READ_OP(operation, bytes)       operation;
#define PMEM_WRITE_OP(operation, bytes)      operation;
#define PMEM_READ_WRITE_OP(operation, bytes) operation;
#define CALC(base, target, bytes)            0
#define BW_DELAY(cycles)
#define OUTPUT_STATS

#endif
