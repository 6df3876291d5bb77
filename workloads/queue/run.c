/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host side of a queue run: the empty queue, one launch, figures.
 *
 * After a crash turns and tickets begin with the first batch that has something left to do. A message with an
 * effect is done; one that is in its slot is only consumed. Records of a batch become durable in any order,
 * so ledgers have empty ones between others; these are used first.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/bounds.h"
#include "common/figures.h"
#include "common/roots.h"
#include "steps.h"

/* ---- Set-up --------------------------------------------------------------------------------------- */

int queue_setup(void *plan, struct nvw_machine *machine)
{
	const struct queue_plan *const p = plan;
	uint64_t words[] = {
		[QUEUE_RING_SHAPE] = p->capacity | p->payload << 32,
		[QUEUE_LEDGER_SHAPE] = p->count | p->consumers << 32,
	};
	struct nvw_pmem pmem;

	assert((p->capacity | p->count) <= UINT32_MAX);
	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(nvw_heap_alloc_extent(
		machine, &pmem, p->capacity * queue_slot_bytes(p->payload), &words[QUEUE_RING]));
	NVW_TRY(nvw_heap_alloc_extent(
		machine, &pmem, p->consumers * queue_ledger_bytes(p->count), &words[QUEUE_LEDGERS]));
	return roots_write(machine, &pmem, words, sizeof words / sizeof *words);
}

/* ---- The run -------------------------------------------------------------------------------------- */

/* A work-group that is not resident would never take its turn. */
static int check_room(const struct queue_plan *p, struct nvw_machine *machine, uint64_t groups)
{
	const uint64_t width = nvw_wavefront_width(machine), resident = nvw_resident_work_items(machine);
	const uint64_t wanted = groups * ((p->group_size + width - 1) / width * width);

	if (wanted <= resident) {
		return 0;
	}
	return nvw_fail(NVW_E_USAGE,
		"queue: %" PRIu64 " producers and %" PRIu64 " consumers of %u work-items wait for each "
		"other: expected at most %" PRIu64 " work-items at a time on this machine, found %" PRIu64,
		p->producers, p->consumers, p->group_size, resident, wanted);
}

static int queue_allocate(struct queue_args *a, struct nvw_machine *machine, uint64_t groups)
{
	assert(groups > 0 && a->ring_batches > 0);
	a->tail = nvw_alloc(machine, 8);
	a->head = nvw_alloc(machine, 8);
	a->turns = nvw_alloc(machine, 8 * a->ring_batches);
	a->drawn = nvw_alloc(machine, 64 * groups);
	a->digests = nvw_alloc(machine, 8 * groups * a->plan->group_size);
	NVW_FAIL_IF(!a->tail || !a->head || !a->turns || !a->drawn || !a->digests, NVW_E_MEMORY,
		"queue: no memory for the turns of %" PRIu64 " slots", a->plan->capacity);
	return 0;
}

/* A seeded bug may also show to consumers; only the crash states count. */
static int queue_judge(const struct queue_plan *p)
{
	NVW_FAIL_IF(p->stuck != 0, NVW_E_DEADLOCK,
		"queue: %" PRIu64 " work-groups waited for a turn that never came", p->stuck);
	NVW_FAIL_IF(p->torn != 0 && p->mutation == QUEUE_UNMUTATED, NVW_E_INCONSISTENT,
		"queue: consumers read %" PRIu64 " torn messages", p->torn);
	return 0;
}

/* The run needs no more than zeros. */
static int set_turns(const struct queue_args *a, struct nvw_machine *machine)
{
	const uint64_t first = a->rest->first_batch;

	assert(a->ring_batches > 0);
	NVW_TRY(nvw_write(machine, a->tail, &first, sizeof first));
	NVW_TRY(nvw_write(machine, a->head, &first, sizeof first));
	for (uint64_t batch = first; batch < first + a->ring_batches; batch++) {
		const uint64_t turn = 2 * (batch / a->ring_batches);

		NVW_TRY(nvw_write(machine, &a->turns[batch % a->ring_batches], &turn, sizeof turn));
	}
	return 0;
}

static int launch(struct queue_plan *p, struct nvw_machine *machine, const struct queue_rest *rest)
{
	const uint64_t groups = p->producers + p->consumers;
	nvw_off words[2] = {0};
	struct queue_args a = {
		.plan = p,
		.replaced = queue_replaced(p->mutation),
		.rest = rest,
		.batches = rest ? rest->batches : (p->count + p->group_size - 1) / p->group_size,
		.ring_batches = p->capacity / p->group_size,
	};

	assert(a.ring_batches * p->group_size == p->capacity);
	NVW_TRY(check_room(p, machine, groups));
	p->polls = p->torn = p->stuck = 0;
	NVW_TRY(nvw_pmem_attach(machine, &a.pmem));
	NVW_TRY(roots_read(machine, &a.pmem, words, sizeof words / sizeof *words));
	a.ring = words[QUEUE_RING];
	a.ledgers = words[QUEUE_LEDGERS];
	NVW_TRY(queue_allocate(&a, machine, groups));
	if (rest) {
		NVW_TRY(set_turns(&a, machine));
	}
	return nvw_launch(machine, "queue", queue_kernel, &a, groups * p->group_size, p->group_size);
}

