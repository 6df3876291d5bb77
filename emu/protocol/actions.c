/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Actions on behalf of instructions, as the papers name them, and the interpreter of the synchronization
 * tables.
 */
#include "protocol.h"

/* ---- Buffered epoch persistency has a say in stores ---------------------------------------- */

static void prepare(const struct coh_request *r, struct emu_cu *cu, emu_time *t)
{
	if (r->m->buffered) {
		emu_buffered_prepare(r->m, r->wf, r->lanes, cu, r->line, t);
	}
}

static void mark(const struct coh_request *r, struct emu_line *line)
{
	if (r->m->buffered) {
		emu_buffered_mark(r->m, r->wf, r->lanes, line, r->line);
	}
}

static void settle(const struct coh_request *r, struct emu_line *line)
{
	if (r->m->buffered) {
		emu_buffered_settle(r->m, line);
	}
}

/* ---- At the L1 ----------------------------------------------------------------------------- */

static emu_time l1_port(const struct coh_request *r, emu_time t)
{
	return emu_reserve(&r->cu->l1_free, t, r->m->config.l1.occupancy);
}

/* The line with the bytes of the request, fetched if need be. */
static struct emu_line *l1_read(const struct coh_request *r, emu_time *t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line = coh_l1_find(m, r->cu, r->line);

	if (line && (line->valid & r->bytes) == r->bytes) {
		m->stats.l1_load_hits++;
		*t = coh_l1_event(m, r->cu, line, r->line, COH_L1_LOAD_HIT, COH_BY_ACCESS, *t);
	} else {
		m->stats.l1_load_misses++;
		line = line ? line : coh_l1_obtain(m, r->cu, r->line, t);
		*t = coh_l1_event(m, r->cu, line, r->line, COH_L1_LOAD_MISS, COH_BY_ACCESS, *t);
	}
	return line;
}

emu_time coh_ld_l1(const struct coh_request *r, emu_time t)
{
	t = l1_port(r, t) + r->m->config.l1.latency;
	coh_lanes_load(r, l1_read(r, &t));
	return t;
}

emu_time coh_st_l1(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line;

	t = l1_port(r, t) + m->config.l1.occupancy;
	m->stats.l1_stores++;
	prepare(r, r->cu, &t);
	line = coh_l1_find(m, r->cu, r->line);
	if (!line) {
		line = coh_l1_obtain(m, r->cu, r->line, &t);
		coh_l2_include(m, r->cu, r->line, t);
	}
	mark(r, line);
	coh_l1_event(m, r->cu, line, r->line, COH_L1_STORE, COH_BY_ACCESS, t);
	coh_lanes_store(r, line);
	coh_dirtied_l1(m, r->cu, r->line, &t);
	return t;
}

emu_time coh_rmw_l1(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line;

	t = emu_reserve(&r->cu->l1_free, t, coh_lanes_serial(r) * m->config.l1.occupancy) +
	    m->config.l1.latency;
	m->stats.l1_atomics++;
	prepare(r, r->cu, &t);
	line = l1_read(r, &t);
	mark(r, line);
	coh_l1_event(m, r->cu, line, r->line, COH_L1_STORE, COH_BY_ACCESS, t);
	coh_lanes_rmw(r, line);
	settle(r, line);
	coh_dirtied_l1(m, r->cu, r->line, &t);
	return t;
}

/* ---- At the L2 ----------------------------------------------------------------------------- */

/* The request's way to the bank, with the local L1's copy ahead of it: a work-item sees its own stores. */
static emu_time to_l2(const struct coh_request *r, uint32_t bytes, emu_time occupancy, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line;

	t = l1_port(r, t) + m->config.l1.occupancy;
	line = coh_l1_find(m, r->cu, r->line);
	if (line) {
		t = coh_l1_event(m, r->cu, line, r->line, COH_L1_EVICT, COH_BY_ATOMIC, t);
	}
	m->stats.l2_atomics++;
	t = emu_network_send(m, emu_network_cu_node(m, r->cu->id), coh_bank_node(m, r->line), bytes,
		EMU_MESSAGE_ATOMIC, t);
	return coh_l2_access(m, r->line, occupancy, t);
}

