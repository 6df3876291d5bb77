/* SPDX-License-Identifier: BSD-3-Clause */
/* What is told of a program's kernels when it ends. */
#ifndef HOST_CUDA_MACHINE_REPORT_H
#define HOST_CUDA_MACHINE_REPORT_H

#include "../seam.h"
#include "emu.h"

void report_kernel_begins(struct nvw_machine *machine, const struct nvw_cuda_job *job);
void report_kernel_ends(struct nvw_machine *machine);
/* Takes over its races. */
void report_machine_ends(struct nvw_machine *machine);
/* To the file that NVWAVE_CUDA_REPORT names, as JSON. */
void report_write(const struct emu_config *config);

#endif
