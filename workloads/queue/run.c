/* SPDX-License-Identifier: BSD-3-Clause */
/* The host side of a queue run: the empty queue, one launch, figures. */
#include <inttypes.h>

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
	a->tail = nvw_alloc(machine, 8);
	a->head = nvw_alloc(machine, 8);
	a->turns = nvw_alloc(machine, 8 * a->ring_batches);
	a->drawn = nvw_alloc(machine, 64 * groups);
	a->digests = nvw_alloc(machine, 8 * groups * a->plan->group_size);
	if (!a->tail || !a->head || !a->turns || !a->drawn || !a->digests) {
		return nvw_fail(NVW_E_MEMORY, "queue: no memory for the turns of %" PRIu64 " slots",
			a->plan->capacity);
	}
	return 0;
}

/* A seeded bug may also show to consumers; only the crash states count. */
static int queue_judge(const struct queue_plan *p)
{
	if (p->stuck != 0) {
		return nvw_fail(NVW_E_DEADLOCK,
			"queue: %" PRIu64 " work-groups waited for a turn that never came", p->stuck);
	}
	if (p->torn != 0 && p->mutation == QUEUE_UNMUTATED) {
		return nvw_fail(
			NVW_E_INCONSISTENT, "queue: consumers read %" PRIu64 " torn messages", p->torn);
	}
	return 0;
}

int queue_run(void *plan, struct nvw_machine *machine)
{
	struct queue_plan *const p = plan;
	const uint64_t groups = p->producers + p->consumers;
	nvw_off words[2] = {0};
	struct queue_args a = {
		.plan = p,
		.replaced = queue_replaced(p->mutation),
		.batches = (p->count + p->group_size - 1) / p->group_size,
		.ring_batches = p->capacity / p->group_size,
	};

	NVW_TRY(check_room(p, machine, groups));
	p->polls = p->torn = p->stuck = 0;
	NVW_TRY(nvw_pmem_attach(machine, &a.pmem));
	NVW_TRY(roots_read(machine, &a.pmem, words, sizeof words / sizeof *words));
	a.ring = words[QUEUE_RING];
	a.ledgers = words[QUEUE_LEDGERS];
	NVW_TRY(queue_allocate(&a, machine, groups));
	NVW_TRY(nvw_launch(machine, "queue", queue_kernel, &a, groups * p->group_size, p->group_size));
	NVW_TRY(nvw_persist(machine));
	return queue_judge(p);
}

/* ---- Figures -------------------------------------------------------------------------------------- */

int queue_report(void *plan, struct nvw_machine *machine, struct nvw_description *d)
{
	const struct queue_plan *const p = plan;
	uint64_t least = UINT64_MAX, most = 0;

	for (uint64_t i = 0; i < p->consumers; i++) {
		least = u64_min(least, p->consumed[i]);
		most = u64_max(most, p->consumed[i]);
	}

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
