/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assembler of programs that are built by nvwave-cc. Compilers find it by its name, "as": it inserts a
 * call before every instruction that persists something, and then executes the real assembler on the result.
 *
 *	clwb 8(%rsp)	->	lea -128(%rsp), %rsp; push %rax; lea 136+8(%rsp), %rax; push $WHAT;
 *				call __nvwave_cc_instruction; ...; clwb 8(%rsp)
 *
 * All code passes through this stage: compiled code, inline assembly, assembly files. Inserted code stays on
 * its line and belongs to its source line, so messages and debug information are correct. It skips the red
 * zone and changes neither flags nor registers (thunk.S). AT&T and Intel syntax are understood; bodies of
 * .macro are left unchanged, with a message.
 *
 * The compiler announces plain stores, but not all: gcc omits bit-fields, values returned through memory, and
 * small copies of its own; no compiler announces inline assembly. So a store without an announcement since
 * the last call gets a call here, unless it goes to the stack or to a variable. Calls that announce loads are
 * removed, unless loads are asked for (nvwave-cc --loads).
 *
 * A debug section lists the places of all stores, flushes and fences, so that those which no run has executed
 * are known, too (host/coverage.c). The functions that are called there mark the place; a call of memcpy() or
 * of libpmem gets a call before it that does. A jump to any of them, as the last call of a function, becomes
 * a call and a return: else its place would be that of the function's caller.
 *
 * Every conditional jump of compiled code marks which way it goes, with plain stores of a byte, which change no
 * flags: jne L becomes je 1f; movb $1, JUMPED; jmp L; 1: movb $1, WENT_ON. Only the jumps that compilers add of
 * themselves, to check the stack, are left as they are.
 *
 * Kernels of CUDA programs have announcements of their own (NVWAVE_CC_DEVICE). Nothing is inserted there but the
 * marks: their sites have counters, as branches have.
 *
 * Each object file says whether all of its stores are announced; the linker stage (ld.in) reads that. Some
 * cannot be: system calls, scattered vectors, saved processor states, bodies of .macro.
 *
 * During the inserted code the stack pointer is lower than the unwind information assumes: unwinding from a
 * signal handler there, for example by a profiler, may go wrong.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/core/bounds.h"
#include "hooks.h"
#include "instruction.h"

enum { PUSHED = 128 + 8 }; /* how much lower the stack pointer is when the operand's address is taken */

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

/* What begins the name of a register. */
static const char *register_mark(const struct stage *s)
{
	if (s->bare) {
		return "";
	}
	return "%";
}

/* A text in the syntax of the file. */
static const char *in_syntax(const struct stage *s, const char *intel, const char *att)
{
	return s->intel ? intel : att;
}

/* ---- Addresses ------------------------------------------------------------------------------------ */

/* The operand without the mask of a vector: (%rdi){%k1}. */
static struct piece unmasked(struct piece p)
{
	const char *const mask = piece_find(p, "{");

	if (mask != NULL) {
		p.n = (size_t)(mask - p.at);
	}
	return piece_trim(p);
}

/* The operand for lea, with the lowered stack. False: it is in another segment, which holds no mapping of the
 * program. */
static bool address_of(const struct stage *s, struct piece p, char *to, size_t n)
{
	const char *const ptr = s->intel ? piece_find(p, "ptr") : NULL;
	const char *colon;

	if (ptr != NULL) {
		p = piece_rest(p, (size_t)(ptr - p.at) + 3);
	}
	if ((colon = piece_find(p, ":")) != NULL) {
		const struct piece segment = piece_trim((struct piece){p.at, (size_t)(colon - p.at)});

		if (piece_find(segment, "fs") || piece_find(segment, "gs")) {
			return false;
		}
		p = piece_rest(p, (size_t)(colon - p.at) + 1);
	}
	const char *const stack = piece_find(p, in_syntax(s, "rsp", "(%rsp"));

	if (stack == NULL) {
		return (size_t)snprintf(to, n, "%.*s", (int)p.n, p.at) < n;
	}
	if (!s->intel) {
		const bool plain = stack == p.at; /* without a number before it */

		return (size_t)snprintf(to, n, plain ? "%d%.*s" : "%d+%.*s", PUSHED, (int)p.n, p.at) < n;
	}
	return (size_t)snprintf(to, n, "%.*srsp+%d%.*s", (int)(stack - p.at), p.at, PUSHED,
		       (int)(p.n - (size_t)(stack - p.at) - 3), stack + 3) < n;
}

