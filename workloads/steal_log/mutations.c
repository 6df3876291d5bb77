/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeded bugs of work stealing: for each, the steps that it replaces. */
#define NVW_NOT_COVERED
#include <assert.h>

#include "steps.h"

/* ---- Deques --------------------------------------------------------------------------------------- */

static void choose_narrow_owner(struct steal_args *a)
{
	a->owner = NVW_SCOPE_WORKGROUP;
	a->thief = a->plan->scenario == STEAL_REMOTE ? NVW_SCOPE_REMOTE_AGENT : NVW_SCOPE_AGENT;
}

static void choose_narrow_thief(struct steal_args *a)
{
	a->owner = a->plan->scenario == STEAL_AGENT ? NVW_SCOPE_AGENT : NVW_SCOPE_WORKGROUP;
	a->thief = NVW_SCOPE_WORKGROUP;
}

static void look_at_lock(const struct steal_args *a, struct steal_deque *d)
{
	(void)nvw_atomic_load(&d->lock, NVW_ACQUIRE, a->thief);
}

static void leave_lock(const struct steal_args *a, struct steal_deque *d)
{
}

/* ---- A task --------------------------------------------------------------------------------------- */

static void do_nothing(const struct steal_args *a, const struct steal_work *w)
{
}

static void order_and_write_result(const struct steal_args *a, const struct steal_work *w)
{
	nvw_p_barrier_wg();
	steal_steps.write_result(a, w);
}

static void order_and_write_child(const struct steal_args *a, const struct steal_work *w)
{
	nvw_p_barrier_wg();
	steal_steps.write_child(a, w);
}

static void order_own_words(const struct steal_args *a, const struct steal_work *w)
{
	nvw_p_barrier_wi();
}

static void order_no_child(const struct steal_work *w)
{
}

static void claim_and_commit(const struct steal_args *a, const struct steal_work *w)
{
	if (w->is_stolen) {
		nvw_store(&w->from[0], steal_claim_word(nvw_group_id(), w->record));
	}
	nvw_store(&w->to[0], steal_head(w->task, w->record));
}

static void commit_in_halves(const struct steal_args *a, const struct steal_work *w)
{
	const uint64_t head = steal_head(w->task, w->record);

	nvw_store((uint32_t *)w->to + 1, (uint32_t)(head >> 32));
	nvw_store((uint32_t *)w->to, (uint32_t)head);
}

static void acknowledge_first(const struct steal_work *w)
{
	nvw_ack(w->task);
	nvw_p_barrier_wi();
}

static uint64_t no_record_if_stolen(const struct steal_work *w)
{
	return !w->is_stolen;
}

static bool is_never_made(const struct steal_args *a, uint64_t task)
{
	return false;
}

/* ---- The table ------------------------------------------------------------------------------------ */

