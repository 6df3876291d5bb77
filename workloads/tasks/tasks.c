/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common code of the task machines (hechtman14 5.4.2): the rules for tasks, and the stack of epochs.
 *
 * Entries of the task vector. An epoch's forks go into one interval of free entries. In use are, for the
 * epoch that runs and for each one that waits: the entries that it runs over, and those of the tasks that it
 * waits for, whose emitted values it will read. Of the gaps between them the largest is taken. The thesis
 * moves the next free entry back to where an epoch began that neither forked nor joined; a continuation that
 * forks could then overwrite values that its neighbours have not read yet. Programs whose continuations do
 * not fork get the same entries as in Table 5.1.
 */
#include "machine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Codes ---------------------------------------------------------------------------------------- */

unsigned task_function(const struct task_run *run, nvw_task_run function)
{
	unsigned i = 0;

	while (i < run->functions && run->program->functions[i].run != function) {
		i++;
	}
	return i;
}

int32_t task_code(const struct task_run *run, unsigned function, uint32_t number)
{
	assert(function < run->functions);
	return (int32_t)(function + 1 + number * run->functions);
}

/* One less than in the thesis, where the last function of the table would get 0, which means no task. */
int32_t task_map_code(const struct task_run *run, unsigned function)
{
	assert(function < run->functions);
	return (int32_t)function - (int32_t)run->functions;
}

/* ---- Tasks ---------------------------------------------------------------------------------------- */

static void describe(
	struct task_run *r, const struct nvw_site *site, unsigned function, uint32_t entry, const char *what)
{
	assert(function < r->functions);
	snprintf(r->text, sizeof r->text, "%s:%u: task %s in entry %u, epoch %u: %s", site->file, site->line,
		r->program->functions[function].name, entry, r->number, what);
}

/* The first mistake of a run; what tasks do after it has no effect. */
static void mistake(const struct nvw_task *t, const struct nvw_site *site, int error, const char *what)
{
	struct task_run *const r = t->run;

	if (r->error == 0) {
		r->error = error;
		describe(r, site, t->function, t->entry, what);
	}
}

const void *nvw_task_data(const struct nvw_task *t)
{
	return t->run->options.data;
}

uint32_t nvw_task_entry(const struct nvw_task *t)
{
	return t->entry;
}

uint32_t nvw__task_read(struct nvw_task *t, const struct nvw_site *site, uint32_t entry, unsigned i)
{
	if (t->run->error != 0) {
		return 0;
	}
	if (entry >= t->run->options.entries || i >= t->run->program->words) {
		char what[120];

		snprintf(what, sizeof what, "word %u of entry %u is not in the task vector", i, entry);
		mistake(t, site, NVW_E_KERNEL, what);
		return 0;
	}
	return t->run->does->word(t->run, entry, i);
}

static void remember(const struct nvw_task *t, const struct nvw_site *site)
{
	t->run->last.site = site;
	t->run->last.entry = t->entry;
	t->run->last.function = t->function;
}

/* May the task do this? A map function's index, or a task function's, in *ret_function. */
static bool may(const struct nvw_task *t, const struct nvw_site *site, const char *act, nvw_task_run function,
	bool map, unsigned n, unsigned *ret_function)
{
	const struct task_run *const r = t->run;
	char what[160] = "";

	assert(t->function < r->functions);
	*ret_function = function ? task_function(r, function) : 0;
	if (r->program->functions[t->function].map) {
		snprintf(what, sizeof what, "a map function may not %s", act);
	} else if (t->ended) {
		snprintf(what, sizeof what, "%s after its end: it had joined or emitted", act);
	} else if (function && *ret_function == r->functions) {
		snprintf(what, sizeof what, "%s of a function that program %s has not registered", act,
			r->program->name);
	} else if (function && r->program->functions[*ret_function].map != map) {
		snprintf(what, sizeof what, "%s of %s, which is %sa map function", act,
			r->program->functions[*ret_function].name, map ? "not " : "");
	} else if (n > r->program->words) {
		snprintf(what, sizeof what, "%s with %u words, but program %s has room for %u", act, n,
			r->program->name, r->program->words);
	}
	if (what[0] != '\0') {
		mistake(t, site, NVW_E_KERNEL, what);
	}
	return r->error == 0;
}

