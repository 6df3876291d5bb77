/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that access memory. See access.h. Only what compilers and C libraries emit often is decoded. A
 * size that is too large is harmless: a word is taken for read that is not. One that is too small would hide
 * a read, so a size is given only where the operand's width is certain.
 */
#include <cpuid.h>
#include <string.h>
#include <sys/param.h>

#include "core/each.h"

#include "access.h"

/* An instruction, as far as it is decoded. */
struct instruction {
	const uint8_t *next;
	uint8_t rex;            /* its bits W, R, X, B, also of VEX */
	uint8_t pp;             /* 0: none, 1: 66, 2: F3, 3: F2 */
	uint8_t map;            /* 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A */
	uint8_t code;           /* the operation */
	uint8_t mod, field, rm; /* of ModRM */
	unsigned vector;        /* bytes of a vector; 0: neither VEX nor EVEX */
	uint8_t mask;           /* the register that chooses its elements; 0: none does */
	uint8_t base, index;    /* registers of the address; NO_REGISTER: none */
	bool evex, odd;
};

enum { W = 8, R = 4, X = 2, B = 1 };
enum { NO_REGISTER = 16, RAX = 0, RDX = 2, RSP = 4 };
enum { NONE = 0, P66 = 1, F3 = 2, F2 = 3 };

/* The bytes are those behind the first of VEX and EVEX, which have X and B inverted. */
static uint8_t rex_of(uint8_t a, uint8_t b)
{
	return (uint8_t)((~a >> 5 & (X | B)) | (b >> 4 & W));
}

static void take_vex(struct instruction *i, uint8_t first)
{
	const uint8_t a = *i->next++;

	i->map = 1;
	i->rex = 0;
	if (first == 0xC5) {
		i->pp = a & 3;
		i->vector = a & 4 ? 32 : 16;
		return;
	}
	const uint8_t b = *i->next++;

	i->map = a & 31;
	i->rex = rex_of(a, b);
	i->pp = b & 3;
	i->vector = b & 4 ? 32 : 16;
	i->odd = i->map < 1 || i->map > 3;
}

/* Broadcasts are odd. */
static void take_evex(struct instruction *i)
{
	const uint8_t a = i->next[0], b = i->next[1], c = i->next[2];

	i->next += 3;
	i->map = a & 7;
	i->rex = rex_of(a, b);
	i->pp = b & 3;
	i->vector = 16u << (c >> 5 & 3);
	i->mask = c & 7;
	i->evex = true;
	i->odd = i->map < 1 || i->map > 3 || i->vector > 64 || (c & 0x10) != 0;
}

static void take_prefixes(struct instruction *i)
{
	for (;; i->next++) {
		const uint8_t byte = *i->next;

		if (byte == 0x66) {
			i->pp = i->pp == NONE ? P66 : i->pp;
		} else if (byte == 0xF2 || byte == 0xF3) {
			i->pp = byte == 0xF2 ? F2 : F3;
		} else if (byte == 0x64 || byte == 0x65 || byte == 0x67) {
			i->odd = true;
		} else if (byte != 0xF0 && byte != 0x2E && byte != 0x36 && byte != 0x3E && byte != 0x26) {
			return;
		}
	}
}

/* Up to the operation. */
static void take_operation(struct instruction *i)
{
	take_prefixes(i);
	if ((*i->next & 0xF0) == 0x40) {
		i->rex = *i->next++ & 15;
	}
	const uint8_t first = *i->next++;

	if (first == 0xC4 || first == 0xC5) {
		take_vex(i, first);
	} else if (first == 0x62) {
		take_evex(i);
	} else if (first == 0x0F) {
		i->map = 1;
		if (*i->next == 0x38 || *i->next == 0x3A) {
			i->map = *i->next++ == 0x38 ? 2 : 3;
		}
	} else {
		i->code = first;
		return;
	}
	i->code = *i->next++;
}

int ct_register_of(unsigned number)
{
	static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI,
		REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

	return registers[number & 15];
}

