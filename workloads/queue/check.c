/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of the queue: guarantees (1) to (6) of layout.h, on a recovered pool. The parts state (1) to
 * (5); what recovery has to have done (6) is stated here.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/roots.h"
#include "check.h"

/* The first record of each message. A head that names no message is the record's own part's matter. */
static int find_effects(const struct queue_view *v, nvw_off **ret_effects)
{
	nvw_off *const effects = calloc(v->records + 1, sizeof *effects);

	NVW_FAIL_IF(
		effects == NULL, NVW_E_MEMORY, "queue: no memory to check %" PRIu64 " messages", v->records);
	for (uint64_t i = v->consumers * v->records; i-- > 0;) {
		const nvw_off off = queue_record(v->ledgers, v->records, i / v->records, i % v->records);
		const uint64_t head = nvw_pool_word(v->pool, off);

		if (head != 0 && head <= v->records) {
			effects[head - 1] = off;
		}
	}
	*ret_effects = effects;
	return 0;
}

/* (6): recovery has settled the message that the slot's state names. */
static int check_settled(const struct queue_case *c, uint64_t i)
{
	const nvw_off slot = queue_slot(c->v.ring, c->v.payload, i);
	const struct queue_state s = queue_state_of(nvw_pool_word(c->v.pool, slot));
	assert(i < c->v.capacity);

	if (s.phase == QUEUE_CLAIMED) {
		return nvw_violation(c->findings, slot, "recovery left message %u claimed", s.ticket);
	}
	if (s.phase == QUEUE_FULL && queue_is_done(c, s.ticket)) {
		return nvw_violation(c->findings, slot,
			"recovery left message %u in the queue, but a ledger has its effect", s.ticket);
	}
	return 0;
}

static int check_all(const struct queue_case *c)
{
	int result = 0;

	for (uint64_t part = 1; part < queue_part_count(&c->v); part++) {
		if (queue_check_part(c, part) != 0) {
			result = NVW_E_INCONSISTENT;
		}
	}
	NVW_FOR(i, c->v.capacity) {
		if (check_settled(c, i) != 0) {
			result = NVW_E_INCONSISTENT;
		}
	}
	return result;
}

int queue_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct queue_case c = {.plan = acks ? plan : NULL, .acks = acks, .findings = findings};
	nvw_off *effects;

	if (queue_view_open(pool, &c.v) != 0) {
		return roots_broken(pool, findings);
	}
	NVW_TRY(queue_check_part(&c, 0));
	if (c.v.ring == 0) {
		return 0;
	}
	NVW_TRY(find_effects(&c.v, &effects));
	c.effects = effects;

	const int result = check_all(&c);

	free(effects);
	return result;
}

const char *queue_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found)
{
	const bool is_ring = off == nvw_pool_root_off(nvw_pool_geometry(pool), QUEUE_RING);

	return is_ring && found == 0 ? "that the pool is set up" : NULL;
}
