/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A work-group takes a task, from its own deque or from another's, and executes it together:
 *
 *	stolen?  its state := CLAIMED		(a)  by one work-item
 *	result -> the next record of the log	(b)  by the whole work-group
 *	a child? its input			(c)  by all
 *	persist barrier of the work-group	(d)  (a), (b), (c) before (e) and (g): keeps (2), (3), (4)
 *	a child? its state := PRESENT		(e)  by one work-item, as all later steps
 *	a child? persist barrier, work-item	(f)  keeps (5)
 *	the record's head			(g)
 *	persist barrier, work-item		(h)  keeps (1)
 *	acknowledge				(i)
 *	push the child				(j)
 *
 * The two kinds of scope are independent.
 *
 * Coherence. Nearly always the owner uses the deque. So the owner synchronizes with work-group scope and the
 * thief with a remote scope (alsop16 II.D), or both with agent scope.
 *
 * Persistence. A work-group orders its own stores, with work-group scope if many work-items stored and
 * work-item scope if one did. But a stolen task was written by another work-group, and no scope below the
 * kernel's orders those stores before the thief's. (a) does: it follows the owner's (e) on the same word, so
 * it persists after (e), and so after (c); and by (d) before the thief's (g). That a thief sees the task, at
 * whatever scope, only means that it is visible (gope18 6.2).
 *
 * A work-group never waits for another to begin: tasks in the deque of a work-group that has not started can
 * be stolen.
 *
 * STEP() marks the steps that a seeded bug may replace (mutations.c).
 */
#include "common/bounds.h"
#include "steps.h"

enum { TRIES_MAX = 1 << 16, LOG2_LOOKS_MAX = 6, VICTIMS_MAX = 4 };

#define NO_TASK UINT64_MAX
#define STOLEN  (UINT64_C(1) << 63) /* with a task, in the word that a work-group shares */

/* ---- Deques --------------------------------------------------------------------------------------- */

static struct steal_deque *deque_of(const struct steal_args *a, uint64_t group)
{
	return (struct steal_deque *)(void *)(a->deques + group * steal_deque_bytes(a->plan->tree.roots));
}

/* The holder of the lock is running and waits for nothing, so this ends; a seeded bug may lose an unlock. */
static void lock(const struct steal_args *a, struct steal_deque *d, enum nvw_scope scope)
{
	NVW_FOR(tries, TRIES_MAX) {
		if (nvw_atomic_compare_exchange(&d->lock, 0, 1, NVW_ACQUIRE, scope) == 0) {
			return;
		}
	}
	a->plan->stuck++;
}

static void unlock(struct steal_deque *d, enum nvw_scope scope)
{
	nvw_atomic_store(&d->lock, 0, NVW_RELEASE, scope);
}

static uint64_t pop(const struct steal_args *a)
{
	struct steal_deque *const d = deque_of(a, nvw_group_id());
	uint64_t task = NO_TASK, bottom;

	lock(a, d, a->owner);
	bottom = nvw_load(&d->bottom);
	if (nvw_load(&d->top) < bottom) {
		task = nvw_load(&d->tasks[bottom - 1]);
		nvw_store(&d->bottom, bottom - 1);
	} else if (bottom != 0) {
		nvw_store(&d->top, 0);
		nvw_store(&d->bottom, 0);
	}
	unlock(d, a->owner);
	return task;
}

static void push(const struct steal_args *a, uint64_t task)
{
	struct steal_deque *const d = deque_of(a, nvw_group_id());
	uint64_t bottom;

	lock(a, d, a->owner);
	bottom = nvw_load(&d->bottom);
	if (bottom <= a->plan->tree.roots) { /* always, except with a seeded bug */
		nvw_store(&d->tasks[bottom], task);
		nvw_store(&d->bottom, bottom + 1);
	}
	unlock(d, a->owner);
}

static void lock_victim(const struct steal_args *a, struct steal_deque *d)
{
	lock(a, d, a->thief);
}

