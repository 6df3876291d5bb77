/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Actions on behalf of instructions, as the papers name them, and the interpreter of the synchronization
 * tables.
 */
#include "protocol.h"

#include "../persist/persist.h"

/* ---- The persistency model has a say in stores --------------------------------------------- */

static void prepare(const struct coh_request *r, struct emu_cu *cu, emu_time *t)
{
	persist_prepare(r->m, r->wf, r->lanes, cu, r->line, t);
}

static void mark(const struct coh_request *r, struct emu_line *line)
{
	persist_mark(r->m, r->wf, r->lanes, line, r->line);
}

static void settle(const struct coh_request *r, struct emu_line *line)
{
	persist_settle(r->m, line);
}

/* ---- At the L1 ----------------------------------------------------------------------------- */

static emu_time l1_port(const struct coh_request *r, emu_time t)
{
	return coh_l1_port(r->m, r->cu, t, r->m->config.l1.occupancy);
}

/* What a line has registered may still be on its way: its CU's work-items wait for it together. */
static emu_time wait_for_grant(const struct nvw_machine *m, const struct emu_line *line, emu_time t)
{
	return m->protocol->registration ? emu_later(t, line->granted) : t;
}

/* A store is about to change the line. */
static emu_time l1_write(const struct coh_request *r, struct emu_line *line, emu_time t)
{
	const bool own = line->registered && !(r->bytes & ~line->registered);

	return coh_l1_event_on(r->m, r->cu, line, r->line, own ? COH_L1_STORE_OWN : COH_L1_STORE,
		COH_BY_ACCESS, r->bytes, own ? wait_for_grant(r->m, line, t) : t);
}

/* The line with the bytes of the request, fetched if need be. */
static struct emu_line *l1_read(const struct coh_request *r, emu_time *t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line = coh_l1_find(m, r->cu, r->line);

	if (line && coh_hits(m, r->cu, line, r->bytes)) {
		m->stats.l1_load_hits++;
		*t = coh_l1_event(
			m, r->cu, line, r->line, COH_L1_LOAD_HIT, COH_BY_ACCESS, wait_for_grant(m, line, *t));
		m->stats.l1_read_only_hits += (line->read_only & r->bytes) == r->bytes;
	} else {
		m->stats.l1_load_misses++;
		line = line ? line : coh_l1_obtain(m, r->cu, r->line, t);
		*t = coh_l1_event_on(m, r->cu, line, r->line, COH_L1_LOAD_MISS, COH_BY_ACCESS, r->bytes, *t);
	}
	return line;
}

emu_time coh_ld_l1(const struct coh_request *r, emu_time t)
{
	struct emu_line *line;

	t = l1_port(r, t) + r->m->config.l1.latency;
	line = l1_read(r, &t);
	coh_lanes_load(r, line);
	if (r->kind == NVW__LOAD_READ_ONLY && r->m->protocol->keeps_read_only) {
		line->read_only |= r->bytes & ~(line->dirty | line->registered);
	}
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
	t = l1_write(r, line, t);
	coh_lanes_store(r, line);
	coh_dirtied_l1(m, r->cu, r->line, &t);
	return t;
}

emu_time coh_rmw_l1(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line;

	t = coh_l1_port(r->m, r->cu, emu_later(t, r->cu->rmw_free),
		    coh_lanes_serial(r) * m->config.l1.occupancy) +
	    m->config.l1.latency;
	m->stats.l1_atomics++;
	prepare(r, r->cu, &t);
	line = l1_read(r, &t);
	mark(r, line);
	t = l1_write(r, line, t);
	coh_lanes_rmw(r, line);
	settle(r, line);
	coh_dirtied_l1(m, r->cu, r->line, &t);
	return t;
}

/* ---- At the L2 ----------------------------------------------------------------------------- */

static bool is_atomic(const struct coh_request *r)
{
	return r->kind >= NVW__ATOMIC_LOAD;
}