/* An entry for a new task or map; false when the task vector is full. */
static bool allocate(
	const struct nvw_task *t, const struct nvw_site *site, const char *act, uint32_t *ret_entry)
{
	struct task_run *const r = t->run;

	*ret_entry = r->does->allocate(r);
	if (*ret_entry >= r->free_end) {
		char what[120];

		snprintf(what, sizeof what, "%s: the task vector of %u entries is full", act,
			r->options.entries);
		mistake(t, site, NVW_E_FULL, what);
	}
	return r->error == 0;
}

uint32_t nvw__task_fork(struct nvw_task *t, const struct nvw_site *site, nvw_task_run function,
	const uint32_t *words, unsigned n)
{
	struct task_run *const r = t->run;
	uint32_t entry = 0;
	unsigned f;

	if (may(t, site, "fork", function, false, n, &f) && allocate(t, site, "fork", &entry)) {
		r->totals.forks++;
		remember(t, site);
		r->does->fill(r, entry, task_code(r, f, r->number + 1), words, n);
		return entry;
	}
	return 0;
}

uint32_t nvw__task_join(struct nvw_task *t, const struct nvw_site *site, nvw_task_run function,
	const uint32_t *words, unsigned n)
{
	struct task_run *const r = t->run;
	unsigned f;

	if (may(t, site, "join", function, false, n, &f)) {
		r->totals.joins++;
		remember(t, site);
		r->does->fill(r, t->entry, task_code(r, f, r->number), words, n);
		r->does->schedule_join(r, t->entry);
		t->ended = true;
	}
	return t->entry;
}

uint32_t nvw__task_emit(struct nvw_task *t, const struct nvw_site *site, nvw_task_run function,
	const uint32_t *words, unsigned n)
{
	struct task_run *const r = t->run;
	unsigned f;

	if (may(t, site, "emit", function, false, n, &f)) {
		r->totals.emits++;
		r->does->fill(r, t->entry, 0, words, n);
		t->ended = true;
	}
	return t->entry;
}

uint32_t nvw__task_map(struct nvw_task *t, const struct nvw_site *site, nvw_task_run function,
	const uint32_t *words, unsigned n)
{
	struct task_run *const r = t->run;
	uint32_t entry;
	unsigned f;

	if (may(t, site, "map", function, true, n, &f) && allocate(t, site, "map", &entry)) {
		r->totals.maps++;
		r->does->fill(r, entry, task_map_code(r, f), words, n);
		r->does->schedule_map(r);
	}
	return t->entry;
}

/* The index of a code's function, if it is of the epoch that runs; else no index. */
static int64_t function_of(const struct task_run *run, int32_t code)
{
	return (int64_t)code - 1 - (int64_t)run->number * run->functions;
}

bool task_runs(const struct task_run *run, int32_t code)
{
	const int64_t function = function_of(run, code);

	return function >= 0 && function < run->functions;
}

void task_execute(struct task_run *run, uint32_t entry, int32_t code)
{
	const int64_t function = function_of(run, code);
	struct nvw_task t = {.run = run, .entry = entry, .function = (unsigned)function};

	if (!task_runs(run, code)) {
		return;
	}
	run->epoch.tasks++;
	run->epoch.ran[function]++;
	run->program->functions[function].run(&t);
	if (!t.ended && run->error == 0) { /* or a continuation of its neighbours would run it again */
		run->does->fill(run, entry, 0, NULL, 0);
	}
}

