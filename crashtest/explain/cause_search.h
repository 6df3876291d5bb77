/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What cause.c knows of a need while it puts it into words, and the words that it has for places, events and
 * proposals.
 */
#ifndef CRASHTEST_CAUSE_SEARCH_H
#define CRASHTEST_CAUSE_SEARCH_H

#include "cause.h"
#include "cause_callers.h"

enum cause_scope { CAUSE_WORK_ITEM, CAUSE_WORK_GROUP, CAUSE_KERNEL, CAUSE_HOST };

/* The flush and the fence that a host program has made for a store. */
struct cause_flushing {
	uint64_t flushed, fenced, thread; /* record numbers; 0: none */
	uint32_t flush_site, fence_site;
};

struct cause_search {
	const struct ct_stores *stores;
	const struct ct_operations *operations; /* may be NULL */
	const struct ct_need *need;
	const struct ct_store *lost, *early; /* of need */
	uint64_t operation;                  /* that is acknowledged, if need says one is */
	struct ct_cause *cause;
	struct ct_proposals *proposals;
	bool found;
	struct nvw_log_record
		barrier;         /* the widest that the lost store's work-item met between lost and early */
	uint64_t barrier_number; /* of its record */
	struct cause_flushing flushing;
	struct cause_helping helping;
	uint32_t lost_caller,
		/* sites: the calls that tell lost and early from others of their line; 0: none is needed */
		early_caller;
};

enum { PLACE_BYTES = 400 };

struct cause_place {
	char text[PLACE_BYTES];
};

/* Reads the whole log: what lies between the lost store and the one that relies on it. */
NVW_CHECKED int cause_read_log(struct cause_search *s, int log_fd);

/* Adds to the cause's text. */
__attribute__((format(printf, 2, 3))) void cause_say(struct ct_cause *c, const char *format, ...);

/* ---- Names --------------------------------------------------------------------------------------------- */

/* NULL: it is not known. */
const struct ct_names *cause_site_of(const struct cause_search *s, uint32_t site);
/* Names a store with the call that tells it from others of its line; the second does so without the call. */
struct cause_place cause_place_of(const struct cause_search *s, const struct ct_store *store);
struct cause_place cause_site_or_offset(const struct cause_search *s, const struct ct_store *store);
struct cause_place cause_site_name(const struct cause_search *s, uint32_t site);
struct cause_place cause_operation_name(const struct cause_search *s);
/* Names what relies on the lost store. */
struct cause_place cause_name_event(const struct cause_search *s, const struct ct_event *e);
struct ct_line cause_line_of(const struct cause_search *s, uint32_t site);
void cause_add_caller(struct ct_line *line, const struct ct_names *called);

/* ---- Proposals ----------------------------------------------------------------------------------------- */

void cause_propose(const struct cause_search *s, struct ct_edit edit);
void cause_propose_barriers(const struct cause_search *s, enum cause_scope needed);
void cause_propose_flushing(const struct cause_search *s, const struct ct_store *store);
void cause_propose_exchange(const struct cause_search *s);

#endif
