/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree-barrier: TB_LG and TBEX_LG of sinclair15 Table 4. In an iteration each work-group loads and stores
 * data that no other one uses. The work-groups of a CU join a local barrier, and the last of them joins the
 * global one for all.
 *
 * Data are exchanged by rotation, not by copying: after the global barrier each work-group continues with the
 * block of a work-group of the next CU. With --exchange=local each iteration has a second half with as many
 * accesses: the work-groups of a CU join a local barrier and continue with each other's blocks before they
 * join the tree.
 *
 * A datum x becomes 31 x + position + iteration, so that the final value shows by which work-groups, when,
 * and in which order it was changed.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "steps.h"

enum exchange { EXCHANGE_OFF, EXCHANGE_LOCAL };

static const char *const exchanges[] = {"off", "local", NULL};

static const struct nvw_option options[] = {
	{"exchange", NVW_OPTION_CHOICE, "off", exchanges,
		"within the CU before the global barrier (TBEX_LG), or not (TB_LG)"},
	SYNC_WORK_OPTIONS,
	SYNC_PLACE_OPTIONS("32"),
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

/* The barriers of a CU: each word on its own line, counting up. */
struct cu_barrier {
	uint32_t met[SYNC_LINE_WORDS];      /* work-groups at the exchange within the CU */
	uint32_t arrived[SYNC_LINE_WORDS];  /* work-groups at the tree */
	uint32_t released[SYNC_LINE_WORDS]; /* number of times that the tree released the CU */
};

struct args {
	struct sync_places places;
	const struct barrier_steps *replaced;
	enum nvw_scope local;
	enum exchange exchange;
	struct cu_barrier *barriers;
	uint32_t *arrived; /* CUs at the global barrier, all iterations together */
	uint32_t *data;    /* [block][access][work-item] */
	uint64_t block_words;
	uint32_t iterations;
	unsigned accesses;
};

struct plan {
	struct sync_shape shape;
	struct args args;
};

/* ---- Positions -------------------------------------------------------------------------------------- */

/*
 * Work-groups form a ring: first the first of each CU, then the second of each, and so on, so that the next
 * one is mostly on another CU. This is the number of CU other's work-groups before number n of CU cu:
 */
static uint32_t before(unsigned other, uint32_t groups_there, unsigned cu, uint32_t n)
{
	return (uint32_t)u64_min(groups_there, n + (other < cu));
}

static uint32_t changed(uint32_t datum, uint32_t position, uint32_t iteration)
{
	return 31 * datum + position + iteration;
}

/* ---- Kernel ---------------------------------------------------------------------------------------- */

/* A work-group's view of itself. */
struct member {
	struct sync_place place;
	struct cu_barrier *barrier;
	uint32_t position, next_position; /* in the ring; that of the next work-group on the CU */
	uint32_t cus;                     /* CUs that run a work-group */
};

static struct member become_member(const struct args *a)
{
	struct member me = {.place = sync_take_place(&a->places)};
	const uint32_t next = (me.place.number + 1) % me.place.neighbours;

	me.barrier = a->barriers + me.place.cu;
	NVW_FOR(cu, a->places.cu_count) {
		const uint32_t groups = nvw_load(&a->places.cus[cu].groups);

		me.position += before(cu, groups, me.place.cu, me.place.number);
		me.next_position += before(cu, groups, me.place.cu, next);
		me.cus += groups != 0;
	}
	assert(me.position < a->places.group_count);
	return me;
}

static void wait_for(uint32_t *word, uint32_t count, enum nvw_scope scope)
{
	while (nvw_atomic_load(word, NVW_ACQUIRE, scope) < count) {
	}
}

static void arrive(uint32_t *arrived)
{
	nvw_atomic_add(arrived, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
}

static void await(uint32_t *arrived, uint32_t count)
{
	wait_for(arrived, count, NVW_SCOPE_AGENT);
}

static void join_local(const struct args *a, const struct member *me, uint32_t round)
{
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		nvw_atomic_add(me->barrier->met, 1, NVW_RELEASE, a->local);
		wait_for(me->barrier->met, round * me->place.neighbours, a->local);
	}
	nvw_barrier(NVW_WORKGROUP);
}

static void join_global(const struct args *a, const struct member *me, uint32_t round)
{
	STEP(a->replaced, arrive, a->arrived);
	STEP(a->replaced, await, a->arrived, round * me->cus);
}

/* The last work-group of a CU has acquired the releases of the others, and its own release passes them on
 * (HRF-Indirect). */
static void join_tree(const struct args *a, const struct member *me, uint32_t round)
{
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		const uint32_t earlier = nvw_atomic_add(me->barrier->arrived, 1, NVW_ACQ_REL, a->local);

		if (earlier + 1 == round * me->place.neighbours) {
			join_global(a, me, round);
			nvw_atomic_store(me->barrier->released, round, NVW_RELEASE, a->local);
		} else {
			wait_for(me->barrier->released, round, a->local);
		}
	}
	nvw_barrier(NVW_WORKGROUP);
}

