/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of wavefronts, where the caller decides at each step (EMU_ORDER_ASKED in emu.h; asked.c). order.c
 * calls these.
 */
#ifndef EMU_ASKED_H
#define EMU_ASKED_H

#include "machine.h"

struct emu_asked;

/* NULL without memory, or with store buffers, with a message. */
struct emu_asked *emu_asked_create(struct nvw_machine *m, const struct emu_asker *asker);
void emu_asked_destroy(struct emu_asked *asked);
/* The number of the event that goes next. */
uint32_t emu_asked_next(struct nvw_machine *m, struct emu_asked *asked);
/* As emu_order_puts_off(), emu_order_access(). */
bool emu_asked_puts_off(struct nvw_machine *m, struct emu_asked *asked, const struct emu_wavefront *wf);
void emu_asked_access(
	struct nvw_machine *m, struct emu_asked *asked, const struct emu_wavefront *wf, uint64_t lanes);

#endif
