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
	const uint64_t begun = nvw_operation_begin();
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
	nvw_operation_end(0, begun);
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

	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(nvw_heap_alloc_extent(machine, &pmem, p->count * sizeof(struct record), &records));
	NVW_TRY(nvw_write(machine, pmem.base + nvw_pool_root_off(&pmem.geometry, 1), &p->count, 8));
	return nvw_write(machine, pmem.base + nvw_pool_root_off(&pmem.geometry, 0), &records, 8);
}

static int run(void *plan, struct nvw_machine *machine)
{
	const struct plan *const p = plan;
	struct args args = {.count = p->count, .forget_barrier = p->forget_barrier};
	const char *const base = nvw_nvram_base(machine);
	nvw_off records;

	NVW_TRY(nvw_read(machine, &records,
		base + nvw_pool_root_off(nvw_pool_geometry(nvw_machine_pool(machine)), 0), 8));
	args.records = (struct record *)(uintptr_t)(base + records);
	args.tickets = nvw_alloc(machine, 8);
	if (!args.tickets) {
		return NVW_E_MEMORY;
	}
	return nvw_launch(machine, "append", append, &args, p->count, 64);
}

/* ---- The oracle ---------------------------------------------------------------------------- */

/* False if the root words do not name a place for the records. p: NULL if a tool asks. */
static bool find_records(
	const struct plan *p, const struct nvw_pool *pool, nvw_off *ret_records, uint64_t *ret_count)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);

	*ret_records = nvw_pool_word(pool, nvw_pool_root_off(g, 0));
	*ret_count = nvw_pool_word(pool, nvw_pool_root_off(g, 1));
	return *ret_records % 8 == 0 && *ret_records <= g->bytes &&
	       *ret_count <= (g->bytes - *ret_records) / sizeof(struct record) &&
	       (p == NULL || *ret_count == p->count);
}

static int no_records(struct nvw_findings *findings)
{
	return nvw_violation(findings, 0, "the root words name no place for the records");
}

/* Looks at the sequence number first: without it the payload does not matter. */
static int check_record(const struct nvw_pool *pool, const struct nvw_acks *acks, nvw_off records, uint64_t i,
	struct nvw_findings *findings)
{
	const nvw_off r = records + i * sizeof(struct record);
	const uint64_t sequence = nvw_pool_word(pool, r);
	bool whole = sequence == i + 1;

	if (sequence == 0) {
		if (acks && nvw_acked(acks, i)) {
			return nvw_violation(findings, r, "record %llu is lost: it was acknowledged",
				(unsigned long long)i);
		}
		return 0;
	}
	for (unsigned w = 0; w < PAYLOAD_WORDS && whole; w++) {
		whole = nvw_pool_word(pool, r + 8 * (1 + w)) == payload_of(i, w);
	}
	if (whole) {
		return 0;
	}
	return nvw_violation(
		findings, r, "record %llu is committed, but not all of its payload", (unsigned long long)i);
}

static int check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	uint64_t count;
	nvw_off records;
	int result = 0;

	if (!find_records(plan, pool, &records, &count)) {
		return no_records(findings);
	}
	for (uint64_t i = 0; i < count; i++) {
		const int error = check_record(pool, acks, records, i, findings);

		if (error) {
			result = error;
		}
	}
	return result;
}

/* ---- The oracle in parts: a part is a record ------------------------------------------------- */

static uint64_t part_count(const void *plan, const struct nvw_pool_geometry *geometry)
{
	(void)geometry;
	return ((const struct plan *)plan)->count;
}

static int check_part(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	uint64_t count;
	nvw_off records;

	if (find_records(plan, pool, &records, &count)) {
		return check_record(pool, acks, records, part, findings);
	}
	return no_records(findings);
}

static void part_name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	(void)plan;
	snprintf(ret_name, bytes, "record %llu", (unsigned long long)part);
}

static const struct nvw_parts parts = {.count = part_count, .check = check_part, .name = part_name};

static const struct nvw_option options[] = {
	{"count", NVW_OPTION_COUNT, "256", NULL, "records to append"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

static const struct nvw_mutation mutations[] = {
	{"forget-barrier", "no persist barrier between a record's payload and its sequence number",
		"observed", NULL},
	{NULL, NULL, NULL, NULL},
};

static const char *const operations[] = {"append", NULL};

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
	.parts = &parts,
	.operations = operations,
};