/* Works on the block at a position in this iteration. */
static void barrier_work(const struct args *a, const struct member *me, uint32_t at, uint32_t iteration)
{
	uint32_t *const block =
		a->data + (at + iteration) % a->places.group_count * a->block_words + nvw_local_id();

	NVW_FOR(i, a->accesses) {
		uint32_t *const datum = block + i * nvw_group_size();

		nvw_store(datum, changed(nvw_load(datum), me->position, iteration));
	}
}

static void barrier_kernel(const void *args)
{
	const struct args *const a = args;
	const struct member me = become_member(a);

	NVW_FOR(i, a->iterations) {
		barrier_work(a, &me, me.position, i);
		if (a->exchange == EXCHANGE_LOCAL) {
			join_local(a, &me, i + 1);
			barrier_work(a, &me, me.next_position, i);
		}
		join_tree(a, &me, i + 1);
	}
}

/* ---- Host ------------------------------------------------------------------------------------------ */

static void barrier_dispose(void *plan)
{
	struct plan *const p = plan;

	sync_free_places(&p->args.places);
	free(p);
}

static int barrier_options(const struct nvw_options *given, uint64_t seed, int mutation, void *plan)
{
	struct plan *const p = plan;

	NVW_TRY(sync_read_place_options("tree-barrier", given, &p->shape));
	NVW_TRY(sync_read_work_options("tree-barrier", given, &p->shape));
	p->args = (struct args){
		.replaced = barrier_replaced((enum barrier_mutation)mutation),
		.local = p->shape.local,
		.exchange = (enum exchange)nvw_option_choice(given, "exchange"),
		.block_words = (uint64_t)p->shape.accesses * p->shape.group_size,
		.iterations = (uint32_t)p->shape.iterations,
		.accesses = p->shape.accesses,
	};
	return 0;
}

static int barrier_prepare(const struct nvw_options *given, uint64_t seed, int mutation, void **ret_plan)
{
	return sync_make_plan(sizeof(struct plan), barrier_options, given, seed, mutation, ret_plan);
}

static int barrier_run(void *plan, struct nvw_machine *machine)
{
	struct plan *const p = plan;
	struct args *const a = &p->args;

	NVW_TRY(sync_make_places(machine, &p->shape, &a->places));
	a->barriers = nvw_alloc(machine, a->places.cu_count * sizeof(*a->barriers));
	a->arrived = nvw_alloc(machine, sizeof(*a->arrived));
	a->data = nvw_alloc(machine, a->places.group_count * a->block_words * sizeof(*a->data));
	if (!a->barriers || !a->arrived || !a->data) {
		return NVW_E_MEMORY;
	}
	return sync_launch(machine, &a->places, "tree_barrier", barrier_kernel, a);
}

static uint32_t position(const uint32_t *groups_on, unsigned cu_count, unsigned cu, uint32_t n)
{
	uint32_t at = 0;

	assert(cu < cu_count);
	NVW_FOR(other, cu_count) {
		at += before(other, groups_on[other], cu, n);
	}
	return at;
}

