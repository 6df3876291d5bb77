/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TREES: the task vector machine by kernel launches (hechtman14 5.5).
 *
 * The task vector is a structure of arrays of 4-byte words in DRAM, so that the accesses of a wavefront coalesce: the codes, and
 * one array per word. A launch is an epoch, a work-item per entry of its range. Host and device share three words in one
 * line: the next free entry, whether a join was scheduled, and whether a map was.
 *
 * Work-items reach the shared words by relaxed atomics: several fork at once. Kernels' ends and beginnings order everything else.
 */
#include "tasks.h"

#include <stdlib.h>

enum { NEXT, JOINS, MAPS, SHARED_WORDS = 16 };

struct trees {
	struct task_run run;
	int32_t *code;
	uint32_t *word; /* word i of entry e is word[i * entries + e] */
	uint32_t *shared;
};

static struct trees *trees_of(struct task_run *run)
{
	return (struct trees *)(void *)run;
}

/* ---- For a task ----------------------------------------------------------------------------------- */

static uint32_t word(struct task_run *run, uint32_t entry, unsigned i)
{
	return nvw_load(&trees_of(run)->word[(uint64_t)i * run->options.entries + entry]);
}

static uint32_t allocate(struct task_run *run)
{
	return nvw_atomic_add(&trees_of(run)->shared[NEXT], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static void fill(struct task_run *run, uint32_t entry, int32_t code, const uint32_t *words, unsigned n)
{
	const struct trees *const t = trees_of(run);

	nvw_store(&t->code[entry], code);
	for (unsigned i = 0; i < n; i++) {
		nvw_store(&t->word[(uint64_t)i * run->options.entries + entry], words[i]);
	}
}

static void schedule_join(struct task_run *run, uint32_t entry)
{
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

	if (entry < t->run.now.end) {
		task_execute(&t->run, (uint32_t)entry, nvw_load(&t->code[entry]));
	}
}

/* A work-group per entry. */
static void run_maps(const void *args)
{
	struct trees *const t = *(struct trees *const *)args;
	const uint32_t entry = t->run.free_first + (uint32_t)nvw_group_id();

	task_execute_map(&t->run, entry, nvw_load(&t->code[entry]));
}

/* ---- The host ------------------------------------------------------------------------------------- */

static int allocate_vector(struct trees *t)
{
	const uint64_t entries = t->run.options.entries;

	t->code = nvw_alloc(t->run.machine, 4 * entries);
	t->word = nvw_alloc(t->run.machine, 4 * entries * (t->run.program->words + !t->run.program->words));
	t->shared = nvw_alloc(t->run.machine, 4 * SHARED_WORDS);
	return t->code && t->word && t->shared ?
		       0 :
		       nvw_fail(NVW_E_MEMORY,
			       "program %s: no device memory for a task vector of %u entries with %u words",
			       t->run.program->name, t->run.options.entries, t->run.program->words);
}

static int write_first(struct trees *t, nvw_task_run function, const uint32_t *words, unsigned n)
{
	struct nvw_machine *const m = t->run.machine;
	int32_t code;
	int error = task_run_first(&t->run, function, n, &code);

	error = error ? error : nvw_write(m, &t->code[0], &code, sizeof code);
	for (unsigned i = 0; error == 0 && i < n; i++) {
		error = nvw_write(m, &t->word[(uint64_t)i * t->run.options.entries], &words[i], 4);
	}
	return error;
}

static int launch_maps(struct trees *t, uint32_t next)
{
	const uint64_t groups = next - t->run.free_first;
	const unsigned group_size = t->run.options.group_size;
	struct trees *const args = t;

	return nvw_launch(t->run.machine, "trees-map", run_maps, &args, groups * group_size, group_size);
}

static int tell(struct trees *t)
{
	static uint32_t *entry;
	int error;

	if (t->run.options.on_epoch == NULL) {
		return 0;
	}
	entry = calloc(t->run.options.entries, sizeof *entry);
	error = entry ? nvw_read(t->run.machine, entry, t->code, 4ul * t->run.options.entries) :
			nvw_fail(NVW_E_MEMORY, "program %s: no memory to report an epoch",
				t->run.program->name);
	error = error ? error : task_tell_epoch(&t->run, entry);
	free(entry);
	return error;
}

static int epoch(struct trees *t)
{
	struct task_run *const r = &t->run;
	uint32_t shared[] = {[NEXT] = r->free_first, [JOINS] = 0, [MAPS] = 0};
	struct trees *const args = t;
	int error = nvw_write(r->machine, t->shared, shared, sizeof shared);

	error = error ? error :
			nvw_launch(r->machine, "trees-epoch", run_epoch, &args, r->now.end - r->now.first,
				r->options.group_size);
	error = error ? error : nvw_read(r->machine, shared, t->shared, sizeof shared);
	if (error == 0 && r->error == 0 && shared[MAPS] != 0) {
		error = launch_maps(t, shared[NEXT]);
	}
	error = error ? error : task_end_epoch(r, shared[NEXT], shared[JOINS] != 0, shared[MAPS] != 0);
	return error ? error : tell(t);
}

static int read_result(struct trees *t)
{
	int error = 0;

	for (unsigned i = 0; error == 0 && i < t->run.program->words; i++) {
		error = nvw_read(t->run.machine, &t->run.totals.result[i],
			&t->word[(uint64_t)i * t->run.options.entries], 4);
	}
	return error;
}

int nvw_trees_run(struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options, nvw_task_run function, const uint32_t *words, unsigned n,
	struct nvw_task_totals *ret_totals)
{
	const uint64_t mark = nvw_mark(machine);
	struct trees t = {.code = NULL};
	int error = task_run_begin(&t.run, &trees_machine, machine, program, options);

	error = error ? error : allocate_vector(&t);
	error = error ? error : write_first(&t, function, words, n);
	while (error == 0 && task_next_epoch(&t.run)) {
		error = epoch(&t);
	}
	error = error ? error : read_result(&t);
	task_run_end(&t.run);
	nvw_release(machine, mark);
	*ret_totals = t.run.totals;
	return error;
}
