/* SPDX-License-Identifier: BSD-3-Clause */
/* Common code of the persistency models: their list, the meeting at a barrier, acknowledgements, the host's
 * waits. */
#include "../memory/device_memory.h"
#include "core/invariant.h"
#include "persist.h"

#include "../protocol/protocol.h"

/* ---- The models ---------------------------------------------------------------------------- */

static const struct persist_model *const models[] = {
#define MACHINE_MODEL(id, symbol, name) &persist_##symbol,
#define STATE_MODEL(id, symbol, name)
#include "core/each.h"
#include "models.def"
#undef MACHINE_MODEL
#undef STATE_MODEL
};

const struct emu_model_info *emu_model_info(uint64_t model)
{
	if (model < NVW_COUNT(models)) {
		return &models[model]->info;
	}
	return NULL;
}

int persist_init(struct nvw_machine *m)
{
	NVW_INVARIANT(m->config.model < NVW_COUNT(models));
	m->persist = m->pool && m->config.nvram.domain != EMU_DOMAIN_eadr ? models[m->config.model] :
									    &persist_free;
	if (!m->persist->init) {
		return 0;
	}
	return m->persist->init(m);
}

void persist_finish(struct nvw_machine *m)
{
	if (m->persist && m->persist->finish) {
		m->persist->finish(m);
	}
	m->persist_data = NULL;
}

void persist_switch_off(struct nvw_machine *m)
{
	persist_finish(m);
	m->persist = &persist_off;
}

/* ---- Barriers ------------------------------------------------------------------------------ */

void persist_run_on(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	wf->runnable |= lanes;
	emu_wake(m, wf, t);
}

void persist_release(struct nvw_machine *m, const struct persist_barrier *b, emu_time t)
{
	NVW_DEEP_INVARIANT(b->what.scope <= NVW_KERNEL);
	switch (b->what.scope) {
	case NVW_WORKITEM:
		persist_run_on(m, b->wf, b->lanes, t);
		break;
	case NVW_WORKGROUP:
		emu_group_release(m, b->group, t);
		break;
	case NVW_KERNEL:
		emu_kernel_release(m, t);
		break;
	}
}

void persist_watch_epoch(struct nvw_machine *m, enum nvw_group scope, uint64_t epoch)
{
	emu_tell(m, &(struct emu_sight){.kind = EMU_SIGHT_EPOCH,
			    .unit = scope,
			    .from = m->now,
			    .to = m->now,
			    .what = "epoch durable",
			    .number = epoch});
}

void persist_watch(struct nvw_machine *m, const struct persist_barrier *b, bool parts, emu_time t)
{
	static const char *const waits_for[] = {"the work-items to meet", "the L1's lines to reach the L2",
		"the writes in flight to NVRAM", "the acknowledgement"};
	const emu_time ends[] = {b->met, b->at_l2, b->durable, t};
	struct emu_sight sight = {.kind = EMU_SIGHT_BARRIER,
		.unit = b->what.scope,
		.from = b->arrived,
		.to = t,
		.what = "persist barrier",
		.site = b->what.site,
		.number = b->what.group};
	NVW_DEEP_INVARIANT(b->arrived <= t);

	emu_tell(m, &sight);
	sight.kind = EMU_SIGHT_PART;
	for (unsigned i = 0; parts && i < NVW_COUNT(ends); i++) {
		sight.to = ends[i];
		sight.what = waits_for[i];
		if (sight.from < sight.to) {
			emu_tell(m, &sight);
		}
		sight.from = ends[i];
	}
}

struct record_barrier persist_describe(const struct emu_wavefront *wf, uint64_t lanes, enum nvw_group scope)
{
	const unsigned lane = emu_first(lanes);
	const uint32_t epochs[] = {wf->epoch_wi[lane], wf->epoch_wg[lane], wf->epoch_kr[lane]};
	NVW_DEEP_INVARIANT(lanes != 0 && scope <= NVW_KERNEL);

	return (struct record_barrier){.site = wf->requests.site[lane],
		.scope = scope,
		.work_item = wf->first_global + lane,
		.group = wf->group->id,
		.work_items = emu_ones(lanes),
		.epoch = epochs[scope],
		.lanes = lanes >> lane};
}

void persist_count(struct nvw_machine *m, const struct record_barrier *what)
{
	uint64_t *const by_scope[] = {
		[NVW_WORKITEM] = &m->stats.p_barriers_wi,
		[NVW_WORKGROUP] = &m->stats.p_barriers_wg,
		[NVW_KERNEL] = &m->stats.p_barriers_kr,
	};

	++*by_scope[what->scope];
	record_barrier(m, what, false);
}

