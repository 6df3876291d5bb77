/* SPDX-License-Identifier: BSD-3-Clause */
/* See ordered.h. The shapes of the locks and of the barrier are those of Dat3M's GPU benchmarks; the
 * code is not. */
#include "ordered.h"

#define AGENT NVW_SCOPE_AGENT

enum { LINE = 8, NODES = 3, PATIENCE = 200 };

struct args {
	struct ordered p;
	uint64_t *shared; /* words, a line apart: at() */
	uint64_t *slots;  /* one for each work-item, a line apart */
	uint64_t *nvram;
};

static struct ordered chosen;

void ordered_choose(const struct ordered *program)
{
	chosen = *program;
}

struct ordered ordered_right(enum ordered_kind kind, unsigned size, unsigned groups)
{
	return (struct ordered){.kind = kind,
		.size = size,
		.groups = groups,
		.times = 1,
		.acquire = NVW_ACQUIRE,
		.release = NVW_RELEASE,
		.master_acquire = NVW_ACQUIRE,
		.master_release = NVW_RELEASE,
		.scope = AGENT};
}

static uint64_t *at(uint64_t *words, uint64_t i)
{
	return words + LINE * i;
}

/* ---- Locks --------------------------------------------------------------------------------------------- */

static void critical_section(const struct args *a)
{
	uint64_t *const x = at(a->shared, 2);

	nvw_store(x, nvw_load(x) + 1);
}

static void cas_locked(const struct args *a)
{
	while (nvw_atomic_compare_exchange(a->shared, 0, 1, a->p.acquire, a->p.scope) != 0) {
	}
	critical_section(a);
	nvw_atomic_store(a->shared, 0, a->p.release, a->p.scope);
}

static void ticket_locked(const struct args *a)
{
	uint64_t *const now = at(a->shared, 1);
	const uint64_t mine = nvw_atomic_add(a->shared, 1, NVW_RELAXED, a->p.scope);

	while (nvw_atomic_load(now, a->p.acquire, a->p.scope) != mine) {
	}
	critical_section(a);
	nvw_atomic_add(now, 1, a->p.release, a->p.scope);
}

static void ttas_locked(const struct args *a)
{
	do {
		while (nvw_atomic_load(a->shared, NVW_RELAXED, a->p.scope) != 0) {
		}
	} while (nvw_atomic_exchange(a->shared, 1, a->p.acquire, a->p.scope) != 0);
	critical_section(a);
	nvw_atomic_store(a->shared, 0, a->p.release, a->p.scope);
}

/* ---- A barrier between work-groups --------------------------------------------------------------------- */

/* The first work-group's work-items each wait for another work-group, and let it go. */
static void lead(const struct args *a)
{
	const uint64_t other = nvw_local_id() + 1;
	uint64_t *const flag = at(a->shared, other);

	if (other < nvw_group_count()) {
		while (nvw_atomic_load(flag, a->p.master_acquire, a->p.scope) == 0) {
		}
	}
	nvw_barrier(NVW_WORKGROUP);
	if (other < nvw_group_count()) {
		nvw_atomic_store(flag, 0, a->p.master_release, a->p.scope);
	}
}

static void follow(const struct args *a)
{
	uint64_t *const flag = at(a->shared, nvw_group_id());

	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		nvw_atomic_store(flag, 1, a->p.release, a->p.scope);
		while (nvw_atomic_load(flag, a->p.acquire, a->p.scope) == 1) {
		}
	}
	nvw_barrier(NVW_WORKGROUP);
}

static void meet(const struct args *a)
{
	const uint64_t items = nvw_group_count() * nvw_group_size();
	uint64_t sum = 0;

	nvw_store(at(a->slots, nvw_global_id()), 1);
	if (nvw_group_id() == 0) {
		lead(a);
	} else {
		follow(a);
	}
	for (uint64_t i = 0; i < items; i++) {
		sum += nvw_load(at(a->slots, i));
	}
	nvw_store(at(a->slots, items + nvw_global_id()), sum);
}

/* ---- Orders that can be counted ------------------------------------------------------------------------ */

static void add(const struct args *a)
{
	for (unsigned i = 0; i < a->p.times; i++) {
		(void)nvw_atomic_add(a->shared, 1, NVW_RELAXED, AGENT);
	}
}

static void spin(const struct args *a)
{
	if (nvw_global_id() == 0) {
		nvw_atomic_store(a->shared, 1, NVW_RELEASE, AGENT);
		return;
	}
	while (nvw_atomic_load(a->shared, NVW_ACQUIRE, AGENT) == 0) {
	}
}