/* 0 of NO_REGISTER. */
static uint64_t value_of(const ucontext_t *c, unsigned number)
{
	return number < NO_REGISTER ? (uint64_t)c->uc_mcontext.gregs[ct_register_of(number)] : 0;
}

static int32_t long_at(const uint8_t *at)
{
	return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
			 (uint32_t)at[3] << 24);
}

/* The address of the operand in memory. Data beside the code is odd, and so is an EVEX displacement of a byte
 * whose scale is not the vector. */
static uint64_t take_address(struct instruction *i, const ucontext_t *c)
{
	const uint8_t modrm = *i->next++;
	uint64_t at = 0;
	unsigned scale = 0;

	i->mod = modrm >> 6;
	i->field = modrm >> 3 & 7;
	i->rm = modrm & 7;
	if (i->mod == 3 || (i->mod == 0 && i->rm == 5)) {
		i->odd = true;
		return 0;
	}
	uint8_t base = i->rm;

	i->index = NO_REGISTER;
	if (i->rm == 4) {
		const uint8_t sib = *i->next++;

		base = sib & 7;
		scale = sib >> 6;
		i->index = (uint8_t)((sib >> 3 & 7) | (i->rex & X ? 8 : 0));
		i->index = i->index == RSP ? NO_REGISTER : i->index;
	}
	i->base = (uint8_t)(base | (i->rex & B ? 8 : 0));
	if (i->rm == 4 && i->mod == 0 && base == 5) {
		i->base = NO_REGISTER;
	}
	at = value_of(c, i->base) + (value_of(c, i->index) << scale);
	if (i->mod == 1) {
		at += (uint64_t)((int64_t)(int8_t)*i->next * (i->evex ? (int)i->vector : 1));
		i->next++;
	} else if (i->mod == 2 || i->base == NO_REGISTER) {
		at += (uint64_t)(int64_t)long_at(i->next);
		i->next += 4;
	}
	return at;
}

/* ---- Widths -------------------------------------------------------------------------------------------- */

static unsigned width_of_integer(const struct instruction *i)
{
	if (i->rex & W) {
		return 8;
	}
	return i->pp == P66 ? 2 : 4;
}

/* The operation's lowest bit tells bytes from words. */
static unsigned width_by_bit(const struct instruction *i)
{
	return i->code & 1 ? width_of_integer(i) : 1;
}

static unsigned width_of_float(const struct instruction *i)
{
	if (i->pp == F3) {
		return 4;
	}
	if (i->pp == F2) {
		return 8;
	}
	return i->vector ? i->vector : 16;
}

/* Operations of one byte; 0: odd. */
static unsigned width_of_plain(const struct instruction *i, bool *ret_writes)
{
	const uint8_t code = i->code;

	if (code < 0x40 && (code & 7) <= 3) {
		return width_by_bit(i);
	}
	switch (code) {
	case 0x63:
		return 4;
	case 0x88:
	case 0x89:
	case 0xC6:
	case 0xC7:
		*ret_writes = i->field == 0 || code < 0xC0;
		return *ret_writes ? width_by_bit(i) : 0;
	case 0x69:
	case 0x6B:
	case 0x83:
		return width_of_integer(i);
	case 0x80:
	case 0x81:
	case 0x84:
	case 0x85:
	case 0x86:
	case 0x87:
	case 0x8A:
	case 0x8B:
	case 0xC0:
	case 0xC1:
	case 0xD0:
	case 0xD1:
	case 0xD2:
	case 0xD3:
	case 0xF6:
	case 0xF7:
		return width_by_bit(i);
	case 0xFE:
	case 0xFF:
		if (i->field <= 1) {
			return width_by_bit(i);
		}
		return code == 0xFF && (i->field == 2 || i->field == 4 || i->field == 6) ? 8 : 0;
	default:
		return 0;
	}
}