void task_execute_map(struct task_run *run, uint32_t entry, int32_t code)
{
	const int64_t function = (int64_t)code + run->functions;
	struct nvw_task t = {.run = run, .entry = entry, .function = (unsigned)function};

	if (code < 0 && function >= 0) {
		run->program->functions[function].run(&t);
	}
}

/* ---- The stack ------------------------------------------------------------------------------------ */

static int full_stack(struct task_run *run, const struct task_range *range)
{
	char what[120];

	assert(run->depth <= run->options.depth);
	snprintf(what, sizeof what, "epoch %u: the stack of epochs is full (%u wait, expected at most %u)",
		range->number, run->depth, run->options.depth);
	if (!run->last.site) { /* a recovery point's stack */
		return nvw_fail(NVW_E_FULL, "program %s: %s", run->program->name, what);
	}
	describe(run, run->last.site, run->last.function, run->last.entry, what);
	return nvw_fail(NVW_E_FULL, "%s", run->text);
}

int task_push(struct task_run *run, const struct task_range *range)
{
	assert(run->depth <= run->room);
	if (run->depth == run->options.depth || (uint64_t)(range->number + 2) * run->functions > INT32_MAX) {
		return full_stack(run, range);
	}
	if (run->depth == run->room) {
		const uint32_t room = 2 * run->room + 64;
		struct task_range *const more = reallocarray(run->stack, room, sizeof *more);

		NVW_ALLOCATED(
			more, "program %s: no memory for a stack of %u epochs", run->program->name, room);
		run->stack = more;
		run->room = room;
	}
	run->stack[run->depth++] = *range;
	if (run->depth > run->totals.depth_most) {
		run->totals.depth_most = run->depth;
	}
	return 0;
}

/* The largest unused gap, from entry 1 on: the first task's result stays in entry 0. */
static void find_gap(struct task_run *run)
{
	uint32_t at = 1, best = 0;

	for (;;) {
		uint32_t next = run->options.entries;
		bool moved = false;

		for (uint32_t i = 0; i <= run->depth; i++) {
			const struct task_range *const r = i < run->depth ? &run->stack[i] : &run->now;

			if (r->first <= at && at < r->end) {
				at = r->end;
				moved = true;
			}
			if (r->kept_first <= at && at < r->kept_end) {
				at = r->kept_end;
				moved = true;
			}
			if (r->first > at && r->first < next) {
				next = r->first;
			}
			if (r->kept_first > at && r->kept_first < r->kept_end && r->kept_first < next) {
				next = r->kept_first;
			}
		}
		if (moved) {
			continue;
		}
		if (next - at > best) {
			best = next - at;
			run->free_first = at;
			run->free_end = next;
		}
		if (next == run->options.entries) {
			assert(best < run->options.entries);
			return;
		}
		at = next;
	}
}

bool task_next_epoch(struct task_run *run)
{
	if (run->depth == 0) {
		return false;
	}
	run->now = run->stack[--run->depth];
	run->number = run->now.number;
	run->epoch = (struct nvw_task_epoch){
		.number = run->number, .first = run->now.first, .end = run->now.end, .next = run->next};
	run->free_first = run->free_end = run->options.entries;
	find_gap(run);
	assert(run->free_first <= run->free_end);
	return true;
}

static void note(struct task_run *run, uint32_t next, bool joins, bool maps)
{
	struct nvw_task_epoch *const e = &run->epoch;
	const bool forks = next != run->free_first;
	assert(e->next == run->next);

	e->joins = joins;
	e->maps = maps;
	e->next_now = run->now.first;
	if (forks) {
		e->next_now = next;
	} else if (joins) {
		e->next_now = e->next;
	}
	run->next = e->next_now;
	run->totals.epochs++;
	run->totals.launches += 1 + maps;
	run->totals.tasks += e->tasks;
	if (next > run->totals.entries_most) {
		run->totals.entries_most = next;
	}
}

