/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The check of steal-log in parts (nvw_parts): what check.c finds, of one task or log record at a time.
 *
 *	shape		the root words name the tasks and the logs of the plan
 *	record (g, i)	names a task of the plan and its own place; no record before it names the same task; the task
 *			exists, the result matches its input, and its child exists if it has one
 *	task t		has a state that some operation writes; if it exists, it is planned and its input is whole; if its
 *			completion is acknowledged, a record names it
 *
 * Recovery (view.c) withdraws a claim unless the record that it names is the task's. So a claim that is left names a
 * record of the task; that it is the only one, its record's part says. A task's input is compared with the plan's, and
 * so is every result from which it was made; check.c compares the two with each other as well, which follows.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/roots.h"
#include "plan.h"

enum { HOLDERS_MAX = 64 };

struct part {
	struct steal_view v;
	const struct steal_plan *plan;
	const struct nvw_acks *acks;
	struct nvw_findings *findings;
};

static uint64_t task_count(const struct steal_plan *p)
{
	return p->tree.roots * p->tree.depth;
}

static uint64_t count(const void *plan, const struct nvw_pool_geometry *g)
{
	const struct steal_plan *const p = plan;

	(void)g;
	return 1 + task_count(p) + p->groups * p->count;
}

/* A record is found by its task. */
static uint64_t key(const void *plan, uint64_t word)
{
	return word >> 32 <= task_count(plan) ? word >> 32 : 0;
}

/* The number of the record whose head is at off, counted over all logs; UINT64_MAX: none is there. */
static uint64_t record_at(const struct part *p, nvw_off off)
{
	const uint64_t item = steal_item_bytes(p->v.words), number = (off - p->v.logs) / item;

	return off >= p->v.logs && (off - p->v.logs) % item == 0 && number < p->v.groups * p->v.records ?
		       number :
		       UINT64_MAX;
}

/* Is there a record of the task before this place? */
static bool has_record(const struct part *p, uint64_t task, nvw_off before)
{
	nvw_off off[HOLDERS_MAX];
	const unsigned holders = nvw_pool_holders(p->v.pool, task + 1, off, HOLDERS_MAX);

	for (unsigned i = 0; i < holders && i < HOLDERS_MAX && off[i] < before; i++) {
		const uint64_t number = record_at(p, off[i]);

		if (number != UINT64_MAX &&
			nvw_pool_word(p->v.pool, off[i]) == steal_head(task, number % p->v.records)) {
			return true;
		}
	}
	return false;
}

static uint64_t state_of(const struct part *p, uint64_t task)
{
	return nvw_pool_word(p->v.pool, steal_task(p->v.tasks, p->v.words, task));
}

/* ---- The parts ------------------------------------------------------------------------------------ */

static int check_shape(const struct part *p)
{
	if (p->v.tasks == 0) {
		return nvw_acked_count(p->acks) != 0 ?
			       nvw_violation(
				       p->findings, 0, "the tasks are lost: operations were acknowledged") :
			       0;
	}
	return p->v.tree.roots != p->plan->tree.roots || p->v.tree.depth != p->plan->tree.depth ||
			       p->v.tree.spawn != p->plan->tree.spawn || p->v.words != p->plan->words ||
			       p->v.groups != p->plan->groups || p->v.records != p->plan->count ?
		       nvw_violation(p->findings, 0, "the tasks have another shape than planned") :
		       0;
}

static int check_result(const struct part *p, nvw_off off, uint64_t group, uint64_t task)
{
	const uint64_t *const input = p->plan->inputs + task * p->v.words;

	for (uint64_t i = 0; i < p->v.words; i++) {
		if (nvw_pool_word(p->v.pool, off + 8 * (1 + i)) != steal_result(task, input[i], i)) {
			return nvw_violation(p->findings, off,
				"the result of task %" PRIu64 " in the log of work-group %" PRIu64
				" does not match its input",
				task, group);
		}
	}
	if (steal_has_child(p->v.tree, task, nvw_pool_word(p->v.pool, off + 8)) &&
		state_of(p, task + p->v.tree.roots) == STEAL_ABSENT) {
		return nvw_violation(p->findings, off,
			"task %" PRIu64 " is complete, but its child %" PRIu64 " does not exist", task,
			task + p->v.tree.roots);
	}
	return 0;
}

