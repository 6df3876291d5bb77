/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TREES: the task vector machine by kernel launches (hechtman14 5.5).
 *
 * The task vector is a structure of arrays of 4-byte words in DRAM, so that the accesses of a wavefront
 * coalesce: the codes, and one array per word. A launch is an epoch, a work-item per entry of its range. Host
 * and device share three words in one line: the next free entry, whether a join was scheduled, and whether a
 * map was.
 *
 * Work-items reach the shared words by relaxed atomics: several fork at once. Kernels' ends and beginnings
 * order everything else.
 */
#include "save.h"

#include <assert.h>
#include <stdlib.h>

enum { NEXT, JOINS, MAPS, SHARED_WORDS = 16 };

struct trees {
	struct task_run run;
	struct save_vector vector;
	uint32_t *shared;
	uint64_t points; /* recovery points of this run */
};

static struct trees *trees_of(struct task_run *run)
{
	return (struct trees *)(void *)run;
}

static uint32_t *word_of(const struct trees *t, uint32_t entry, unsigned i)
{
	return &t->vector.word[i * t->vector.stride + entry];
}

/* ---- For a task ----------------------------------------------------------------------------------- */

static uint32_t word(struct task_run *run, uint32_t entry, unsigned i)
{
	assert(i < run->program->words);
	return nvw_load(word_of(trees_of(run), entry, i));
}

static uint32_t allocate(struct task_run *run)
{
	const uint32_t entry =
		nvw_wavefront_add(&trees_of(run)->shared[NEXT], 1, NVW_RELAXED, NVW_SCOPE_AGENT);

	run->totals.atomics += nvw_wavefront_added();
	return entry;
}

static void fill(struct task_run *run, uint32_t entry, int32_t code, const uint32_t *words, unsigned n)
{
	const struct trees *const t = trees_of(run);

	assert(n <= run->program->words);
	if (entry >= run->free_first) {
		task_spare(run, &t->vector.code[entry]);
		NVW_FOR(i, n) {
			task_spare(run, word_of(t, entry, i));
		}
	}
	nvw_store(&t->vector.code[entry], code);
	NVW_FOR(i, n) {
		nvw_store(word_of(t, entry, i), words[i]);
	}
}

