/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a kv run (plan.h): operations from key source and mix, or from a YCSB mix. */
#include "plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/heap.h>

#include "../common/bounds.h"
#include "../common/keys.h"
#include "../common/ycsb.h"

enum { PERCENT = 100, REBUILD_ABOVE = 7, REBUILD_OF = 10, OPS_MAX = 1 << 30 };

/* ---- Mix ------------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum kv_kind kind;
} mix_names[] = {
	{"put", KV_PUT},
	{"get", KV_GET},
	{"delete", KV_DELETE},
};

enum { MIX_KINDS = sizeof(mix_names) / sizeof(*mix_names) };

struct mix {
	unsigned percent[MIX_KINDS];
};

/* One "name" or "name=percent" of a mix. */
static int parse_part(const char *part, size_t n, struct mix *mix)
{
	NVW_FOR(i, MIX_KINDS) {
		const size_t name = strlen(mix_names[i].name);

		if (n < name || strncmp(part, mix_names[i].name, name) != 0) {
			continue;
		}
		if (n == name) {
			mix->percent[i] += PERCENT;
			return 0;
		}

		char *end;
		const unsigned long percent = strtoul(part + name + 1, &end, 10);

		if (part[name] == '=' && end == part + n && end > part + name + 1 && percent <= PERCENT) {
			mix->percent[i] += (unsigned)percent;
			return 0;
		}
	}
	return nvw_fail(NVW_E_USAGE,
		"--mix: expected put, get, delete or percentages like put=50,get=40,delete=10, found "
		"\"%.*s\"",
		(int)n, part);
}

static int parse_mix(const char *text, struct mix *ret_mix)
{
	struct mix mix = {{0}};
	unsigned sum = 0;

	for (const char *part = text;; part++) {
		const size_t n = strcspn(part, ",");
		NVW_TRY(parse_part(part, n, &mix));
		part += n;
		if (*part == 0) {
			break;
		}
	}
	NVW_FOR(i, MIX_KINDS) {
		sum += mix.percent[i];
	}
	NVW_FAIL_IF(sum != PERCENT, NVW_E_USAGE,
		"--mix: expected percentages that make 100, found %u in \"%s\"", sum, text);
	*ret_mix = mix;
	return 0;
}

static enum kv_kind draw_kind(const struct mix *mix, struct nvw_random *random)
{
	uint64_t left = nvw_random_below(random, PERCENT);
	unsigned i = 0;

	while (left >= mix->percent[i]) {
		left -= mix->percent[i++];
	}
	assert(i < MIX_KINDS);
	return mix_names[i].kind;
}

/* ---- Operations ----------------------------------------------------------------------------------- */

static uint64_t op_total(const struct kv_plan *p)
{
	return p->preload + p->count;
}

static int out_of_memory(const struct kv_plan *p)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for a plan of %" PRIu64 " operations", op_total(p));
}

static int check_counts(const struct kv_plan *p)
{
	NVW_FAIL_IF(p->preload > OPS_MAX || p->count > OPS_MAX || op_total(p) > OPS_MAX, NVW_E_USAGE,
		"kv: expected at most %d operations, found --preload=%" PRIu64 " and --count=%" PRIu64,
		OPS_MAX, p->preload, p->count);
	return 0;
}

static int allocate_ops(struct kv_plan *p)
{
	const uint64_t n = op_total(p) + 1;

	assert(!p->kinds);
	if (!p->keys) {
		p->keys = calloc(n, sizeof(*p->keys));
	}
	p->kinds = calloc(n, sizeof(*p->kinds));
	p->key_ids = calloc(n, sizeof(*p->key_ids));
	p->headers = calloc(n, sizeof(*p->headers));
	if (!p->keys || !p->kinds || !p->key_ids || !p->headers) {
		return out_of_memory(p);
	}
	return 0;
}

static void preload_records(struct kv_plan *p, bool is_sequential)
{
	NVW_FOR(i, p->preload) {
		p->keys[i] = is_sequential ? i : keys_of_record(i);
	}
}

