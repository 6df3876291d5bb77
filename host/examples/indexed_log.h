/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An append log with a hash index, in persistent memory: the layout of the file, and its invariants after a
 * crash. Shared by the program and by its checker as a library.
 *
 * The log is authoritative: all valid entries are complete. The index may lack at most the last entry: open
 * addressing, a slot has the number of an entry from 1, or 0.
 */
#ifndef INDEXED_LOG_H
#define INDEXED_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { ENTRIES = 1024, SLOTS = 2 * ENTRIES, WORDS = 7 };

struct entry {
	uint64_t key;
	uint64_t word[WORDS]; /* each follows from the key */
};

struct indexed_log {
	uint64_t count;
	uint64_t unused[7];
	struct entry entry[ENTRIES];
	uint64_t slot[SLOTS];
	uint64_t padding[504]; /* to whole pages: pmreorder wants them */
};

static inline uint64_t mixed(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

/* The key of the entry with this number, from 1. */
static inline uint64_t key_of(uint64_t number)
{
	return mixed(number);
}

/* Index of the slot that has the entry with a key, or else of the first empty one where it belongs. A slot
 * counts for empty if its number is of no entry that there is room for. */
static inline unsigned slot_of(const struct indexed_log *log, uint64_t key)
{
	unsigned at = mixed(key) % SLOTS;

	for (unsigned tries = 0; tries < SLOTS; tries++, at = (at + 1) % SLOTS) {
		const uint64_t number = log->slot[at];

		if (number == 0 || number > ENTRIES || log->entry[number - 1].key == key) {
			break;
		}
	}
	return at;
}

static inline bool is_whole(const struct entry *e, uint64_t number)
{
	bool whole = e->key == key_of(number);

	for (unsigned k = 0; k < WORDS; k++) {
		whole = whole && e->word[k] == mixed(e->key + k);
	}
	return whole;
}

/* Returns 0, or 1 and the violation. */
static inline int check(const struct indexed_log *log, char *message, size_t n)
{
	if (log->count > ENTRIES) {
		snprintf(message, n, "%llu entries are more than fit", (unsigned long long)log->count);
		return 1;
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		if (log->slot[i] > log->count) {
			snprintf(message, n, "slot %u has an entry that does not count", i);
			return 1;
		}
	}
	for (uint64_t number = 1; number <= log->count; number++) {
		if (!is_whole(&log->entry[number - 1], number)) {
			snprintf(
				message, n, "entry %llu counts and is not whole", (unsigned long long)number);
			return 1;
		}
		if (number < log->count && log->slot[slot_of(log, key_of(number))] != number) {
			snprintf(message, n, "entry %llu is not in the index", (unsigned long long)number);
			return 1;
		}
	}
	return 0;
}

#endif
