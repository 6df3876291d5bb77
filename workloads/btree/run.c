/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's side: bulk load, batches, the distribution of keys over work-groups (gope18 5.1). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/bounds.h"
#include "steps.h"

/* A run: device arrays that last for all batches, and the current batch. */
struct btree_run {
	struct btree_plan *p;
	struct nvw_machine *machine;
	struct nvw_pmem pmem;
	struct btree_args args, pad;
	uint64_t *pad_words;           /* of the arrays of pad */
	struct btree_range *ranges;    /* device */
	uint64_t *keys, *values, *ops; /* device */
	/* host: the rest of the batch, ascending */
	uint64_t left, *left_keys, *left_values, *left_ops;
	/* after a crash: what needs no second time, and how many operations are wanted yet; NULL before one
	 */
	const struct nvw_acks *acks;
	uint64_t wanted;
	/* host: one launch */
	struct btree_range *parts;
	uint64_t *now_keys, *now_values, *now_ops;
};

static int read_node(const struct btree_run *r, nvw_off off, struct btree_node *ret)
{
	return nvw_read(r->machine, ret, r->pmem.base + off, btree_node_bytes(r->p->slots));
}

static int read_root(const struct btree_run *r, nvw_off *ret)
{
	return nvw_read(r->machine, ret, r->pmem.base + nvw_pool_root_off(&r->pmem.geometry, 0), sizeof *ret);
}

static int write_root(const struct btree_run *r, nvw_off root)
{
	return nvw_write(
		r->machine, r->pmem.base + nvw_pool_root_off(&r->pmem.geometry, 0), &root, sizeof root);
}

/* ---- Bulk load ----------------------------------------------------------------------------- */

static int allocate_nodes(struct btree_run *r, uint64_t count, nvw_off *ret_nodes)
{
	struct btree_allocate_args args = {
		.pmem = &r->pmem, .count = count, .bytes = btree_node_bytes(r->p->slots)};

	assert(count > 0);
	NVW_TRY(nvw_heap_provision(r->machine, &r->pmem, args.bytes, count));
	args.nodes = nvw_alloc(r->machine, 8 * count);
	if (!args.nodes) {
		return NVW_E_MEMORY;
	}
	NVW_TRY(nvw_launch(r->machine, "btree allocate", btree_allocate_kernel, &args, count, 256));
	NVW_TRY(nvw_persist(r->machine));
	return nvw_read(r->machine, ret_nodes, args.nodes, 8 * count);
}

/* Loads one level from sorted pairs; afterwards the pairs are (lowest key, node) of the level's nodes. */
static int load_level(const struct btree_run *r, unsigned level, uint64_t *keys, uint64_t *values,
	uint64_t pairs, const nvw_off *nodes, uint64_t count)
{
	const unsigned slots = r->p->slots;
	uint64_t at = 0;
	int error = 0;

	for (uint64_t i = 0; i < count && error == 0; i++) {
		const uint64_t share = (pairs - at + count - i - 1) / (count - i);
		struct btree_node node = {.order = btree_order(slots, (unsigned)share),
			.high = UINT64_MAX,
			.info = btree_info(slots, level)};

		if (i + 1 < count) {
			node.next = nodes[i + 1];
			node.high = keys[at + share] - 1;
		}

		memcpy(BTREE_KEY(&node, 0), keys + at, 8 * share);
		memcpy(BTREE_VALUE(&node, slots, 0), values + at, 8 * share);
		error = nvw_write(r->machine, r->pmem.base + nodes[i], &node, btree_node_bytes(slots));
		keys[i] = i ? keys[at] : 0;
		values[i] = nodes[i];
		at += share;
	}
	assert(error != 0 || at == pairs);
	return error;
}

/* Loads all levels, from the leaves up. */
static int load_levels(struct btree_run *r, uint64_t *keys, uint64_t *values, uint64_t pairs, nvw_off *nodes)
{
	unsigned level = 0;

	NVW_TRY(allocate_nodes(r, r->p->node_count, nodes));
	do {
		const uint64_t count = btree_nodes_for(r->p->slots, pairs);

		NVW_TRY(load_level(r, level++, keys, values, pairs, nodes, count));
		nodes += count;
		pairs = count;
	} while (pairs > 1);
	assert(level <= BTREE_LEVELS_MAX);
	r->p->height = level;
	return write_root(r, values[0]);
}

