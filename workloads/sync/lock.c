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

static void spin(const struct lock *lock, uint32_t *idle)
{
	const enum nvw_order order = lock->orders.acquire;
	uint32_t cycles = 1;
	uint64_t patience = lock->patience;

	while (patience-- > 0 && nvw_atomic_exchange(lock->words, 1, order, lock->scope) != 0) {
		if (lock->kind == LOCK_SPIN_BACKOFF) {
			sync_back_off(idle, cycles);
			cycles = 2 * cycles < lock->backoff_max ? 2 * cycles : lock->backoff_max;
		}
	}
}

static uint32_t queue_up(const struct lock *lock)
{
	const uint32_t ticket = nvw_atomic_add(lock->words, 1, lock->orders.acquire, lock->scope);
	uint32_t *const place = place_of(lock, ticket);
	uint64_t patience = lock->patience;

	while (patience-- > 0 && nvw_atomic_load(place, lock->orders.acquire, lock->scope) != ticket) {
	}
	return ticket;
}

uint32_t lock_acquire(const struct lock *lock, uint32_t *idle)
{
	if (lock->patience != 0 && lock->places != 0) {
		return queue_up(lock);
	}
	spin(lock, idle);
	return 0;
}

void lock_release(const struct lock *lock, uint32_t ticket)
{
	if (lock->places == 0) {
		nvw_atomic_store(lock->words, 0, lock->orders.release, lock->scope);
	} else {
		nvw_atomic_store(place_of(lock, ticket + 1), ticket + 1, lock->orders.release, lock->scope);
	}
}
