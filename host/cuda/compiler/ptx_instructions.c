/* SPDX-License-Identifier: BSD-3-Clause */
/* The instructions of inline PTX: a table of them, and what each kind becomes. */

#include "../include/nvw_cuda_atomics.h"
#include "../include/nvw_cuda_warp.h"
#include "../runtime/ptx.h"
#include "ptx.h"

/* ---- Words */

static const char types[] = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 - - f32 f64 pred";
static const char *const words[KINDS] = {
	[TYPE] = types,
	[FROM] = types,
	[ORDER] = "relaxed acquire release acq_rel", /* of the runtime's atomics */
	[SCOPE] = "- cta gpu sys",                   /* enum nvw_cuda_scope */
	[LEVEL] = "- cta gl sys gpu",
	[STRENGTH] = "sc acq_rel",
	[ATOMIC] = "- - - - - exch add - and or min max - - xor inc dec - cas", /* enum nvw_cuda_operation */
	[COMPARISON] = "eq ne lt le gt ge lo ls hi hs",                         /* enum ptx_comparison */
	[ROUNDING] = "rn rz rni rzi",
	[VECTOR] = "v2 v4",
	[VOLATILE] = "volatile cg cv wt", /* past the L1s */
	[IGNORED_MEMORY] = "weak global shared local const param ca cs lu wb nc L1::* L2::*",
	[IGNORED_PRECISION] = "rn ftz approx full uni",
};
#define W(kind) (1u << (kind))

enum { ACQUIRE = 1, RELEASE = 2 };
enum lane_values { OF_PREDICATES, OF_32_BITS, OF_64_BITS };
enum barrier_kind { SYNC, POPC, AND, OR };

static unsigned type_of(const struct ptx_instruction *i, enum ptx_words kind)
{
	return (unsigned)i->word[kind] & 15; /* a predicate is a byte */
}

static bool has(const struct ptx_instruction *i, enum ptx_words kind)
{
	return i->word[kind] >= 0;
}

static unsigned word_or(const struct ptx_instruction *i, enum ptx_words kind, unsigned otherwise)
{
	if (!has(i, kind)) {
		return otherwise;
	}
	return (unsigned)i->word[kind];
}

static void refuse(struct ptx *p, const struct ptx_instruction *i)
{
	ptx_refuse(p, "nvwave does not support %s", i->mnemonic);
}

static LLVMValueRef add(struct ptx *p, LLVMValueRef a, uint64_t n)
{
	return LLVMBuildAdd(p->d->builder, a, ptx_number(p, n), "");
}

/* "{a, b}", or one. Returns how many. */
static unsigned elements(char *text, char **list)
{
	unsigned n = 0;

	if (*text == '{') {
		text[strlen(text) - 1] = '\0';
		text++;
	}
	for (char *one; n < OPERANDS_MAX && (one = strsep(&text, ",")) != NULL;) {
		list[n++] = ptx_trimmed(one);
	}
	return n;
}

/* ---- Memory */

static uint64_t what_of(unsigned operation, unsigned type, unsigned scope, unsigned order)
{
	NVW_INVARIANT(operation < 256 && type < 256 && scope < 256);
	return operation + 256 * type + 65536 * scope + 16777216 * order;
}

static LLVMValueRef ask_atomic(
	struct ptx *p, uint64_t what, LLVMValueRef at, LLVMValueRef value, LLVMValueRef compare)
{
	NVW_INVARIANT(LLVMTypeOf(at) == p->d->i64);
	return ptx_ask(p, "nvw_ptx_atomic", 5, ptx_number(p, what), at, value, compare, ptx_condition(p));
}

static void load_element(struct ptx *p, const struct ptx_instruction *i, LLVMValueRef at, const char *to)
{
	const unsigned type = type_of(i, TYPE);
	LLVMValueRef value, none = ptx_number(p, 0);

	if (has(i, ORDER)) {
		value = ask_atomic(p,
			what_of(NVW_CUDA_LOAD, type, (unsigned)i->word[SCOPE], (unsigned)i->word[ORDER]), at,
			none, none);
	} else {
		value = ptx_ask(p, "nvw_ptx_load", 4, at, ptx_number(p, type),
			ptx_number(p, has(i, VOLATILE)), ptx_condition(p));
	}
	ptx_set(p, to, value);
}

