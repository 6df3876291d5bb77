/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery points of task programs: writing and reading them on the machine. See tasks/tasks.h. */
#include "save.h"

#include "common/bounds.h"

#include <assert.h>
#include <stdlib.h>

#include <nvw/epoch.h>

enum { GROUP = 64, WORK_ITEMS_MAX = 4096 };

/* What the kernels are given. */
struct save_args {
	struct task_run *run;
	const struct save_vector *vector;
	const struct nvw_task_save *save;
	uint64_t number;    /* of the recovery point, an epoch of the stream */
	uint64_t which;     /* copy, 0 or 1 */
	nvw_off copy, last; /* where it is, and the word about the last recovery point */
	uint32_t depth;
	uint32_t in_use;  /* entries of the task vector, */
	uint32_t entries; /* and those that are copied */
	struct save_parts parts;
};

static uint64_t array_words(const struct nvw_task_save *save)
{
	uint64_t bytes = 0;

	NVW_FOR(i, save->array_count) {
		bytes += save->arrays[i].bytes;
	}
	assert(bytes % 8 == 0);
	return bytes / 8;
}

uint64_t nvw_task_save_bytes(uint32_t entries, unsigned words, uint64_t array_bytes)
{
	const uint64_t copies = save_copy_off(false, 2, entries, words, array_bytes / 8),
		       undo = save_copy_off(true, 2, entries, words, array_bytes / 8);

	return u64_max(copies, undo);
}

uint32_t nvw_task_log_entries(uint32_t entries, unsigned words)
{
	return (uint32_t)(1 + (1 + words) * save_pairs(entries));
}

static nvw_off copy_at(const struct task_run *run, uint64_t copy)
{
	const struct nvw_task_save *const save = run->options.save;

	assert(copy < 2);
	return save->area +
	       save_copy_off(save->undo, copy, run->options.entries, run->program->words, array_words(save));
}

static nvw_off last_at(const struct task_run *run)
{
	return run->options.save->area + save_last_off(run->options.entries, run->program->words);
}

/* Entries in use: those of the epochs that wait, and of the values that these will read. */
static uint32_t entries_in_use(const struct task_run *run)
{
	uint32_t most = 1;

	NVW_FOR(i, run->depth) {
		const struct task_range *const r = &run->stack[i];

		most = u64_max(r->end, most);
		most = u64_max(r->kept_end, most);
	}
	assert(most <= run->options.entries);
	return most;
}

static struct save_args make_args(struct task_run *run, const struct save_vector *vector, uint64_t copy,
	uint32_t in_use, uint32_t depth)
{
	const struct nvw_task_save *const save = run->options.save;
	const uint32_t copied = save->undo ? 0 : in_use;

	assert(in_use <= run->options.entries);
	return (struct save_args){.run = run,
		.vector = vector,
		.save = save,
		.which = copy,
		.copy = copy_at(run, copy),
		.last = last_at(run),
		.depth = depth,
		.in_use = in_use,
		.entries = copied,
		.parts = save_parts(depth, copied, run->program->words, array_words(save))};
}

/* ---- Words ---------------------------------------------------------------------------------------- */

static uint64_t two(uint32_t low, uint32_t high)
{
	return low | (uint64_t)high << 32;
}

static uint64_t header_word(
	const struct task_run *run, const struct save_args *a, uint64_t i, uint64_t number)
{
	const struct nvw_task_totals *const t = &run->totals;

	assert(i < SAVE_HEADER_WORDS);
	switch (i) {
	case SAVE_NUMBER:
		return number;
	case SAVE_DEPTH:
		return two(a->depth, run->next);
	case SAVE_ENTRIES:
		return two(a->in_use, run->program->words);
	case SAVE_EPOCHS:
		return t->epochs;
	case SAVE_TASKS:
		return t->tasks;
	case SAVE_LAUNCHES:
		return t->launches;
	case SAVE_FORKS:
		return t->forks;
	case SAVE_JOINS:
		return t->joins;
	case SAVE_EMITS:
		return t->emits;
	case SAVE_MAPS:
		return t->maps;
	case SAVE_MOST:
		return two(t->entries_most, t->depth_most);
	case SAVE_ATOMICS:
		return t->atomics;
	case SAVE_UNDO:
		return a->save->undo;
	default:
		return 0;
	}
}

