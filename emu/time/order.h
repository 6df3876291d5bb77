/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of wavefronts, where a seed decides instead of time (emu_set_order in emu.h), and the order of
 * conflicting accesses that results. m->order is NULL where nobody asked.
 */
#ifndef EMU_ORDER_H
#define EMU_ORDER_H

#include "../machine.h"
#include "../observe/record.h"

/* Whether another wavefront goes first: then this one, whose lanes have posted requests, is offered again. An
 * error of the run if it has too many turns. */
bool emu_order_puts_off(struct nvw_machine *m, const struct emu_wavefront *wf);
/* The lanes' memory instruction has been executed; their requests hold its results. */
void emu_order_access(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
/* A persist barrier is complete, or of a model whose barriers do not wait, has been met. */
void emu_order_barrier(struct nvw_machine *m, const struct record_barrier *barrier);
void emu_order_finish(struct nvw_machine *m);

#endif
