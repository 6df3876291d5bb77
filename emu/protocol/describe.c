/* SPDX-License-Identifier: BSD-3-Clause */
/* A protocol's tables as texts: what nvwave list prints. */
#include "core/each.h"
#include "core/invariant.h"

#include "../observe/names.h"
#include "protocol.h"

#include <stdio.h>

_Static_assert((int)EMU_ROW_ACTIONS == (int)COH_STEPS_MAX, "a row is shown whole");
_Static_assert(EMU_CELL_ACTIONS == sizeof((struct coh_cell){0}.actions) / sizeof(coh_line_action),
	"a cell is shown whole");

/* ---- Grids --------------------------------------------------------------------------------- */

const char *emu_protocol_state(const char *protocol, enum emu_grid grid, unsigned state)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);

	if (p && grid == EMU_GRID_L1 && state < p->l1_state_count) {
		return p->l1_states[state];
	}
	if (p && grid == EMU_GRID_L2 && state < p->l2_state_count) {
		return p->l2_states[state];
	}
	return NULL;
}

bool emu_protocol_cell(const char *protocol, enum emu_grid grid, unsigned state, unsigned event,
	struct emu_protocol_cell *ret_cell)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);
	const struct coh_cell *cell;
	unsigned events = COH_L2_EVENT_COUNT;

	*ret_cell = (struct emu_protocol_cell){0};
	if (!emu_protocol_state(protocol, grid, state) || !emu_protocol_event(grid, event)) {
		return false;
	}
	cell = p->l2;
	if (grid == EMU_GRID_L1) {
		cell = p->l1;
		events = COH_L1_EVENT_COUNT;
	}
	cell += state * events + event;
	if (!cell->possible) {
		return false;
	}
	for (unsigned i = 0; i < NVW_COUNT(cell->actions) && cell->actions[i]; i++) {
		ret_cell->actions[i] = coh_line_action_word(cell->actions[i])->name;
	}
	ret_cell->next = emu_protocol_state(protocol, grid, cell->next);
	return true;
}

/* ---- Instructions -------------------------------------------------------------------------- */

#define X(name, text) text,
static const char *const instructions[] = {COH_INSTRUCTIONS(X) NULL};
#undef X
static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel", NULL};
static const char *const places[] = {"local L1", "beside", "L2", "another L1", NULL};

/* The names of the bits, separated by commas; "any" for all of them and for none. */
static void spell(char *to, size_t room, const char *const *names, uint32_t bits)
{
	unsigned count = 0;

	while (names[count]) {
		count++;
	}
	NVW_INVARIANT(count < 32);
	bits &= (1u << count) - 1;
	*to = 0;
	if (bits == 0 || bits == (1u << count) - 1) {
		snprintf(to, room, "any");
		return;
	}
	NVW_FOR(i, count) {
		if (bits >> i & 1) {
			snprintf(to + strlen(to), room - strlen(to), "%s%s", *to ? ", " : "", names[i]);
		}
	}
}

static void spell_steps(struct emu_protocol_row *row, const coh_action *steps)
{
	for (unsigned i = 0; i < COH_STEPS_MAX && steps[i]; i++) {
		row->actions[i] = steps[i]->name;
	}
}

/* The actions that belong to no instruction, after the rows of instructions. */
static bool describe_other(const struct coh_protocol *p, unsigned i, struct emu_protocol_row *ret_row)
{
	const struct {
		const char *name;
		const coh_action *steps;
	} others[] = {
		{"kernel begin", p->kernel_begin},
		{"kernel end", p->kernel_end},
		{"work-group barrier", p->group_barrier},
	};

	NVW_EACH_IN(other, others) {
		if (other->steps[0] && i-- == 0) {
			snprintf(ret_row->instructions, sizeof ret_row->instructions, "%s", other->name);
			spell_steps(ret_row, other->steps);
			return true;
		}
	}
	return false;
}

bool emu_protocol_row(const char *protocol, unsigned i, struct emu_protocol_row *ret_row)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);
	const struct coh_row *row;

	*ret_row = (struct emu_protocol_row){0};
	if (!p) {
		return false;
	}
	for (row = p->rows; row->instructions && i; row++) {
		i--;
	}
	if (!row->instructions) {
		return describe_other(p, i, ret_row);
	}
	spell(ret_row->instructions, sizeof ret_row->instructions, instructions, row->instructions);
	spell(ret_row->orders, sizeof ret_row->orders, orders, row->orders);
	spell(ret_row->scopes, sizeof ret_row->scopes, emu_scope_names, row->where);
	spell(ret_row->places, sizeof ret_row->places, places, row->where >> COH_PLACE_SHIFT);
	spell_steps(ret_row, row->steps);
	return true;
}