static int check_record(const struct part *p, uint64_t group, uint64_t i)
{
	const nvw_off off = steal_record(p->v.logs, p->v.words, p->v.records, group, i);
	const uint64_t head = nvw_pool_word(p->v.pool, off), task = steal_head_task(head);
	int error = 0;

	if (head == 0) {
		return 0;
	}
	if (task >= task_count(p->plan) || head != steal_head(task, i) || !p->plan->exists[task]) {
		return nvw_violation(p->findings, off,
			"record %" PRIu64 " of work-group %" PRIu64 " begins with 0x%016" PRIx64
			", which no operation writes there",
			i, group, head);
	}
	if (has_record(p, task, off)) {
		error = nvw_violation(p->findings, off,
			"task %" PRIu64 " has two results, the second in the log of work-group %" PRIu64,
			task, group);
	}
	if (state_of(p, task) == STEAL_ABSENT) {
		return nvw_violation(p->findings, off,
			"work-group %" PRIu64 " has a result of task %" PRIu64 ", which does not exist",
			group, task);
	}
	const int wrong = check_result(p, off, group, task);

	return wrong ? wrong : error;
}

static int check_input(const struct part *p, uint64_t task, nvw_off off)
{
	for (uint64_t i = 0; i < p->v.words; i++) {
		if (nvw_pool_word(p->v.pool, off + 8 * (1 + i)) != p->plan->inputs[task * p->v.words + i]) {
			return nvw_violation(p->findings, off,
				"task %" PRIu64 " exists, but its input is torn or not durable", task);
		}
	}
	return 0;
}

static int check_task(const struct part *p, uint64_t task)
{
	const nvw_off off = steal_task(p->v.tasks, p->v.words, task);
	const uint64_t state = state_of(p, task);
	int error = 0;

	/* A claim without its record is PRESENT after recovery. */
	if (state == STEAL_PRESENT || (state & 15) == STEAL_CLAIMED) {
		error = p->plan->exists[task] ?
				check_input(p, task, off) :
				nvw_violation(p->findings, off,
					"task %" PRIu64 " exists, but no task creates it", task);
	} else if (state != STEAL_ABSENT) {
		error = nvw_violation(p->findings, off,
			"task %" PRIu64 " has state 0x%016" PRIx64 ", which no operation writes", task,
			state);
	} else if (task < p->v.tree.roots) {
		error = nvw_violation(
			p->findings, off, "task %" PRIu64 " is lost: it existed from the beginning", task);
	}
	if (nvw_acked(p->acks, task) && !has_record(p, task, UINT64_MAX)) {
		error = nvw_violation(p->findings, off,
			"the result of task %" PRIu64 " is lost: it was acknowledged", task);
	}
	return error;
}

static int check(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	struct part p = {.plan = plan, .acks = acks, .findings = findings};

	if (steal_view_open((struct nvw_pool *)(uintptr_t)pool, &p.v) != 0) {
		return roots_refused(pool, part, findings);
	}
	if (part == 0) {
		return check_shape(&p);
	}
	part--;
	if (p.v.tasks == 0) {
		return 0;
	}
	if (part < task_count(p.plan)) {
		return check_task(&p, part);
	}
	part -= task_count(p.plan);
	return check_record(&p, part / p.plan->count, part % p.plan->count);
}

static void name(const void *plan, uint64_t part, char *ret_name, size_t bytes)
{
	const struct steal_plan *const p = plan;

	if (part == 0) {
		snprintf(ret_name, bytes, "the tasks' shape");
	} else if (part - 1 < task_count(p)) {
		snprintf(ret_name, bytes, "task %" PRIu64, part - 1);
	} else {
		part -= 1 + task_count(p);
		snprintf(ret_name, bytes, "record %" PRIu64 " of work-group %" PRIu64, part % p->count,
			part / p->count);
	}
}

const struct nvw_parts steal_parts = {.count = count, .check = check, .key = key, .name = name};