/* ---- Calls ---------------------------------------------------------------------------------------- */

static void note(const struct stage *s, const char *what)
{
	fprintf(stderr, "nvwave-cc: %s:%u: %s\n", s->file, s->line, what);
}

static void emit_to(struct stage *s, const char *at)
{
	fwrite(s->emitted, 1, (size_t)(at - s->emitted), s->to);
	s->emitted = at;
}

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

static unsigned site_kind(unsigned what)
{
	switch (what & 0xff) {
	case NVWAVE_CC_FLUSH:
	case NVWAVE_CC_FLUSH_ORDERED:
	case NVWAVE_CC_FENCE:
		return NVWAVE_CC_SITE_FLUSH;
	default:
		return NVWAVE_CC_SITE_STORE;
	}
}

/* Behind a call that marks. */
static void emit_site(const struct stage *s, unsigned kind)
{
	fprintf(s->to, HERE("marked") SITE(".Lnvwave_marked", ".Lnvwave_marked"), kind);
}

/* Emits the call, on the line of the instruction. address NULL: without one. */
static void emit_call(const struct stage *s, const char *address, unsigned what)
{
	const char *const r = register_mark(s);

	if (!s->intel) {
		fprintf(s->to, "lea -128(%%rsp), %%rsp; push %%rax; ");
		if (address != NULL) {
			fprintf(s->to, "lea %s, %%rax; ", address);
		}
		fprintf(s->to, "push $%u; call __nvwave_cc_instruction; ", what);
		emit_site(s, site_kind(what));
		fprintf(s->to, "lea 8(%%rsp), %%rsp; pop %%rax; lea 128(%%rsp), %%rsp; ");
		return;
	}
	fprintf(s->to, "lea %srsp, [%srsp-128]; push %srax; ", r, r, r);
	if (address != NULL) {
		fprintf(s->to, "lea %srax, %s; ", r, address);
	}
	fprintf(s->to, "push %u; call __nvwave_cc_instruction; ", what);
	emit_site(s, site_kind(what));
	fprintf(s->to, "lea %srsp, [%srsp+8]; pop %srax; lea %srsp, [%srsp+128]; ", r, r, r, r, r);
}

/* Before a call of a function that does not mark its place. */
static void emit_passed(const struct stage *s)
{
	const char *const r = register_mark(s);

	if (!s->intel) {
		fprintf(s->to, "lea -128(%%rsp), %%rsp; call __nvwave_cc_passed; " HERE(
				       "marked") "lea 128(%%rsp), %%rsp; ");
		return;
	}
	fprintf(s->to,
		"lea %srsp, [%srsp-128]; call __nvwave_cc_passed; " HERE("marked") "lea %srsp, [%srsp+128]; ",
		r, r, r, r);
}

static void emit_counted(const struct stage *s, unsigned counter)
{
	const char *const r = register_mark(s);

	if (!s->intel) {
		fprintf(s->to, "movb $1, .Lnvwave_counter+%u(%%rip); ", counter);
		return;
	}
	fprintf(s->to, "mov byte ptr [%srip+.Lnvwave_counter+%u], 1; ", r, counter);
}

/* ---- Instructions --------------------------------------------------------------------------------- */

static bool is_on_stack(const struct stage *s, struct piece p)
{
	return piece_find(p, "rsp") != NULL || (s->framed && piece_find(p, "rbp") != NULL);
}