/* Requests of a YCSB mix. Scans keep the record number: the kernel makes the keys. */
static int plan_ycsb(const struct nvw_options *options, struct kv_plan *p)
{
	static const uint32_t kinds[YCSB_OPS] = {KV_GET, KV_PUT, KV_PUT, KV_SCAN, KV_GET | KV_PUT};
	struct ycsb_requests requests;
	struct ycsb mix;

	NVW_FAIL_IF(nvw_option_given(options, "mix"), NVW_E_USAGE,
		"--ycsb is a mix: it cannot be combined with --mix");
	NVW_TRY(ycsb_of_options(options, &mix));
	if (!nvw_option_given(options, "preload")) {
		p->preload = mix.records;
	}
	if (!nvw_option_given(options, "count")) {
		p->count = mix.operations;
	}
	if (!nvw_option_given(options, "value-size")) {
		p->value_bytes = mix.field_count * mix.field_length;
	}
	NVW_FAIL_IF(p->preload == 0 && mix.share[YCSB_INSERT] < 1, NVW_E_USAGE,
		"--ycsb: expected at least one record to load, found 0");
	NVW_TRY(check_counts(p));
	NVW_TRY(allocate_ops(p));
	preload_records(p, false);
	ycsb_requests_init(&requests, &mix, p->preload, p->count, p->seed);
	for (uint64_t op = p->preload; op < op_total(p); op++) {
		const struct ycsb_request r = ycsb_requests_next(&requests);

		p->kinds[op] = kinds[r.op] | (uint32_t)r.scan_length << 8;
		p->keys[op] = r.op == YCSB_SCAN ? r.record : keys_of_record(r.record);
	}
	return 0;
}

/* Keys from a file: the first are preloaded, the operations use the next. */
static int plan_file_keys(const struct nvw_options *options, struct kv_plan *p, struct keys_source source)
{
	uint64_t found, wanted = 0;

	if (nvw_option_given(options, "count")) {
		wanted = op_total(p);
	}
	NVW_TRY(keys_make(&source, wanted, &p->keys, &found));
	NVW_FAIL_IF(found < p->preload, NVW_E_INPUT,
		"%s: expected %" PRIu64 " keys to preload, found %" PRIu64, source.source, p->preload, found);
	p->count = found - p->preload;
	return 0;
}

/* Keys from a generator; without --records, requests select from the preloaded ones. */
static int plan_generated_keys(struct kv_plan *p, struct keys_source source, bool is_put_only)
{
	const bool is_sequential = strcmp(source.source, "sequential") == 0;
	const uint64_t start = is_sequential && is_put_only ? p->preload : 0;
	uint64_t found, *keys = NULL;

	if (source.records == 0) {
		source.records = p->preload != 0 ? p->preload : p->count;
	}
	if (p->count != 0) {
		NVW_TRY(keys_make(&source, p->count, &keys, &found));
	}
	assert(p->count == 0 || source.records > 0);
	p->keys = calloc(op_total(p) + 1, sizeof(*p->keys));
	if (!p->keys) {
		free(keys);
		return out_of_memory(p);
	}
	preload_records(p, is_sequential);
	NVW_FOR(i, p->count) {
		p->keys[p->preload + i] = is_sequential ? (start + i) % (start + source.records) : keys[i];
	}
	free(keys);
	return 0;
}

/* "tombstone-delete" has an effect only if keys are deleted and return. */
static const char *mix_of(const struct nvw_options *options, const struct kv_plan *p)
{
	if (p->mutation == KV_TOMBSTONE_DELETE && !nvw_option_given(options, "mix")) {
		return "put=60,delete=40";
	}
	return nvw_option_string(options, "mix");
}

static int plan_mix(const struct nvw_options *options, struct kv_plan *p)
{
	const struct keys_source source = {
		.source = nvw_option_string(options, "keys"),
		.seed = p->seed,
		.records = nvw_option_u64(options, "records"),
		.column = (unsigned)nvw_option_u64(options, "key-column"),
	};
	struct nvw_random random = {nvw_mix64(p->seed + 1)};
	struct mix mix = {{0}};
	NVW_TRY(parse_mix(mix_of(options, p), &mix));
	if (keys_is_file(source.source)) {
		NVW_TRY(plan_file_keys(options, p, source));
	} else {
		NVW_TRY(plan_generated_keys(p, source, mix.percent[0] == PERCENT));
	}
	NVW_TRY(allocate_ops(p));
	for (uint64_t op = p->preload; op < op_total(p); op++) {
		p->kinds[op] = draw_kind(&mix, &random);
	}
	return 0;
}

