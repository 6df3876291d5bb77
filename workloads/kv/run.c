/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host side of a kv run: one batch after another, with a rebuild before any batch that could overfill the
 * table.
 *
 * A rebuild is crash-consistent by its order: the new extent is allocated (recovery sweeps it if nothing
 * refers to it), filled, made durable, named by the root word in one store, and that store is made durable;
 * only then is the old extent freed.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/bounds.h"
#include "common/figures.h"
#include "steps.h"
#include "view.h"

/* State of a run on the host and on the device. */
struct run {
	struct kv_plan *plan;
	struct nvw_machine *machine;
	struct nvw_pmem pmem;
	struct kv_counters *counters; /* device memory, like the four below */
	uint64_t *keys;
	uint32_t *kinds;
	uint64_t *results;
	nvw_off *blocks;
	uint64_t *host_results;
};

static int start_run(struct run *r, struct kv_plan *plan, struct nvw_machine *machine)
{
	assert(plan->batch > 0);
	*r = (struct run){.plan = plan, .machine = machine};

	NVW_TRY(nvw_pmem_attach(machine, &r->pmem));
	r->pmem.readers = plan->readers;

	const uint64_t n =
		plan->batch < plan->preload + plan->count ? plan->batch : plan->preload + plan->count + 1;

	r->counters = nvw_alloc(machine, sizeof(*r->counters));
	r->keys = nvw_alloc(machine, n * sizeof(*r->keys));
	r->kinds = nvw_alloc(machine, n * sizeof(*r->kinds));
	r->results = nvw_alloc(machine, n * sizeof(*r->results));
	r->blocks = nvw_alloc(machine, n * sizeof(*r->blocks));
	r->host_results = calloc(n, sizeof(*r->host_results));
	if (!r->counters || !r->keys || !r->kinds || !r->results || !r->blocks || !r->host_results) {
		free(r->host_results);
		return nvw_fail(NVW_E_MEMORY, "kv: no memory for batches of %" PRIu64 " operations", n);
	}

	const struct kv_counters counters = {plan->used, plan->live};

	return nvw_write(machine, r->counters, &counters, sizeof(counters));
}

static uint64_t *root(const struct run *r)
{
	return nvw_at(&r->pmem, uint64_t, nvw_pool_root_off(&r->pmem.geometry, KV_ROOT));
}

/* ---- Rebuild -------------------------------------------------------------------------------------- */

static int launch_rebuild(const struct run *r, struct kv_table to)
{
	const uint64_t slots = kv_slot_count(r->plan->table);
	const uint64_t resident = nvw_resident_work_items(r->machine);
	const uint64_t group = r->plan->group_size;
	const uint64_t wanted = u64_min(slots, resident);
	/* At most as many work-groups as are resident at once, so that none is switched out at the
	 * kernel-wide barriers. */
	const uint64_t groups = u64_max(1, wanted / group);
	const struct kv_rebuild_args args = {
		.pmem = r->pmem,
		.from = r->plan->table,
		.to = to,
		.work_items = groups * group,
		.replaced = kv_replaced(r->plan->mutation),
	};

	assert(to.slots != r->plan->table.slots);
	return nvw_launch(r->machine, "kv_rebuild", kv_rebuild, &args, args.work_items, r->plan->group_size);
}

static int rebuild_table(struct run *r, unsigned log2_slots)
{
	struct kv_plan *const p = r->plan;
	const bool is_free_first = p->mutation == KV_FREE_TABLE_FIRST;
	struct kv_table to = {.log2_slots = log2_slots};
	NVW_TRY(nvw_heap_alloc_extent(r->machine, &r->pmem, 8 * kv_slot_count(to), &to.slots));
	if (is_free_first) {
		NVW_TRY(nvw_heap_free_extent(r->machine, &r->pmem, p->table.slots));
	}
	NVW_TRY(launch_rebuild(r, to));
	/* The switch must be durable before the old table is freed, and before any operation on the new one
	 * is acknowledged. */
	NVW_TRY(nvw_persist(r->machine));
	if (!is_free_first) {
		NVW_TRY(nvw_heap_free_extent(r->machine, &r->pmem, p->table.slots));
	}
	p->table = to;
	p->used = p->live;
	p->growths++;

	assert(log2_slots >= KV_LOG2_SLOTS_MIN);
	const struct kv_counters counters = {p->used, p->live};

	return nvw_write(r->machine, r->counters, &counters, sizeof(counters));
}