/* Whether a plain store needs a call, or the compiler has announced it. An extra call does no harm. */
static bool is_unannounced(struct stage *s, struct piece to, unsigned bytes)
{
	if (s->inline_assembly) {
		return true;
	}
	if (is_on_stack(s, to)) {
		return false;
	}
	if (s->announced == bytes || s->announced == UINT_MAX) {
		if (s->announced == bytes) {
			s->announced = 0;
		}
		return false;
	}
	return piece_find(to, "rip") == NULL;
}

static struct piece target(const struct instruction *i)
{
	struct piece p = i->operand[0];
	const char *named;

	if (piece_begins(p, "*")) {
		p = piece_rest(p, 1);
	}
	if (piece_begins(p, "[") && (named = piece_find(p, "ptr")) != NULL) {
		p = piece_rest(p, (size_t)(named - p.at) + 3);
	}
	return p;
}

/* The target of a call, also through the table of offsets (-fno-plt); empty: not a call. */
static struct piece callee(const struct instruction *i)
{
	if (!piece_begins(i->mnemonic, "call") || i->operands != 1) {
		return (struct piece){0};
	}
	return target(i);
}

/* The function is one of the C library, of the kernel's calls, of libpmem, or one that CUDA's kernels call. */
static unsigned library_kind(struct piece name)
{
	static const char *const stores[] = {"memcpy", "memmove", "memset", "mempcpy", "bzero", "strcpy",
		"stpcpy", "strncpy", "strcat", "pmem_memcpy", "pmem_memmove", "pmem_memset",
		"nvw_cuda_atomic", "nvw_cuda_before_store", "nvw_ptx_atomic", "nvw_ptx_store",
		"nvw_tsan_memcpy", "nvw_tsan_memmove", "nvw_tsan_memset"};
	static const char *const flushes[] = {"pmem_persist", "pmem_flush", "pmem_drain", "pmem_msync",
		"pmem_deep_persist", "pmem_deep_flush", "pmem_deep_drain", "pmem_memcpy_persist",
		"pmem_memmove_persist", "pmem_memset_persist", "pmem_memcpy_nodrain", "pmem_memmove_nodrain",
		"pmem_memset_nodrain", "msync", "fsync", "fdatasync", "nvw_cuda_persist_barrier",
		"nvw_cuda_fence", "nvw_ptx_fence"};

	for (unsigned i = 0; i < sizeof stores / sizeof *stores; i++) {
		if (piece_is(name, stores[i])) {
			return NVWAVE_CC_SITE_STORE;
		}
	}
	for (unsigned i = 0; i < sizeof flushes / sizeof *flushes; i++) {
		if (piece_is(name, flushes[i])) {
			return NVWAVE_CC_SITE_FLUSH;
		}
	}
	return 0;
}

/* The function is one that the compiler calls before a store, or for it; 0: a load. */
static unsigned announced_kind(struct piece name)
{
	if (piece_find(name, "thread_fence")) {
		return NVWAVE_CC_SITE_FLUSH;
	}
	if (piece_find(name, "write") || piece_find(name, "vptr_update")) {
		return NVWAVE_CC_SITE_STORE;
	}
	if (piece_find(name, "atomic") && !piece_find(name, "_load") && !piece_find(name, "signal_fence")) {
		return NVWAVE_CC_SITE_STORE;
	}
	return 0;
}

/* The call in place of a jump, with room that aligns the stack. None of these functions takes an argument
 * from there. */
static void emit_jump(struct stage *s, const struct instruction *i)
{
	const char *const r = register_mark(s);

	fprintf(s->to, in_syntax(s, "lea %srsp, [%srsp-8]; ", "lea -8(%%rsp), %%rsp; "), r, r);
	if (s->unwinds) {
		fputs(".cfi_adjust_cfa_offset 8; ", s->to);
	}
	fprintf(s->to, "call %.*s; ", (int)i->operand[0].n, i->operand[0].at);
	s->emitted = i->whole.at + i->whole.n;
}

/* Behind it. */
static void emit_return(const struct stage *s)
{
	const char *const r = register_mark(s);

	fprintf(s->to, in_syntax(s, "lea %srsp, [%srsp+8]; ", "lea 8(%%rsp), %%rsp; "), r, r);
	if (s->unwinds) {
		fputs(".cfi_adjust_cfa_offset -8; ", s->to);
	}
	fputs("ret", s->to);
}

