/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeded bugs of mutex, uts, semaphore and tree-barrier: what each one does in place of a step. */
#define NVW_NOT_COVERED
#include "steps.h"

/* ---- Orders and scopes ------------------------------------------------------------------------------ */

static uint32_t draw_relaxed(uint32_t *next, enum nvw_scope scope)
{
	return nvw_atomic_add(next, 1, NVW_RELAXED, scope);
}

static uint32_t draw_in_cu(uint32_t *next, enum nvw_scope scope)
{
	(void)scope;
	return nvw_atomic_add(next, 1, NVW_ACQUIRE, NVW_SCOPE_WORKGROUP);
}

static uint32_t look_relaxed(uint32_t *place, enum nvw_scope scope)
{
	return nvw_atomic_load(place, NVW_RELAXED, scope);
}

static uint32_t look_in_cu(uint32_t *place, enum nvw_scope scope)
{
	(void)scope;
	return nvw_atomic_load(place, NVW_ACQUIRE, NVW_SCOPE_WORKGROUP);
}

static uint32_t set_relaxed(uint32_t *word, enum nvw_scope scope)
{
	return nvw_atomic_exchange(word, 1, NVW_RELAXED, scope);
}

static uint32_t set_in_cu(uint32_t *word, enum nvw_scope scope)
{
	(void)scope;
	return nvw_atomic_exchange(word, 1, NVW_ACQUIRE, NVW_SCOPE_WORKGROUP);
}

static void release_relaxed(uint32_t *word, uint32_t value, enum nvw_scope scope)
{
	nvw_atomic_store(word, value, NVW_RELAXED, scope);
}

static void release_in_cu(uint32_t *word, uint32_t value, enum nvw_scope scope)
{
	(void)scope;
	nvw_atomic_store(word, value, NVW_RELEASE, NVW_SCOPE_WORKGROUP);
}

