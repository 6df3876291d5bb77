/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a plan from the options. See plan.h. */
#include "plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/bounds.h"
#include "common/keys.h"
#include "common/ycsb.h"

int btree_compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t btree_distinct(uint64_t *keys, uint64_t count)
{
	uint64_t n = 0;

	qsort(keys, count, 8, btree_compare_u64);
	NVW_FOR(i, count) {
		if (!n || keys[n - 1] != keys[i]) {
			keys[n++] = keys[i];
		}
	}
	assert(n <= count);
	return n;
}

/* Records 0 to preload - 1, spread over all keys (or 0, 1, 2 ... for sequential). */
static int make_preload(const char *source, struct btree_plan *p)
{
	const bool sequential = !strcmp(source, "sequential");

	p->loaded = malloc(8 * (p->preload + 1));
	NVW_ALLOCATED(p->loaded, "no memory for %llu keys", (unsigned long long)p->preload);
	NVW_FOR(i, p->preload) {
		p->loaded[i] = sequential ? i : keys_of_record(i);
	}
	p->loaded_count = btree_distinct(p->loaded, p->preload);
	assert(p->loaded_count <= p->preload);
	return 0;
}

/* Inserted keys lie among the loaded ones; other operations use existing keys. */
static int make_keys(const struct nvw_options *options, uint64_t seed, struct btree_plan *p)
{
	const char *const source = nvw_option_string(options, "keys");
	const bool insert = p->op == BTREE_INSERT, sequential = !strcmp(source, "sequential");
	const struct keys_source keys = {.source = source,
		.seed = seed,
		.records = insert ? 0 : p->preload,
		.column = (unsigned)nvw_option_u64(options, "key-column")};
	const uint64_t wanted = keys_is_file(source) && !nvw_option_given(options, "count") ? 0 : p->count;

	NVW_TRY(keys_make(&keys, wanted, &p->keys, &p->count));
	for (uint64_t i = 0; insert && sequential && i < p->count; i++) {
		p->keys[i] += p->preload;
	}
	return 0;
}

static int compare_by_key(const void *a, const void *b, void *keys)
{
	const uint64_t *const key = keys;
	const int order = btree_compare_u64(&key[*(const uint64_t *)a], &key[*(const uint64_t *)b]);

	return order != 0 ? order : btree_compare_u64(a, b);
}

void btree_sort_by_key(const uint64_t *keys, uint64_t *ops, uint64_t count)
{
	qsort_r(ops, count, sizeof *ops, compare_by_key, (void *)(uintptr_t)keys);
}

/* ---- A YCSB mix ---------------------------------------------------------------------------- */

/* What changes the tree is one kind: updates in place, or, of a mix that also inserts, inserts of keys that
 * may be there. */
static int make_kinds(const struct ycsb *mix, uint64_t seed, struct btree_plan *p)
{
	const uint32_t kinds[YCSB_OPS] = {[YCSB_READ] = BTREE_LOOKUP,
		[YCSB_UPDATE] = p->op,
		[YCSB_INSERT] = p->op,
		[YCSB_SCAN] = BTREE_SCAN,
		[YCSB_READ_MODIFY_WRITE] = BTREE_READ_MODIFY_WRITE};
	struct ycsb_requests requests;

	assert(!p->keys && !p->kinds);
	p->keys = malloc(8 * (p->count + 1));
	p->kinds = malloc(sizeof *p->kinds * (p->count + 1));
	p->begun = calloc(p->count + 1, sizeof *p->begun);
	NVW_FAIL_IF(!p->keys || !p->kinds || !p->begun, NVW_E_MEMORY, "no memory for %llu operations",
		(unsigned long long)p->count);
	ycsb_requests_init(&requests, mix, p->preload, p->count, seed);
	NVW_FOR(i, p->count) {
		const struct ycsb_request r = ycsb_requests_next(&requests);

		p->kinds[i] = kinds[r.op] | (uint32_t)r.scan_length << 8;
		p->keys[i] = keys_of_record(r.record);
	}
	return 0;
}

