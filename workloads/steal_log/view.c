/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The durable tasks and logs: finding them, recovery, inspection.
 *
 * Recovery withdraws every claim without a record: the task becomes PRESENT again, and its thief's result was
 * never complete. It changes one word per task, so it may stop after any. For all other tasks, state and logs
 * show the remaining work.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/extent.h"
#include "common/figures.h"
#include "plan.h"

int steal_view_open(struct nvw_pool *pool, struct steal_view *ret_view)
{
	const uint64_t tree = extent_root(pool, STEAL_TREE_SHAPE), log = extent_root(pool, STEAL_LOG_SHAPE);
	const struct steal_view v = {
		.pool = pool,
		.tasks = extent_root(pool, STEAL_TASKS),
		.logs = extent_root(pool, STEAL_LOGS),
		.tree = {.roots = tree & UINT32_MAX, .depth = tree >> 32 & UINT16_MAX, .spawn = tree >> 48},
		.records = log & UINT32_MAX,
		.words = log >> 32 & UINT16_MAX,
		.groups = log >> 48,
	};
	const uint64_t item = steal_item_bytes(v.words), tasks = steal_task_count(&v.tree);

	*ret_view = v;
	if (v.tasks == 0) {
		return 0;
	}
	NVW_FAIL_IF(tasks == 0 || v.tree.depth > STEAL_DEPTH_MAX || tasks > STEAL_TASKS_MAX || v.words == 0 ||
			    v.words > STEAL_WORDS_MAX || v.groups == 0 || v.groups > STEAL_GROUPS_MAX ||
			    v.records > tasks || !extent_is_allocated(pool, v.tasks, tasks * item) ||
			    !extent_is_allocated(pool, v.logs, v.groups * v.records * item),
		NVW_E_DAMAGED,
		"%s: root words 0 to 3: expected allocated extents for tasks and logs, found %" PRIu64
		" tasks of "
		"%" PRIu64 " words at offset %" PRIu64 ", %" PRIu64 " logs of %" PRIu64
		" records at offset %" PRIu64,
		nvw_pool_path(pool), tasks, v.words, v.tasks, v.groups, v.records, v.logs);
	return 0;
}

/* ---- Recovery ------------------------------------------------------------------------------------- */

static bool is_complete(const struct steal_view *v, uint64_t task, uint64_t state)
{
	const uint64_t group = steal_claim_group(state), record = steal_claim_record(state);

	return group < v->groups && record < v->records &&
	       nvw_pool_word(v->pool, steal_record(v->logs, v->words, v->records, group, record)) ==
		       steal_head(task, record);
}

int steal_recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	struct steal_view v;

	NVW_TRY(steal_view_open(pool, &v));
	for (uint64_t t = 0; v.tasks != 0 && t < steal_task_count(&v.tree); t++) {
		const nvw_off task = steal_task(v.tasks, v.words, t);
		const uint64_t state = nvw_pool_word(pool, task);

		if ((state & 15) == STEAL_CLAIMED && !is_complete(&v, t, state)) {
			report->structure_repairs++;
			NVW_TRY(nvw_pool_write_word(pool, task, STEAL_PRESENT));
		}
	}
	return 0;
}

/* ---- Inspection ----------------------------------------------------------------------------------- */

int steal_inspect(struct nvw_pool *pool, struct nvw_description *d)
{
	uint64_t states[16] = {0}, complete = 0, logs = 0;
	struct steal_view v;
	const int error = steal_view_open(pool, &v);

	if (error != 0 || v.tasks == 0) {
		return error;
	}
	NVW_FOR(t, steal_task_count(&v.tree)) {
		states[nvw_pool_word(pool, steal_task(v.tasks, v.words, t)) & 15]++;
	}
	NVW_FOR(g, v.groups) {
		const uint64_t before = complete;

		NVW_FOR(i, v.records) {
			complete += nvw_pool_word(pool, steal_record(v.logs, v.words, v.records, g, i)) != 0;
		}
		logs += complete != before;
	}

	const struct figure rows[] = {
		{"steal-log.tasks", states[STEAL_PRESENT] + states[STEAL_CLAIMED], "count",
			"tasks that exist"},
		{"steal-log.claimed", states[STEAL_CLAIMED], "count", "of these: claimed by a thief"},
		{"steal-log.complete", complete, "count", "results in all logs"},
		{"steal-log.logs", logs, "count", "logs with a result"},
	};

	return FIGURES_DESCRIBE(d, rows);
}
