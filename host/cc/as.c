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
 * removed.
 *
 * Each object file says whether all of its stores are announced; the linker stage (ld.in) reads that. Some cannot be:
 * system calls, scattered vectors, saved processor states, bodies of .macro.
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
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hooks.h"

enum {
	OPERANDS_MAX = 8,
	WORD_MAX = 32,
	PUSHED = 128 + 8, /* how much lower the stack pointer is when the operand's address is taken */
};

/* A piece of the text. */
struct piece {
	const char *at;
	size_t n;
};

struct stage {
	const char *file;
	FILE *to;
	const char *emitted;   /* the whole text before it is written */
	const char *hold;      /* prefixes written as separate statements begin here; NULL: none */
	unsigned line, macros; /* macros: nesting depth of macro definitions */
	bool comment, intel, bare, inline_assembly; /* bare: registers without % */
	bool locked, wide, repeated;                /* a prefix that was held: lock; 0x66; rep */
	bool unwatched;                             /* some store cannot be announced */
	/* bytes of the announced store that has not come yet; UINT_MAX: of several */
	unsigned announced;
	bool framed; /* %rbp is the function's frame pointer */
};

/* ---- Pieces -------------------------------------------------------------------------------------------------------- */

static struct piece trim(struct piece p)
{
	while (p.n > 0 && isspace((unsigned char)*p.at)) {
		p.at++;
		p.n--;
	}
	while (p.n > 0 && isspace((unsigned char)p.at[p.n - 1])) {
		p.n--;
	}
	return p;
}

static struct piece rest_of(struct piece p, size_t n)
{
	return trim((struct piece){p.at + n, p.n - n});
}

static bool begins(struct piece p, const char *with)
{
	const size_t n = strlen(with);

	return p.n >= n && strncasecmp(p.at, with, n) == 0;
}

static bool is(struct piece p, const char *text)
{
	return p.n == strlen(text) && begins(p, text);
}

static const char *find(struct piece p, const char *text)
{
	for (size_t i = 0; i + strlen(text) <= p.n; i++) {
		if (strncasecmp(p.at + i, text, strlen(text)) == 0) {
			return p.at + i;
		}
	}
	return NULL;
}

static size_t word_length(struct piece p)
{
	size_t n = 0;

	while (n < p.n && (isalnum((unsigned char)p.at[n]) || strchr("._$@", p.at[n]))) {
		n++;
	}
	return n;
}

/* Splits at commas outside of parentheses. */
static unsigned operands_of(struct piece p, struct piece *ret)
{
	unsigned n = 0, depth = 0;
	size_t from = 0;

	for (size_t i = 0; i <= p.n && p.n > 0 && n < OPERANDS_MAX; i++) {
		depth += i < p.n && strchr("([", p.at[i]) != NULL;
		depth -= i < p.n && depth > 0 && strchr(")]", p.at[i]) != NULL;
		if (i == p.n || (depth == 0 && p.at[i] == ',')) {
			ret[n++] = trim((struct piece){p.at + from, i - from});
			from = i + 1;
		}
	}
	return n;
}

/* ---- Registers and memory ---------------------------------------------------------------------------------------------- */

/* Bytes of a register; 0: not a register. */
static unsigned register_bytes(struct piece p)
{
	static const char *const names[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"};

	if (begins(p, "%")) {
		p = rest_of(p, 1);
	}
	if (p.n < 2 || p.n > 5) {
		return 0;
	}
	if (begins(p, "xmm") || begins(p, "ymm") || begins(p, "zmm")) {
		return tolower(*p.at) == 'x' ? 16 : tolower(*p.at) == 'y' ? 32 : 64;
	}
	if (begins(p, "mm") && isdigit((unsigned char)p.at[2])) {
		return 8;
	}
	if (begins(p, "r") && isdigit((unsigned char)p.at[1])) {
		const char last = (char)tolower(p.at[p.n - 1]);

		return isdigit((unsigned char)last) ? 8 : last == 'd' ? 4 : last == 'w' ? 2 : 1;
	}
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (is(p, names[i])) {
			return 2;
		}
		if (p.n == 3 && is(rest_of(p, 1), names[i])) {
			return tolower(*p.at) == 'r' ? 8 : 4;
		}
	}
	return (p.n == 2 || p.n == 3) && strchr("lLhH", p.at[p.n - 1]) ? 1 : 0;
}

