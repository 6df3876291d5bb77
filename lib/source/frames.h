/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a signal interrupted the code: its stack frames, and the source line of the innermost frame that has
 * one. */
#ifndef LIB_SOURCE_FRAMES_H
#define LIB_SOURCE_FRAMES_H

#include <stddef.h>
#include <sys/types.h>

/* Loads the code that nvw__frames_take() needs, because a handler must not load it. */
void nvw__frames_prepare(void);

/*
 * For a handler with SA_SIGINFO, whose third argument is context: the addresses of the interrupted frames,
 * innermost first. Returns their number, at least 1 and at most capacity.
 */
unsigned nvw__frames_take(const void *context, void **ret_address, unsigned capacity);

/* The interrupted code's stack pointer; NULL if unknown. */
const void *nvw__signal_stack(const void *context);

/* The cause of a SIGSEGV. */
enum nvw__fault { NVW__FAULT_UNKNOWN, NVW__FAULT_READ, NVW__FAULT_WRITE };
enum nvw__fault nvw__signal_fault(const void *context);

/*
 * The innermost frame with a source line, as "file:line (function)"; "" if there is none. Frames of the C
 * library and the sanitizers are skipped: their caller is reported. The addresses must belong to this
 * process, or to one related to it by fork.
 */
void nvw__frames_place(void *const *address, unsigned count, char *ret_place, size_t n);

/* The same for another process while it runs, which is stopped for a moment: a child, or a descendant. ""
 * also if it may not be looked into. */
void nvw__process_place(pid_t pid, char *ret_place, size_t n);

/* All frames with a source line, innermost first, a line of text each: "file:line (function)", with inlined
 * calls as frames of their own. Frames of the C library and the sanitizers are skipped. */
void nvw__frames_stack(void *const *address, unsigned count, char *ret_stack, size_t n);

/* The same for a thread that the caller has stopped by ptrace. */
void nvw__stopped_stack(pid_t thread, char *ret_stack, size_t n);

#endif