static enum emu_message message_of(const struct coh_request *r)
{
	return is_atomic(r)          ? EMU_MESSAGE_ATOMIC :
	       r->kind == NVW__STORE ? EMU_MESSAGE_WRITE :
				       EMU_MESSAGE_READ;
}

/* The request's way to the bank, with the local L1's copy ahead of it: a work-item sees its own stores. */
static emu_time to_l2(const struct coh_request *r, uint32_t bytes, emu_time occupancy, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct emu_line *line;

	t = l1_port(r, t) + m->config.l1.occupancy;
	line = coh_l1_find(m, r->cu, r->line);
	/* A line that is registered for other bytes stays where it is: data beside an atomic (alsop16 III.C.1). */
	if (line && !(line->registered && !(line->registered & r->bytes))) {
		t = coh_l1_event(m, r->cu, line, r->line, COH_L1_EVICT, COH_BY_ATOMIC, t);
	}
	m->stats.l2_atomics += is_atomic(r);
	t = emu_network_send(
		m, emu_network_cu_node(m, r->cu->id), coh_bank_node(m, r->line), bytes, message_of(r), t);
	return coh_l2_access(m, r->line, occupancy, t);
}

static emu_time from_l2(const struct coh_request *r, uint32_t bytes, emu_time t)
{
	return emu_network_send(r->m, coh_bank_node(r->m, r->line), emu_network_cu_node(r->m, r->cu->id),
		bytes, message_of(r), t);
}

static uint32_t touched(const struct coh_request *r)
{
	return (uint32_t)__builtin_popcountll(r->bytes);
}

emu_time coh_ld_l2(const struct coh_request *r, emu_time t)
{
	t = to_l2(r, 0, r->m->config.l2.occupancy, t);
	coh_lanes_load(r, coh_registry_claim(r->m, NULL, r->line, r->bytes, r->bytes, &t));
	return from_l2(r, touched(r), t);
}

/* Stores into the L2's line; the store records and the dirty bytes start there. */
static emu_time change_l2(const struct coh_request *r, struct emu_line *line,
	void (*change)(const struct coh_request *, struct emu_line *), emu_time t)
{
	struct nvw_machine *const m = r->m;

	mark(r, line);
	change(r, line);
	settle(r, line);
	coh_l2_event(m, line, r->line, is_atomic(r) ? COH_L2_ATOMIC : COH_L2_WRITE, COH_BY_ATOMIC, t);
	coh_dirtied_l2(m, r->line, &t);
	return t;
}

emu_time coh_st_l2(const struct coh_request *r, emu_time t)
{
	struct emu_line *line;

	t = to_l2(r, touched(r), r->m->config.l2.occupancy, t);
	prepare(r, NULL, &t);
	line = coh_registry_claim(r->m, NULL, r->line, r->bytes, 0, &t);
	t = change_l2(r, line, coh_lanes_store, t);
	return from_l2(r, 0, t);
}

emu_time coh_rmw_l2(const struct coh_request *r, emu_time t)
{
	struct emu_line *line;

	t = to_l2(r, touched(r), coh_lanes_serial(r) * r->m->config.l2.occupancy, t);
	prepare(r, NULL, &t);
	line = coh_registry_claim(r->m, NULL, r->line, r->bytes, r->bytes, &t);
	t = change_l2(r, line, coh_lanes_rmw, t);
	return from_l2(r, touched(r), t);
}

/* ---- Whole caches -------------------------------------------------------------------------- */

/* Kernels begin and end without an instruction. */
static bool is_of_kernel(const struct coh_request *r)
{
	return !r->wf;
}

static uint64_t *flush_cause(const struct coh_request *r)
{
	return is_of_kernel(r) ? &r->m->stats.flushes_kernel : &r->m->stats.flushes_release;
}

emu_time coh_flush_l1(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	const emu_time taken = coh_flush_whole_l1(m, r->cu, flush_cause(r), t);

	if (taken == t) {
		return t;
	}
	return emu_network_send(m, coh_bank_node(m, r->line), emu_network_cu_node(m, r->cu->id), 0,
		EMU_MESSAGE_CONTROL, taken + m->config.l2.latency);
}