static bool is_memory(const struct stage *s, struct piece p)
{
	if (p.n == 0 || *p.at == '$') {
		return false;
	}
	if (s->intel) {
		return find(p, "[") != NULL || find(p, "ptr") != NULL;
	}
	return register_bytes(p) == 0 && (*p.at != '%' || find(p, ":") != NULL);
}

/* The operand without the mask of a vector: (%rdi){%k1}. */
static struct piece unmasked(struct piece p)
{
	const char *const mask = find(p, "{");

	return trim((struct piece){p.at, mask ? (size_t)(mask - p.at) : p.n});
}

/* The operand for lea, with the lowered stack. False: it is in another segment, which holds no mapping of the
 * program. */
static bool address_of(const struct stage *s, struct piece p, char *to, size_t n)
{
	const char *const ptr = s->intel ? find(p, "ptr") : NULL;
	const char *colon;

	if (ptr != NULL) {
		p = rest_of(p, (size_t)(ptr - p.at) + 3);
	}
	if ((colon = find(p, ":")) != NULL) {
		const struct piece segment = trim((struct piece){p.at, (size_t)(colon - p.at)});

		if (find(segment, "fs") || find(segment, "gs")) {
			return false;
		}
		p = rest_of(p, (size_t)(colon - p.at) + 1);
	}
	const char *const stack = find(p, s->intel ? "rsp" : "(%rsp");

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

/* ---- Calls --------------------------------------------------------------------------------------------------------------- */

static void note(const struct stage *s, const char *what)
{
	fprintf(stderr, "nvwave-cc: %s:%u: %s\n", s->file, s->line, what);
}

static void emit_to(struct stage *s, const char *at)
{
	fwrite(s->emitted, 1, (size_t)(at - s->emitted), s->to);
	s->emitted = at;
}

/* Emits the call, on the line of the instruction. address NULL: without one. */
static void emit_call(const struct stage *s, const char *address, unsigned what)
{
	const char *const r = s->bare ? "" : "%";

	if (!s->intel) {
		fprintf(s->to, "lea -128(%%rsp), %%rsp; push %%rax; ");
		if (address != NULL) {
			fprintf(s->to, "lea %s, %%rax; ", address);
		}
		fprintf(s->to,
			"push $%u; call __nvwave_cc_instruction; lea 8(%%rsp), %%rsp; pop %%rax; lea 128(%%rsp), %%rsp; ",
			what);
		return;
	}
	fprintf(s->to, "lea %srsp, [%srsp-128]; push %srax; ", r, r, r);
	if (address != NULL) {
		fprintf(s->to, "lea %srax, %s; ", r, address);
	}
	fprintf(s->to,
		"push %u; call __nvwave_cc_instruction; lea %srsp, [%srsp+8]; pop %srax; lea %srsp, [%srsp+128]; ",
		what, r, r, r, r, r);
}

/* ---- Instructions --------------------------------------------------------------------------------------------------------- */

struct instruction {
	struct piece whole, mnemonic; /* whole: with its prefixes */
	struct piece operand[OPERANDS_MAX];
	unsigned operands;
	bool locked, wide, repeated;
};

/* Bytes of the access, from a register, Intel's keyword, or the suffix. */
static unsigned bytes_of(const struct stage *s, const struct instruction *i)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} words[] = {{"byte ptr", 1}, {"dword ptr", 4}, {"xmmword ptr", 16}, {"ymmword ptr", 32},
		{"zmmword ptr", 64}, {"qword ptr", 8}, {"word ptr", 2}};

	if (begins(i->mnemonic, "cmpxchg16b")) {
		return 16;
	}
	if (begins(i->mnemonic, "cmpxchg8b")) {
		return 8;
	}
	for (unsigned k = 0; k < i->operands; k++) {
		const unsigned bytes = is_memory(s, i->operand[k]) ? 0 : register_bytes(i->operand[k]);

		if (bytes > 0) {
			return bytes;
		}
		for (unsigned w = 0; s->intel && w < sizeof words / sizeof *words; w++) {
			if (begins(i->operand[k], words[w].name)) {
				return words[w].bytes;
			}
		}
	}
	switch (tolower(i->mnemonic.at[i->mnemonic.n - 1])) {
	case 'b':
		return is(i->mnemonic, "sub") ? 4 : 1;
	case 'w':
		return 2;
	case 'q':
		return 8;
	default:
		return 4;
	}
}

