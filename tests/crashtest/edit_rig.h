/* SPDX-License-Identifier: BSD-3-Clause */
/* Small runs as lists of events, their logs, and the sets of states that logs permit. */
#ifndef TESTS_CRASHTEST_EDIT_RIG_H
#define TESTS_CRASHTEST_EDIT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <crashtest/crash.h>
#include <crashtest/edit.h>
#include <crashtest/image.h>

enum {
	POOL_BYTES = 4096,
	WORDS = 6,
	ITEMS = 4,
	GROUP = 2,
	EVENTS_MAX = 96,
	STORES_MAX = 12,
	ACKS_MAX = 8,
	STATES_MAX = 1 << 15,
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

/* The words that are stored to; two of them share a line. */
nvw_off place(unsigned word);

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

struct state {
	uint64_t word[WORDS];
	uint32_t acks;
};

struct set {
	unsigned count;
	struct state state[STATES_MAX];
};

extern struct set permitted;
extern struct set *explored; /* filled by the explorer's process */

void explore(const struct ct_edited *edited, enum ct_model model);

struct ct_edit edit_of(enum ct_edit_kind kind, unsigned a, unsigned b, enum nvw_group scope);

int set_up(void **state);

#endif
