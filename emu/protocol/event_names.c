/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the grids' events: for nvwave list, and for the message of an event that cannot be. */
#include "protocol.h"

#define X(name, text) {#name, text},
static const struct emu_protocol_word l1_events[] = {COH_L1_EVENTS(X)}, l2_events[] = {COH_L2_EVENTS(X)};
#undef X

static const struct {
	unsigned events;
	const struct emu_protocol_word *event;
} grids[] = {
	[EMU_GRID_L1] = {COH_L1_EVENT_COUNT, l1_events},
	[EMU_GRID_L2] = {COH_L2_EVENT_COUNT, l2_events},
};

const struct emu_protocol_word *emu_protocol_event(enum emu_grid grid, unsigned event)
{
	if (event < grids[grid].events) {
		return &grids[grid].event[event];
	}
	return NULL;
}