/* ---- Keys and the operations on them ---------------------------------------------------------------- */

static uint64_t index_place(const struct kv_plan *p, uint64_t key)
{
	uint64_t i = nvw_mix64(key) & p->index_mask;

	while (p->index[i] != 0 && p->by_key[p->index[i] - 1].key != key) {
		i = (i + 1) & p->index_mask;
	}
	return i;
}

uint32_t kv_key_id(const struct kv_plan *p, uint64_t key)
{
	return p->index[index_place(p, key)] - 1;
}

static uint32_t intern_key(struct kv_plan *p, uint64_t key)
{
	const uint64_t i = index_place(p, key);

	assert(p->key_count <= p->index_mask);
	if (p->index[i] == 0) {
		p->by_key[p->key_count].key = key;
		p->index[i] = (uint32_t)++p->key_count;
	}
	return p->index[i] - 1;
}

static bool is_change(uint32_t kind)
{
	return (kind & (KV_PUT | KV_DELETE)) != 0;
}

/* Groups the changes by key: a counting sort, which keeps them in ascending order. */
static void group_changes(struct kv_plan *p)
{
	uint32_t next = 0;

	NVW_FOR(op, op_total(p)) {
		if (is_change(p->kinds[op])) {
			p->by_key[p->key_ids[op]].count++;
		}
	}
	NVW_FOR(id, p->key_count) {
		p->by_key[id].first = next;
		next += p->by_key[id].count;
		p->by_key[id].count = 0;
	}
	assert(next <= op_total(p));
	NVW_FOR(op, op_total(p)) {
		if (is_change(p->kinds[op])) {
			struct kv_key *const k = &p->by_key[p->key_ids[op]];

			p->changes[k->first + k->count++] = (uint32_t)op;
		}
	}
}

static int index_keys(struct kv_plan *p)
{
	const uint64_t n = op_total(p) + 1;

	p->index_mask = 15;
	while (p->index_mask < 2 * n) {
		p->index_mask = 2 * p->index_mask + 1;
	}
	assert((p->index_mask & (p->index_mask + 1)) == 0);
	p->index = calloc(p->index_mask + 1, sizeof(*p->index));
	p->by_key = calloc(n, sizeof(*p->by_key));
	p->changes = calloc(n, sizeof(*p->changes));
	p->seen = calloc(n, sizeof(*p->seen));
	if (!p->index || !p->by_key || !p->changes || !p->seen) {
		return out_of_memory(p);
	}
	NVW_FOR(op, op_total(p)) {
		p->key_ids[op] = (p->kinds[op] & KV_SCAN) != 0 ? UINT32_MAX : intern_key(p, p->keys[op]);
	}
	group_changes(p);
	return 0;
}

uint64_t kv_batch_of(const struct kv_plan *p, uint64_t op)
{
	const uint64_t preload_batches = (p->preload + p->batch - 1) / p->batch;

	return op < p->preload ? op / p->batch : preload_batches + (op - p->preload) / p->batch;
}

uint64_t kv_header_of(struct kv_plan *p, uint64_t op)
{
	if (p->headers[op] == 0) {
		const uint64_t key = p->keys[op];

		p->headers[op] = kv_value_header(kv_value_base(p->seed, key, op), key, p->value_bytes);
	}
	return p->headers[op];
}

/* ---- Size of the pool -------------------------------------------------------------------------------- */

unsigned kv_rebuild_log2(struct kv_table t, uint64_t used, uint64_t live, uint64_t puts)
{
	unsigned log2_slots = KV_LOG2_SLOTS_MIN;

	if (puts == 0 || (used + puts) * REBUILD_OF <= kv_slot_count(t) * REBUILD_ABOVE) {
		return 0;
	}
	while ((UINT64_C(1) << log2_slots) < 2 * (live + puts)) {
		log2_slots++;
	}
	return log2_slots;
}

