/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the check states of steal-log, of one task or log record at a time (nvw_parts). check.c calls every
 * part on a recovered pool.
 *
 *	shape		the root words name the tasks and the logs of the plan
 *	record (g, i)	names a task of the plan and its own place; no record before it names the same task;
 *			the task exists, the result matches its input, and its child exists if it has one
 *	task t		has a state that some operation writes; if it exists, it is planned and its input is
 *			whole; if its completion is acknowledged, a record names it
 *
 * Recovery (view.c) withdraws a claim unless the record that it names is the task's. So a claim that is left
 * names a record of the task, as check.c states; that it is the only one, its record's part says. A task's
 * input is compared with the plan's, or without a plan with the result from which it was made.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "check.h"
#include "common/roots.h"

enum { HOLDERS_MAX = 64 };

static uint64_t count(const void *plan, const struct nvw_pool_geometry *g)
{
	const struct steal_plan *const p = plan;

	return 1 + steal_task_count(&p->tree) + p->groups * p->count;
}

/* A record is found by its task. */
static uint64_t key(const void *plan, uint64_t word)
{
	const struct steal_plan *const p = plan;

	return word >> 32 <= steal_task_count(&p->tree) ? word >> 32 : 0;
}

/* The number of the record whose head is at off, counted over all logs; UINT64_MAX: none is there. */
static uint64_t record_at(const struct steal_view *v, nvw_off off)
{
	const uint64_t item = steal_item_bytes(v->words), number = (off - v->logs) / item;

	if (off >= v->logs && (off - v->logs) % item == 0 && number < v->groups * v->records) {
		return number;
	}
	return UINT64_MAX;
}

/* The first record of the task, 0: none lies before this place. */
static nvw_off record_of(const struct steal_case *c, uint64_t task, nvw_off before)
{
	nvw_off off[HOLDERS_MAX];

	if (c->records) {
		return c->records[task] < before ? c->records[task] : 0;
	}
	const unsigned holders = nvw_pool_holders(c->v.pool, task + 1, off, HOLDERS_MAX);

	for (unsigned i = 0; i < holders && i < HOLDERS_MAX && off[i] < before; i++) {
		const uint64_t number = record_at(&c->v, off[i]);

		if (number != UINT64_MAX &&
			nvw_pool_word(c->v.pool, off[i]) == steal_head(task, number % c->v.records)) {
			return off[i];
		}
	}
	return 0;
}

static nvw_off off_of(const struct steal_case *c, uint64_t task)
{
	return steal_task(c->v.tasks, c->v.words, task);
}

static uint64_t state_of(const struct steal_case *c, uint64_t task)
{
	return nvw_pool_word(c->v.pool, off_of(c, task));
}

/* The words of the input or result at off. NULL: a part looks at one after the other, up to the first that
 * is wrong. */
static const uint64_t *words_at(const struct steal_case *c, nvw_off off)
{
	return c->records ? nvw_pool_at(c->v.pool, off + 8, 8 * c->v.words) : NULL;
}

static uint64_t word_of(const struct steal_case *c, nvw_off off, const uint64_t *words, uint64_t i)
{
	return words ? words[i] : nvw_pool_word(c->v.pool, off + 8 * (1 + i));
}

static bool is_planned(const struct steal_case *c, uint64_t task)
{
	return !c->plan || c->plan->exists[task];
}

/* ---- The parts ------------------------------------------------------------------------------------ */

static bool is_as_planned(const struct steal_case *c)
{
	const struct steal_plan *const p = c->plan;

	return !p || (c->v.tree.roots == p->tree.roots && c->v.tree.depth == p->tree.depth &&
			     c->v.tree.spawn == p->tree.spawn && c->v.words == p->words &&
			     c->v.groups == p->groups && c->v.records == p->count);
}

static int check_shape(const struct steal_case *c)
{
	if (c->v.tasks == 0 && c->acks && nvw_acked_count(c->acks) != 0) {
		return nvw_violation(c->findings, 0, "the tasks are lost: operations were acknowledged");
	}
	if (c->v.tasks != 0 && !is_as_planned(c)) {
		return nvw_violation(c->findings, 0, "the tasks have another shape than planned");
	}
	return 0;
}

/* (2): the result matches the task's planned input, or without a plan the input in the pool. */
static bool is_result(const struct steal_case *c, nvw_off off, uint64_t task)
{
	const uint64_t *const words = words_at(c, off);

	NVW_FOR(i, c->v.words) {
		const uint64_t input = c->plan ? c->plan->inputs[task * c->v.words + i] :
						 word_of(c, off_of(c, task), NULL, i);

		if (word_of(c, off, words, i) != steal_result(task, input, i)) {
			return false;
		}
	}
	return true;
}

