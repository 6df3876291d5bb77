/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uts: unbalanced tree search (sinclair15 5.4.2). Work-groups visit the nodes of a tree that is unknown at
 * the start: a node is a hash, from which its children are computed. Each CU has a queue with local
 * synchronization; a work-group whose queue is empty pulls from the global one, and pushes nodes there when
 * the local one is full.
 *
 * The tree is that of common/unbalanced.h; its table of numbers of children is read-only data.
 *
 * A queue's count is an atomic, because idle work-groups read it without the lock. A work-group that finds
 * both queues empty counts itself as idle, and as busy again before it takes a new node. A busy work-group
 * may push, and becomes idle only after it has seen both queues empty, so when all are idle, no node is left.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/unbalanced.h"
#include "steps.h"

static const struct nvw_option options[] = {
	{"nodes", NVW_OPTION_COUNT, "16384", NULL, "of the tree, give or take 1/32"},
	{"queue", NVW_OPTION_COUNT, "64", NULL, "capacity of a CU's queue, in nodes"},
	SYNC_PLACE_OPTIONS("128"),
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

/* A queue's words, each on its own line. It is a stack, so that the last pushed nodes are still in the L1. */
struct queue_words {
	uint32_t lock[SYNC_LINE_WORDS];
	uint32_t count[SYNC_LINE_WORDS];
};

struct queue {
	struct lock lock;
	uint32_t *count;
	uint64_t *nodes;
	uint32_t capacity;
	uint32_t sharers; /* work-groups that share it */
};

/* Communication between the work-items of a work-group: one line each. */
struct mailbox {
	uint32_t children;     /* that the group is about to push; counted by atomics */
	uint32_t first, count; /* position in the queue of the nodes taken, or of room for the children */
	uint32_t is_global;
	uint32_t unused[SYNC_LINE_WORDS - 4];
};

/* Results of a work-item. */
struct result {
	uint64_t sum; /* of the nodes' hashes */
	uint64_t visited;
	uint64_t pushed[2]; /* nodes pushed to the local and global queue, by the first work-item */
};

struct args {
	struct sync_places places;
	enum nvw_scope local;
	const struct lock_steps *local_replaced, *global_replaced; /* of the queues' locks */
	struct queue_words *local_words, *global_words;
	uint64_t *local_nodes, *global_nodes;
	uint32_t local_capacity, global_capacity;
	uint32_t *idle;  /* number of work-groups without work */
	uint32_t *table; /* children per node, indexed by its upper 8 bits */
	struct mailbox *mailboxes;
	struct result *results;
	uint64_t root;
	uint32_t root_children;
	uint64_t patience; /* attempts until a work-group gives up: seeded bugs lose and add nodes */
};

struct plan {
	struct sync_shape shape;
	struct unbalanced tree; /* as counted by the host */
	struct args args;
	struct result total;
};

/* ---- Kernel ---------------------------------------------------------------------------------------- */

struct worker {
	const struct args *args;
	struct sync_place place;
	struct queue local, global;
	struct mailbox *mail;
	struct result result;
	uint64_t node;  /* of this work-item */
	uint64_t taken; /* number of times that the group took nodes */
	uint64_t polls; /* by the first work-item, waiting for nodes */
};

static struct lock lock_of(struct queue_words *words, enum nvw_scope scope, const struct lock_steps *replaced)
{
	return (struct lock){.words = words->lock, .kind = LOCK_SPIN, .scope = scope, .replaced = replaced};
}

/* Takes up to one node per work-item and leaves others their share; returns the number of nodes. */
static uint32_t take(struct worker *w, const struct queue *q)
{
	const unsigned id = nvw_local_id();
	uint32_t count;

	if (id == 0) {
		lock_acquire_alone(&q->lock);

		const uint32_t held = nvw_atomic_load(q->count, NVW_RELAXED, q->lock.scope);
		const uint32_t share = (uint32_t)u64_parts(held, q->sharers);

		count = (uint32_t)u64_min(share, nvw_group_size());
		nvw_atomic_store(q->count, held - count, NVW_RELAXED, q->lock.scope);
		nvw_store(&w->mail->first, held - count);
		nvw_store(&w->mail->count, count);
	}
	nvw_barrier(NVW_WORKGROUP);
	count = nvw_load(&w->mail->count);
	if (id < count) {
		w->node = nvw_load(q->nodes + nvw_load(&w->mail->first) + id);
	}
	nvw_barrier(NVW_WORKGROUP);
	if (id == 0) {
		lock_release(&q->lock, 0);
	}
	return count;
}

/* If there is room for the children, the queue stays locked. */
static bool make_room(struct worker *w, const struct queue *q, uint32_t children, bool is_global)
{
	lock_acquire_alone(&q->lock);

	const uint32_t held = nvw_atomic_load(q->count, NVW_RELAXED, q->lock.scope);

	if (held > q->capacity || children > q->capacity - held) {
		lock_release(&q->lock, 0);
		return false;
	}
	nvw_atomic_store(q->count, held + children, NVW_RELAXED, q->lock.scope);
	nvw_store(&w->mail->first, held);
	nvw_store(&w->mail->count, children);
	nvw_store(&w->mail->is_global, is_global);
	w->result.pushed[is_global] += children;
	return true;
}

/* Pushes the children of all work-items' nodes together. */
static void push_children(struct worker *w, uint32_t children)
{
	uint32_t *const counter = &w->mail->children;
	const uint32_t before =
		children == 0 ? 0 : nvw_atomic_add(counter, children, NVW_RELAXED, w->args->local);

	nvw_barrier(NVW_WORKGROUP);

	const uint32_t total = nvw_atomic_load(counter, NVW_RELAXED, w->args->local);

	nvw_barrier(NVW_WORKGROUP);
	if (total == 0) {
		return;
	}
	if (nvw_local_id() == 0) {
		nvw_atomic_store(counter, 0, NVW_RELAXED, w->args->local);
		if (!make_room(w, &w->local, total, false) && !make_room(w, &w->global, total, true)) {
			nvw_store(&w->mail->count, 0); /* more nodes than exist */
		}
	}
	nvw_barrier(NVW_WORKGROUP);

	const uint32_t room = nvw_load(&w->mail->count);
	const struct queue *const q = nvw_load(&w->mail->is_global) ? &w->global : &w->local;
	uint64_t *const to = q->nodes + nvw_load(&w->mail->first) + before;

	for (uint32_t i = 0; i < children && room != 0; i++) {
		nvw_store(to + i, unbalanced_child(w->node, i));
	}
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0 && room != 0) {
		lock_release(&q->lock, 0);
	}
}

