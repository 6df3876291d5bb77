/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine's life, and its statistics. */
#include "memory/device_memory.h"
#include "machine.h"

#include <stdlib.h>

#include "core/each.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "persist/persist.h"
#include "protocol/protocol.h"
#include "time/order.h"
#include "races/races.h"
#include "observe/undo.h"
#include "observe/record.h"
#include "exec/store_buffer.h"

static bool is_registered_last(const struct nvw_machine *m, uint64_t replacement)
{
	if (replacement == EMU_REPLACEMENT_auto) {
		return m->protocol->registered_last;
	}
	return replacement == EMU_REPLACEMENT_registered_last;
}

/* Whether a level has read and write caches apart: as the configuration says, and the protocol allows. */
static int settle_split(struct nvw_machine *m, const char *level, struct emu_cache_config *config)
{
	static const struct {
		enum coh_caches caches;
		const char *needs;
	} against[] = {{COH_CACHES_APART, "apart"}, {COH_CACHES_TOGETHER, "in one"}};
	const enum coh_caches caches = m->protocol->caches;

	if (config->split == EMU_AUTO) {
		config->split = caches == COH_CACHES_APART;
	}
	NVW_INVARIANT(config->split < NVW_COUNT(against));
	if (caches != against[config->split].caches) {
		return 0;
	}
	return nvw_fail(NVW_E_CONFIG, "%s.split: protocol %s needs read and write caches %s", level,
		m->protocol->name, against[config->split].needs);
}

/* The same for an L3, which every protocol allows. */
static void settle_l3(struct nvw_machine *m)
{
	const enum coh_l3 l3 = m->protocol->l3;

	m->l3.passes = l3 == COH_L3_PASSES && m->config.l3.split != 1;
	if (m->config.l3.split == EMU_AUTO) {
		m->config.l3.split = l3 == COH_L3_APART;
	}
	if (m->protocol->directory && m->config.l3.split != 1) {
		m->config.l3.sfifo = 0; /* dirty lines stay: nothing is released */
	}
}

/* Only where an L1 has what the L2's side has, besides its own stores, can lines be brought up to date. */
static bool can_renew(const struct coh_protocol *p)
{
	return !p->registration && !p->directory && !p->turns && !p->leases &&
	       p->caches == COH_CACHES_TOGETHER;
}

static int settle_acquires(struct nvw_machine *m)
{
	char names[256] = "";

	m->renews = !m->config.l1_acquire;
	if (!m->renews || can_renew(m->protocol)) {
		return 0;
	}
	for (unsigned i = 0; coh_protocols[i]; i++) {
		if (can_renew(coh_protocols[i])) {
			snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
				*names ? ", " : "", coh_protocols[i]->name);
		}
	}
	return nvw_fail(NVW_E_CONFIG,
		"l1.acquire: off needs a protocol that registers nothing, without owners, turns and leases "
		"(%s); found %s",
		names, m->protocol->name);
}

/* The part of a hit's latency that a miss does not take: it only looks up the tags. */
static emu_time spared(const struct emu_cache_config *config)
{
	return config->latency - NVW_OR(config->tag, config->latency);
}

/* An eviction may need a second way (buffered epochs). */
static int check_write_ways(const struct nvw_machine *m)
{
	const struct emu_model_info *const model = emu_model_info(m->config.model);

	if (!m->config.l2.split || m->config.l2.write_ways >= model->l2_ways) {
		return 0;
	}
	return nvw_fail(NVW_E_CONFIG,
		"l2.write_ways: %s persistency needs at least %llu: an eviction may need a second way",
		model->name, (unsigned long long)model->l2_ways);
}