static void store_element(struct ptx *p, const struct ptx_instruction *i, LLVMValueRef at, const char *from)
{
	const unsigned type = type_of(i, TYPE);
	LLVMValueRef value = ptx_value(p, from);

	if (has(i, ORDER)) {
		ask_atomic(p,
			what_of(NVW_CUDA_STORE, type, (unsigned)i->word[SCOPE], (unsigned)i->word[ORDER]), at,
			value, ptx_number(p, 0));
	} else {
		ptx_ask(p, "nvw_ptx_store", 5, at, ptx_number(p, type), ptx_number(p, has(i, VOLATILE)),
			value, ptx_condition(p));
	}
}

/* The rule's number: it is a load. */
static void access(struct ptx *p, struct ptx_instruction *i)
{
	const bool is_load = i->rule->number;
	const int forbidden = is_load ? RELEASE : ACQUIRE;
	char *list[OPERANDS_MAX];

	NVW_INVARIANT(i->operands == 2);
	if (has(i, ORDER) != has(i, SCOPE) || i->word[ORDER] == forbidden) {
		refuse(p, i);
		return;
	}
	const unsigned n = elements(i->operand[!is_load], list);
	LLVMValueRef at = ptx_address(p, i->operand[is_load]);

	NVW_FOR(e, n) {
		LLVMValueRef piece = add(p, at, e * PTX_BYTES(type_of(i, TYPE)));

		(is_load ? load_element : store_element)(p, i, piece, list[e]);
	}
}

/* atom d, [a], b; atom.cas d, [a], compare, value; red has no d, first is 0 of it */
static void atomic(struct ptx *p, struct ptx_instruction *i)
{
	const unsigned first = i->rule->number, operation = (unsigned)i->word[ATOMIC];
	const bool is_cas = operation == NVW_CUDA_CAS;

	if (i->operands != first + 2 + is_cas) {
		refuse(p, i);
		return;
	}
	LLVMValueRef compare = ptx_number(p, 0);

	if (is_cas) {
		compare = ptx_value(p, i->operand[first + 1]);
	}
	LLVMValueRef value = ptx_value(p, i->operand[first + 1 + is_cas]);
	LLVMValueRef result = ask_atomic(p,
		what_of(operation, type_of(i, TYPE), word_or(i, SCOPE, NVW_CUDA_DEVICE),
			word_or(i, ORDER, 0)),
		ptx_address(p, i->operand[first]), value, compare);

	if (first) {
		ptx_set(p, i->operand[0], result);
	}
}

static void fence(struct ptx *p, struct ptx_instruction *i)
{
	const unsigned level = word_or(i, LEVEL, 0);
	unsigned scope = NVW_CUDA_DEVICE;

	if (level != 4) {
		scope = word_or(i, SCOPE, level);
	}
	ptx_ask(p, "nvw_ptx_fence", 3, ptx_number(p, scope), ptx_number(p, i->word[STRENGTH] == 1),
		ptx_condition(p));
}

/* ---- Registers */

static LLVMValueRef lowest_bits(struct ptx *p, LLVMValueRef value, unsigned bits)
{
	return LLVMBuildAnd(p->d->builder, value, ptx_number(p, (UINT64_C(1) << bits) - 1), "");
}

/* d, a; d, a, b; d, a, b, c; d, a, b, c, e: the last two in one. */
static void compute_what(struct ptx *p, struct ptx_instruction *i, uint64_t what)
{
	LLVMValueRef source[4];

	NVW_FOR(s, 4u) {
		source[s] = ptx_number(p, 0);
		if (s + 1 < i->operands) {
			source[s] = ptx_value(p, i->operand[s + 1]);
		}
	}
	if (i->operands == 5) {
		LLVMValueRef high = LLVMBuildShl(p->d->builder, source[3], ptx_number(p, 32), "");

		source[2] = LLVMBuildOr(p->d->builder, high, lowest_bits(p, source[2], 32), "");
	}
	ptx_set(p, i->operand[0],
		ptx_ask(p, "nvw_ptx_compute", 4, ptx_number(p, what), source[0], source[1], source[2]));
}

static void compute(struct ptx *p, struct ptx_instruction *i)
{
	compute_what(p, i, i->rule->number + 256 * type_of(i, TYPE));
}

static void compare(struct ptx *p, struct ptx_instruction *i)
{
	compute_what(p, i, PTX_SETP + 256 * type_of(i, TYPE) + 65536 * (unsigned)i->word[COMPARISON]);
}

