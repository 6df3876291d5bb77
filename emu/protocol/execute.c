/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter of the synchronization tables: it finds an instruction's row and executes its actions in
 * order. */
#include "core/each.h"
#include "core/invariant.h"
#include "protocol.h"

#include "../persist/persist.h"

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
		t = action->carry_out(r, t);
	}
	if (t != COH_NOT_YET) {
		r->again = false;
	}
	return t;
}

/* Whether the request has a next step. */
static bool goes_on(const struct coh_request *r)
{
	return r->steps[r->step];
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

/* The statistic for the time of a synchronization action (alsop16 Figure 8); NULL: it is the access
 * itself. */
static uint64_t *synchronization_time(const struct coh_request *r, coh_action action)
{
	struct emu_stats *const s = &r->m->stats;

	if (!coh_is_of_kernel(r) && r->m->protocol->synchronizes_within_access) {
		return NULL;
	}
	switch (action->part) {
	case COH_PART_ACQUIRE:
		return coh_is_of_kernel(r) ? &s->kernel_begin_ps : &s->acquire_ps;
	case COH_PART_RELEASE:
		return coh_is_of_kernel(r) ? &s->kernel_end_ps : &s->release_ps;
	case COH_PART_L1:
	case COH_PART_ACCESS:
		break;
	}
	return NULL;
}

static emu_time after_release(struct coh_request *r, emu_time waited, emu_time t);

/*
 * A release takes until t: what follows it in the row is performed then, and nobody sees it before. Other
 * instructions go on in the meantime. So a lock is free when its owner's stores are where the next owner
 * finds them, not when they begin their way.
 */
static emu_time finish_release(const struct coh_request *r, emu_time began, emu_time t)
{
	struct coh_request late = *r;
	struct coh_wait *w;

	late.resume = after_release;
	w = coh_put_off(&late, EMU_CAUSE_release, began);
	if (!w) {
		return t;
	}
	coh_wake(r->m, w, t);
	return COH_NOT_YET;
}

/* Like run(), for synchronization. */
static emu_time run_synchronization(struct coh_request *r, emu_time t)
{
	emu_time releases = t; /* a release began then */
	bool takes_time = false;

	for (; goes_on(r); r->step++) {
		const bool is_release = r->steps[r->step]->part == COH_PART_RELEASE;
		uint64_t *const time = synchronization_time(r, r->steps[r->step]);
		const emu_time began = t;

		if (takes_time && !is_release && !r->is_released && !coh_is_of_kernel(r)) {
			return finish_release(r, releases, t);
		}
		t = take_step(r, t);
		if (t == COH_NOT_YET) {
			return t;
		}
		if (time) {
			*time += t - began;
		}
		if (is_release && t > began) {
			if (!takes_time) {
				releases = began;
			}
			takes_time = true;
		}
	}
	return t;
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
		[NVW__EXCHANGE... NVW__COMPARE_EXCHANGE] = COH_RMW,
	};

	NVW_DEEP_INVARIANT(kind < NVW_COUNT(of));
	return of[kind];
}

extern inline const struct coh_row *const *coh_rows_of(
	const struct nvw_machine *m, unsigned kind, unsigned order, enum nvw_scope scope)
{
	static const unsigned orders[] = {
		[NVW_RELAXED] = COH_RELAXED,
		[NVW_ACQUIRE] = COH_ACQUIRE,
		[NVW_RELEASE] = COH_RELEASE,
		[NVW_ACQ_REL] = COH_ACQ_REL,
		[NVW_SEQ_CST] = COH_ACQ_REL,
	};

	NVW_DEEP_INVARIANT(order < NVW_COUNT(orders));
	return m->rows[instruction_of(kind)][orders[order]][scope];
}

/* Where synchronization hits (alsop16 Table 6). Without registration the row tells: the L1 or the L2. */
static void count_synchronization(const struct coh_request *r, enum coh_place place)
{
	struct nvw_machine *const m = r->m;
	const coh_action *const steps = m->rows[instruction_of(r->kind)][COH_RELAXED][r->scope][place]->steps;
	const bool at_l1 = steps[0]->part == COH_PART_L1;

	m->stats.sync_ops++;
	if (at_l1) {
		m->stats.sync_l1++;
	} else if (place == COH_PLACE_REMOTE) {
		m->stats.sync_remote++;
	} else {
		m->stats.sync_l2++;
	}
}

static __attribute__((noinline)) enum coh_place place_in_registry(const struct coh_request *r, emu_time *t)
{
	const enum coh_instruction instruction = instruction_of(r->kind);

	if (instruction >= COH_STORE && instruction != COH_ATOMIC_LOAD) {
		/* Lines that have to leave first may replace this line's registration in the L2: before it is
		 * looked up. */
		persist_prepare(r, r->cu, t);
	}
	return coh_registry_place(r->m, r->cu, r->line, r->bytes);
}

/* The place of the instruction's bytes. */
static inline enum coh_place place_of(const struct coh_request *r, emu_time *t)
{
	if (r->m->protocol->registration) {
		return place_in_registry(r, t);
	}
	return COH_PLACE_L2;
}

void coh_check_line(const struct coh_request *r)
{
	const char *const broken = r->m->protocol->broken_invariant(r->m, r->line);

	if (broken && !r->m->error) {
		r->m->error = nvw_fail(
			NVW_E_MODEL, "protocol %s, line %#x: %s", r->m->protocol->name, r->line, broken);
	}
}

/* Executes the request from its step on. */
static emu_time carry_on(struct coh_request *r, emu_time t)
{
	if (coh_is_atomic(r)) {
		t = run_synchronization(r, t);
	} else {
		t = run(r, t);
	}
	coh_check_invariants(r);
	return t;
}

static emu_time execute_at(struct coh_request *r, enum coh_place place, emu_time t)
{
	NVW_DEEP_INVARIANT(place < COH_PLACES);
	r->steps = r->rows[place]->steps;
	r->step = 0;
	r->again = false;
	while (r->is_released && r->steps[r->step]->part == COH_PART_RELEASE) {
		r->step++;
	}
	if (coh_is_atomic(r) && !r->is_released) {
		count_synchronization(r, place);
	}
	return carry_on(r, t);
}

static emu_time resume(struct coh_request *r, emu_time waited, emu_time t)
{
	uint64_t *time = NULL;

	if (!r->steps) {
		const enum coh_place place = place_of(r, &t);

		return execute_at(r, place, t);
	}
	if (coh_is_atomic(r)) {
		time = synchronization_time(r, r->steps[r->step]);
	}
	if (time) {
		*time += waited;
	}
	return carry_on(r, t);
}

/* Its line may have changed hands meanwhile. */
static emu_time after_release(struct coh_request *r, emu_time waited, emu_time t)
{
	(void)waited; /* counted when the release was carried out */
	r->resume = resume;
	r->again = false;
	r->is_released = true;
	if (!r->m->protocol->registration) {
		return carry_on(r, t);
	}
	return coh_execute(r, t);
}

extern inline emu_time coh_execute(struct coh_request *r, emu_time t)
{
	const enum coh_place place = place_of(r, &t);

	r->steps = NULL;
	r->resume = resume;
	if (place == COH_PLACE_REMOTE && coh_is_atomic(r) && coh_queue_up(r, t)) {
		return COH_NOT_YET;
	}
	return execute_at(r, place, t);
}
