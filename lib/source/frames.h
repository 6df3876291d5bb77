/* SPDX-License-Identifier: BSD-3-Clause */
/* Where code was when a signal came: its frames, and the source line of the innermost one that has one. */
#ifndef LIB_SOURCE_FRAMES_H
#define LIB_SOURCE_FRAMES_H

#include <stddef.h>

/* Loads what nvw__frames_take() needs, since a handler must not. */
void nvw__frames_prepare(void);

/*
 * In a handler with SA_SIGINFO, whose third argument is context: the addresses of the frames behind it, innermost first.
 * Returns how many were written, at least 1 and at most capacity.
 */
unsigned nvw__frames_take(const void *context, void **ret_address, unsigned capacity);

/* The interrupted code's stack pointer; NULL where it is not known. */
const void *nvw__signal_stack(const void *context);

/* How a SIGSEGV came about. */
enum nvw__fault { NVW__FAULT_UNKNOWN, NVW__FAULT_READ, NVW__FAULT_WRITE };
enum nvw__fault nvw__signal_fault(const void *context);

/*
 * The innermost frame that has a source line, as "file:line (function)"; "" if there is none. The C library and the
 * sanitizers do not count: whoever called them is meant. The addresses are of this process, or of one that it was
 * forked from or has forked.
 */
void nvw__frames_place(void *const *address, unsigned count, char *ret_place, size_t n);

#endif