/* Bytes of a store past the caches; 0: not one. The address is that of the destination, or in %rdi. */
static unsigned streamed_bytes(const struct stage *s, const struct instruction *i, bool *ret_by_rdi)
{
	const struct piece m = begins(i->mnemonic, "v") ? rest_of(i->mnemonic, 1) : i->mnemonic;

	*ret_by_rdi = begins(m, "maskmov") && (is(m, "maskmovdqu") || is(m, "maskmovq"));
	if (*ret_by_rdi) {
		return is(m, "maskmovq") ? 8 : 16;
	}
	if (begins(m, "movnti") || is(m, "movntdq") || is(m, "movntps") || is(m, "movntpd") ||
		begins(m, "movdiri")) {
		return bytes_of(s, i);
	}
	return is(m, "movntq") || is(m, "movntsd") ? 8 : is(m, "movntss") ? 4 : 0;
}

static unsigned flush_of(const struct instruction *i)
{
	if (is(i->mnemonic, "clwb") || is(i->mnemonic, "clflushopt") ||
		(is(i->mnemonic, "xsaveopt") && i->wide)) {
		return NVWAVE_CC_FLUSH;
	}
	/* With 0x66 before it, as old assemblers need, it is clflushopt. */
	return is(i->mnemonic, "clflush") ? (i->wide ? NVWAVE_CC_FLUSH : NVWAVE_CC_FLUSH_ORDERED) : 0;
}

/* With the size from an operand or suffix (0), or a size of their own. */
static const struct {
	const char *name;
	unsigned bytes;
} plain_stores[] = {
	{"mov", 0},
	{"add", 0},
	{"adc", 0},
	{"sub", 0},
	{"sbb", 0},
	{"and", 0},
	{"or", 0},
	{"xor", 0},
	{"inc", 0},
	{"dec", 0},
	{"neg", 0},
	{"not", 0},
	{"shl", 0},
	{"sal", 0},
	{"shr", 0},
	{"sar", 0},
	{"rol", 0},
	{"ror", 0},
	{"bts", 0},
	{"btr", 0},
	{"btc", 0},
	{"movbe", 0},
	{"xadd", 0},
	{"cmpxchg", 0},
	{"shld", 0},
	{"shrd", 0},
	{"movups", 16},
	{"movaps", 16},
	{"movupd", 16},
	{"movapd", 16},
	{"movdqu", 16},
	{"movdqa", 16},
	{"movss", 4},
	{"movsd", 8},
	{"movd", 4},
	{"movlps", 8},
	{"movhps", 8},
	{"movlpd", 8},
	{"movhpd", 8},
	{"pextrb", 1},
	{"pextrw", 2},
	{"pextrd", 4},
	{"pextrq", 8},
	{"extractps", 4},
	{"movdqu8", 64},
	{"movdqu16", 64},
	{"movdqu32", 64},
	{"movdqu64", 64},
	{"movdqa32", 64},
	{"movdqa64", 64},
	{"extractf128", 16},
	{"extracti128", 16},
	{"extractf64x4", 32},
	{"extracti64x4", 32},
	{"fstpt", 10},
	{"fstpl", 8},
	{"fstps", 4},
	{"fstl", 8},
	{"fsts", 4},
	{"fistpll", 8},
	{"fistpl", 4},
	{"fistps", 2},
	{"fisttpll", 8},
	{"fisttpl", 4},
	{"fnstcw", 2},
	{"stmxcsr", 4},
};

/* Vector stores of at most the register's size: masked, compressed, partial, converted. */
static const char *const partial_stores[] = {
	"maskmov", "pmaskmov", "compress", "pcompress", "pmov", "extract", "cvtps2ph"};