/* From a floating number to an integer towards zero alone, otherwise to the nearest. */
static void convert(struct ptx *p, struct ptx_instruction *i)
{
	enum { RN, RZ, RNI, RZI };
	const unsigned to = type_of(i, TYPE), from = type_of(i, FROM);
	const bool is_cut = PTX_KIND(from) == PTX_FLOAT && PTX_KIND(to) != PTX_FLOAT;

	if (i->word[ROUNDING] == RZ || i->word[ROUNDING] == RNI || (is_cut && i->word[ROUNDING] != RZI)) {
		refuse(p, i);
		return;
	}
	compute_what(p, i, PTX_CVT + 256 * to + 65536 * from);
}

/* mov.b64 d, {low, high} */
static void pack(struct ptx *p, struct ptx_instruction *i, unsigned bits)
{
	LLVMValueRef whole = ptx_number(p, 0);
	char *list[OPERANDS_MAX];
	const unsigned n = elements(i->operand[1], list);

	NVW_FOR(e, n) {
		LLVMValueRef part = lowest_bits(p, ptx_value(p, list[e]), bits / n);

		part = LLVMBuildShl(p->d->builder, part, ptx_number(p, bits / n * e), "");
		whole = LLVMBuildOr(p->d->builder, whole, part, "");
	}
	ptx_set(p, i->operand[0], whole);
}

/* mov.b64 {low, high}, a */
static void unpack(struct ptx *p, struct ptx_instruction *i, unsigned bits)
{
	LLVMValueRef whole = ptx_value(p, i->operand[1]);
	char *list[OPERANDS_MAX];
	const unsigned n = elements(i->operand[0], list);

	NVW_FOR(e, n) {
		LLVMValueRef part = LLVMBuildLShr(p->d->builder, whole, ptx_number(p, bits / n * e), "");

		ptx_set(p, list[e], lowest_bits(p, part, bits / n));
	}
}

static void move(struct ptx *p, struct ptx_instruction *i)
{
	const unsigned bits = 8 * PTX_BYTES(type_of(i, TYPE));

	if (strchr(i->operand[0], ',')) {
		unpack(p, i, bits);
	} else if (strchr(i->operand[1], ',')) {
		pack(p, i, bits);
	} else {
		compute(p, i);
	}
}

static void to_generic(struct ptx *p, struct ptx_instruction *i)
{
	ptx_set(p, i->operand[0], ptx_value(p, i->operand[1])); /* addresses are */
}

/* ---- Lanes */

/* An operand that may be "!p". */
static LLVMValueRef predicate(struct ptx *p, char *operand)
{
	const bool is_negated = *operand == '!';
	LLVMValueRef value = ptx_value(p, ptx_trimmed(operand + is_negated));

	return ptx_negated(p, value, is_negated);
}

static LLVMValueRef is_any(struct ptx *p, LLVMValueRef value)
{
	LLVMValueRef bit = LLVMBuildICmp(p->d->builder, LLVMIntNE, value, ptx_number(p, 0), "");

	return LLVMBuildZExt(p->d->builder, bit, p->d->i64, "");
}

/* how: enum lane_values, of a shuffle its mode */
static LLVMValueRef meet(struct ptx *p, unsigned kind, LLVMValueRef mask, LLVMValueRef value,
	LLVMValueRef argument, LLVMValueRef how)
{
	return ptx_ask(
		p, "nvw_ptx_meet", 6, ptx_number(p, kind), mask, value, argument, how, ptx_condition(p));
}

/* "d|p", of which p may be left out. */
static char *second_result(struct ptx_instruction *i)
{
	char *rest = i->operand[0];

	i->operand[0] = ptx_trimmed(strsep(&rest, "|"));
	if (!rest) {
		return "_";
	}
	return ptx_trimmed(rest);
}

static void synchronize_warp(struct ptx *p, struct ptx_instruction *i)
{
	LLVMValueRef none = ptx_number(p, 0);

	meet(p, NVW_CUDA_MEET, ptx_value(p, i->operand[0]), none, none, none);
}

