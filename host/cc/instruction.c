/* SPDX-License-Identifier: BSD-3-Clause */
/* What an instruction stores to. See instruction.h. */
#include <ctype.h>
#include <string.h>

#include "core/bounds.h"
#include "core/each.h"
#include "hooks.h"
#include "instruction.h"

void cc_take_operands(struct instruction *i, struct piece p)
{
	unsigned n = 0, depth = 0;
	size_t from = 0;

	for (size_t at = 0; at <= p.n && p.n > 0 && n < CC_OPERANDS_MAX; at++) {
		depth += at < p.n && strchr("([", p.at[at]) != NULL;
		depth -= at < p.n && depth > 0 && strchr(")]", p.at[at]) != NULL;
		if (at == p.n || (depth == 0 && p.at[at] == ',')) {
			i->operand[n++] = piece_trim((struct piece){p.at + from, at - from});
			from = at + 1;
		}
	}
	NVW_INVARIANT(n <= CC_OPERANDS_MAX);
	i->operands = n;
}

/* ---- Registers and memory ------------------------------------------------------------------------- */

/* The bytes that the last letter of a mnemonic says; 0: none. */
static unsigned suffix_bytes(struct piece mnemonic)
{
	NVW_INVARIANT(mnemonic.n > 0);
	switch (tolower(mnemonic.at[mnemonic.n - 1])) {
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

struct piece cc_register_name(struct piece operand)
{
	return piece_rest(operand, piece_begins(operand, "%"));
}

/* Bytes of a register; 0: not a register. */
static unsigned register_bytes(struct piece p)
{
	static const char *const names[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", NULL};

	p = cc_register_name(p);
	if (p.n < 2 || p.n > 5) {
		return 0;
	}
	if (piece_begins(p, "xmm") || piece_begins(p, "ymm") || piece_begins(p, "zmm")) {
		return 16u << (tolower(*p.at) - 'x');
	}
	if (piece_begins(p, "mm") && isdigit((unsigned char)p.at[2])) {
		return 8;
	}
	if (piece_begins(p, "r") && isdigit((unsigned char)p.at[1])) {
		if (isdigit((unsigned char)p.at[p.n - 1])) {
			return 8;
		}
		switch (tolower(p.at[p.n - 1])) {
		case 'd':
			return 4;
		case 'w':
			return 2;
		default:
			return 1;
		}
	}
	if (piece_is_any(p, names)) {
		return 2;
	}
	if (p.n == 3 && piece_is_any(piece_rest(p, 1), names)) {
		return tolower(*p.at) == 'r' ? 8 : 4;
	}
	return (p.n == 2 || p.n == 3) && strchr("lLhH", p.at[p.n - 1]);
}

bool cc_is_memory(const struct instruction *i, struct piece p)
{
	if (p.n == 0 || *p.at == '$') {
		return false;
	}
	if (i->intel) {
		return piece_find(p, "[") != NULL || piece_find(p, "ptr") != NULL;
	}
	return register_bytes(p) == 0 && (*p.at != '%' || piece_find(p, ":") != NULL);
}

/* ---- Stores --------------------------------------------------------------------------------------- */

/* %cl says how far to shift, not what. */
static bool is_distance(const struct instruction *i, unsigned operand)
{
	NVW_INVARIANT(operand < i->operands);

	static const char *const names[] = {"sh", "sa", "ro", "rc", NULL};

	return !i->intel && operand == 0 && piece_is(i->operand[operand], "%cl") &&
	       piece_begins_any(i->mnemonic, names);
}

unsigned cc_bytes_of(const struct instruction *i)
{
	NVW_INVARIANT(i->operands <= CC_OPERANDS_MAX);

	static const struct {
		const char *name;
		unsigned bytes;
	} words[] = {{"byte ptr", 1}, {"dword ptr", 4}, {"xmmword ptr", 16}, {"ymmword ptr", 32},
		{"zmmword ptr", 64}, {"qword ptr", 8}, {"word ptr", 2}, {"tbyte ptr", 10}, {"mmword ptr", 8},
		{"oword ptr", 16}};

	if (piece_begins(i->mnemonic, "cmpxchg16b")) {
		return 16;
	}
	if (piece_begins(i->mnemonic, "cmpxchg8b")) {
		return 8;
	}
	NVW_FOR(k, i->operands) {
		const unsigned bytes = register_bytes(i->operand[k]);

		if (bytes > 0 && !cc_is_memory(i, i->operand[k]) && !is_distance(i, k)) {
			return bytes;
		}
		NVW_EACH(word, words, i->intel * NVW_COUNT(words)) {
			if (piece_begins(i->operand[k], word->name)) {
				return word->bytes;
			}
		}
	}
	if (piece_is(i->mnemonic, "sub")) {
		return 4;
	}
	return NVW_OR(suffix_bytes(i->mnemonic), 4);
}

/* Instructions on vectors have the names of their older forms, with a v before them. */
static struct piece without_v(struct piece mnemonic)
{
	return piece_rest(mnemonic, piece_begins(mnemonic, "v"));
}

unsigned cc_streamed_bytes(const struct instruction *i, bool *ret_by_rdi)
{
	static const char *const by_operand[] = {"movntdq", "movntps", "movntpd", NULL};
	static const struct {
		const char *name;
		unsigned bytes;
	} own[] = {{"maskmovdqu", 16}, {"maskmovq", 8}, {"movntss", 4}, {"movntq", 8}, {"movntsd", 8}};
	const struct piece m = without_v(i->mnemonic);

	*ret_by_rdi = piece_begins(m, "maskmov");
	NVW_EACH_IN(stream, own) {
		if (piece_is(m, stream->name)) {
			return stream->bytes;
		}
	}
	if (piece_begins(m, "movnti") || piece_begins(m, "movdiri") || piece_is_any(m, by_operand)) {
		return cc_bytes_of(i);
	}
	return 0;
}

unsigned cc_flush_of(const struct instruction *i)
{
	static const char *const flushes[] = {"clwb", "clflushopt", NULL};
	/* With 0x66 before them these are clwb and clflushopt, as old assemblers need it. */
	static const char *const widened[] = {"xsaveopt", "clflush", NULL};

	if (piece_is_any(i->mnemonic, flushes) || (i->wide && piece_is_any(i->mnemonic, widened))) {
		return NVWAVE_CC_FLUSH;
	}
	if (piece_is(i->mnemonic, "clflush")) {
		return NVWAVE_CC_FLUSH_ORDERED;
	}
	return 0;
}

/* With a size of their own. */
static const struct {
	const char *name;
	unsigned bytes;
} sized_stores[] = {
	{"movq", 8}, /* of a vector's register, too */
	{"movw", 2}, /* of a vector's register: vmovw */
	{"movsh", 2},
	{"cmpxchg8b", 8},
	{"cmpxchg16b", 16},
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
	{"fists", 2},
	{"fistpll", 8},
	{"fistps", 2},
	{"fisttpll", 8},
	{"fisttps", 2},
	{"fbstp", 10},
	{"fstcw", 2},
	{"fnstcw", 2},
	{"fstsw", 2},
	{"fnstsw", 2},
	{"stmxcsr", 4},
	{"kmovb", 1},
	{"kmovw", 2},
	{"kmovd", 4},
	{"kmovq", 8},
};

/* With the size from an operand or a suffix; of the last five, in Intel's syntax, from a keyword. */
static const char *const plain_stores[] = {"mov", "add", "adc", "sub", "sbb", "and", "or", "xor", "inc",
	"dec", "neg", "not", "shl", "sal", "shr", "sar", "rol", "ror", "rcl", "rcr", "bts", "btr", "btc",
	"movbe", "xadd", "cmpxchg", "shld", "shrd", "fst", "fstp", "fist", "fistp", "fisttp"};

static bool is_plain(struct piece mnemonic)
{
	NVW_EACH_IN(name, plain_stores) {
		const size_t n = strlen(*name);
		const bool suffix = mnemonic.n == n + 1 && strchr("bwlqBWLQ", mnemonic.at[n]) != NULL;

		if (piece_begins(mnemonic, *name) && (mnemonic.n == n || suffix)) {
			return true;
		}
	}
	return false;
}

/* Vector stores of at most the register's size: masked, compressed, partial, converted. */
static const char *const partial_stores[] = {
	"maskmov", "pmaskmov", "compress", "pcompress", "pmov", "extract", "cvtps2ph", NULL};

unsigned cc_plain_bytes(const struct instruction *i, struct piece to)
{
	NVW_INVARIANT(i->mnemonic.n > 0);

	const struct piece m = i->mnemonic, bare = without_v(m);

	if (!cc_is_memory(i, to)) {
		return 0;
	}
	if (piece_begins(m, "set")) {
		return 1;
	}
	NVW_EACH_IN(store, sized_stores) {
		if (piece_is(bare, store->name)) {
			const unsigned wide = cc_bytes_of(i);

			return (store->bytes == 16 || store->bytes == 64) && wide >= 16 ? wide : store->bytes;
		}
	}
	if (is_plain(m) || piece_begins_any(bare, partial_stores)) {
		return cc_bytes_of(i);
	}
	return 0;
}

unsigned cc_string_bytes(const struct instruction *i)
{
	const struct piece m = i->mnemonic;
	const bool moves = piece_begins(m, "movs"), inputs = piece_begins(m, "ins");
	const size_t stem = 4 - inputs;
	const bool bare = m.n == stem && i->operands > 0; /* the operands have the size */

	if ((!moves && !inputs && !piece_begins(m, "stos")) || (!bare && m.n != stem + 1)) {
		return 0;
	}
	NVW_FOR(k, i->operands) {
		if (moves && register_bytes(i->operand[k]) > 0) {
			return 0; /* movsd of a vector, movsb of an extension */
		}
	}
	if (bare) {
		return cc_bytes_of(i);
	}
	return suffix_bytes(m);
}

bool cc_is_unwatchable(const struct instruction *i)
{
	static const char *const names[] = {"syscall", "sysenter", "vscatter", "vpscatter", "xsave", "fxsave",
		"fsave", "fnsave", "fstenv", "fnstenv", "movdir64b", "enqcmd", "clzero", "aadd", "aand",
		"aor", "axor", "tilestore", NULL};

	return piece_begins_any(i->mnemonic, names) ||
	       (piece_begins(i->mnemonic, "cmp") && piece_find(i->mnemonic, "xadd") != NULL) ||
	       piece_is(i->mnemonic, "int") ||
	       piece_is(i->mnemonic, "std") || /* then string instructions go downwards */
	       (piece_begins(i->mnemonic, "pop") && i->operands == 1 && cc_is_memory(i, i->operand[0]) &&
		       !piece_begins(i->mnemonic, "popcnt"));
}