/* ---- Checking results ------------------------------------------------------------------------------- */

/*
 * Whether a get in this batch may have returned result. The changes of the last earlier batch that touched
 * the key are concurrent, so any of them may have been the last; those of the get's own batch may precede it.
 */
static bool may_see(struct kv_plan *p, uint64_t op, uint64_t result)
{
	const struct kv_key *const k = &p->by_key[p->key_ids[op]];
	const uint64_t batch = kv_batch_of(p, op);
	uint64_t last = UINT64_MAX; /* the last earlier batch */

	assert(p->key_ids[op] < p->key_count);
	for (uint32_t i = k->count; i > 0; i--) {
		const uint64_t change = p->changes[k->first + i - 1];
		const uint64_t its = kv_batch_of(p, change);

		if (its > batch) {
			continue;
		}
		if (its < batch) {
			if (last != UINT64_MAX && its != last) {
				return false;
			}
			last = its;
		}
		if (result == ((p->kinds[change] & KV_PUT) != 0 ? kv_header_of(p, change) : KV_RESULT_NONE)) {
			return true;
		}
	}
	return last == UINT64_MAX && result == KV_RESULT_NONE;
}

static int judge_room(uint64_t op, uint64_t result)
{
	NVW_FAIL_IF(result == KV_RESULT_NO_BLOCK || result == KV_RESULT_NO_SLOT, NVW_E_FULL,
		"kv: operation %" PRIu64 " found no %s left", op,
		result == KV_RESULT_NO_SLOT ? "slot" : "block");
	return 0;
}

static int judge_result(struct kv_plan *p, uint64_t op, uint64_t result)
{
	const bool is_get = (p->kinds[op] & KV_GET) != 0;
	assert(op < p->preload + p->count);

	NVW_TRY(judge_room(op, result));
	if ((p->kinds[op] & KV_SCAN) != 0 && result != KV_RESULT_TORN) {
		p->scanned += result >> 16;
		return 0;
	}
	if (is_get && op >= p->preload) {
		p->gets_found += result != KV_RESULT_NONE;
		p->gets_absent += result == KV_RESULT_NONE;
	}
	/* A seeded bug may also show in gets; only the crash states count. */
	if (p->mutation != KV_UNMUTATED) {
		return 0;
	}
	NVW_FAIL_IF(result == KV_RESULT_TORN, NVW_E_INCONSISTENT,
		"kv: operation %" PRIu64 " read a torn value", op);
	NVW_FAIL_IF(is_get && !may_see(p, op, result), NVW_E_INCONSISTENT,
		"kv: operation %" PRIu64 " got a value of key %" PRIu64
		" that it cannot have seen (header %016" PRIx64 ")",
		op, p->keys[op], result);
	return 0;
}

static int judge_batch(struct run *r, uint64_t first, uint64_t count)
{
	assert(count <= r->plan->batch);
	NVW_TRY(nvw_read(r->machine, r->host_results, r->results, count * sizeof(*r->host_results)));
	NVW_FOR(i, count) {
		NVW_TRY(judge_result(r->plan, first + i, r->host_results[i]));
	}
	return 0;
}

/* ---- Batches -------------------------------------------------------------------------------------- */

static uint64_t count_puts(const struct kv_plan *p, uint64_t first, uint64_t count)
{
	uint64_t puts = 0;

	assert(first + count <= p->preload + p->count);
	for (uint64_t op = first; op < first + count; op++) {
		puts += (p->kinds[op] & KV_PUT) != 0;
	}
	return puts;
}

/* Provides room for the batch: in the table, and blocks for its puts. */
static int make_room(struct run *r, uint64_t puts)
{
	struct kv_plan *const p = r->plan;
	const unsigned log2_slots = kv_rebuild_log2(p->table, p->used, p->live, puts);
	if (log2_slots != 0) {
		NVW_TRY(rebuild_table(r, log2_slots));
	}
	if (puts == 0) {
		return 0;
	}
	return nvw_heap_provision(r->machine, &r->pmem, kv_entry_bytes(p->value_bytes), puts);
}

