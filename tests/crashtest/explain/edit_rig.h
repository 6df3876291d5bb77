/* SPDX-License-Identifier: BSD-3-Clause */
/* Small runs as lists of events, and their logs. */
#ifndef TESTS_CRASHTEST_EDIT_RIG_H
#define TESTS_CRASHTEST_EDIT_RIG_H

#include "common/test.h"

#include <crashtest/crash.h>
#include <crashtest/explain/edit.h>
#include "../word_sets.h"

enum {
	EVENTS_MAX = 96,
	STORES_MAX = 12,
#ifdef __SANITIZE_ADDRESS__
	RUNS = 40,
#else
	RUNS = 120,
#endif
	ARRIVALS = 2,
	LINE_A = 10,
	LINE_B = 11,
	LINE_OTHER = 12,
	LINE_BARRIER = 20,
	LINE_GROUP = 21,
};

struct event {
	enum nvw_log_kind kind;
	unsigned item; /* of a group's barrier its first */
	bool of_group;
	unsigned line, word, number; /* number: of a store, an acknowledgement */
	unsigned wi, wg;             /* epochs */
	uint32_t covers;             /* PERSISTED */
};

struct history {
	bool host;
	unsigned events, stores, acks;
	struct event event[EVENTS_MAX];
	unsigned store_at[STORES_MAX], ack_at[ACKS_MAX];
};

/* The site's number is its line. */
int write_log(const struct history *h);

void explore(const struct ct_edited *edited, enum ct_model model);

struct ct_edit edit_of(enum ct_edit_kind kind, unsigned a, unsigned b, enum nvw_group scope);

/*
 * edit_maker.c: a random run. line: where every item comes equally often, LINE_A with one or two stores, or
 * LINE_BARRIER; what it does before and between is random. waiting: wider than a work-item's to have only
 * runs that a real barrier at the line, of that scope, could leave.
 */
void make_run(uint64_t seed, unsigned line, enum nvw_group waiting, struct history *h);

bool is_member(const struct event *e, unsigned item); /* of the event's work-group, or the item itself */

#endif