/* Bytes of a plain store; 0: not one, or it cannot go to a mapping. */
static unsigned plain_bytes(const struct stage *s, const struct instruction *i, struct piece to)
{
	const struct piece m = i->mnemonic, bare = begins(m, "v") ? rest_of(m, 1) : m;

	if (!is_memory(s, to)) {
		return 0;
	}
	if (begins(m, "set")) {
		return 1;
	}
	for (unsigned k = 0; k < sizeof plain_stores / sizeof *plain_stores; k++) {
		const char *const name = plain_stores[k].name;
		const size_t n = strlen(name);
		const bool suffix = m.n == n + 1 && strchr("bwlqBWLQ", m.at[n]) != NULL;

		if (plain_stores[k].bytes == 0 && begins(m, name) && (m.n == n || suffix)) {
			return bytes_of(s, i);
		}
		if (plain_stores[k].bytes > 0 && is(bare, name)) {
			const unsigned wide = plain_stores[k].bytes == 16 || plain_stores[k].bytes == 64 ?
						      bytes_of(s, i) :
						      0;

			return wide >= 16 ? wide : plain_stores[k].bytes;
		}
	}
	for (unsigned k = 0; k < sizeof partial_stores / sizeof *partial_stores; k++) {
		if (begins(bare, partial_stores[k])) {
			return bytes_of(s, i);
		}
	}
	return 0;
}

/* Bytes of each store of a string instruction, which goes to (%rdi); 0: not one. */
static unsigned string_bytes(const struct instruction *i)
{
	const struct piece m = i->mnemonic;
	const bool moves = begins(m, "movs"), fills = begins(m, "stos") || (begins(m, "ins") && m.n == 4);

	if ((!moves && !fills) || m.n != 5 - (size_t)begins(m, "ins")) {
		return 0;
	}
	for (unsigned k = 0; k < i->operands; k++) {
		if (moves && register_bytes(i->operand[k]) > 0) {
			return 0; /* movsd of a vector, movsb of an extension */
		}
	}
	switch (tolower(m.at[m.n - 1])) {
	case 'b':
		return 1;
	case 'w':
		return 2;
	case 'l':
	case 'd':
		return 4;
	case 'q':
		return 8;
	default:
		return 0;
	}
}

/* Whether an instruction may store to a mapping what cannot be announced. */
static bool is_unwatchable(const struct stage *s, const struct instruction *i)
{
	static const char *const names[] = {"syscall", "sysenter", "vscatter", "vpscatter", "xsave", "fxsave",
		"fsave", "fnsave", "fstenv", "fnstenv", "movdir64b", "enqcmd", "clzero"};

	for (unsigned k = 0; k < sizeof names / sizeof *names; k++) {
		if (begins(i->mnemonic, names[k])) {
			return true;
		}
	}
	return is(i->mnemonic, "int") || is(i->mnemonic, "std") || /* then string instructions go downwards */
	       (begins(i->mnemonic, "pop") && i->operands == 1 && is_memory(s, i->operand[0]) &&
		       !begins(i->mnemonic, "popcnt"));
}

static bool is_on_stack(const struct stage *s, struct piece p)
{
	return find(p, "rsp") != NULL || (s->framed && find(p, "rbp") != NULL);
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
		s->announced = s->announced == UINT_MAX ? UINT_MAX : 0;
		return false;
	}
	return find(to, "rip") == NULL;
}

/* The target of a call, also through the table of offsets (-fno-plt); empty: not a call. */
static struct piece callee(const struct instruction *i)
{
	const bool calls = begins(i->mnemonic, "call") && i->operands == 1;

	return !calls                     ? (struct piece){0} :
	       begins(i->operand[0], "*") ? rest_of(i->operand[0], 1) :
					    i->operand[0];
}

/* A call ends earlier announcements, and may announce a store: a range, or any number of them. */
static void meet_call(struct stage *s, const struct instruction *i)
{
	const struct piece to = callee(i);
	const char *const write = begins(to, "__tsan_") ? find(to, "write") : NULL;

	s->announced = write == NULL     ? 0 :
		       find(to, "range") ? UINT_MAX :
					   (unsigned)atoi(write + strlen("write"));
}