int task_end_epoch(struct task_run *run, uint32_t next, bool joins, bool maps)
{
	const struct task_range forked = {.number = run->number + 1, .first = run->free_first, .end = next};
	struct task_range joined = run->now;
	int error = 0;

	NVW_FAIL_IF(run->error != 0, run->error, "%s", run->text);
	assert(next >= run->free_first);
	note(run, next, joins, maps);
	if (joins) {
		if (forked.first != forked.end) {
			joined.kept_first = forked.first;
			joined.kept_end = forked.end;
		}
		error = task_push(run, &joined);
	}
	if (error == 0 && forked.first != forked.end) {
		error = task_push(run, &forked);
	}
	return error;
}

int task_tell_epoch(struct task_run *run, const uint32_t *entry)
{
	uint32_t *const waiting = calloc(run->depth + 1, sizeof *waiting);

	NVW_ALLOCATED(waiting, "program %s: no memory to report an epoch", run->program->name);
	NVW_FOR(i, run->depth) {
		waiting[i] = run->stack[run->depth - 1 - i].number;
	}
	run->epoch.depth = run->depth;
	run->epoch.waiting = waiting;
	run->epoch.entry = entry;
	run->options.on_epoch(run->options.context, &run->epoch);
	free(waiting);
	return 0;
}

/* ---- Begin and end -------------------------------------------------------------------------------- */

static int check_program(struct task_run *run)
{
	const struct nvw_task_program *const p = run->program;

	while (run->functions <= NVW_TASK_FUNCTIONS_MAX && p->functions[run->functions].run) {
		run->functions++;
	}
	NVW_FAIL_IF(run->functions == 0 || run->functions > NVW_TASK_FUNCTIONS_MAX, NVW_E_USAGE,
		"program %s: expected 1 to %u functions", p->name, NVW_TASK_FUNCTIONS_MAX);
	NVW_FAIL_IF(p->words > NVW_TASK_WORDS_MAX, NVW_E_USAGE,
		"program %s: expected at most %u words per entry, found %u", p->name, NVW_TASK_WORDS_MAX,
		p->words);
	return 0;
}

int task_run_begin(struct task_run *run, const struct task_machine *does, struct nvw_machine *machine,
	const struct nvw_task_program *program, const struct nvw_task_options *options)
{
	static const struct task_range first = {.number = 0, .first = 0, .end = 1};

	run->does = does;
	run->machine = machine;
	run->program = program;
	run->options = options ? *options : (struct nvw_task_options){0};
	if (!run->options.entries) {
		run->options.entries = 1 << 20;
	}
	if (!run->options.depth) {
		run->options.depth = NVW_TASK_DEPTH_MAX;
	}
	if (!run->options.group_size) {
		run->options.group_size = 256;
	}
	run->next = 1;
	NVW_FAIL_IF(run->options.entries > NVW_TASK_ENTRIES_MAX, NVW_E_USAGE,
		"program %s: expected a task vector of at most %u entries, found %u", program->name,
		NVW_TASK_ENTRIES_MAX, run->options.entries);
	NVW_FAIL_IF(run->options.depth > NVW_TASK_DEPTH_MAX, NVW_E_USAGE,
		"program %s: expected a stack of at most %u epochs, found %u", program->name,
		NVW_TASK_DEPTH_MAX, run->options.depth);
	NVW_TRY(check_program(run));
	assert(run->depth == 0 && !run->stack);
	return task_push(run, &first);
}

int task_run_first(struct task_run *run, nvw_task_run function, unsigned n, int32_t *ret_code)
{
	const unsigned f = task_function(run, function);

	NVW_FAIL_IF(f == run->functions || run->program->functions[f].map || n > run->program->words,
		NVW_E_USAGE,
		"program %s: its first task: expected a registered task function and at most %u "
		"words, found %u",
		run->program->name, run->program->words, n);
	*ret_code = task_code(run, f, 0);
	return 0;
}

void task_run_end(struct task_run *run)
{
	free(run->stack);
}
