/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * saved-tasks: a task program with recovery points in NVRAM (tasks/tasks.h). The check does not trust the
 * machine that wrote them: it computes what is left to do of the saved state by itself, and adds it to what
 * is done.
 *
 *	fib	the first task's value, with each task that waits replaced by what it will emit, is the
 *		Fibonacci number
 *	nqueens	the solutions counted, and those of all boards that wait, are as many as there are
 *	marks	the marks of each element, and those that the tasks that wait will add by map operations, are
 *		as many as they have to be
 *
 * So a recovery point that mixes two instants, or lacks a part of one, is found.
 */
#include "saved_tasks.h"
#include "programs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/bounds.h"
#include "common/extent.h"
#include "common/figures.h"
#include "common/roots.h"

enum { ROOT_AREA, ROOT_SHAPE, ROOTS };
enum { STREAM = 0, N_MAX = 36, QUEENS_MAX = 10, LOG_MAX = 1 << 20 /* of a pool */ };

static const char *const recoveries[] = {
	[SAVED_NONE] = "none", [SAVED_COPY] = "copy", [SAVED_UNDO] = "undo", NULL};
static const char *const programs[] = {
	[SAVED_FIB] = "fib", [SAVED_NQUEENS] = "nqueens", [SAVED_MARKS] = "marks", NULL};