static int check_complete(const struct steal_case *c, nvw_off off, uint64_t group, uint64_t task)
{
	const uint64_t child = task + c->v.tree.roots;

	if (state_of(c, task) == STEAL_ABSENT) {
		return nvw_violation(c->findings, off,
			"work-group %" PRIu64 " has a result of task %" PRIu64 ", which does not exist",
			group, task);
	}
	if (!is_result(c, off, task)) {
		return nvw_violation(c->findings, off,
			"the result of task %" PRIu64 " in the log of work-group %" PRIu64
			" does not match its input",
			task, group);
	}
	if (steal_has_child(c->v.tree, task, word_of(c, off, NULL, 0)) &&
		state_of(c, child) == STEAL_ABSENT) {
		return nvw_violation(c->findings, off,
			"task %" PRIu64 " is complete, but its child %" PRIu64 " does not exist", task,
			child);
	}
	return 0;
}

/* Record number counts over all logs. */
static int check_record(const struct steal_case *c, uint64_t number)
{
	const nvw_off off = steal_record(c->v.logs, c->v.words, c->v.records, 0, number);
	const uint64_t head = nvw_pool_word(c->v.pool, off), task = steal_head_task(head);
	int twice = 0;

	if (head == 0) {
		return 0;
	}
	const uint64_t group = number / c->v.records, i = number % c->v.records;

	if (task >= steal_task_count(&c->v.tree) || head != steal_head(task, i) || !is_planned(c, task)) {
		return nvw_violation(c->findings, off,
			"record %" PRIu64 " of work-group %" PRIu64 " begins with 0x%016" PRIx64
			", which no operation writes there",
			i, group, head);
	}
	if (record_of(c, task, off) != 0) {
		twice = nvw_violation(c->findings, off,
			"task %" PRIu64 " has two results, the second in the log of work-group %" PRIu64,
			task, group);
	}
	NVW_TRY(check_complete(c, off, group, task));
	return twice;
}

/* (3): without a plan a root's input may be anything, and a child's if its parent has no result. */
static bool is_input(const struct steal_case *c, uint64_t task)
{
	const nvw_off off = off_of(c, task);
	const uint64_t *const words = words_at(c, off);
	const nvw_off made =
		!c->plan && task >= c->v.tree.roots ? record_of(c, task - c->v.tree.roots, UINT64_MAX) : 0;

	NVW_FOR(i, c->v.words) {
		const uint64_t word = word_of(c, off, words, i);

		if (c->plan && word != c->plan->inputs[task * c->v.words + i]) {
			return false;
		}
		if (made != 0 && word != steal_child_input(word_of(c, made, NULL, i))) {
			return false;
		}
	}
	return true;
}

static int check_state(const struct steal_case *c, uint64_t task)
{
	const nvw_off off = off_of(c, task);
	const uint64_t state = nvw_pool_word(c->v.pool, off);

	if (state == STEAL_ABSENT) {
		if (task >= c->v.tree.roots) {
			return 0;
		}
		return nvw_violation(
			c->findings, off, "task %" PRIu64 " is lost: it existed from the beginning", task);
	}
	if (state != STEAL_PRESENT && (state & 15) != STEAL_CLAIMED) {
		return nvw_violation(c->findings, off,
			"task %" PRIu64 " has state 0x%016" PRIx64 ", which no operation writes", task,
			state);
	}
	if (!is_planned(c, task)) {
		return nvw_violation(
			c->findings, off, "task %" PRIu64 " exists, but no task creates it", task);
	}
	if (!is_input(c, task)) {
		return nvw_violation(c->findings, off,
			"task %" PRIu64 " exists, but its input is torn or not durable", task);
	}
	return 0;
}

static int check_task(const struct steal_case *c, uint64_t task)
{
	const int error = check_state(c, task);

	if (c->acks && nvw_acked(c->acks, task) && record_of(c, task, UINT64_MAX) == 0) {
		return nvw_violation(c->findings, off_of(c, task),
			"the result of task %" PRIu64 " is lost: it was acknowledged", task);
	}
	return error;
}

int steal_check_part(const struct steal_case *c, uint64_t part)
{
	const uint64_t tasks = steal_task_count(&c->v.tree);

	if (part == 0) {
		return check_shape(c);
	}
	part--;
	if (part < tasks) {
		return check_task(c, part);
	}
	part -= tasks;
	return check_record(c, part);
}

static int check(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	struct steal_case c = {.plan = plan, .acks = acks, .findings = findings};

	if (steal_view_open((struct nvw_pool *)(uintptr_t)pool, &c.v) != 0) {
		return roots_refused(pool, part, findings);
	}
	if (part > 0 && (c.v.tasks == 0 || !is_as_planned(&c))) {
		return 0; /* part 0 says so */
	}
	return steal_check_part(&c, part);
}

static void name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	const struct steal_plan *const p = plan;

	assert(part < count(p, NULL));
	if (part == 0) {
		snprintf(ret_name, bytes, "the tasks' shape");
	} else if (part - 1 < steal_task_count(&p->tree)) {
		snprintf(ret_name, bytes, "task %" PRIu64, part - 1);
	} else {
		part -= 1 + steal_task_count(&p->tree);
		snprintf(ret_name, bytes, "record %" PRIu64 " of work-group %" PRIu64, part % p->count,
			part / p->count);
	}
}

const struct nvw_parts steal_parts = {.count = count, .check = check, .key = key, .name = name};
