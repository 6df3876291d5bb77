/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instruction is carried out beside its place: a copy of it, whose address leads to another mapping of the
 * same memory, and a jump back behind the instruction. It needs no page to be opened, and no single step.
 */
#ifndef CRASHTEST_ELSEWHERE_H
#define CRASHTEST_ELSEWHERE_H

#include "access.h"

/* Before its first use. Without the memory, ct_elsewhere() does nothing. */
void ct_elsewhere_begin(void);

/* The signal handler returns to the copy, which accesses memory distance bytes on. False: it cannot be
 * done. */
bool ct_elsewhere(ucontext_t *context, const struct ct_access *access, int64_t distance);

#endif
