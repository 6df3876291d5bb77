/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery points of task programs: writing and reading them on the machine. See nvw/tasks.h. */
#include "save.h"

#include <stdlib.h>

#include "pool/layout.h"

enum { GROUP = 64, WORK_ITEMS_MAX = 4096 };

/* What the kernels are given. */
struct save_args {
	struct task_run *run;
	const struct save_vector *vector;
	const struct nvw_task_save *save;
	nvw_off copy;
	uint32_t entries;
	struct save_parts parts;
};

static uint64_t array_words(const struct nvw_task_save *save)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < save->array_count; i++) {
		bytes += save->arrays[i].bytes;
	}
	return bytes / 8;
}

uint64_t nvw_task_save_bytes(uint32_t entries, unsigned words, uint64_t array_bytes)
{
	return 2 * save_copy_bytes(entries, words, array_bytes / 8);
}

/* The copies take turns. */
static nvw_off copy_of(const struct task_run *run, uint64_t number)
{
	const struct nvw_task_save *const save = run->options.save;

	return save->area +
	       number % 2 * save_copy_bytes(run->options.entries, run->program->words, array_words(save));
}

/* Entries in use: those of the epochs that wait, and of the values that these will read. */
static uint32_t entries_in_use(const struct task_run *run)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < run->depth; i++) {
		const struct task_range *const r = &run->stack[i];

		most = r->end > most ? r->end : most;
		most = r->kept_end > most ? r->kept_end : most;
	}
	return most;
}

static struct save_args make_args(
	struct task_run *run, const struct save_vector *vector, uint64_t number, uint32_t entries)
{
	const struct nvw_task_save *const save = run->options.save;

	return (struct save_args){.run = run,
		.vector = vector,
		.save = save,
		.copy = copy_of(run, number),
		.entries = entries,
		.parts = save_parts(run->depth, entries, run->program->words, array_words(save))};
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

	switch (i) {
	case SAVE_NUMBER:
		return number;
	case SAVE_DEPTH:
		return two(run->depth, run->next);
	case SAVE_ENTRIES:
		return two(a->entries, run->program->words);
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
	default:
		return 0;
	}
}

static uint64_t range_word(const struct task_range *r, uint64_t i)
{
	return i == 0 ? two(r->number, r->first) : i == 1 ? two(r->end, r->kept_first) : r->kept_end;
}

/* The device address of word i of the vector and the arrays: codes, words, arrays, in their order. */
static uint64_t *state_word(const struct save_args *a, uint64_t i)
{
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

/* ---- Kernels -------------------------------------------------------------------------------------- */

static void save_point(const void *args)
{
	const struct save_args *const a = args;
	const uint64_t work_items = nvw_group_count() * nvw_group_size();
	struct nvw_epoch epoch = nvw_epoch_begin(a->save->pmem, a->save->stream);

	for (uint64_t i = nvw_global_id(); i < a->parts.total; i += work_items) {
		nvw_store(nvw_at(a->save->pmem, uint64_t, a->copy + 8 * i), word_at(a, i, epoch.number));
	}
	nvw_p_barrier_kr(); /* the copy is durable before it is the newer one */
	if (nvw_global_id() == 0) {
		nvw_epoch_complete(&epoch);
	}
	nvw_p_barrier_kr(); /* it is the newer one before anybody writes the other */
	if (nvw_global_id() == 0) {
		nvw_ack(epoch.number - 1);
	}
}

static void restore_point(const void *args)
{
	const struct save_args *const a = args;
	const uint64_t work_items = nvw_group_count() * nvw_group_size();

	for (uint64_t i = a->parts.codes + nvw_global_id(); i < a->parts.total; i += work_items) {
		nvw_store(state_word(a, i), nvw_load(nvw_at(a->save->pmem, uint64_t, a->copy + 8 * i)));
	}
}

static int launch(struct task_run *run, const char *name, nvw_kernel kernel, const struct save_args *a)
{
	const uint64_t work_items = a->parts.total < WORK_ITEMS_MAX ? a->parts.total : WORK_ITEMS_MAX;

	return nvw_launch(run->machine, name, kernel, a, work_items, GROUP);
}

/* ---- The host ------------------------------------------------------------------------------------- */

static int last_number(struct task_run *run, uint64_t *ret_number)
{
	const struct nvw_pmem *const pmem = run->options.save->pmem;
	uint64_t word;
	int error = nvw_read(run->machine, &word,
		pmem->base + nvw__est_off(&pmem->geometry, run->options.save->stream), sizeof word);

	*ret_number = error ? 0 : nvw__est_epoch(word);
	return error;
}

int task_save(struct task_run *run, const struct save_vector *vector)
{
	struct save_args a;
	uint64_t last;
	int error = last_number(run, &last);

	if (error == 0 && run->depth > NVW_TASK_SAVED_DEPTH_MAX) {
		error = nvw_fail(NVW_E_FULL,
			"program %s: a recovery point has room for %u epochs that wait, found %u",
			run->program->name, NVW_TASK_SAVED_DEPTH_MAX, run->depth);
	}
	if (error != 0) {
		return error;
	}
	a = make_args(run, vector, last + 1, entries_in_use(run));
	return launch(run, "tasks-save", save_point, &a);
}

static int read_stack(struct task_run *run, nvw_off copy, uint32_t depth)
{
	run->depth = 0;
	for (uint32_t i = 0; i < depth; i++) {
		uint64_t w[SAVE_RANGE_WORDS];
		int error = nvw_read(run->machine, w,
			run->options.save->pmem->base + copy +
				8 * (SAVE_HEADER_WORDS + SAVE_RANGE_WORDS * (uint64_t)i),
			sizeof w);
		const struct task_range range = {.number = (uint32_t)w[0],
			.first = (uint32_t)(w[0] >> 32),
			.end = (uint32_t)w[1],
			.kept_first = (uint32_t)(w[1] >> 32),
			.kept_end = (uint32_t)w[2]};

		error = error ? error : task_push(run, &range);
		if (error != 0) {
			return error;
		}
	}
	return 0;
}

static int read_header(
	struct task_run *run, nvw_off copy, uint64_t number, uint32_t *ret_entries, uint32_t *ret_depth)
{
	struct nvw_task_totals *const t = &run->totals;
	uint64_t h[SAVE_HEADER_WORDS];
	const int error = nvw_read(run->machine, h, run->options.save->pmem->base + copy, sizeof h);

	if (error != 0) {
		return error;
	}
	*ret_depth = (uint32_t)h[SAVE_DEPTH];
	*ret_entries = (uint32_t)h[SAVE_ENTRIES];
	if (h[SAVE_NUMBER] != number || h[SAVE_ENTRIES] >> 32 != run->program->words ||
		*ret_entries > run->options.entries || *ret_depth > NVW_TASK_SAVED_DEPTH_MAX) {
		return nvw_fail(NVW_E_DAMAGED,
			"program %s: recovery point %llu at offset %llu: expected at most %u entries of %u words",
			run->program->name, (unsigned long long)number, (unsigned long long)copy,
			run->options.entries, run->program->words);
	}
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
	uint64_t number;
	int error = last_number(run, &number);

	if (error == 0 && number == 0) {
		return nvw_fail(NVW_E_USAGE, "program %s: the pool has no recovery point to resume from",
			run->program->name);
	}
	error = error ? error : read_header(run, copy_of(run, number), number, &entries, &depth);
	error = error ? error : read_stack(run, copy_of(run, number), depth);
	if (error != 0) {
		return error;
	}
	a = make_args(run, vector, number, entries);
	return launch(run, "tasks-restore", restore_point, &a);
}