static void unlock_victim(const struct steal_args *a, struct steal_deque *d)
{
	unlock(d, a->thief);
}

static uint64_t steal(const struct steal_args *a, uint64_t victim)
{
	struct steal_deque *const d = deque_of(a, victim);
	uint64_t task = NO_TASK, top;

	a->plan->attempts++;
	STEP(a->replaced, lock_victim, a, d);
	top = nvw_load(&d->top);
	if (top < nvw_load(&d->bottom)) {
		task = nvw_load(&d->tasks[top]);
		nvw_store(&d->top, top + 1);
	}
	STEP(a->replaced, unlock_victim, a, d);
	return task;
}

/* One round: tries some of the other deques; the next round tries the next ones. */
static uint64_t steal_from_some(const struct steal_args *a, uint64_t round)
{
	const uint64_t others = nvw_group_count() - 1, tries = u64_min(others, VICTIMS_MAX);
	uint64_t task = NO_TASK;

	for (uint64_t i = 0; i < tries && task == NO_TASK; i++) {
		const uint64_t other = (round * VICTIMS_MAX + i) % others;

		task = steal(a, (nvw_group_id() + 1 + other) % (others + 1));
	}
	return task == NO_TASK ? task : task | STOLEN;
}

/* ---- Taking a task -------------------------------------------------------------------------------- */

/* Checks whether any task is left, more often with each unsuccessful round: an attempt to steal disturbs its
 * victim, and with a remote scope every CU (alsop16 II.D). */
static bool is_anything_left(const struct steal_args *a, uint64_t rounds)
{
	const uint64_t looks = UINT64_C(1) << u64_min(rounds, LOG2_LOOKS_MAX);
	bool is_left = true;

	for (uint64_t i = 0; i < looks && is_left; i++) {
		is_left = nvw_atomic_load(a->left, NVW_RELAXED, NVW_SCOPE_AGENT) != 0;
	}
	return is_left;
}

/* Gives up if no work-group has completed a task for a long time: a seeded bug, or a protocol without remote
 * scopes, may have lost one. */
static uint64_t find_task(const struct steal_args *a)
{
	uint64_t task = pop(a), executed = a->plan->executed, idle = 0;

	if (a->plan->scenario == STEAL_SCOPED) {
		return task;
	}
	for (uint64_t rounds = 0; task == NO_TASK && is_anything_left(a, rounds); rounds++) {
		idle = a->plan->executed == executed ? idle + 1 : 0;
		executed = a->plan->executed;
		if (idle == a->patience) {
			a->plan->stuck++;
			break;
		}
		task = steal_from_some(a, rounds);
	}
	return task;
}

/* The first work-item takes the task for all. After the barrier before it, all have read the previous
 * task. */
static uint64_t take_task(const struct steal_args *a)
{
	uint64_t *const drawn = a->drawn + 8 * nvw_group_id();

	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		nvw_store(drawn, find_task(a));
	}
	nvw_barrier(NVW_WORKGROUP);
	return nvw_load(drawn);
}

/* ---- Execution ----------------------------------------------------------------------------------------- */

/* Whether a crash has left the task in the pool. */
static bool is_made(const struct steal_args *a, uint64_t task)
{
	return a->rest != NULL && a->rest->exists[task];
}

static struct steal_work begin(const struct steal_args *a, uint64_t task, uint64_t record)
{
	const struct steal_plan *const p = a->plan;
	const uint64_t t = task & ~STOLEN, group = nvw_group_id();
	struct steal_work w = {
		.task = t,
		.record = record,
		.is_stolen = (task & STOLEN) != 0,
		.from = nvw_at(&a->pmem, uint64_t, steal_task(a->tasks, p->words, t)),
		.to = nvw_at(&a->pmem, uint64_t, steal_record(a->logs, p->words, p->count, group, record)),
		.child = nvw_at(&a->pmem, uint64_t, steal_task(a->tasks, p->words, t + p->tree.roots)),
	};

	w.has_child = steal_has_child(p->tree, t, steal_result(t, nvw_load(&w.from[1]), 0)) &&
		      !STEP(a->replaced, is_made, a, t + p->tree.roots);
	return w;
}