void persist_count_epochs(struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group)
{
	NVW_EACH_BIT(lane, lanes) {
		wf->epoch_wi[lane]++;
		wf->epoch_wg[lane] += group >= NVW_WORKGROUP;
		wf->epoch_kr[lane] += group == NVW_KERNEL;
	}
}

static void work_item_barrier(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	const struct persist_barrier b = {
		.what = persist_describe(wf, lanes, NVW_WORKITEM), .arrived = t, .wf = wf, .lanes = lanes};

	persist_count(m, &b.what);
	persist_count_epochs(wf, lanes, NVW_WORKITEM);
	m->persist->arrived(m, &b, emu_cu_of(wf), t);
}

/* Step 1 of gope18 6.1: work-items of the scope meet. */
static enum emu_wait meet(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group, emu_time t)
{
	NVW_DEEP_INVARIANT(group <= NVW_KERNEL);
	if (group == NVW_WORKITEM) {
		work_item_barrier(m, wf, lanes, t);
		return EMU_WAIT_NONE;
	}
	persist_count_epochs(wf, lanes, group);
	if (group == NVW_WORKGROUP) {
		return EMU_WAIT_PERSIST_WG;
	}
	return EMU_WAIT_PERSIST_KR;
}

void emu_narrow_barriers(struct nvw_machine *m, const char *file, uint32_t line, unsigned by)
{
	m->narrow.file = file;
	m->narrow.line = line;
	m->narrow.by = by;
}

static bool is_narrowed(struct nvw_machine *m, const struct nvw_site *site)
{
	if (!m->narrow.file || site->line != m->narrow.line) {
		return false;
	}
	return strcmp(basename(site->file), basename(m->narrow.file)) == 0;
}

enum emu_wait persist_barrier(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group, emu_time t)
{
	const struct nvw_site *const site = wf->requests.site[__builtin_ctzll(lanes)];

	if (m->inserted.count > 0) {
		group = emu_widened(m, site, group);
	}
	if (is_narrowed(m, site)) {
		const int narrower = (int)group - (int)m->narrow.by;

		if (narrower < NVW_WORKITEM) {
			persist_run_on(m, wf, lanes, t);
			return EMU_WAIT_NONE;
		}
		group = (enum nvw_group)narrower;
	}
	if (m->persist->barrier) {
		m->persist->barrier(m, wf, lanes, group, t);
		return EMU_WAIT_NONE;
	}
	return meet(m, wf, lanes, group, t);
}

void persist_group_arrived(struct nvw_machine *m, struct emu_group *group, emu_time t)
{
	const struct emu_wavefront *const wf = &group->slot->wavefronts[0];
	struct persist_barrier b = {.what = persist_describe(wf, 1, NVW_WORKGROUP),
		.arrived = group->arrived_first,
		.group = group};
	NVW_DEEP_INVARIANT(wf->epoch_wg[0] > 0);

	b.what.work_items = group->size;
	b.what.lanes = 0;
	b.what.epoch--;
	persist_count(m, &b.what);
	m->persist->arrived(m, &b, group->slot->cu, t);
}

void persist_kernel_arrived(struct nvw_machine *m, emu_time t)
{
	struct persist_barrier b = {.what = {.site = m->exec.barrier_site,
					    .scope = NVW_KERNEL,
					    .work_items = (uint32_t)(m->exec.groups * m->exec.group_size),
					    .epoch = m->exec.epoch_kr++},
		.arrived = m->exec.arrived_first};

	persist_count(m, &b.what);
	m->persist->arrived(m, &b, NULL, t);
}

void persist_acknowledge(
	struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, uint64_t first, uint64_t count)
{
	NVW_DEEP_INVARIANT(lane < NVW_COUNT(wf->epoch_kr));

	struct record_ack ack = {.first = first, .count = count};

	if (wf) {
		ack.kernel = m->exec.number;
		ack.site = wf->requests.site[lane];
		ack.work_item = wf->first_global + lane;
		ack.group = wf->group->id;
		ack.epoch_wi = wf->epoch_wi[lane];
		ack.epoch_wg = wf->epoch_wg[lane];
		ack.epoch_kr = wf->epoch_kr[lane];
	}
	if (m->persist->acknowledge && wf) {
		m->persist->acknowledge(m, wf, lane, &ack);
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

	if (!m->persistent) {
		return;
	}
	t = coh_flush_nvram(m, m->now);
	if (m->persist->drain) {
		m->persist->drain(m);
	}
	m->now = emu_later(t, emu_nvram_settled_at(m));
	emu_nvram_complete(m, m->now);
	record_drained(m);
}
