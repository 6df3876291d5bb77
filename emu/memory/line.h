/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line of device memory, as caches have it, and its number. Time is in picoseconds.
 */
#ifndef EMU_LINE_H
#define EMU_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/invariant.h"

enum { EMU_LINE = 64, EMU_CUS_MAX = 128 };

typedef uint64_t emu_time; /* ps */

/*
 * A line of device memory, by its number. The numbers have 16 windows of 16 GiB each; a device has one or
 * more windows of its own, so that the top bits of a number lead to the device.
 */
typedef uint32_t emu_line_id;
enum { EMU_WINDOWS = 16, EMU_WINDOW_BITS = 28 };
#define EMU_NO_LINE 0x7fffffffu

/* number % count: counts of banks, channels and sets are nearly always powers of two, and a division takes as
 * long as a look-up. */
static inline uint32_t emu_interleave(uint32_t number, uint32_t count)
{
	NVW_DEEP_INVARIANT(count > 0);
	return count & (count - 1) ? number % count : number & (count - 1);
}

/* The number within the window; sets, banks and channels are interleaved by it. */
static inline uint32_t emu_line_number(emu_line_id id)
{
	return id & ((UINT32_C(1) << EMU_WINDOW_BITS) - 1);
}

/*
 * A cached line. Bytes whose bit is set in valid have a known value; bytes whose bit is set in dirty are
 * valid and newer than those of the next level. A line with a tag but no valid bytes is only a placeholder
 * (an L2 line that an L1 is writing to: inclusion without data).
 */
struct emu_line {
	uint64_t valid, dirty;
	/* L1: bytes of which this is the only copy; L2: bytes registered by an L1 (registry.c) */
	uint64_t registered;
	uint32_t generation; /* L1: clean bytes are valid only if this is the cache's current generation */
	uint8_t state;       /* in the protocol's table */
	bool in_sfifo;       /* an S-FIFO entry names this line */
	uint8_t buffered;    /* L1: its words in the store buffer, if that counts words */
	/* L2, directory: the CU whose L1 may write, in the states of a directory that say so, or alone has
	 * leases */
	uint8_t owner;
	uint32_t stores; /* chain of store records whose bytes are dirty here; 0 is none */
	uint32_t stores_tail;
	uint32_t tag; /* of the persistency model; 0 if clean */
	union {
		uint64_t sharers[EMU_CUS_MAX / 64]; /* L2: L1s that may hold the line */
		struct {
			uint64_t read_only; /* L1: bytes that an acquire does not invalidate */
			emu_time granted;   /* L1: when the latest registration arrives */
		};
		struct {
			emu_time refuses; /* L2: a store waits until then, and no L1 gets a lease */
			emu_time lease;   /* L1: the line is kept until then; L2: the last one ends then */
		};
	};
	uint8_t data[EMU_LINE]; /* L2: for a registered byte, the CU that has it (alsop16 II.E) */
} __attribute__((aligned(64)));

/* The number of bits that are 1. Processors without an instruction for it would call a function. */
static inline uint32_t emu_ones(uint64_t bits)
{
	bits -= bits >> 1 & UINT64_C(0x5555555555555555);
	bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
	bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* The lowest bit that is 1, of a set that is not empty: a byte of a line, a lane of a wavefront. */
static inline unsigned emu_first(uint64_t bits)
{
	return (unsigned)__builtin_ctzll(bits);
}

/* A byte of ones for each bit, as it lies in memory. */
static inline uint64_t emu_byte_mask(uint8_t bits)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const uint64_t each = bits * ones & UINT64_C(0x8040201008040201);
#else
	const uint64_t each = bits * ones & UINT64_C(0x0102040810204080);
#endif

	return ((each + 0x7f * ones) >> 7 & ones) * 0xff;
}

/* The bytes of a line that have this value, as a mask. By words of eight: the highest bit of a byte is set
 * where all others are 0. */
static inline uint64_t emu_bytes_with(const uint8_t *line, uint8_t value)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), low = 0x7f * ones;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const uint64_t gather = UINT64_C(0x0102040810204080);
#else
	const uint64_t gather = UINT64_C(0x8040201008040201);
#endif
	uint64_t mask = 0;

	for (unsigned first = 0; first < EMU_LINE; first += 8) {
		uint64_t differ;

		memcpy(&differ, line + first, 8);
		differ ^= value * ones;
		differ |= (differ & low) + low;
		mask |= ((~differ >> 7 & ones) * gather >> 56) << first;
	}
	return mask;
}

/* Copies the bytes of mask, by whole words: those around them are written as they were. */
static inline void emu_copy_masked(uint8_t *to, const uint8_t *from, uint64_t mask)
{
	if (mask == UINT64_MAX) {
		memcpy(to, from, EMU_LINE);
		return;
	}
	while (mask) {
		const unsigned first = emu_first(mask) & ~7u;
		const uint64_t kept = ~emu_byte_mask((uint8_t)(mask >> first));
		uint64_t old, new;

		memcpy(&old, to + first, 8);
		memcpy(&new, from + first, 8);
		new = (old & kept) | (new & ~kept);
		memcpy(to + first, &new, 8);
		mask &= ~(UINT64_C(0xff) << first);
	}
}

/*
 * Asks the host for its line with this address. gcc takes a function that does nothing else for one without
 * effects, and drops calls of it; the empty statement is an effect.
 */
static inline void emu_prefetch(const void *address)
{
	__builtin_prefetch(address);
	__asm__ volatile("");
}

static inline emu_time emu_later(emu_time a, emu_time b)
{
	return a > b ? a : b;
}

#endif
