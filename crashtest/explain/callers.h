/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The callers of source places. A log may have one place several times, as sites with different callers
 * (nvw/persist_log.h): a line of a helper, such as one that stores or flushes for others. Recursion is no
 * caller: if a function calls itself, its outermost call counts.
 */
#ifndef CRASHTEST_CALLERS_H
#define CRASHTEST_CALLERS_H

#include "stores.h"

/* True if two sites are one line of one file. */
bool ct_callers_one_place(const struct ct_stores *stores, uint32_t a, uint32_t b);

/* The innermost caller of a site that another one of the same place has not, as a site; 0: there is none. */
uint32_t ct_callers_apart(const struct ct_stores *stores, uint32_t site, uint32_t other);

/* The same beside all other sites of its place. */
uint32_t ct_callers_alone(const struct ct_stores *stores, uint32_t site);

/* The site and all of its callers, innermost first, a line of text each: "file:line (function)". "" for a
 * site without callers. What has no room is counted in the last line. */
void ct_callers_stack(const struct ct_stores *stores, uint32_t site, char ret_stack[CT_STACK_BYTES]);

#endif
