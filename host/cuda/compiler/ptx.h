/* SPDX-License-Identifier: BSD-3-Clause */
/* Inline PTX: the state of one asm statement while it is translated, and an instruction of it. */
#ifndef HOST_CUDA_COMPILER_PTX_H
#define HOST_CUDA_COMPILER_PTX_H

#include "device.h"

enum { OPERANDS_MAX = 16 };

/* Registers are values of 64 bits: operands of the asm statement ($0, $1), and those that it declares. */
struct ptx_named {
	char name[64];
	LLVMValueRef value; /* NULL: nothing has written it */
};

struct ptx_label {
	char name[64];
	LLVMValueRef
		waiting; /* whether this work-item has jumped there, which is to come; NULL: nobody has */
	bool passed;
};

struct ptx {
	struct device *d;
	LLVMValueRef statement; /* the call of the asm */
	struct ptx_named *registers;
	struct ptx_label *labels;
	unsigned register_count, label_count;
	LLVMValueRef guard;  /* the predicate of the instruction; NULL: none */
	bool negated;        /* it, that is */
	LLVMValueRef active; /* whether this work-item executes what follows; NULL: all do */
	bool *failed;
};

/* The words of a mnemonic behind the instruction's name are of these kinds. */
enum ptx_words {
	TYPE, /* as enum ptx_type */
	FROM, /* a second one */
	ORDER,
	SCOPE,
	LEVEL,
	STRENGTH,
	ATOMIC,
	COMPARISON,
	ROUNDING,
	VECTOR,
	VOLATILE,
	IGNORED_MEMORY, /* where the bytes are, and in which caches */
	IGNORED_PRECISION,
	KINDS
};

struct ptx_instruction {
	const struct ptx_rule *rule;
	const char *mnemonic;
	int word[KINDS]; /* its number in the list of its kind; -1: there is none */
	unsigned operands;
	char *operand[OPERANDS_MAX];
};

struct ptx_rule {
	const char *name;      /* as the PTX manual writes it */
	unsigned needs, takes; /* kinds of words, a bit for each */
	signed char from, to;  /* how many operands there are; to -1: any number */
	void (*translate)(struct ptx *, struct ptx_instruction *);
	unsigned number; /* for translate */
};

/* ---- Values (ptx_values.c) */

struct ptx_named *ptx_find_register(struct ptx *p, const char *name);
void ptx_declare(struct ptx *p, const char *name, LLVMValueRef value);
LLVMValueRef ptx_number(const struct ptx *p, uint64_t n);
/* Prints an error with its source line. Returns 0, which may be used as a value. */
LLVMValueRef ptx_refuse(struct ptx *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Without blanks around it. */
char *ptx_trimmed(char *text);
/* Calls a function of the runtime with n values. */
LLVMValueRef ptx_ask(struct ptx *p, const char *function, unsigned n, ...);
/* The value of a source operand. */
LLVMValueRef ptx_value(struct ptx *p, const char *operand);
LLVMValueRef ptx_address(struct ptx *p, char *operand);
void ptx_set(struct ptx *p, const char *operand, LLVMValueRef value);
/* Whether the instruction is executed: 0 or 1. */
LLVMValueRef ptx_condition(struct ptx *p);
/* The other bit, or the same. */
LLVMValueRef ptx_negated(struct ptx *p, LLVMValueRef bit, bool is_negated);
LLVMValueRef ptx_widened(struct ptx *p, LLVMValueRef value);
LLVMValueRef ptx_narrowed(struct ptx *p, LLVMValueRef value, LLVMTypeRef type);

/* ---- Instructions (ptx_instructions.c) */

/* Takes it apart, finds its rule and translates it. */
void ptx_instruction(struct ptx *p, char *text);
/* The place of a word in a list of words with blanks between them; one that ends in * stands for all that
 * begin so. -1: none. */
int ptx_place_in(const char *list, const char *word);

#endif
