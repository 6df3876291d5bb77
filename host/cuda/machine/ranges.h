/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the program's memory is in the machine. */
#ifndef HOST_CUDA_MACHINE_RANGES_H
#define HOST_CUDA_MACHINE_RANGES_H

#include <nvw/host.h>

#include "../recorded.h"
#include "../seam.h"

/* A new machine, with nvram_bytes of NVRAM at nvram. has_pinned: it has a device "pinned", for pinned
 * memory. spans: where those go that accesses have found (seam.h). */
void ranges_begin(struct nvw_machine *machine, struct nvw_cuda_span *spans, bool has_pinned,
	const char *nvram, uint64_t nvram_bytes);
/* Bytes of the job's persistent ranges. */
uint64_t ranges_nvram_bytes(const struct nvw_cuda_job *job);
/* Whether the machine's NVRAM and DRAM have room for the ranges that are new. */
bool ranges_have_room(const struct nvw_cuda_job *job);
/* Before a kernel: gives a place to ranges that are new, and writes to the machine what the program has
 * changed. */
NVW_CHECKED int ranges_take_over(const struct nvw_cuda_job *job);
/* After it: the program gets the lines that the kernel has touched, or will. */
void ranges_keep(void);
/* Those that it has not got yet of the range that begins there; NULL: of all. */
void ranges_give_back(const char *start);

/* Those in NVRAM, into an array with room for all of the job's; returns their number. */
size_t ranges_in_nvram(struct nvwave_kernel_range *ret_ranges);

bool ranges_have(const void *address, size_t n);
/* The machine's address of an address of the program that it has. The line is touched, also by a load:
 * what it leaves in the window may be stale. */
uint64_t ranges_locate(const void *address);

#endif
