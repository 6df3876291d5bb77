/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic of inline PTX (compiler/ptx.c): sources and results in 64 bits, of which those of the type
 * count. */
#include <math.h>

#include "ptx.h"
#include "runtime.h"

/* ---- Floating numbers: 32-bit ones are computed as such ----------------------------------------- */

static double as_double(uint64_t value, unsigned bytes)
{
	float f;
	double d;

	if (bytes == 4) {
		memcpy(&f, &value, 4);
		return (double)f;
	}
	memcpy(&d, &value, 8);
	return d;
}

static uint64_t as_bits(double value, unsigned bytes)
{
	const float f = (float)value;
	uint64_t result = 0;

	if (bytes == 4) {
		memcpy(&result, &f, 4);
	} else {
		memcpy(&result, &value, 8);
	}
	return result;
}

static double fused(double x, double y, double z, unsigned bytes)
{
	if (bytes == 4) {
		return (double)fmaf((float)x, (float)y, (float)z);
	}
	return fma(x, y, z);
}

/* Sums, products, quotients and roots of floats that are computed as doubles and then rounded are those of
 * floats. */
static double of_doubles(enum ptx_operation operation, double x, double y, double z, unsigned bytes)
{
	switch (operation) {
	case PTX_ADD:
		return x + y;
	case PTX_SUB:
		return x - y;
	case PTX_MUL_LO:
		return x * y;
	case PTX_FMA:
	case PTX_MAD_LO:
		return fused(x, y, z, bytes);
	case PTX_DIV:
		return x / y;
	case PTX_MIN:
		return fmin(x, y);
	case PTX_MAX:
		return fmax(x, y);
	case PTX_ABS:
		return fabs(x);
	case PTX_NEG:
		return -x;
	case PTX_SQRT:
		return sqrt(x);
	case PTX_RCP:
		return 1 / x;
	case PTX_RSQRT:
		return 1 / sqrt(x);
	case PTX_EX2:
		return exp2(x);
	case PTX_LG2:
		return log2(x);
	case PTX_SIN:
		return sin(x);
	default:
		return cos(x);
	}
}

/* ---- Integers: sources are extended to 64 bits, by their sign if the type has one --------------- */

static uint64_t high_half(uint64_t a, uint64_t b, unsigned bits, bool is_signed)
{
	if (is_signed) {
		return (uint64_t)(((__int128)(int64_t)a * (int64_t)b) >> bits);
	}
	return (uint64_t)(((unsigned __int128)a * b) >> bits);
}

