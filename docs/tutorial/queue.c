/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A persistent queue, as docs/tutorial.md writes it: a workload outside the tree, against the public headers
 * alone.
 *
 * Records are appended in the order in which work-items draw tickets. A record is 56 bytes of payload and a
 * sequence number, which says that the record is there: it must not be durable before the payload is.
 */
#include <stdlib.h>

#include <nvw/workload.h>

enum { PAYLOAD_WORDS = 15 };

/* Two lines: the sequence number lies in the first, most of the payload in the second. */
struct record {
	uint64_t sequence; /* ticket + 1; 0: nothing is here yet */
	uint64_t payload[PAYLOAD_WORDS];
};

struct plan {
	uint64_t count;
	bool forget_barrier;
};

static uint64_t payload_of(uint64_t ticket, unsigned word)
{
	return ticket * 1000003 + word;
}

/* ---- The kernel ---------------------------------------------------------------------------- */

struct args {
	struct record *records; /* in NVRAM */
	uint64_t *tickets;      /* in DRAM */
	uint64_t count;
	bool forget_barrier;
};

static void append(const void *args)
{
	const struct args *const a = args;
	uint64_t ticket;
	struct record *r;

	if (nvw_global_id() >= a->count) {
		return;
	}
	ticket = nvw_atomic_add(a->tickets, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	r = &a->records[ticket];
	for (unsigned i = 0; i < PAYLOAD_WORDS; i++) {
		nvw_store(&r->payload[i], payload_of(ticket, i));
	}
	if (!a->forget_barrier) {
		nvw_p_barrier_wi(); /* the payload is durable before the number can be */
	}
	nvw_store(&r->sequence, ticket + 1);
	nvw_p_barrier_wi(); /* the number is durable before anybody hears of it */
	nvw_ack(ticket);
}

/* ---- The host ------------------------------------------------------------------------------ */

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct plan *const p = calloc(1, sizeof *p);

	if (!p) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a plan");
	}
	p->count = nvw_option_u64(options, "count");
	p->forget_barrier = mutation == 0;
	*ret_plan = p;
	return 0;
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct plan *const p = plan;

	*ret_params = (struct nvw_pool_params){
		.heap_bytes = p->count * sizeof(struct record) + NVW_POOL_CHUNK_BYTES,
		.layout = "tutorial-queue"};
	return 0;
}

/* Root word 0 names the records, root word 1 says how many there is room for. */
static int setup(void *plan, struct nvw_machine *machine)
{
	const struct plan *const p = plan;
	struct nvw_pmem pmem;
	nvw_off records;
	int r = nvw_pmem_attach(machine, &pmem);

	r = r ? r : nvw_heap_alloc_extent(machine, &pmem, p->count * sizeof(struct record), &records);
	r = r ? r : nvw_write(machine, pmem.base + nvw_pool_root_off(&pmem.geometry, 1), &p->count, 8);
	return r ? r : nvw_write(machine, pmem.base + nvw_pool_root_off(&pmem.geometry, 0), &records, 8);
}

static int run(void *plan, struct nvw_machine *machine)
{
	const struct plan *const p = plan;
	struct args args = {.count = p->count, .forget_barrier = p->forget_barrier};
	const char *const base = nvw_nvram_base(machine);
	nvw_off records;
	int r = nvw_read(machine, &records,
		base + nvw_pool_root_off(nvw_pool_geometry(nvw_machine_pool(machine)), 0), 8);

	args.records = (struct record *)(uintptr_t)(base + records);
	args.tickets = nvw_alloc(machine, 8);
	if (!args.tickets) {
		return NVW_E_MEMORY;
	}
	return r ? r : nvw_launch(machine, "append", append, &args, p->count, 64);
}

/* ---- The oracle ---------------------------------------------------------------------------- */

static int check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off off = nvw_pool_word(pool, nvw_pool_root_off(g, 0));
	const uint64_t count = nvw_pool_word(pool, nvw_pool_root_off(g, 1));
	const struct record *const records = nvw_pool_at(pool, off, count * sizeof *records);
	int result = 0;

	if (!records) {
		return nvw_violation(findings, off, "the root words name no place for records");
	}
	for (uint64_t i = 0; i < count; i++) {
		const struct record *const r = &records[i];

		if (r->sequence == 0) {
			if (acks && nvw_acked(acks, i)) {
				result = nvw_violation(findings, off + i * sizeof *r,
					"record %llu is lost: it was acknowledged", (unsigned long long)i);
			}
			continue;
		}
		for (unsigned w = 0; w < PAYLOAD_WORDS; w++) {
			if (r->sequence != i + 1 || r->payload[w] != payload_of(i, w)) {
				result = nvw_violation(findings, off + i * sizeof *r,
					"record %llu is committed, but not all of its payload",
					(unsigned long long)i);
				break;
			}
		}
	}
	return result;
}

static const struct nvw_option options[] = {
	{"count", NVW_OPTION_COUNT, "256", NULL, "records to append"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

static const struct nvw_mutation mutations[] = {
	{"forget-barrier", "no persist barrier between a record's payload and its sequence number",
		"observed", NULL},
	{NULL, NULL, NULL, NULL},
};

extern const struct nvw_workload nvw_workload;

const struct nvw_workload nvw_workload = {
	.name = "tutorial-queue",
	.summary = "a queue of records that work-items append to",
	.options = options,
	.mutations = mutations,
	.prepare = prepare,
	.dispose = free,
	.pool = pool,
	.setup = setup,
	.run = run,
	.check = check,
};
