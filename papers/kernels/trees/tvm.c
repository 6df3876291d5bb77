/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The task vector machine as defined in hechtman14 5.4.2: a task vector, and a stack of masks that give the
 * entries to run in each epoch. One work-item executes the tasks of an epoch, in the order of their entries;
 * vector and stack are on the host.
 */
#include "tasks/machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct tvm {
	struct task_run run;
	int32_t *code;
	uint32_t *word; /* word i of entry e is word[e * words + i] */
	uint32_t next;
	bool joins, maps;
	bool *fork_mask, *join_mask; /* of the epoch that runs */
	bool **stack;                /* masks, next to run.stack; each has as many entries as its range */
	const bool *mask;            /* the execution mask */
};

static struct tvm *tvm_of(struct task_run *run)
{
	return (struct tvm *)(void *)run;
}

/* ---- For a task ----------------------------------------------------------------------------------- */

static uint32_t word(struct task_run *run, uint32_t entry, unsigned i)
{
	assert(entry < run->options.entries && i < run->program->words);
	return tvm_of(run)->word[(uint64_t)entry * run->program->words + i];
}

static uint32_t allocate(struct task_run *run)
{
	struct tvm *const t = tvm_of(run);

	if (t->next < run->options.entries) {
		t->fork_mask[t->next] = false;
	}
	run->totals.atomics++;
	return t->next++;
}

static void fill(struct task_run *run, uint32_t entry, int32_t code, const uint32_t *words, unsigned n)
{
	struct tvm *const t = tvm_of(run);

	assert(entry < run->options.entries && n <= run->program->words);
	t->code[entry] = code;
	t->fork_mask[entry] =
		code > 0; /* joined tasks are in the other mask, and not among the allocated ones */
	if (n > 0) {
		memcpy(&t->word[(uint64_t)entry * run->program->words], words, 4ul * n);
	}
}

static void schedule_join(struct task_run *run, uint32_t entry)
{
	assert(entry >= run->now.first && entry < run->now.end);
	tvm_of(run)->join_mask[entry] = true;
	tvm_of(run)->joins = true;
}

static void schedule_map(struct task_run *run)
{
	tvm_of(run)->maps = true;
}

static const struct task_machine tvm_machine = {
	.word = word,
	.allocate = allocate,
	.fill = fill,
	.schedule_join = schedule_join,
	.schedule_map = schedule_map,
};

/* ---- Phase 2, by one work-item -------------------------------------------------------------------- */

static void run_epoch(const void *args)
{
	struct tvm *const t = *(struct tvm *const *)args;
	const struct task_range *const range = &t->run.now;

	for (uint32_t e = range->first; e < range->end && t->run.error == 0; e++) {
		if (t->mask[e - range->first]) {
			task_execute(&t->run, e, t->code[e]);
		}
	}
}

static void run_maps(const void *args)
{
	struct tvm *const t = *(struct tvm *const *)args;

	for (uint32_t e = t->run.free_first; e < t->next; e++) {
		task_execute_map(&t->run, e, t->code[e]);
	}
}

static int tvm_launch(struct tvm *t, const char *name, nvw_kernel kernel)
{
	struct tvm *const args = t;

	return nvw_launch(t->run.machine, name, kernel, &args, 1, 1);
}

/* ---- Phases 1 and 3 ------------------------------------------------------------------------------- */

static int push_mask(struct tvm *t, uint32_t depth, const bool *mask, uint32_t first, uint32_t end)
{
	bool *const copy = malloc(end - first + 1);

	assert(first < end && depth <= NVW_TASK_DEPTH_MAX && t->stack[depth] == NULL);
	NVW_ALLOCATED(
		copy, "program %s: no memory for a mask of %u entries", t->run.program->name, end - first);
	memcpy(copy, mask + first, end - first);
	t->stack[depth] = copy;
	return 0;
}

/* The join mask first, then the fork mask, so that forked tasks run next. */
static int end_epoch(struct tvm *t)
{
	struct task_run *const r = &t->run;
	const struct task_range now = r->now;
	const uint32_t depth = r->depth, first = r->free_first;
	int error = task_end_epoch(r, t->next, t->joins, t->maps);
	assert(t->next >= first);

	if (error == 0 && t->joins) {
		error = push_mask(t, depth, t->join_mask, now.first, now.end);
	}
	if (error == 0 && r->depth > depth + t->joins) {
		error = push_mask(t, depth + t->joins, t->fork_mask, first, t->next);
	}
	return error;
}

static int epoch(struct tvm *t)
{
	struct task_run *const r = &t->run;
	bool *const mask = t->stack[r->depth];
	int error;

	memset(t->join_mask + r->now.first, 0, r->now.end - r->now.first);
	t->joins = t->maps = false;
	t->next = r->free_first;
	t->mask = mask;
	error = tvm_launch(t, "tvm-epoch", run_epoch);
	if (error == 0 && r->error == 0 && t->maps) {
		error = tvm_launch(t, "tvm-map", run_maps);
	}
	free(mask);
	t->stack[r->depth] = NULL;
	NVW_TRY(error);
	NVW_TRY(end_epoch(t));
	return !r->options.on_epoch ? 0 : task_tell_epoch(r, (const uint32_t *)(const void *)t->code);
}

/* ---- The whole ------------------------------------------------------------------------------------ */

static int begin(struct tvm *t, nvw_task_run function, const uint32_t *words, unsigned n)
{
	static const bool one = true;
	const uint64_t entries = t->run.options.entries, per_entry = t->run.program->words;

	assert(n <= per_entry);
	t->code = calloc(entries, sizeof *t->code);
	t->word = calloc(entries * per_entry + 1, sizeof *t->word);
	t->fork_mask = calloc(entries, sizeof *t->fork_mask);
	t->join_mask = calloc(entries, sizeof *t->join_mask);
	t->stack = calloc(NVW_TASK_DEPTH_MAX + 1, sizeof *t->stack);
	NVW_FAIL_IF(!t->code || !t->word || !t->fork_mask || !t->join_mask || !t->stack, NVW_E_MEMORY,
		"program %s: no memory for a task vector of %u entries", t->run.program->name,
		t->run.options.entries);
	NVW_TRY(task_run_first(&t->run, function, n, &t->code[0]));
	if (n > 0) {
		memcpy(t->word, words, 4ul * n);
	}
	return push_mask(t, 0, &one, 0, 1);
}

static void end(struct tvm *t)
{
	for (uint32_t i = 0; t->stack && i <= NVW_TASK_DEPTH_MAX; i++) {
		free(t->stack[i]);
	}
	free(t->stack);
	free(t->join_mask);
	free(t->fork_mask);
	free(t->word);
	free(t->code);
	task_run_end(&t->run);
}

int nvw_tvm_run(struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options, nvw_task_run function, const uint32_t *words, unsigned n,
	struct nvw_task_totals *ret_totals)
{
	struct tvm t = {.code = NULL};
	int error = task_run_begin(&t.run, &tvm_machine, machine, program, options);

	if (error == 0) {
		error = begin(&t, function, words, n);
	}
	while (error == 0 && task_next_epoch(&t.run)) {
		error = epoch(&t);
	}
	if (error == 0) {
		memcpy(t.run.totals.result, t.word, 4ul * program->words);
	}
	*ret_totals = t.run.totals;
	end(&t);
	return error;
}