static int caches_init(struct nvw_machine *m)
{
	NVW_TRY(settle_split(m, "l1", &m->config.l1));
	NVW_TRY(settle_split(m, "l2", &m->config.l2));
	NVW_TRY(check_write_ways(m));
	settle_l3(m);
	NVW_TRY(settle_acquires(m));
	m->l1_spared = spared(&m->config.l1);
	m->l2_spared = spared(&m->config.l2);
	m->cus = calloc(m->config.cus, sizeof *m->cus);
	m->l2.banks = (uint32_t)m->config.l2_banks;
	m->l2.bank = calloc(m->l2.banks, sizeof *m->l2.bank);
	NVW_FAIL_IF(!m->cus || !m->l2.bank, NVW_E_MEMORY, "no memory for %llu CUs",
		(unsigned long long)m->config.cus);
	NVW_FOR(i, m->config.cus) {
		struct emu_cu *const cu = &m->cus[i];

		cu->id = i;
		NVW_TRY(emu_caches_init(&cu->l1, &cu->write, &m->config.l1, &cu->stores));
		cu->l1.registered_last = is_registered_last(m, m->config.l1.replacement);
		NVW_TRY(emu_fifo_init(&cu->sfifo, (uint32_t)m->config.l1.sfifo));
		NVW_TRY(emu_fifo_init(&cu->nvw_fifo, (uint32_t)m->config.l1.nvw_fifo));
	}
	NVW_TRY(emu_caches_init(&m->l2.cache, &m->l2.write, &m->config.l2, &m->l2.stores));
	m->l2.cache.registered_last = is_registered_last(m, m->config.l2.replacement);
	NVW_TRY(emu_l3_init(m));
	NVW_TRY(coh_directory_init(m));
	NVW_TRY(emu_fifo_init(&m->l2.sfifo, (uint32_t)m->config.l2.sfifo));
	return emu_fifo_init(&m->l2.nvw_fifo, (uint32_t)m->config.l2.nvw_fifo);
}

static void caches_finish(struct nvw_machine *m)
{
	for (unsigned i = 0; m->cus && i < m->config.cus; i++) {
		emu_cache_finish(&m->cus[i].l1);
		emu_cache_finish(&m->cus[i].write);
		emu_fifo_finish(&m->cus[i].sfifo);
		emu_fifo_finish(&m->cus[i].nvw_fifo);
		emu_resources_finish(&m->cus[i].l1_port, 1);
	}
	emu_cache_finish(&m->l2.cache);
	emu_cache_finish(&m->l2.write);
	emu_l3_finish(m);
	coh_directory_finish(m);
	emu_fifo_finish(&m->l2.sfifo);
	emu_fifo_finish(&m->l2.nvw_fifo);
	emu_resources_finish(m->l2.bank, m->l2.banks);
	free(m->l2.bank);
	free(m->cus);
}

static int protocol_init(struct nvw_machine *m)
{
	m->protocol = coh_protocol_find(m->config.protocol);
	NVW_FAIL_IF(!m->protocol, NVW_E_CONFIG,
		"there is no coherence protocol \"%s\"; see nvwave list protocols", m->config.protocol);
	m->tells_sharers = coh_tells_sharers(m->protocol);
	/* Lists of actions end here at the latest; those of rows as well. */
	NVW_INVARIANT(!m->protocol->kernel_begin[COH_STEPS_MAX] && !m->protocol->kernel_end[COH_STEPS_MAX] &&
		      !m->protocol->group_barrier[COH_STEPS_MAX]);
	NVW_FOR(instruction, COH_INSTRUCTION_COUNT) {
		NVW_FOR(order, COH_ORDERS) {
			NVW_FOR(n, COH_SCOPES * COH_PLACES) {
				const unsigned scope = n / COH_PLACES, place = n % COH_PLACES;
				const struct coh_row *const row =
					coh_row_find(m->protocol, instruction, order, scope, place);

				NVW_FAIL_IF(!row, NVW_E_MODEL,
					"protocol %s: its table has no row for instruction %u, "
					"order %u, scope %u, place %u",
					m->protocol->name, instruction, order, scope, place);
				NVW_INVARIANT(!row->steps[COH_STEPS_MAX]);
				m->rows[instruction][order][scope][place] = row;
			}
		}
	}
	return 0;
}

/* Stores in front of an L1 are in order only if a store is seen by all others at once. */
static int consistency_init(struct nvw_machine *m)
{
	const uint64_t model = m->config.consistency;

	m->loads_complete = model && model != EMU_CONSISTENCY_rmo;
	if (!model || m->protocol->directory) {
		return 0;
	}
	return nvw_fail(NVW_E_CONFIG,
		"gpu.consistency needs a protocol in which a line has one writer or many readers (rfo, "
		"mttop-wb), or to be none; found %s",
		m->protocol->name);
}

