/* SPDX-License-Identifier: BSD-3-Clause */
/* A persist log in memory, for its edits: records that move, and records that come between others. */
#ifndef CRASHTEST_EDIT_LOG_H
#define CRASHTEST_EDIT_LOG_H

#include "edit.h"
#include "../sites.h"
#include "../states/limits.h"

struct edit_entry {
	struct nvw_log_record record;
	uint64_t
		key; /* 2 * place; what comes right before or behind another has one less or more than that */
	uint64_t place;
	struct ct_limit limit; /* of a store */
};

struct edit_log {
	struct nvw_log_reader *reader; /* for the log's info */
	struct ct_array entry;         /* struct edit_entry */
	struct ct_array added;         /* struct edit_entry, to come between the others */
	struct ct_sites sites;
	struct ct_array owned;     /* void *, texts and data of the records */
	uint64_t first;            /* place of the record from which states are tested */
	uint32_t groups;           /* of stores that persist together */
	unsigned orders, durables; /* assumed ones; durables: the bit of the next one */
	bool limited;              /* some store is */
};

NVW_CHECKED int edit_log_read(int log_fd, uint64_t first_record, struct edit_log *ret_log);
/* Into a new file without a name. ret_limits: NULL if there are none. */
NVW_CHECKED int edit_log_write(const struct edit_log *log, int *ret_fd, struct ct_limits **ret_limits);
void edit_log_free(struct edit_log *log);

static inline struct edit_entry *edit_entry_at(const struct edit_log *log, uint64_t place)
{
	return (struct edit_entry *)log->entry.at + place;
}
static inline struct nvw_log_record *edit_record_at(const struct edit_log *log, uint64_t place)
{
	return &edit_entry_at(log, place)->record;
}
static inline bool edit_is_kind(const struct edit_log *log, uint64_t place, enum nvw_log_kind kind)
{
	return edit_record_at(log, place)->kind == kind;
}

/* The record will come just before, or behind, the one at a place. */
NVW_CHECKED int edit_log_add(
	struct edit_log *log, uint64_t place, bool behind, const struct nvw_log_record *record);
/* The record at a place will come just before, or behind, the one at another. */
void edit_log_move(struct edit_log *log, uint64_t place, uint64_t to, bool behind);
/* Puts everything in its place. Times never decrease. */
NVW_CHECKED int edit_log_settle(struct edit_log *log);

/* True if a site of the log is at the line. */
bool edit_log_is_at(const struct edit_log *log, uint32_t site, const struct ct_line *line);
/* The site's caller that the line names; NULL: it has no such caller. */
const struct ct_names *edit_log_caller(const struct edit_log *log, uint32_t site, const struct ct_line *line);
/* True if the thread is certainly in none of the caller's calls. Sites without callers tell nothing but the
 * function itself. */
bool edit_log_has_returned(
	const struct edit_log *log, uint32_t site, const struct ct_names *caller, const struct ct_line *line);
/* The site of a store, an acknowledgement, a begin, a barrier, a flush or a fence; 0: it has none. */
uint32_t edit_site_of(const struct nvw_log_record *record);
/* The epochs of a store or an acknowledgement. */
struct edit_epochs {
	uint32_t *wi, *wg, *kr;
};
struct edit_epochs edit_epochs_of(struct nvw_log_record *record);
/* NVW_E_USAGE: what the line lacks, and lines near it that have records of these kinds. */
int edit_log_no_line(
	const struct edit_log *log, const struct ct_line *line, uint32_t kinds, const char *lacks);

/* edit_barrier.c: barrier and widen. */
NVW_CHECKED int edit_barriers(struct edit_log *log, const struct ct_edit *edit);
/* edit_order.c: exchange, flush, fence. */
NVW_CHECKED int edit_exchange(struct edit_log *log, const struct ct_edit *edit);
NVW_CHECKED int edit_flushes(struct edit_log *log, const struct ct_edit *edit);
NVW_CHECKED int edit_fences(struct edit_log *log, const struct ct_edit *edit);
/* edit_atomic.c: atomic, durable, ordered. */
NVW_CHECKED int edit_atomic(struct edit_log *log, const struct ct_edit *edit);
NVW_CHECKED int edit_durable(struct edit_log *log, const struct ct_edit *edit);
NVW_CHECKED int edit_ordered(struct edit_log *log, const struct ct_edit *edit);

#endif
