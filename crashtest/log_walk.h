/* SPDX-License-Identifier: BSD-3-Clause */
/* A persist log, read from its beginning. */
#ifndef CRASHTEST_LOG_WALK_H
#define CRASHTEST_LOG_WALK_H

#include <nvw/persist_log.h>
#include <nvw/workload.h>

/* number: of the record, from 1. Other than 0 ends the walk: an error, or 1 if it has seen enough. */
typedef int ct_log_visit(void *context, const struct nvw_log_record *record, uint64_t number);

/* Visits each record. 0, or the error of a visit or of the log. */
NVW_CHECKED int ct_log_walk(int log_fd, ct_log_visit *visit, void *context);

#endif
