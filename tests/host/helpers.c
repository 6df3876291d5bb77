/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers that store, and flush, for several callers: their lines alone do not say who is at fault.
 *
 *	helpers run POOL [OPERATIONS]
 *		four operations that each fill a cell; those listed ("12") are not flushed
 *	helpers note POOL [OPERATIONS]
 *		the same by a helper that flushes; behind its calls those listed lack a fence
 *	helpers mark POOL [OPERATIONS]
 *		likewise, but the helper has the fence within it, and goes on with a mark
 *	helpers dive POOL DEPTH		one store by a function that calls itself so many times
 *	helpers check POOL		a cell that is marked is full
 *	helpers --recover-and-print POOL
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpmem.h>
#include <nvw/ack.h>

struct cell {
	uint64_t value, pad[7];
};

static struct cell *cells;

#ifdef __clang__
#define APART __attribute__((noinline, disable_tail_calls))
#else
#define APART __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
#endif

APART static void persist(const void *at)
{
	pmem_persist(at, sizeof(struct cell));
}

APART static void set(struct cell *c, uint64_t value)
{
	c->value = value;
}

static inline __attribute__((always_inline)) void put(unsigned i)
{
	set(&cells[i], i + 1);
}

static void ends(const char *forgotten, char operation)
{
	if (strchr(forgotten, operation) == NULL) {
		persist(&cells[operation - '0']);
	} else {
		pmem_drain();
	}
	nvw_operation_is_durable((unsigned long long)(operation - '0'));
}

APART static void fill(const char *forgotten)
{
	nvw_operation_begins(0, "fill 0");
	put(0);
	ends(forgotten, '0');
	nvw_operation_begins(1, "fill 1");
	put(1);
	ends(forgotten, '1');
	nvw_operation_begins(2, "fill 2");
	put(2);
	ends(forgotten, '2');
	nvw_operation_begins(3, "fill 3");
	put(3);
	ends(forgotten, '3');
}

APART static void flush(const void *at)
{
	pmem_flush(at, sizeof(struct cell));
}

static void drain(const char *forgotten, char operation)
{
	if (strchr(forgotten, operation) == NULL) {
		pmem_drain();
	}
}

APART static void note(const char *forgotten)
{
	nvw_operation_begins(0, "note 0");
	put(0);
	flush(&cells[0]); /* for operation 0 */
	drain(forgotten, '0');
	nvw_operation_is_durable(0);
	nvw_operation_begins(1, "note 1");
	put(1);
	flush(&cells[1]); /* for operation 1 */
	drain(forgotten, '1');
	nvw_operation_is_durable(1);
}

APART static void mark(const char *forgotten, char operation)
{
	flush(&cells[operation - '0']);
	drain(forgotten, operation);
	cells[2].pad[operation - '0'] = 1;
	persist(&cells[2]);
}

APART static void note_and_mark(const char *forgotten)
{
	put(0);
	mark(forgotten, '0'); /* of cell 0 */
	put(1);
	mark(forgotten, '1'); /* of cell 1 */
}

APART static unsigned dive(unsigned depth)
{
	if (depth > 0) {
		return dive(depth - 1) + 1;
	}
	set(&cells[0], 1);
	persist(&cells[0]);
	return 0;
}

int main(int argc, char **argv)
{
	size_t n;
	int is_pmem;

	if (argc < 3 ||
		(cells = pmem_map_file(argv[2], 4096, PMEM_FILE_CREATE, 0600, &n, &is_pmem)) == NULL) {
		return 2;
	}
	if (strcmp(argv[1], "run") == 0) {
		fill(argc > 3 ? argv[3] : "");
	} else if (strcmp(argv[1], "note") == 0) {
		note(argc > 3 ? argv[3] : "");
	} else if (strcmp(argv[1], "mark") == 0) {
		note_and_mark(argc > 3 ? argv[3] : "");
	} else if (strcmp(argv[1], "check") == 0) {
		for (unsigned i = 0; i < 2; i++) {
			if (cells[2].pad[i] != 0 && cells[i].value == 0) {
				printf("cell %u is marked and empty\n", i);
				return 1;
			}
		}
		return 0;
	} else if (strcmp(argv[1], "dive") == 0) {
		dive(argc > 3 ? (unsigned)atoi(argv[3]) : 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		printf("cell %u: %s\n", i, cells[i].value ? "full" : "empty");
	}
	return 0;
}