/* bar.sync 0; bar.red.and.pred d, 0, p */
static void barrier(struct ptx *p, struct ptx_instruction *i)
{
	const bool has_result = i->rule->number != SYNC;

	if (i->operands != 1u + 2 * has_result || strcmp(i->operand[has_result], "0") != 0) {
		ptx_refuse(p,
			"nvwave does not support %s of other barriers than 0, or of a part of the block",
			i->mnemonic);
		return;
	}
	LLVMValueRef value = ptx_number(p, 0);

	if (has_result) {
		value = predicate(p, i->operand[2]);
	}
	value = ptx_ask(p, "nvw_ptx_barrier", 3, ptx_number(p, i->rule->number), value, ptx_condition(p));
	if (has_result) {
		ptx_set(p, i->operand[0], value);
	}
}

static void reduce(struct ptx *p, struct ptx_instruction *i)
{
	LLVMValueRef none = ptx_number(p, 0), value = ptx_value(p, i->operand[1]);
	LLVMValueRef mask = ptx_value(p, i->operand[2]);

	ptx_set(p, i->operand[0], meet(p, i->rule->number, mask, value, none, ptx_number(p, OF_32_BITS)));
}

/* d|p, a, mask */
static void match(struct ptx *p, struct ptx_instruction *i)
{
	const char *const found = second_result(i);
	const unsigned how = PTX_BYTES(type_of(i, TYPE)) == 8 ? OF_64_BITS : OF_32_BITS;
	LLVMValueRef value = meet(p, i->rule->number, ptx_value(p, i->operand[2]),
		ptx_value(p, i->operand[1]), ptx_number(p, 0), ptx_number(p, how));

	ptx_set(p, i->operand[0], value);
	ptx_set(p, found, is_any(p, value));
}

/* d|p, a, b, c, mask: the mode is in the upper half of c, which bounds the lanes. */
static void shuffle(struct ptx *p, struct ptx_instruction *i)
{
	const char *const is_within = second_result(i);
	LLVMValueRef mode = LLVMBuildOr(
		p->d->builder, ptx_value(p, i->operand[3]), ptx_number(p, i->rule->number * 65536), "");
	LLVMValueRef from = ptx_value(p, i->operand[2]), mask = ptx_value(p, i->operand[4]);

	ptx_set(p, i->operand[0], meet(p, NVW_CUDA_SHUFFLE, mask, ptx_value(p, i->operand[1]), from, mode));
	if (strcmp(is_within, "_") != 0) {
		ptx_set(p, is_within, ptx_ask(p, "nvw_ptx_is_within", 2, from, mode));
	}
}

static LLVMValueRef active_lanes(struct ptx *p)
{
	return ptx_ask(p, "nvw_ptx_active_mask", 1, ptx_condition(p));
}

/* d, {!}a, mask; without .sync there is no mask, and the active lanes vote. */
static void vote(struct ptx *p, struct ptx_instruction *i)
{
	LLVMValueRef none = ptx_number(p, 0), value = predicate(p, i->operand[1]);
	LLVMValueRef mask;

	if (i->operands == 3) {
		mask = ptx_value(p, i->operand[2]);
	} else {
		mask = active_lanes(p);
	}
	value = meet(p, i->rule->number, mask, value, none, none);
	if (i->rule->number == NVW_CUDA_MATCH_ALL) {
		value = is_any(p, value);
	}
	ptx_set(p, i->operand[0], value);
}

/* ---- Others */

static void active_mask(struct ptx *p, struct ptx_instruction *i)
{
	ptx_set(p, i->operand[0], active_lanes(p));
}

static void sleep_(struct ptx *p, struct ptx_instruction *i)
{
	ptx_ask(p, "nvw_ptx_sleep", 2, ptx_value(p, i->operand[0]), ptx_condition(p));
}

static void trap(struct ptx *p, struct ptx_instruction *i)
{
	ptx_ask(p, "nvw_ptx_trap", 1, ptx_condition(p));
}

static void leave(struct ptx *p, struct ptx_instruction *i)
{
	ptx_ask(p, "nvw_ptx_exit", 1, ptx_condition(p));
}

static void hint(struct ptx *p, struct ptx_instruction *i)
{
}

/* ---- The table */

enum { ANY_WORDS = 1 << 30 };
#define ACCESS     W(TYPE), W(ORDER) | W(SCOPE) | W(VECTOR) | W(VOLATILE) | W(IGNORED_MEMORY)
#define ATOMICALLY W(TYPE) | W(ATOMIC), W(ORDER) | W(SCOPE) | W(IGNORED_MEMORY)
#define NUMERIC    W(TYPE), W(IGNORED_PRECISION)
#define EXACT(name, operands, translate, number)                  \
	{                                                         \
		name, 0, 0, operands, operands, translate, number \
	}