int queue_run(void *plan, struct nvw_machine *machine)
{
	NVW_TRY(launch(plan, machine, NULL));
	NVW_TRY(nvw_persist(machine));
	return queue_judge(plan);
}

/* ---- After a crash -------------------------------------------------------------------------------- */

enum { IN_SLOT = 4, DONE = 8 }; /* with what is to do */

static void find_records(const struct queue_view *v, struct queue_rest *rest)
{
	NVW_FOR(consumer, v->consumers) {
		uint64_t *const places = &rest->places[consumer * v->records];
		uint64_t empty = 0;

		NVW_FOR(i, v->records) {
			const uint64_t head =
				nvw_pool_word(v->pool, queue_record(v->ledgers, v->records, consumer, i));

			if (head == 0) {
				places[empty++] = i;
			} else if (head <= v->records) {
				rest->to_do[head - 1] = DONE;
			}
		}
		assert(empty <= v->records);
		rest->used[consumer] = v->records - empty;
	}
}

static void find_messages(const struct queue_view *v, struct queue_rest *rest)
{
	NVW_FOR(i, v->capacity) {
		const struct queue_state s =
			queue_state_of(nvw_pool_word(v->pool, queue_slot(v->ring, v->payload, i)));

		if (s.phase == QUEUE_FULL && s.ticket < v->records && rest->to_do[s.ticket] == 0) {
			rest->to_do[s.ticket] = IN_SLOT;
		}
	}
}

/* What recovery has found is durable. */
static int acknowledge_found(const struct queue_plan *p, struct nvw_machine *machine,
	const struct nvw_acks *acks, const struct queue_rest *rest)
{
	NVW_FOR(t, p->count) {
		if (rest->to_do[t] != 0 && !nvw_acked(acks, t)) {
			NVW_TRY(nvw_acknowledge(machine, t, 1));
		}
		if (rest->to_do[t] == DONE && !nvw_acked(acks, p->count + t)) {
			NVW_TRY(nvw_acknowledge(machine, p->count + t, 1));
		}
	}
	return 0;
}

/* Productions and consumptions that are left, message by message, at most so many. */
static void choose(const struct queue_plan *p, uint64_t operations, struct queue_rest *rest)
{
	rest->first_batch = UINT64_MAX;
	for (uint64_t t = 0; t < p->count && operations > 0; t++) {
		const uint8_t found = rest->to_do[t];

		if (found == DONE) {
			continue;
		}
		if (found == 0) {
			rest->to_do[t] |= QUEUE_TO_PRODUCE;
			operations--;
		}
		if (operations > 0) {
			rest->to_do[t] |= QUEUE_TO_CONSUME;
			operations--;
		}
		rest->first_batch = u64_min(rest->first_batch, t / p->group_size);
		rest->batches = t / p->group_size + 1;
	}
}

static int go_on(struct queue_plan *p, struct nvw_machine *machine, const struct nvw_acks *acks,
	uint64_t operations, struct queue_rest *rest)
{
	struct queue_view v;

	NVW_TRY(queue_view_open(nvw_machine_pool(machine), &v));
	find_records(&v, rest);
	find_messages(&v, rest);
	NVW_TRY(acknowledge_found(p, machine, acks, rest));
	choose(p, operations, rest);
	if (rest->batches == 0) {
		return 0;
	}
	assert(rest->first_batch < rest->batches);
	NVW_TRY(launch(p, machine, rest));
	return queue_judge(p);
}

int queue_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations)
{
	struct queue_plan *const p = plan;
	struct queue_rest rest = {.to_do = calloc(p->count, 1),
		.places = calloc(p->consumers * p->count, sizeof *rest.places),
		.used = calloc(p->consumers, sizeof *rest.used)};
	int error;

	if (rest.to_do && rest.places && rest.used) {
		error = go_on(p, machine, acks, operations, &rest);
	} else {
		error = nvw_fail(
			NVW_E_MEMORY, "queue: no memory to go on with %" PRIu64 " messages", p->count);
	}
	free(rest.to_do);
	free(rest.places);
	free(rest.used);
	return error;
}

/* ---- Figures -------------------------------------------------------------------------------------- */

int queue_report(void *plan, struct nvw_machine *machine, struct nvw_description *d)
{
	const struct queue_plan *const p = plan;
	uint64_t least = UINT64_MAX, most = 0;

	NVW_FOR(i, p->consumers) {
		least = u64_min(least, p->consumed[i]);
		most = u64_max(most, p->consumed[i]);
	}

	assert(least <= most);
	const struct figure rows[] = {
		{"queue.messages", p->count, "count", "messages that were produced and consumed"},
		{"queue.laps", (p->count + p->capacity - 1) / p->capacity, "count",
			"times that the ring was filled"},
		{"queue.polls", p->polls, "count", "looks at a part of the ring whose turn it was not"},
		{"queue.consumed_least", least, "count", "messages of the consumer that had the fewest"},
		{"queue.consumed_most", most, "count", "messages of the consumer that had the most"},
	};

	return FIGURES_DESCRIBE(d, rows);
}