/* What it calls, without the linker's word behind it. */
static struct piece name_of(const struct instruction *i)
{
	struct piece name = target(i);
	const char *const at = piece_find(name, "@");

	if (at != NULL) {
		name.n = (size_t)(at - name.at);
	}
	return name;
}

/* A call of a kernel. */
static void list_device_site(struct stage *s, const struct instruction *i)
{
	const struct piece name = name_of(i);
	const unsigned kind = NVW_OR(library_kind(name), announced_kind(name));

	if (kind == 0) {
		return;
	}
	emit_to(s, i->whole.at);
	fputs(COUNTERS(1), s->to);
	emit_counted(s, 0);
	emit_to(s, i->whole.at + i->whole.n);
	fprintf(s->to, "; " HERE("known") SITE(".Lnvwave_counter", ".Lnvwave_known"), kind);
}

/* A call, or a jump, of a function that stores, flushes or fences. */
static void list_site(struct stage *s, const struct instruction *i)
{
	const bool jumps = !piece_begins(i->mnemonic, "call");
	const struct piece name = name_of(i);
	const bool announced = piece_begins(name, "__tsan_");
	const unsigned kind = announced ? announced_kind(name) : library_kind(name);

	if (kind == 0) {
		return;
	}
	emit_to(s, NVW_OR(s->hold, i->whole.at));
	if (!announced) {
		emit_passed(s);
	}
	if (jumps) {
		emit_jump(s, i);
	} else {
		emit_to(s, i->whole.at + i->whole.n);
		fputs("; ", s->to);
	}
	if (announced) {
		emit_site(s, kind);
	} else {
		fprintf(s->to, HERE("known") SITE(".Lnvwave_marked", ".Lnvwave_known"), kind);
	}
	if (jumps) {
		emit_return(s);
	}
}

/* ---- Branches ------------------------------------------------------------------------------------- */

/* jne, and not jmp, jrcxz or jpe */
static bool is_branch(const struct instruction *i)
{
	static const char *const conditions[] = {
		"o", "b", "c", "ae", "e", "z", "be", "a", "s", "p", "l", "ge", "le", "g"};

	if (!piece_begins(i->mnemonic, "j") || i->operands != 1 || i->whole.at != i->mnemonic.at) {
		return false;
	}
	const struct piece condition = piece_rest(i->mnemonic, 1 + piece_begins(i->mnemonic, "jn"));

	for (unsigned k = 0; k < sizeof conditions / sizeof *conditions; k++) {
		if (piece_is(condition, conditions[k])) {
			return true;
		}
	}
	return false;
}

/* By the words of the thread that stack protectors and split stacks compare. */
static bool checks_stack(const struct instruction *i)
{
	return piece_find(i->whole, "fs:40") != NULL || piece_find(i->whole, "fs:112") != NULL;
}

static void list_branch(struct stage *s, const struct instruction *i)
{
	static unsigned branches;
	const bool negated = piece_begins(i->mnemonic, "jn");
	const struct piece condition = piece_rest(i->mnemonic, 1 + negated), to = i->operand[0];

	emit_to(s, i->whole.at);
	fprintf(s->to, COUNTERS(2) "j%s%.*s .Lnvwave_goes_on_%u; ", negated ? "" : "n", (int)condition.n,
		condition.at, branches);
	fprintf(s->to, HERE("known") SITE(".Lnvwave_counter", ".Lnvwave_known"), NVWAVE_CC_SITE_BRANCH);
	emit_counted(s, 0);
	fprintf(s->to, "jmp %.*s; .Lnvwave_goes_on_%u: ", (int)to.n, to.at, branches++);
	emit_counted(s, 1);
	s->emitted = i->whole.at + i->whole.n;
}