static int send_batch(struct run *r, uint64_t first, uint64_t count)
{
	const struct kv_plan *const p = r->plan;
	assert(count <= p->batch);
	NVW_TRY(nvw_write(r->machine, r->keys, p->keys + first, count * sizeof(*p->keys)));
	NVW_TRY(nvw_write(r->machine, r->kinds, p->kinds + first, count * sizeof(*p->kinds)));
	NVW_FOR(i, count) {
		r->host_results[i] = KV_RESULT_NONE;
	}
	return nvw_write(r->machine, r->results, r->host_results, count * sizeof(*r->host_results));
}

static int launch_batch(struct run *r, uint64_t first, uint64_t count)
{
	const struct kv_plan *const p = r->plan;
	const nvw_kernel kernel = p->scope == KV_SCOPE_WORKITEM ? kv_batch_workitem : kv_batch_together;
	const struct kv_batch_args args = {
		.pmem = r->pmem,
		.table = p->table,
		.counters = r->counters,
		.keys = r->keys,
		.kinds = r->kinds,
		.results = r->results,
		.blocks = r->blocks,
		.notes = p->notes,
		.first_op = first,
		.count = count,
		.seed = p->seed,
		.value_bytes = p->value_bytes,
		.scope = p->scope == KV_SCOPE_KERNEL ? NVW_KERNEL : NVW_WORKGROUP,
		.own_entries = p->writers == KV_WRITERS_OWN,
		.replaced = kv_replaced(p->mutation),
	};

	assert(count > 0);
	return nvw_launch(r->machine, first < p->preload ? "kv_preload" : "kv_batch", kernel, &args, count,
		p->group_size);
}

static int run_batch(struct run *r, uint64_t first, uint64_t count)
{
	struct kv_counters counters;

	NVW_TRY(make_room(r, count_puts(r->plan, first, count)));
	NVW_TRY(send_batch(r, first, count));
	NVW_TRY(launch_batch(r, first, count));
	NVW_TRY(judge_batch(r, first, count));
	NVW_TRY(nvw_read(r->machine, &counters, r->counters, sizeof(counters)));
	r->plan->used = counters.used;
	r->plan->live = counters.live;
	return 0;
}

static int run_operations(struct run *r, uint64_t first, uint64_t end)
{
	assert(end <= r->plan->preload + r->plan->count);
	while (first < end) {
		const uint64_t count = u64_min(end - first, r->plan->batch);

		NVW_TRY(run_batch(r, first, count));
		first += count;
	}
	return 0;
}

/* ---- After a crash -------------------------------------------------------------------------------- */

/* What the host of the crashed run knew. */
static int find_table(struct kv_plan *p, struct nvw_pool *pool)
{
	struct kv_view v;

	NVW_TRY(kv_view_open(pool, &v));
	p->table = v.table;
	kv_view_count(&v, &p->used, &p->live);
	return 0;
}

/* It chooses the first `most` of the batch's changes that are not acknowledged; the other operations are
 * none. */
static uint64_t choose(const struct kv_plan *p, const struct nvw_acks *acks, uint64_t first, uint64_t count,
	uint64_t most, uint32_t *kinds)
{
	uint64_t chosen = 0;

	NVW_FOR(i, count) {
		const uint32_t kind = p->kinds[first + i] & (KV_PUT | KV_DELETE);

		kinds[i] = kind != 0 && chosen < most && !nvw_acked(acks, first + i) ? kind : 0;
		chosen += kinds[i] != 0;
	}
	assert(chosen <= most);
	return chosen;
}

static int run_chosen(struct run *r, uint64_t first, uint64_t count, uint64_t chosen, const uint32_t *kinds)
{
	assert(chosen > 0 && chosen <= count);
	NVW_TRY(make_room(r, chosen));
	NVW_TRY(send_batch(r, first, count));
	NVW_TRY(nvw_write(r->machine, r->kinds, kinds, count * sizeof(*kinds)));
	NVW_TRY(launch_batch(r, first, count));
	NVW_TRY(nvw_read(r->machine, r->host_results, r->results, count * sizeof(*r->host_results)));
	NVW_FOR(i, count) {
		NVW_TRY(judge_room(first + i, r->host_results[i]));
	}
	return 0;
}