static void arrive_relaxed(uint32_t *arrived)
{
	nvw_atomic_add(arrived, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static void await_relaxed(uint32_t *arrived, uint32_t count)
{
	while (nvw_atomic_load(arrived, NVW_RELAXED, NVW_SCOPE_AGENT) < count) {
	}
}

/* ---- Without waiting -------------------------------------------------------------------------------- */

static bool ask_nobody(struct lock_attempt *at)
{
	(void)at;
	return true;
}

/* If the lock may have been lost, continues without it after some time. */
static bool ask_and_give_up(struct lock_attempt *at)
{
	enum { PATIENCE = 10000 };

	return at->asked++ == PATIENCE || lock_ask(at);
}

static bool take_nothing(uint32_t *semaphore, uint32_t units, enum nvw_scope scope, uint32_t *ret_turns)
{
	(void)units;
	*ret_turns = nvw_atomic_load(semaphore, NVW_ACQUIRE, scope) >> UNITS_BITS;
	return true;
}

static void give_nothing(uint32_t *semaphore, uint32_t units, uint32_t turns, enum nvw_scope scope)
{
	(void)units;
	nvw_atomic_add(semaphore, turns << UNITS_BITS, NVW_RELEASE, scope);
}

static uint32_t one_unit(uint32_t parts)
{
	(void)parts;
	return 1;
}

static void await_nobody(uint32_t *arrived, uint32_t count)
{
	(void)arrived;
	(void)count;
}

/* ---- The tables ------------------------------------------------------------------------------------- */

const struct nvw_mutation mutex_mutations[] = {
	[LOCK_NO_ACQUIRE] = {"no-acquire", "the lock is taken by relaxed atomics", "verify", NULL},
	[LOCK_RELAXED_RELEASE] = {"relaxed-release", "the lock is released by a relaxed store", "verify",
		NULL},
	[LOCK_NO_LOCK] = {"no-lock", "no work-group takes the lock", "verify", NULL},
	[LOCK_NARROW_SCOPE] = {"narrow-scope", "a lock of all CUs is taken at local scope", "verify", NULL},
	{NULL, NULL, NULL, NULL},
};

const struct nvw_mutation uts_mutations[] = {
	[LOCK_NO_ACQUIRE] = {"no-acquire", "the lock of the global queue is taken by relaxed atomics",
		"verify", NULL},
	[LOCK_RELAXED_RELEASE] = {"relaxed-release",
		"the lock of the global queue is released by a relaxed store", "verify", NULL},
	[LOCK_NO_LOCK] = {"no-lock", "no work-group takes the locks of the local queues", "verify", NULL},
	[LOCK_NARROW_SCOPE] = {"narrow-scope", "the lock of the global queue is taken at local scope",
		"verify", NULL},
	{NULL, NULL, NULL, NULL},
};

const struct nvw_mutation semaphore_mutations[] = {
	[SEMAPHORE_NO_LOCK] = {"no-lock", "no work-group waits for the semaphore", "verify", NULL},
	[SEMAPHORE_WRITER_TAKES_ONE] = {"writer-takes-one",
		"the writer takes one unit of the semaphore, not all", "verify", NULL},
	{NULL, NULL, NULL, NULL},
};

const struct nvw_mutation barrier_mutations[] = {
	[BARRIER_NO_ACQUIRE] = {"no-acquire", "work-groups leave the global barrier by a relaxed load",
		"verify", "accesses=1"},
	/* The CU's stores must fit in its store buffer: overflowing stores arrive even without a release. */
	[BARRIER_RELAXED_RELEASE] = {"relaxed-release",
		"work-groups join the global barrier by a relaxed atomic", "verify", "accesses=2"},
	[BARRIER_NO_BARRIER] = {"no-barrier", "CUs do not wait for each other", "verify", NULL},
	{NULL, NULL, NULL, NULL},
};

static const struct lock_steps as_it_is;

const struct lock_steps *mutex_replaced(enum lock_mutation mutation)
{
	static const struct lock_steps replaced[] = {
		[LOCK_NO_ACQUIRE] = {.draw = draw_relaxed, .look = look_relaxed, .set = set_relaxed},
		[LOCK_RELAXED_RELEASE] = {.release = release_relaxed},
		[LOCK_NO_LOCK] = {.ask = ask_nobody},
		[LOCK_NARROW_SCOPE] = {.ask = ask_and_give_up,
			.draw = draw_in_cu,
			.look = look_in_cu,
			.set = set_in_cu,
			.release = release_in_cu},
	};

	assert(mutation <= LOCK_NARROW_SCOPE);
	return mutation == LOCK_UNMUTATED ? &as_it_is : &replaced[mutation];
}

const struct lock_steps *uts_replaced(enum lock_mutation mutation, bool is_global)
{
	return is_global == (mutation != LOCK_NO_LOCK) ? mutex_replaced(mutation) : &as_it_is;
}

int mutex_check_mutation(enum lock_mutation mutation, bool is_local)
{
	if (!is_local || mutation == LOCK_UNMUTATED || mutation == LOCK_NO_LOCK) {
		return 0;
	}
	return nvw_fail(NVW_E_USAGE, "mutation %s has an effect only with --sharing=global",
		mutex_mutations[mutation].name);
}

const struct semaphore_steps *semaphore_replaced(enum semaphore_mutation mutation)
{
	static const struct semaphore_steps none,
		replaced[] = {
			[SEMAPHORE_NO_LOCK] = {.take = take_nothing, .give = give_nothing},
			[SEMAPHORE_WRITER_TAKES_ONE] = {.writer_units = one_unit},
		};

	return mutation == SEMAPHORE_UNMUTATED ? &none : &replaced[mutation];
}

static const struct barrier_steps barrier_as_it_is;

const struct barrier_steps *barrier_replaced(enum barrier_mutation mutation)
{
	static const struct barrier_steps replaced[] = {
		[BARRIER_NO_ACQUIRE] = {.await = await_relaxed},
		[BARRIER_RELAXED_RELEASE] = {.arrive = arrive_relaxed},
		[BARRIER_NO_BARRIER] = {.await = await_nobody},
	};

	return mutation == BARRIER_UNMUTATED ? &barrier_as_it_is : &replaced[mutation];
}