/* Of code that a compiler has made, once. */
static void meet_branch(struct stage *s, const struct instruction *i)
{
	const bool is_checked = s->checks;

	s->checks = checks_stack(i);
	if (s->located && !s->inline_assembly && s->repeats == 0 && !is_checked && is_branch(i)) {
		list_branch(s, i);
	}
}

/* ---- Calls that are announced --------------------------------------------------------------------- */

/* A call ends earlier announcements, and may announce a store: a range, or any number of them. */
static void meet_call(struct stage *s, const struct instruction *i)
{
	const struct piece to = callee(i);
	const char *const write = piece_find(to, "write");

	if (write == NULL || !piece_begins(to, "__tsan_")) {
		s->announced = 0;
	} else if (piece_find(to, "range")) {
		s->announced = UINT_MAX;
	} else {
		s->announced = (unsigned)atoi(write + strlen("write"));
	}
}

static unsigned sized(unsigned kind, unsigned bytes)
{
	return kind | bytes << NVWAVE_CC_BYTES_SHIFT;
}

/* What string instructions and masked moves store to. */
static struct piece by_rdi(const struct stage *s)
{
	const char *const text = in_syntax(s, "[rdi]", "(%rdi)");

	return (struct piece){text, strlen(text)};
}

/* The kind of an instruction, with its bytes; 0: irrelevant. Its operand may not be memory. */
static unsigned what_of(struct stage *s, const struct instruction *i, struct piece *ret_operand)
{
	const unsigned target = s->intel ? 0 : i->operands - 1; /* the destination */
	unsigned flush, bytes;
	bool is_by_rdi;

	*ret_operand = i->operands > 0 ? unmasked(i->operand[target]) : (struct piece){0};
	if ((flush = cc_flush_of(i)) != 0) {
		return flush;
	}
	if ((bytes = cc_streamed_bytes(i, &is_by_rdi)) != 0) {
		if (is_by_rdi) {
			*ret_operand = by_rdi(s);
		}
		return sized(NVWAVE_CC_STREAM, bytes);
	}
	if (i->locked || piece_is(i->mnemonic, "xchg") ||
		(piece_begins(i->mnemonic, "xchg") && i->mnemonic.n == 5)) {
		if (!i->locked && i->operands == 2 && !cc_is_memory(i, *ret_operand)) {
			*ret_operand = i->operand[1 - target];
		}
		if (!cc_is_memory(i, *ret_operand)) {
			return 0;
		}
		return sized(NVWAVE_CC_ATOMIC, cc_bytes_of(i));
	}
	if ((bytes = cc_string_bytes(i)) != 0) {
		*ret_operand = by_rdi(s);
		if (s->announced == UINT_MAX && !s->inline_assembly) {
			return 0;
		}
		return sized(i->repeated ? NVWAVE_CC_STRING : NVWAVE_CC_STORE, bytes);
	}
	bytes = cc_plain_bytes(i, *ret_operand);
	if (bytes == 0 || !is_unannounced(s, *ret_operand, bytes)) {
		return 0;
	}
	return sized(NVWAVE_CC_STORE, bytes);
}

static bool is_load_call(const struct instruction *i)
{
	const struct piece to = callee(i);

	return piece_begins(to, "__tsan_") && piece_find(to, "read_write") == NULL &&
	       (piece_begins(to, "__tsan_read") || piece_begins(to, "__tsan_unaligned_read") ||
		       piece_begins(to, "__tsan_volatile_read") ||
		       piece_begins(to, "__tsan_unaligned_volatile_read") ||
		       piece_begins(to, "__tsan_vptr_read"));
}

/* mov %rsp, %rbp */
static bool makes_frame(const struct stage *s, const struct instruction *i)
{
	const char *const stack = s->bare ? "rsp" : "%rsp", *const frame = s->bare ? "rbp" : "%rbp";

	return piece_begins(i->mnemonic, "mov") && i->operands == 2 &&
	       piece_is(i->operand[s->intel], stack) && piece_is(i->operand[!s->intel], frame);
}

