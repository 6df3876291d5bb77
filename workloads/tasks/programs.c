/* SPDX-License-Identifier: BSD-3-Clause */
/* See programs.h. */
#include <assert.h>

#include "programs.h"

/* ---- Fibonacci ------------------------------------------------------------------------------------ */

static void sum(struct nvw_task *t)
{
	nvw_emit(t, nvw_emitted(t, nvw_task_word(t, 0), 0) + nvw_emitted(t, nvw_task_word(t, 1), 0));
}

void trees_fib(struct nvw_task *t)
{
	const uint32_t n = nvw_task_word(t, 0);

	if (n < 2) {
		nvw_emit(t, n);
	} else {
		const uint32_t a = nvw_fork(t, trees_fib, n - 1), b = nvw_fork(t, trees_fib, n - 2);

		nvw_join(t, sum, a, b);
	}
}

const struct nvw_task_program trees_fib_program = {
	.name = "fib",
	.functions = (const struct nvw_task_function[]){[TREES_FIB] = {"fib", trees_fib, false},
		[TREES_SUM] = {"sum", sum, false},
		[TREES_FIB_FUNCTIONS] = {NULL, NULL, false}},
	.words = 2,
};

/* ---- Queens --------------------------------------------------------------------------------------- */

void trees_place(struct nvw_task *t)
{
	const struct trees_queens *const d = nvw_task_data(t);
	const uint32_t columns = nvw_task_word(t, 0), left = nvw_task_word(t, 1), right = nvw_task_word(t, 2);

	if (columns == d->all) {
		(void)nvw_atomic_add(d->solutions, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
		return;
	}
	for (uint32_t open = d->all & ~(columns | left | right); open != 0; open &= open - 1) {
		const uint32_t queen = open & -open;

		nvw_fork(t, trees_place, columns | queen, (left | queen) << 1, (right | queen) >> 1);
	}
}

const struct nvw_task_program trees_queens_program = {
	.name = "nqueens",
	.functions = (const struct nvw_task_function[]){{"place", trees_place, false}, {NULL, NULL, false}},
	.words = 3,
};

uint32_t trees_solutions(uint32_t all, uint32_t columns, uint32_t left, uint32_t right)
{
	uint32_t count = columns == all;

	for (uint32_t open = all & ~(columns | left | right); open != 0; open &= open - 1) {
		const uint32_t queen = open & -open;

		count += trees_solutions(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
	}
	return count;
}

/* ---- Marks ---------------------------------------------------------------------------------------- */

/* A work-item per element: no two change the same one. */
static void add_mark(struct nvw_task *t)
{
	const struct trees_marks *const d = nvw_task_data(t);
	const uint32_t first = nvw_task_word(t, 0), count = nvw_task_word(t, 1);

	for (uint32_t i = nvw_local_id(); i < count; i += nvw_group_size()) {
		(void)nvw_atomic_add(&d->marks[first + i], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

void trees_mark(struct nvw_task *t)
{
	const uint32_t first = nvw_task_word(t, 0), count = nvw_task_word(t, 1), half = count / 2;

	nvw_map(t, add_mark, first, count);
	if (count > 2) {
		nvw_fork(t, trees_mark, first, half);
		nvw_fork(t, trees_mark, first + half, count - half);
	}
}

const struct nvw_task_program trees_marks_program = {
	.name = "marks",
	.functions = (const struct nvw_task_function[]){[TREES_MARK] = {"mark", trees_mark, false},
		[TREES_ADD] = {"add", add_mark, true},
		[TREES_MARK_FUNCTIONS] = {NULL, NULL, false}},
	.words = 2,
};

uint64_t trees_marks_of(uint32_t first, uint32_t count)
{
	const uint32_t half = count / 2;
	uint64_t sum = 0;
	assert((uint64_t)first + count <= UINT32_MAX);

	for (uint64_t i = first; i < (uint64_t)first + count; i++) {
		sum += (i + 1) * (i + 1);
	}
	if (count > 2) {
		return sum + trees_marks_of(first, half) + trees_marks_of(first + half, count - half);
	}
	return sum;
}
