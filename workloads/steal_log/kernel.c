/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A work-group takes a task, from its own deque or from another's, and carries it out together:
 *
 *	stolen?  its state := CLAIMED		(a)  by one work-item
 *	result -> the next record of the log	(b)  by all of the work-group
 *	a child? its input			(c)  by all
 *	persist barrier of the work-group	(d)  (a), (b), (c) before (e) and (g): keeps (2), (3), (4)
 *	a child? its state := PRESENT		(e)  by one work-item, like all that follows
 *	a child? persist barrier, work-item	(f)  keeps (5)
 *	the record's head			(g)
 *	persist barrier, work-item		(h)  keeps (1)
 *	acknowledge				(i)
 *	push the child				(j)
 *
 * Two scopes that have nothing to do with each other.
 *
 * Coherence. The deque is its owner's nearly always; so the owner synchronizes with work-group scope, and it is
 * the thief that reaches out, with a remote scope (alsop16 II.D), or both do with agent scope.
 *
 * Persistence. What one work-group makes durable it orders itself, with work-group scope where many stored and
 * work-item scope where one did. But a stolen task was written by another work-group, and no scope below the
 * kernel's orders its stores before the thief's. (a) does: it follows the owner's (e) on the same word, so it
 * persists after (e), and so after (c); and by (d) before the thief's (g). That a thief sees the task, by
 * whatever scope, says only that it is visible (gope18 6.2).
 *
 * A work-group never waits for another to begin: what one that is not on the machine yet has in its deque can
 * be stolen.
 */
#include "plan.h"

enum {
	TRIES_MAX = 1 << 16,
	IDLE_MAX = 1 << 12,
	IDLE_MAX_MUTATED = 1 << 6,
	LOG2_LOOKS_MAX = 6,
	VICTIMS_MAX = 4
};

#define NO_TASK UINT64_MAX
#define STOLEN  (UINT64_C(1) << 63) /* with a task, in the word that a work-group shares */

/* ---- Deques --------------------------------------------------------------------------------------- */

static struct steal_deque *deque_of(const struct steal_args *a, uint64_t group)
{
	return (struct steal_deque *)(void *)(a->deques + group * steal_deque_bytes(a->plan->tree.roots));
}

static enum nvw_scope owner_scope(const struct steal_args *a)
{
	const bool is_agent = a->plan->scenario == STEAL_AGENT && a->plan->mutation != STEAL_NARROW_OWNER;

	return is_agent ? NVW_SCOPE_AGENT : NVW_SCOPE_WORKGROUP;
}

static enum nvw_scope thief_scope(const struct steal_args *a)
{
	if (a->plan->mutation == STEAL_NARROW_STEAL) {
		return NVW_SCOPE_WORKGROUP;
	}
	return a->plan->scenario == STEAL_REMOTE ? NVW_SCOPE_REMOTE_AGENT : NVW_SCOPE_AGENT;
}