/* The second answers what it finds first; by the machine's times it finds nothing. */
static void wait_for_good(const struct args *a)
{
	if (nvw_global_id() == 0) {
		nvw_work(1000);
		nvw_atomic_store(a->shared, 1, NVW_RELEASE, AGENT);
		return;
	}
	while (nvw_atomic_load(a->shared, NVW_ACQUIRE, AGENT) == 1) {
	}
}

/* ---- Bugs of order ------------------------------------------------------------------------------------- */

/* The reader looks once whether the writer has begun; by the machine's times that is too early. */
static void publish(const struct args *a)
{
	uint64_t *const begun = a->shared, *const flag = at(a->shared, 1), *const data = at(a->shared, 2);

	if (nvw_global_id() == 0) {
		nvw_work(1000);
		if (!a->p.careless) {
			nvw_store(data, 17);
		}
		nvw_atomic_store(flag, 1, NVW_RELEASE, a->p.scope);
		nvw_atomic_store(begun, 1, NVW_RELAXED, AGENT);
		if (a->p.careless) {
			nvw_store(data, 17);
		}
	} else if (nvw_atomic_load(begun, NVW_RELAXED, AGENT) == 1 &&
		   nvw_atomic_load(flag, NVW_ACQUIRE, AGENT) == 1) {
		nvw_store(a->slots, nvw_load(data));
	}
}

/* The head has the first node's number plus 1, below a tag that grows with each exchange. */
static uint64_t head_with(const struct args *a, uint64_t old, uint64_t node)
{
	const uint64_t tag = a->p.careless ? 0 : (old >> 8) + 1;

	return tag << 8 | node;
}

static uint64_t pop(const struct args *a)
{
	for (;;) {
		const uint64_t old = nvw_atomic_load(a->shared, NVW_ACQUIRE, AGENT), node = old & 0xff;

		if (node == 0) {
			return 0;
		}
		const uint64_t next = nvw_atomic_load(at(a->shared, node), NVW_RELAXED, AGENT);

		if (nvw_atomic_compare_exchange(
			    a->shared, old, head_with(a, old, next), NVW_ACQ_REL, AGENT) == old) {
			return node;
		}
	}
}

static void push(const struct args *a, uint64_t node)
{
	uint64_t old, seen = nvw_atomic_load(a->shared, NVW_RELAXED, AGENT);

	do {
		old = seen;
		nvw_atomic_store(at(a->shared, node), old & 0xff, NVW_RELAXED, AGENT);
		seen = nvw_atomic_compare_exchange(
			a->shared, old, head_with(a, old, node), NVW_ACQ_REL, AGENT);
	} while (seen != old);
}

/* The first has one node, the second takes two and gives the first of them back. */
static void use_stack(const struct args *a)
{
	uint64_t *const mine = at(a->slots, nvw_global_id());
	const uint64_t first = pop(a);

	if (nvw_global_id() == 0) {
		nvw_store(mine, first);
		return;
	}
	nvw_store(mine, pop(a));
	if (first) {
		push(a, first);
	}
}

/* The consumer says durably that there was a message, which has to be durable by then. */
static void consume(const struct args *a)
{
	if (nvw_global_id() == 0) {
		nvw_work(1000);
		nvw_store(a->nvram, 17);
		if (!a->p.careless) {
			nvw_p_barrier(NVW_WORKITEM);
		}
		nvw_atomic_store(a->shared, 1, NVW_RELEASE, AGENT);
		nvw_p_barrier(NVW_WORKITEM);
	} else if (nvw_atomic_load(a->shared, NVW_ACQUIRE, AGENT) == 1) {
		nvw_store(at(a->nvram, 1), 1);
		nvw_p_barrier(NVW_WORKITEM);
	}
}

/* ---- The workload -------------------------------------------------------------------------------------- */

static void store_apart(const struct args *a)
{
	nvw_store(at(a->slots, nvw_global_id()), 1);
}

static void kernel(const void *args)
{
	static void (*const programs[])(const struct args *a) = {
		[ORDERED_CASLOCK] = cas_locked,
		[ORDERED_TICKETLOCK] = ticket_locked,
		[ORDERED_TTASLOCK] = ttas_locked,
		[ORDERED_XF_BARRIER] = meet,
		[ORDERED_APART] = store_apart,
		[ORDERED_COUNTERS] = add,
		[ORDERED_SPIN] = spin,
		[ORDERED_ENDLESS] = wait_for_good,
		[ORDERED_PUBLISH] = publish,
		[ORDERED_STACK] = use_stack,
		[ORDERED_CONSUME] = consume,
	};
	const struct args *const a = args;

	programs[a->p.kind](a);
}

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	static struct args plan;

	plan = (struct args){.p = chosen};
	*ret_plan = &plan;
	return 0;
}

