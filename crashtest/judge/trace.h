/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command run once more to see where it dies or hangs: under ptrace, with all processes that it starts. Of a fatal signal that the
 * command handles itself the stack is the last one before its end.
 */
#ifndef CRASHTEST_TRACE_H
#define CRASHTEST_TRACE_H

#include "../crash.h"
#include "fork_server.h"

/* The stack when it died of a signal, or used up its time; "" if it did neither, or may not be traced. */
void ct_trace_run(const struct ct_start *how, unsigned timeout_ms, char ret_stack[CT_STACK_BYTES]);

#endif