/* Who holds the lock is on the machine and waits for nothing, so this ends; a seeded bug may lose an unlock. */
static void lock(const struct steal_args *a, struct steal_deque *d, enum nvw_scope scope)
{
	for (uint64_t tries = 0; tries < TRIES_MAX; tries++) {
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

	lock(a, d, owner_scope(a));
	bottom = nvw_load(&d->bottom);
	if (nvw_load(&d->top) < bottom) {
		task = nvw_load(&d->tasks[bottom - 1]);
		nvw_store(&d->bottom, bottom - 1);
	} else if (bottom != 0) {
		nvw_store(&d->top, 0);
		nvw_store(&d->bottom, 0);
	}
	unlock(d, owner_scope(a));
	return task;
}

static void push(const struct steal_args *a, uint64_t task)
{
	struct steal_deque *const d = deque_of(a, nvw_group_id());
	uint64_t bottom;

	lock(a, d, owner_scope(a));
	bottom = nvw_load(&d->bottom);
	if (bottom <= a->plan->tree.roots) { /* always, but for a seeded bug */
		nvw_store(&d->tasks[bottom], task);
		nvw_store(&d->bottom, bottom + 1);
	}
	unlock(d, owner_scope(a));
}

static uint64_t steal(const struct steal_args *a, uint64_t victim)
{
	struct steal_deque *const d = deque_of(a, victim);
	const bool is_locked = a->plan->mutation != STEAL_RACY_STEAL;
	uint64_t task = NO_TASK, top;

	a->plan->attempts++;
	if (is_locked) {
		lock(a, d, thief_scope(a));
	} else {
		(void)nvw_atomic_load(&d->lock, NVW_ACQUIRE, thief_scope(a));
	}
	top = nvw_load(&d->top);
	if (top < nvw_load(&d->bottom)) {
		task = nvw_load(&d->tasks[top]);
		nvw_store(&d->top, top + 1);
	}
	if (is_locked) {
		unlock(d, thief_scope(a));
	}
	return task;
}

/* A round: some of the others, the next ones in the next round. */
static uint64_t steal_from_some(const struct steal_args *a, uint64_t round)
{
	const uint64_t others = nvw_group_count() - 1, tries = others < VICTIMS_MAX ? others : VICTIMS_MAX;
	uint64_t task = NO_TASK;

	for (uint64_t i = 0; i < tries && task == NO_TASK; i++) {
		const uint64_t other = (round * VICTIMS_MAX + i) % others;

		task = steal(a, (nvw_group_id() + 1 + other) % (others + 1));
	}
	return task == NO_TASK ? task : task | STOLEN;
}

/* ---- Taking a task -------------------------------------------------------------------------------- */

/* Looks whether anything is left, more often from one vain round to the next: an attempt to steal disturbs
 * its victim, and with a remote scope every CU (alsop16 II.D). */
static bool is_anything_left(const struct steal_args *a, uint64_t rounds)
{
	const uint64_t looks = UINT64_C(1) << (rounds < LOG2_LOOKS_MAX ? rounds : LOG2_LOOKS_MAX);
	bool is_left = true;

	for (uint64_t i = 0; i < looks && is_left; i++) {
		is_left = nvw_atomic_load(a->left, NVW_RELAXED, NVW_SCOPE_AGENT) != 0;
	}
	return is_left;
}

/* Gives up when for long no work-group has completed a task: a seeded bug, or a protocol without remote
 * scopes, may have lost one. */
static uint64_t find_task(const struct steal_args *a)
{
	const uint64_t idle_max = a->plan->mutation == STEAL_UNMUTATED ? IDLE_MAX : IDLE_MAX_MUTATED;
	uint64_t task = pop(a), executed = a->plan->executed, idle = 0;

	if (a->plan->scenario == STEAL_SCOPED) {
		return task;
	}
	for (uint64_t rounds = 0; task == NO_TASK && is_anything_left(a, rounds); rounds++) {
		idle = a->plan->executed == executed ? idle + 1 : 0;
		executed = a->plan->executed;
		if (idle == idle_max) {
			a->plan->stuck++;
			break;
		}
		task = steal_from_some(a, rounds);
	}
	return task;
}

/* By the first work-item for all of them. The barrier before says that all have read what it found last. */
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

/* ---- Carrying it out ------------------------------------------------------------------------------ */

/* What a work-group has in its hands: uniform over its work-items. */
struct work {
	uint64_t task, record;
	bool is_stolen, has_child;
	uint64_t *from, *to, *child; /* the task, the record, the child: a word, then words more */
};

static struct work begin(const struct steal_args *a, uint64_t task, uint64_t record)
{
	const struct steal_plan *const p = a->plan;
	const uint64_t t = task & ~STOLEN, group = nvw_group_id();
	struct work w = {
		.task = t,
		.record = record,
		.is_stolen = (task & STOLEN) != 0,
		.from = nvw_at(&a->pmem, uint64_t, steal_task(a->tasks, p->words, t)),
		.to = nvw_at(&a->pmem, uint64_t, steal_record(a->logs, p->words, p->count, group, record)),
		.child = nvw_at(&a->pmem, uint64_t, steal_task(a->tasks, p->words, t + p->tree.roots)),
	};

	w.has_child = steal_has_child(p->tree, t, steal_result(t, nvw_load(&w.from[1]), 0));
	return w;
}

static void claim(const struct steal_args *a, const struct work *w)
{
	if (w->is_stolen && nvw_local_id() == 0) {
		nvw_store(&w->from[0], steal_claim_word(nvw_group_id(), w->record));
	}
}

static void write_result(const struct steal_args *a, const struct work *w)
{
	for (uint64_t i = nvw_local_id(); i < a->plan->words; i += nvw_group_size()) {
		nvw_store(&w->to[1 + i], steal_result(w->task, nvw_load(&w->from[1 + i]), i));
	}
}

static void write_child(const struct steal_args *a, const struct work *w)
{
	for (uint64_t i = nvw_local_id(); w->has_child && i < a->plan->words; i += nvw_group_size()) {
		const uint64_t result = steal_result(w->task, nvw_load(&w->from[1 + i]), i);

		nvw_store(&w->child[1 + i], steal_child_input(result));
	}
}

/* (g) */
static void commit(const struct steal_args *a, const struct work *w)
{
	const uint64_t head = steal_head(w->task, w->record);

	if (a->plan->mutation == STEAL_TORN_COMMIT) {
		nvw_store((uint32_t *)w->to + 1, (uint32_t)(head >> 32));
		nvw_store((uint32_t *)w->to, (uint32_t)head);
	} else {
		nvw_store(&w->to[0], head);
	}
}

/* (e) to (i), by one work-item. */
static void complete(const struct steal_args *a, const struct work *w)
{
	const enum steal_mutation bug = a->plan->mutation;

	if (bug == STEAL_LATE_CLAIM) {
		claim(a, w);
	}
	if (w->has_child) {
		nvw_store(&w->child[0], STEAL_PRESENT); /* (e) */
		if (bug != STEAL_COMPLETE_BEFORE_CHILD) {
			nvw_p_barrier_wi(); /* (f) */
		}
	}
	commit(a, w);
	if (bug == STEAL_ACK_BEFORE_BARRIER) {
		nvw_ack(w->task);
	}
	nvw_p_barrier_wi(); /* (h) */
	if (bug != STEAL_ACK_BEFORE_BARRIER) {
		nvw_ack(w->task); /* (i) */
	}
}

/* (j), and the books. A child takes its parent's place among those that are left. */
static void hand_on(const struct steal_args *a, const struct work *w)
{
	if (w->has_child) {
		push(a, w->task + a->plan->tree.roots);
	} else {
		(void)nvw_atomic_sub(a->left, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
	a->plan->executed++;
	a->plan->stolen += w->is_stolen;
}

static void execute(const struct steal_args *a, const struct work *w)
{
	const enum steal_mutation bug = a->plan->mutation;

	if (bug != STEAL_NO_CLAIM && bug != STEAL_LATE_CLAIM) {
		claim(a, w); /* (a) */
	}
	if (bug != STEAL_COMMIT_BEFORE_RESULT) {
		write_result(a, w); /* (b) */
	}
	if (bug != STEAL_CHILD_BEFORE_INPUT) {
		write_child(a, w); /* (c) */
	}
	if (bug == STEAL_NARROW_SCOPE) {
		nvw_p_barrier_wi();
	} else {
		nvw_p_barrier_wg(); /* (d) */
	}
	if (bug == STEAL_COMMIT_BEFORE_RESULT) {
		write_result(a, w);
	}
	if (bug == STEAL_CHILD_BEFORE_INPUT) {
		write_child(a, w);
	}
	nvw_barrier(
		NVW_WORKGROUP); /* where (d) does not wait: all has been written, for who takes the child */
	if (nvw_local_id() == 0) {
		complete(a, w);
		hand_on(a, w);
	}
}

/* Seeded bug "overwritten-record": a stolen task's record is used again. */
static bool keeps_record(const struct steal_args *a, const struct work *w)
{
	return a->plan->mutation != STEAL_OVERWRITTEN_RECORD || !w->is_stolen;
}

void steal_kernel(const void *args)
{
	const struct steal_args *const a = args;
	uint64_t records = 0, task;

	while ((task = take_task(a)) != NO_TASK && records < a->plan->count) {
		const struct work w = begin(a, task, records);

		execute(a, &w);
		records += keeps_record(a, &w);
	}
	if (nvw_local_id() == 0 && records > a->plan->most) {
		a->plan->most = records;
	}
}