static void schedule_join(struct task_run *run, uint32_t entry)
{
	assert(entry >= run->now.first && entry < run->now.end);
	(void)entry;
	nvw_atomic_store(&trees_of(run)->shared[JOINS], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static void schedule_map(struct task_run *run)
{
	nvw_atomic_store(&trees_of(run)->shared[MAPS], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static const struct task_machine trees_machine = {
	.word = word,
	.allocate = allocate,
	.fill = fill,
	.schedule_join = schedule_join,
	.schedule_map = schedule_map,
};

/* ---- Kernels -------------------------------------------------------------------------------------- */

/* A work-item per entry. */
static void run_epoch(const void *args)
{
	struct trees *const t = *(struct trees *const *)args;
	const uint64_t entry = t->run.now.first + nvw_global_id();

	task_join_epoch(&t->run);
	if (entry < t->run.now.end) {
		task_execute(&t->run, (uint32_t)entry, nvw_load(&t->vector.code[entry]));
	}
	task_order_epoch(&t->run);
}

/* A work-group per entry. */
static void run_maps(const void *args)
{
	struct trees *const t = *(struct trees *const *)args;
	const uint32_t entry = t->run.free_first + (uint32_t)nvw_group_id();

	task_join_epoch(&t->run);
	task_execute_map(&t->run, entry, nvw_load(&t->vector.code[entry]));
}

/* ---- The host ------------------------------------------------------------------------------------- */

/* Whether the task vector lies in NVRAM, and epochs log what they change. */
static bool is_undone(const struct task_run *run)
{
	return run->options.save != NULL && run->options.save->undo;
}

static int allocate_vector(struct trees *t)
{
	const uint64_t stride = save_stride(t->run.options.entries);
	assert(!t->shared);

	if (is_undone(&t->run)) {
		t->vector = task_vector_in_pool(&t->run);
	} else {
		t->vector.stride = stride;
		t->vector.code = nvw_alloc(t->run.machine, 4 * stride);
		t->vector.word = nvw_alloc(
			t->run.machine, 4 * stride * (t->run.program->words + !t->run.program->words));
	}
	t->shared = nvw_alloc(t->run.machine, 4 * SHARED_WORDS);
	NVW_FAIL_IF(!t->vector.code || !t->vector.word || !t->shared, NVW_E_MEMORY,
		"program %s: no device memory for a task vector of %u entries with %u words",
		t->run.program->name, t->run.options.entries, t->run.program->words);
	return 0;
}

static int write_first(struct trees *t, nvw_task_run function, const uint32_t *words, unsigned n)
{
	struct nvw_machine *const m = t->run.machine;
	int32_t code;
	NVW_TRY(task_run_first(&t->run, function, n, &code));
	assert(n <= t->run.program->words);
	NVW_TRY(nvw_write(m, &t->vector.code[0], &code, sizeof code));
	NVW_FOR(i, n) {
		NVW_TRY(nvw_write(m, word_of(t, 0, i), &words[i], 4));
	}
	return 0;
}

static int launch_maps(struct trees *t, uint32_t next)
{
	const uint64_t groups = next - t->run.free_first;
	const unsigned group_size = t->run.options.group_size;
	struct trees *const args = t;

	assert(next > t->run.free_first);
	return nvw_launch(t->run.machine, "trees-map", run_maps, &args, groups * group_size, group_size);
}

static int tell_epoch(struct trees *t)
{
	uint32_t *entry;
	int error;

	if (!t->run.options.on_epoch) {
		return 0;
	}
	entry = calloc(t->run.options.entries, sizeof *entry);
	NVW_ALLOCATED(entry, "program %s: no memory to report an epoch", t->run.program->name);
	error = nvw_read(t->run.machine, entry, t->vector.code, 4ul * t->run.options.entries);
	if (error == 0) {
		error = task_tell_epoch(&t->run, entry);
	}
	free(entry);
	return error;
}

static int launch_epoch(struct trees *t)
{
	struct task_run *const r = &t->run;
	uint32_t shared[] = {[NEXT] = r->free_first, [JOINS] = 0, [MAPS] = 0};
	struct trees *const args = t;
	assert(r->now.first < r->now.end);
	NVW_TRY(nvw_write(r->machine, t->shared, shared, sizeof shared));
	if (is_undone(r)) {
		NVW_TRY(task_log(r, &t->vector));
	}
	NVW_TRY(nvw_launch(r->machine, "trees-epoch", run_epoch, &args, r->now.end - r->now.first,
		r->options.group_size));
	NVW_TRY(nvw_read(r->machine, shared, t->shared, sizeof shared));
	if (r->error == 0 && shared[MAPS] != 0) {
		NVW_TRY(launch_maps(t, shared[NEXT]));
	}
	NVW_TRY(task_end_epoch(r, shared[NEXT], shared[JOINS] != 0, shared[MAPS] != 0));
	return tell_epoch(t);
}

static int read_result(struct trees *t)
{
	assert(t->run.program->words <= NVW_TASK_WORDS_MAX);
	NVW_FOR(i, t->run.program->words) {
		NVW_TRY(nvw_read(t->run.machine, &t->run.totals.result[i], word_of(t, 0, i), 4));
	}
	return 0;
}

/* A recovery point, if one is due: before the first epoch, after every so many, at the end. */
static int save_if_due(struct trees *t)
{
	const struct nvw_task_save *const save = t->run.options.save;

	assert(!save || save->every > 0);
	if (!save || (t->run.depth != 0 && t->run.totals.epochs % save->every != 0)) {
		return 0;
	}
	t->points++;
	return task_save(&t->run, &t->vector);
}

static int check_save(const struct task_run *run)
{
	const struct nvw_task_save *const save = run->options.save;

	if (!save) {
		return 0;
	}
	NVW_FOR(i, save->array_count) {
		NVW_FAIL_IF(save->arrays[i].bytes % 8 != 0 || (uintptr_t)save->arrays[i].device % 8 != 0,
			NVW_E_USAGE,
			"program %s: recovery points: array %u: expected an 8-byte aligned array of "
			"8-byte words",
			run->program->name, i);
	}
	if (save->undo ? save->every != 1 : save->every == 0) {
		return nvw_fail(NVW_E_USAGE,
			"program %s: recovery points: expected one every %s, found one every %u",
			run->program->name, save->undo ? "epoch with undo logging" : "1 or more epochs",
			save->every);
	}
	return 0;
}

static int begin_run(struct trees *t, struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options)
{
	NVW_TRY(task_run_begin(&t->run, &trees_machine, machine, program, options));
	NVW_TRY(check_save(&t->run));
	return allocate_vector(t);
}

static bool is_enough(const struct trees *t)
{
	return t->run.options.points_most != 0 && t->points >= t->run.options.points_most;
}

/* Carries out the epochs that are left, whether it is the beginning or a recovery point. */
static int go_on(struct trees *t)
{
	while (!is_enough(t) && task_next_epoch(&t->run)) {
		NVW_TRY(launch_epoch(t));
		NVW_TRY(save_if_due(t));
	}
	return read_result(t);
}

static int run_from_first(struct trees *t, nvw_task_run function, const uint32_t *words, unsigned n)
{
	assert(t->points == 0);
	NVW_TRY(write_first(t, function, words, n));
	NVW_TRY(save_if_due(t));
	return go_on(t);
}

static int end_run(struct trees *t, uint64_t mark, int error, struct nvw_task_totals *ret_totals)
{
	task_run_end(&t->run);
	nvw_release(t->run.machine, mark);
	*ret_totals = t->run.totals;
	return error;
}

int nvw_trees_run(struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options, nvw_task_run function, const uint32_t *words, unsigned n,
	struct nvw_task_totals *ret_totals)
{
	const uint64_t mark = nvw_mark(machine);
	struct trees t = {.shared = NULL};
	int error = begin_run(&t, machine, program, options);

	if (error == 0) {
		error = run_from_first(&t, function, words, n);
	}
	return end_run(&t, mark, error, ret_totals);
}

int nvw_trees_resume(struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options, struct nvw_task_totals *ret_totals)
{
	const uint64_t mark = nvw_mark(machine);
	struct trees t = {.shared = NULL};
	int error = begin_run(&t, machine, program, options);

	if (error == 0) {
		error = task_restore(&t.run, &t.vector);
	}
	if (error == 0) {
		error = go_on(&t);
	}
	return end_run(&t, mark, error, ret_totals);
}
