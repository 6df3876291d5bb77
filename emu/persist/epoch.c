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

#include "../protocol/protocol.h"
#include "../record.h"
#include "persist.h"

/* The command processor's node in the network: the papers do not place it. */
enum { COMMAND_PROCESSOR = 0 };

/* A barrier under way. */
struct barrier {
	struct record_barrier what;
	emu_time arrived;
	struct emu_wavefront *wf; /* work-item scope: the lanes that wait */
	uint64_t lanes;
	struct emu_group *group; /* work-group scope */
};

/* Step 7, second half. */
static void resume(struct nvw_machine *m, void *context)
{
	struct barrier *const b = context;

	switch (b->what.scope) {
	case NVW_WORKITEM:
		b->wf->runnable |= b->lanes;
		emu_wake(m, b->wf, m->now);
		break;
	case NVW_WORKGROUP:
		emu_group_release(m, b->group, m->now);
		break;
	case NVW_KERNEL:
		emu_kernel_release(m, m->now);
		break;
	}
	m->stats.p_barrier_stall_ps += m->now - b->arrived;
	free(b);
}

/* Kernel scope: the L2 acknowledges to every L1, and these to the command processor. */
static emu_time acknowledge_to_processor(struct nvw_machine *m, uint32_t l2)
{
	emu_time arrivals[EMU_CUS_MAX], last = m->now;

	emu_network_broadcast(m, l2, EMU_MESSAGE_CONTROL, m->now, arrivals);
	for (unsigned i = 0; i < m->config.cus; i++) {
		const uint32_t l1 = emu_network_cu_node(m, i);

		last = emu_later(last,
			emu_network_send(m, l1, COMMAND_PROCESSOR, 0, EMU_MESSAGE_CONTROL, arrivals[i]));
	}
	return last;
}

/* Step 7, first half: when the acknowledgement is where the group waits. */
static emu_time acknowledge(struct nvw_machine *m, const struct barrier *b)
{
	const uint32_t l2 = emu_network_bank_node(m, 0);
	const struct emu_cu *cu;

	if (b->what.scope == NVW_KERNEL) {
		return acknowledge_to_processor(m, l2);
	}
	cu = b->what.scope == NVW_WORKGROUP ? b->group->slot->cu : emu_cu_of(b->wf);
	return emu_network_send(m, l2, emu_network_cu_node(m, cu->id), 0, EMU_MESSAGE_CONTROL, m->now);
}

/* Steps 6 and 7. */
static void durable(struct nvw_machine *m, void *context)
{
	struct barrier *const b = context;

	record_barrier(m, &b->what, true);
	emu_schedule(m, acknowledge(m, b), resume, b);
}

/* Steps 4 and 5. */
static void at_l2(struct nvw_machine *m, void *context)
{
	coh_drain_l2(m, &m->l2.nvw_fifo, 0, COH_BY_PERSIST, m->now);
	emu_schedule(m, emu_later(m->now, m->nvram.in_flight ? m->nvram.last_done : 0), durable, context);
}

/* Steps 2 and 3, in one L1; returns when the marker is at the L2. */
static emu_time flush_l1(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	t = coh_drain_l1(m, cu, &cu->nvw_fifo, 0, COH_BY_PERSIST, t);
	return emu_network_send(
		m, emu_network_cu_node(m, cu->id), emu_network_bank_node(m, 0), 0, EMU_MESSAGE_CONTROL, t);
}

/* Step 2 for the barrier's scope. t may lie ahead of the engine's time: what the flush does to bytes and
 * FIFOs happens now, as with every transaction. */
static void begin(struct nvw_machine *m, const struct barrier *what, struct emu_cu *cu, emu_time t)
{
	struct barrier *const b = malloc(sizeof *b);
	emu_time at = t;

	if (!b) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for a persist barrier");
		return;
	}
	*b = *what;
	if (cu) {
		at = flush_l1(m, cu, t);
	} else {
		for (unsigned i = 0; i < m->config.cus; i++) {
			at = emu_later(at, flush_l1(m, &m->cus[i], t));
		}
	}
	emu_schedule(m, at, at_l2, b);
}

/* Every store is durable as it becomes visible, or nothing ever is: a barrier has nothing to do. */
static bool is_free(const struct nvw_machine *m)
{
	return m->is_volatile || m->config.domain == EMU_DOMAIN_eadr || !m->pool;
}

/* The first work-item of the lanes stands for them in the log. */
static struct record_barrier describe(
	const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	const unsigned lane = (unsigned)__builtin_ctzll(lanes);

	return (struct record_barrier){.site = wf->requests[lane].site,
		.scope = NVW_WORKITEM,
		.work_item = wf->first_global + lane,
		.group = wf->group->id,
		.work_items = (uint32_t)__builtin_popcountll(lanes),
		.epoch = wf->epoch_wi[lane],
		.lanes = lanes >> lane};
}

static void count_epochs(struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group)
{
	for (uint64_t rest = lanes; rest; rest &= rest - 1) {
		const unsigned lane = (unsigned)__builtin_ctzll(rest);

		wf->epoch_wi[lane]++;
		wf->epoch_wg[lane] += group >= NVW_WORKGROUP;
		wf->epoch_kr[lane] += group == NVW_KERNEL;
	}
}