static uint64_t range_word(const struct task_range *r, uint64_t i)
{
	assert(i < SAVE_RANGE_WORDS);
	switch (i) {
	case 0:
		return two(r->number, r->first);
	case 1:
		return two(r->end, r->kept_first);
	default:
		return r->kept_end;
	}
}

/* The device address of word i of the vector and the arrays: codes, words, arrays, in their order. */
static uint64_t *state_word(const struct save_args *a, uint64_t i)
{
	assert(i >= a->parts.codes && i < a->parts.total);
	if (i < a->parts.words) {
		return (uint64_t *)(void *)&a->vector->code[2 * (i - a->parts.codes)];
	}
	if (i < a->parts.arrays) {
		const uint64_t pairs = save_pairs(a->entries), at = i - a->parts.words;

		return (uint64_t *)(void *)&a->vector
			->word[at / pairs * a->vector->stride + 2 * (at % pairs)];
	}
	i -= a->parts.arrays;
	for (const struct nvw_task_array *array = a->save->arrays;; array++) {
		if (i < array->bytes / 8) {
			return (uint64_t *)array->device + i;
		}
		i -= array->bytes / 8;
	}
}

static uint64_t word_at(const struct save_args *a, uint64_t i, uint64_t number)
{
	if (i < a->parts.ranges) {
		return header_word(a->run, a, i, number);
	}
	if (i < a->parts.codes) {
		const uint64_t at = i - a->parts.ranges;

		return range_word(&a->run->stack[at / SAVE_RANGE_WORDS], at % SAVE_RANGE_WORDS);
	}
	return nvw_load(state_word(a, i));
}

/* A persist barrier, if no seeded bug has something else there. */
#define ORDER(save, step, group)                                                  \
	do {                                                                      \
		if ((save)->replaced != NULL && (save)->replaced->step != NULL) { \
			(save)->replaced->step();                                 \
		} else {                                                          \
			nvw_p_barrier(group);                                     \
		}                                                                 \
	} while (0)

/* ---- Kernels -------------------------------------------------------------------------------------- */

static void save_point(const void *args)
{
	const struct save_args *const a = args;
	const uint64_t work_items = nvw_group_count() * nvw_group_size();
	const uint64_t count = SAVE_STEP(a->save, words, a->parts.total, a->parts.total);
	/* The host knows the number: a load here would race with the completion, which a persist barrier does
	 * not order after it. */
	struct nvw_epoch epoch = {.pmem = a->save->pmem, .stream = a->save->stream, .number = a->number};

	assert(a->number > 0);
	nvw_epoch_join(&epoch);
	for (uint64_t i = nvw_global_id(); i < count; i += work_items) {
		nvw_undo_spare(&epoch, a->copy + 8 * i, sizeof(uint64_t)); /* nothing refers to it yet */
		nvw_store(nvw_at(a->save->pmem, uint64_t, a->copy + 8 * i), word_at(a, i, epoch.number));
	}
	if (a->save->undo && nvw_global_id() == 0) {
		nvw_store(nvw_at(a->save->pmem, uint64_t, a->last), epoch.number << 1 | a->which);
	}
	/* The copy is durable before it is the newer one. */
	ORDER(a->save, before_completion, NVW_KERNEL);
	if (nvw_global_id() == 0) {
		nvw_epoch_complete(&epoch);
	}
	/* It is the newer one before anybody writes the other. */
	ORDER(a->save, after_completion, NVW_KERNEL);
	if (nvw_global_id() == 0) {
		nvw_ack(epoch.number - 1);
	}
}

/* Whether a task in one of two neighbouring entries is about to run. */
static bool pair_runs(const struct save_args *a, uint64_t pair)
{
	const struct task_run *const run = a->run;

	for (uint64_t e = 2 * pair; e < 2 * pair + 2; e++) {
		if (e >= run->now.first && e < run->now.end &&
			task_runs(run, nvw_load(&a->vector->code[e]))) {
			return true;
		}
	}
	return false;
}

/* A work-item per pair of entries: nobody logs a word twice, and nothing changes before all is logged. */
static void log_epoch(const void *args)
{
	const struct save_args *const a = args;
	const uint64_t pair = a->run->now.first / 2 + nvw_global_id();
	const struct nvw_epoch epoch = nvw_epoch_begin(a->save->pmem, a->save->stream);

	if (nvw_global_id() == 0 && !nvw_undo(&epoch, a->last)) {
		a->run->error = NVW_E_FULL;
	}
	if (2 * pair < a->run->now.end && pair_runs(a, pair)) {
		for (unsigned i = 0; i <= a->run->program->words; i++) {
			const nvw_off off = a->save->area + 4 * a->vector->stride * i + 8 * pair;

			if (SAVE_STEP(a->save, logs, true, i) && !nvw_undo(&epoch, off)) {
				a->run->error = NVW_E_FULL;
			}
		}
	}
	ORDER(a->save, after_log, NVW_WORKGROUP);
}