/* The most that the run may need, batch by batch, with every key counted as present from its first put on. */
struct need {
	uint64_t keys, blocks;
	unsigned log2_slots;
	uint64_t rebuilds;
};

static struct need plan_need(const struct kv_plan *p)
{
	struct need need = {.log2_slots = p->log2_slots};
	uint64_t puts = 0, fresh = 0;

	NVW_FOR(op, op_total(p)) {
		if ((p->kinds[op] & KV_PUT) != 0) {
			const struct kv_key *const k = &p->by_key[p->key_ids[op]];

			puts++;
			fresh += p->changes[k->first] == op || (p->kinds[p->changes[k->first]] & KV_PUT) == 0;
		}
		if (op + 1 < op_total(p) && kv_batch_of(p, op + 1) == kv_batch_of(p, op)) {
			continue;
		}

		const unsigned log2_slots =
			kv_rebuild_log2((struct kv_table){0, need.log2_slots}, need.keys, need.keys, puts);

		need.rebuilds += log2_slots != 0;
		need.log2_slots = (unsigned)u64_max(log2_slots, need.log2_slots);
		need.blocks = u64_max(need.blocks, need.keys + puts);
		need.keys += fresh;
		puts = fresh = 0;
	}
	assert(need.log2_slots >= p->log2_slots);
	return need;
}

static uint64_t chunks_of(uint64_t bytes)
{
	assert(bytes > 0);
	return (bytes + NVW_POOL_CHUNK_BYTES - 1) / NVW_POOL_CHUNK_BYTES;
}

/*
 * Blocks with their block words, and some space for each chunk's table; the tables of a growing sequence need
 * less than twice the last one, plus one more of that size for a rebuild in place.
 */
static void size_heap(struct kv_plan *p)
{
	const struct need need = plan_need(p);
	const uint64_t block = nvw_heap_block_bytes(kv_entry_bytes(p->value_bytes));
	const uint64_t a_chunk = (NVW_POOL_CHUNK_BYTES - 4096) / (block + 8);
	uint64_t chunks = need.blocks / a_chunk + 3;

	assert(block > 0);
	for (unsigned i = 0; i < 3 + need.rebuilds && i < 64; i++) {
		chunks += chunks_of((UINT64_C(8) << need.log2_slots) >> (i < 3 ? 0 : i - 2));
	}
	p->most_log2_slots = need.log2_slots;
	p->heap_bytes = chunks * NVW_POOL_CHUNK_BYTES;
}

/* ---- Prepare -------------------------------------------------------------------------------------- */

static int check_options(const struct kv_plan *p)
{
	NVW_FAIL_IF(nvw_heap_block_bytes(kv_entry_bytes(p->value_bytes)) == 0, NVW_E_USAGE,
		"--value-size: %" PRIu64 " bytes and the entry's header do not fit in a block of the heap",
		p->value_bytes);
	NVW_FAIL_IF(p->batch == 0, NVW_E_USAGE, "--batch: expected at least 1 operation per launch, found 0");
	return 0;
}

/* Some seeded bugs have an effect only in some runs; other runs are refused, so that they are not mistaken
 * for clean ones. */
static int check_mutation(const struct nvw_options *options, struct kv_plan *p)
{
	const bool is_resize = p->mutation == KV_ROOT_BEFORE_TABLE || p->mutation == KV_NARROW_RESIZE ||
			       p->mutation == KV_FREE_TABLE_FIRST;

	if (p->mutation == KV_NARROW_SCOPE) {
		NVW_FAIL_IF(nvw_option_given(options, "scope") && p->scope != KV_SCOPE_WORKGROUP, NVW_E_USAGE,
			"mutation %s has an effect only with --scope=workgroup",
			kv_mutations[p->mutation].name);
		NVW_FAIL_IF(p->writers == KV_WRITERS_OWN && nvw_option_given(options, "writers"), NVW_E_USAGE,
			"mutation %s has no effect with --writers=own", kv_mutations[p->mutation].name);
		p->scope = KV_SCOPE_WORKGROUP;
		p->writers = KV_WRITERS_GROUP;
	}
	NVW_FAIL_IF(is_resize && plan_need(p).rebuilds == 0, NVW_E_USAGE,
		"mutation %s has an effect only if the table grows: use fewer --slots or a larger "
		"--count",
		kv_mutations[p->mutation].name);
	return 0;
}

