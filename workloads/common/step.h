/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps that a seeded bug may replace. A workload's algorithm is written as it should be, and calls such a step by
 * STEP(). The bugs have a file of their own, mutations.c: per bug a table of the steps that it replaces. A NULL in the
 * table leaves a step as it is, so a correct run calls the function that is named here, directly.
 */
#ifndef WORKLOADS_COMMON_STEP_H
#define WORKLOADS_COMMON_STEP_H

/* For a step whose address a table has as well: inlined nevertheless. Diverged lanes issue in the order of their stacks'
 * depths, so a step that is a call of its own in one build, and not in the other, gives another schedule. */
#define INLINE_STEP static inline __attribute__((always_inline))

#define STEP(replaced, step, ...) ((replaced)->step ? (replaced)->step(__VA_ARGS__) : step(__VA_ARGS__))

#endif
