/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statement that a host program lacks behind a store: a flush, a fence, or both, of what the store's own
 * statement names, written as the program writes it elsewhere. Sources are read as text, so only plain
 * statements are understood: what is not is refused.
 */
#ifndef CLI_PATCH_FLUSH_H
#define CLI_PATCH_FLUSH_H

#include <stddef.h>
#include <stdint.h>

/* RANGE: what is stored to is added to the undo log of a transaction of libpmemobj. */
enum patch_flush { PATCH_FLUSH = 1, PATCH_FENCE = 2, PATCH_PERSIST = 3, PATCH_RANGE = 4 };

/* A source file, whose lines are as getline() gives them, without the end of a line. */
struct patch_lines {
	const char *file;
	char *const *line;
	uint32_t count;
};

/*
 * The statement that comes behind the store (flush, or both), before it (range), or behind whatever is at the
 * line (fence), without indentation. *ret_after: the line behind which it stands. Returns NULL, or why there
 * is none. line: from 1 on, in the source.
 *
 * The address: "p->valid = 1;" gives "&p->valid, sizeof p->valid"; "*v = x", increments, std::atomic's and
 * C's atomic stores, memcpy() and its like are understood as well. The call: libpmem's or libpmemobj's, the
 * compiler's for single instructions, or a function of the source or of its own headers that executes them,
 * whichever is called nearest to the line, in its own function first.
 */
const char *patch_flush_statement(const struct patch_lines *source, uint32_t line, enum patch_flush what,
	char *ret_text, size_t bytes, uint32_t *ret_after);

#endif
