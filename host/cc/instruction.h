/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instruction of x86-64 as its text, in AT&T or Intel syntax, and what it stores to: to which operand, how
 * many bytes, past the caches or not. What is not known to store counts as not storing; what stores where
 * nothing can say it counts as unwatchable.
 */
#ifndef HOST_CC_INSTRUCTION_H
#define HOST_CC_INSTRUCTION_H

#include "piece.h"

enum { CC_OPERANDS_MAX = 8 };

struct instruction {
	struct piece whole, mnemonic; /* whole: with its prefixes */
	struct piece operand[CC_OPERANDS_MAX];
	unsigned operands;
	bool intel;
	bool locked, wide, repeated; /* a prefix: lock; 0x66; rep */
};

/* Splits the operands at commas outside of parentheses. */
void cc_take_operands(struct instruction *i, struct piece p);
/* Without the mark of AT&T's syntax. */
struct piece cc_register_name(struct piece operand);
bool cc_is_memory(const struct instruction *i, struct piece operand);
/* Bytes of the access, from a register, Intel's keyword, or the suffix. */
unsigned cc_bytes_of(const struct instruction *i);
/* NVWAVE_CC_FLUSH, NVWAVE_CC_FLUSH_ORDERED; 0: not a flush. */
unsigned cc_flush_of(const struct instruction *i);
/* Bytes of a store past the caches; 0: not one. The address is that of the destination, or in %rdi. */
unsigned cc_streamed_bytes(const struct instruction *i, bool *ret_by_rdi);
/* Bytes of each store of a string instruction, which goes to (%rdi); 0: not one. */
unsigned cc_string_bytes(const struct instruction *i);
/* Bytes of a plain store, at least: a masked store counts as a whole one; 0: not one, or it cannot go to a
 * mapping. */
unsigned cc_plain_bytes(const struct instruction *i, struct piece to);
/* Whether an instruction may store to a mapping what cannot be announced. */
bool cc_is_unwatchable(const struct instruction *i);

#endif
