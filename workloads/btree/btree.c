/* SPDX-License-Identifier: BSD-3-Clause */
/* btree: a persistent B+tree, as a workload. Options, plan, and the host side of a run. */
#include "btree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../common/keys.h"

static const char *const ops[] = {"insert", NULL};
static const char *const scopes[] = {"kernel", NULL};

const struct nvw_option btree_options[] = {
	{"count", NVW_OPTION_COUNT, "10000", NULL, "operations [of a key file: all its keys]"},
	{"preload", NVW_OPTION_COUNT, "0", NULL, "keys inserted before the measured operations"},
	{"keys", NVW_OPTION_STRING, "uniform", NULL, KEYS_HELP},
	{"key-column", NVW_OPTION_COUNT, "0", NULL, KEYS_COLUMN_HELP},
	{"op", NVW_OPTION_CHOICE, "insert", ops, "what operations do"},
	{"scope", NVW_OPTION_CHOICE, "kernel", scopes, "of the persist barriers"},
	{"persist", NVW_OPTION_BOOL, "on", NULL, "off: a DRAM-only machine"},
	{"batch", NVW_OPTION_COUNT, "8192", NULL, "operations a kernel launch"},
	{"group-size", NVW_OPTION_COUNT, "256", NULL, "work-items a work-group"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

const struct nvw_mutation btree_mutations[] = {
	[BTREE_SKIP_LOG_BARRIER] = {"skip-log-barrier",
		"no persist barrier between log, new nodes and slots, and what refers to them", "observed"},
	[BTREE_COMPLETE_FIRST] = {"complete-first",
		"the epoch's completion is durable before its updates are", "observed"},
	[BTREE_BITMAP_FIRST] = {"bitmap-first", "a slot's bit is set before key and value are there",
		"observed"},
	[BTREE_NO_UNDO] = {"no-undo", "nodes that split are changed without a log", "observed"},
	{NULL, NULL, NULL},
};

uint64_t btree_value(uint64_t seed, uint64_t key)
{
	return nvw_mix64(key + nvw_mix64(seed));
}

/* ---- Plan ----------------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t total(const struct btree_plan *p)
{
	return p->preload + p->count;
}

/* Drops all but the first of equal keys, in order; uses sorted as scratch: pairs key, position. */
static uint64_t drop_repeated(struct btree_plan *p, uint64_t n)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < n; i++) {
		p->sorted[2 * i] = p->keys[i];
		p->sorted[2 * i + 1] = i;
	}
	qsort(p->sorted, n, 16, by_key);
	for (uint64_t i = 0, j; i < n; i = j) {
		uint64_t first = p->sorted[2 * i + 1];

		for (j = i + 1; j < n && p->sorted[2 * j] == p->sorted[2 * i]; j++) {
			first = p->sorted[2 * j + 1] < first ? p->sorted[2 * j + 1] : first;
		}
		p->seen[first] = 1;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (p->seen[i] != 0) {
			p->keys[kept++] = p->keys[i];
		}
		p->seen[i] = 0;
	}
	return kept;
}

static void sort_batches(struct btree_plan *p)
{
	for (uint64_t first = 0, end, n; first < total(p); first += n) {
		end = first < p->preload ? p->preload : total(p);
		n = end - first < p->batch ? end - first : p->batch;
		qsort(p->keys + first, n, 8, by_key);
	}
	for (uint64_t i = 0; i < total(p); i++) {
		p->sorted[2 * i] = p->keys[i];
		p->sorted[2 * i + 1] = i;
	}
	qsort(p->sorted, total(p), 16, by_key);
}

static int plan_keys(const struct nvw_options *options, struct btree_plan *p)
{
	const struct keys_source source = {
		.source = nvw_option_string(options, "keys"),
		.seed = p->seed,
		.column = (unsigned)nvw_option_u64(options, "key-column"),
	};
	const bool is_all = keys_is_file(source.source) && !nvw_option_given(options, "count");
	uint64_t n;
	const int error = keys_make(&source, is_all ? 0 : total(p), &p->keys, &n);

	if (error != 0) {
		return error;
	}
	p->sorted = calloc(n + 1, 16);
	p->seen = calloc(n + 1, 8);
	if (p->sorted == NULL || p->seen == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a plan of %" PRIu64 " operations", n);
	}

	const uint64_t kept = drop_repeated(p, n);

	p->dropped = n - kept;
	p->preload = p->preload < kept ? p->preload : kept;
	p->count = kept - p->preload;
	sort_batches(p);
	return 0;
}