static void visit(struct worker *w, uint32_t count)
{
	const struct args *const a = w->args;
	uint32_t children = 0;

	if (nvw_local_id() < count) {
		children = w->node == a->root ? a->root_children :
						nvw_load_read_only(a->table + (w->node >> 56));
		w->result.visited++;
		w->result.sum += w->node;
	}
	push_children(w, children);
}

/* Waits until a queue has nodes; false when no work-group is left that could push any. */
static bool await(struct worker *w)
{
	const struct args *const a = w->args;
	uint32_t idle = 1 + nvw_atomic_add(a->idle, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);

	while (idle < a->places.group_count && w->taken < a->patience && ++w->polls < a->patience) {
		if (nvw_atomic_load(w->local.count, NVW_ACQUIRE, w->local.lock.scope) != 0 ||
			nvw_atomic_load(w->global.count, NVW_ACQUIRE, w->global.lock.scope) != 0) {
			nvw_atomic_sub(a->idle, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
			return true;
		}
		idle = nvw_atomic_load(a->idle, NVW_ACQUIRE, NVW_SCOPE_AGENT);
	}
	return false;
}

/* The first work-item waits for its group. */
static bool await_together(struct worker *w)
{
	bool is_found;

	if (nvw_local_id() == 0) {
		nvw_store(&w->mail->count, await(w));
	}
	nvw_barrier(NVW_WORKGROUP);
	is_found = nvw_load(&w->mail->count) != 0;
	nvw_barrier(NVW_WORKGROUP);
	return is_found;
}

static void uts_kernel(const void *args)
{
	const struct args *const a = args;
	struct worker w = {
		.args = a, .place = sync_take_place(&a->places), .mail = a->mailboxes + nvw_group_id()};
	struct result *const result = a->results + nvw_global_id();
	struct queue_words *const own = a->local_words + w.place.cu;

	w.local = (struct queue){
		.lock = lock_of(own, a->local, a->local_replaced),
		.count = own->count,
		.nodes = a->local_nodes + (uint64_t)w.place.cu * a->local_capacity,
		.capacity = a->local_capacity,
		.sharers = w.place.neighbours,
	};
	w.global = (struct queue){
		.lock = lock_of(a->global_words, NVW_SCOPE_AGENT, a->global_replaced),
		.count = a->global_words->count,
		.nodes = a->global_nodes,
		.capacity = a->global_capacity,
		.sharers = (uint32_t)a->places.group_count,
	};
	do {
		uint32_t count;

		while (w.taken < a->patience &&
			((count = take(&w, &w.local)) != 0 || (count = take(&w, &w.global)) != 0)) {
			visit(&w, count);
			w.taken++;
		}
	} while (await_together(&w));
	nvw_store(&result->sum, w.result.sum);
	nvw_store(&result->visited, w.result.visited);
	nvw_store(&result->pushed[0], w.result.pushed[0]);
	nvw_store(&result->pushed[1], w.result.pushed[1]);
}

/* ---- Host ------------------------------------------------------------------------------------------ */

static int plan_tree(const struct nvw_options *given, uint64_t seed, struct plan *p)
{
	static const struct bounds bounds[] = {{"nodes", UNBALANCED_SUBTREE, 1 << 24}, {"queue", 1, 1 << 20}};

	NVW_TRY(BOUNDS_CHECK("uts", given, bounds));
	NVW_TRY(unbalanced_find(&p->tree, nvw_option_u64(given, "nodes"), seed));
	assert(p->tree.nodes > 0);
	p->args.root = p->tree.root;
	p->args.root_children = p->tree.root_children;
	p->args.local_capacity = (uint32_t)nvw_option_u64(given, "queue");
	return 0;
}

static void uts_dispose(void *plan)
{
	struct plan *const p = plan;

	sync_free_places(&p->args.places);
	free(p);
}

static int uts_options(const struct nvw_options *given, uint64_t seed, int mutation, void *plan)
{
	struct plan *const p = plan;

	NVW_TRY(sync_read_place_options("uts", given, &p->shape));
	NVW_TRY(plan_tree(given, seed, p));
	p->args.local = p->shape.local;
	p->args.local_replaced = uts_replaced((enum lock_mutation)mutation, false);
	p->args.global_replaced = uts_replaced((enum lock_mutation)mutation, true);
	p->args.global_capacity = (uint32_t)p->tree.nodes;
	p->args.patience = 4 * p->tree.nodes;
	return 0;
}

static int uts_prepare(const struct nvw_options *given, uint64_t seed, int mutation, void **ret_plan)
{
	return sync_make_plan(sizeof(struct plan), uts_options, given, seed, mutation, ret_plan);
}

static int allocate(struct plan *p, struct nvw_machine *machine)
{
	struct args *const a = &p->args;
	const unsigned cus = a->places.cu_count;

	a->local_words = nvw_alloc(machine, cus * sizeof(*a->local_words));
	a->global_words = nvw_alloc(machine, sizeof(*a->global_words));
	a->local_nodes = nvw_alloc(machine, (uint64_t)cus * a->local_capacity * sizeof(*a->local_nodes));
	a->global_nodes = nvw_alloc(machine, (uint64_t)a->global_capacity * sizeof(*a->global_nodes));
	a->idle = nvw_alloc(machine, sizeof(*a->idle));
	a->table = nvw_alloc(machine, sizeof(p->tree.table));
	a->mailboxes = nvw_alloc(machine, a->places.group_count * sizeof(*a->mailboxes));
	a->results = nvw_alloc(machine, a->places.group_count * p->shape.group_size * sizeof(*a->results));
	if (!a->local_words || !a->global_words || !a->local_nodes || !a->global_nodes || !a->idle ||
		!a->table || !a->mailboxes || !a->results) {
		return NVW_E_MEMORY;
	}
	return 0;
}

static int sum_results(struct plan *p, struct nvw_machine *machine)
{
	p->total = (struct result){0};
	NVW_FOR(i, p->args.places.group_count * p->shape.group_size) {
		struct result r;

		NVW_TRY(nvw_read(machine, &r, p->args.results + i, sizeof(r)));
		p->total.sum += r.sum;
		p->total.visited += r.visited;
		p->total.pushed[0] += r.pushed[0];
		p->total.pushed[1] += r.pushed[1];
	}
	return 0;
}

static int uts_run(void *plan, struct nvw_machine *machine)
{
	static const uint32_t one = 1;
	struct plan *const p = plan;
	struct args *const a = &p->args;

	NVW_TRY(sync_make_places(machine, &p->shape, &a->places));
	NVW_TRY(allocate(p, machine));
	NVW_TRY(nvw_write(machine, a->table, p->tree.table, sizeof(p->tree.table)));
	NVW_TRY(nvw_write(machine, a->global_nodes, &a->root, sizeof(a->root)));
	NVW_TRY(nvw_write(machine, a->global_words->count, &one, sizeof(one)));
	NVW_TRY(sync_launch(machine, &a->places, "uts", uts_kernel, a));
	return sum_results(p, machine);
}

static int uts_verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings)
{
	const struct plan *const p = plan;

	if (p->total.visited != p->tree.nodes) {
		return nvw_violation(findings, 0, "%" PRIu64 " nodes were visited, expected %" PRIu64,
			p->total.visited, p->tree.nodes);
	}
	if (p->total.sum == p->tree.sum) {
		return 0;
	}
	return nvw_violation(findings, 0,
		"the right number of nodes was visited, but not the right nodes: their sum is %#" PRIx64
		", expected %#" PRIx64,
		p->total.sum, p->tree.sum);
}

static int uts_report(void *plan, struct nvw_machine *machine, struct nvw_description *description)
{
	const struct plan *const p = plan;

	NVW_TRY(nvw_describe_u64(description, "nodes", p->tree.nodes, "", "of the tree"));
	NVW_TRY(nvw_describe_u64(
		description, "pushed_local", p->total.pushed[0], "nodes", "to the CUs' queues"));
	NVW_TRY(nvw_describe_u64(
		description, "pushed_global", p->total.pushed[1], "nodes", "to the global queue"));
	return nvw_describe_real(description, "node_ns",
		(double)p->args.places.ps / 1e3 / (double)p->tree.nodes, "ns",
		"simulated time of the kernel for each node");
}

extern const struct nvw_workload nvw_workload_uts;

const struct nvw_workload nvw_workload_uts = {
	.name = "uts",
	.summary = "unbalanced tree search (sinclair15, UTS): a local queue per CU and a global one",
	.options = options,
	.mutations = uts_mutations,
	.asks = sync_asks,
	.prepare = uts_prepare,
	.dispose = uts_dispose,
	.run = uts_run,
	.verify = uts_verify,
	.report = uts_report,
};