static const struct nvw_option options[] = {
	{"program", NVW_OPTION_CHOICE, "fib", programs, "which program"},
	{"n", NVW_OPTION_COUNT, "8", NULL,
		"its argument: which number, how many queens (at most 10), or elements"},
	{"recovery", NVW_OPTION_CHOICE, "copy", recoveries,
		"none: no recovery points; copy: copies of the task vector; undo: an undo log of each epoch"},
	{"checkpoint", NVW_OPTION_COUNT, "1", NULL,
		"epochs between two recovery points; with recovery=undo one"},
	{"entries", NVW_OPTION_COUNT, "8k", NULL, "entries of the task vector"},
	{"group-size", NVW_OPTION_COUNT, "64", NULL, "work-items per work-group"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

static const struct nvw_task_program *program_of(const struct saved_plan *p)
{
	static const struct nvw_task_program *const of[] = {[SAVED_FIB] = &trees_fib_program,
		[SAVED_NQUEENS] = &trees_queens_program,
		[SAVED_MARKS] = &trees_marks_program};

	assert(p->program <= SAVED_MARKS);
	return of[p->program];
}

/* The size of the array that tasks change: a counter of solutions, or the marks. */
static uint64_t array_bytes(const struct saved_plan *p)
{
	assert(p->n > 0);
	return p->program == SAVED_MARKS ? 8 * ((p->n + 1) / 2) : 8;
}

/* ---- The plan ------------------------------------------------------------------------------------- */

static int check_plan(const struct saved_plan *p)
{
	NVW_FAIL_IF(p->program == SAVED_NQUEENS && p->n > QUEENS_MAX, NVW_E_USAGE,
		"saved-tasks: --n: expected 1 to %d queens, found %u", QUEENS_MAX, p->n);
	NVW_FAIL_IF(p->recovery == SAVED_UNDO && p->every != 1, NVW_E_USAGE,
		"saved-tasks: --checkpoint: expected 1 with --recovery=undo, found %u", p->every);
	NVW_FAIL_IF(p->mutation >= SAVED_NO_LOG && p->recovery != SAVED_UNDO, NVW_E_USAGE,
		"mutation %s has an effect only with --recovery=undo", saved_mutations[p->mutation].name);
	return 0;
}

static int read_plan(const struct nvw_options *o, uint64_t seed, int mutation, void **ret_plan)
{
	static const struct bounds bounds[] = {{"n", 1, N_MAX}, {"checkpoint", 1, 1 << 20},
		{"entries", 2, 1 << 24}, {"group-size", 1, 1024}};
	struct saved_plan *p;

	*ret_plan = NULL;
	NVW_TRY(BOUNDS_CHECK("saved-tasks", o, bounds));
	p = malloc(sizeof *p);
	NVW_ALLOCATED(p, "saved-tasks: no memory for a plan");
	*p = (struct saved_plan){
		.program = (enum saved_program)nvw_option_choice(o, "program"),
		.n = (uint32_t)nvw_option_u64(o, "n"),
		.every = (uint32_t)nvw_option_u64(o, "checkpoint"),
		.entries = (uint32_t)nvw_option_u64(o, "entries"),
		.group_size = (unsigned)nvw_option_u64(o, "group-size"),
		.recovery = (enum saved_recovery)nvw_option_choice(o, "recovery"),
		.mutation = (enum saved_mutation)mutation,
	};
	*ret_plan = p;
	return 0;
}

static int saved_prepare(const struct nvw_options *o, uint64_t seed, int mutation, void **ret_plan)
{
	int error;

	NVW_TRY(read_plan(o, seed, mutation, ret_plan));
	error = check_plan(*ret_plan);
	if (error != 0) {
		free(*ret_plan);
		*ret_plan = NULL;
	}
	return error;
}

static uint64_t area_bytes(const struct saved_plan *p)
{
	return nvw_task_save_bytes(p->entries, program_of(p)->words, array_bytes(p));
}

static int saved_pool(const void *plan, struct nvw_pool_params *ret_params)
{
	const struct saved_plan *const p = plan;

	*ret_params = (struct nvw_pool_params){
		.heap_bytes = area_bytes(plan) + UINT64_C(2) * NVW_POOL_CHUNK_BYTES,
		.layout = "saved-tasks",
	};
	if (p->recovery == SAVED_UNDO) {
		ret_params->log_entries =
			(uint32_t)u64_min(nvw_task_log_entries(p->entries, program_of(p)->words), LOG_MAX);
	}
	return 0;
}

/* ---- The run -------------------------------------------------------------------------------------- */

static uint64_t shape_of(const struct saved_plan *p)
{
	assert(p->n < 1 << 24);
	return p->program | (uint64_t)p->recovery << 4 | (uint64_t)p->n << 8 | (uint64_t)p->entries << 32;
}

static int saved_setup(void *plan, struct nvw_machine *machine)
{
	const struct saved_plan *const p = plan;
	uint64_t words[ROOTS] = {[ROOT_SHAPE] = shape_of(p)};
	struct nvw_pmem pmem;

	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(nvw_heap_alloc_extent(machine, &pmem, area_bytes(p), &words[ROOT_AREA]));
	return roots_write(machine, &pmem, words, ROOTS);
}

static int run_program(
	struct saved_plan *p, struct nvw_machine *machine, bool resume, const struct nvw_task_options *o)
{
	const struct {
		nvw_task_run function;
		uint32_t words[3];
		unsigned count;
	} first[] = {[SAVED_FIB] = {trees_fib, {p->n}, 1},
		[SAVED_NQUEENS] = {trees_place, {0, 0, 0}, 3},
		[SAVED_MARKS] = {trees_mark, {0, p->n}, 2}};

	if (resume) {
		return nvw_trees_resume(machine, program_of(p), o, &p->totals);
	}
	return nvw_trees_run(machine, program_of(p), o, first[p->program].function, first[p->program].words,
		first[p->program].count, &p->totals);
}

static int read_result(struct saved_plan *p, struct nvw_machine *machine, const uint32_t *device)
{
	uint32_t array[N_MAX + 1] = {0};
	assert(array_bytes(p) <= sizeof array);
	NVW_TRY(nvw_read(machine, array, device, array_bytes(p)));
	switch (p->program) {
	case SAVED_FIB:
		p->result = p->totals.result[0];
		break;
	case SAVED_NQUEENS:
		p->result = array[0];
		break;
	case SAVED_MARKS:
		p->result = 0;
		for (uint64_t i = 0; i < p->n; i++) {
			p->result += (i + 1) * (i + 1) * array[i];
		}
		break;
	}
	return 0;
}

int saved_run(struct saved_plan *p, struct nvw_machine *machine, bool resume)
{
	uint32_t *const device = nvw_alloc(machine, array_bytes(p));
	uint32_t *const unused = nvw_alloc(machine, array_bytes(p));
	const struct trees_queens queens = {device, (uint32_t)((UINT64_C(1) << p->n) - 1)};
	const struct trees_marks marks = {device};
	const bool forgets = p->mutation == SAVED_FORGOTTEN_ARRAY;
	const struct nvw_task_array array = {forgets ? unused : device, array_bytes(p)};
	struct nvw_pmem pmem;
	nvw_off area;
	NVW_FAIL_IF(!device || !unused, NVW_E_MEMORY, "saved-tasks: no device memory for an array");
	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(roots_read(machine, &pmem, &area, 1));

	assert(!resume || p->recovery != SAVED_NONE);
	const struct nvw_task_save save = {.pmem = &pmem,
		.area = area,
		.stream = STREAM,
		.every = p->every,
		.undo = p->recovery == SAVED_UNDO,
		.arrays = &array,
		.array_count = 1,
		.replaced = saved_replaced(p->mutation)};
	const void *const data = p->program == SAVED_MARKS ? (const void *)&marks : &queens;
	const struct nvw_task_options o = {.entries = p->entries,
		.group_size = p->group_size,
		.data = data,
		.save = p->recovery == SAVED_NONE ? NULL : &save,
		.points_most = p->points_most};

	NVW_TRY(run_program(p, machine, resume, &o));
	return read_result(p, machine, device);
}

static uint64_t fib_of(uint32_t n)
{
	uint64_t a = 0, b = 1;

	assert(n < 94);
	NVW_FOR(i, n) {
		const uint64_t next = a + b;

		a = b;
		b = next;
	}
	return a;
}

uint64_t saved_expected(const struct saved_plan *p)
{
	switch (p->program) {
	case SAVED_FIB:
		return fib_of(p->n);
	case SAVED_NQUEENS:
		return trees_solutions((UINT32_C(1) << p->n) - 1, 0, 0, 0);
	default:
		return trees_marks_of(0, p->n);
	}
}

static int saved_run_and_judge(void *plan, struct nvw_machine *machine)
{
	struct saved_plan *const p = plan;

	NVW_TRY(saved_run(p, machine, false));
	NVW_TRY(nvw_persist(machine));
	NVW_FAIL_IF(p->mutation == SAVED_UNMUTATED && p->result != saved_expected(p), NVW_E_INCONSISTENT,
		"saved-tasks: the result is %" PRIu64 ", expected %" PRIu64, p->result, saved_expected(p));
	return 0;
}

/* ---- The check ------------------------------------------------------------------------------------ */

/* What the task in an entry will have emitted in the end; -1 for what no task of the program is. In a tree of
 * tasks each entry is looked at once: *left is how many may still be. */
static int64_t value_of(const struct nvw_task_saved *s, uint32_t entry, uint32_t *left)
{
	const int32_t code = nvw_task_saved_code(s, entry);
	const uint32_t first = nvw_task_saved_word(s, entry, 0);
	int64_t a, b;

	if (entry >= s->entries || code < 0 || *left == 0) {
		return -1;
	}
	--*left;
	if (code == 0) {
		return first;
	}
	if ((code - 1) % TREES_FIB_FUNCTIONS == TREES_FIB) {
		return first <= N_MAX ? (int64_t)fib_of(first) : -1;
	}
	a = value_of(s, first, left);
	if (a < 0) {
		return a;
	}
	b = value_of(s, nvw_task_saved_word(s, entry, 1), left);
	return b < 0 ? b : a + b;
}

/* What a board that waits, or a task of marks, will add to the array. */
static uint64_t left_of(const struct nvw_task_saved *s, uint32_t entry, const struct saved_plan *p)
{
	const uint32_t all = (uint32_t)((UINT64_C(1) << p->n) - 1), a = nvw_task_saved_word(s, entry, 0),
		       b = nvw_task_saved_word(s, entry, 1);

	if (p->program == SAVED_NQUEENS) {
		return trees_solutions(all, a & all, b, nvw_task_saved_word(s, entry, 2));
	}
	return a < p->n && b <= p->n - a ? trees_marks_of(a, b) : UINT32_MAX;
}

/* What is in the array. */
static uint64_t done_of(const struct nvw_task_saved *s, const struct saved_plan *p)
{
	uint64_t done = 0;

	if (p->program == SAVED_NQUEENS) {
		return nvw_task_saved_array_word(s, 0);
	}
	for (uint64_t i = 0; i < p->n; i++) {
		done += (i + 1) * (i + 1) * (uint32_t)(nvw_task_saved_array_word(s, i / 2) >> (i % 2 * 32));
	}
	return done;
}

/* What has been done, and what is left to the tasks that wait. The first function of either program is its
 * only task function. */
static int64_t done_and_left(const struct nvw_task_saved *s, const struct saved_plan *p)
{
	const uint32_t functions = p->program == SAVED_MARKS ? TREES_MARK_FUNCTIONS : 1;
	uint64_t count = done_of(s, p);

	NVW_FOR(i, s->depth) {
		uint32_t number, first, end;

		nvw_task_saved_range(s, i, &number, &first, &end);
		for (uint32_t e = first; e < end && e < s->entries; e++) {
			if (nvw_task_saved_code(s, e) == (int32_t)(number * functions + 1)) {
				count += left_of(s, e, p);
			}
		}
	}
	return (int64_t)count;
}

static int check_point(const struct saved_plan *p, const struct nvw_task_saved *s, nvw_off area,
	struct nvw_findings *findings)
{
	uint32_t left = s->entries;
	const int64_t found = p->program == SAVED_FIB ? value_of(s, 0, &left) : done_and_left(s, p);
	const int64_t expected = (int64_t)saved_expected(p);
	assert(s->number > 0);

	if (found == expected) {
		return 0;
	}
	return nvw_violation(findings, area,
		"recovery point %" PRIu64 " leads to the result %" PRId64 ", expected %" PRId64, s->number,
		found, expected);
}

/* Recovery points are acknowledged by their numbers, one after the other. */
static int check_acknowledged(const struct nvw_task_saved *s, const struct nvw_acks *acks, nvw_off area,
	struct nvw_findings *findings)
{
	for (uint64_t c = s->number + 1; c < s->number + 64; c++) {
		if (nvw_acked(acks, c)) {
			return nvw_violation(findings, area,
				"recovery point %" PRIu64
				" is lost: it was acknowledged, and the last one is %" PRIu64,
				c, s->number);
		}
	}
	return 0;
}

static int open_saved(
	struct nvw_pool *pool, struct saved_plan *p, nvw_off *ret_area, struct nvw_task_saved *ret_saved)
{
	const uint64_t shape = extent_root(pool, ROOT_SHAPE);

	*p = (struct saved_plan){.program = (enum saved_program)(shape & 15),
		.recovery = (enum saved_recovery)(shape >> 4 & 15),
		.n = (uint32_t)(shape >> 8 & 0xffffff),
		.entries = (uint32_t)(shape >> 32),
		.mutation = SAVED_UNMUTATED};
	*ret_area = extent_root(pool, ROOT_AREA);
	*ret_saved = (struct nvw_task_saved){.pool = pool};
	if (*ret_area == 0) {
		return 0;
	}
	NVW_FAIL_IF(p->program > SAVED_MARKS || p->recovery > SAVED_UNDO || p->n == 0 || p->n > N_MAX ||
			    (p->program == SAVED_NQUEENS && p->n > QUEENS_MAX) || p->entries < 2 ||
			    p->entries > 1 << 24 || !extent_is_allocated(pool, *ret_area, area_bytes(p)),
		NVW_E_DAMAGED,
		"%s: root words 0 and 1: expected an allocated extent for the recovery points of a "
		"program",
		nvw_pool_path(pool));
	return nvw_task_saved_open(pool, *ret_area, STREAM, p->entries, program_of(p)->words, array_bytes(p),
		p->recovery == SAVED_UNDO, ret_saved);
}

static int saved_check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct nvw_task_saved s;
	struct saved_plan p;
	nvw_off area;
	int verdict = 0, lost = 0;

	if (open_saved(pool, &p, &area, &s) != 0) {
		return roots_broken(pool, findings);
	}
	if (s.number != 0) {
		verdict = check_point(&p, &s, area, findings);
	}
	if (acks) {
		lost = check_acknowledged(&s, acks, area, findings);
	}
	if (verdict) {
		return verdict;
	}
	return lost;
}

/* ---- After a crash -------------------------------------------------------------------------------- */

/* An operation is a recovery point. */
static int saved_go_on(
	void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations)
{
	struct saved_plan *const p = plan, as_found;
	struct nvw_task_saved s;
	nvw_off area;

	if (p->recovery == SAVED_NONE) {
		return 0;
	}
	NVW_TRY(open_saved(nvw_machine_pool(machine), &as_found, &area, &s));
	if (s.number != 0 && !nvw_acked(acks, s.number)) {
		NVW_TRY(nvw_acknowledge(machine, s.number, 1));
	}
	p->points_most = operations;
	return saved_run(p, machine, s.number != 0);
}

/* ---- Figures -------------------------------------------------------------------------------------- */

static int saved_inspect(struct nvw_pool *pool, struct nvw_description *d)
{
	struct nvw_task_saved s;
	struct saved_plan p;
	nvw_off area;

	NVW_TRY(open_saved(pool, &p, &area, &s));

	const struct figure rows[] = {
		{"tasks.recovery_point", s.number, "count", "number of the last recovery point"},
		{"tasks.epochs", s.epochs, "count", "epochs that it has behind it"},
		{"tasks.waiting", s.depth, "count", "epochs that wait in it"},
		{"tasks.entries", s.entries, "count", "entries of the task vector in it"},
	};

	return FIGURES_DESCRIBE(d, rows);
}

static int saved_report(void *plan, struct nvw_machine *machine, struct nvw_description *d)
{
	const struct saved_plan *const p = plan;
	uint64_t points = 0;

	if (p->recovery != SAVED_NONE) {
		points = 1 + (p->totals.epochs + p->every - 1) / p->every;
	}

	const struct figure rows[] = {
		{"tasks.run", p->totals.tasks, "count", "tasks that ran, continuations included (T1)"},
		{"tasks.epochs", p->totals.epochs, "count", "epochs, one after the other (Tinf)"},
		{"tasks.recovery_points", points, "count", "recovery points that were made"},
	};

	return FIGURES_DESCRIBE(d, rows);
}

extern const struct nvw_workload nvw_workload_saved_tasks;

const struct nvw_workload nvw_workload_saved_tasks = {
	.name = "saved-tasks",
	.summary = "a task program with recovery points: after a power cut it goes on from the last one",
	.options = options,
	.mutations = saved_mutations,
	.lacks = saved_lacks,
	.trial =
		"program=fib n=6 entries=64 group-size=16; program=fib n=7 checkpoint=3 entries=128 "
		"group-size=16; "
		"program=nqueens n=5 entries=128 group-size=16; program=nqueens n=5 checkpoint=2 entries=128 "
		"group-size=16; "
		"recovery=undo program=fib n=6 entries=64 group-size=16; "
		"recovery=undo program=nqueens n=5 entries=128 group-size=16; "
		"program=marks n=9 entries=64 group-size=16; recovery=undo program=marks n=9 entries=64 "
		"group-size=16",
	.prepare = saved_prepare,
	.dispose = free,
	.pool = saved_pool,
	.setup = saved_setup,
	.run = saved_run_and_judge,
	.go_on = saved_go_on,
	.check = saved_check,
	.inspect = saved_inspect,
	.report = saved_report,
};
