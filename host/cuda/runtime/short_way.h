/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of a kernel's plain access to the machine (seam.h): hooks.S, pending.S and what
 * compiler/coroutines.c makes go it, with what this header tells of C's structures.
 *
 * There are thousands of lanes, and their stacks are cold whenever they resume. So the way from the compiled
 * kernel to the machine's issue is one call deep, and has little to remember.
 */
#ifndef HOST_CUDA_RUNTIME_SHORT_WAY_H
#define HOST_CUDA_RUNTIME_SHORT_WAY_H

/* struct nvw_cuda_span, found by its number times its size. */
#define NVW_CUDA_SPAN_START   0
#define NVW_CUDA_SPAN_BYTES   8
#define NVW_CUDA_SPAN_AT      16
#define NVW_CUDA_SPAN_TOUCHED 24
#define NVW_CUDA_SPAN_SHIFT   7
#define NVW_CUDA_SPAN_MASK    0x7e0
#define NVW_CUDA_LINE_SHIFT   6

/* struct nvw_cuda_short_way */
#define NVW_CUDA_WAY_SELF  2048
#define NVW_CUDA_WAY_ISSUE 2056

/* struct nvw__request */
#define NVW_CUDA_REQUEST_ADDRESS 0
#define NVW_CUDA_REQUEST_VALUE   512
#define NVW_CUDA_REQUEST_COMPARE 1024
#define NVW_CUDA_REQUEST_SITE    1536
#define NVW_CUDA_REQUEST_OP      2048

/* struct nvw_cuda_pending */
#define NVW_CUDA_PENDING_ADDRESS  0
#define NVW_CUDA_PENDING_PLACE    8
#define NVW_CUDA_PENDING_N        16
#define NVW_CUDA_PENDING_VOLATILE 24
#define NVW_CUDA_PENDING_FROM     32
#define NVW_CUDA_PENDING_AT       40
#define NVW_CUDA_PENDING_SITE     48
#define NVW_CUDA_PENDING_OP       56

/* struct nvw_cuda_lanes; struct emu_turn */
#define NVW_CUDA_LANES_SPAN       0
#define NVW_CUDA_LANES_TURN       8
#define NVW_CUDA_TURN_END         24
#define NVW_CUDA_TURN_FRAME_BYTES 32

/* struct launch, struct item, struct group; DYNAMIC_MAX */
#define NVW_CUDA_LAUNCH_DYNAMIC 72
#define NVW_CUDA_ITEM_GROUP     16
#define NVW_CUDA_GROUP_PLACES   104
#define NVW_CUDA_DYNAMIC_MAX    163840

#define NVW_CUDA_OP_LOAD  0
#define NVW_CUDA_OP_STORE 2

/* NVW_CUDA_POISON, eight times */
#define NVW_CUDA_POISON_WORD 0xa5a5a5a5a5a5a5a5

/* Source lines that were asked for last, by the lowest byte of the calling place. */
#define NVW_CUDA_KNOWN_SITES 256

#endif