static void instruct(struct stage *s, const struct instruction *i)
{
	const char *const begin = NVW_OR(s->hold, i->whole.at);
	struct piece operand;
	char address[1024];

	meet_branch(s, i);
	if (s->device && callee(i).n > 0) {
		list_device_site(s, i);
	}
	if (s->device || (is_load_call(i) && s->loads)) {
		return;
	}
	if (is_load_call(i)) {
		emit_to(s, i->whole.at);
		s->emitted = i->whole.at + i->whole.n;
		return;
	}
	if (piece_begins(i->mnemonic, "call") && i->operands == 1) {
		meet_call(s, i);
		list_site(s, i);
		return;
	}
	if (piece_is(i->mnemonic, "jmp") && i->operands == 1 && !s->inline_assembly) {
		list_site(s, i);
	}
	s->framed = s->framed || makes_frame(s, i);
	if (piece_is(i->mnemonic, "sfence") || piece_is(i->mnemonic, "mfence")) {
		emit_to(s, begin);
		emit_call(s, NULL, NVWAVE_CC_FENCE);
		return;
	}
	const unsigned what = what_of(s, i, &operand);

	if (what == 0) {
		s->unwatched = s->unwatched || cc_is_unwatchable(i);
		return;
	}
	if (!address_of(s, operand, address, sizeof address)) {
		return;
	}
	emit_to(s, begin);
	emit_call(s, address, what);
}

/* ---- Statements ----------------------------------------------------------------------------------- */

/* clang has its own section types, which other assemblers warn of. */
static void cut_type(struct stage *s, struct piece p)
{
	const char *const type = piece_find(p, ",@llvm_");

	if (type != NULL) {
		emit_to(s, type);
		s->emitted = p.at + p.n;
	}
}

static void direct(struct stage *s, struct piece p)
{
	if (piece_begins(p, ".intel_syntax") || piece_begins(p, ".att_syntax")) {
		s->intel = piece_begins(p, ".intel");
		s->bare = s->intel && piece_find(p, "noprefix") != NULL;
	} else if (piece_begins(p, ".section")) {
		cut_type(s, p);
	} else if (piece_begins(p, ".cfi_startproc") || piece_begins(p, ".cfi_endproc")) {
		s->unwinds = piece_begins(p, ".cfi_startproc");
	} else if (piece_begins(p, ".type")) {
		s->framed = s->located = false;
		s->announced = 0;
	} else if (piece_begins(p, ".loc ") || piece_begins(p, ".loc\t")) {
		s->located = true;
	} else if (piece_begins(p, ".rept") || piece_begins(p, ".irp")) {
		s->repeats++;
	} else if (piece_begins(p, ".endr") && s->repeats > 0) {
		s->repeats--;
	} else if (piece_begins(p, ".macro")) {
		s->macros++;
	} else if (piece_begins(p, ".endm") && s->macros > 0) {
		s->macros--;
	}
}

static void note_macro(const struct stage *s, struct piece p)
{
	static const char *const names[] = {"clwb", "clflush", "movnt", "sfence", "mfence"};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (piece_begins(p, names[i])) {
			note(s, "an instruction in the body of a .macro is not watched");
		}
	}
}

/* Removes prefixes from the front of an instruction. */
static struct piece take_prefixes(struct piece p, struct instruction *i)
{
	static const char *const others[] = {"rep", "repe", "repz", "repne", "repnz", "notrack", "bnd",
		"addr32", "cs", "ds", "es", "ss", "fs", "gs", "xacquire", "xrelease"};
	bool again = true;

	while (again && p.n > 0) {
		const struct piece word = {p.at, piece_word(p)};

		again = piece_is(word, "lock") || piece_is(word, "data16");
		i->locked = i->locked || piece_is(word, "lock");
		i->wide = i->wide || piece_is(word, "data16");
		i->repeated = i->repeated || piece_begins(word, "rep");
		for (unsigned k = 0; k < sizeof others / sizeof *others && !again; k++) {
			again = piece_is(word, others[k]);
		}
		if (again) {
			p = piece_rest(p, word.n);
		}
	}
	return p;
}