/* As the device: by zero, all bits; the remainder is the dividend. */
static uint64_t divided(uint64_t a, uint64_t b, bool is_signed)
{
	if (b == 0) {
		return UINT64_MAX;
	}
	if (!is_signed) {
		return a / b;
	}
	if ((int64_t)b == -1) {
		return -a;
	}
	return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t remainder_of(uint64_t a, uint64_t b, bool is_signed)
{
	if (b == 0) {
		return a;
	}
	if (!is_signed) {
		return a % b;
	}
	if ((int64_t)b == -1) {
		return 0;
	}
	return (uint64_t)((int64_t)a % (int64_t)b);
}

static bool is_below(uint64_t a, uint64_t b, bool is_signed)
{
	if (is_signed) {
		return (int64_t)a < (int64_t)b;
	}
	return a < b;
}

static uint64_t smaller(uint64_t a, uint64_t b, bool is_signed)
{
	return is_below(b, a, is_signed) ? b : a;
}

static uint64_t shifted_right(uint64_t a, uint64_t by, bool is_signed)
{
	if (is_signed) {
		return (uint64_t)((int64_t)a >> nvw_min(by, 63));
	}
	return by > 63 ? 0 : a >> by;
}

static uint64_t reversed(uint64_t a, unsigned bits)
{
	NVW_DEEP_INVARIANT(bits <= 64);
	uint64_t result = 0;

	NVW_FOR(i, bits) {
		result |= (a >> i & 1) << (bits - 1 - i);
	}
	return result;
}

/* A field of c's length at b, extended by its sign if the type has one. */
static uint64_t field(uint64_t a, uint64_t b, uint64_t c, unsigned bits, bool is_signed)
{
	const unsigned at = b & 0xff, length = c & 0xff;
	const uint64_t top = nvw_min(at + length, bits) - 1;
	uint64_t result = 0;

	NVW_FOR(i, bits) {
		if (i < length && at + i < bits) {
			result |= (a >> (at + i) & 1) << i;
		} else if (is_signed && length) {
			result |= (a >> top & 1) << i;
		}
	}
	return result;
}

/* a into b, at the position in c's low half, of the length in its high half. */
static uint64_t inserted(uint64_t a, uint64_t b, uint64_t c, unsigned bits)
{
	const unsigned at = c & 0xff, length = c >> 32 & 0xff;

	for (unsigned i = 0; i < length && at + i < bits; i++) {
		b = (b & ~(UINT64_C(1) << (at + i))) | (a >> i & 1) << (at + i);
	}
	return b;
}

static uint64_t permuted(uint64_t a, uint64_t b, uint64_t selector)
{
	const uint64_t both = (a & UINT32_MAX) | b << 32;
	uint64_t result = 0;

	NVW_FOR(i, 4) {
		const unsigned choice = selector >> (4 * i) & 15;
		uint64_t byte = both >> (8 * (choice & 7)) & 0xff;

		if (choice & 8) { /* its sign */
			byte = (byte >> 7) * 0xff;
		}
		result |= byte << (8 * i);
	}
	return result;
}

static uint64_t looked_up(uint64_t a, uint64_t b, uint64_t both)
{
	const uint64_t c = both & UINT32_MAX, table = both >> 32;
	uint64_t result = 0;

	NVW_FOR(i, 32) {
		const unsigned at = (unsigned)((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1));

		result |= (table >> at & 1) << i;
	}
	return result;
}

static uint64_t of_bits(enum ptx_operation operation, uint64_t a, uint64_t b, uint64_t c, unsigned bits)
{
	switch (operation) {
	case PTX_AND:
		return a & b;
	case PTX_OR:
		return a | b;
	case PTX_XOR:
		return a ^ b;
	case PTX_NOT:
		return bits == 8 ? !a : ~a; /* 8: a predicate */
	case PTX_SHL:
		return (b & UINT32_MAX) >= bits ? 0 : a << (b & 63);
	case PTX_POPC:
		return (uint64_t)__builtin_popcountll(a);
	case PTX_CLZ:
		return a ? (uint64_t)__builtin_clzll(a) - (64 - bits) : bits;
	case PTX_BREV:
		return reversed(a, bits);
	case PTX_BFI:
		return inserted(a, b, c, bits);
	case PTX_PRMT:
		return permuted(a, b, c);
	case PTX_SELP:
		return c & 1 ? a : b;
	case PTX_LOP3:
		return looked_up(a, b, c);
	default:
		return a;
	}
}

static uint64_t of_integers(
	enum ptx_operation operation, uint64_t a, uint64_t b, uint64_t c, unsigned bits, bool is_signed)
{
	const uint64_t all = nvw_low_bits(bits);

	switch (operation) {
	case PTX_ADD:
		return a + b;
	case PTX_SUB:
		return a - b;
	case PTX_MUL_LO:
	case PTX_MUL_WIDE:
		return a * b;
	case PTX_MUL_HI:
		return high_half(a, b, bits, is_signed);
	case PTX_MAD_LO:
	case PTX_MAD_WIDE:
		return a * b + c;
	case PTX_MAD_HI:
		return high_half(a, b, bits, is_signed) + c;
	case PTX_DIV:
		return divided(a, b, is_signed);
	case PTX_REM:
		return remainder_of(a, b, is_signed);
	case PTX_MIN:
		return smaller(a, b, is_signed);
	case PTX_MAX:
		return a ^ b ^ smaller(a, b, is_signed);
	case PTX_ABS:
		return smaller(a & all, -a & all, false);
	case PTX_NEG:
		return -a;
	case PTX_SHR:
		return shifted_right(a, b & UINT32_MAX, is_signed);
	case PTX_BFE:
		return field(a, b, c, bits, is_signed);
	default:
		return of_bits(operation, a & all, b & all, c, bits);
	}
}

/* ---- Comparisons and conversions ---------------------------------------------------------------- */

/* Below, equal, above: bits of what holds; none: one of them is no number. */
static unsigned relation(uint64_t a, uint64_t b, unsigned type, bool is_signed)
{
	if (PTX_KIND(type) == PTX_FLOAT) {
		const double x = as_double(a, PTX_BYTES(type)), y = as_double(b, PTX_BYTES(type));

		return (x < y) | (x == y) << 1 | (x > y) << 2;
	}
	const uint64_t x = ptx_extended(a, type), y = ptx_extended(b, type);

	return is_below(x, y, is_signed) | (x == y) << 1 | is_below(y, x, is_signed) << 2;
}

static bool holds(enum ptx_comparison how, uint64_t a, uint64_t b, unsigned type)
{
	static const unsigned char wanted[] = {[PTX_EQ] = 2,
		[PTX_NE] = 5,
		[PTX_LT] = 1,
		[PTX_LE] = 3,
		[PTX_GT] = 4,
		[PTX_GE] = 6,
		[PTX_LO] = 1,
		[PTX_LS] = 3,
		[PTX_HI] = 4,
		[PTX_HS] = 6};

	return relation(a, b, type, PTX_KIND(type) == PTX_SIGNED && how < PTX_LO) & wanted[how];
}

/* Rounds a floating number to an integer: towards 0, to the nearest that there is. */
static uint64_t rounded(double value, unsigned type)
{
	const unsigned bits = 8 * PTX_BYTES(type);
	const bool is_signed = PTX_KIND(type) == PTX_SIGNED;
	const double most = ldexp(1, (int)bits - is_signed);

	if (isnan(value) || (!is_signed && value <= 0)) {
		return 0;
	}
	if (value >= most) {
		return nvw_low_bits(bits - is_signed);
	}
	if (value <= -most) {
		return UINT64_C(1) << (bits - 1);
	}
	if (value < 0) {
		return (uint64_t)(int64_t)value;
	}
	return (uint64_t)value;
}

static uint64_t converted(uint64_t a, unsigned to, unsigned from)
{
	const bool is_signed = PTX_KIND(from) == PTX_SIGNED, is_number = PTX_KIND(to) == PTX_FLOAT;
	const uint64_t value = ptx_extended(a, from);

	if (PTX_KIND(from) == PTX_FLOAT) {
		const double number = as_double(a, PTX_BYTES(from));

		return is_number ? as_bits(number, PTX_BYTES(to)) : rounded(number, to);
	}
	if (!is_number) {
		return value;
	}
	if (PTX_BYTES(to) == 4) { /* rounded once */
		return as_bits(is_signed ? (double)(float)(int64_t)value : (double)(float)value, 4);
	}
	return as_bits(is_signed ? (double)(int64_t)value : (double)value, 8);
}

uint64_t nvw_ptx_compute(uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
	const enum ptx_operation operation = what & 0xff;
	const unsigned type = what >> 8 & 0xff, more = (unsigned)(what >> 16), bytes = PTX_BYTES(type);

	if (operation == PTX_SETP) {
		return holds((enum ptx_comparison)more, a, b, type);
	}
	if (operation == PTX_CVT) {
		return converted(a, type, more);
	}
	if (PTX_KIND(type) == PTX_FLOAT && operation != PTX_MOV && operation != PTX_SELP) {
		return as_bits(of_doubles(operation, as_double(a, bytes), as_double(b, bytes),
				       as_double(c, bytes), bytes),
			bytes);
	}
	/* The third source may be a count, or as wide as a product. */
	return of_integers(operation, ptx_extended(a, type), ptx_extended(b, type), c, 8 * bytes,
		PTX_KIND(type) == PTX_SIGNED);
}
