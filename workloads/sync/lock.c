/* SPDX-License-Identifier: BSD-3-Clause */
/* The mutexes of sinclair15 (lock.h). */
#include "lock.h"

const char *const lock_kinds[] = {"fetch-add", "sleep", "spin", "spin-backoff", NULL};

uint32_t lock_places(enum lock_kind kind, uint64_t groups)
{
	return kind == LOCK_SLEEP ? (uint32_t)groups : kind == LOCK_FETCH_ADD ? 1 : 0;
}

uint64_t lock_words(enum lock_kind kind, uint64_t groups)
{
	return SYNC_LINE_WORDS * (1 + (uint64_t)lock_places(kind, groups));
}

static uint32_t *place_of(const struct lock *lock, uint32_t ticket)
{
	return lock->words + SYNC_LINE_WORDS * (1 + ticket % lock->places);
}

/* What a work-item that wants the lock remembers from poll to poll. */
struct attempt {
	const struct lock *lock;
	uint64_t patience;
	uint32_t ticket;
	bool has_ticket;
};

static bool try_queue(struct attempt *at)
{
	const struct lock *const lock = at->lock;

	if (!at->has_ticket) {
		at->ticket = nvw_atomic_add(lock->words, 1, lock->orders.acquire, lock->scope);
		at->has_ticket = true;
	}
	return at->patience-- == 0 ||
	       nvw_atomic_load(place_of(lock, at->ticket), lock->orders.acquire, lock->scope) == at->ticket;
}

static bool try_lock(void *context)
{
	struct attempt *const at = context;
	const struct lock *const lock = at->lock;

	if (lock->patience != 0 && lock->places != 0) {
		return try_queue(at);
	}
	return at->patience-- == 0 ||
	       nvw_atomic_exchange(lock->words, 1, lock->orders.acquire, lock->scope) == 0;
}

uint32_t lock_acquire(const struct lock *lock, const struct sync_place *place)
{
	struct attempt at = {.lock = lock, .patience = lock->patience};

	sync_wait(&lock->polls, place, try_lock, &at);
	return at.ticket;
}

uint32_t lock_acquire_alone(const struct lock *lock, uint32_t *idle)
{
	struct attempt at = {.lock = lock, .patience = lock->patience};

	sync_wait_alone(&lock->polls, idle, try_lock, &at);
	return at.ticket;
}

void lock_release(const struct lock *lock, uint32_t ticket)
{
	if (lock->places == 0) {
		nvw_atomic_store(lock->words, 0, lock->orders.release, lock->scope);
	} else {
		nvw_atomic_store(place_of(lock, ticket + 1), ticket + 1, lock->orders.release, lock->scope);
	}
}
