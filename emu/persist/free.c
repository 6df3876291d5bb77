/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every store is durable when it becomes visible (eadr), or there is no NVRAM: work-items meet at a persist
 * barrier, which has nothing else to do. Write-backs cost time and do not change the medium, except where
 * what they bring comes later in coherence order than what it has.
 */
#include "../memory/device_memory.h"
#include "persist.h"

#include "../protocol/protocol.h"

void persist_release_at_once(
	struct nvw_machine *m, const struct persist_barrier *b, struct emu_cu *cu, emu_time t)
{
	record_barrier(m, &b->what, true);
	if (emu_is_watched(m)) {
		persist_watch(m, b, false, t);
	}
	persist_release(m, b, t);
}

static void stored(const struct coh_request *request, unsigned lane, struct emu_line *line, unsigned offset)
{
	emu_nvram_store_through(request->m, request->line, offset, line->data + offset, request->size);
}

/* The medium has the bytes in the order of the instructions. The order of coherence is another one where a
 * work-item has stored at work-group scope, and one elsewhere at the L2 before those bytes came there. */
static void latest(struct nvw_machine *m, emu_line_id id, const struct emu_line *line, uint64_t bytes)
{
	if (emu_is_persistent(m, id)) {
		emu_nvram_catch_up(m, id, line->data, bytes);
	}
}

const struct persist_model persist_free = {
	.info = {.name = "free", .title = "every store is durable as it becomes visible", .meets = true},
	.arrived = persist_release_at_once,
	.stored = stored,
	.latest = latest,
};