static int read_options(const struct nvw_options *options, struct kv_plan *p)
{
	static const struct bounds bounds[] = {
		{"value-size", 1, KV_VALUE_MAX},
		{"group-size", 1, 1 << 16},
		{"slots", 0, 1 << 30},
	};

	p->preload = nvw_option_u64(options, "preload");
	p->count = nvw_option_u64(options, "count");
	p->value_bytes = nvw_option_u64(options, "value-size");
	p->batch = nvw_option_u64(options, "batch");
	p->group_size = (unsigned)nvw_option_u64(options, "group-size");
	p->scope = (enum kv_scope)nvw_option_choice(options, "scope");
	p->writers = (enum kv_writers)nvw_option_choice(options, "writers");
	NVW_FAIL_IF(p->scope == KV_SCOPE_WORKITEM && p->writers == KV_WRITERS_GROUP, NVW_E_USAGE,
		"--writers=group needs --scope=workgroup or --scope=kernel: barriers of work-item "
		"scope do not "
		"order what others of the group wrote");
	p->log2_slots = KV_LOG2_SLOTS_MIN;
	while (p->log2_slots < 30 && UINT64_C(1) << p->log2_slots < nvw_option_u64(options, "slots")) {
		p->log2_slots++;
	}
	assert(p->log2_slots <= KV_LOG2_SLOTS_MAX);
	return BOUNDS_CHECK("kv", options, bounds);
}

/* A mix, a file of keys and some seeded bugs move defaults. */
static void say_options(const struct nvw_options *options, const struct kv_plan *p)
{
	nvw_option_stands(options, "preload", "%" PRIu64, p->preload);
	nvw_option_stands(options, "count", "%" PRIu64, p->count);
	nvw_option_stands(options, "value-size", "%" PRIu64 "B", p->value_bytes);
	nvw_option_stands(options, "mix", "%s", mix_of(options, p));
	nvw_option_stands(options, "scope", "%s", kv_scopes[p->scope]);
	nvw_option_stands(options, "writers", "%s", kv_writer_names[p->writers]);
}

static int make_plan(const struct nvw_options *options, struct kv_plan *p)
{
	NVW_TRY(read_options(options, p));
	NVW_TRY(check_counts(p));
	NVW_TRY(nvw_option_given(options, "ycsb") ? plan_ycsb(options, p) : plan_mix(options, p));
	NVW_TRY(check_options(p));
	NVW_FOR(op, p->preload) {
		p->kinds[op] = KV_PUT;
	}
	NVW_TRY(index_keys(p));
	NVW_TRY(check_mutation(options, p));
	say_options(options, p);
	size_heap(p);
	return 0;
}

int kv_prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct kv_plan *const p = calloc(1, sizeof(*p));

	NVW_ALLOCATED(p, "no memory for a plan");
	p->seed = seed;
	p->mutation = (enum kv_mutation)mutation;

	const int error = make_plan(options, p);

	if (error != 0) {
		kv_dispose(p);
		return error;
	}
	*ret_plan = p;
	return 0;
}

void kv_dispose(void *plan)
{
	struct kv_plan *const p = plan;

	if (p) {
		free(p->keys);
		free(p->kinds);
		free(p->key_ids);
		free(p->headers);
		free(p->by_key);
		free(p->index);
		free(p->changes);
		free(p->seen);
		free(p);
	}
}

int kv_pool(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct kv_plan *const p = plan;

	assert(p->heap_bytes % NVW_POOL_CHUNK_BYTES == 0);
	*ret_params = (struct nvw_pool_params){
		.heap_bytes = p->heap_bytes,
		.streams = 1,
		.log_entries = 1,
		.layout = "kv",
	};
	return 0;
}