/* The kind of an instruction, with its bytes; 0: irrelevant. Its operand may not be memory. */
static unsigned what_of(struct stage *s, const struct instruction *i, struct piece *ret_operand)
{
	static const char rdi[] = "(%rdi)", intel_rdi[] = "[rdi]";
	const unsigned target = s->intel ? 0 : i->operands - 1; /* the destination */
	unsigned flush, bytes;
	bool by_rdi;

	*ret_operand = i->operands > 0 ? unmasked(i->operand[target]) : (struct piece){0};
	if ((flush = flush_of(i)) != 0) {
		return flush;
	}
	if ((bytes = streamed_bytes(s, i, &by_rdi)) != 0) {
		if (by_rdi) {
			*ret_operand = s->intel ? (struct piece){intel_rdi, 5} : (struct piece){rdi, 6};
		}
		return NVWAVE_CC_STREAM | bytes << NVWAVE_CC_BYTES_SHIFT;
	}
	if (i->locked || is(i->mnemonic, "xchg") || (begins(i->mnemonic, "xchg") && i->mnemonic.n == 5)) {
		if (!i->locked && i->operands == 2 && !is_memory(s, *ret_operand)) {
			*ret_operand = i->operand[1 - target];
		}
		return is_memory(s, *ret_operand) ?
			       NVWAVE_CC_ATOMIC | bytes_of(s, i) << NVWAVE_CC_BYTES_SHIFT :
			       0;
	}
	if ((bytes = string_bytes(i)) != 0) {
		*ret_operand = s->intel ? (struct piece){intel_rdi, 5} : (struct piece){rdi, 6};
		return s->announced == UINT_MAX && !s->inline_assembly ?
			       0 :
			       (i->repeated ? NVWAVE_CC_STRING : NVWAVE_CC_STORE) |
				       bytes << NVWAVE_CC_BYTES_SHIFT;
	}
	bytes = i->operands > 0 ? plain_bytes(s, i, *ret_operand) : 0;
	return bytes > 0 && is_unannounced(s, *ret_operand, bytes) ?
		       NVWAVE_CC_STORE | bytes << NVWAVE_CC_BYTES_SHIFT :
		       0;
}

static bool is_load_call(const struct instruction *i)
{
	const struct piece to = callee(i);

	return begins(to, "__tsan_") && find(to, "read_write") == NULL &&
	       (begins(to, "__tsan_read") || begins(to, "__tsan_unaligned_read") ||
		       begins(to, "__tsan_volatile_read") || begins(to, "__tsan_unaligned_volatile_read") ||
		       begins(to, "__tsan_vptr_read"));
}

/* mov %rsp, %rbp */
static bool makes_frame(const struct stage *s, const struct instruction *i)
{
	const char *const stack = s->bare ? "rsp" : "%rsp", *const frame = s->bare ? "rbp" : "%rbp";

	return begins(i->mnemonic, "mov") && i->operands == 2 && is(i->operand[s->intel], stack) &&
	       is(i->operand[!s->intel], frame);
}

static void instruct(struct stage *s, const struct instruction *i)
{
	const char *const begin = s->hold ? s->hold : i->whole.at;
	struct piece operand;
	char address[1024];

	if (is_load_call(i)) {
		emit_to(s, i->whole.at);
		s->emitted = i->whole.at + i->whole.n;
		return;
	}
	if (begins(i->mnemonic, "call") && i->operands == 1) {
		meet_call(s, i);
		return;
	}
	s->framed = s->framed || makes_frame(s, i);
	if (is(i->mnemonic, "sfence") || is(i->mnemonic, "mfence")) {
		emit_to(s, begin);
		emit_call(s, NULL, NVWAVE_CC_FENCE);
		return;
	}
	const unsigned what = what_of(s, i, &operand);

	if (what == 0) {
		s->unwatched = s->unwatched || is_unwatchable(s, i);
		return;
	}
	if (!address_of(s, operand, address, sizeof address)) {
		return;
	}
	emit_to(s, begin);
	emit_call(s, address, what);
}

/* ---- Statements -------------------------------------------------------------------------------------------------------------- */

/* clang has its own section types, which other assemblers warn of. */
static void cut_type(struct stage *s, struct piece p)
{
	const char *const type = find(p, ",@llvm_");

	if (type != NULL) {
		emit_to(s, type);
		s->emitted = p.at + p.n;
	}
}

