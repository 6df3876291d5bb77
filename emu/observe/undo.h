/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule of the undo log: in an epoch, a store to a persistent word that the epoch has not logged is not
 * taken back by recovery. Watched are the instructions of work-items that are in an epoch of a stream which
 * uses the log. It takes no simulated time; the results are in emu.h, docs/crash-testing.md defines the rule.
 */
#ifndef EMU_UNDO_H
#define EMU_UNDO_H

#include "../machine.h"

/* The callers look whether there is a check (m->undo). When memory runs out, it ends the run (m->error). */

/* The lanes issue a memory instruction. A compare-exchange is not looked at before it is known what it
 * did. */
void emu_undo_issue(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
/* It has been executed: the requests hold its results. */
void emu_undo_served(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
void emu_undo_finish(struct nvw_machine *m);

#endif