int btree_prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct btree_plan *const p = calloc(1, sizeof(*p));
	int error = 0;

	if (p == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a plan");
	}
	p->seed = seed;
	p->mutation = mutation;
	p->count = nvw_option_u64(options, "count");
	p->preload = nvw_option_u64(options, "preload");
	p->batch = nvw_option_u64(options, "batch");
	p->group_size = (unsigned)nvw_option_u64(options, "group-size");
	p->is_volatile = !nvw_option_bool(options, "persist");
	if (p->batch == 0 || p->group_size == 0) {
		error = nvw_fail(NVW_E_USAGE, "--batch and --group-size: expected at least 1, found 0");
	} else if (p->count > 1 << 30 || p->preload > 1 << 30) {
		error = nvw_fail(NVW_E_USAGE, "btree: expected at most %d operations", 1 << 30);
	} else {
		error = plan_keys(options, p);
	}
	if (error != 0) {
		btree_dispose(p);
		return error;
	}
	*ret_plan = p;
	return 0;
}

void btree_dispose(void *plan)
{
	struct btree_plan *const p = plan;

	if (p != NULL) {
		free(p->keys);
		free(p->sorted);
		free(p->seen);
		free(p);
	}
}

/* Nodes that n new entries can make at most, over all levels. */
static uint64_t node_bound(uint64_t n)
{
	return n / 8 + 2 * BTREE_LEVELS;
}

int btree_pool(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct btree_plan *const p = plan;
	const uint64_t batch = p->batch < total(p) ? p->batch : total(p);
	const uint64_t nodes = node_bound(total(p)) + batch + 64;

	*ret_params = (struct nvw_pool_params){
		.heap_bytes = (nodes / 112 + 3) * NVW_POOL_CHUNK_BYTES,
		.streams = 1,
		.log_entries = (uint32_t)((3 + 2 * BTREE_SLOTS) * (batch + 1)),
		.layout = "btree",
	};
	return 0;
}

/* ---- Run ------------------------------------------------------------------------------------------ */

struct run {
	struct btree_plan *plan;
	struct nvw_machine *machine;
	struct btree_args args;
	uint64_t *values; /* host */
};

static int start(struct run *r, struct btree_plan *p, struct nvw_machine *machine)
{
	const uint64_t n = (p->batch < total(p) ? p->batch : total(p)) + 1;
	struct btree_args *const a = &r->args;

	*r = (struct run){.plan = p, .machine = machine};
	a->mutation = p->mutation;

	const int error = nvw_pmem_attach(machine, &a->pmem);

	if (error != 0) {
		return error;
	}
	a->keys = nvw_alloc(machine, 8 * n);
	a->values = nvw_alloc(machine, 8 * n);
	a->nodes = nvw_alloc(machine, 8 * n);
	a->counts = nvw_alloc(machine, 8 * n);
	a->next = nvw_alloc(machine, 8 * n);
	a->prev = nvw_alloc(machine, 8 * n);
	a->splits = nvw_alloc(machine, 8);
	r->values = calloc(n, 8);
	if (!a->keys || !a->values || !a->nodes || !a->counts || !a->next || !a->prev || !a->splits ||
		!r->values) {
		free(r->values);
		return nvw_fail(NVW_E_MEMORY, "btree: no memory for batches of %" PRIu64, n);
	}
	return 0;
}