static void claim(const struct steal_args *a, const struct steal_work *w)
{
	if (w->is_stolen && nvw_local_id() == 0) {
		nvw_store(&w->from[0], steal_claim_word(nvw_group_id(), w->record));
	}
}

static void write_result(const struct steal_args *a, const struct steal_work *w)
{
	for (uint64_t i = nvw_local_id(); i < a->plan->words; i += nvw_group_size()) {
		nvw_store(&w->to[1 + i], steal_result(w->task, nvw_load(&w->from[1 + i]), i));
	}
}

static void write_child(const struct steal_args *a, const struct steal_work *w)
{
	for (uint64_t i = nvw_local_id(); w->has_child && i < a->plan->words; i += nvw_group_size()) {
		const uint64_t result = steal_result(w->task, nvw_load(&w->from[1 + i]), i);

		nvw_store(&w->child[1 + i], steal_child_input(result));
	}
}

static void order_child(const struct steal_work *w)
{
	(void)w;
	nvw_p_barrier_wi();
}

static void commit(const struct steal_args *a, const struct steal_work *w)
{
	(void)a;
	nvw_store(&w->to[0], steal_head(w->task, w->record));
}

static void acknowledge(const struct steal_work *w)
{
	nvw_p_barrier_wi(); /* (h) */
	nvw_ack(w->task);   /* (i) */
}

/* Called by one work-item. */
static void complete(const struct steal_args *a, const struct steal_work *w)
{
	if (w->has_child) {
		nvw_store(&w->child[0], STEAL_PRESENT); /* (e) */
		STEP(a->replaced, order_child, w);      /* (f) */
	}
	STEP(a->replaced, commit, a, w);   /* (g) */
	STEP(a->replaced, acknowledge, w); /* (h), (i) */
}

/* Whether one more task is to be carried out. */
static bool is_wanted(const struct steal_args *a)
{
	if (!a->rest) {
		return true;
	}
	if (a->rest->children == 0) {
		return false;
	}
	a->rest->children--;
	return true;
}

/* (j), and the counters. A child replaces its parent among the remaining tasks. */
static void hand_on(const struct steal_args *a, const struct steal_work *w)
{
	if (w->has_child && is_wanted(a)) {
		push(a, w->task + a->plan->tree.roots);
	} else {
		(void)nvw_atomic_sub(a->left, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
	a->plan->executed++;
	a->plan->stolen += w->is_stolen;
}

static void order_work(const struct steal_args *a, const struct steal_work *w)
{
	(void)a;
	(void)w;
	nvw_p_barrier_wg();
}

static void execute(const struct steal_args *a, const struct steal_work *w)
{
	STEP(a->replaced, claim, a, w);        /* (a) */
	STEP(a->replaced, write_result, a, w); /* (b) */
	STEP(a->replaced, write_child, a, w);  /* (c) */
	STEP(a->replaced, order_work, a, w);   /* (d) */
	/* Needed if (d) does not wait: all stores are complete before another work-group takes the child. */
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		complete(a, w);
		hand_on(a, w);
	}
}

/* A task's record is never reused. */
static uint64_t records_used(const struct steal_work *w)
{
	(void)w;
	return 1;
}

void steal_kernel(const void *args)
{
	const struct steal_args *const a = args;
	uint64_t records = !a->rest ? 0 : a->rest->records[nvw_group_id()], task;

	while ((task = take_task(a)) != NO_TASK && records < a->plan->count) {
		const uint64_t begun = nvw_operation_begin();
		const struct steal_work w = begin(a, task, records);

		execute(a, &w);
		if (nvw_local_id() == 0) {
			nvw_operation_end(0, begun);
		}
		records += STEP(a->replaced, records_used, &w);
	}
	if (nvw_local_id() == 0 && records > a->plan->most) {
		a->plan->most = records;
	}
}

const struct steal_steps steal_steps = {.write_result = write_result, .write_child = write_child};
