/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a command once more, under ptrace and with all processes that it starts, to see where it dies or
 * hangs. If the command handles a fatal signal itself, the stack is the last one before its end.
 */
#ifndef CRASHTEST_TRACE_H
#define CRASHTEST_TRACE_H

#include "../crash.h"
#include "fork_server.h"

/* The stack when it died of a signal, or used up its time; "" if it did neither, or may not be traced. */
void ct_trace_run(const struct ct_start *how, unsigned timeout_ms, char ret_stack[CT_STACK_BYTES]);

#endif