static const struct ptx_rule rules[] = {
	{"ld", ACCESS, 2, 2, access, true},
	{"ldu", ACCESS, 2, 2, access, true},
	{"st", ACCESS, 2, 2, access, false},
	{"atom", ATOMICALLY, 3, 4, atomic, 1},
	{"red", ATOMICALLY, 2, 3, atomic, 0},
	{"fence", W(SCOPE), W(STRENGTH), 0, 0, fence, 0},
	{"membar", W(LEVEL), 0, 0, 0, fence, 0},

#define X(operation, name, operands) {name, NUMERIC, operands, operands, compute, PTX_##operation},
	PTX_OPERATIONS(X)
#undef X
		{"mov", NUMERIC, 2, 2, move, PTX_MOV},
	{"mul", NUMERIC, 3, 3, compute, PTX_MUL_LO},
	{"mad", NUMERIC, 4, 4, compute, PTX_MAD_LO},
	{"setp", W(TYPE) | W(COMPARISON), 0, 3, 3, compare, 0},
	{"cvt", W(TYPE) | W(FROM), W(ROUNDING) | W(IGNORED_PRECISION), 2, 2, convert, 0},
	{"cvta", 0, ANY_WORDS, 2, 2, to_generic, 0},

	{"bar.sync", 0, 0, 0, -1, barrier, SYNC},
	{"bar.red.popc.u32", 0, 0, 0, -1, barrier, POPC},
	{"bar.red.and.pred", 0, 0, 0, -1, barrier, AND},
	{"bar.red.or.pred", 0, 0, 0, -1, barrier, OR},
	EXACT("bar.warp.sync", 1, synchronize_warp, 0),
	EXACT("shfl.sync.idx.b32", 5, shuffle, 0),
	EXACT("shfl.sync.up.b32", 5, shuffle, 1),
	EXACT("shfl.sync.down.b32", 5, shuffle, 2),
	EXACT("shfl.sync.bfly.b32", 5, shuffle, 3),
	EXACT("vote.sync.all.pred", 3, vote, NVW_CUDA_REDUCE_AND),
	EXACT("vote.sync.any.pred", 3, vote, NVW_CUDA_REDUCE_OR),
	EXACT("vote.sync.uni.pred", 3, vote, NVW_CUDA_MATCH_ALL),
	EXACT("vote.sync.ballot.b32", 3, vote, NVW_CUDA_BALLOT),
	EXACT("vote.ballot.sync.b32", 3, vote, NVW_CUDA_BALLOT), /* as cub writes it */
	EXACT("vote.all.pred", 2, vote, NVW_CUDA_REDUCE_AND),
	EXACT("vote.any.pred", 2, vote, NVW_CUDA_REDUCE_OR),
	EXACT("vote.uni.pred", 2, vote, NVW_CUDA_MATCH_ALL),
	EXACT("vote.ballot.b32", 2, vote, NVW_CUDA_BALLOT),
	{"match.any.sync", W(TYPE), 0, 3, 3, match, NVW_CUDA_MATCH_ANY},
	{"match.all.sync", W(TYPE), 0, 3, 3, match, NVW_CUDA_MATCH_ALL},
	EXACT("redux.sync.add.u32", 3, reduce, NVW_CUDA_REDUCE_ADD),
	EXACT("redux.sync.add.s32", 3, reduce, NVW_CUDA_REDUCE_ADD),
	EXACT("redux.sync.min.u32", 3, reduce, NVW_CUDA_REDUCE_MIN),
	EXACT("redux.sync.max.u32", 3, reduce, NVW_CUDA_REDUCE_MAX),
	EXACT("redux.sync.min.s32", 3, reduce, NVW_CUDA_REDUCE_SIGNED_MIN),
	EXACT("redux.sync.max.s32", 3, reduce, NVW_CUDA_REDUCE_SIGNED_MAX),
	EXACT("redux.sync.and.b32", 3, reduce, NVW_CUDA_REDUCE_AND),
	EXACT("redux.sync.or.b32", 3, reduce, NVW_CUDA_REDUCE_OR),
	EXACT("redux.sync.xor.b32", 3, reduce, NVW_CUDA_REDUCE_XOR),
	EXACT("activemask.b32", 1, active_mask, 0),

	EXACT("nanosleep.u32", 1, sleep_, 0),
	EXACT("trap", 0, trap, 0),
	EXACT("exit", 0, leave, 0),
	{"prefetch", 0, ANY_WORDS, 0, -1, hint, 0},
	{"prefetchu", 0, ANY_WORDS, 0, -1, hint, 0},
	{"discard", 0, ANY_WORDS, 0, -1, hint, 0},
	{"pmevent", 0, ANY_WORDS, 0, -1, hint, 0},
};