static int load_tree(struct btree_run *r, uint64_t *keys, uint64_t *values, uint64_t pairs)
{
	uint64_t total = 0, level = pairs;
	nvw_off *nodes;
	int error;
	assert(pairs == r->p->loaded_count);

	do {
		level = btree_nodes_for(r->p->slots, level);
		total += level;
	} while (level > 1);
	nodes = malloc(8 * total);
	NVW_ALLOCATED(nodes, "no memory for %llu nodes", (unsigned long long)total);
	r->p->node_count = total;
	error = load_levels(r, keys, values, pairs, nodes);
	free(nodes);
	return error;
}

int btree_setup(void *plan, struct nvw_machine *machine)
{
	struct btree_plan *const p = plan;
	const uint64_t n = p->loaded_count;
	struct btree_run *const r = calloc(1, sizeof *r);
	uint64_t *const keys = malloc(16 * (n + 1)), *values;
	int error;

	btree_end_run(p);
	p->run = r;
	if (!r || !keys) {
		free(keys);
		return nvw_fail(NVW_E_MEMORY, "no memory for the bulk load");
	}
	values = keys + n + 1;
	r->p = p;
	r->machine = machine;
	if (!p->persist) {
		nvw_machine_set_volatile(machine);
	}
	error = nvw_pmem_attach(machine, &r->pmem);
	if (error == 0) {
		memcpy(keys, p->loaded, 8 * n);
		NVW_FOR(i, n) {
			values[i] = btree_value_of_load(keys[i]);
		}
		error = load_tree(r, keys, values, n);
	}
	free(keys);
	return error;
}

/* ---- Work-groups' parts -------------------------------------------------------------------- */

/* Algorithm 1: equal slices. */
static uint64_t slices(struct btree_run *r)
{
	const uint64_t size = r->p->group_size, n = u64_min(r->left, r->p->streams * size);
	uint64_t groups = 0;

	for (uint64_t at = 0; at < n; at += size) {
		r->parts[groups++] = (struct btree_range){at, u64_min(n, at + size)};
	}
	assert(groups <= r->p->streams);
	return groups;
}

/* findReqdDepth: the lowest keys of the inner nodes on the first level from the top that has wanted of them
 * (or on the level above the leaves). *ret_level is that level. */
static int find_subtrees(const struct btree_run *r, uint64_t wanted, uint64_t **ret_lows, uint64_t *ret_count,
	unsigned *ret_level)
{
	const unsigned slots = r->p->slots;
	uint64_t count = 1, *lows = calloc(1, 8), *offs = malloc(8);
	unsigned level = (unsigned)r->p->height - 1;
	int error = NVW_E_MEMORY;
	assert(r->p->height > 0);

	if (lows && offs) {
		error = read_root(r, offs);
	}

	while (error == 0 && count < wanted && level > 1) {
		uint64_t *const below_lows = malloc(8 * count * slots),
				*const below = malloc(8 * count * slots), n = 0;

		if (!below_lows || !below) {
			error = NVW_E_MEMORY;
		}
		for (uint64_t i = 0; i < count && error == 0; i++) {
			struct btree_node node;

			error = read_node(r, offs[i], &node);
			for (unsigned s = 0; error == 0 && s < btree_count(node.order); s++, n++) {
				below_lows[n] = *BTREE_KEY(&node, btree_slot(node.order, s));
				below[n] = *BTREE_VALUE(&node, slots, btree_slot(node.order, s));
			}
		}
		free(lows);
		free(offs);
		lows = below_lows;
		offs = below;
		count = n;
		level--;
	}
	free(offs);
	*ret_lows = lows;
	*ret_count = count;
	*ret_level = level;
	NVW_FAIL_IF(error == NVW_E_MEMORY, error, "no memory to distribute the keys");
	return error;
}

/* Algorithm 2: each work-group gets the keys of whole subtrees, at most twice its size; the remaining keys
 * wait for the next launch. The parts give positions in left_*, in order. */
