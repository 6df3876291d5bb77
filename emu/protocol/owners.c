/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry's records in the L2: the owner of each byte. Ownership does not change here (registry.c). */
#include "core/each.h"
#include "core/invariant.h"
#include "../memory/device_memory.h"
#include "protocol.h"

uint64_t coh_undivided(const struct nvw_machine *m, emu_line_id id, uint64_t bytes)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
	const uint64_t some = (((bytes & low) + low) | bytes) & ~low;

	if (emu_is_persistent(m, id) && !m->protocol->registration->apart) {
		return (some >> 7) * 0xff;
	}
	return bytes;
}

uint64_t coh_registry_owned(const struct emu_line *below, const struct emu_cu *cu)
{
	NVW_DEEP_INVARIANT(cu->id <= UINT8_MAX);
	if (below->registered) {
		return below->registered & emu_bytes_with(below->data, (uint8_t)cu->id);
	}
	return 0;
}

struct emu_cu *coh_registry_owner(struct nvw_machine *m, const struct emu_line *below, uint64_t bytes)
{
	const uint64_t registered = below->registered & bytes;

	if (registered) {
		NVW_DEEP_INVARIANT(below->data[__builtin_ctzll(registered)] < m->config.cus);
		return &m->cus[below->data[__builtin_ctzll(registered)]];
	}
	return NULL;
}

enum coh_place coh_registry_place(
	const struct nvw_machine *m, const struct emu_cu *cu, emu_line_id id, uint64_t bytes)
{
	const struct emu_line *const line = coh_l1_line(cu, id);
	const struct emu_line *below;
	uint64_t elsewhere;

	if (line && line->registered) {
		if (!(bytes & ~line->registered)) {
			return COH_PLACE_L1;
		}
		if (m->protocol->registration->apart) {
			return COH_PLACE_BESIDE;
		}
	}
	below = coh_l2_line(m, id);
	if (!below) {
		return COH_PLACE_L2;
	}
	elsewhere = below->registered & coh_taken_with(m, bytes);
	if (line) {
		elsewhere &= ~line->registered;
	}
	if (elsewhere) {
		return COH_PLACE_REMOTE;
	}
	return COH_PLACE_L2;
}

void coh_registry_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	const struct emu_line *const below = coh_l2_line(m, id);

	if (!below) {
		return;
	}
	NVW_EACH_BIT(byte, below->registered) {
		to[byte] = coh_l1_line(&m->cus[below->data[byte]], id)->data[byte];
	}
}

void coh_registry_update(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask)
{
	const struct emu_line *const below = coh_l2_line(m, id);

	if (!below) {
		return;
	}
	NVW_EACH_BIT(byte, below->registered & mask) {
		struct emu_line *const line = coh_l1_line(&m->cus[below->data[byte]], id);

		line->data[byte] = data[byte];
		line->dirty &= ~(UINT64_C(1) << byte);
	}
}
