/* SPDX-License-Identifier: BSD-3-Clause */
/* The persist logs of machines, where the session is recorded; and what the preloaded library must know of
 * kernels (../recorded.h). */
#ifndef HOST_CUDA_MACHINE_LOGGED_H
#define HOST_CUDA_MACHINE_LOGGED_H

#include <nvw/persist_log.h>

#include "../recorded.h"
#include "emu.h"

/* While it is true, this thread's memory is the emulator's, and no library of ours watches it. */
void logged_own(bool begins);
/* The log of a new machine with so many bytes of NVRAM; NULL: nothing is recorded. */
NVW_CHECKED int logged_create(
	const struct emu_config *config, uint64_t bytes, struct nvw_log_writer **ret_log);
/* After the machine. */
void logged_close(uint64_t time_ps);
void logged_kernel_begins(const struct nvwave_kernel_range *ranges, size_t count, const void *place);
/* Its records can be read from now on. */
NVW_CHECKED int logged_kernel_ends(bool failed);

#endif