static int subtrees(struct btree_run *r, uint64_t *ret_groups, unsigned *ret_own_levels)
{
	const uint64_t cap = 2 * (uint64_t)r->p->group_size,
		       wanted = (r->left + r->p->group_size - 1) / r->p->group_size;
	uint64_t *lows, count, groups = 0, at = 0;
	unsigned level;
	int error = find_subtrees(r, wanted, &lows, &count, &level);

	for (uint64_t i = 0; error == 0 && i < count && at < r->left; i++) {
		const uint64_t begin = at;

		while (at < r->left && (i + 1 == count || r->left_keys[at] < lows[i + 1])) {
			at++;
		}
		if (at == begin) {
			continue;
		}
		/* With more subtrees than streams, neighbouring subtrees share a work-group as long as they
		 * fit. */
		if (groups &&
			(groups == r->p->streams || at - r->parts[groups - 1].begin <= r->p->group_size)) {
			if (at - r->parts[groups - 1].begin > cap && groups == r->p->streams) {
				break;
			}
			r->parts[groups - 1].end = at;
		} else {
			r->parts[groups++] = (struct btree_range){begin, at};
		}
	}
	NVW_FOR(i, groups) {
		r->parts[i].end = u64_min(r->parts[i].end, r->parts[i].begin + cap);
	}
	assert(groups <= r->p->streams);
	free(lows);
	*ret_groups = groups;
	*ret_own_levels = level + 1;
	return error;
}

/* Moves the parts' keys from left_* to now_*, without gaps. */
static uint64_t take_parts(struct btree_run *r, uint64_t groups)
{
	uint64_t n = 0, kept = 0, at = 0;

	for (uint64_t i = 0; i <= groups; i++) {
		uint64_t begin = r->left, end = r->left;

		if (i < groups) {
			begin = r->parts[i].begin;
			end = r->parts[i].end;
			r->parts[i] = (struct btree_range){n, n + (end - begin)};
		}
		for (; at < begin; at++, kept++) {
			r->left_keys[kept] = r->left_keys[at];
			r->left_values[kept] = r->left_values[at];
			r->left_ops[kept] = r->left_ops[at];
		}
		for (; at < end; at++, n++) {
			r->now_keys[n] = r->left_keys[at];
			r->now_values[n] = r->left_values[at];
			r->now_ops[n] = r->left_ops[at];
		}
	}
	assert(n + kept <= r->p->batch);
	r->left = kept;
	return n;
}

/* ---- Launches ------------------------------------------------------------------------------ */

static int device_arrays(struct btree_run *r)
{
	const uint64_t n = r->p->batch, bytes = 8 * n;
	struct btree_args *const a = &r->args;
	uint64_t **const arrays[] = {&r->keys, &r->values, &r->ops, &a->run[0], &a->run[1], &a->made,
		&a->order, &a->next, &a->high, &a->result};
	uint64_t **const doubled[] = {&a->up_key[0], &a->up_key[1], &a->up_child[0], &a->up_child[1]};

	NVW_FOR(i, sizeof arrays / sizeof *arrays) {
		*arrays[i] = nvw_alloc(r->machine, bytes);
		if (!*arrays[i]) {
			return NVW_E_MEMORY;
		}
	}
	NVW_FOR(i, sizeof doubled / sizeof *doubled) {
		*doubled[i] = nvw_alloc(r->machine, 2 * bytes);
		if (!*doubled[i]) {
			return NVW_E_MEMORY;
		}
	}
	a->path = nvw_alloc(r->machine, BTREE_LEVELS_MAX * bytes);
	a->root = nvw_alloc(r->machine, 8);
	a->failed = nvw_alloc(r->machine, 8);
	a->splits = nvw_alloc(r->machine, 8 * BTREE_LEVELS_MAX);
	a->group_splits = nvw_alloc(r->machine, 8 * BTREE_LEVELS_MAX * r->p->streams);
	r->ranges = nvw_alloc(r->machine, r->p->streams * sizeof *r->ranges);
	if (!a->path || !a->root || !a->failed || !a->splits || !a->group_splits || !r->ranges) {
		return NVW_E_MEMORY;
	}
	a->pmem = &r->pmem;
	a->plan = r->p;
	a->replaced = btree_replaced(r->p->mutation);
	a->slots = r->p->slots;
	a->persist = r->p->persist;
	a->undo = r->p->persist && r->p->undo;
	a->keys = r->keys;
	a->values = r->values;
	a->ops = r->ops;
	a->ranges = r->ranges;
	a->scan_length = r->p->scan_length;
	return 0;
}

