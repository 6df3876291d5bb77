/* SPDX-License-Identifier: BSD-3-Clause */
/* The mutexes of sinclair15 (lock.h). STEP() marks the steps that a seeded bug may replace (mutations.c). */
#include <assert.h>

#include "steps.h"

const char *const lock_kinds[] = {"fetch-add", "sleep", "spin", "spin-backoff", NULL};

uint32_t lock_places(enum lock_kind kind, uint64_t groups)
{
	assert(groups > 0);
	switch (kind) {
	case LOCK_SLEEP:
		return (uint32_t)groups;
	case LOCK_FETCH_ADD:
		return 1;
	default:
		return 0;
	}
}

uint64_t lock_words(enum lock_kind kind, uint64_t groups)
{
	return SYNC_LINE_WORDS * (1 + (uint64_t)lock_places(kind, groups));
}

static uint32_t *place_of(const struct lock *lock, uint32_t ticket)
{
	assert(lock->places > 0);
	return lock->words + SYNC_LINE_WORDS * (1 + ticket % lock->places);
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

static uint32_t draw(uint32_t *next, enum nvw_scope scope)
{
	return nvw_atomic_add(next, 1, NVW_ACQUIRE, scope);
}

static uint32_t look(uint32_t *place, enum nvw_scope scope)
{
	return nvw_atomic_load(place, NVW_ACQUIRE, scope);
}

static uint32_t set(uint32_t *word, enum nvw_scope scope)
{
	return nvw_atomic_exchange(word, 1, NVW_ACQUIRE, scope);
}

static void release(uint32_t *word, uint32_t value, enum nvw_scope scope)
{
	nvw_atomic_store(word, value, NVW_RELEASE, scope);
}

/* ---- The lock ---------------------------------------------------------------------------------------- */

static bool ask_queue(struct lock_attempt *at)
{
	const struct lock *const lock = at->lock;

	if (!at->has_ticket) {
		at->ticket = STEP(lock->replaced, draw, lock->words, lock->scope);
		at->has_ticket = true;
	}
	return STEP(lock->replaced, look, place_of(lock, at->ticket), lock->scope) == at->ticket;
}

static bool ask(struct lock_attempt *at)
{
	const struct lock *const lock = at->lock;

	return lock->places != 0 ? ask_queue(at) : STEP(lock->replaced, set, lock->words, lock->scope) == 0;
}

bool lock_ask(struct lock_attempt *at)
{
	return ask(at);
}

static bool try_lock(void *context)
{
	struct lock_attempt *const at = context;

	return STEP(at->lock->replaced, ask, at);
}

uint32_t lock_acquire(const struct lock *lock, const struct sync_place *place)
{
	struct lock_attempt at = {.lock = lock};

	sync_wait(&lock->polls, place, try_lock, &at);
	return at.ticket;
}

uint32_t lock_acquire_alone(const struct lock *lock)
{
	struct lock_attempt at = {.lock = lock};

	sync_wait_alone(&lock->polls, try_lock, &at);
	return at.ticket;
}

void lock_release(const struct lock *lock, uint32_t ticket)
{
	if (lock->places == 0) {
		STEP(lock->replaced, release, lock->words, 0, lock->scope);
	} else {
		STEP(lock->replaced, release, place_of(lock, ticket + 1), ticket + 1, lock->scope);
	}
}
