/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that a transaction may store to. Zeroed, there are none. */
#ifndef HOST_RANGES_H
#define HOST_RANGES_H

#include "../preload.h"

enum { HOST_RANGES_MAX = 1 << 14 };

struct host_ranges {
	bool full; /* there were more: nothing is said of their owner */
	unsigned count;
	struct host_range {
		uintptr_t start, end;
	} range[HOST_RANGES_MAX];
};

void host_ranges_add(struct host_ranges *ranges, const void *start, size_t bytes);
/* Takes these bytes out; takes the range out that begins there. */
void host_ranges_remove(struct host_ranges *ranges, const void *start, size_t bytes);
void host_ranges_drop(struct host_ranges *ranges, const void *start);
void host_ranges_clear(struct host_ranges *ranges);
/* All of them; or there is no room to know. */
bool host_ranges_cover(const struct host_ranges *ranges, uintptr_t at, size_t bytes);

/* ---- unlogged.c ------------------------------------------------------------------------------------- */

/* The annotated transaction of a thread. */
struct host_annotated {
	unsigned depth; /* of transactions within each other */
	uint32_t begun; /* site of the outermost one */
	struct host_ranges ranges;
};

/* That of this thread. NULL: there is no memory. */
struct host_annotated *host_annotated(void);
/* No transaction has to add these bytes. */
void host_annotated_ignore(const void *at, size_t n);
/* A store in the transaction that has begun at a site. */
struct host_unlogged host_unlogged_of(
	const struct host_mapping *m, const struct host_pending *store, uint32_t begun);
/* Under the lock: a store that breaks the rule. */
void host_note_unlogged(const struct host_unlogged *found);

#endif
