/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealed words: 48 bits of payload, and above them a CRC-16 (polynomial 0x1021) over the payload and the
 * number of the word in the pool. See nvw/pool.h.
 *
 *	(1) A change of one byte, or of up to 16 neighbouring bits, of a sealed word is detected.
 *	(2) No change of one byte turns a sealed word with a payload into the word 0, which means "never
 *	    written": a CRC that would come out as 0 is replaced by CRC_FOR_ZERO, so two bytes at least of
 *	    every such word are not 0. No change of one payload byte of 0 gives that value, so (1) still
 *	    holds (the tests try all).
 *
 * A CRC is linear, so it is the XOR of one table entry per byte.
 */
#include <nvw/pool.h>

#include "core/each.h"
#include "core/bounds.h"

#define CRC_POLYNOMIAL 0x1021
#define CRC_XOR        0xffff /* so that word 0 with payload 0 has a seal as well */
#define CRC_FOR_ZERO   0x5aa5

enum { PAYLOAD_BYTES = 6, NUMBER_BYTES = 5, BYTES = PAYLOAD_BYTES + NUMBER_BYTES };

static uint16_t table[BYTES][256];

static uint16_t crc_shift(uint16_t crc, unsigned bits)
{
	NVW_FOR(i, bits) {
		crc = (uint16_t)(crc << 1 ^ (crc >> 15) * CRC_POLYNOMIAL);
	}
	return crc;
}

/* Byte 0 of the payload is the last of the message, so it passes through 8 + 8 bits. The sum of two values
 * has the sum of their remainders, and every program that links the library waits for this table: single bits
 * are shifted, the rest is added. */
__attribute__((constructor)) static void fill_table(void)
{
	NVW_FOR(byte, BYTES) {
		for (unsigned value = 1; value < 256; value++) {
			const unsigned rest = value & (value - 1);

			if (rest) {
				table[byte][value] = table[byte][rest] ^ table[byte][value ^ rest];
			} else {
				table[byte][value] =
					crc_shift(byte ? table[byte - 1][value] : (uint16_t)(value << 8), 8);
			}
		}
	}
}

static inline uint16_t crc(nvw_off off, uint64_t payload)
{
	const uint64_t number = off >> 3;
	uint16_t c = CRC_XOR;

	c ^= table[0][payload & 255] ^ table[1][payload >> 8 & 255] ^ table[2][payload >> 16 & 255];
	c ^= table[3][payload >> 24 & 255] ^ table[4][payload >> 32 & 255];
	c ^= table[5][payload >> 40 & 255];
	c ^= table[6][number & 255] ^ table[7][number >> 8 & 255];
	c ^= table[8][number >> 16 & 255] ^ table[9][number >> 24 & 255];
	c ^= table[10][number >> 32 & 255];
	return NVW_OR(c, CRC_FOR_ZERO);
}

extern inline uint64_t nvw_seal(nvw_off off, uint64_t payload)
{
	payload &= (UINT64_C(1) << NVW_SEAL_PAYLOAD_BITS) - 1;
	return payload | (uint64_t)crc(off, payload) << NVW_SEAL_PAYLOAD_BITS;
}

extern inline bool nvw_unseal(nvw_off off, uint64_t word, uint64_t *ret_payload)
{
	const uint64_t payload = word & ((UINT64_C(1) << NVW_SEAL_PAYLOAD_BITS) - 1);

	if (word != 0 && crc(off, payload) != word >> NVW_SEAL_PAYLOAD_BITS) {
		return false;
	}
	*ret_payload = payload;
	return true;
}
