/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads that wait between a wavefront and its L1, as stores do in a store buffer (hechtman14 3.3, RMO):
 * instructions go on past a load until its value is needed, so a later store of the same work-item may be
 * seen before the load is performed (load buffering).
 *
 * A load that is issued for later use (nvw_load_issue) waits under gpu.consistency=rmo where a scheduler
 * chooses the order of events, as in litmus tests and torture; it is one event more, which the scheduler may
 * put anywhere. Where time decides, such a load is performed when it is issued: nothing holds it back then,
 * and no weaker outcome is forbidden.
 *
 * Guarantees
 *	(1) A load is performed before its value is used, and before a later access of its work-item to the
 *	    same line: so a work-item sees its own stores in program order.
 *	(2) Atomics, barriers of all kinds, acknowledgements and the return from a kernel complete all
 *	    earlier loads of their work-items.
 *	(3) A load whose line has an own store in the store buffer does not wait here: the buffer is asked
 *	    first, as ever.
 *
 * The value is known after nvw_load_issue() has returned, so a ticket is returned in its place. The table of
 * tickets lasts for a kernel.
 */
#include "store_buffer.h"

#include <stdlib.h>

#include "core/each.h"
#include "core/invariant.h"
#include "../protocol/protocol.h"

struct emu_late {
	struct emu_late *next; /* the next younger one */
	struct emu_wavefront *wf;
	uint64_t lanes;
	bool is_performed;
	uint64_t ticket[EMU_LANES];
	struct emu_saved_request request[EMU_LANES];
};

static uint64_t line_of(uint64_t address)
{
	return address / EMU_LINE;
}

static void swap_requests(struct emu_late *e)
{
	NVW_EACH_BIT(lane, e->lanes) {
		const struct emu_saved_request request = emu_request_save(e->wf, lane);

		emu_request_restore(e->wf, lane, e->request[lane]);
		e->request[lane] = request;
	}
}

static void perform(struct nvw_machine *m, struct emu_late *e)
{
	struct emu_late **place = &m->late.first;
	const uint32_t queued = e->wf->queued; /* of the wavefront's present instruction */
	emu_time done;

	NVW_INVARIANT(e->lanes && !e->is_performed);
	while (*place != e) {
		place = &(*place)->next;
	}
	*place = e->next;
	e->is_performed = true;
	swap_requests(e);
	done = emu_access(m, e->wf, e->lanes, m->now);
	swap_requests(e);
	/* Under protocols with owners, and by guarantee (3), nothing delays a load. */
	NVW_INVARIANT(e->wf->queued == queued);
	NVW_EACH_BIT(lane, e->lanes) {
		m->late.results[e->ticket[lane]] =
			(struct emu_late_result){e->request[lane].value, done + m->config.memory};
	}
	if (m->loads && !m->error) {
		emu_loads_add(m, e->wf, e->lanes, done);
	}
}

/* The event of a late load, which owns it. */
static void come(struct nvw_machine *m, void *what)
{
	struct emu_late *const e = what;

	if (!e->is_performed) {
		perform(m, e);
	}
	free(e);
}

static bool take_tickets(struct nvw_machine *m, struct emu_late *e)
{
	const uint64_t count = emu_ones(e->lanes);

	if (m->late.count + count > m->late.capacity) {
		const uint64_t capacity = 2 * (m->late.count + count);
		struct emu_late_result *const more = realloc(m->late.results, capacity * sizeof *more);

		if (!more) {
			m->error = nvw_fail(NVW_E_MEMORY, "no memory for loads in flight");
			return false;
		}
		m->late.results = more;
		m->late.capacity = capacity;
	}
	NVW_EACH_BIT(lane, e->lanes) {
		e->ticket[lane] = m->late.count++;
	}
	return true;
}

bool emu_late_issue(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	struct emu_late **end = &m->late.first;
	struct emu_late *e;

	if (!m->scheduler.choose || m->config.consistency != EMU_CONSISTENCY_rmo ||
		emu_store_buffer_has_lines_of(m, wf, lanes)) {
		return false;
	}
	e = calloc(1, sizeof *e);
	if (!e) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for loads in flight");
		return true;
	}
	*e = (struct emu_late){.wf = wf, .lanes = lanes};
	if (!take_tickets(m, e)) {
		free(e);
		return true;
	}
	NVW_EACH_BIT(lane, lanes) {
		e->request[lane] = emu_request_save(wf, lane);
		wf->requests.value[lane] = e->ticket[lane];
		wf->requests.compare[lane] = EMU_LATE;
	}
	while (*end) {
		end = &(*end)->next;
	}
	*end = e;
	emu_schedule_open(m, t, come, e);
	return true;
}

/* Whether an instruction of these lanes completes the load. */
static bool is_completed_by(const struct emu_late *e, const struct emu_wavefront *wf, uint64_t lanes)
{
	const uint64_t both = e->wf == wf ? lanes & e->lanes : 0;

	NVW_EACH_BIT(lane, both) {
		const struct nvw__request *const r = emu_request(wf, lane);
		const unsigned kind = r->op & 0xff;
		const bool is_data = kind == NVW__LOAD || kind == NVW__LOAD_READ_ONLY || kind == NVW__STORE;

		if (kind == NVW__USE ? r->value == EMU_LATE && r->compare == e->ticket[lane] :
				       !is_data || line_of(r->address) == line_of(e->request[lane].address)) {
			return true;
		}
	}
	return false;
}

void emu_late_complete(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	struct emu_late *next;

	for (struct emu_late *e = m->late.first; e && !m->error; e = next) {
		next = e->next;
		if (is_completed_by(e, wf, lanes)) {
			perform(m, e);
		}
	}
}

void emu_late_forget(struct nvw_machine *m)
{
	m->late.first = NULL; /* events own them */
	free(m->late.results);
	m->late.results = NULL;
	m->late.count = m->late.capacity = 0;
}
