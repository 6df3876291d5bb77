/* SPDX-License-Identifier: BSD-3-Clause */
/* Invariants shared by protocols, for broken_invariant: NULL, or a description of the violation; what is
 * below a line. */
#include "core/each.h"

#include "../memory/device_memory.h"
#include "protocol.h"

/* The bytes on the L2's side of a line. */
static const uint8_t *bytes_below(const struct nvw_machine *m, emu_line_id id, uint8_t *room)
{
	const struct emu_line *const below = coh_l2_line(m, id);

	emu_memory_peek(m, id, room);
	emu_l3_peek(m, id, room);
	if (below) {
		emu_copy_masked(room, below->data, below->valid);
	}
	return room;
}

void coh_renew(const struct nvw_machine *m, struct emu_line *line, emu_line_id id)
{
	uint8_t room[EMU_LINE];

	emu_copy_masked(line->data, bytes_below(m, id, room), line->valid & ~line->dirty);
}

bool coh_differs_below(const struct nvw_machine *m, const struct emu_line *line, emu_line_id id)
{
	uint8_t room[EMU_LINE];
	const uint8_t *const bytes = bytes_below(m, id, room);

	return NVW_ANY_BELOW(i, EMU_LINE, line->valid >> i & 1 && line->data[i] != bytes[i]);
}

const char *coh_broken_dirty(const struct nvw_machine *m, emu_line_id id, unsigned dirty)
{
	const struct emu_line *const below = coh_l2_line(m, id);

	if (below && (below->dirty & ~below->valid)) {
		return "a dirty byte of the L2 is not valid";
	}
	if (below && below->dirty && below->state != dirty) {
		return "a dirty line of the L2 is not in its dirty state";
	}
	EMU_EACH_CU(cu, m) {
		const struct emu_line *const line = coh_l1_line(cu, id);

		if (line && (line->dirty & ~line->valid)) {
			return "a dirty byte of an L1 is not valid";
		}
		if (line && line->dirty && line->state != dirty) {
			return "a dirty line of an L1 is not in its dirty state";
		}
	}
	return NULL;
}

const char *coh_broken_registration(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_line *const below = coh_l2_line(m, id);
	uint64_t known = 0;

	if (below && (below->dirty & ~below->valid)) {
		return "a dirty byte of the L2 is not valid";
	}
	if (below && (below->valid & below->registered)) {
		return "a registered byte has data in the L2";
	}
	EMU_EACH_CU(cu, m) {
		const struct emu_line *const line = coh_l1_line(cu, id);

		if (!line) {
			continue;
		}
		if ((line->dirty | line->registered) & ~line->valid) {
			return "a dirty or registered byte of an L1 is not valid";
		}
		if (line->registered & known) {
			return "a byte is registered in two L1s";
		}
		if (line->registered && (!below || line->registered & ~coh_registry_owned(below, cu))) {
			return "the L2 does not know who has registered a byte (inclusion)";
		}
		known |= line->registered;
	}
	if (below && (below->registered & ~known)) {
		return "the L2 names an L1 that has not registered the byte";
	}
	return NULL;
}
