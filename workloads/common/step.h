/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps that a seeded bug may replace. A workload's algorithm is written in its correct form and calls such a
 * step by STEP(). The bugs are in a file of their own, mutations.c: one table per bug with the steps that it
 * replaces. NULL in the table keeps a step, so a correct run calls the named function directly.
 */
#ifndef WORKLOADS_COMMON_STEP_H
#define WORKLOADS_COMMON_STEP_H

/* For a step whose address is also in a table: inlined nevertheless. Diverged lanes issue in the order of
 * their stack depths, so a step that is a call in one build but not in another would change the schedule. */
#define INLINE_STEP static inline __attribute__((always_inline))

#define STEP(replaced, step, ...) ((replaced)->step ? (replaced)->step(__VA_ARGS__) : step(__VA_ARGS__))

#endif
