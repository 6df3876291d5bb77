/* SPDX-License-Identifier: BSD-3-Clause */
/* A place for a debugger: the instant at which a log gets a certain record (nvwave replay --gdb --at=N). */
#ifndef LOG_STOP_H
#define LOG_STOP_H

#include <nvw/persist_log.h>

/* nvw__log_stop() will be called when the writer has appended record number, from 1; 0: never. */
void nvw__log_stop_after(struct nvw_log_writer *writer, uint64_t number);

/* Does nothing: a debugger has a breakpoint in it. */
void nvw__log_stop(void);

#endif
