/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mutexes of sinclair15 Table 4, after their names there.
 *
 *	FA            a ticket lock: fetch-and-add takes a ticket; all wait at one word for their number
 *	sleep         a queue in a ring buffer: a ticket is a place in it; each waiter has a word of its own
 *	spin          exchange until the lock was free
 *	spin+backoff  as spin, and waits longer after each failure
 *
 * FA is a ring of one place: a place holds the ticket that may enter there, and a release writes the next
 * ticket to the next place. Every poll is an acquire: the paper has no relaxed atomics.
 *
 * One work-item of a work-group polls and releases: in a wavefront, waiting lanes would block the lane that
 * owns the lock.
 */
#ifndef PAPERS_SYNC_LOCK_H
#define PAPERS_SYNC_LOCK_H

#include "place.h"

enum lock_kind { LOCK_FETCH_ADD, LOCK_SLEEP, LOCK_SPIN, LOCK_SPIN_BACKOFF };

extern const char *const lock_kinds[];

/* Words on their own lines, zero when the lock is free: the lock or the next ticket, then the places. */
struct lock {
	uint32_t *words;
	enum lock_kind kind;
	enum nvw_scope scope;
	uint32_t places; /* places of the ring: at least as many as can wait */
	struct sync_polls polls;
	const struct lock_steps *replaced; /* by a seeded bug (steps.h) */
};

/* Size of a lock for this many work-groups. */
uint32_t lock_places(enum lock_kind kind, uint64_t groups);
uint64_t lock_words(enum lock_kind kind, uint64_t groups);

/* Called by all of a work-group; the group has met when it returns. Its first work-item gets the ticket for
 * lock_release(). */
uint32_t lock_acquire(const struct lock *lock, const struct sync_place *place);

/* The same for a single work-item, for which no other waits. */
uint32_t lock_acquire_alone(const struct lock *lock);

void lock_release(const struct lock *lock, uint32_t ticket);

#endif
