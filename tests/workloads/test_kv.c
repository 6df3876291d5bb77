/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kv on the ideal machine (ideal.h): the kernels do what they say in any interleaving, every state that
 * memory passes through recovers, and the oracle notices what it must.
 */
#include "common/test.h"

#include <string.h>

#include "subject.h"
#include "workloads/kv/kernel.h"
#include "workloads/kv/plan.h"
#include "workloads/kv/view.h"

extern const struct nvw_workload nvw_workload_kv;

/* Runs a plan; with every != 0, the power is cut after every so many stores. The counts are left of it. */
static struct subject run(const char *given, uint64_t seed, int mutation, uint64_t every)
{
	struct subject s = subject_begin(&nvw_workload_kv, given, seed, mutation, 4 << 20);

	subject_run(&s, mutation, every);
	subject_end(&s);
	return s;
}

TEST(puts_gets_and_deletes_agree_in_any_interleaving)
{
	static const char *const scopes[] = {"workitem", "workgroup", "kernel"};

	for (unsigned seed = 1; seed <= 12; seed++) {
		run(formatted("count=600 preload=100 records=60 mix=put=50,get=30,delete=20 "
			      "batch=200 group-size=32 scope=%s value-size=%s",
			    scopes[seed % 3], seed % 3 ? "64B" : "13B"),
			seed, KV_UNMUTATED, 0);
	}
}

TEST(same_new_key_from_all_work_items_takes_one_slot)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		run("count=256 records=3 group-size=64", seed, KV_UNMUTATED, 0);
	}
}

TEST(the_table_grows_and_keeps_every_key)
{
	struct subject s = subject_begin(&nvw_workload_kv,
		"count=2000 keys=sequential batch=500 slots=16 group-size=64", 1, KV_UNMUTATED, 4 << 20);
	const struct kv_plan *const p = s.plan;

	subject_run(&s, KV_UNMUTATED, 0);
	assert_int_equal(p->live, 2000);
	assert_int_equal(p->used, 2000);
	assert_true(p->growths >= 3);
	subject_end(&s);
}

TEST(every_state_of_memory_recovers)
{
	uint64_t states = 0;

	for (unsigned seed = 1; seed <= 6; seed++) {
		states += run(formatted("count=90 preload=20 records=30 mix=put=60,get=10,delete=30 "
					"batch=40 group-size=16 slots=16 scope=%s",
				      seed % 2 ? "workitem" : "workgroup"),
			seed, KV_UNMUTATED, 7)
				  .states;
	}
	assert_true(states > 400);
}

TEST(ycsb_mixes_run)
{
	for (const char *mix = "abcdef"; *mix != 0; mix++) {
		run(formatted("ycsb=%c count=300 preload=200 group-size=50", *mix), 3, KV_UNMUTATED, 0);
	}
}

/* Mutations that even strict persistency exposes; the others need reordered persists. */
TEST(bugs_that_need_no_reordering_are_found)
{
	static const enum kv_mutation bugs[] = {KV_UPDATE_IN_PLACE, KV_SPLIT_PUBLISH, KV_FREE_TABLE_FIRST};

	NVW_FOR(i, NVW_COUNT(bugs)) {
		const struct subject s = run("count=60 records=20 batch=20 slots=16", 1, (int)bugs[i], 3);

		if (s.inconsistent == 0) {
			fail_msg("%s was not found in %lu states", kv_mutations[bugs[i]].name, s.states);
		}
	}
}

/* ---- The oracle ----------------------------------------------------------------------------------- */

/* A small plan that has run, and a copy of its pool. */
static struct nvw_pool *begin_with_copy(const char *given, struct subject *ret, struct kv_view *ret_view)
{
	struct nvw_pool *copy;

	*ret = subject_begin(&nvw_workload_kv, given, 1, KV_UNMUTATED, 1 << 20);
	assert_ok(kv_setup(ret->plan, ret->machine));
	assert_ok(kv_run(ret->plan, ret->machine));
	copy = ideal_pool_copy();
	assert_ok(kv_view_open(copy, ret_view));
	return copy;
}

/* Lets damage() change a copy of the pool and expects the oracle's words. */
static void expect_violation_of(
	const char *given, void (*damage)(struct nvw_pool *pool, struct kv_view *v), const char *part)
{
	struct subject s;
	struct kv_view v;
	struct nvw_pool *const copy = begin_with_copy(given, &s, &v);
	const char *why;

	assert_ok(kv_check(s.plan, copy, ideal_acks(), ideal_findings()));
	ideal_violations(&why);
	damage(copy, &v);
	assert_int_equal(kv_check(s.plan, copy, ideal_acks(), ideal_findings()), NVW_E_INCONSISTENT);
	ideal_violations(&why);
	assert_has(why, part);
	ideal_pool_free(copy);
	subject_end(&s);
}

static void expect_violation(void (*damage)(struct nvw_pool *pool, struct kv_view *v), const char *part)
{
	expect_violation_of("count=8 keys=sequential", damage, part);
}