static struct nvw_epoch open_epoch(const struct task_run *run)
{
	const struct nvw_task_save *const save = run->options.save;

	return (struct nvw_epoch){.pmem = save->pmem, .stream = save->stream};
}

static bool is_undone(const struct task_run *run)
{
	return run->options.save != NULL && run->options.save->undo;
}

void task_join_epoch(const struct task_run *run)
{
	if (is_undone(run)) {
		const struct nvw_epoch epoch = open_epoch(run);

		nvw_epoch_join(&epoch);
	}
}

void task_spare(const struct task_run *run, const void *at)
{
	if (is_undone(run)) {
		const struct nvw_epoch epoch = open_epoch(run);

		nvw_undo_spare(&epoch, nvw_off_of(epoch.pmem, at), sizeof(uint32_t));
	}
}

void task_order_epoch(const struct task_run *run)
{
	if (is_undone(run)) {
		ORDER(run->options.save, after_tasks, NVW_WORKGROUP);
	}
}

static void restore_point(const void *args)
{
	const struct save_args *const a = args;
	const uint64_t work_items = nvw_group_count() * nvw_group_size();

	assert(a->parts.codes <= a->parts.total);
	const uint64_t end = SAVE_STEP(a->save, restored, a->parts.total, a->parts.arrays, a->parts.total);

	for (uint64_t i = a->parts.codes + nvw_global_id(); i < end; i += work_items) {
		nvw_store(state_word(a, i), nvw_load(nvw_at(a->save->pmem, uint64_t, a->copy + 8 * i)));
	}
}

static int launch(struct task_run *run, const char *name, nvw_kernel kernel, const struct save_args *a)
{
	assert(a->parts.total > 0);
	return nvw_launch(run->machine, name, kernel, a, u64_min(a->parts.total, WORK_ITEMS_MAX), GROUP);
}

/* ---- The host ------------------------------------------------------------------------------------- */

static int read_last(struct task_run *run, struct save_last *ret_last)
{
	const struct nvw_task_save *const save = run->options.save;
	const char *const base = save->pmem->base;
	uint64_t settled, last = 0;

	*ret_last = (struct save_last){0};
	NVW_TRY(nvw_read(run->machine, &settled, base + nvw_epoch_off(&save->pmem->geometry, save->stream),
		sizeof settled));
	if (save->undo) {
		NVW_TRY(nvw_read(run->machine, &last, base + last_at(run), sizeof last));
	}
	*ret_last = save_last(save->undo, nvw_epoch_settled(settled), last);
	return 0;
}

/* The copies take turns. */
static uint64_t next_copy(const struct nvw_task_save *save, const struct save_last *last)
{
	const uint64_t copy = save->undo && last->number != 0 ? !last->copy : (last->settled + 1) % 2;

	return SAVE_STEP(save, copy, copy, copy);
}

int task_save(struct task_run *run, const struct save_vector *vector)
{
	struct save_args a;
	struct save_last last;

	NVW_TRY(read_last(run, &last));
	NVW_FAIL_IF(run->depth > NVW_TASK_SAVED_DEPTH_MAX, NVW_E_FULL,
		"program %s: a recovery point has room for %u epochs that wait, found %u", run->program->name,
		NVW_TASK_SAVED_DEPTH_MAX, run->depth);
	a = make_args(run, vector, next_copy(run->options.save, &last),
		SAVE_STEP(run->options.save, entries, entries_in_use(run), entries_in_use(run)),
		SAVE_STEP(run->options.save, depth, run->depth, run->depth));
	a.number = last.settled + 1;
	return launch(run, "tasks-save", save_point, &a);
}

struct save_vector task_vector_in_pool(const struct task_run *run)
{
	const uint64_t stride = save_stride(run->options.entries);
	int32_t *const code = nvw_at(run->options.save->pmem, int32_t, run->options.save->area);
	assert(is_undone(run));