static emu_time from_l2(const struct coh_request *r, uint32_t bytes, emu_time t)
{
	return emu_network_send(r->m, coh_bank_node(r->m, r->line), emu_network_cu_node(r->m, r->cu->id),
		bytes, EMU_MESSAGE_ATOMIC, t);
}

static uint32_t touched(const struct coh_request *r)
{
	return (uint32_t)__builtin_popcountll(r->bytes);
}

emu_time coh_ld_l2(const struct coh_request *r, emu_time t)
{
	t = to_l2(r, 0, r->m->config.l2.occupancy, t);
	coh_lanes_load(r, coh_l2_obtain(r->m, r->line, r->bytes, &t));
	return from_l2(r, touched(r), t);
}

/* Stores into the L2's line; the store records and the dirty bytes start there. */
static emu_time change_l2(const struct coh_request *r, struct emu_line *line,
	void (*change)(const struct coh_request *, struct emu_line *), emu_time t)
{
	struct nvw_machine *const m = r->m;

	mark(r, line);
	coh_l2_event(m, line, r->line, COH_L2_WRITE, COH_BY_ATOMIC, t);
	change(r, line);
	settle(r, line);
	coh_dirtied_l2(m, r->line, &t);
	return t;
}

emu_time coh_st_l2(const struct coh_request *r, emu_time t)
{
	struct emu_line *line;

	t = to_l2(r, touched(r), r->m->config.l2.occupancy, t);
	prepare(r, NULL, &t);
	line = coh_l2_obtain(r->m, r->line, 0, &t);
	t = change_l2(r, line, coh_lanes_store, t);
	return from_l2(r, 0, t);
}

emu_time coh_rmw_l2(const struct coh_request *r, emu_time t)
{
	struct emu_line *line;

	t = to_l2(r, touched(r), coh_lanes_serial(r) * r->m->config.l2.occupancy, t);
	prepare(r, NULL, &t);
	line = coh_l2_obtain(r->m, r->line, r->bytes, &t);
	t = change_l2(r, line, coh_lanes_rmw, t);
	return from_l2(r, touched(r), t);
}

/* ---- Whole caches -------------------------------------------------------------------------- */

emu_time coh_flush_l1(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	const emu_time taken = coh_drain_l1(m, r->cu, &r->cu->sfifo, 0, COH_BY_RELEASE, t);

	if (taken == t) {
		return t;
	}
	return emu_network_send(m, coh_bank_node(m, r->line), emu_network_cu_node(m, r->cu->id), 0,
		EMU_MESSAGE_CONTROL, taken + m->config.l2.latency);
}

emu_time coh_flush_l2(const struct coh_request *r, emu_time t)
{
	return coh_drain_l2(r->m, &r->m->l2.sfifo, 0, COH_BY_RELEASE, t);
}

emu_time coh_invalidate_l1(const struct coh_request *r, emu_time t)
{
	struct emu_cache *const l1 = &r->cu->l1;

	r->m->stats.l1_invalidations++;
	if (++l1->generation == 0) {
		/* Lines that nobody met since the count began may not take it for their own again. */
		for (uint32_t i = 0; i < l1->sets * l1->ways; i++) {
			l1->lines[i].generation = UINT32_MAX;
		}
	}
	return l1_port(r, t) + r->m->config.l1.occupancy;
}

/* ---- The synchronization table ------------------------------------------------------------- */

static const struct {
	coh_action action;
	const char *name;
} actions[] = {
#define X(name, text) {coh_##name, text},
	COH_ACTIONS(X)
#undef X
};

const char *coh_action_name(coh_action action)
{
	for (unsigned i = 0; i < sizeof actions / sizeof *actions; i++) {
		if (actions[i].action == action) {
			return actions[i].name;
		}
	}
	return NULL;
}

static const struct {
	coh_line_action action;
	const char *name;
} line_actions[] = {
#define X(name, text) {coh_line_##name, text},
	COH_LINE_ACTIONS(X)
#undef X
};

