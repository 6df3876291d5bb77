/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of wavefronts, where the caller decides at each step (EMU_ORDER_ASKED in emu.h; asked.c). order.c
 * calls these.
 */
#ifndef EMU_ASKED_H
#define EMU_ASKED_H

#include "../machine.h"

struct emu_asked;

/* What order.c knows of accesses: how often a word has changed; the first and last word of a request's bytes,
 * false for an address that is none; whether the lane's last request has changed memory. */
struct emu_asked_words {
	uint32_t (*version)(const struct nvw_machine *m, uint64_t word);
	bool (*at)(const struct nvw_machine *m, uint64_t address, uint64_t size, uint64_t *ret_first,
		uint64_t *ret_last);
	bool (*changes)(const struct emu_wavefront *wf, unsigned lane);
};

/* NULL without memory, or with store buffers, with a message. words is the caller's. */
struct emu_asked *emu_asked_create(
	struct nvw_machine *m, const struct emu_asker *asker, const struct emu_asked_words *words);
void emu_asked_destroy(struct emu_asked *asked);
/* The number of the event that goes next. */
uint32_t emu_asked_next(struct nvw_machine *m, struct emu_asked *asked);
/* As emu_order_puts_off(), emu_order_access(). */
bool emu_asked_puts_off(struct nvw_machine *m, struct emu_asked *asked, const struct emu_wavefront *wf);
void emu_asked_access(
	struct nvw_machine *m, struct emu_asked *asked, const struct emu_wavefront *wf, uint64_t lanes);

#endif