/* The parts of a machine, in an order in which none needs a later one. */
static int parts_init(struct nvw_machine *m, struct nvw_pool *pool, struct nvw_log_writer *log)
{
	NVW_TRY(emu_devices_init(m, pool));
	NVW_TRY(protocol_init(m));
	NVW_TRY(consistency_init(m));
	NVW_TRY(caches_init(m));
	NVW_TRY(coh_turns_init(m));
	NVW_TRY(coh_leases_init(m));
	NVW_TRY(emu_network_init(m));
	NVW_TRY(emu_nvram_init(m));
	NVW_TRY(record_init(m, log));
	NVW_TRY(emu_events_init(m));
	NVW_TRY(emu_wavefronts_init(m));
	NVW_TRY(emu_store_buffers_init(m));
	NVW_TRY(emu_loads_init(m));
	NVW_TRY(emu_faults_catch(m));
	return persist_init(m);
}

int emu_create(const struct emu_config *config, struct nvw_pool *pool, struct nvw_log_writer *log,
	struct nvw_machine **ret_machine)
{
	struct nvw_machine *m;
	int r;

	NVW_TRY(emu_config_check(config));
	m = calloc(1, sizeof *m);
	NVW_ALLOCATED(m, "no memory for a machine");
	m->config = emu_config_consistent(config);
	m->cycle_ps = (emu_time)(1e12 / (double)config->clock + 0.5);
	m->cut.time_ps = m->clock.time_ps = m->alarm = UINT64_MAX;
	r = parts_init(m, pool, log);
	if (r < 0) {
		emu_destroy(m);
		return r;
	}
	*ret_machine = m;
	return 0;
}

void emu_destroy(struct nvw_machine *m)
{
	if (!m) {
		return;
	}
	emu_forget_kernel(m);
	emu_forget_waits(m);
	emu_watch_finish(m);
	persist_finish(m);
	emu_store_buffers_finish(m);
	emu_inserted_finish(m);
	emu_loads_finish(m);
	emu_wavefronts_finish(m);
	emu_events_finish(m);
	emu_order_finish(m);
	races_finish(m);
	emu_undo_finish(m);
	record_finish(m);
	emu_nvram_finish(m);
	emu_network_finish(m);
	caches_finish(m);
	coh_turns_finish(m);
	coh_leases_finish(m);
	emu_faults_release(m);
	emu_devices_finish(m);
	free(m);
}

void emu_set_power_cut(struct nvw_machine *m, const struct emu_power_cut *cut)
{
	m->cut = *cut;
	m->alarm = nvw_min(m->cut.time_ps, m->clock.time_ps);
}

void emu_set_clock(struct nvw_machine *m, const struct emu_clock *clock)
{
	m->clock = *clock;
	if (!clock->ring) {
		m->clock.time_ps = UINT64_MAX;
	}
	m->alarm = nvw_min(m->cut.time_ps, m->clock.time_ps);
}

const struct emu_config *emu_machine_config(const struct nvw_machine *m)
{
	return &m->config;
}

/* ---- Statistics ---------------------------------------------------------------------------- */

static void add_up_energy(struct emu_stats *s)
{
	s->energy_core = s->energy_l1 = s->energy_l2 = s->energy_network = s->energy_nvw_fifo = 0;
#define ENERGY(component, counted, femtojoules, source) \
	s->energy_##component += s->counted * UINT64_C(femtojoules) / EMU_FJ_A_PJ;
#define DEVICE_ENERGY(kind, operation, femtojoules, source) /* devices.c */
#include "observe/energy.def"
#undef ENERGY
#undef DEVICE_ENERGY
}

const struct emu_stats *emu_statistics(struct nvw_machine *m)
{
	NVW_INVARIANT(m->measured_from <= NVW_OR(m->measured_to, m->now));
	m->stats.sim_time_ps = NVW_OR(m->measured_to, m->now) - m->measured_from;
	emu_devices_count(m);
	add_up_energy(&m->stats);
	return &m->stats;
}
