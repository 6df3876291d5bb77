/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that only the local L1 learns of, as most are: neighbouring lanes load or store neighbouring
 * objects of lines that the L1 has. Then the steps of execute.c and actions.c come to a look-up, a turn at
 * the port and a copy for each line; what does not depend on the line is asked once for the instruction.
 *
 * Guarantee: times, statistics, states and the order of replacement are those of the steps. What differs from
 * a hit in any way, such as a line that an acquire has invalidated, goes by the steps.
 */
#include "../time/booking.h"
#include "../memory/device_memory.h"
#include "../persist/persist.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "protocol.h"

static bool is_alone(const struct coh_row *row, coh_action step)
{
	return row->steps[0] == step && !row->steps[1];
}

/* Whether the step is all that a plain instruction of this kind does, wherever its bytes are registered; the
 * place "beside" is looked at line by line. */
static bool is_all(const struct nvw_machine *m, unsigned kind, coh_action step)
{
	const struct coh_row *const *const rows = coh_rows_of(m, kind, NVW_RELAXED, NVW_SCOPE_WORKITEM);

	return is_alone(rows[COH_PLACE_L2], step) && is_alone(rows[COH_PLACE_L1], step) &&
	       is_alone(rows[COH_PLACE_REMOTE], step);
}

void coh_hits_launch(struct nvw_machine *m)
{
	const struct persist_model *const p = m->persist;
	const bool has_more = m->store_buffers || p->together || m->fault.action;
	const bool stores_have_more = has_more || p->prepare || p->mark || coh_is_apart_l1(&m->cus[0]);

	_Static_assert(NVW__KIND_COUNT <= 32, "bits");
	m->hits = 0;
	if (!has_more && is_all(m, NVW__LOAD, &coh_ld_l1)) {
		m->hits |= 1u << NVW__LOAD;
	}
	if (!stores_have_more && is_all(m, NVW__STORE, &coh_st_l1)) {
		m->hits |= 1u << NVW__STORE;
	}
}

/* Lanes from one on, and where in the line of the request their objects begin. */
struct place {
	unsigned lane, end, offset;
};

/* How many of the lanes share the line, if an object has 1 << shift bytes. */
static inline unsigned lanes_of_line(struct place p, int shift)
{
	return (unsigned)nvw_min((EMU_LINE - p.offset) >> shift, p.end - p.lane);
}

static inline uint64_t bytes_of_run(struct place p, unsigned count, int shift)
{
	return UINT64_MAX >> (EMU_LINE - (count << shift)) << p.offset;
}

static inline struct place behind(struct place p, unsigned count)
{
	return (struct place){p.lane + count, p.end, 0};
}

/* Whether the line is there as it was left, and the event leaves it so. */
static inline bool stays(const struct coh_request *r, const struct emu_line *line, enum coh_l1_event event)
{
	return line->generation == r->cu->l1.generation && coh_l1_stays(r->m, line, event) &&
	       (!line->registered || is_alone(r->rows[COH_PLACE_BESIDE], r->rows[COH_PLACE_L2]->steps[0]));
}

/* The line goes by the steps, which need not look it up again. */
static void give_up(struct coh_request *r, struct emu_line *line)
{
	r->is_looked_up = !line || line->generation == r->cu->l1.generation;
	r->found = line;
}

/* The port, at t. */
static inline emu_time book_port(const struct coh_request *r, emu_time t)
{
	return emu_book(r->m, &r->cu->l1_port, t, r->m->config.l1.occupancy);
}

static inline emu_time granted(const struct nvw_machine *m, const struct emu_line *line)
{
	return m->protocol->registration ? line->granted : 0;
}

/* As ld_l1() of actions.c. */
static struct place load_next(struct coh_request *r, struct place p, emu_time t, emu_time *done)
{
	struct nvw_machine *const m = r->m;
	const int shift = __builtin_ctz(r->size);
	const emu_line_id first = r->line;
	uint64_t modified = 0, read_only = 0;
	emu_time last = t;

	while (p.lane < p.end) {
		const unsigned count = lanes_of_line(p, shift);
		const uint64_t bytes = bytes_of_run(p, count, shift);
		struct emu_line *const line = emu_cache_find(&r->cu->l1, r->line);

		if (!line || !stays(r, line, COH_L1_LOAD_HIT) || !coh_hits(m, r->cu, line, bytes)) {
			give_up(r, line);
			break;
		}
		last = emu_later(last, emu_later(book_port(r, t) + m->config.l1.latency, granted(m, line)));
		modified += line->dirty != 0;
		read_only += (line->read_only & bytes) == bytes;
		coh_lanes_load_run(&r->wf->requests.value[p.lane], line->data + p.offset, r->size, count);
		coh_check_invariants(r);
		r->line++;
		p = behind(p, count);
	}
	m->stats.l1_accesses += r->line - first;
	m->stats.l1_load_hits += r->line - first;
	m->stats.l1_modified_hits += modified;
	m->stats.l1_read_only_hits += read_only;
	*done = last;
	return p;
}

/* As st_l1(). */
static struct place store_next(struct coh_request *r, struct place p, emu_time t, emu_time *done)
{
	struct nvw_machine *const m = r->m;
	const int shift = __builtin_ctz(r->size);

	while (p.lane < p.end && !m->error) {
		const unsigned count = lanes_of_line(p, shift);
		struct emu_line *const line = emu_cache_find(&r->cu->l1, r->line);

		r->bytes = bytes_of_run(p, count, shift);
		const bool is_own = line && line->registered && !(r->bytes & ~line->registered);

		if (!line || !stays(r, line, is_own ? COH_L1_STORE_OWN : COH_L1_STORE)) {
			give_up(r, line);
			break;
		}
		emu_time at = book_port(r, t) + m->config.l1.occupancy;

		at = is_own ? emu_later(at, granted(m, line)) : at;
		m->stats.l1_accesses++;
		m->stats.l1_stores++;
		r->lanes = UINT64_MAX >> (EMU_LANES - count) << p.lane;
		coh_lanes_store(r, line);
		coh_dirtied_l1(m, r->cu, r->line, &at);
		*done = emu_later(*done, at);
		coh_check_invariants(r);
		r->line++;
		p = behind(p, count);
	}
	return p;
}

unsigned coh_serve_hits(
	struct coh_request *r, unsigned lane, unsigned end, unsigned offset, emu_time t, emu_time *done)
{
	NVW_DEEP_INVARIANT(coh_may_hit(r) && lane < end && end <= EMU_LANES);

	const struct place from = {lane, end, offset};

	*done = t;
	return r->kind == NVW__LOAD ? load_next(r, from, t, done).lane : store_next(r, from, t, done).lane;
}