static void statement(struct stage *s, struct piece p)
{
	size_t n;

	p = piece_trim(p);
	while ((n = piece_word(p)) > 0 && n < p.n && p.at[n] == ':') {
		p = piece_rest(p, n + 1);
		s->hold = NULL;
	}
	if (p.n == 0) {
		return;
	}
	struct instruction i = {.whole = p,
		.intel = s->intel,
		.locked = s->hold && s->locked,
		.wide = s->hold && s->wide,
		.repeated = s->hold && s->repeated};
	const bool is_0x66 = piece_begins(p, ".byte") && piece_is(piece_rest(p, 5), "0x66");

	direct(s, p);
	p = take_prefixes(p, &i);
	if (p.n == 0 || is_0x66) {
		if (s->hold == NULL) {
			s->hold = i.whole.at;
		}
		s->locked = i.locked;
		s->wide = i.wide || is_0x66;
		s->repeated = i.repeated;
		return;
	}
	i.mnemonic = (struct piece){p.at, piece_word(p)};
	if (s->macros > 0) {
		s->unwatched = s->unwatched || *p.at != '.';
		note_macro(s, p);
	} else if (i.mnemonic.n > 0 && *p.at != '.') {
		cc_take_operands(&i, piece_rest(p, i.mnemonic.n));
		instruct(s, &i);
	}
	s->hold = NULL;
}

/* Number of characters up to the end of a string, a character or a comment; 0 for none of these. */
static size_t skip(struct stage *s, const char *at, const char *end)
{
	size_t n = 1;

	if (*at == '"') {
		while (at + n < end && at[n] != '"') {
			n += 1 + (at[n] == '\\');
		}
		n++;
	} else if (*at == '\'') {
		n += 1 + (at + 1 < end && at[1] == '\\');
	} else if (*at == '/' && at + 1 < end && at[1] == '*') {
		s->comment = true;
		n = 2;
	}
	return nvw_min(n, (size_t)(end - at));
}

/* One line, without its end. */
static void line(struct stage *s, const char *at, const char *end)
{
	const char *from = at;
	const struct piece whole = piece_trim((struct piece){at, (size_t)(end - at)});

	if (!s->comment && (piece_is(whole, "#APP") || piece_is(whole, "#NO_APP"))) {
		s->inline_assembly = piece_is(whole, "#APP");
	}
	if (!s->comment && piece_begins(whole, "/") && !piece_begins(whole, "/*")) {
		return;
	}
	while (at < end) {
		if (s->comment) {
			const char *const stop = piece_find((struct piece){at, (size_t)(end - at)}, "*/");

			s->comment = stop == NULL;
			at = end;
			if (stop != NULL) {
				at = stop + 2;
			}
			from = at;
		} else if (*at == '#' || *at == ';') {
			statement(s, (struct piece){from, (size_t)(at - from)});
			at = *at == '#' ? end : at + 1;
			from = at;
		} else {
			const size_t n = skip(s, at, end);

			if (s->comment) {
				statement(s, (struct piece){from, (size_t)(at - from)});
			}
			at += n;
		}
	}
	if (!s->comment) {
		statement(s, (struct piece){from, (size_t)(at - from)});
	}
}

/* ---- Files ---------------------------------------------------------------------------------------- */

