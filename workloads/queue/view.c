/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The durable queue: finding it, recovery, inspection.
 *
 * Recovery first reads the ledgers: a message that has its effect becomes DONE, unless its slot is DONE
 * already. Then the slots: a message that is still CLAIMED has no effect, and becomes FULL again. Each step
 * changes one word, so recovery may stop after any. Slots in state WRITING are unchanged: their messages were
 * never acknowledged.
 */
#include <inttypes.h>

#include "common/extent.h"
#include "plan.h"

int queue_view_open(struct nvw_pool *pool, struct queue_view *ret_view)
{
	const uint64_t ring = extent_root(pool, QUEUE_RING_SHAPE),
		       ledger = extent_root(pool, QUEUE_LEDGER_SHAPE);
	const struct queue_view v = {
		.pool = pool,
		.ring = extent_root(pool, QUEUE_RING),
		.ledgers = extent_root(pool, QUEUE_LEDGERS),
		.capacity = ring & UINT32_MAX,
		.payload = ring >> 32,
		.records = ledger & UINT32_MAX,
		.consumers = ledger >> 32,
	};

	*ret_view = v;
	if (v.ring == 0) {
		return 0;
	}
	NVW_FAIL_IF(
		v.capacity == 0 || v.capacity > QUEUE_TICKETS_MAX || v.payload == 0 ||
			v.payload > QUEUE_PAYLOAD_MAX || v.records > QUEUE_TICKETS_MAX || v.consumers == 0 ||
			v.consumers > QUEUE_CONSUMERS_MAX ||
			!extent_is_allocated(pool, v.ring, v.capacity * queue_slot_bytes(v.payload)) ||
			!extent_is_allocated(pool, v.ledgers, v.consumers * queue_ledger_bytes(v.records)),
		NVW_E_DAMAGED,
		"%s: root words 0 to 3: expected allocated extents for a ring and its ledgers, found "
		"%" PRIu64 " slots of %" PRIu64 " words at offset %" PRIu64 ", %" PRIu64
		" ledgers of %" PRIu64 " records at offset %" PRIu64,
		nvw_pool_path(pool), v.capacity, v.payload, v.ring, v.consumers, v.records, v.ledgers);
	return 0;
}

/* ---- Recovery ------------------------------------------------------------------------------------- */

/* Changes a slot from one of two phases to another, if it holds message ticket in one of them. */
static int change(const struct queue_view *v, uint64_t ticket, enum queue_phase from,
	enum queue_phase or_from, enum queue_phase to, struct nvw_recovery *report)
{
	const nvw_off slot = queue_slot(v->ring, v->payload, ticket % v->capacity);
	const uint64_t word = nvw_pool_word(v->pool, slot);

	if (word != queue_state_word(from, ticket) && word != queue_state_word(or_from, ticket)) {
		return 0;
	}
	report->structure_repairs++;
	return nvw_pool_write_word(v->pool, slot, queue_state_word(to, ticket));
}

int queue_recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	struct queue_view v;

	NVW_TRY(queue_view_open(pool, &v));
	if (v.ring == 0) {
		return 0;
	}
	NVW_FOR(i, v.consumers * v.records) {
		const uint64_t head =
			nvw_pool_word(pool, queue_record(v.ledgers, v.records, i / v.records, i % v.records));

		if (head != 0) {
			NVW_TRY(change(&v, head - 1, QUEUE_FULL, QUEUE_CLAIMED, QUEUE_DONE, report));
		}
	}
	NVW_FOR(i, v.capacity) {
		const struct queue_state s =
			queue_state_of(nvw_pool_word(pool, queue_slot(v.ring, v.payload, i)));

		NVW_TRY(change(&v, s.ticket, QUEUE_CLAIMED, QUEUE_CLAIMED, QUEUE_FULL, report));
	}
	return 0;
}

/* ---- Inspection ----------------------------------------------------------------------------------- */

int queue_inspect(struct nvw_pool *pool, struct nvw_description *d)
{
	static const struct {
		const char *name, *meaning;
	} rows[] = {
		[QUEUE_VIRGIN] = {"queue.slots_unused", "slots never used"},
		[QUEUE_WRITING] = {"queue.slots_writing", "slots with a message being written"},
		[QUEUE_FULL] = {"queue.messages", "messages not yet consumed"},
		[QUEUE_CLAIMED] = {"queue.slots_claimed", "messages claimed by a consumer, before recovery"},
		[QUEUE_DONE] = {"queue.slots_free", "slots with a consumed message"},
	};
	uint64_t slots[QUEUE_DONE + 1] = {0}, effects = 0;
	struct queue_view v;
	int error = queue_view_open(pool, &v);

	if (error != 0 || v.ring == 0) {
		return error;
	}
	NVW_FOR(i, v.capacity) {
		const struct queue_state s =
			queue_state_of(nvw_pool_word(pool, queue_slot(v.ring, v.payload, i)));

		if (s.phase <= QUEUE_DONE) {
			slots[s.phase]++;
		}
	}
	NVW_FOR(i, v.consumers * v.records) {
		effects += nvw_pool_word(pool,
				   queue_record(v.ledgers, v.records, i / v.records, i % v.records)) != 0;
	}
	NVW_FOR(i, sizeof rows / sizeof *rows) {
		NVW_TRY(nvw_describe_u64(d, rows[i].name, slots[i], "count", rows[i].meaning));
	}
	return nvw_describe_u64(d, "queue.effects", effects, "count", "records in all ledgers");
}