/* ---- Taking instructions apart */

static void take_out(char *text, const char *part)
{
	char *const at = strstr(text, part);

	if (at) {
		memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
	}
}

/* Spellings of one instruction: bar is barrier, of all threads of a cta, and aligned; so are all here. */
static void shorten(char *name)
{
	take_out(name, ".aligned");
	if (strncmp(name, "bar", 3) == 0) {
		take_out(name, "rier");
		take_out(name, ".cta");
	}
}

/* The longest name that the mnemonic begins with. */
static const struct ptx_rule *rule_of(const char *mnemonic)
{
	const struct ptx_rule *found = NULL;
	size_t longest = 0;

	NVW_FOR(i, NVW_COUNT(rules)) {
		const size_t n = strlen(rules[i].name);

		if (n > longest && strncmp(mnemonic, rules[i].name, n) == 0 &&
			(mnemonic[n] == '.' || mnemonic[n] == '\0')) {
			longest = n;
			found = &rules[i];
		}
	}
	return found;
}

static bool take_word(struct ptx_instruction *i, const char *word)
{
	const unsigned allowed = i->rule->needs | i->rule->takes;

	NVW_INVARIANT(!(i->rule->needs & i->rule->takes)); /* a kind of word is one or the other */
	NVW_FOR(kind, KINDS) {
		const bool is_open =
			kind >= IGNORED_MEMORY || i->word[kind] < 0; /* else it is there already */

		if (allowed & W(kind) && is_open) {
			const int place = ptx_place_in(words[kind], word);

			if (place >= 0) {
				i->word[kind] = place;
				return true;
			}
		}
	}
	return allowed & ANY_WORDS;
}

static bool take_words(struct ptx_instruction *i, char *rest)
{
	char *word;

	NVW_FOR(kind, KINDS) {
		i->word[kind] = -1;
	}
	while ((word = strsep(&rest, ".")) != NULL) {
		if (*word && !take_word(i, word)) {
			return false;
		}
	}
	NVW_FOR(kind, KINDS) {
		if (i->rule->needs & W(kind) && i->word[kind] < 0) {
			return false;
		}
	}
	NVW_INVARIANT(i->operands <= OPERANDS_MAX && i->rule->from <= OPERANDS_MAX);
	return (int)i->operands >= i->rule->from && (i->rule->to < 0 || (int)i->operands <= i->rule->to);
}

/* At commas outside of brackets and braces. */
static bool split_operands(struct ptx_instruction *i, char *text)
{
	int depth = 0;

	i->operands = 0;
	if (*text) {
		i->operand[i->operands++] = text;
	}
	for (; *text; text++) {
		depth += strchr("{[", *text) != NULL;
		depth -= strchr("}]", *text) != NULL;
		if (*text == ',' && depth == 0) {
			*text = '\0';
			if (i->operands == OPERANDS_MAX) {
				return false;
			}
			i->operand[i->operands++] = text + 1;
		}
	}
	NVW_FOR(o, i->operands) {
		i->operand[o] = ptx_trimmed(i->operand[o]);
	}
	return true;
}

void ptx_instruction(struct ptx *p, char *text)
{
	const size_t n = strcspn(text, " ");
	struct ptx_instruction i = {.mnemonic = text};
	char name[128];

	char *const operands = text + n + (text[n] != '\0');

	text[n] = '\0';
	snprintf(name, sizeof name, "%s", text);
	shorten(name);
	i.rule = rule_of(name);
	if (!i.rule || !split_operands(&i, ptx_trimmed(operands)) ||
		!take_words(&i, name + strlen(i.rule->name))) {
		refuse(p, &i);
		return;
	}
	i.rule->translate(p, &i);
}