static int take_mix(const struct nvw_options *o, struct ycsb *mix, struct btree_plan *p)
{
	NVW_TRY(ycsb_of_options(o, mix));
	NVW_FAIL_IF(nvw_option_given(o, "op"), NVW_E_USAGE,
		"btree: --ycsb is a mix of operations: it cannot be combined with --op");
	p->reads_last = mix->share[YCSB_READ_MODIFY_WRITE] <= 0;
	p->op = mix->share[YCSB_INSERT] > 0 ? BTREE_INSERT : BTREE_UPDATE;
	if (!nvw_option_given(o, "preload")) {
		p->preload = mix->records;
	}
	if (!nvw_option_given(o, "count")) {
		p->count = mix->operations;
	}
	NVW_FAIL_IF(!p->preload && mix->share[YCSB_INSERT] < 1, NVW_E_USAGE,
		"btree: --ycsb: expected at least one record to load, found 0");
	return 0;
}

/* ---- The order of keys --------------------------------------------------------------------- */

static bool is_sorted_in(const struct btree_plan *p, uint64_t i)
{
	assert(i < p->count);
	return !p->kinds || (btree_op_of(p, i) != BTREE_LOOKUP && btree_op_of(p, i) != BTREE_SCAN);
}

uint64_t btree_first_of(const struct btree_plan *p, uint64_t key, uint64_t op)
{
	uint64_t low = 0, high = p->by_key_count;

	while (low < high) {
		const uint64_t middle = (low + high) / 2, at = p->by_key[middle];

		if (p->keys[at] < key || (p->keys[at] == key && at < op)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

uint64_t btree_end_of(const struct btree_plan *p, uint64_t key, uint64_t at)
{
	while (at < p->by_key_count && p->keys[p->by_key[at]] == key) {
		at++;
	}
	return at;
}

bool btree_is_loaded(const struct btree_plan *p, uint64_t key)
{
	return p->loaded_count > 0 && bsearch(&key, p->loaded, p->loaded_count, 8, btree_compare_u64);
}

static int sort_operations(struct btree_plan *p)
{
	assert(p->by_key_count == 0);
	p->by_key = malloc(8 * (p->count + 1));
	NVW_ALLOCATED(p->by_key, "no memory for %llu operations", (unsigned long long)p->count);
	NVW_FOR(i, p->count) {
		p->by_key[p->by_key_count] = i;
		p->by_key_count += is_sorted_in(p, i);
	}
	btree_sort_by_key(p->keys, p->by_key, p->by_key_count);
	return 0;
}

/*
 * A split makes at most two more nodes than its new keys fill. n keys can split only the nodes on their
 * paths, and each new node is a new key of a parent.
 */
uint64_t btree_nodes_at_most(const struct btree_plan *p, uint64_t nodes, uint64_t height, uint64_t n)
{
	const uint64_t fill = btree_fill(p->slots), touched = u64_min(n * height, nodes);
	const uint64_t made = (2 * fill * touched + n) / (fill - 1);
	assert(p->slots >= BTREE_SLOTS_MIN);

	return made + made / (fill - 1) + BTREE_LEVELS_MAX;
}

static void size_pool(struct btree_plan *p)
{
	const bool inserts = p->op == BTREE_INSERT;
	const uint64_t keys = p->preload + inserts * p->count;

	assert(p->group_size > 0 && p->slots >= BTREE_SLOTS_MIN);
	p->streams = p->batch / p->group_size + 1;
	p->log_entries = 6 * (uint64_t)p->group_size + 8;
	p->nodes = keys / (p->slots / 2 - 1) + 64; /* all levels half full */
	if (inserts) {
		p->nodes += btree_nodes_at_most(p, p->nodes, BTREE_LEVELS_MAX, p->batch);
	}
}

static int check_bounds(const struct nvw_options *o)
{
	static const struct bounds bounds[] = {
		{"batch", 1, 1 << 26},
		{"preload", 0, 1 << 30},
		{"group-size", 1, 1024},
		{"order", BTREE_SLOTS_MIN, BTREE_SLOTS_MAX},
	};

	return BOUNDS_CHECK("btree", o, bounds);
}

static int make_operations(const struct nvw_options *o, uint64_t seed, struct btree_plan *p)
{
	struct ycsb mix;

	if (nvw_option_given(o, "ycsb")) {
		NVW_TRY(take_mix(o, &mix, p));
		NVW_TRY(make_preload("uniform", p));
		return make_kinds(&mix, seed, p);
	}
	NVW_FAIL_IF(p->op != BTREE_INSERT && !p->preload, NVW_E_USAGE,
		"btree: --op other than insert needs keys: give --preload=N");
	NVW_TRY(make_preload(nvw_option_string(o, "keys"), p));
	return make_keys(o, seed, p);
}

static int make_plan(const struct nvw_options *o, uint64_t seed, struct btree_plan *p)
{
	p->preload = nvw_option_u64(o, "preload");
	p->count = nvw_option_u64(o, "count");
	p->batch = nvw_option_u64(o, "batch");
	p->scan_length = nvw_option_u64(o, "scan-length");
	p->group_size = (unsigned)nvw_option_u64(o, "group-size");
	p->op = (enum btree_op)nvw_option_choice(o, "op");
	p->scope = (enum btree_scope)nvw_option_choice(o, "scope");
	p->persist = nvw_option_bool(o, "persist");
	p->undo = nvw_option_bool(o, "undo");
	p->is_paper = nvw_option_choice(o, "barriers") == 1;
	p->slots = (unsigned)nvw_option_u64(o, "order");
	NVW_TRY(check_bounds(o));
	NVW_FAIL_IF(p->is_paper && p->undo, NVW_E_USAGE,
		"btree: --barriers=paper has one barrier per level, which cannot order an undo log: "
		"give --undo=off");
	NVW_TRY(make_operations(o, seed, p));
	nvw_option_stands(o, "preload", "%llu", (unsigned long long)p->preload);
	nvw_option_stands(o, "count", "%llu", (unsigned long long)p->count);
	NVW_TRY(sort_operations(p));
	p->batch = u64_min(p->batch, p->count);
	size_pool(p);
	return 0;
}

int btree_prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct btree_plan *const p = calloc(1, sizeof *p);
	int error;

	NVW_ALLOCATED(p, "no memory for a plan");
	p->mutation = mutation;
	error = make_plan(options, seed, p);
	if (error) {
		btree_free_plan(p);
		return error;
	}
	assert(p->by_key_count <= p->count);
	*ret_plan = p;
	return 0;
}

void btree_free_plan(struct btree_plan *p)
{
	free(p->loaded);
	free(p->keys);
	free(p->kinds);
	free(p->begun);
	free(p->by_key);
	free(p);
}

const char *btree_unfit(const void *plan)
{
	const struct btree_plan *const p = plan;

	if (p->is_paper) {
		return "btree: --barriers=paper orders new keys and what publishes them by no barrier; "
		       "it measures gope18's figures, and a crash may break the tree";
	}
	return NULL;
}

int btree_pool(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct btree_plan *const p = plan;

	assert(p->log_entries > 0);
	NVW_FAIL_IF(p->streams > UINT32_MAX / p->log_entries, NVW_E_USAGE,
		"btree: the undo log of a batch of %llu operations is too large",
		(unsigned long long)p->batch);
	/* A block costs its bytes and one word. */
	*ret_params = (struct nvw_pool_params){
		.heap_bytes = p->nodes * (btree_node_bytes(p->slots) + 9) + NVW_POOL_CHUNK_BYTES,
		.streams = (uint32_t)p->streams,
		.log_entries = (uint32_t)p->log_entries,
		.layout = "btree"};
	return 0;
}