/* The staging arrays once more, where they take no time (--barriers=paper). */
static int pad_arrays(struct btree_run *r)
{
	const uint64_t n = r->p->batch;
	struct btree_args *const pad = &r->pad;
	const struct {
		uint64_t **array, words;
	} arrays[] = {{&pad->path, BTREE_LEVELS_MAX * n}, {&pad->run[0], n}, {&pad->run[1], n},
		{&pad->made, n}, {&pad->up_key[0], 2 * n}, {&pad->up_key[1], 2 * n},
		{&pad->up_child[0], 2 * n}, {&pad->up_child[1], 2 * n}, {&pad->order, n}, {&pad->next, n},
		{&pad->high, n}, {&pad->group_splits, BTREE_LEVELS_MAX * r->p->streams}};
	uint64_t words = 0;

	assert(!r->pad_words);
	NVW_FOR(i, sizeof arrays / sizeof *arrays) {
		words += arrays[i].words;
	}
	r->pad_words = calloc(words, sizeof *r->pad_words);
	NVW_ALLOCATED(r->pad_words, "btree: no memory for scratchpads");
	words = 0;
	NVW_FOR(i, sizeof arrays / sizeof *arrays) {
		*arrays[i].array = r->pad_words + words;
		words += arrays[i].words;
	}
	r->args.pad = pad;
	return 0;
}

static int host_arrays(struct btree_run *r)
{
	uint64_t **const arrays[] = {
		&r->left_keys, &r->left_values, &r->left_ops, &r->now_keys, &r->now_values, &r->now_ops};

	assert(!r->left_keys && !r->parts);
	NVW_FOR(i, sizeof arrays / sizeof *arrays) {
		*arrays[i] = malloc(8 * r->p->batch);
		NVW_ALLOCATED(*arrays[i], "no memory for a batch of %llu operations",
			(unsigned long long)r->p->batch);
	}
	r->parts = malloc(r->p->streams * sizeof *r->parts);
	NVW_ALLOCATED(r->parts, "no memory for a batch");
	return 0;
}

void btree_end_run(struct btree_plan *p)
{
	struct btree_run *const r = p->run;

	if (!r) {
		return;
	}
	free(r->left_keys);
	free(r->left_values);
	free(r->left_ops);
	free(r->now_keys);
	free(r->now_values);
	free(r->now_ops);
	free(r->parts);
	free(r->pad_words);
	free(r);
	p->run = NULL;
}

static int upload(struct btree_run *r, uint64_t n)
{
	assert(n <= r->p->batch);
	r->args.n = n;
	r->args.height = (unsigned)r->p->height;
	r->args.host_ops = r->now_ops;
	NVW_TRY(nvw_write(r->machine, r->keys, r->now_keys, 8 * n));
	NVW_TRY(nvw_write(r->machine, r->values, r->now_values, 8 * n));
	return nvw_write(r->machine, r->ops, r->now_ops, 8 * n);
}

static int zero(struct btree_run *r, uint64_t *words, uint64_t count)
{
	static const uint64_t none[256];

	for (uint64_t at = 0; at < count; at += 256) {
		NVW_TRY(nvw_write(r->machine, words + at, none, 8 * u64_min(count - at, 256)));
	}
	return 0;
}

static int after_insert(struct btree_run *r)
{
	uint64_t failed = 0, used = 0;
	struct btree_node node;
	nvw_off root;
	NVW_TRY(nvw_read(r->machine, &failed, r->args.failed, 8));
	NVW_FAIL_IF(failed, NVW_E_FULL,
		"btree: the pool's heap or undo log is too small for a batch of %llu keys",
		(unsigned long long)r->args.n);
	NVW_TRY(nvw_read(r->machine, &used, r->pmem.heap[btree_node_class(r->p->slots)].next, 8));
	NVW_TRY(read_root(r, &root));
	NVW_TRY(read_node(r, root, &node));
	r->p->node_count += used;
	r->p->height = btree_level(node.info) + 1;
	return 0;
}

