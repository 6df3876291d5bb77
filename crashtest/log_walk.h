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

/* Who made a record, and where. */
struct ct_by {
	uint32_t kernel; /* 0: a thread of the host, whose number is the work-item */
	uint32_t site;
	uint64_t work_item, group;
};

/* False: it is none that a work-item or a thread makes. A barrier's is the first of its members, or 0. */
bool ct_record_by(const struct nvw_log_record *record, struct ct_by *ret_by);

static inline bool ct_is_same_item(const struct ct_by *a, const struct ct_by *b)
{
	return a->kernel == b->kernel && a->work_item == b->work_item;
}

#endif