static bool is_registered_here(const struct coh_request *r)
{
	return !is_of_kernel(r) && coh_registry_place(r->m, r->cu, r->line, r->bytes) == COH_PLACE_L1;
}

/* A registration is its own acknowledgement: nothing more to wait for. What it replaces in the L2 may be what the
 * instruction itself works on: the L1 gets that back before it is used. */
emu_time coh_register_stores(const struct coh_request *r, emu_time t)
{
	const bool was_here = is_registered_here(r);

	t = coh_flush_whole_l1(r->m, r->cu, flush_cause(r), t);
	return was_here && !is_registered_here(r) ? coh_register_l1(r, t) : t;
}

emu_time coh_flush_l2(const struct coh_request *r, emu_time t)
{
	return coh_drain_l2(r->m, &r->m->l2.sfifo, 0, COH_BY_RELEASE, t);
}

/* The marker arrives at the L2, whose acknowledgement wakes the instruction. */
static void mark_l2_sfifo(struct nvw_machine *m, void *what)
{
	struct coh_wait *const w = what;
	const struct coh_request *const r = &w->request;
	const emu_time taken = coh_drain_l2(m, &m->l2.sfifo, 0, COH_BY_RELEASE, m->now);

	coh_wake(m, w,
		emu_network_send(m, coh_bank_node(m, r->line), emu_network_cu_node(m, r->cu->id), 0,
			EMU_MESSAGE_CONTROL, taken));
}

/* As the markers of persist barriers in the NVW-FIFOs (gope18 6.1): what is ahead of the marker leaves the L1, then the L2.
 * Other instructions go on meanwhile. */
emu_time coh_mark_sfifos(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct coh_wait *w;

	if (r->again || !(w = coh_put_off(r, COH_WAIT_marker, t))) {
		return t;
	}
	t = coh_flush_whole_l1(m, r->cu, flush_cause(r), t);
	t = emu_network_send(
		m, emu_network_cu_node(m, r->cu->id), coh_bank_node(m, r->line), 0, EMU_MESSAGE_CONTROL, t);
	emu_schedule(m, t, mark_l2_sfifo, w);
	return COH_NOT_YET;
}

static void invalidate(struct emu_cu *cu, uint64_t *cause)
{
	struct emu_cache *const l1 = &cu->l1;

	++*cause;
	if (++l1->generation == 0) {
		/* Lines that nobody met since the count began may not take it for their own again. */
		for (uint32_t i = 0; i < l1->sets * l1->ways; i++) {
			l1->lines[i].generation = UINT32_MAX;
		}
	}
}

static uint64_t *invalidation_cause(const struct coh_request *r)
{
	const struct coh_protocol *const p = r->m->protocol;
	struct emu_stats *const s = &r->m->stats;

	if (is_of_kernel(r)) {
		return &s->invalidations_kernel;
	}
	return p->count_invalidation ? p->count_invalidation(s) : &s->invalidations_acquire;
}

emu_time coh_invalidate_l1(const struct coh_request *r, emu_time t)
{
	invalidate(r->cu, invalidation_cause(r));
	return l1_port(r, t) + r->m->config.l1.occupancy;
}

emu_time coh_invalidate_unregistered(const struct coh_request *r, emu_time t)
{
	return coh_invalidate_l1(r, t);
}

emu_time coh_forget_read_only(const struct coh_request *r, emu_time t)
{
	struct emu_cache *const l1 = &r->cu->l1;

	for (uint32_t i = 0; i < l1->sets * l1->ways; i++) {
		l1->lines[i].read_only = 0;
	}
	return t;
}

/* ---- Every L1 (alsop16 II.D) ---------------------------------------------------------------- */

