/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The race detector: are a kernel's conflicting accesses ordered according to the memory model? It watches
 * instructions and barriers in the order in which the emulator executes them, takes no simulated time, and
 * does not depend on caches. docs/races.md defines races; the results are in emu.h.
 *
 * All functions do nothing on a machine without a detector. When memory runs out they end the run (m->error).
 */
#ifndef EMU_RACES_H
#define EMU_RACES_H

#include "../machine.h"

void races_finish(struct nvw_machine *m);

/* A kernel begins: everything before it is ordered before everything in it. */
void races_launch(struct nvw_machine *m);
/* The lanes' memory instruction has been executed; their requests hold its results. */
void races_access(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
/* A barrier of the work-group, or of the kernel, has opened. */
void races_group_barrier(struct nvw_machine *m, const struct emu_group *group);
void races_kernel_barrier(struct nvw_machine *m);
/* The group's work-items have returned: their clocks are no longer needed. */
void races_group_finish(struct nvw_machine *m, const struct emu_group *group);

#endif
