/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of locks, semaphores and barriers that seeded bugs replace (mutations.c), and what both need. */
#ifndef PAPERS_SYNC_STEPS_H
#define PAPERS_SYNC_STEPS_H

#include <nvw/workload.h>

#include "common/step.h"
#include "lock.h"

/* ---- Locks: mutex and uts ---------------------------------------------------------------------------- */

enum lock_mutation {
	LOCK_UNMUTATED = -1,
	LOCK_NO_ACQUIRE,
	LOCK_RELAXED_RELEASE,
	LOCK_NO_LOCK,
	LOCK_NARROW_SCOPE
};

extern const struct nvw_mutation mutex_mutations[], uts_mutations[];

/* A work-item's state between polls for the lock. */
struct lock_attempt {
	const struct lock *lock;
	uint32_t ticket;
	bool has_ticket;
	uint32_t asked; /* for a seeded bug that gives up */
};

/* In their order. */
struct lock_steps {
	bool (*ask)(struct lock_attempt *at);
	uint32_t (*draw)(uint32_t *next, enum nvw_scope scope);
	uint32_t (*look)(uint32_t *place, enum nvw_scope scope);
	uint32_t (*set)(uint32_t *word, enum nvw_scope scope);
	void (*release)(uint32_t *word, uint32_t value, enum nvw_scope scope);
};

/* Whether the lock is the work-item's now. */
bool lock_ask(struct lock_attempt *at);

/* Those that a seeded bug replaces in the lock of all CUs, and in the locks of single CUs. */
const struct lock_steps *mutex_replaced(enum lock_mutation mutation);
const struct lock_steps *uts_replaced(enum lock_mutation mutation, bool is_global);
/* NVW_E_USAGE if the mutation has no effect: within a CU, all see one L1, whatever they say. */
NVW_CHECKED int mutex_check_mutation(enum lock_mutation mutation, bool is_local);

/* ---- semaphore --------------------------------------------------------------------------------------- */

enum semaphore_mutation { SEMAPHORE_UNMUTATED = -1, SEMAPHORE_NO_LOCK, SEMAPHORE_WRITER_TAKES_ONE };

extern const struct nvw_mutation semaphore_mutations[];

/* The semaphore's word: free units, and the writer's turns above them. */
enum { UNITS_BITS = 16, UNITS_MASK = (1 << UNITS_BITS) - 1 };

struct semaphore_steps {
	uint32_t (*writer_units)(uint32_t parts);
	bool (*take)(uint32_t *semaphore, uint32_t units, enum nvw_scope scope, uint32_t *ret_turns);
	void (*give)(uint32_t *semaphore, uint32_t units, uint32_t turns, enum nvw_scope scope);
};

const struct semaphore_steps *semaphore_replaced(enum semaphore_mutation mutation);

/* ---- tree-barrier ------------------------------------------------------------------------------------ */

enum barrier_mutation {
	BARRIER_UNMUTATED = -1,
	BARRIER_NO_ACQUIRE,
	BARRIER_RELAXED_RELEASE,
	BARRIER_NO_BARRIER
};

extern const struct nvw_mutation barrier_mutations[];

/* The steps of the global barrier. */
struct barrier_steps {
	void (*arrive)(uint32_t *arrived);
	void (*await)(uint32_t *arrived, uint32_t count);
};

const struct barrier_steps *barrier_replaced(enum barrier_mutation mutation);

#endif
