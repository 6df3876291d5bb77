/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One schedule of a threaded program: the file "schedule" of a session's folder. The preloaded library lets
 * one thread run at a time (preload/turns/turns.c) and decides at *points* which one: operations that
 * synchronise, and persistent accesses that nvwave-cc announces.
 *
 * Without a decision the running thread continues; one that waits, has ended or only polls is followed by the
 * next one by number that can run. A *switch* is a decision otherwise: behind which point of which thread,
 * and to whom. The switches are the whole schedule: with them, a run is repeated.
 */
#ifndef HOST_SCHEDULE_H
#define HOST_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HOST_SCHEDULE_THREADS = 1024, /* in all; from 1, the first thread */
	HOST_SCHEDULE_SWITCHES = 1 << 16,
	HOST_SCHEDULE_DEPTH = 64,
	HOST_SCHEDULE_WITNESSES = 1024,
	HOST_SCHEDULE_PLACES = 1024, /* of stores, and of loads; a power of two */
	HOST_SCHEDULE_AIMS_LOG2 = 3,
	HOST_SCHEDULE_AIMS = 1 << HOST_SCHEDULE_AIMS_LOG2,
};

/* Who goes next. By turns, from schedule 2 on; the first has no switch. */
/* clang-format off */
#define HOST_POLICIES(POLICY) \
	POLICY(PLAIN, "none") \
	POLICY(PRIORITIES, "priorities") /* depth - 1 changes of random ones (PCT, ASPLOS 2010) */ \
	POLICY(RANDOM, "random") \
	POLICY(STORES, "store and flush") /* the changes come between a store and its flush or fence */ \
	POLICY(PLACES, "a store's place") /* a change for each aim; each place is as likely */ \
	POLICY(SWITCHES, "switches") /* those of a list */
/* clang-format on */

enum host_policy {
#define POLICY(name, text) HOST_POLICY_##name,
	HOST_POLICIES(POLICY)
#undef POLICY
};

enum host_schedule_end {
	HOST_SCHEDULE_RAN,
	HOST_SCHEDULE_DEADLOCK, /* every thread waits for another */
	HOST_SCHEDULE_POLLS,    /* every thread that does not wait polls, and nothing changes */
	HOST_SCHEDULE_REFUSED,
};

/* What a thread waits for. */
/* clang-format off */
#define HOST_WAITS(WAIT) \
	WAIT(NOTHING, "nothing") \
	WAIT(MUTEX, "a mutex") \
	WAIT(RWLOCK, "a read-write lock") \
	WAIT(SPIN, "a spin lock") \
	WAIT(CONDITION, "a condition") \
	WAIT(SEMAPHORE, "a semaphore") \
	WAIT(BARRIER, "a barrier") \
	WAIT(ONCE, "another's pthread_once()") \
	WAIT(JOIN, "the end of a thread") \
	WAIT(TIME, "a time") \
	WAIT(DESCRIPTORS, "a descriptor")
/* clang-format on */

enum host_wait {
#define WAIT(name, text) HOST_WAIT_##name,
	HOST_WAITS(WAIT)
#undef WAIT
};

struct host_switch {
	uint16_t from, to; /* threads */
	uint32_t padding;
	uint64_t point; /* of the first of them */
};

/* How often the flushes and fences that came next behind the stores of a place were executed; of a directed
 * plan, the stores, or the loads. */
struct host_access_place {
	uint64_t code; /* 0: free */
	uint64_t exposed;
	uint32_t site; /* of a directed plan */
	bool loads;
};

/* A change at a place: where it is executed for the nth time, from 1, and at random once in so many times
 * (0: never). */
struct host_aim {
	uint64_t code, nth, rarely;
	bool ahead; /* of a load, until another thread has stored to its word */
};

/* The length of schedule 1, from which the others are made. */
struct host_schedule_length {
	uint64_t points, exposed; /* all points; those between a store and its flush or fence */
	struct host_access_place place[HOST_SCHEDULE_PLACES]; /* by hash */
	struct host_access_place load[HOST_SCHEDULE_PLACES];  /* of a directed plan */
};

/* What is common to both sides' idea of a schedule. */
struct host_schedule_plan {
	uint64_t seed, number; /* from 1 */
	uint32_t depth;
	uint32_t policy;          /* enum host_policy */
	uint64_t points, exposed; /* of the first schedule */
	struct host_aim aim[HOST_SCHEDULE_AIMS];
	uint32_t aims;
	uint32_t switches; /* of the list */
	bool directed; /* changes come right behind stores, or ahead of loads, of places that are wanted */
	bool mixed;    /* threads that are not held are */
};

/* A value was read before it was durable, and then something was made durable, before it was. */
struct host_witness {
	uint32_t store, load; /* sites */
	uint64_t word;        /* what was read: its offset in the file / 8 */
	uint64_t event;       /* the fence that made the other thing durable, by its number in the record */
};

struct host_schedule {
	struct host_schedule_plan plan;

	/* What the run has left. */
	int32_t process; /* whose threads are controlled; 0: none yet */
	uint32_t end;    /* enum host_schedule_end */
	char refused[256];
	struct host_schedule_length length;
	uint32_t threads, alive;
	int32_t running; /* the thread id of the one whose turn it is */
	bool many;       /* there were more switches than there is room for */
	bool outside;    /* it depends on what another process has sent */
	struct {
		uint32_t waits, site; /* enum host_wait; where, in the session */
		bool alive;
	} thread[HOST_SCHEDULE_THREADS + 1];
	uint32_t held[HOST_SCHEDULE_AIMS]; /* how often an aim's change came, and another thread went on */
	uint32_t switches;
	struct host_switch made[HOST_SCHEDULE_SWITCHES], list[HOST_SCHEDULE_SWITCHES];
	uint32_t witnesses;
	struct host_witness witness[HOST_SCHEDULE_WITNESSES]; /* one of each pair of sites */
};

#endif
