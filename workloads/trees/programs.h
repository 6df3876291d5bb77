/* SPDX-License-Identifier: BSD-3-Clause */
/* Two small task programs (nvw/tasks.h) that several workloads run, with and without recovery points. */
#ifndef WORKLOADS_TREES_PROGRAMS_H
#define WORKLOADS_TREES_PROGRAMS_H

#include <nvw/tasks.h>

/* The n-th Fibonacci number by its definition, modulo 2^32. First task: trees_fib(n). Functions in this order: */
enum trees_fib_function { TREES_FIB, TREES_SUM, TREES_FIB_FUNCTIONS };
extern const struct nvw_task_program trees_fib_program;
void trees_fib(struct nvw_task *t);

/*
 * Placements of queens, one per row, that do not attack each other. A task is a board with some rows filled: its words are the columns
 * with a queen, and the columns that the two diagonals attack in the next row, a bit each. It forks one task per place in the next
 * row; full boards are counted by an atomic. First task: trees_place(0, 0, 0). Data: struct trees_queens.
 */
struct trees_queens {
	uint32_t *solutions; /* device memory */
	uint32_t all;        /* a bit per column */
};
extern const struct nvw_task_program trees_queens_program;
void trees_place(struct nvw_task *t);

/* The same on the host: how many ways there are to complete a board. */
uint32_t trees_solutions(uint32_t all, uint32_t columns, uint32_t left, uint32_t right);

#endif