/* A message to every CU, who all do something; returns when the last has answered. The sender needs no answer. */
static emu_time broadcast(const struct coh_request *r,
	emu_time (*act)(struct nvw_machine *, struct emu_cu *, emu_time), emu_time t)
{
	struct nvw_machine *const m = r->m;
	const uint32_t here = emu_network_cu_node(m, r->cu->id);
	emu_time last = act(m, r->cu, t), arrivals[EMU_CUS_MAX];

	emu_network_broadcast(m, here, EMU_MESSAGE_CONTROL, t, arrivals);
	for (unsigned i = 0; i < m->config.cus; i++) {
		const uint32_t there = emu_network_cu_node(m, i);
		emu_time at;

		if (i == r->cu->id) {
			continue;
		}
		at = act(m, &m->cus[i], arrivals[i]);
		last = emu_later(last, emu_network_send(m, there, here, 0, EMU_MESSAGE_CONTROL, at));
	}
	return last;
}

static emu_time flush_one(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	const emu_time taken = coh_flush_whole_l1(m, cu, &m->stats.flushes_remote, t);

	return taken == t ? t : taken + m->config.l2.latency;
}

static emu_time invalidate_one(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	invalidate(cu, &m->stats.invalidations_remote);
	return coh_l1_port(m, cu, t, m->config.l1.occupancy) + m->config.l1.occupancy;
}

static emu_time lock_one(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	return emu_later(t, cu->rmw_free);
}

static emu_time unlock_one(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	cu->rmw_free = emu_later(cu->rmw_free, t);
	return t;
}

emu_time coh_flush_all_l1s(const struct coh_request *r, emu_time t)
{
	return broadcast(r, flush_one, t);
}

emu_time coh_invalidate_all_l1s(const struct coh_request *r, emu_time t)
{
	return broadcast(r, invalidate_one, t);
}

/* The transaction is carried out whole: nothing can come between lock and unlock. What the lock costs others is that
 * their read-modify-writes begin after the unlock has reached them. */
emu_time coh_lock_rmws(const struct coh_request *r, emu_time t)
{
	return broadcast(r, lock_one, t);
}

emu_time coh_unlock_rmws(const struct coh_request *r, emu_time t)
{
	broadcast(r, unlock_one, t);
	return t;
}

/* ---- Registration (registry.c) --------------------------------------------------------------- */

