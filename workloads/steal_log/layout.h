/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of tasks and logs in a pool.
 *
 *	root word 0  offset of the tasks, 0: the pool is not set up
 *	root word 1  offset of the logs, one per work-group
 *	root word 2  roots | depth << 32 | spawn << 48
 *	root word 3  records of a log | words << 32 | work-groups << 48
 *
 * Tasks 0 to roots - 1 exist from the beginning. Task t has at most one child, t + roots; its result
 * determines whether it has one. A task is a state word and its input; record i of a log is a head, which
 * names the task and the record's own place, and the task's result. Input and result have the same number of
 * words.
 *
 * A task's state is PRESENT; if a work-group other than its creator took the task, the state is CLAIMED, with
 * the thief and the place of the result in its log. *A task is complete exactly if its record's head is
 * durable.*
 *
 * Guarantees after a crash at any point, once recovery has run
 *   (1) a task whose completion was acknowledged has its result in a log;
 *   (2) no task has two results, and every result is complete;
 *   (3) a present task has its whole input;
 *   (4) a complete task exists: its parent, executed again, finds it and does not create another;
 *   (5) the child of a complete task exists;
 *   (6) a task is CLAIMED only if it is complete: a continued run executes the tasks without a result.
 */
#ifndef WORKLOADS_STEAL_LOG_LAYOUT_H
#define WORKLOADS_STEAL_LOG_LAYOUT_H

#include <assert.h>

#include <nvw/pool.h>
#include <nvw/random.h>

enum { STEAL_TASKS, STEAL_LOGS, STEAL_TREE_SHAPE, STEAL_LOG_SHAPE }; /* root words */
enum { STEAL_WORDS_MAX = 63, STEAL_GROUPS_MAX = 4095, STEAL_TASKS_MAX = 1 << 20, STEAL_DEPTH_MAX = 1024 };

/* ---- Tasks ---------------------------------------------------------------------------------------- */

enum steal_phase { STEAL_ABSENT, STEAL_PRESENT, STEAL_CLAIMED };

/* phase: bits 0-3, work-group: 4-15, record: 16-47. */
static inline uint64_t steal_claim_word(uint64_t group, uint64_t record)
{
	assert(group <= STEAL_GROUPS_MAX && record <= UINT32_MAX);
	return STEAL_CLAIMED | group << 4 | record << 16;
}

static inline uint64_t steal_claim_group(uint64_t state)
{
	return state >> 4 & 0xfff;
}

static inline uint64_t steal_claim_record(uint64_t state)
{
	return state >> 16;
}

/* Size of a task or record: one word, then words more. Both begin on a line. */
static inline uint64_t steal_item_bytes(uint64_t words)
{
	return (8 * (1 + words) + 63) & ~UINT64_C(63);
}

/* Word i of the input of a root task. */
static inline uint64_t steal_root_input(uint64_t seed, uint64_t task, uint64_t i)
{
	return nvw_mix64(seed + task * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u);
}

static inline uint64_t steal_result(uint64_t task, uint64_t input, uint64_t i)
{
	return nvw_mix64(input ^ nvw_mix64(task + (i << 32)));
}

static inline uint64_t steal_child_input(uint64_t result)
{
	return nvw_mix64(result + 1);
}

/* The shape of the task tree. */
struct steal_tree {
	uint64_t roots, depth, spawn; /* spawn: percent of the tasks that have a child */
};

static inline uint64_t steal_task_count(const struct steal_tree *tree)
{
	return tree->roots * tree->depth;
}

/* first: word 0 of the task's result. */
static inline bool steal_has_child(struct steal_tree t, uint64_t task, uint64_t first)
{
	return first % 100 < t.spawn && task / t.roots + 1 < t.depth;
}

/* ---- Logs ----------------------------------------------------------------------------------------- */

/* Names the task and the record, so that neither a half-written nor a stray word passes for a head. */
static inline uint64_t steal_head(uint64_t task, uint64_t record)
{
	return (task + 1) << 32 | (record + 1);
}

static inline uint64_t steal_head_task(uint64_t head)
{
	return (head >> 32) - 1;
}

#endif
