/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Line events to other L1s: the L2 notifies those that may hold a line when another one writes or reads it.
 *
 * The L2's line, or the directory's entry, records its sharers. An L1 that drops the line silently
 * (self-invalidation) remains a sharer until the next message, so a message may find nothing; it is sent and
 * answered all the same.
 */
#include "core/each.h"
#include "core/invariant.h"

#include "protocol.h"

bool coh_tells_sharers(const struct coh_protocol *protocol)
{
	const struct coh_cell *const end =
		protocol->l2 + (size_t)protocol->l2_state_count * COH_L2_EVENT_COUNT;
	bool tells = false;

	for (const struct coh_cell *cell = protocol->l2; cell != end; cell++) {
		NVW_EACH_IN(action, cell->actions) {
			tells |= *action == coh_line_invalidate_sharers ||
				 *action == coh_line_downgrade_owner || *action == coh_line_ask_owner;
		}
	}
	return tells;
}

/* Under a directory of its own an L1 that gives the line up answers with its bytes, if the requester does not
 * have them yet; then nobody has to ask the L2, which need not have the line. True if it does. */
static bool supply(const struct coh_event *e, const struct emu_line *line)
{
	struct emu_line *const wanted = coh_has_directory(e->m) && e->by ? coh_l1_line(e->by, e->id) : NULL;

	if (!wanted || !(line->valid & ~wanted->valid)) {
		return false;
	}
	emu_copy_masked(wanted->data, line->data, line->valid & ~wanted->valid);
	wanted->valid |= line->valid;
	return true;
}

/* A message to one L1, its action, and its answer with so many bytes; returns when the answer is at the
 * L2. */
static emu_time send_and_wait(
	struct coh_event *e, struct emu_cu *cu, enum coh_l1_event event, uint32_t bytes, uint64_t *count)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *const line = coh_l1_line(cu, e->id);
	emu_time t = coh_to_cu(m, cu, e->id, 0, EMU_MESSAGE_CONTROL, e->t);

	t = coh_l1_look_up(m, cu, t) + m->config.l1.probe;
	if (line) {
		++*count;
		if (event == COH_L1_WRITTEN_ELSEWHERE && supply(e, line)) {
			bytes = EMU_LINE;
		}
		t = coh_l1_event(m, cu, line, e->id, event, COH_BY_REVOKE, t);
	}
	return coh_to_bank(m, cu, e->id, bytes, EMU_MESSAGE_CONTROL, t);
}

/* Notifies all sharers except the requester; waits for all answers. Their write-backs may need room in the
 * L2, but not this line's. */
static void tell_sharers(struct coh_event *e, enum coh_l1_event event, uint64_t *count)
{
	struct nvw_machine *const m = e->m;
	struct emu_cache *const cache = coh_has_directory(m) ? &m->directory.cache : &m->l2.cache;
	emu_time last = e->t;

	emu_cache_pin(cache, e->line);
	EMU_EACH_CU(cu, m) {
		if (cu != e->by && coh_is_sharer(e->line, cu)) {
			last = emu_later(last, send_and_wait(e, cu, event, 0, count));
		}
	}
	emu_cache_find(cache, e->id); /* no longer pinned */
	e->t = last;
}

void coh_line_invalidate_sharers(struct coh_event *e)
{
	tell_sharers(e, COH_L1_WRITTEN_ELSEWHERE, &e->m->stats.l1_invalidated);
	for (unsigned word = 0; word < EMU_CUS_MAX / 64; word++) {
		e->line->sharers[word] &= e->by && e->by->id / 64 == word ? UINT64_C(1) << e->by->id % 64 : 0;
	}
}

void coh_line_downgrade_owner(struct coh_event *e)
{
	tell_sharers(e, COH_L1_READ_ELSEWHERE, &e->m->stats.l1_downgraded);
}

/* The owner answers with the line and keeps what it has stored; the answer passes the directory on its way to
 * the reader. */
void coh_line_ask_owner(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_cu *const owner = &m->cus[e->line->owner];
	const struct emu_line *const line = coh_l1_line(owner, e->id);
	struct emu_line *const reader = e->by ? coh_l1_line(e->by, e->id) : NULL;
	NVW_DEEP_INVARIANT(e->line->owner < m->config.cus);

	if (line && reader) {
		emu_copy_masked(reader->data, line->data, line->valid);
		reader->valid |= line->valid;
	}
	e->t = send_and_wait(e, owner, COH_L1_READ_ELSEWHERE, EMU_LINE, &m->stats.l1_downgraded);
}

void coh_recall_entry(struct coh_event *e)
{
	struct nvw_machine *const m = e->m;
	struct emu_line *below;

	tell_sharers(e, COH_L1_WRITTEN_ELSEWHERE, &m->stats.l1_recalls);
	memset(e->line->sharers, 0, sizeof e->line->sharers);
	below = coh_l2_line(m, e->id);
	if (below) {
		e->t = coh_l2_event(m, below, e->id, COH_L2_EVICT, e->reason, e->t);
	}
}
