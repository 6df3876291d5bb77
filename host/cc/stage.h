/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assembler stage (as.c) at a place of a text: statement.c takes statements, announce.c decides what an
 * instruction needs, emit.c inserts it.
 */
#ifndef HOST_CC_STAGE_H
#define HOST_CC_STAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "hooks.h"
#include "instruction.h"

struct stage {
	const char *file;
	FILE *to;
	const char *emitted;   /* the whole text before it is written */
	const char *hold;      /* prefixes written as separate statements begin here; NULL: none */
	unsigned line, macros; /* macros: nesting depth of macro definitions */
	bool comment, intel, bare, inline_assembly; /* bare: registers without % */
	bool locked, wide, repeated;                /* a prefix that was held: lock; 0x66; rep */
	bool unwatched;                             /* some store cannot be announced */
	bool loads;                                 /* calls that announce them are kept */
	bool device;                                /* the device half of a CUDA program */
	/* bytes of the announced store that has not come yet; UINT_MAX: of several */
	unsigned announced;
	unsigned repeats; /* nesting depth of .rept and its kind */
	bool located;     /* the code has places in the source: a compiler's */
	bool checks;      /* the stack has been compared with a word of the thread */
	bool framed;      /* %rbp is the function's frame pointer */
	bool unwinds;     /* the function has unwind information */
};

/* ---- emit.c --------------------------------------------------------------------------------------- */

/* Redefinable symbols, and none of the form 1b: blocks may be repeated, and Intel's syntax has numbers like
 * that. */
#define HERE(name) ".set .Lnvwave_" name ", .; "
#define SITE(marked, known)                                                                        \
	".pushsection " NVWAVE_CC_SITES ",\"\",@progbits; .quad " marked ", " known "; .byte %u; " \
	".popsection; "
/* Bytes that are 1 when the code that follows has been executed. */
#define COUNTERS(n)                                                                             \
	".pushsection " NVWAVE_CC_COUNTERS ",\"aw\",@nobits; " HERE("counter") ".skip " #n "; " \
									       ".popsection; "

/* What begins the name of a register. */
const char *cc_register_mark(const struct stage *s);
/* A text in the syntax of the file. */
const char *cc_in_syntax(const struct stage *s, const char *intel, const char *att);
/* The operand for lea, with the lowered stack. False: it is in another segment, which holds no mapping of the
 * program. */
bool cc_address_of(const struct stage *s, struct piece p, char *to, size_t n);
/* The text so far. */
void cc_emit_to(struct stage *s, const char *at);
/* Behind a call that marks. */
void cc_emit_site(const struct stage *s, unsigned kind);
/* The call, on the line of the instruction. address NULL: without one. */
void cc_emit_call(const struct stage *s, const char *address, unsigned what);
/* Before a call of a function that does not mark its place. */
void cc_emit_passed(const struct stage *s);
void cc_emit_counted(const struct stage *s, unsigned counter);

/* ---- announce.c ----------------------------------------------------------------------------------- */

void cc_instruct(struct stage *s, const struct instruction *i);

/* ---- statement.c ---------------------------------------------------------------------------------- */

/* One line, without its end. */
void cc_line(struct stage *s, const char *at, const char *end);

#endif
