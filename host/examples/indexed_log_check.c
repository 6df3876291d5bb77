/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The indexed log's checker as a library, for nvwave crash --check-lib: no process and no file for a state.
 * It has parts: the count, each slot, each entry; together they say what check() says, one after the other.
 */
#include <nvw/checker.h>

#include <stddef.h>

#include "indexed_log.h"

int nvw_check(struct nvw_check *c)
{
	if (c->bytes < sizeof(struct indexed_log)) {
		snprintf(c->message, c->message_bytes, "%llu bytes are no log", (unsigned long long)c->bytes);
		return 1;
	}
	return check(c->image, c->message, c->message_bytes);
}

/* ---- Parts ------------------------------------------------------------------------------------------ */

uint64_t nvw_check_parts(const struct nvw_check *c)
{
	return c->bytes < sizeof(struct indexed_log) ? 1 : 1 + SLOTS + ENTRIES;
}

void nvw_check_part_name(uint64_t part, char *name, size_t bytes)
{
	if (part == 0) {
		snprintf(name, bytes, "the count");
	} else if (part <= SLOTS) {
		snprintf(name, bytes, "slot %llu", (unsigned long long)part - 1);
	} else {
		snprintf(name, bytes, "entry %llu", (unsigned long long)part - SLOTS);
	}
}

static uint64_t word(const struct nvw_check *c, size_t off)
{
	return *(const uint64_t *)c->look(c, off, sizeof(uint64_t));
}

static uint64_t count(const struct nvw_check *c)
{
	return word(c, offsetof(struct indexed_log, count));
}

static uint64_t slot(const struct nvw_check *c, unsigned at)
{
	return word(c, offsetof(struct indexed_log, slot) + at * sizeof(uint64_t));
}

static size_t entry_off(uint64_t number)
{
	return offsetof(struct indexed_log, entry) + (number - 1) * sizeof(struct entry);
}

/* As is_whole(), but only as far as it is. */
static bool entry_is_whole(const struct nvw_check *c, uint64_t number)
{
	const uint64_t key = word(c, entry_off(number) + offsetof(struct entry, key));
	bool whole = key == key_of(number);

	for (unsigned k = 0; k < WORDS && whole; k++) {
		whole = word(c, entry_off(number) + offsetof(struct entry, word) + k * sizeof(uint64_t)) ==
			mixed(key + k);
	}
	return whole;
}

/* As slot_of(). */
static bool is_in_index(const struct nvw_check *c, uint64_t number)
{
	const uint64_t key = key_of(number);
	unsigned at = mixed(key) % SLOTS;

	for (unsigned tries = 0; tries < SLOTS; tries++, at = (at + 1) % SLOTS) {
		const uint64_t there = slot(c, at);

		if (there == 0 || there > ENTRIES || there == number ||
			word(c, entry_off(there) + offsetof(struct entry, key)) == key) {
			return there == number;
		}
	}
	return false;
}

/* Most slots are empty, so they need no count. */
static int check_slot(struct nvw_check *c, unsigned at)
{
	const uint64_t number = slot(c, at);

	if (number == 0 || number <= count(c)) {
		return 0;
	}
	snprintf(c->message, c->message_bytes, "slot %u has an entry that does not count", at);
	return 1;
}

/* What is there stays: an entry that is whole and in the index needs no count, and its part is not tried
 * again. */
static int check_entry(struct nvw_check *c, uint64_t number)
{
	const bool whole = entry_is_whole(c, number);

	if (whole && is_in_index(c, number)) {
		return 0;
	}
	if (number > count(c) || (whole && number == count(c))) {
		return 0;
	}
	snprintf(c->message, c->message_bytes,
		whole ? "entry %llu is not in the index" : "entry %llu counts and is not whole",
		(unsigned long long)number);
	return 1;
}

int nvw_check_part(struct nvw_check *c, uint64_t part)
{
	if (c->bytes < sizeof(struct indexed_log)) {
		snprintf(c->message, c->message_bytes, "%llu bytes are no log", (unsigned long long)c->bytes);
		return 1;
	}
	if (part == 0 && count(c) > ENTRIES) {
		snprintf(c->message, c->message_bytes, "%llu entries are more than fit",
			(unsigned long long)count(c));
		return 1;
	}
	if (part == 0) {
		return 0;
	}
	if (part <= SLOTS) {
		return check_slot(c, (unsigned)part - 1);
	}
	return check_entry(c, part - SLOTS);
}
