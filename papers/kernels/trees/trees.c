/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks of the task programs. See trees.h. */
#include "trees.h"

#include <assert.h>
#include <stdlib.h>

#include "common/bounds.h"
#include "common/figures.h"

const char *const trees_runtimes[] = {[TREES_RUNTIME_TREES] = "trees", [TREES_RUNTIME_TVM] = "tvm", NULL};

/* A plan's more. */
struct run {
	enum trees_runtime runtime;
	uint32_t entries;
	struct nvw_task_totals totals;
};

int trees_prepare(
	const struct dense_kernel *kernel, const struct nvw_options *options, uint64_t seed, void **ret_plan)
{
	static const struct bounds bounds[] = {{"entries", 2, NVW_TASK_ENTRIES_MAX}};
	struct run *run;

	NVW_TRY(BOUNDS_CHECK(kernel->name, options, bounds));
	NVW_TRY(dense_prepare(kernel, options, seed, ret_plan));
	run = calloc(1, sizeof *run);
	if (!run) {
		dense_dispose(*ret_plan);
		return nvw_fail(NVW_E_MEMORY, "%s: no memory for a plan", kernel->name);
	}
	assert(((struct dense_plan *)*ret_plan)->more == NULL);
	run->runtime = (enum trees_runtime)nvw_option_choice(options, "runtime");
	run->entries = (uint32_t)nvw_option_u64(options, "entries");
	((struct dense_plan *)*ret_plan)->more = run;
	return 0;
}

int trees_run_words(struct dense_plan *p, const struct nvw_task_program *program, const void *data,
	nvw_task_run function, const uint32_t *words, unsigned n)
{
	struct run *const run = p->more;
	const struct nvw_task_options options = {
		.entries = run->entries, .group_size = p->group_size, .data = data};

	assert(n <= program->words);
	const int error = (run->runtime == TREES_RUNTIME_TVM ? nvw_tvm_run : nvw_trees_run)(
		p->machine, program, &options, function, words, n, &run->totals);

	p->launches += run->totals.launches;
	return error;
}

const struct nvw_task_totals *trees_totals(const struct dense_plan *p)
{
	assert(p->more);
	return &((const struct run *)p->more)->totals;
}

int trees_report(struct dense_plan *p, struct nvw_description *description)
{
	const struct nvw_task_totals *const t = trees_totals(p);
	const struct figure rows[] = {
		{"tasks.run", t->tasks, "count", "tasks that ran, continuations included (T1)"},
		{"tasks.epochs", t->epochs, "count", "epochs, one after the other (Tinf)"},
		{"tasks.forks", t->forks, "count", "tasks that were forked"},
		{"tasks.joins", t->joins, "count", "continuations that waited for forked tasks"},
		{"tasks.emits", t->emits, "count", "values that tasks left to the continuation that waited"},
		{"tasks.maps", t->maps, "count", "data-parallel operations"},
		{"tasks.atomics", t->atomics, "count",
			"atomics that took entries of the task vector: "
			"one per wavefront that forks together"},
		{"tasks.entries_most", t->entries_most, "count",
			"entries of the task vector in use, at most"},
		{"tasks.depth_most", t->depth_most, "count", "epochs that waited at a time, at most"},
	};

	return FIGURES_DESCRIBE(description, rows);
}
