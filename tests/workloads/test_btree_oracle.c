/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of the B+tree: a tree that the machine has left is whole, and whatever is broken in it is
 * noticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/test.h"

#include <config/config.h>
#include <emu.h>

#include "check/check.h"
#include "common/options.h"
#include "pool/layout.h"

#include "workloads/btree/plan.h"

extern const struct nvw_workload nvw_workload_btree;

/* A tree with every operation acknowledged, in a pool whose changes stay in this process. */
static struct tree {
	void *plan;
	struct nvw_pool *pool;
	struct nvw_acks acks;
	const char *path;
} tree;

static void make_tree(const char *op)
{
	struct nvw_pool_params params = {0};
	struct nvw_machine *machine;
	struct emu_config config;

	memset(&tree, 0, sizeof tree);
	assert_ok(prepare_with(
		&nvw_workload_btree, formatted("count=60 preload=60 batch=20 op=%s", op), 1, -1, &tree.plan));
	tree.path = test_pool();
	assert_ok(nvw_workload_btree.pool(tree.plan, &params));
	assert_ok(nvw_pool_create(tree.path, &params, &tree.pool));
	emu_config_default(&config);
	assert_ok(emu_create(&config, tree.pool, NULL, &machine));
	assert_ok(nvw_workload_btree.setup(tree.plan, machine));
	assert_ok(nvw_workload_btree.run(tree.plan, machine));
	assert_ok(nvw_persist(machine));
	emu_destroy(machine);
	nvw_pool_close(tree.pool);
	assert_ok(nvw_pool_open(tree.path, NVW_POOL_PRIVATE, &tree.pool));
	assert_ok(nvw__acks_add(&tree.acks, 0, 60));
}

static void end_tree(void)
{
	nvw_pool_close(tree.pool);
	nvw__acks_free(&tree.acks);
	nvw_workload_btree.dispose(tree.plan);
	unlink(tree.path);
}

/* ---- Its nodes ------------------------------------------------------------------------------- */

static nvw_off root(void)
{
	return nvw_pool_word(tree.pool, nvw_pool_root_off(nvw_pool_geometry(tree.pool), 0));
}

static const struct btree_node *node_at(nvw_off off)
{
	return nvw_pool_at(tree.pool, off, 64);
}

static unsigned slots(void)
{
	return btree_slots(node_at(root())->info);
}

static nvw_off key_off(nvw_off node, unsigned i)
{
	return node + offsetof(struct btree_node, words) + 8 * btree_slot(node_at(node)->order, i);
}

static nvw_off value_off(nvw_off node, unsigned i)
{
	return key_off(node, i) + 8 * (nvw_off)slots();
}

static nvw_off first_of_level(unsigned level)
{
	nvw_off off = root();

	while (btree_level(node_at(off)->info) > level) {
		off = nvw_pool_word(tree.pool, value_off(off, 0));
	}
	return off;
}

static void set(nvw_off off, uint64_t value)
{
	assert_ok(nvw_pool_write_word(tree.pool, off, value));
}

/* ---- What is broken ---------------------------------------------------------------------------- */

static void forget_content(void)
{
	set(first_of_level(0) + offsetof(struct btree_node, info), 0);
}

static void raise_level(void)
{
	set(first_of_level(0) + offsetof(struct btree_node, info), btree_info(slots(), 1));
}

static void break_order(void)
{
	const nvw_off off = first_of_level(0);

	set(off, node_at(off)->order | 0xf0);
}

static void swap_keys(void)
{
	const nvw_off off = first_of_level(0);
	const uint64_t a = nvw_pool_word(tree.pool, key_off(off, 0)),
		       b = nvw_pool_word(tree.pool, key_off(off, 1));

	set(key_off(off, 0), b);
	set(key_off(off, 1), a);
}

static void end_chain(void)
{
	set(first_of_level(0) + offsetof(struct btree_node, next), 0);
}

static void lower_parent(void)
{
	const nvw_off off = first_of_level(1);

	set(key_off(off, 1), nvw_pool_word(tree.pool, key_off(off, 1)) - 1);
}

static void dangle(void)
{
	set(value_off(first_of_level(1), 0), first_of_level(0) + 64 * 1000);
}

/* The first free block beside a node is allocated, and no node. */
static void leak(void)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(tree.pool);
	const uint64_t chunk = (root() - g->chunks) / NVW_POOL_CHUNK_BYTES;
	uint32_t i = 0;

	while (nvw_pool_word(tree.pool, nvw__block_word_off(nvw__chunk_off(g, chunk), i)) != 0) {
		i++;
	}
	const nvw_off word = nvw__block_word_off(nvw__chunk_off(g, chunk), i);

	set(word, nvw_seal(word, nvw__block_payload(NVW__BLOCK_ALLOCATED, 0, 0)));
}

static void lose_key(void)
{
	const nvw_off off = first_of_level(0);

	set(off, btree_order_remove(node_at(off)->order, 0));
}

static void tear_value(void)
{
	set(value_off(first_of_level(0), 0), 12345);
}

/* As it was loaded, for every key: some of them were updated since. */
static void take_updates_back(void)
{
	for (nvw_off off = first_of_level(0); off; off = node_at(off)->next) {
		NVW_FOR(i, btree_count(node_at(off)->order)) {
			set(value_off(off, i),
				btree_value_of_load(nvw_pool_word(tree.pool, key_off(off, i))));
		}
	}
}

/* ---- Tests -------------------------------------------------------------------------------------- */

static void expect(const char *op, void (*damage)(void), const char *part)
{
	struct nvw_findings findings = {0};

	make_tree(op);
	if (nvw_workload_btree.check(tree.plan, tree.pool, &tree.acks, &findings) != 0) {
		fail_msg("a whole tree: %s", findings.finding[0].text);
	}
	damage();
	assert_int_equal(
		nvw_workload_btree.check(tree.plan, tree.pool, &tree.acks, &findings), NVW_E_INCONSISTENT);
	assert_has(findings.finding[0].text, part);
	end_tree();
}

TEST(a_node_whose_content_is_not_durable_is_noticed)
{
	expect("insert", forget_content, "is not of level 0: its content is not durable");
	expect("insert", raise_level, "is not of level 0: its content is not durable");
	expect("insert", break_order, "has a broken order word");
}

TEST(keys_out_of_order_are_noticed)
{
	expect("insert", swap_keys, "is out of order");
}

TEST(a_broken_chain_is_noticed)
{
	expect("insert", end_chain, "ends at");
	expect("insert", lower_parent, "as its first key, not");
}

TEST(dangling_and_leaked_blocks_are_noticed)
{
	expect("insert", dangle, "allocated block");
	expect("insert", leak, "blocks are allocated, the tree has");
}

TEST(a_lost_key_is_noticed)
{
	expect("insert", lose_key, "is lost");
}

TEST(a_value_that_is_torn_or_older_than_an_acknowledgement_is_noticed)
{
	expect("insert", tear_value, "holds 0x3039");
	expect("update", take_updates_back, "which is older than operation");
}