const struct nvw_mutation steal_mutations[] = {
	[STEAL_COMMIT_BEFORE_RESULT] = {"commit-before-result",
		"no persist barrier between a result and the head that commits it", "observed", NULL},
	[STEAL_CHILD_BEFORE_INPUT] = {"child-before-input",
		"no persist barrier between a child's input and the state that publishes it", "observed",
		NULL},
	[STEAL_COMPLETE_BEFORE_CHILD] = {"complete-before-child",
		"no persist barrier between a child and the completion of its parent", "observed", NULL},
	[STEAL_ACK_BEFORE_BARRIER] = {"ack-before-barrier",
		"tasks are acknowledged before the barrier that makes their completion durable", "observed",
		NULL},
	[STEAL_NARROW_SCOPE] = {"narrow-scope",
		"work-item scope where one work-item commits words written by others of the group",
		"buffered-epoch", NULL},
	[STEAL_NO_CLAIM] = {"no-claim",
		"thieves claim nothing: their barriers do not cover the tasks written by owners",
		"buffered-epoch", "tasks=4 groups=6 depth=8 spawn=95 group-size=16 skew=100 words=7"},
	[STEAL_LATE_CLAIM] = {"late-claim", "no persist barrier between a thief's claim and its completion",
		"buffered-epoch", "tasks=4 groups=6 depth=8 spawn=95 group-size=16 skew=100 words=7"},
	[STEAL_TORN_COMMIT] = {"torn-commit", "a record's head is written in two halves", "epoch", NULL},
	[STEAL_OVERWRITTEN_RECORD] = {"overwritten-record", "the record of a stolen task is overwritten",
		"observed", NULL},
	[STEAL_NARROW_STEAL] = {"narrow-steal",
		"thieves synchronize with work-group scope: they see a stale deque", "observed", NULL},
	[STEAL_NARROW_OWNER] = {"narrow-owner",
		"owners synchronize with work-group scope, and thieves do not reach out to them", "observed",
		NULL},
	[STEAL_RACY_STEAL] = {"racy-steal", "thieves do not take the lock: a task may be taken twice",
		"observed", NULL},
	[STEAL_FORGOTTEN_CHILD] = {"forgotten-child",
		"after a crash, a parent that is executed again creates its child again, which exists: the "
		"child may get two results",
		"and-then", "tasks=4 groups=6 depth=8 spawn=95 group-size=16 skew=100 words=7"},
	{NULL, NULL, NULL, NULL},
};

/* As the sources above say; not from what the tester printed. */
const struct nvw_lack steal_lacks[] = {
	{"commit-before-result", "barrier work-group write_result commit"},
	{"child-before-input", "barrier work-group write_child complete"},
	{"complete-before-child", "barrier work-item complete commit"},
	{"ack-before-barrier", "barrier work-item commit ack"},
	{"narrow-scope", "barrier work-group write_result|write_child commit|complete"},
	{"no-claim", "barrier kernel write_child|complete commit"},
	{"late-claim",
		"barrier work-item claim_and_commit claim_and_commit; barrier kernel write_child|complete "
		"claim_and_commit"},
	{"torn-commit", "atomic commit_in_halves; exchange commit_in_halves commit_in_halves"},
	{"overwritten-record", "none"},
	{"narrow-steal", "none"},
	{"narrow-owner", "none"},
	{"racy-steal", "none"},
	{NULL, NULL},
};

const struct steal_steps *steal_replaced(enum steal_mutation mutation)
{
	static const struct steal_steps none,
		replaced[] = {
			[STEAL_COMMIT_BEFORE_RESULT] = {.write_result = do_nothing,
				.order_work = order_and_write_result},
			[STEAL_CHILD_BEFORE_INPUT] = {.write_child = do_nothing,
				.order_work = order_and_write_child},
			[STEAL_COMPLETE_BEFORE_CHILD] = {.order_child = order_no_child},
			[STEAL_ACK_BEFORE_BARRIER] = {.acknowledge = acknowledge_first},
			[STEAL_NARROW_SCOPE] = {.order_work = order_own_words},
			[STEAL_NO_CLAIM] = {.claim = do_nothing},
			[STEAL_LATE_CLAIM] = {.claim = do_nothing, .commit = claim_and_commit},
			[STEAL_TORN_COMMIT] = {.commit = commit_in_halves},
			[STEAL_OVERWRITTEN_RECORD] = {.records_used = no_record_if_stolen},
			[STEAL_NARROW_STEAL] = {.choose_scopes = choose_narrow_thief},
			[STEAL_NARROW_OWNER] = {.choose_scopes = choose_narrow_owner},
			[STEAL_RACY_STEAL] = {.lock_victim = look_at_lock, .unlock_victim = leave_lock},
			[STEAL_FORGOTTEN_CHILD] = {.is_made = is_never_made},
		};

	assert(mutation == STEAL_UNMUTATED || (size_t)mutation < sizeof(replaced) / sizeof(*replaced));
	return mutation == STEAL_UNMUTATED ? &none : &replaced[mutation];
}