static int insert_launch(struct btree_run *r)
{
	uint64_t groups = 0, n;
	unsigned own_levels = 0;

	if (r->p->scope == BTREE_WORKGROUP) {
		NVW_TRY(subtrees(r, &groups, &own_levels));
	} else {
		groups = slices(r);
	}
	assert(groups > 0);
	n = take_parts(r, groups);
	NVW_TRY(upload(r, n));
	NVW_TRY(btree_serve_between(r->p));
	NVW_TRY(nvw_heap_provision(r->machine, &r->pmem, btree_node_bytes(r->p->slots),
		btree_nodes_at_most(r->p, r->p->node_count, r->p->height, n)));
	NVW_TRY(nvw_write(r->machine, r->ranges, r->parts, groups * sizeof *r->parts));
	NVW_TRY(zero(r, r->args.splits, BTREE_LEVELS_MAX));
	NVW_TRY(zero(r, r->args.group_splits, BTREE_LEVELS_MAX * groups));
	if (r->args.pad) {
		memset(r->pad.group_splits, 0, 8 * BTREE_LEVELS_MAX * groups);
	}
	NVW_TRY(zero(r, r->args.root, 1));
	NVW_TRY(zero(r, r->args.failed, 1));
	r->args.own_levels = (unsigned)u64_min(own_levels, r->args.height);
	r->p->groups += groups;
	NVW_TRY(nvw_launch(r->machine, "btree insert", btree_insert_kernel, &r->args,
		groups * r->p->group_size, r->p->group_size));
	return after_insert(r);
}

static int simple_launch(struct btree_run *r, enum btree_op op)
{
	static const struct {
		const char *name;
		nvw_kernel kernel;
	} kernels[] = {
		[BTREE_UPDATE] = {"btree update", btree_update_kernel},
		[BTREE_DELETE] = {"btree delete", btree_delete_kernel},
		[BTREE_LOOKUP] = {"btree lookup", btree_lookup_kernel},
		[BTREE_SCAN] = {"btree scan", btree_scan_kernel},
	};
	assert(op < sizeof kernels / sizeof *kernels && kernels[op].kernel);
	r->parts[0] = (struct btree_range){0, r->left};
	NVW_TRY(upload(r, take_parts(r, 1)));
	return nvw_launch(
		r->machine, kernels[op].name, kernels[op].kernel, &r->args, r->args.n, r->p->group_size);
}

/* What a lookup has to find after the changes before operation bound: the last of them, or the loaded
 * value. */
static uint64_t value_before(const struct btree_plan *p, uint64_t key, uint64_t bound)
{
	const uint64_t at = btree_first_of(p, key, bound);

	assert(bound <= p->count);
	if (p->kinds && at > 0 && p->keys[p->by_key[at - 1]] == key) {
		return btree_value_of_op(p->by_key[at - 1]);
	}
	return btree_is_loaded(p, key) ? btree_value_of_load(key) : 0;
}

static int check_lookups(struct btree_run *r, uint64_t bound)
{
	assert(r->args.n <= r->p->batch);
	NVW_FOR(i, r->args.n) {
		const uint64_t key = r->now_keys[i], expected = value_before(r->p, key, bound);
		uint64_t found;

		NVW_TRY(nvw_read(r->machine, &found, r->args.result + i, 8));
		r->p->found += found != 0;
		r->p->absent += found == 0;
		NVW_FAIL_IF(found != expected, NVW_E_INCONSISTENT,
			"btree: a lookup of key %llu found %llx, expected %llx", (unsigned long long)key,
			(unsigned long long)found, (unsigned long long)expected);
	}
	return 0;
}

/* ---- Batches ------------------------------------------------------------------------------- */

/* Whether an operation has a launch of this kind: a read-modify-write has two. */
static bool is_of(const struct btree_plan *p, uint64_t i, enum btree_op op)
{
	const enum btree_op its = btree_op_of(p, i);

	return its == op || (its == BTREE_READ_MODIFY_WRITE && op != BTREE_SCAN);
}

/* After a crash: nothing is owed to an operation that is acknowledged, nor to one with such a successor. */
static bool is_owed(const struct btree_run *r, uint64_t op)
{
	const struct btree_plan *const p = r->p;
	uint64_t at = btree_first_of(p, p->keys[op], op);

	assert(op < p->count);
	while (at < p->by_key_count && p->keys[p->by_key[at]] == p->keys[op]) {
		if (nvw_acked(r->acks, p->by_key[at++])) {
			return false;
		}
	}
	return true;
}

static bool is_wanted(struct btree_run *r, uint64_t op)
{
	if (!r->acks) {
		return true;
	}
	const bool wanted = r->wanted > 0 && is_owed(r, op);

	r->wanted -= wanted;
	return wanted;
}

static uint64_t value_for(const struct btree_plan *p, uint64_t i, enum btree_op op)
{
	assert(i < p->count);
	return p->kinds && op == BTREE_SCAN ? p->kinds[i] >> 8 : btree_value_of_op(i);
}

/* The keys of the batch's operations of a kind, in ascending order; of equal keys only the last operation.
 * Scans and lookups keep all. */
