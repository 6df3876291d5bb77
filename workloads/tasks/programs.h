/* SPDX-License-Identifier: BSD-3-Clause */
/* Small task programs (tasks/tasks.h) that several workloads run, with and without recovery points. */
#ifndef WORKLOADS_TASKS_PROGRAMS_H
#define WORKLOADS_TASKS_PROGRAMS_H

#include "tasks.h"

/* The n-th Fibonacci number by its definition, modulo 2^32. First task: trees_fib(n). Functions in this
 * order: */
enum trees_fib_function { TREES_FIB, TREES_SUM, TREES_FIB_FUNCTIONS };
extern const struct nvw_task_program trees_fib_program;
void trees_fib(struct nvw_task *t);

/*
 * Placements of queens, one per row, that do not attack each other. A task is a board with some rows filled:
 * its words are the columns with a queen, and the columns that the two diagonals attack in the next row, a
 * bit each. It forks one task per place in the next row; full boards are counted by an atomic. First task:
 * trees_place(0, 0, 0). Data: struct trees_queens.
 */
struct trees_queens {
	uint32_t *solutions; /* device memory */
	uint32_t all;        /* a bit per column */
};
extern const struct nvw_task_program trees_queens_program;
void trees_place(struct nvw_task *t);

/* The same on the host: how many ways there are to complete a board. */
uint32_t trees_solutions(uint32_t all, uint32_t columns, uint32_t left, uint32_t right);

/*
 * Marks: a task adds 1 to a range of an array by a map operation, and forks a task per half, down to two
 * elements. So an element has as many marks in the end as ranges contain it, if each map is carried out once.
 * First task: trees_mark(0, elements). Data: struct trees_marks.
 */
struct trees_marks {
	uint32_t *marks; /* device memory */
};
enum trees_mark_function { TREES_MARK, TREES_ADD, TREES_MARK_FUNCTIONS };
extern const struct nvw_task_program trees_marks_program;
void trees_mark(struct nvw_task *t);

/* On the host: the marks that a task, and all that it forks, add, each mark of element i counted (i + 1)^2
 * times. */
uint64_t trees_marks_of(uint32_t first, uint32_t count);

#endif
