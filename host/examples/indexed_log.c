/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An append log with a hash index, hand-written on libpmem (indexed_log.h).
 *
 *	indexed_log FILE COUNT [BUG]   inserts COUNT entries, after indexing an entry that a crash left out;
 *	creates the file
 *	                               if necessary
 *	indexed_log FILE               checks it. Exit status 1 if it is inconsistent
 *
 * An insertion is three steps, each durable before the next: the entry, the count, the slot. BUG violates
 * this: "one-drain" flushes entry and count before one drain; "no-flush" does not flush entries;
 * "index-first" fills the slot before the entry counts; "index-unflushed" never flushes slots.
 */
#include <libpmem.h>
#include <stdlib.h>
#include <string.h>

#include "indexed_log.h"

static void put(uint64_t *to, uint64_t value)
{
	*to = value;
	pmem_persist(to, sizeof *to);
}

static void fill_slot(struct indexed_log *log, uint64_t number, const char *bug)
{
	uint64_t *const slot = &log->slot[slot_of(log, key_of(number))];

	if (strcmp(bug, "index-unflushed") == 0) {
		*slot = number;
	} else {
		put(slot, number);
	}
}

static void write_entry(struct entry *e, uint64_t number, const char *bug)
{
	e->key = key_of(number);
	for (unsigned k = 0; k < WORDS; k++) {
		e->word[k] = mixed(e->key + k);
	}
	if (strcmp(bug, "one-drain") == 0) {
		pmem_flush(e, sizeof *e);
	} else if (strcmp(bug, "no-flush") != 0) {
		pmem_persist(e, sizeof *e);
	}
}

static void insert(struct indexed_log *log, const char *bug)
{
	const uint64_t number = log->count + 1;
	const bool index_first = strcmp(bug, "index-first") == 0;

	write_entry(&log->entry[number - 1], number, bug);
	if (index_first) {
		fill_slot(log, number, bug);
	}
	put(&log->count, number);
	if (!index_first) {
		fill_slot(log, number, bug);
	}
}

/* The entry that was inserted last may have no slot. */
static void recover(struct indexed_log *log)
{
	if (log->count > 0 && log->slot[slot_of(log, key_of(log->count))] != log->count) {
		fill_slot(log, log->count, "");
	}
}

int main(int argc, char **argv)
{
	const char *bug = "";
	uint64_t count = 0;
	char message[128];
	size_t bytes, new_bytes = 0;
	int flags = 0;

	if (argc < 2 || argc > 4) {
		fprintf(stderr,
			"indexed_log FILE [COUNT [one-drain | no-flush | index-first | index-unflushed]]\n");
		return 2;
	}
	if (argc > 2) {
		count = strtoull(argv[2], NULL, 0);
		new_bytes = sizeof(struct indexed_log);
		flags = PMEM_FILE_CREATE;
	}
	if (argc > 3) {
		bug = argv[3];
	}
	struct indexed_log *const log = pmem_map_file(argv[1], new_bytes, flags, 0600, &bytes, NULL);

	if (log == NULL || bytes < sizeof *log) {
		fprintf(stderr, "%s: %s\n", argv[1], log ? "too short" : pmem_errormsg());
		return 2;
	}
	if (argc == 2) {
		const int wrong = check(log, message, sizeof message);

		if (wrong) {
			puts(message);
		}
		return wrong;
	}
	recover(log);
	for (uint64_t i = 0; i < count && log->count < ENTRIES; i++) {
		insert(log, bug);
	}
	pmem_unmap(log, bytes);
	return 0;
}