/* Moves of vectors and numbers behind 0F; 0: none of them. */
static unsigned width_of_move(const struct instruction *i, bool *ret_writes)
{
	const unsigned whole = i->vector ? i->vector : 16;

	switch (i->code) {
	case 0x11:
		*ret_writes = true;
		return width_of_float(i);
	case 0x10:
		return width_of_float(i);
	case 0x12:
	case 0x16:
		return i->pp >= F3 ? whole : 8;
	case 0x13:
	case 0x17:
		*ret_writes = true;
		return 8;
	case 0x29:
	case 0x2B:
	case 0xE7:
		*ret_writes = true;
		return i->code == 0xE7 && i->pp != P66 ? 8 : whole;
	case 0x6E:
		return i->rex & W ? 8 : 4;
	case 0x7E:
		*ret_writes = i->pp != F3;
		return i->pp == F3 || i->rex & W ? 8 : 4;
	case 0x7F:
		*ret_writes = true;
		return i->pp == NONE ? 8 : whole;
	case 0xD6:
		*ret_writes = true;
		return i->pp == P66 ? 8 : 0;
	default:
		return 0;
	}
}

/* Integer operations behind 0F; 0: none of them. */
static unsigned width_of_second(const struct instruction *i, bool *ret_writes)
{
	const uint8_t code = i->code;

	if (code >= 0x40 && code < 0x50) {
		return width_of_integer(i);
	}
	if (code >= 0x90 && code < 0xA0) {
		*ret_writes = true;
		return 1;
	}
	switch (code) {
	case 0xA4:
	case 0xA5:
	case 0xAC:
	case 0xAD:
	case 0xAF:
	case 0xB8:
	case 0xBA:
	case 0xBC:
	case 0xBD:
		return width_of_integer(i);
	case 0xB0:
	case 0xB1:
	case 0xC0:
	case 0xC1:
		return width_by_bit(i);
	case 0xB6:
	case 0xBE:
		return 1;
	case 0xB7:
	case 0xBF:
		return 2;
	case 0xC3:
		*ret_writes = true;
		return i->rex & W ? 8 : 4;
	case 0xC7: /* cmpxchg8b, cmpxchg16b */
		if (i->field != 1) {
			return 0;
		}
		return i->rex & W ? 16 : 8;
	default:
		return 0;
	}
}

/* Vectors behind 0F that are read, none of them a move. */
static unsigned width_of_vector(const struct instruction *i)
{
	const uint8_t code = i->code;
	const unsigned whole = i->vector ? i->vector : 16;

	if (code == 0x28 || code == 0x14 || code == 0x15 || code == 0x2E || code == 0x2F || code == 0x2C ||
		code == 0x2D || code == 0xC2 || code == 0xC4 || code == 0xC6) {
		return whole;
	}
	if (code == 0x51 || (code >= 0x54 && code <= 0x70) || (code >= 0x74 && code <= 0x76)) {
		return whole;
	}
	return code >= 0xD1 && code != 0xD7 && code != 0xF7 && code != 0xFF ? whole : 0;
}

enum { LEGACY = 1, VEX = 2 };

/* Operations behind 0F 38 and 0F 3A. */
static const struct range {
	uint8_t map, forms, first, last, bytes; /* 0: of a vector */
} ranges[] = {
	{3, LEGACY | VEX, 0x00, 0x0F, 0},
	{3, LEGACY | VEX, 0x60, 0x63, 0},
	{3, VEX, 0x1E, 0x1F, 0},
	{3, VEX, 0x25, 0x25, 0},
	{3, VEX, 0x3E, 0x3F, 0},
	{2, LEGACY | VEX, 0x00, 0x0B, 0},
	{2, LEGACY | VEX, 0x17, 0x17, 0},
	{2, LEGACY, 0x1C, 0x25, 0},
	{2, LEGACY, 0x28, 0x2B, 0},
	{2, LEGACY, 0x30, 0x41, 0},
	{2, LEGACY, 0xF0, 0xF1, 8},
	{2, LEGACY, 0xF6, 0xF6, 8},
	{2, VEX, 0x18, 0x2A, 0},
	{2, VEX, 0x30, 0x41, 0},
	{2, VEX, 0x58, 0x5A, 0},
	{2, VEX, 0x78, 0x79, 0},
	{2, VEX, 0xF2, 0xF7, 8},
};