static void die(const char *what)
{
	fprintf(stderr, "nvwave-cc: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* All of a file, or of the standard input. */
static char *read_all(const char *path, size_t *ret_n)
{
	FILE *const from = path ? fopen(path, "r") : stdin;
	size_t n = 0, capacity = 1 << 16, got;
	char *text = malloc(capacity);

	if (from == NULL) {
		die(path);
	}
	while (text != NULL && (got = fread(text + n, 1, capacity - n, from)) > 0) {
		n += got;
		if (n == capacity) {
			capacity *= 2;
			char *const more = realloc(text, capacity);

			if (more == NULL) {
				free(text);
			}
			text = more;
		}
	}
	if (text == NULL || ferror(from)) {
		die(NVW_OR(path, "standard input"));
	}
	if (path != NULL) {
		fclose(from);
	}
	*ret_n = n;
	return text;
}

/* The name under which the real assembler reads the text; in messages it uses that of the file. */
static char *rewrite(const char *path)
{
	const char *const name = NVW_OR(path, "{standard input}");
	struct stage s = {.file = name,
		.loads = getenv("NVWAVE_CC_LOADS") != NULL,
		.device = getenv("NVWAVE_CC_DEVICE") != NULL};
	size_t n;
	char *const text = read_all(path, &n), *result = NULL;
	const char *const end = text + n;
	const int fd = memfd_create("nvwave-cc", 0); /* inherited by the assembler */

	s.to = fd >= 0 ? fdopen(dup(fd), "w") : NULL;
	if (s.to == NULL) {
		die("a file in memory");
	}
	s.emitted = text;
	s.unwatched = memmem(text, n, "dlsym", 5) != NULL; /* whatever function that finds */
	if (n < 7 || strncmp(text, "#NO_APP", 7) != 0) {   /* which matters only on the first line */
		fprintf(s.to, "# 1 \"%s\"\n", name);
	}
	for (const char *at = text; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		if (stop == NULL) {
			stop = end;
		}
		s.line++;
		line(&s, at, stop);
		at = stop + (stop < end);
	}
	emit_to(&s, end);
	fprintf(s.to, "\n\t.pushsection .nvwave_cc,\"\",@progbits\n\t.asciz \"%s\"\n\t.popsection\n",
		s.unwatched ? NVWAVE_CC_UNWATCHED : NVWAVE_CC_WATCHED);
	if (fclose(s.to) || asprintf(&result, "/proc/self/fd/%d", fd) < 0) {
		die("a file in memory");
	}
	free(text);
	return result;
}

/* ---- The real assembler --------------------------------------------------------------------------- */

static bool is_self(const char *path)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat("/proc/self/exe", &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Executes the compiler's assembler, as found by nvwave-cc; otherwise the first one in PATH that is not this
 * program. */
static void become(char *argv[])
{
	const char *const named = getenv("NVWAVE_CC_AS");
	const char *at = getenv("PATH");

	if (named != NULL && strchr(named, '/') != NULL && !is_self(named)) {
		execv(named, argv);
		die(named);
	}
	for (size_t n; at != NULL && *at != '\0'; at += n + (at[n] == ':')) {
		char path[4096];

		n = strcspn(at, ":");
		snprintf(path, sizeof path, "%.*s/as", (int)n, at);
		if (access(path, X_OK) == 0 && !is_self(path)) {
			execv(path, argv);
		}
	}
	errno = ENOENT;
	die("as");
}

/* Options whose value is a separate argument. */
static bool takes_value(const char *option)
{
	static const char *const options[] = {
		"-o", "-I", "-D", "--defsym", "--MD", "-MD", "--debug-prefix-map"};

	for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
		if (strcmp(option, options[i]) == 0) {
			return true;
		}
	}
	return false;
}

int main(int argc, char *argv[])
{
	char **const to = calloc((size_t)argc + 2, sizeof *to);
	unsigned files = 0;
	int n = 1;

	if (to == NULL) {
		die("memory");
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "--help") == 0 ||
			strcmp(argv[i], "--target-help") == 0) {
			become(argv);
		}
		if (strcmp(argv[i], "--32") == 0 || strcmp(argv[i], "--x32") == 0) {
			fprintf(stderr, "nvwave-cc: %s: programs of 64 bits alone are watched\n", argv[i]);
			return 1;
		}
	}
	to[0] = argv[0];
	for (int i = 1; i < argc; i++) {
		const bool is_file = argv[i][0] != '-' || argv[i][1] == '\0';

		files += is_file;
		to[n] = argv[i];
		if (is_file) {
			to[n] = rewrite(argv[i][0] == '-' ? NULL : argv[i]);
		}
		n++;
		if (takes_value(argv[i]) && i + 1 < argc) {
			to[n++] = argv[++i];
		}
	}
	if (files == 0) {
		to[n++] = rewrite(NULL);
	}
	become(to);
}