/* Applies one work-group's work in half an iteration to the single datum that represents its block. */
static void expect_work(const struct args *a, const uint32_t *groups_on, bool is_exchanged,
	uint32_t iteration, unsigned cu, uint32_t n, uint32_t *blocks)
{
	const uint32_t me = position(groups_on, a->places.cu_count, cu, n);
	const uint32_t at =
		is_exchanged ? position(groups_on, a->places.cu_count, cu, (n + 1) % groups_on[cu]) : me;
	uint32_t *const block = &blocks[(at + iteration) % a->places.group_count];

	assert(n < groups_on[cu]);
	*block = changed(*block, me, iteration);
}

static void expect_half(const struct args *a, const uint32_t *groups_on, bool is_exchanged,
	uint32_t iteration, uint32_t *blocks)
{
	NVW_FOR(cu, a->places.cu_count) {
		NVW_FOR(n, groups_on[cu]) {
			expect_work(a, groups_on, is_exchanged, iteration, cu, n, blocks);
		}
	}
}

/* All data of a block begin as 0 and have the same history. */
static void expect_blocks(const struct args *a, const uint32_t *groups_on, uint32_t *blocks)
{
	NVW_FOR(i, a->iterations) {
		expect_half(a, groups_on, false, i, blocks);
		if (a->exchange == EXCHANGE_LOCAL) {
			expect_half(a, groups_on, true, i, blocks);
		}
	}
}

static int verify_block(const struct args *a, struct nvw_machine *machine, uint64_t block, uint32_t expected,
	uint32_t *data, struct nvw_findings *findings)
{
	uint64_t wrong = 0, last = 0;

	assert(block < a->places.group_count);
	NVW_TRY(nvw_read(machine, data, a->data + block * a->block_words, a->block_words * sizeof(*data)));
	NVW_FOR(i, a->block_words) {
		if (data[i] != expected) {
			wrong++;
			last = i;
		}
	}
	if (wrong == 0) {
		return 0;
	}
	return nvw_violation(findings, 0,
		"block %" PRIu64 ": %" PRIu64 " of %" PRIu64 " data are wrong; datum %" PRIu64 " is %#" PRIx32
		", expected %#" PRIx32,
		block, wrong, a->block_words, last, data[last], expected);
}

static int verify_blocks(const struct args *a, struct nvw_machine *machine, uint32_t *groups_on,
	uint32_t *blocks, uint32_t *data, struct nvw_findings *findings)
{
	int verdict = 0;

	NVW_FOR(cu, a->places.cu_count) {
		NVW_TRY(sync_groups_on(machine, &a->places, cu, &groups_on[cu]));
	}
	expect_blocks(a, groups_on, blocks);
	NVW_FOR(b, a->places.group_count) {
		NVW_TRY(sync_note(verify_block(a, machine, b, blocks[b], data, findings), &verdict));
	}
	return verdict;
}

static int barrier_verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings)
{
	const struct args *const a = &((const struct plan *)plan)->args;
	uint32_t *const groups_on = calloc(a->places.cu_count, sizeof(*groups_on));
	uint32_t *const blocks = calloc(a->places.group_count, sizeof(*blocks));
	uint32_t *const data = calloc(a->block_words, sizeof(*data));
	const int error = groups_on && blocks && data ?
				  verify_blocks(a, machine, groups_on, blocks, data, findings) :
				  nvw_fail(NVW_E_MEMORY, "no memory to verify in");

	free(groups_on);
	free(blocks);
	free(data);
	return error;
}

static int barrier_report(void *plan, struct nvw_machine *machine, struct nvw_description *description)
{
	const struct plan *const p = plan;

	return nvw_describe_real(description, "iteration_ns",
		(double)p->args.places.ps / 1e3 / (double)p->args.iterations, "ns",
		"simulated time of the kernel for each barrier of all CUs");
}

extern const struct nvw_workload nvw_workload_tree_barrier;

const struct nvw_workload nvw_workload_tree_barrier = {
	.name = "tree-barrier",
	.summary = "sinclair15's tree barriers (TB_LG, TBEX_LG): local ones and a global one, data exchanged",
	.options = options,
	.mutations = barrier_mutations,
	.asks = sync_asks,
	.prepare = barrier_prepare,
	.dispose = barrier_dispose,
	.run = barrier_run,
	.verify = barrier_verify,
	.report = barrier_report,
};