emu_time coh_register_l1(const struct coh_request *r, emu_time t)
{
	struct emu_line *line;

	t = l1_port(r, t) + r->m->config.l1.latency;
	prepare(r, r->cu, &t);
	line = coh_l1_obtain(r->m, r->cu, r->line, &t);
	return coh_l1_event_on(r->m, r->cu, line, r->line, COH_L1_REGISTER, COH_BY_ATOMIC, r->bytes, t);
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

static bool names(uint32_t bits, unsigned bit)
{
	return bits == 0 || bits >> bit & 1;
}

const struct coh_row *coh_row_find(const struct coh_protocol *protocol, enum coh_instruction instruction,
	unsigned order, enum nvw_scope scope, enum coh_place place)
{
	for (const struct coh_row *row = protocol->rows; row->instructions; row++) {
		if (row->instructions >> instruction & 1 && row->orders >> order & 1 &&
			names(row->where & ((1u << COH_SCOPES) - 1), scope) &&
			names(row->where >> COH_PLACE_SHIFT, place)) {
			return row;
		}
	}
	return NULL;
}

static emu_time take_step(struct coh_request *r, emu_time t)
{
	const coh_action action = r->steps[r->step];

	if (action != r->m->fault.action) {
		t = action(r, t);
	}
	if (t != COH_NOT_YET) {
		r->again = false;
	}
	return t;
}

/* Whether the request has a next step. */
static bool goes_on(const struct coh_request *r)
{
	return r->step < COH_STEPS_MAX && r->steps[r->step];
}

static emu_time run(struct coh_request *r, emu_time t)
{
	for (; goes_on(r); r->step++) {
		t = take_step(r, t);
		if (t == COH_NOT_YET) {
			return t;
		}
	}
	return t;
}

/* Where the time of a synchronization action is counted (alsop16 Figure 8); NULL: it is the access itself. */
static uint64_t *synchronization_time(const struct coh_request *r, coh_action action)
{
	struct emu_stats *const s = &r->m->stats;

	if (!is_of_kernel(r) && r->m->protocol->synchronizes_within_access) {
		return NULL;
	}
	if (action == coh_invalidate_l1 || action == coh_invalidate_unregistered ||
		action == coh_forget_read_only || action == coh_flush_all_l1s) {
		return is_of_kernel(r) ? &s->kernel_begin_ps : &s->acquire_ps;
	}
	if (action == coh_flush_l1 || action == coh_flush_l2 || action == coh_register_stores ||
		action == coh_invalidate_all_l1s || action == coh_mark_sfifos) {
		return is_of_kernel(r) ? &s->kernel_end_ps : &s->release_ps;
	}
	return NULL;
}

/* As run(), for what synchronizes. */
static emu_time run_synchronization(struct coh_request *r, emu_time t)
{
	for (; goes_on(r); r->step++) {
		uint64_t *const time = synchronization_time(r, r->steps[r->step]);
		const emu_time began = t;

		t = take_step(r, t);
		if (t == COH_NOT_YET) {
			return t;
		}
		if (time) {
			*time += t - began;
		}
	}
	return t;
}

int emu_plant_fault(struct nvw_machine *m, const char *action)
{
	m->fault.action = NULL;
	m->fault.line = NULL;
	for (unsigned i = 0; i < sizeof actions / sizeof *actions; i++) {
		m->fault.action = strcmp(actions[i].name, action) ? m->fault.action : actions[i].action;
	}
	for (unsigned i = 0; i < sizeof line_actions / sizeof *line_actions; i++) {
		m->fault.line = strcmp(line_actions[i].name, action) ? m->fault.line : line_actions[i].action;
	}
	return m->fault.action || m->fault.line ?
		       0 :
		       nvw_fail(NVW_E_USAGE, "no protocol's table has an action \"%s\"", action);
}

static bool rows_name(const struct coh_protocol *p, coh_action action)
{
	for (const struct coh_row *row = p->rows; row->instructions; row++) {
		for (unsigned s = 0; s < COH_STEPS_MAX && row->steps[s]; s++) {
			if (row->steps[s] == action) {
				return true;
			}
		}
	}
	return false;
}

static bool cells_name(const struct coh_cell *cells, unsigned count, coh_line_action action)
{
	for (unsigned n = 0; n < 3 * count; n++) {
		if (cells[n / 3].actions[n % 3] == action) {
			return true;
		}
	}
	return false;
}

const char *emu_protocol_action(const char *protocol, unsigned wanted)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);

	for (unsigned i = 0; p && i < sizeof actions / sizeof *actions; i++) {
		if (rows_name(p, actions[i].action) && wanted-- == 0) {
			return actions[i].name;
		}
	}
	for (unsigned i = 0; p && i < sizeof line_actions / sizeof *line_actions; i++) {
		if ((cells_name(p->l1, p->l1_state_count * COH_L1_EVENT_COUNT, line_actions[i].action) ||
			    cells_name(
				    p->l2, p->l2_state_count * COH_L2_EVENT_COUNT, line_actions[i].action)) &&
			wanted-- == 0) {
			return line_actions[i].name;
		}
	}
	return NULL;
}