static void direct(struct stage *s, struct piece p)
{
	if (begins(p, ".intel_syntax") || begins(p, ".att_syntax")) {
		s->intel = begins(p, ".intel");
		s->bare = s->intel && find(p, "noprefix") != NULL;
	} else if (begins(p, ".section")) {
		cut_type(s, p);
	} else if (begins(p, ".type")) {
		s->framed = false;
		s->announced = 0;
	} else if (begins(p, ".macro")) {
		s->macros++;
	} else if (begins(p, ".endm") && s->macros > 0) {
		s->macros--;
	}
}

static void note_macro(const struct stage *s, struct piece p)
{
	static const char *const names[] = {"clwb", "clflush", "movnt", "sfence", "mfence"};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (begins(p, names[i])) {
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
		const struct piece word = {p.at, word_length(p)};

		again = is(word, "lock") || is(word, "data16");
		i->locked = i->locked || is(word, "lock");
		i->wide = i->wide || is(word, "data16");
		i->repeated = i->repeated || begins(word, "rep");
		for (unsigned k = 0; k < sizeof others / sizeof *others && !again; k++) {
			again = is(word, others[k]);
		}
		if (again) {
			p = rest_of(p, word.n);
		}
	}
	return p;
}

static void statement(struct stage *s, struct piece p)
{
	size_t n;

	p = trim(p);
	while ((n = word_length(p)) > 0 && n < p.n && p.at[n] == ':') {
		p = rest_of(p, n + 1);
		s->hold = NULL;
	}
	if (p.n == 0) {
		return;
	}
	struct instruction i = {.whole = p,
		.locked = s->hold && s->locked,
		.wide = s->hold && s->wide,
		.repeated = s->hold && s->repeated};
	const bool is_0x66 = begins(p, ".byte") && is(rest_of(p, 5), "0x66");

	direct(s, p);
	p = take_prefixes(p, &i);
	if (p.n == 0 || is_0x66) {
		s->hold = s->hold ? s->hold : i.whole.at;
		s->locked = i.locked;
		s->wide = i.wide || is_0x66;
		s->repeated = i.repeated;
		return;
	}
	i.mnemonic = (struct piece){p.at, word_length(p)};
	if (s->macros > 0) {
		s->unwatched = s->unwatched || *p.at != '.';
		note_macro(s, p);
	} else if (i.mnemonic.n > 0 && *p.at != '.') {
		i.operands = operands_of(rest_of(p, i.mnemonic.n), i.operand);
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
			n += at[n] == '\\' ? 2 : 1;
		}
		n++;
	} else if (*at == '\'') {
		n += at + 1 < end && at[1] == '\\' ? 2 : 1;
	} else if (*at == '/' && at + 1 < end && at[1] == '*') {
		s->comment = true;
		n = 2;
	}
	return n < (size_t)(end - at) ? n : (size_t)(end - at);
}

/* One line, without its end. */
static void line(struct stage *s, const char *at, const char *end)
{
	const char *from = at;
	const struct piece whole = trim((struct piece){at, (size_t)(end - at)});

	if (!s->comment && (is(whole, "#APP") || is(whole, "#NO_APP"))) {
		s->inline_assembly = is(whole, "#APP");
	}
	if (!s->comment && begins(whole, "/") && !begins(whole, "/*")) {
		return;
	}
	while (at < end) {
		if (s->comment) {
			const char *const stop = find((struct piece){at, (size_t)(end - at)}, "*/");

			s->comment = stop == NULL;
			at = stop ? stop + 2 : end;
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

/* ---- Files --------------------------------------------------------------------------------------------------------------------- */

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
		die(path ? path : "standard input");
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
	const char *const name = path ? path : "{standard input}";
	struct stage s = {.file = name};
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
		const char *const stop = memchr(at, '\n', (size_t)(end - at));

		s.line++;
		line(&s, at, stop ? stop : end);
		at = stop ? stop + 1 : end;
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

/* ---- The real assembler ------------------------------------------------------------------------------------------------------ */

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
		to[n++] = is_file ? rewrite(argv[i][0] == '-' ? NULL : argv[i]) : argv[i];
		if (takes_value(argv[i]) && i + 1 < argc) {
			to[n++] = argv[++i];
		}
	}
	if (files == 0) {
		to[n++] = rewrite(NULL);
	}
	become(to);
}