static int allocate(struct args *a, struct nvw_machine *m)
{
	const uint64_t words = LINE * (2 * a->p.size * a->p.groups + 8);
	uint64_t zero[LINE] = {0};

	a->shared = nvw_alloc(m, 8 * words);
	a->slots = nvw_alloc(m, 8 * words);
	if (!a->shared || !a->slots) {
		return NVW_E_MEMORY;
	}
	for (uint64_t i = 0; i < words; i += LINE) {
		NVW_TRY(nvw_write(m, a->shared + i, zero, sizeof zero));
		NVW_TRY(nvw_write(m, a->slots + i, zero, sizeof zero));
	}
	return 0;
}

/* Nodes 1, 2, 3, the first on top. */
static int fill_stack(const struct args *a, struct nvw_machine *m)
{
	for (uint64_t node = 0; node <= NODES; node++) {
		const uint64_t next = (node + 1) % (NODES + 1);

		NVW_TRY(nvw_write(m, at(a->shared, node), &next, sizeof next));
	}
	return 0;
}

static int setup(void *plan, struct nvw_machine *m)
{
	struct args *const a = plan;

	NVW_TRY(allocate(a, m));
	if (nvw_machine_pool(m)) {
		a->nvram = (uint64_t *)(uintptr_t)(nvw_nvram_base(m) +
						   nvw_pool_geometry(nvw_machine_pool(m))->chunks);
	}
	return a->p.kind == ORDERED_STACK ? fill_stack(a, m) : 0;
}

static int run(void *plan, struct nvw_machine *m)
{
	const struct args *const a = plan;

	return nvw_launch(m, "ordered", kernel, a, a->p.size * a->p.groups, a->p.size);
}

static int expect(struct nvw_machine *m, const uint64_t *word, uint64_t value, const char *what,
	struct nvw_findings *findings)
{
	uint64_t found;

	NVW_TRY(nvw_read(m, &found, word, sizeof found));
	if (found != value) {
		return nvw_violation(findings, 0, "%s: found %llu, expected %llu", what,
			(unsigned long long)found, (unsigned long long)value);
	}
	return 0;
}

/* Each node is on the stack or with one work-item. */
static int verify_stack(const struct args *a, struct nvw_machine *m, struct nvw_findings *findings)
{
	uint64_t held[2], node;
	unsigned seen = 0;

	NVW_TRY(nvw_read(m, &held[0], at(a->slots, 0), sizeof held[0]));
	NVW_TRY(nvw_read(m, &held[1], at(a->slots, 1), sizeof held[1]));
	seen = 1u << held[0] | (held[1] == held[0] ? 0 : 1u << held[1]);
	if (held[0] == held[1] && held[0]) {
		return nvw_violation(findings, 0, "a node was taken twice");
	}
	NVW_TRY(nvw_read(m, &node, a->shared, sizeof node));
	for (node &= 0xff; node;) {
		if (seen >> node & 1) {
			return nvw_violation(findings, 0, "a node that was taken is on the stack");
		}
		seen |= 1u << node;
		NVW_TRY(nvw_read(m, &node, at(a->shared, node), sizeof node));
	}
	return (seen | 1) == 0xf ? 0 : nvw_violation(findings, 0, "a node is lost");
}

static int verify(void *plan, struct nvw_machine *m, struct nvw_findings *findings)
{
	const struct args *const a = plan;
	const uint64_t items = a->p.size * a->p.groups;
	int error = 0;

	if (a->p.kind <= ORDERED_TTASLOCK) {
		return expect(m, at(a->shared, 2), items, "increments in the critical section", findings);
	}
	for (uint64_t i = 0; i < items && a->p.kind == ORDERED_XF_BARRIER && !error; i++) {
		error = expect(m, at(a->slots, items + i), items, "slots seen behind the barrier", findings);
	}
	return a->p.kind == ORDERED_STACK ? verify_stack(a, m, findings) : error;
}

const struct nvw_workload ordered_workload = {.name = "ordered",
	.summary = "a program whose result depends on the order of its wavefronts",
	.prepare = prepare,
	.setup = setup,
	.run = run,
	.verify = verify};

/* ---- With NVRAM ---------------------------------------------------------------------------------------- */

static int pool(const void *plan, struct nvw_pool_params *ret)
{
	*ret = (struct nvw_pool_params){.layout = "ordered", .bytes = 1 << 20};
	return 0;
}

static int check(void *plan, struct nvw_pool *its, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const nvw_off first = nvw_pool_geometry(its)->chunks;

	if (nvw_pool_word(its, first + 8 * LINE) == 1 && nvw_pool_word(its, first) != 17) {
		return nvw_violation(findings, first, "a message was consumed that is lost");
	}
	return 0;
}

const struct nvw_workload ordered_in_nvram = {.name = "ordered",
	.summary = "a message in NVRAM that is consumed",
	.prepare = prepare,
	.pool = pool,
	.setup = setup,
	.run = run,
	.check = check};