/* 0: odd. */
static unsigned width_of_long(const struct instruction *i)
{
	const unsigned whole = i->vector ? i->vector : 16;
	const uint8_t code = i->code;

	NVW_EACH_IN(r, ranges) {
		const uint8_t form = i->vector ? VEX : LEGACY;

		if (r->map == i->map && (r->forms & form) && code >= r->first && code <= r->last) {
			return r->bytes ? r->bytes : whole;
		}
	}
	return 0;
}

/* clflush, clflushopt, clwb. */
static bool is_flush(const struct instruction *i)
{
	return i->map == 1 && i->vector == 0 && i->code == 0xAE &&
	       ((i->field == 7 && i->pp <= P66) || (i->field == 6 && i->pp == P66));
}

/* Those of EVEX whose displacement has the scale of the vector, and whose operand is one. */
static bool is_whole_vector(const struct instruction *i)
{
	const uint8_t code = i->code;

	if (i->map == 3) {
		return code == 0x1E || code == 0x1F || code == 0x25 || code == 0x3E || code == 0x3F;
	}
	if (i->map == 2) {
		return code == 0x3B;
	}
	return code == 0x6F || code == 0x7F || code == 0xDA || code == 0xE7 || code == 0xEF ||
	       (code >= 0x74 && code <= 0x76) ||
	       ((code == 0x10 || code == 0x11 || code == 0x28 || code == 0x29) && i->pp <= P66);
}

static unsigned width_of(const struct instruction *i, bool *ret_writes)
{
	if (i->evex && !is_whole_vector(i)) {
		return 0;
	}
	if (i->map == 0) {
		return width_of_plain(i, ret_writes);
	}
	if (i->map >= 2) {
		return width_of_long(i);
	}
	unsigned n = width_of_move(i, ret_writes);

	if (n == 0 && i->vector == 0) {
		n = width_of_second(i, ret_writes);
	}
	return n == 0 ? width_of_vector(i) : n;
}

/* ---- Masks --------------------------------------------------------------------------------------------- */

enum { XSAVE_HEADER = 512, XSAVE_MASKS = 5 /* its component, in bits of the header and leaves of cpuid */ };

/* The mask's register, as the signal has saved it. */
static uint64_t mask_of(const struct instruction *i, const ucontext_t *c)
{
	const uint8_t *const saved = (const uint8_t *)c->uc_mcontext.fpregs;
	unsigned size, offset, flags, none;
	uint64_t components, mask;

	memcpy(&components, saved + XSAVE_HEADER, sizeof components);
	if (!(components & 1 << XSAVE_MASKS)) {
		return 0;
	}
	__cpuid_count(13, XSAVE_MASKS, size, offset, flags, none);
	memcpy(&mask, saved + offset + sizeof mask * i->mask, sizeof mask);
	return mask;
}

/* Bytes of an element: too many for some instructions on bytes or words, which is harmless. */
static unsigned element_of(const struct instruction *i)
{
	const bool is_small = i->pp == F2 || (i->map == 3 && i->code >= 0x3E);
	const unsigned bytes = is_small ? 1 : 4;

	return i->rex & W ? 2 * bytes : bytes;
}

/* Up to the last element that the mask chooses. Others below it count as read; a store to some of them is
 * odd. */
static void take_mask(const struct instruction *i, const ucontext_t *c, struct ct_access *a)
{
	const uint64_t mask = mask_of(i, c);
	const unsigned elements = mask ? 64 - (unsigned)__builtin_clzll(mask) : 0;

	a->bytes = MIN(a->bytes, elements * element_of(i));
	a->odd = a->odd || a->writes || a->bytes == 0;
}

/* ---- Copies -------------------------------------------------------------------------------------------- */

/* Or divides: by rax and rdx. */
static bool multiplies(const struct instruction *i)
{
	return i->map == 0 && i->code == 0xF7 && i->field >= 4;
}