static void sort_batch(struct btree_run *r, uint64_t first, uint64_t count, enum btree_op kind)
{
	const struct btree_plan *const p = r->p;
	uint64_t n = 0;

	assert(count <= p->batch && n == 0);
	for (uint64_t i = first; i < first + count; i++) {
		r->left_ops[n] = i;
		n += is_of(p, i, kind) && is_wanted(r, i);
	}
	btree_sort_by_key(p->keys, r->left_ops, n);
	r->left = 0;
	NVW_FOR(i, n) {
		const uint64_t op = r->left_ops[i];

		if (kind <= BTREE_DELETE && i + 1 < n && p->keys[r->left_ops[i + 1]] == p->keys[op]) {
			continue;
		}
		r->left_ops[r->left] = op;
		r->left_keys[r->left] = p->keys[op];
		r->left_values[r->left++] = value_for(p, op, kind);
	}
	assert(r->left <= n);
	r->args.combined_from = r->left < n ? first : UINT64_MAX;
}

static int run_kind(struct btree_run *r, uint64_t first, uint64_t count, enum btree_op op)
{
	assert(r->left == 0);
	sort_batch(r, first, count, op);
	while (r->left) {
		NVW_TRY(op == BTREE_INSERT ? insert_launch(r) : simple_launch(r, op));
		if (op == BTREE_LOOKUP) {
			NVW_TRY(check_lookups(r, r->p->reads_last ? first + count : first));
		}
	}
	return 0;
}

static int run_reads(struct btree_run *r, uint64_t first, uint64_t count)
{
	NVW_TRY(run_kind(r, first, count, BTREE_SCAN));
	return run_kind(r, first, count, BTREE_LOOKUP);
}

static int run_batch(struct btree_run *r, uint64_t first, uint64_t count)
{
	const bool has_reads = r->p->kinds != NULL, reads_last = r->p->reads_last;

	assert(first + count <= r->p->count);
	if (has_reads && !reads_last) {
		NVW_TRY(run_reads(r, first, count));
	}
	NVW_TRY(run_kind(r, first, count, r->p->op));
	if (has_reads && reads_last) {
		NVW_TRY(run_reads(r, first, count));
	}
	/* An operation replaced by a later one of its batch is acknowledged with it. */
	NVW_TRY(nvw_persist(r->machine));
	return nvw_acknowledge(r->machine, first, count);
}

static int make_arrays(struct btree_run *r)
{
	NVW_TRY(host_arrays(r));
	NVW_TRY(device_arrays(r));
	return r->p->is_paper ? pad_arrays(r) : 0;
}

int btree_run(void *plan, struct nvw_machine *machine)
{
	struct btree_plan *const p = plan;
	struct btree_run *const r = p->run;

	assert(r->p == p);
	r->pmem.readers = btree_serve_readers(p);
	NVW_TRY(make_arrays(r));
	for (uint64_t at = 0; at < p->count; at += p->batch) {
		NVW_TRY(run_batch(r, at, u64_min(p->count - at, p->batch)));
	}
	return 0;
}

/* ---- After a crash ------------------------------------------------------------------------- */

static int count_node(void *context, nvw_off block, uint64_t bytes)
{
	*(uint64_t *)context += 1;
	return 0;
}

/* What the host of the crashed run knew. */
static int find_tree(struct btree_run *r)
{
	struct btree_node node;
	nvw_off root;

	r->p->node_count = 0;
	NVW_TRY(nvw_heap_visit(nvw_machine_pool(r->machine), count_node, &r->p->node_count));
	NVW_TRY(read_root(r, &root));
	NVW_TRY(read_node(r, root, &node));
	r->p->height = btree_level(node.info) + 1;
	return 0;
}

int btree_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations)
{
	struct btree_plan *const p = plan;
	struct btree_run *const r = calloc(1, sizeof *r);

	btree_end_run(p);
	p->run = r;
	NVW_ALLOCATED(r, "btree: no memory to go on");
	*r = (struct btree_run){.p = p, .machine = machine, .acks = acks, .wanted = operations};
	NVW_TRY(nvw_pmem_attach(machine, &r->pmem));
	NVW_TRY(find_tree(r));
	NVW_TRY(make_arrays(r));
	for (uint64_t at = 0; at < p->count && r->wanted > 0; at += p->batch) {
		NVW_TRY(run_kind(r, at, u64_min(p->count - at, p->batch), p->op));
	}
	return 0;
}
