/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An append log in persistent memory, hand-written on libpmem: a sequence of entries, and a header with the
 * number of valid ones.
 *
 *	append_log FILE COUNT [BUG]    appends COUNT entries; creates the file if necessary
 *	append_log FILE                checks it: every valid entry is complete. Exit status 1 if not
 *
 * BUG omits a step: "one-drain" flushes an entry and the header that counts it before one drain, so that the
 * header may be durable first; "no-flush" does not flush entries at all; "header-first" increases the number
 * before it writes the entry.
 */
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 500, WORDS = 15 };

struct entry {
	uint64_t number;      /* from 1 */
	uint64_t word[WORDS]; /* each its number and place, mixed */
};

struct append_log {
	uint64_t count;
	uint64_t unused[7];
	struct entry entry[ENTRIES];
};

static uint64_t word_of(uint64_t number, unsigned i)
{
	return (number * 31 + i) * UINT64_C(0x9e3779b97f4a7c15);
}

static void write_entry(struct append_log *log, uint64_t i)
{
	struct entry *const e = &log->entry[i];

	e->number = i + 1;
	for (unsigned k = 0; k < WORDS; k++) {
		e->word[k] = word_of(i + 1, k);
	}
}

static void append(struct append_log *log, const char *bug)
{
	const uint64_t i = log->count;

	if (strcmp(bug, "header-first") == 0) {
		log->count = i + 1;
		pmem_persist(&log->count, sizeof log->count);
	}
	write_entry(log, i);
	if (strcmp(bug, "one-drain") == 0) {
		pmem_flush(&log->entry[i], sizeof log->entry[i]);
	} else if (strcmp(bug, "no-flush") != 0) {
		pmem_persist(&log->entry[i], sizeof log->entry[i]);
	}
	log->count = i + 1;
	pmem_persist(&log->count, sizeof log->count);
}

static int check(const struct append_log *log)
{
	if (log->count > ENTRIES) {
		printf("%llu entries are more than fit\n", (unsigned long long)log->count);
		return 1;
	}
	for (uint64_t i = 0; i < log->count; i++) {
		for (unsigned k = 0; k < WORDS; k++) {
			if (log->entry[i].number != i + 1 || log->entry[i].word[k] != word_of(i + 1, k)) {
				printf("entry %llu counts and is not whole\n", (unsigned long long)i + 1);
				return 1;
			}
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *bug = "";
	uint64_t count = 0;
	size_t bytes, new_bytes = 0;
	int is_pmem, flags = 0;

	if (argc < 2 || argc > 4) {
		fprintf(stderr, "append_log FILE [COUNT [one-drain | no-flush | header-first]]\n");
		return 2;
	}
	if (argc > 2) {
		count = strtoull(argv[2], NULL, 0);
		new_bytes = sizeof(struct append_log);
		flags = PMEM_FILE_CREATE;
	}
	if (argc > 3) {
		bug = argv[3];
	}
	struct append_log *const log = pmem_map_file(argv[1], new_bytes, flags, 0600, &bytes, &is_pmem);

	if (log == NULL || bytes < sizeof *log) {
		fprintf(stderr, "%s: %s\n", argv[1], log ? "too short" : pmem_errormsg());
		return 2;
	}
	if (argc == 2) {
		return check(log);
	}
	for (uint64_t i = 0; i < count && log->count < ENTRIES; i++) {
		append(log, bug);
	}
	pmem_unmap(log, bytes);
	return 0;
}
