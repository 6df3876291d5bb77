/* SPDX-License-Identifier: BSD-3-Clause */
/* The host side of a steal-log run: tasks and empty logs, deques, one launch, figures. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/figures.h"
#include "common/roots.h"
#include "steps.h"

enum { IDLE_MAX = 1 << 12, IDLE_MAX_MUTATED = 1 << 6 };

/* ---- Set-up --------------------------------------------------------------------------------------- */

static int write_first_tasks(
	const struct steal_plan *p, struct nvw_machine *machine, const struct nvw_pmem *pmem, nvw_off tasks)
{
	uint64_t item[1 + STEAL_WORDS_MAX] = {STEAL_PRESENT};
	for (uint64_t t = 0; t < p->tree.roots; t++) {
		for (uint64_t i = 0; i < p->words; i++) {
			item[1 + i] = steal_root_input(p->seed, t, i);
		}
		NVW_TRY(nvw_write(
			machine, pmem->base + steal_task(tasks, p->words, t), item, 8 * (1 + p->words)));
	}
	return 0;
}

int steal_setup(void *plan, struct nvw_machine *machine)
{
	const struct steal_plan *const p = plan;
	const uint64_t item = steal_item_bytes(p->words);
	uint64_t words[] = {
		[STEAL_TREE_SHAPE] = p->tree.roots | p->tree.depth << 32 | p->tree.spawn << 48,
		[STEAL_LOG_SHAPE] = p->count | p->words << 32 | p->groups << 48,
	};
	struct nvw_pmem pmem;

	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(nvw_heap_alloc_extent(
		machine, &pmem, steal_task_count(&p->tree) * item, &words[STEAL_TASKS]));
	NVW_TRY(nvw_heap_alloc_extent(machine, &pmem, p->groups * p->count * item, &words[STEAL_LOGS]));
	NVW_TRY(write_first_tasks(p, machine, &pmem, words[STEAL_TASKS]));
	return roots_write(machine, &pmem, words, sizeof words / sizeof *words);
}

/* ---- The run -------------------------------------------------------------------------------------- */

/* The work-group that owns root t at the beginning: the first has skew percent of them, the rest are dealt to
 * all in turn. */
static uint64_t owner_of(const struct steal_plan *p, uint64_t t)
{
	const uint64_t skewed = p->tree.roots * p->skew / 100;

	return t < skewed ? 0 : (t - skewed) % p->groups;
}

static int fill_deques(const struct steal_args *a, struct nvw_machine *machine)
{
	const struct steal_plan *const p = a->plan;
	const uint64_t bytes = steal_deque_bytes(p->tree.roots);
	char *const deques = calloc(p->groups, bytes);
	int error;

	if (deques == NULL) {
		return nvw_fail(NVW_E_MEMORY, "steal-log: no memory for %" PRIu64 " deques", p->groups);
	}
	for (uint64_t t = 0; t < p->tree.roots; t++) {
		struct steal_deque *const d = (struct steal_deque *)(void *)(deques + owner_of(p, t) * bytes);

		d->tasks[d->bottom++] = t;
	}
	error = nvw_write(machine, a->deques, deques, p->groups * bytes);
	free(deques);
	if (error != 0) {
		return error;
	}
	return nvw_write(machine, a->left, &p->tree.roots, 8);
}

static int steal_allocate(struct steal_args *a, struct nvw_machine *machine)
{
	const struct steal_plan *const p = a->plan;

	a->deques = nvw_alloc(machine, p->groups * steal_deque_bytes(p->tree.roots));
	a->left = nvw_alloc(machine, 8);
	a->drawn = nvw_alloc(machine, 64 * p->groups);
	if (!a->deques || !a->left || !a->drawn) {
		return nvw_fail(NVW_E_MEMORY,
			"steal-log: no device memory for %" PRIu64 " deques of %" PRIu64 " tasks", p->groups,
			p->tree.roots);
	}
	return fill_deques(a, machine);
}

/* A seeded bug may lose tasks or execute them twice; only the crash states count. */
static int steal_judge(const struct steal_plan *p)
{
	if (p->mutation == STEAL_UNMUTATED && (p->stuck != 0 || p->executed != p->count)) {
		return nvw_fail(NVW_E_INCONSISTENT,
			"steal-log: %" PRIu64 " tasks were executed, expected %" PRIu64 "%s", p->executed,
			p->count,
			p->scenario == STEAL_REMOTE ? " (does the protocol support remote scopes?)" : "");
	}
	return 0;
}

static void choose_scopes(struct steal_args *a)
{
	a->owner = a->plan->scenario == STEAL_AGENT ? NVW_SCOPE_AGENT : NVW_SCOPE_WORKGROUP;
	a->thief = a->plan->scenario == STEAL_REMOTE ? NVW_SCOPE_REMOTE_AGENT : NVW_SCOPE_AGENT;
}

int steal_run(void *plan, struct nvw_machine *machine)
{
	struct steal_plan *const p = plan;
	struct steal_args a = {.plan = p,
		.replaced = steal_replaced(p->mutation),
		.patience = p->mutation == STEAL_UNMUTATED ? IDLE_MAX : IDLE_MAX_MUTATED};
	nvw_off words[2] = {0};

	NVW_TRY(nvw_pmem_attach(machine, &a.pmem));
	STEP(a.replaced, choose_scopes, &a);
	p->executed = p->stolen = p->attempts = p->stuck = p->most = 0;
	NVW_TRY(roots_read(machine, &a.pmem, words, sizeof words / sizeof *words));
	a.tasks = words[STEAL_TASKS];
	a.logs = words[STEAL_LOGS];
	NVW_TRY(steal_allocate(&a, machine));
	NVW_TRY(nvw_launch(machine, "steal-log", steal_kernel, &a, p->groups * p->group_size, p->group_size));
	NVW_TRY(nvw_persist(machine));
	return steal_judge(p);
}

/* ---- Figures -------------------------------------------------------------------------------------- */

int steal_report(void *plan, struct nvw_machine *machine, struct nvw_description *d)
{
	const struct steal_plan *const p = plan;
	const struct figure rows[] = {
		{"steal-log.tasks", p->executed, "count", "tasks executed"},
		{"steal-log.children", p->executed - p->tree.roots, "count", "of these: spawned by others"},
		{"steal-log.stolen", p->stolen, "count",
			"of these: carried out by another work-group than had them"},
		{"steal-log.attempts", p->attempts, "count", "attempts to steal"},
		{"steal-log.most", p->most, "count", "tasks of the work-group that carried out the most"},
	};

	return FIGURES_DESCRIBE(d, rows);
}