static void work_item_barrier(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	const struct barrier b = {.what = describe(m, wf, lanes), .arrived = t, .wf = wf, .lanes = lanes};

	m->stats.p_barriers_wi++;
	record_barrier(m, &b.what, false);
	count_epochs(wf, lanes, NVW_WORKITEM);
	if (is_free(m)) {
		record_barrier(m, &b.what, true);
		wf->runnable |= lanes;
		emu_wake(m, wf, t);
		return;
	}
	begin(m, &b, emu_cu_of(wf), t);
}

void emu_narrow_barriers(struct nvw_machine *m, const char *file, uint32_t line, unsigned by)
{
	m->narrow.file = file;
	m->narrow.line = line;
	m->narrow.by = by;
}

static const char *last_component(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_narrowed(struct nvw_machine *m, const struct nvw_site *site)
{
	if (!m->narrow.file || site->line != m->narrow.line) {
		return false;
	}
	return strcmp(last_component(site->file), last_component(m->narrow.file)) == 0;
}

void persist_barrier(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group, emu_time t)
{
	if (is_narrowed(m, wf->requests[__builtin_ctzll(lanes)].site)) {
		const int narrower = (int)group - (int)m->narrow.by;

		if (narrower < NVW_WORKITEM) {
			wf->runnable |= lanes;
			emu_wake(m, wf, t);
			return;
		}
		group = (enum nvw_group)narrower;
	}
	if (m->is_volatile) {
		count_epochs(wf, lanes, group);
		wf->runnable |= lanes;
		emu_wake(m, wf, t);
		return;
	}
	if (m->buffered) {
		buffered_barrier(m, wf, lanes, group);
		wf->runnable |= lanes;
		emu_wake(m, wf, t);
		return;
	}
	if (group == NVW_WORKITEM) {
		work_item_barrier(m, wf, lanes, t);
		return;
	}
	count_epochs(wf, lanes, group);
	emu_park(m, wf, lanes, group == NVW_WORKGROUP ? EMU_WAIT_PERSIST_WG : EMU_WAIT_PERSIST_KR, t);
}

void persist_group_arrived(struct nvw_machine *m, struct emu_group *group, emu_time t)
{
	const struct emu_wavefront *const wf = &group->slot->wavefronts[0];
	struct barrier b = {.what = describe(m, wf, 1), .arrived = group->arrived_first, .group = group};

	b.what.scope = NVW_WORKGROUP;
	b.what.work_items = group->size;
	b.what.lanes = 0;
	b.what.epoch = wf->epoch_wg[0] - 1;
	m->stats.p_barriers_wg++;
	record_barrier(m, &b.what, false);
	if (is_free(m)) {
		record_barrier(m, &b.what, true);
		emu_group_release(m, group, t);
		return;
	}
	begin(m, &b, group->slot->cu, t);
}

void persist_kernel_arrived(struct nvw_machine *m, emu_time t)
{
	struct barrier b = {.what = {.site = m->exec.barrier_site,
				    .scope = NVW_KERNEL,
				    .work_items = (uint32_t)(m->exec.groups * m->exec.group_size),
				    .epoch = m->exec.epoch_kr++},
		.arrived = m->exec.arrived_first};

	m->stats.p_barriers_kr++;
	record_barrier(m, &b.what, false);
	if (is_free(m)) {
		record_barrier(m, &b.what, true);
		emu_kernel_release(m, t);
		return;
	}
	begin(m, &b, NULL, t);
}

emu_time emu_persist_write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, uint64_t mask,
	uint32_t stores, emu_time t)
{
	return m->buffered ? buffered_write(m, id, line, mask, stores, t) :
			     emu_nvram_write(m, id, line->data, mask, stores, 0, t);
}

void emu_persist_forward(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	if (m->buffered) {
		buffered_forward(m, id, to);
	}
}

void persist_acknowledge(
	struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, uint64_t first, uint64_t count)
{
	struct record_ack ack = {.first = first, .count = count};

	if (wf) {
		ack.kernel = m->exec.number;
		ack.site = wf->requests[lane].site;
		ack.work_item = wf->first_global + lane;
		ack.group = wf->group->id;
		ack.epoch_wi = wf->epoch_wi[lane];
		ack.epoch_wg = wf->epoch_wg[lane];
		ack.epoch_kr = wf->epoch_kr[lane];
	}
	if (m->buffered && wf) {
		buffered_acknowledge(m, wf, lane, &ack);
	} else {
		persist_tell(m, &ack);
	}
}

void persist_tell(struct nvw_machine *m, const struct record_ack *ack)
{
	record_ack(m, ack);
	if (m->cut.acknowledged) {
		m->cut.acknowledged(m->cut.context, ack->first, ack->count);
	}
}

void persist_everything(struct nvw_machine *m)
{
	emu_time t;

	if (m->is_volatile || !m->pool) {
		return;
	}
	t = coh_flush_nvram(m, m->now);
	if (m->buffered) {
		buffered_drain_all(m);
	}
	m->now = emu_later(emu_later(m->now, t), m->nvram.in_flight ? m->nvram.last_done : 0);
	emu_nvram_complete(m, m->now);
	record_drained(m);
}