const char *coh_line_action_name(coh_line_action action)
{
	for (unsigned i = 0; i < sizeof line_actions / sizeof *line_actions; i++) {
		if (line_actions[i].action == action) {
			return line_actions[i].name;
		}
	}
	return NULL;
}

const struct coh_row *coh_row_find(const struct coh_protocol *protocol, enum coh_instruction instruction,
	unsigned order, enum nvw_scope scope)
{
	for (const struct coh_row *row = protocol->rows; row->instructions; row++) {
		if (row->instructions >> instruction & 1 && row->orders >> order & 1 &&
			row->scopes >> scope & 1) {
			return row;
		}
	}
	return NULL;
}

static emu_time run(const struct coh_request *r, const coh_action *steps, emu_time t)
{
	for (unsigned i = 0; i < COH_STEPS_MAX && steps[i]; i++) {
		t = steps[i](r, t);
	}
	return t;
}

emu_time coh_run_steps(struct nvw_machine *m, struct emu_cu *cu, const coh_action *steps, emu_time t)
{
	const struct coh_request r = {.m = m, .cu = cu};

	return run(&r, steps, t);
}

static enum coh_instruction instruction_of(unsigned kind)
{
	static const enum coh_instruction of[] = {
		[NVW__LOAD] = COH_LOAD,
		[NVW__LOAD_READ_ONLY] = COH_LOAD_READ_ONLY,
		[NVW__STORE] = COH_STORE,
		[NVW__ATOMIC_LOAD] = COH_ATOMIC_LOAD,
		[NVW__ATOMIC_STORE] = COH_ATOMIC_STORE,
		[NVW__EXCHANGE] = COH_RMW,
		[NVW__ADD] = COH_RMW,
		[NVW__SUB] = COH_RMW,
		[NVW__AND] = COH_RMW,
		[NVW__OR] = COH_RMW,
		[NVW__MIN] = COH_RMW,
		[NVW__MAX] = COH_RMW,
		[NVW__COMPARE_EXCHANGE] = COH_RMW,
	};

	return of[kind];
}

emu_time coh_execute(const struct coh_request *r, unsigned order, enum nvw_scope scope, emu_time t)
{
	static const unsigned orders[] = {
		[NVW_RELAXED] = COH_RELAXED,
		[NVW_ACQUIRE] = COH_ACQUIRE,
		[NVW_RELEASE] = COH_RELEASE,
		[NVW_ACQ_REL] = COH_ACQ_REL,
		[NVW_SEQ_CST] = COH_ACQ_REL,
	};

	t = run(r, r->m->rows[instruction_of(r->kind)][orders[order]][scope]->steps, t);
#ifdef EMU_DEBUG
	const char *const broken = r->m->protocol->broken_invariant(r->m, r->line);

	if (broken && !r->m->error) {
		r->m->error = nvw_fail(
			NVW_E_MODEL, "protocol %s, line %#x: %s", r->m->protocol->name, r->line, broken);
	}
#endif
	return t;
}

/* ---- The protocols ------------------------------------------------------------------------- */

#define PROTOCOL(symbol) extern const struct coh_protocol coh_##symbol;
#include "protocols.def"
#undef PROTOCOL

const struct coh_protocol *const coh_protocols[] = {
#define PROTOCOL(symbol) &coh_##symbol,
#include "protocols.def"
#undef PROTOCOL
	NULL,
};

const struct coh_protocol *coh_protocol_find(const char *name)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		if (strcmp(coh_protocols[i]->name, name) == 0) {
			return coh_protocols[i];
		}
	}
	return NULL;
}

bool emu_protocol_info(unsigned i, const char **ret_name, const char **ret_citation, const char **ret_summary)
{
	for (unsigned k = 0; k <= i; k++) {
		if (!coh_protocols[k]) {
			return false;
		}
	}
	*ret_name = coh_protocols[i]->name;
	*ret_citation = coh_protocols[i]->citation;
	*ret_summary = coh_protocols[i]->summary;
	return true;
}
