/* SPDX-License-Identifier: BSD-3-Clause */
/* Small random runs: their logs, and their events as a test remembers them. */
#ifndef TESTS_CRASHTEST_RANDOM_RUNS_H
#define TESTS_CRASHTEST_RANDOM_RUNS_H

#include <nvw/random.h>

#include "memory_log.h"
#include "word_sets.h"

enum {
	STORES_MAX = 9,
	STEPS_MAX = 64,
	RUNS = 100,
};

struct event {
	enum nvw_log_kind kind;
	/* STORE, ACK, FLUSH: who and in which epochs; */
	unsigned item, word, epoch[3];
	uint64_t value;
	unsigned at, bytes; /* of the word */
	/* PERSISTED: the stores (numbers) that its barrier covers; */
	uint32_t covers;
	unsigned store, ack; /* numbers */
	/*
	 * The stores that are durable by now, since a barrier that the work-item has passed is taken for a
	 * narrower one.
	 */
	uint32_t owed;
};

struct history {
	bool small;         /* stores to bytes of two words */
	bool hosted;        /* the host writes and acknowledges, too */
	unsigned narrow_by; /* every barrier is taken for one narrower by so many steps */
	unsigned events;
	struct event event[STEPS_MAX * 4];
	unsigned stores;
	unsigned store_at[STORES_MAX]; /* event */
	unsigned acks;
	unsigned ack_at[ACKS_MAX];
};

struct maker {
	struct memory_log log;
	struct nvw_random r;
	struct history *h;
	unsigned epoch[ITEMS][3];  /* as the narrower barriers make them */
	unsigned logged[ITEMS][3]; /* as the log says */
	bool stalled[ITEMS];
	uint32_t owed_item[ITEMS], owed_group[ITEMS / GROUP];
	/* A barrier under way. */
	struct waiting {
		bool open;
		enum nvw_group scope;
		unsigned item;
		uint32_t covers;
	} waiting[ITEMS];
};

/*
 * Makes the run of this seed; kind has the fields of the history that decide what a run does. Returns a
 * descriptor of its log, which the caller closes.
 */
int make_run_of(uint64_t seed, const struct history *kind, struct history *h);

int make_run(uint64_t seed, unsigned narrow_by, bool small, struct history *h);

#endif