/* The root's level, as the program sees it. */
static int read_root_level(struct run *r)
{
	const struct nvw_pmem *const pmem = &r->args.pmem;
	nvw_off root;
	int error = nvw_read(r->machine, &root,
		nvw_at(pmem, void, nvw_pool_root_off(&pmem->geometry, BTREE_ROOT)), 8);

	if (error == 0) {
		error = nvw_read(r->machine, &r->args.root_level,
			&nvw_at(pmem, struct btree_node, root)->level, 8);
	}
	return error;
}

static int send(struct run *r, uint64_t first, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		r->values[i] = btree_value(r->plan->seed, r->plan->keys[first + i]);
	}

	const int error = nvw_write(r->machine, r->args.keys, r->plan->keys + first, 8 * n);

	return error != 0 ? error : nvw_write(r->machine, r->args.values, r->values, 8 * n);
}

static int run_batch(struct run *r, uint64_t first, uint64_t n)
{
	/* A split makes at most one node of every new entry, on each level fewer. */
	int error = nvw_heap_provision(r->machine, &r->args.pmem, BTREE_NODE_BYTES, n + 2 * BTREE_LEVELS);

	r->args.first_op = first;
	r->args.count = n;
	if (error == 0) {
		error = read_root_level(r);
	}
	if (error == 0) {
		error = send(r, first, n);
	}
	if (error == 0) {
		error = nvw_launch(r->machine, "btree_insert", btree_insert, &r->args, n,
			r->plan->group_size);
	}
	if (error == 0) {
		error = nvw_launch(r->machine, "btree_grow", btree_grow, &r->args, 1, 1);
	}
	r->plan->launches++;
	return error;
}

static int run_operations(struct run *r, uint64_t first, uint64_t end)
{
	int error = 0;

	for (uint64_t n; error == 0 && first < end; first += n) {
		n = end - first < r->plan->batch ? end - first : r->plan->batch;
		error = run_batch(r, first, n);
	}
	if (error == 0) {
		error = nvw_persist(r->machine);
	}
	return error != 0 ? error : nvw_read(r->machine, &r->plan->splits, r->args.splits, 8);
}

int btree_setup(void *plan, struct nvw_machine *machine)
{
	struct btree_plan *const p = plan;
	const uint64_t mark = nvw_mark(machine);
	struct run r;

	if (p->is_volatile) {
		nvw_machine_set_volatile(machine);
	}
	p->launches = p->splits = 0;

	int error = start(&r, p, machine);

	if (error != 0) {
		return error;
	}
	error = nvw_heap_provision(machine, &r.args.pmem, BTREE_NODE_BYTES, 1);
	if (error == 0) {
		error = nvw_launch(machine, "btree_create", btree_create, &r.args, 1, 1);
	}
	if (error == 0) {
		error = run_operations(&r, 0, p->preload);
	}
	free(r.values);
	nvw_release(machine, mark);
	return error;
}

int btree_run(void *plan, struct nvw_machine *machine)
{
	struct btree_plan *const p = plan;
	struct run r;
	int error = start(&r, p, machine);

	if (error == 0) {
		error = run_operations(&r, p->preload, total(p));
		free(r.values);
	}
	return error;
}

int btree_report(void *plan, struct nvw_machine *machine, struct nvw_description *description)
{
	const struct btree_plan *const p = plan;
	int error = nvw_describe_u64(description, "btree.operations", p->count, "count",
		"measured operations");

	(void)machine;
	if (error == 0) {
		error = nvw_describe_u64(description, "btree.dropped", p->dropped, "count",
			"keys of the source left out, for they came before");
	}
	return error != 0 ? error
			  : nvw_describe_u64(description, "btree.splits", p->splits, "count",
				    "nodes made by splits in the measured part");
}

extern const struct nvw_workload nvw_workload_btree;

const struct nvw_workload nvw_workload_btree = {
	.name = "btree",
	.summary = "B+tree: batched parallel insert of 64-bit keys and values",
	.options = btree_options,
	.mutations = btree_mutations,
	.prepare = btree_prepare,
	.dispose = btree_dispose,
	.pool = btree_pool,
	.setup = btree_setup,
	.run = btree_run,
	.recover = btree_recover,
	.check = btree_check,
	.inspect = btree_inspect,
	.report = btree_report,
};