/* Operations of one batch are concurrent: those that are carried out again may follow any other. */
static int go_on(struct run *r, const struct nvw_acks *acks, uint64_t operations, uint32_t *kinds)
{
	const struct kv_plan *const p = r->plan;
	const uint64_t end = p->preload + p->count;

	for (uint64_t first = p->preload; first < end && operations > 0; first += p->batch) {
		const uint64_t count = u64_min(end - first, p->batch);
		const uint64_t chosen = choose(p, acks, first, count, operations, kinds);

		operations -= chosen;
		if (chosen > 0) {
			NVW_TRY(run_chosen(r, first, count, chosen, kinds));
		}
	}
	return 0;
}

/* ---- Hooks ---------------------------------------------------------------------------------------- */

/* Creates the first table: an extent of empty slots, then the root word. */
static int create_table(struct run *r)
{
	struct kv_table *const t = &r->plan->table;
	t->log2_slots = r->plan->log2_slots;
	NVW_TRY(nvw_heap_alloc_extent(r->machine, &r->pmem, 8 * kv_slot_count(*t), &t->slots));

	const uint64_t word = kv_root_word(*t);

	return nvw_write(r->machine, root(r), &word, sizeof(word));
}

int kv_setup(void *plan, struct nvw_machine *machine)
{
	struct kv_plan *const p = plan;
	const uint64_t mark = nvw_mark(machine);
	struct run r;

	p->used = p->live = p->growths = p->gets_found = p->gets_absent = p->scanned = 0;

	int error;

	NVW_TRY(start_run(&r, p, machine));
	error = create_table(&r);
	if (error == 0) {
		error = run_operations(&r, 0, p->preload);
	}
	if (error == 0) {
		error = nvw_persist(machine);
	}
	free(r.host_results);
	nvw_release(machine, mark);
	return error;
}

int kv_run(void *plan, struct nvw_machine *machine)
{
	struct kv_plan *const p = plan;
	struct run r;
	int error;

	NVW_TRY(start_run(&r, p, machine));
	error = run_operations(&r, p->preload, p->preload + p->count);
	if (error == 0) {
		error = nvw_persist(machine);
	}
	free(r.host_results);
	return error;
}

int kv_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations)
{
	struct kv_plan *const p = plan;
	uint32_t *kinds;
	struct run r;
	int error;

	NVW_TRY(find_table(p, nvw_machine_pool(machine)));
	NVW_TRY(start_run(&r, p, machine));
	kinds = malloc(p->batch * sizeof *kinds);
	if (kinds) {
		error = go_on(&r, acks, operations, kinds);
	} else {
		error = nvw_fail(NVW_E_MEMORY, "kv: no memory for a batch");
	}
	free(r.host_results);
	free(kinds);
	return error;
}

static uint64_t count_kind(const struct kv_plan *p, uint32_t kind)
{
	uint64_t n = 0;

	for (uint64_t op = p->preload; op < p->preload + p->count; op++) {
		n += (p->kinds[op] & 0xff) == kind;
	}
	return n;
}

int kv_report(void *plan, struct nvw_machine *machine, struct nvw_description *description)
{
	const struct kv_plan *const p = plan;
	const struct figure rows[] = {
		{"kv.operations", p->count, "count", "measured operations"},
		{"kv.puts", count_kind(p, KV_PUT), "count", "of these: put"},
		{"kv.gets", count_kind(p, KV_GET), "count", "of these: get"},
		{"kv.deletes", count_kind(p, KV_DELETE), "count", "of these: delete"},
		{"kv.read_modify_writes", count_kind(p, KV_GET | KV_PUT), "count", "of these: get and put"},
		{"kv.scans", count_kind(p, KV_SCAN), "count", "of these: gets of a run of records"},
		{"kv.gets_found", p->gets_found, "count", "gets that found their key"},
		{"kv.gets_absent", p->gets_absent, "count", "gets that did not"},
		{"kv.records_scanned", p->scanned, "count", "records that scans found"},
		{"kv.keys", p->live, "count", "keys present at the end"},
		{"kv.slots", kv_slot_count(p->table), "count", "slots of the table at the end"},
		{"kv.rebuilds", p->growths, "count", "rebuilds of the table, preload included"},
	};
	NVW_TRY(nvw_describe_real(description, "kv.load", (double)p->used / (double)kv_slot_count(p->table),
		"ratio", "slots taken at the end"));
	return FIGURES_DESCRIBE(description, rows);
}
