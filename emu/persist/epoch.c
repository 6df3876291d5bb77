/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epoch persistency: the persist barrier that gope18 6.1 proposes, step by step.
 *
 *	1	the work-items of the scope arrive and stall			persist_barrier, emu_park
 *	2	a p_flush marker enters the L1's NVW-FIFO (all L1s': kernel)	begin
 *	3	the L1 writes back the lines ahead of the marker		begin
 *	4	the marker arrives at the L2 and enters its NVW-FIFO		at_l2
 *	5	the L2 writes back the lines ahead of it to the NVRAM		at_l2
 *	6	the NVRAM completes them					durable
 *	7	an acknowledgement goes to the issuing CU (kernel scope: to every
 *		L1, then to the command processor) and un-stalls the group	acknowledge, resume
 *
 * Lines that left the caches in another way (replacement, S-FIFO) are in flight by step 5; the barrier waits
 * for everything in flight at that time.
 */
#include <stdlib.h>

#include "core/each.h"
#include "core/invariant.h"

#include "../memory/device_memory.h"
#include "../protocol/protocol.h"
#include "../observe/record.h"
#include "persist.h"

/* The command processor's node in the network: the papers do not place it. */
enum { COMMAND_PROCESSOR = 0 };

/* Step 7, second half. */
static void resume(struct nvw_machine *m, void *context)
{
	struct persist_barrier *const b = context;
	NVW_DEEP_INVARIANT(b->arrived <= m->now);

	persist_release(m, b, m->now);
	m->stats.p_barrier_stall_ps += m->now - b->arrived;
	if (emu_is_watched(m)) {
		persist_watch(m, b, true, m->now);
	}
	free(b);
}

/* Kernel scope: the L2 acknowledges to every L1, and the L1s to the command processor. */
static emu_time acknowledge_to_processor(struct nvw_machine *m, uint32_t l2)
{
	emu_time arrivals[EMU_CUS_MAX], last = m->now;

	emu_network_broadcast(m, l2, EMU_MESSAGE_CONTROL, m->now, arrivals);
	NVW_FOR(i, m->config.cus) {
		const uint32_t l1 = emu_network_cu_node(m, i);

		last = emu_later(last,
			emu_network_send(m, l1, COMMAND_PROCESSOR, 0, EMU_MESSAGE_CONTROL, arrivals[i]));
	}
	return last;
}

/* Step 7, first half: returns when the acknowledgement reaches the waiting group. */
static emu_time acknowledge(struct nvw_machine *m, const struct persist_barrier *b)
{
	const uint32_t l2 = emu_network_bank_node(m, 0);
	const struct emu_cu *cu;
	NVW_DEEP_INVARIANT(b->what.scope <= NVW_KERNEL);

	if (b->what.scope == NVW_KERNEL) {
		return acknowledge_to_processor(m, l2);
	}
	cu = b->what.scope == NVW_WORKGROUP ? b->group->slot->cu : emu_cu_of(b->wf);
	return emu_network_send(m, l2, emu_network_cu_node(m, cu->id), 0, EMU_MESSAGE_CONTROL, m->now);
}

/* Steps 6 and 7. */
static void durable(struct nvw_machine *m, void *context)
{
	struct persist_barrier *const b = context;
	NVW_DEEP_INVARIANT(b->at_l2 <= m->now);

	record_barrier(m, &b->what, true);
	b->durable = m->now;
	if (emu_is_watched(m)) {
		persist_watch_epoch(m, (enum nvw_group)b->what.scope, b->what.epoch);
	}
	emu_schedule(m, acknowledge(m, b), resume, b);
}

/* Steps 4 and 5. */
static void at_l2(struct nvw_machine *m, void *context)
{
	struct persist_barrier *const b = context;
	NVW_DEEP_INVARIANT(b->met <= m->now);

	b->at_l2 = m->now;
	coh_drain_l2(m, &m->l2.nvw_fifo, 0, COH_BY_PERSIST, m->now);
	emu_nvram_count_wait(m);
	emu_schedule(m, emu_nvram_settled_at(m), durable, b);
}

/* Steps 2 and 3, in one L1; returns when the marker reaches the L2. */
static emu_time flush_l1(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	t = coh_drain_l1(m, cu, &cu->nvw_fifo, 0, COH_BY_PERSIST, t);
	return emu_network_send(
		m, emu_network_cu_node(m, cu->id), emu_network_bank_node(m, 0), 0, EMU_MESSAGE_CONTROL, t);
}

/* Step 2 for the barrier's scope. t may be ahead of the engine's time: as in every transaction, the effect on
 * bytes and FIFOs is immediate. */
static void begin(struct nvw_machine *m, const struct persist_barrier *what, struct emu_cu *cu, emu_time t)
{
	struct persist_barrier *const b = malloc(sizeof *b);
	emu_time at = t;

	if (!b) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for a persist barrier");
		return;
	}
	*b = *what;
	b->met = t;
	if (cu) {
		at = flush_l1(m, cu, t);
	} else {
		EMU_EACH_CU(cu, m) {
			at = emu_later(at, flush_l1(m, cu, t));
		}
	}
	emu_schedule(m, at, at_l2, b);
}

const struct persist_model persist_epoch = {
	.info = {.name = "epoch",
		.title = "gope18 6.1, proposed: a barrier stalls until its stores are durable",
		.meets = true},
	.arrived = begin,
};