/* The first live slot. */
static uint64_t *live_slot(struct nvw_pool *pool, struct kv_view *v)
{
	uint64_t i = 0;

	while (kv_slot_entry(v->words[i]) == 0) {
		i++;
	}
	return subject_words(pool, v->table.slots) + i;
}

static void lose_slot(struct nvw_pool *pool, struct kv_view *v)
{
	const nvw_off entry = kv_slot_entry(*live_slot(pool, v));
	struct nvw_recovery report = {0};

	*live_slot(pool, v) = 0;
	assert_ok(kv_recover(pool, &report));
	assert_int_equal(report.blocks_freed, 1);
	assert_true(entry != 0);
}

static void delete_slot(struct nvw_pool *pool, struct kv_view *v)
{
	*live_slot(pool, v) |= KV_DELETED;
}

static void tear_value(struct nvw_pool *pool, struct kv_view *v)
{
	subject_words(pool, kv_slot_entry(*live_slot(pool, v)))[5] = 0;
}

static void lose_header(struct nvw_pool *pool, struct kv_view *v)
{
	subject_words(pool, kv_slot_entry(*live_slot(pool, v)))[1] = 0;
}

static void wrong_fingerprint(struct nvw_pool *pool, struct kv_view *v)
{
	*live_slot(pool, v) ^= UINT64_C(1) << 50;
}

static void dangling_slot(struct nvw_pool *pool, struct kv_view *v)
{
	*live_slot(pool, v) += 64;
}

static void second_slot(struct nvw_pool *pool, struct kv_view *v)
{
	uint64_t *slot = live_slot(pool, v);
	const uint64_t word = *slot;

	while (*slot != 0) {
		slot++;
	}
	*slot = word;
}

static void unplanned_key(struct nvw_pool *pool, struct kv_view *v)
{
	uint64_t *const slot = live_slot(pool, v);
	uint64_t *const entry = subject_words(pool, kv_slot_entry(*slot));
	const uint64_t key = 12345678, base = kv_value_base(1, key, 0);
	const uint64_t word = kv_slot_word(kv_hash(key), kv_slot_entry(*slot));
	uint64_t i = kv_home(v->table, kv_hash(key));

	entry[0] = key;
	NVW_FOR(w, 8) {
		entry[2 + w] = kv_value_word(base, w, 64);
	}
	entry[1] = kv_value_header(base, key, 64);
	*slot = KV_FILLER;
	while (v->words[i] != 0) {
		i = kv_next_slot(v->table, i);
	}
	subject_words(pool, v->table.slots)[i] = word;
}

/* The last byte of a value of KV_VALUE_MAX bytes. */
static void tear_end_of_value(struct nvw_pool *pool, struct kv_view *v)
{
	const nvw_off entry = kv_slot_entry(*live_slot(pool, v));

	ideal_pool_bytes(pool)[entry + kv_entry_bytes(KV_VALUE_MAX) - 1] ^= 1;
}

/* What the first of two puts of this key wrote; word for word, and whole. */
static void older_value(struct nvw_pool *pool, struct kv_view *v)
{
	uint64_t *const entry = subject_words(pool, kv_slot_entry(*live_slot(pool, v)));
	const uint64_t base = kv_value_base(1, entry[0], 0);

	NVW_FOR(w, 8) {
		entry[2 + w] = kv_value_word(base, w, 64);
	}
	entry[1] = kv_value_header(base, entry[0], 64);
}

/* The deleted key's slot, as it was before. */
static void undelete(struct nvw_pool *pool, struct kv_view *v)
{
	assert_true(*live_slot(pool, v) & KV_DELETED);
	*live_slot(pool, v) &= ~KV_DELETED;
}

/* The heap's last 64 bytes become a block that no slot names. */
static void leak_block(struct nvw_pool *pool, struct kv_view *v)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	uint64_t *const words = subject_words(pool, g->chunk_table);

	words[(g->bytes - g->chunks) / 64 - 1] = 64;
}

/* The key's slot moves on by one or two and leaves its home empty. */
static void move_slot(struct nvw_pool *pool, struct kv_view *v, unsigned by)
{
	uint64_t *const words = subject_words(pool, v->table.slots);
	uint64_t i = 0, to;

	for (;; i++) {
		const nvw_off entry = kv_slot_entry(words[i]);
		const uint64_t *const key = nvw_pool_at(pool, entry, 8);

		to = kv_next_slot(v->table, i);
		to = by == 1 ? to : kv_next_slot(v->table, to);
		if (entry != 0 && kv_home(v->table, kv_hash(*key)) == i &&
			words[kv_next_slot(v->table, i)] == 0 && words[to] == 0) {
			break;
		}
	}
	words[to] = words[i];
	words[i] = 0;
}

static void leave_home_empty(struct nvw_pool *pool, struct kv_view *v)
{
	move_slot(pool, v, 1);
}