/* Bytes behind the address of an operation of one byte that is copied; -1: it is not. */
static int immediate_of_plain(const struct instruction *i)
{
	const int whole = i->pp == P66 && !(i->rex & W) ? 2 : 4;

	if (i->pp > P66) {
		return -1;
	}
	if (i->code < 0x40 && (i->code & 7) <= 3) {
		return 0;
	}
	switch (i->code) {
	case 0x63:
	case 0x84:
	case 0x85:
	case 0x88:
	case 0x89:
	case 0x8A:
	case 0x8B:
		return 0;
	case 0x80:
	case 0x83:
	case 0xC6:
		return 1;
	case 0x81:
	case 0xC7:
		return whole;
	case 0xF6:
		return i->field == 0 ? 1 : -1;
	case 0xF7:
		if (multiplies(i)) {
			return i->base != RAX && i->base != RDX ? 0 : -1;
		}
		return i->field == 0 ? whole : -1;
	default:
		return -1;
	}
}

static bool is_extension(const struct instruction *i)
{
	return i->map == 1 && (i->code == 0xB6 || i->code == 0xB7 || i->code == 0xBE || i->code == 0xBF);
}

/* Its other operand is a register of vectors. */
static bool is_of_vectors(const struct instruction *i)
{
	bool writes;

	return i->map == 1 &&
	       (width_of_move(i, &writes) != 0 || (i->code >= 0x74 && i->code <= 0x76) || i->code == 0x28 ||
		       i->code == 0x6F || i->code == 0xDA || i->code == 0xEB || i->code == 0xEF);
}

/* Whether the other operand is in the register of the address, too. */
static bool meets_base(const struct instruction *i)
{
	const unsigned other = i->field | (i->rex & R ? 8u : 0);
	const bool is_immediate = i->map == 0 && i->code >= 0x80 && i->code != 0x84 && i->code != 0x85 &&
				  (i->code < 0x88 || i->code > 0x8B);

	if (is_immediate || is_flush(i) || is_of_vectors(i)) {
		return false;
	}
	/* Without REX, 4 to 7 are the second bytes of 0 to 3. */
	const bool is_byte = i->map == 0 && (i->code & 1) == 0;

	return other == i->base || (is_byte && other >= 4 && other < 8 && other - 4 == i->base);
}

/* Whether it loads all of the register of the address. */
static bool loads_base(const struct instruction *i)
{
	const unsigned other = i->field | (i->rex & R ? 8u : 0);
	const bool is_load =
		(i->map == 0 && (i->code == 0x8B || (i->code == 0x63 && i->rex & W))) || is_extension(i);

	return is_load && other == i->base && i->pp == NONE;
}

/* Whether a copy of it can have another base. */
static void note_copy(const struct instruction *i, const uint8_t *begin, struct ct_access *a)
{
	const bool is_product = i->map == 1 && i->code == 0xAF && i->vector == 0;
	int immediate = is_product || is_extension(i) || is_flush(i) || is_of_vectors(i) ? 0 : -1;

	if (i->map == 0 && i->vector == 0) {
		immediate = immediate_of_plain(i);
	}
	a->base = i->base;
	a->loads_base = loads_base(i);
	a->movable = immediate >= 0 && i->base != NO_REGISTER && i->base != RSP && i->index != i->base &&
		     (a->loads_base || !meets_base(i));
	a->length = (uint8_t)(i->next - begin + immediate);
}

struct ct_access ct_access_of(const ucontext_t *c)
{
	const uint8_t *const begin = (const uint8_t *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
	struct instruction i = {.next = begin};
	struct ct_access a = {0};

	take_operation(&i);
	if (!i.odd) {
		a.at = take_address(&i, c);
	}
	if (i.odd) {
		return (struct ct_access){.odd = true};
	}
	note_copy(&i, begin, &a);
	if (is_flush(&i)) {
		return a;
	}
	a.bytes = width_of(&i, &a.writes);
	a.odd = a.bytes == 0;
	if (i.mask) {
		take_mask(&i, c, &a);
	}
	return a;
}
