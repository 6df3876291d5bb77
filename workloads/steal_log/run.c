/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host side of a steal-log run: tasks and empty logs, deques, one launch, figures.
 *
 * After a crash the deques get the tasks that exist without a result, and each log goes on behind its last
 * record. A parent that is carried out again does not make the child that it has made already.
 */
#include <assert.h>
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
	assert(p->words <= STEAL_WORDS_MAX);
	NVW_FOR(t, p->tree.roots) {
		NVW_FOR(i, p->words) {
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

	assert((p->tree.depth | p->words) <= UINT16_MAX);
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

	assert(t < p->tree.roots);
	return t < skewed ? 0 : (t - skewed) % p->groups;
}

static void deal(const struct steal_plan *p, char *deques, uint64_t group, uint64_t task)
{
	const uint64_t bytes = steal_deque_bytes(p->tree.roots);
	struct steal_deque *const d = (struct steal_deque *)(void *)(deques + group * bytes);

	assert(group < p->groups && d->bottom <= p->tree.roots);
	d->tasks[d->bottom++] = task;
}

static uint64_t deal_roots(const struct steal_plan *p, char *deques)
{
	NVW_FOR(t, p->tree.roots) {
		deal(p, deques, owner_of(p, t), t);
	}
	return p->tree.roots;
}

/* To the work-groups in turn: no more than a deque has room for, and no more than may be carried out. */
static uint64_t deal_rest(const struct steal_plan *p, struct steal_rest *rest, char *deques)
{
	uint64_t dealt = 0;

	NVW_FOR(t, steal_task_count(&p->tree)) {
		if (rest->exists[t] && !rest->is_done[t] && rest->children > 0 && dealt < p->tree.roots) {
			deal(p, deques, dealt++ % p->groups, t);
			rest->children--;
		}
	}
	assert(dealt <= p->tree.roots);
	return dealt;
}

static int fill_deques(const struct steal_args *a, struct nvw_machine *machine)
{
	const struct steal_plan *const p = a->plan;
	const uint64_t bytes = steal_deque_bytes(p->tree.roots);
	char *const deques = calloc(p->groups, bytes);
	uint64_t left;
	int error;

	NVW_ALLOCATED(deques, "steal-log: no memory for %" PRIu64 " deques", p->groups);
	left = !a->rest ? deal_roots(p, deques) : deal_rest(p, a->rest, deques);
	assert(left <= steal_task_count(&p->tree));
	error = nvw_write(machine, a->deques, deques, p->groups * bytes);
	free(deques);
	if (error != 0) {
		return error;
	}
	return nvw_write(machine, a->left, &left, 8);
}

static int steal_allocate(struct steal_args *a, struct nvw_machine *machine)
{
	const struct steal_plan *const p = a->plan;

	a->deques = nvw_alloc(machine, p->groups * steal_deque_bytes(p->tree.roots));
	a->left = nvw_alloc(machine, 8);
	a->drawn = nvw_alloc(machine, 64 * p->groups);
	NVW_FAIL_IF(!a->deques || !a->left || !a->drawn, NVW_E_MEMORY,
		"steal-log: no device memory for %" PRIu64 " deques of %" PRIu64 " tasks", p->groups,
		p->tree.roots);
	return fill_deques(a, machine);
}

/* A seeded bug may lose tasks or execute them twice; only the crash states count. */
static int steal_judge(const struct steal_plan *p)
{
	NVW_FAIL_IF(p->mutation == STEAL_UNMUTATED && (p->stuck != 0 || p->executed != p->count),
		NVW_E_INCONSISTENT, "steal-log: %" PRIu64 " tasks were executed, expected %" PRIu64 "%s",
		p->executed, p->count,
		p->scenario == STEAL_REMOTE ? " (does the protocol support remote scopes?)" : "");
	return 0;
}

static void choose_scopes(struct steal_args *a)
{
	a->owner = a->plan->scenario == STEAL_AGENT ? NVW_SCOPE_AGENT : NVW_SCOPE_WORKGROUP;
	a->thief = a->plan->scenario == STEAL_REMOTE ? NVW_SCOPE_REMOTE_AGENT : NVW_SCOPE_AGENT;
}

static int launch(struct steal_plan *p, struct nvw_machine *machine, struct steal_rest *rest)
{
	struct steal_args a = {.plan = p,
		.rest = rest,
		.replaced = steal_replaced(p->mutation),
		.patience = p->mutation == STEAL_UNMUTATED ? IDLE_MAX : IDLE_MAX_MUTATED};
	nvw_off words[2] = {0};

	assert(p->groups <= STEAL_GROUPS_MAX);
	NVW_TRY(nvw_pmem_attach(machine, &a.pmem));
	STEP(a.replaced, choose_scopes, &a);
	p->executed = p->stolen = p->attempts = p->stuck = p->most = 0;
	NVW_TRY(roots_read(machine, &a.pmem, words, sizeof words / sizeof *words));
	a.tasks = words[STEAL_TASKS];
	a.logs = words[STEAL_LOGS];
	NVW_TRY(steal_allocate(&a, machine));
	return nvw_launch(machine, "steal-log", steal_kernel, &a, p->groups * p->group_size, p->group_size);
}

int steal_run(void *plan, struct nvw_machine *machine)
{
	NVW_TRY(launch(plan, machine, NULL));
	NVW_TRY(nvw_persist(machine));
	return steal_judge(plan);
}

/* ---- After a crash -------------------------------------------------------------------------------- */

static void find_rest(const struct steal_view *v, struct steal_rest *rest)
{
	const uint64_t tasks = steal_task_count(&v->tree);

	NVW_FOR(t, tasks) {
		rest->exists[t] = nvw_pool_word(v->pool, steal_task(v->tasks, v->words, t)) != STEAL_ABSENT;
	}
	NVW_FOR(n, v->groups * v->records) {
		const uint64_t group = n / v->records, i = n % v->records;
		const uint64_t head =
			nvw_pool_word(v->pool, steal_record(v->logs, v->words, v->records, group, i));

		if (head != 0 && steal_head_task(head) < tasks) {
			rest->is_done[steal_head_task(head)] = true;
			rest->records[group] = i + 1;
		}
	}
}

/* What recovery has found is durable. */
static int acknowledge_found(const struct steal_plan *p, struct nvw_machine *machine,
	const struct nvw_acks *acks, const struct steal_rest *rest)
{
	NVW_FOR(t, steal_task_count(&p->tree)) {
		if (rest->is_done[t] && !nvw_acked(acks, t)) {
			NVW_TRY(nvw_acknowledge(machine, t, 1));
		}
	}
	return 0;
}

static int go_on(struct steal_plan *p, struct nvw_machine *machine, const struct nvw_acks *acks,
	struct steal_rest *rest)
{
	struct steal_view v;

	NVW_TRY(steal_view_open(nvw_machine_pool(machine), &v));
	find_rest(&v, rest);
	NVW_TRY(acknowledge_found(p, machine, acks, rest));
	return launch(p, machine, rest);
}

int steal_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations)
{
	struct steal_plan *const p = plan;
	const uint64_t tasks = steal_task_count(&p->tree);
	struct steal_rest rest = {.records = calloc(p->groups, sizeof *rest.records),
		.exists = calloc(tasks, sizeof *rest.exists),
		.is_done = calloc(tasks, sizeof *rest.is_done),
		.children = operations};
	int error;

	if (rest.records && rest.exists && rest.is_done) {
		error = go_on(p, machine, acks, &rest);
	} else {
		error = nvw_fail(NVW_E_MEMORY, "steal-log: no memory to go on with %" PRIu64 " tasks", tasks);
	}
	free(rest.records);
	free(rest.exists);
	free(rest.is_done);
	return error;
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
