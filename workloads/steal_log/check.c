/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of steal-log: guarantees (1) to (6) of layout.h, on a recovered pool. It checks every record
 * first, then every task against the records.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "plan.h"

struct check {
	struct steal_view v;
	const struct steal_plan *plan; /* NULL: structure only */
	const struct nvw_acks *acks;   /* NULL if plan is NULL */
	struct nvw_findings *findings;
	nvw_off *record; /* of task t, 0: none */
	int error;
};

#define VIOLATION(c, off, ...) ((c)->error = nvw_violation((c)->findings, off, __VA_ARGS__))

static uint64_t task_count(const struct check *c)
{
	return c->v.tree.roots * c->v.tree.depth;
}

static const uint64_t *words_at(const struct check *c, nvw_off off)
{
	return nvw_pool_at(c->v.pool, off, 8 * (1 + c->v.words));
}

static nvw_off off_of(const struct check *c, uint64_t task)
{
	return steal_task(c->v.tasks, c->v.words, task);
}

static uint64_t state_of(const struct check *c, uint64_t task)
{
	return nvw_pool_word(c->v.pool, off_of(c, task));
}

/* ---- Records -------------------------------------------------------------------------------------- */

/* (2): the result matches the task's planned input, or without a plan the input in the pool. */
static bool is_result(const struct check *c, const uint64_t *record, uint64_t task)
{
	const uint64_t *const input =
		c->plan ? c->plan->inputs + task * c->v.words : words_at(c, off_of(c, task)) + 1;

	for (uint64_t i = 0; i < c->v.words; i++) {
		if (record[1 + i] != steal_result(task, input[i], i)) {
			return false;
		}
	}
	return true;
}

static void check_complete(struct check *c, nvw_off off, uint64_t group, uint64_t task)
{
	const uint64_t *const record = words_at(c, off);

	if (c->record[task] != 0) {
		VIOLATION(c, off,
			"task %" PRIu64 " has two results, the second in the log of work-group %" PRIu64,
			task, group);
	}
	c->record[task] = off;
	if (state_of(c, task) == STEAL_ABSENT) {
		VIOLATION(c, off,
			"work-group %" PRIu64 " has a result of task %" PRIu64 ", which does not exist",
			group, task);
	} else if (!is_result(c, record, task)) {
		VIOLATION(c, off,
			"the result of task %" PRIu64 " in the log of work-group %" PRIu64
			" does not match its input",
			task, group);
	} else if (steal_has_child(c->v.tree, task, record[1]) &&
		   state_of(c, task + c->v.tree.roots) == STEAL_ABSENT) {
		VIOLATION(c, off, "task %" PRIu64 " is complete, but its child %" PRIu64 " does not exist",
			task, task + c->v.tree.roots);
	}
}

static void check_log(struct check *c, uint64_t group)
{
	for (uint64_t i = 0; i < c->v.records; i++) {
		const nvw_off off = steal_record(c->v.logs, c->v.words, c->v.records, group, i);
		const uint64_t head = nvw_pool_word(c->v.pool, off), task = steal_head_task(head);

		if (head == 0) {
			continue;
		}
		if (task >= task_count(c) || head != steal_head(task, i) ||
			(c->plan != NULL && !c->plan->exists[task])) {
			VIOLATION(c, off,
				"record %" PRIu64 " of work-group %" PRIu64 " begins with 0x%016" PRIx64
				", which no operation writes there",
				i, group, head);
		} else {
			check_complete(c, off, group, task);
		}
	}
}

/* ---- Tasks ---------------------------------------------------------------------------------------- */

/* (3), as far as it can be checked: a root's input only with the plan, a child's also by its parent's
 * result. */
static bool is_whole(const struct check *c, uint64_t task)
{
	const uint64_t *const words = words_at(c, off_of(c, task)) + 1;
	const nvw_off parent = task < c->v.tree.roots ? 0 : c->record[task - c->v.tree.roots];
	const uint64_t *const made = parent == 0 ? NULL : words_at(c, parent);

	for (uint64_t i = 0; i < c->v.words; i++) {
		if ((c->plan != NULL && words[i] != c->plan->inputs[task * c->v.words + i]) ||
			(made != NULL && words[i] != steal_child_input(made[1 + i]))) {
			return false;
		}
	}
	return true;
}

static void check_present(struct check *c, uint64_t task, uint64_t state)
{
	const nvw_off off = off_of(c, task);
	const uint64_t group = steal_claim_group(state), i = steal_claim_record(state);

	if (!is_whole(c, task)) {
		VIOLATION(c, off, "task %" PRIu64 " exists, but its input is torn or not durable", task);
	}
	if ((state & 15) == STEAL_CLAIMED &&
		(group >= c->v.groups || i >= c->v.records || c->record[task] == 0 ||
			c->record[task] != steal_record(c->v.logs, c->v.words, c->v.records, group, i))) {
		VIOLATION(c, off,
			"task %" PRIu64 " is claimed by work-group %" PRIu64
			", but its result is not where the claim says",
			task, group);
	}
}

static void check_task(struct check *c, uint64_t task)
{
	const uint64_t state = state_of(c, task);
	const bool is_planned = c->plan == NULL || c->plan->exists[task];

	if (state == STEAL_PRESENT || (is_planned && (state & 15) == STEAL_CLAIMED)) {
		if (is_planned) {
			check_present(c, task, state);
		} else {
			VIOLATION(
				c, off_of(c, task), "task %" PRIu64 " exists, but no task creates it", task);
		}
	} else if (state != STEAL_ABSENT) {
		VIOLATION(c, off_of(c, task),
			"task %" PRIu64 " has state 0x%016" PRIx64 ", which no operation writes", task,
			state);
	} else if (task < c->v.tree.roots) {
		VIOLATION(
			c, off_of(c, task), "task %" PRIu64 " is lost: it existed from the beginning", task);
	}
	if (c->acks != NULL && nvw_acked(c->acks, task) && c->record[task] == 0) {
		VIOLATION(c, off_of(c, task), "the result of task %" PRIu64 " is lost: it was acknowledged",
			task);
	}
}

/* ---- The whole ------------------------------------------------------------------------------------ */

int steal_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct check c = {.plan = acks ? plan : NULL, .acks = acks, .findings = findings};

	if (steal_view_open(pool, &c.v) != 0) {
		return nvw_violation(
			findings, nvw_pool_root_off(nvw_pool_geometry(pool), 0), "%s", nvw_error_message());
	}
	if (c.v.tasks == 0) {
		return acks != NULL && nvw_acked_count(acks) != 0 ?
			       nvw_violation(
				       findings, 0, "the tasks are lost: operations were acknowledged") :
			       0;
	}
	c.record = calloc(task_count(&c), sizeof *c.record);
	if (c.record == NULL) {
		return nvw_fail(
			NVW_E_MEMORY, "steal-log: no memory to check %" PRIu64 " tasks", task_count(&c));
	}
	for (uint64_t g = 0; g < c.v.groups; g++) {
		check_log(&c, g);
	}
	for (uint64_t t = 0; t < task_count(&c); t++) {
		check_task(&c, t);
	}
	free(c.record);
	return c.error;
}
