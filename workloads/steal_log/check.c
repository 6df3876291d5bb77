/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of steal-log: guarantees (1) to (6) of layout.h, on a recovered pool. The parts state (1) to
 * (5); what recovery has to have done (6) is stated here.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/roots.h"
#include "check.h"

/* (6): a claim that is left names the record of its task. */
static int check_claim(const struct steal_case *c, uint64_t task)
{
	const struct steal_view *const v = &c->v;
	const nvw_off off = steal_task(v->tasks, v->words, task);
	const uint64_t state = nvw_pool_word(v->pool, off);
	const uint64_t group = steal_claim_group(state), i = steal_claim_record(state);

	assert(task < steal_task_count(&v->tree));
	if ((state & 15) != STEAL_CLAIMED ||
		(group < v->groups && i < v->records && c->records[task] != 0 &&
			c->records[task] == steal_record(v->logs, v->words, v->records, group, i))) {
		return 0;
	}
	return nvw_violation(c->findings, off,
		"task %" PRIu64 " is claimed by work-group %" PRIu64
		", but its result is not where the claim says",
		task, group);
}

/* Finds the first record of each task as it goes: a record's part asks for those before it. An empty record
 * states nothing. */
static int check_records(const struct steal_case *c, nvw_off *records)
{
	const struct steal_view *const v = &c->v;
	const uint64_t tasks = steal_task_count(&v->tree);
	int result = 0;

	NVW_FOR(n, v->groups * v->records) {
		const nvw_off off = steal_record(v->logs, v->words, v->records, 0, n);
		const uint64_t head = nvw_pool_word(v->pool, off), task = steal_head_task(head);

		if (head == 0) {
			continue;
		}
		if (task < tasks && head == steal_head(task, n % v->records) && records[task] == 0) {
			records[task] = off;
		}
		if (steal_check_part(c, 1 + tasks + n) != 0) {
			result = NVW_E_INCONSISTENT;
		}
	}
	return result;
}

static int check_tasks(const struct steal_case *c)
{
	int result = 0;

	NVW_FOR(task, steal_task_count(&c->v.tree)) {
		const int error = steal_check_part(c, 1 + task), unsettled = check_claim(c, task);

		if (error != 0 || unsettled != 0) {
			result = NVW_E_INCONSISTENT;
		}
	}
	return result;
}

int steal_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct steal_case c = {.plan = acks ? plan : NULL, .acks = acks, .findings = findings};
	nvw_off *records;

	if (steal_view_open(pool, &c.v) != 0) {
		return roots_broken(pool, findings);
	}
	NVW_TRY(steal_check_part(&c, 0));
	if (c.v.tasks == 0) {
		return 0;
	}
	c.records = records = calloc(steal_task_count(&c.v.tree), sizeof *records);
	NVW_ALLOCATED(
		records, "steal-log: no memory to check %" PRIu64 " tasks", steal_task_count(&c.v.tree));
	const int error = check_records(&c, records), other = check_tasks(&c);

	free(records);
	if (error) {
		return error;
	}
	return other;
}

/* A task without a result is one to be executed yet. */
const char *steal_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found)
{
	struct steal_view v;

	if (steal_view_open(pool, &v) != 0 || v.tasks == 0) {
		return NULL;
	}
	const uint64_t item = steal_item_bytes(v.words);

	if (off == nvw_pool_root_off(nvw_pool_geometry(pool), STEAL_TASKS) && found == 0) {
		return "that the pool is set up";
	}
	if (off >= v.tasks && off < v.tasks + steal_task_count(&v.tree) * item) {
		if ((off - v.tasks) % item == 0 && (found & 15) <= STEAL_CLAIMED) {
			return "the state of a task";
		}
		return NULL;
	}
	if (off < v.logs || off >= v.logs + v.groups * v.records * item) {
		return NULL;
	}
	return (off - v.logs) % item == 0 && found == 0 ? "that a task has a result" : NULL;
}