emu_time coh_run_steps(struct nvw_machine *m, struct emu_cu *cu, const coh_action *steps, emu_time t)
{
	struct coh_request r = {.m = m, .cu = cu, .steps = steps};

	return run_synchronization(&r, t);
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

/* Where synchronization hits (alsop16 Table 6). Without registration the row says: the L1 or the L2. */
static void count_synchronization(const struct coh_request *r, enum coh_place place)
{
	struct nvw_machine *const m = r->m;
	const coh_action *const steps = m->rows[instruction_of(r->kind)][COH_RELAXED][r->scope][place]->steps;
	const bool at_l1 = steps[0] == coh_ld_l1 || steps[0] == coh_st_l1 || steps[0] == coh_rmw_l1;

	m->stats.sync_ops++;
	++*(at_l1                         ? &m->stats.sync_l1 :
		place == COH_PLACE_REMOTE ? &m->stats.sync_remote :
					    &m->stats.sync_l2);
}

/* Where the bytes of the instruction are. */
static enum coh_place place_of(const struct coh_request *r, emu_time *t)
{
	const enum coh_instruction instruction = instruction_of(r->kind);

	if (!r->m->protocol->registration) {
		return COH_PLACE_L2;
	}
	if (instruction >= COH_STORE && instruction != COH_ATOMIC_LOAD) {
		/* What has to leave first may replace this line's registration in the L2: before it is looked at. */
		prepare(r, r->cu, t);
	}
	return coh_registry_place(r->m, r->cu, r->line, r->bytes);
}

static void check_invariants(const struct coh_request *r)
{
#ifdef EMU_DEBUG
	const char *const broken = r->m->protocol->broken_invariant(r->m, r->line);

	if (broken && !r->m->error) {
		r->m->error = nvw_fail(
			NVW_E_MODEL, "protocol %s, line %#x: %s", r->m->protocol->name, r->line, broken);
	}
#endif
}

/* From the request's step on. */
static emu_time carry_on(struct coh_request *r, emu_time t)
{
	t = is_atomic(r) ? run_synchronization(r, t) : run(r, t);
	check_invariants(r);
	return t;
}

static emu_time execute_at(struct coh_request *r, enum coh_place place, emu_time t)
{
	static const unsigned orders[] = {
		[NVW_RELAXED] = COH_RELAXED,
		[NVW_ACQUIRE] = COH_ACQUIRE,
		[NVW_RELEASE] = COH_RELEASE,
		[NVW_ACQ_REL] = COH_ACQ_REL,
		[NVW_SEQ_CST] = COH_ACQ_REL,
	};

	r->steps = r->m->rows[instruction_of(r->kind)][orders[r->order]][r->scope][place]->steps;
	r->step = 0;
	r->again = false;
	if (is_atomic(r)) {
		count_synchronization(r, place);
	}
	return carry_on(r, t);
}

emu_time coh_execute(struct coh_request *r, emu_time t)
{
	const enum coh_place place = place_of(r, &t);

	r->steps = NULL;
	if (place == COH_PLACE_REMOTE && is_atomic(r) && coh_queue_up(r, t)) {
		return COH_NOT_YET;
	}
	return execute_at(r, place, t);
}

emu_time coh_continue(struct coh_request *r, emu_time waited, emu_time t)
{
	uint64_t *time;

	if (!r->steps) {
		const enum coh_place place = place_of(r, &t);

		return execute_at(r, place, t);
	}
	time = is_atomic(r) ? synchronization_time(r, r->steps[r->step]) : NULL;
	if (time) {
		*time += waited;
	}
	return carry_on(r, t);
}

/* ---- The protocols ------------------------------------------------------------------------- */

/* A test may bring a list of its own. */
#ifndef COH_PROTOCOLS
#define COH_PROTOCOLS "protocols.def"
#endif

#define PROTOCOL(symbol) extern const struct coh_protocol coh_##symbol;
#include COH_PROTOCOLS
#undef PROTOCOL

const struct coh_protocol *const coh_protocols[] = {
#define PROTOCOL(symbol) &coh_##symbol,
#include COH_PROTOCOLS
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

enum emu_scopes emu_protocol_scopes(const char *protocol)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);

	return p ? p->scopes : EMU_SCOPES_WIDENED;
}

bool emu_protocol_keeps(const char *protocol, enum nvw_scopes_asked asked)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);

	if (!p || p->scopes == EMU_SCOPES_WIDENED) {
		return p;
	}
	switch (asked) {
	case NVW_ASKS_NOTHING:
		return true;
	case NVW_ASKS_CU:
		return p->local_scope == COH_LOCAL_CU;
	case NVW_ASKS_REMOTE:
		return p->scopes == EMU_SCOPES_PROMOTED;
	case NVW_ASKS_ALL:
		break;
	}
	return false;
}