static void strange_root(struct nvw_pool *pool, struct kv_view *v)
{
	struct nvw_recovery report = {0};

	assert_ok(nvw_pool_write_word(
		pool, nvw_pool_root_off(nvw_pool_geometry(pool), KV_ROOT), v->table.slots + 64 + 8));
	assert_int_equal(kv_recover(pool, &report), NVW_E_DAMAGED);
}

TEST(a_lost_acknowledged_put_is_noticed)
{
	expect_violation(lose_slot, "is lost");
}

TEST(a_deleted_key_that_nobody_deleted_is_noticed)
{
	expect_violation(delete_slot, "is lost");
}

TEST(a_torn_value_is_noticed)
{
	expect_violation(tear_value, "its value is torn or not durable");
	expect_violation(lose_header, "header is not durable");
}

TEST(a_large_value_that_is_torn_at_its_end_is_noticed)
{
	expect_violation_of("count=4 keys=sequential value-size=4096B", tear_end_of_value,
		"its value is torn or not durable");
}

TEST(a_key_with_several_changes_is_noticed_when_it_is_lost)
{
	expect_violation_of("count=6 records=1 batch=1", lose_slot, "is lost: operation 5");
	expect_violation_of("count=6 records=1 batch=1", delete_slot, "is lost: operation 5");
}

TEST(a_value_that_was_replaced_is_noticed)
{
	expect_violation_of("count=2 records=1 batch=1", older_value,
		"holds a replaced value or one that was never put: operation 1");
}

TEST(a_deleted_key_that_is_back_is_noticed)
{
	expect_violation_of(
		"count=2 preload=1 records=1 batch=1 mix=delete=100", undelete, "holds a replaced value");
}

TEST(a_block_in_no_slot_is_noticed)
{
	expect_violation(leak_block, "10 blocks and extents are allocated, but the table refers to 9");
}

TEST(a_key_behind_an_empty_slot_is_noticed)
{
	expect_violation(leave_home_empty, "between its home slot and its actual slot is empty");
}

TEST(recovery_fills_every_hole_in_a_probe_path)
{
	struct subject s;
	struct kv_view v;
	struct nvw_pool *const copy = begin_with_copy("count=8 keys=sequential", &s, &v);
	struct nvw_recovery report = {0};

	move_slot(copy, &v, 2);
	assert_ok(kv_recover(copy, &report));
	assert_int_equal(report.structure_repairs, 2);
	assert_ok(kv_check(s.plan, copy, ideal_acks(), ideal_findings()));
	ideal_pool_free(copy);
	subject_end(&s);
}

TEST(a_wrong_fingerprint_is_noticed)
{
	expect_violation(wrong_fingerprint, "fingerprint of slot");
}

TEST(a_slot_without_block_is_noticed)
{
	expect_violation(dangling_slot, "not an allocated block");
}

TEST(two_slots_of_one_key_are_noticed)
{
	expect_violation(second_slot, "has two slots");
}

TEST(a_key_from_nowhere_is_noticed)
{
	expect_violation(unplanned_key, "was never put");
}

TEST(a_root_that_names_no_table_is_damage)
{
	expect_violation(strange_root, "expected an allocated table");
}

/* ---- Options -------------------------------------------------------------------------------------- */

TEST(bad_options_are_refused)
{
	static const struct subject_refusal bad[] = {
		{"value-size=0B", "--value-size: expected 1 to 4096"},
		{"value-size=4097B", "--value-size: expected 1 to 4096"},
		{"batch=0", "--batch"},
		{"group-size=0", "--group-size"},
		{"slots=99999999999", "--slots"},
		{"mix=puts", "--mix: expected put, get, delete"},
		{"mix=put=50,get=49", "that make 100, found 99"},
		{"mix=", "--mix: expected"},
		{"mix=put=50,", "--mix: expected"},
		{"count=99999999999", "at most"},
	};
	static const struct subject_refusal no_files[] = {
		{"keys=zipfan", "expected uniform, sequential, zipfian or a file"},
		{"ycsb=g", "g: No such file"},
	};

	subject_expect_refusals(&nvw_workload_kv, NVW_E_USAGE, bad);
	subject_expect_refusals(&nvw_workload_kv, NVW_E_INPUT, no_files);
}

TEST(plans_are_the_same_for_the_same_seed)
{
	const char *const given = "count=500 mix=put=50,delete=50 preload=50";
	struct kv_plan *const a = subject_prepare(&nvw_workload_kv, given, 7, KV_UNMUTATED);
	struct kv_plan *const b = subject_prepare(&nvw_workload_kv, given, 7, KV_UNMUTATED);
	struct kv_plan *const c = subject_prepare(&nvw_workload_kv, given, 8, KV_UNMUTATED);

	assert_memory_equal(a->keys, b->keys, 550 * sizeof(*a->keys));
	assert_memory_equal(a->kinds, b->kinds, 550 * sizeof(*a->kinds));
	assert_memory_not_equal(a->keys, c->keys, 550 * sizeof(*a->keys));
	kv_dispose(a);
	kv_dispose(b);
	kv_dispose(c);
}
