/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeded bugs of saved-tasks: for each, the steps of a recovery point (tasks/tasks.h) that it
 * replaces. */
#define NVW_NOT_COVERED
#include "saved_tasks.h"

#include <assert.h>
#include <stddef.h>

/* ---- What a recovery point lacks -------------------------------------------------------------------- */

static uint64_t write_over_it(uint64_t copy)
{
	return 0;
}

static uint64_t all_but_one(uint64_t count)
{
	assert(count > 0);
	return count - 1;
}

static uint32_t half(uint32_t in_use)
{
	return (in_use + 1) / 2;
}

static uint32_t one_less(uint32_t depth)
{
	return depth > 0 ? depth - 1 : 0;
}

static bool log_nothing(unsigned array)
{
	return false;
}

static bool log_words(unsigned array)
{
	return array > 0;
}

static bool log_codes(unsigned array)
{
	return array == 0;
}

static uint64_t all_but_arrays(uint64_t arrays, uint64_t total)
{
	return arrays;
}

/* ---- Orders that are missing or too narrow ------------------------------------------------------------ */

static void only_meet(void)
{
	nvw_barrier(NVW_KERNEL);
}

static void order_group(void)
{
	nvw_p_barrier_wg();
}

/* ---- The tables ------------------------------------------------------------------------------------- */

#define COPY        "program=fib n=6 entries=64 group-size=16"
#define COPY_QUEENS "program=nqueens n=5 entries=128 group-size=16"
#define UNDO        "recovery=undo " COPY

const struct nvw_mutation saved_mutations[] = {
	[SAVED_FORGOTTEN_ARRAY] = {"forgotten-array", "recovery points lack the array that tasks count in",
		"observed", "program=nqueens n=5"},
	[SAVED_UNORDERED_COPY] = {"unordered-copy",
		"a recovery point is completed before its copy is durable", "observed", COPY},
	[SAVED_NARROW_COPY] = {"narrow-copy",
		"each work-group orders its own part of a copy before the completion", "epoch",
		"program=fib n=9 entries=256"},
	[SAVED_UNORDERED_COMPLETION] = {"unordered-completion",
		"a recovery point is acknowledged, and the other overwritten, before its completion is "
		"durable",
		"observed", COPY},
	[SAVED_ONE_COPY] = {"one-copy", "every recovery point overwrites the one before it", "observed",
		COPY},
	[SAVED_SHORT_COPY] = {"short-copy", "a recovery point lacks its last word", "observed", COPY_QUEENS},
	[SAVED_HALF_VECTOR] = {"half-vector", "a recovery point has the first half of the task vector only",
		"observed", COPY},
	[SAVED_LOST_EPOCH] = {"lost-epoch", "a recovery point lacks the epoch that would run next",
		"observed", COPY_QUEENS},
	[SAVED_FORGOTTEN_COUNTS] = {"forgotten-counts",
		"after a crash, tasks count from 0 what they had counted until the recovery point",
		"and-then", "program=marks n=9 entries=64 group-size=16"},
	[SAVED_NO_LOG] = {"no-log", "epochs log nothing", "observed", UNDO},
	[SAVED_CODES_UNLOGGED] = {"codes-unlogged", "epochs do not log which functions waited", "observed",
		UNDO},
	[SAVED_WORDS_UNLOGGED] = {"words-unlogged", "epochs do not log the arguments of tasks", "observed",
		UNDO},
	[SAVED_UNORDERED_LOG] = {"unordered-log", "tasks run before what they change is in the log",
		"observed", UNDO},
	[SAVED_UNORDERED_TASKS] = {"unordered-tasks",
		"an epoch is completed before what its tasks stored is durable", "epoch", UNDO},
	{NULL, NULL, NULL, NULL},
};

/* As the sources above and tasks/tasks.h say; not from what the tester printed. Tasks' stores are those of
 * fill(); work-item 0 completes and acknowledges a recovery point, later kernels change what it covers. */
const struct nvw_lack saved_lacks[] = {
	{"forgotten-array", "none"},
	{"unordered-copy", "barrier kernel save_point nvw_epoch_complete"},
	{"narrow-copy", "barrier kernel save_point nvw_epoch_complete"},
	{"unordered-completion",
		"barrier work-item nvw_epoch_complete *; barrier work-group nvw_epoch_complete *; "
		"barrier kernel nvw_epoch_complete *; barrier host nvw_epoch_complete *"},
	/* Also: every second point is not in the copy in which recovery looks for it, whatever was lost. */
	{"one-copy", "none; atomic save_point|nvw_epoch_complete"},
	{"short-copy", "none"},
	{"half-vector", "none"},
	{"lost-epoch", "none"},
	{"no-log", "atomic fill|nvw_epoch_complete"},
	{"codes-unlogged", "atomic fill|nvw_epoch_complete"},
	{"words-unlogged", "atomic fill|nvw_epoch_complete"},
	{"unordered-log", "barrier host nvw_undo fill; barrier kernel nvw_undo fill"},
	{"unordered-tasks", "barrier host fill nvw_epoch_complete; barrier kernel fill nvw_epoch_complete"},
	{NULL, NULL},
};

const struct nvw_task_steps *saved_replaced(enum saved_mutation mutation)
{
	static const struct nvw_task_steps none,
		replaced[] = {
			[SAVED_UNORDERED_COPY] = {.before_completion = only_meet},
			[SAVED_NARROW_COPY] = {.before_completion = order_group},
			[SAVED_UNORDERED_COMPLETION] = {.after_completion = only_meet},
			[SAVED_ONE_COPY] = {.copy = write_over_it},
			[SAVED_SHORT_COPY] = {.words = all_but_one},
			[SAVED_HALF_VECTOR] = {.entries = half},
			[SAVED_LOST_EPOCH] = {.depth = one_less},
			[SAVED_FORGOTTEN_COUNTS] = {.restored = all_but_arrays},
			[SAVED_NO_LOG] = {.logs = log_nothing},
			[SAVED_CODES_UNLOGGED] = {.logs = log_words},
			[SAVED_WORDS_UNLOGGED] = {.logs = log_codes},
			[SAVED_UNORDERED_LOG] = {.after_log = only_meet},
			[SAVED_UNORDERED_TASKS] = {.after_tasks = only_meet},
		};

	assert(mutation < 0 || (size_t)mutation < sizeof(replaced) / sizeof(*replaced));
	return mutation <= SAVED_FORGOTTEN_ARRAY ? &none : &replaced[mutation];
}