	return (struct save_vector){.code = code, .word = (uint32_t *)code + stride, .stride = stride};
}

int task_log(struct task_run *run, const struct save_vector *vector)
{
	static const uint32_t none = 0;
	const struct nvw_task_save *const save = run->options.save;
	const struct save_args a = {.run = run, .vector = vector, .save = save, .last = last_at(run)};
	const uint64_t pairs = save_pairs(run->now.end) - run->now.first / 2;
	assert(run->now.first < run->now.end);
	NVW_TRY(nvw_write(run->machine, &save->pmem->log_used[save->stream], &none, sizeof none));
	NVW_TRY(nvw_launch(run->machine, "tasks-log", log_epoch, &a, pairs, GROUP));
	NVW_FAIL_IF(run->error != 0, run->error,
		"program %s: epoch %u: the undo log of %u entries is full; any epoch of %u entries "
		"fits into %u",
		run->program->name, run->number, save->pmem->geometry.log_entries, run->options.entries,
		nvw_task_log_entries(run->options.entries, run->program->words));
	return 0;
}

static int read_stack(struct task_run *run, nvw_off copy, uint32_t depth)
{
	assert(depth <= NVW_TASK_SAVED_DEPTH_MAX);
	run->depth = 0;
	NVW_FOR(i, depth) {
		uint64_t w[SAVE_RANGE_WORDS];
		NVW_TRY(nvw_read(run->machine, w,
			run->options.save->pmem->base + copy +
				8 * (SAVE_HEADER_WORDS + SAVE_RANGE_WORDS * (uint64_t)i),
			sizeof w));

		const struct task_range range = {.number = (uint32_t)w[0],
			.first = (uint32_t)(w[0] >> 32),
			.end = (uint32_t)w[1],
			.kept_first = (uint32_t)(w[1] >> 32),
			.kept_end = (uint32_t)w[2]};

		NVW_TRY(task_push(run, &range));
	}
	return 0;
}

static int read_header(
	struct task_run *run, nvw_off copy, uint64_t number, uint32_t *ret_entries, uint32_t *ret_depth)
{
	struct nvw_task_totals *const t = &run->totals;
	uint64_t h[SAVE_HEADER_WORDS];
	NVW_TRY(nvw_read(run->machine, h, run->options.save->pmem->base + copy, sizeof h));
	*ret_depth = (uint32_t)h[SAVE_DEPTH];
	*ret_entries = (uint32_t)h[SAVE_ENTRIES];
	NVW_FAIL_IF(h[SAVE_NUMBER] != number || h[SAVE_UNDO] != run->options.save->undo ||
			    h[SAVE_ENTRIES] >> 32 != run->program->words ||
			    *ret_entries > run->options.entries || *ret_depth > NVW_TASK_SAVED_DEPTH_MAX,
		NVW_E_DAMAGED,
		"program %s: recovery point %llu at offset %llu: expected at most %u entries of %u "
		"words, saved %s undo logging",
		run->program->name, (unsigned long long)number, (unsigned long long)copy,
		run->options.entries, run->program->words, run->options.save->undo ? "with" : "without");
	run->next = (uint32_t)(h[SAVE_DEPTH] >> 32);
	*t = (struct nvw_task_totals){.tasks = h[SAVE_TASKS],
		.epochs = h[SAVE_EPOCHS],
		.launches = h[SAVE_LAUNCHES],
		.forks = h[SAVE_FORKS],
		.joins = h[SAVE_JOINS],
		.emits = h[SAVE_EMITS],
		.maps = h[SAVE_MAPS],
		.atomics = h[SAVE_ATOMICS],
		.entries_most = (uint32_t)h[SAVE_MOST],
		.depth_most = (uint32_t)(h[SAVE_MOST] >> 32)};
	return 0;
}

int task_restore(struct task_run *run, const struct save_vector *vector)
{
	uint32_t entries, depth;
	struct save_args a;
	struct save_last last;

	NVW_TRY(read_last(run, &last));
	NVW_FAIL_IF(last.number == 0, NVW_E_USAGE,
		"program %s: the pool has no recovery point to resume from", run->program->name);
	NVW_TRY(read_header(run, copy_at(run, last.copy), last.number, &entries, &depth));
	NVW_TRY(read_stack(run, copy_at(run, last.copy), depth));
	a = make_args(run, vector, last.copy, entries, depth);
	return launch(run, "tasks-restore", restore_point, &a);
}
