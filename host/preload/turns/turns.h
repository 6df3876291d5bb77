/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that take turns (../../schedule.h): turns.c lets them wait and go on, policy.c chooses. Nothing
 * here is locked: all of it belongs to the thread whose turn it is.
 */
#ifndef HOST_PRELOAD_TURNS_H
#define HOST_PRELOAD_TURNS_H

#include <poll.h>

#include "../../schedule.h"
#include "../preload.h"

#pragma GCC visibility push(hidden)

enum host_turn_state { TURN_CAN_RUN, TURN_WAITS, TURN_ENDED };

enum { TURN_LINES = 8 };

/* A change that others may poll for. any: those, too, of whom it is not known what they look at. */
struct host_changing {
	const void *object;
	bool any;
};

struct host_turn {
	uint32_t go; /* it is its turn; a futex */
	int32_t tid; /* 0: it has not begun */
	uint16_t number;
	uint8_t state, waits; /* enum host_turn_state, enum host_wait */
	bool polls;           /* it only looks whether something has changed: others go first */
	bool timed_out, stored;
	uint8_t rounds; /* of its end */
	uint32_t looks; /* since it has changed something */
	/* Lines that it has looked at since then, or tried to change. more: others, too, or what is not
	 * known. */
	uintptr_t line[TURN_LINES];
	unsigned lines;
	bool more;
	struct host_changing changing; /* at its last point it was about to do this */
	uint32_t listed;               /* switches of the list that are behind it */
	uint32_t at_a_time;            /* points since it was its turn */
	const void *object;
	struct pollfd *fds; /* that it waits for */
	unsigned fd_count;
	void *place, *before;              /* of its last point; of the one before it, if it is another's */
	void *store_place;                 /* of its last store */
	const void *at;                    /* of its last point */
	const void *stores_to, *stored_to; /* what it was about to store to there, and at the point before */
	const void *ahead_of;              /* it is held ahead of a load of this; NULL: it is not */
	uint64_t point, since, until;      /* until: a time; 0: for ever */
	int64_t priority;
	uint64_t self; /* pthread_t */
	void *(*start)(void *);
	int (*start_c11)(void *);
	void *argument;
};

extern struct host_schedule *host_schedule;

/* Those that have not ended, by number. */
struct host_turns {
	struct host_turn *of[HOST_SCHEDULE_THREADS];
	unsigned count;
};
extern struct host_turns host_turns;

/* A loop over them; none begins or ends meanwhile. */
#define HOST_EACH_TURN(turn)                                      \
	for (struct host_turn **turn##_at = host_turns.of, *turn; \
		turn##_at < host_turns.of + host_turns.count && ((turn = *turn##_at), 1); turn##_at++)

static inline bool host_turn_may_go(const struct host_turn *t)
{
	return t->state == TURN_CAN_RUN && !t->polls;
}

/* ---- policy.c ------------------------------------------------------------------------------------- */

void host_policy_begin(void);
void host_policy_meets(struct host_turn *t);
/* The thread whose turn it is has come to a point. exposed: it has stored, and is about to flush or to
 * fence. default_: who goes next without a decision; there is one. */
struct host_turn *host_policy_choose(struct host_turn *t, bool exposed, struct host_turn *default_);

/* ---- turns.c -------------------------------------------------------------------------------------- */

/* Waits until the object is woken: false if the time has come before. */
bool host_turn_wait(enum host_wait what, const void *object, uint64_t until, void *place);
/* Waits until a descriptor is ready. Who chooses asks for that when they may have changed. */
bool host_turn_wait_for(struct pollfd *fds, unsigned n, uint64_t until, void *place);
void host_turn_ask(void);
/* From now on another process may make them ready. */
void host_turn_outside(void);
/* The first n that wait for it can run. */
void host_turn_wake(const void *object, unsigned n);
/* It only polls: others go first. */
void host_turn_yield(void *place);
/* Something has changed that others may poll for. */
void host_turn_changes(void);
uint64_t host_turn_now(void);
/* Time passes: there is one thread. */
void host_turn_pass(uint64_t until);
/* The last thread of that name; NULL: none. */
const struct host_turn *host_turn_named(uint64_t self);

/* A new thread takes part; this one waits for its first turn, or has ended. */
struct host_turn *host_turn_new(void);
void host_turn_begin(struct host_turn *t);
void host_turn_end(struct host_turn *t);
void host_turn_drop(struct host_turn *t);

/* Ends the program: it cannot be controlled, for this reason. */
__attribute__((noreturn)) void host_schedule_refuse(const char *why);

#pragma GCC visibility pop

#endif
