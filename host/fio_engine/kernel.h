/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Block I/O as a kernel. One I/O is one work-group, whose work-items copy it word by word, in parallel,
 * between a buffer in DRAM and the NVRAM: an instruction of a wavefront moves 512 contiguous bytes. All I/Os
 * submitted together are one kernel.
 *
 * A durable write ends with a persist barrier of its work-group or, with NVW_KERNEL, of the kernel, after
 * which one work-item acknowledges it.
 */
#ifndef FIO_ENGINE_KERNEL_H
#define FIO_ENGINE_KERNEL_H

#include <nvw/kernel.h>

/* A seeded bug, which the crash tester must find. */
#define BLOCK_FAULTS(X)                                                       \
	X(NONE, "none", "the engine as it is")                                \
	X(NO_BARRIER, "no-barrier", "acknowledges without a persist barrier") \
	X(NARROW_BARRIER, "narrow-barrier", "sync=1: each work-item waits for its own stores alone")
#define X(name, text, help) BLOCK_FAULT_##name,
enum block_fault { BLOCK_FAULTS(X) BLOCK_FAULT_COUNT };
#undef X

/* One I/O of a kernel. */
struct block_copy {
	const uint64_t *from; /* device addresses */
	uint64_t *to;
	uint64_t words;
	bool durable; /* a write that ends with a persist barrier and an acknowledgement */
	uint64_t op;  /* its number, if durable */
};

struct block_args {
	const struct block_copy *copies; /* one per work-group */
	enum nvw_group scope; /* of the persist barrier; NVW_KERNEL: every work-group arrives at it */
	bool any_durable;     /* any of the copies is durable */
	enum block_fault fault;
};

/* The kernel; args is a struct block_args. */
void block_kernel(const void *args);

#endif
