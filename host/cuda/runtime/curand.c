/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XORWOW (Marsaglia 2003) far ahead, for curand_init(): a step of its 160 bits is linear, so many steps are a
 * power of a matrix. The powers to powers of two are made at the first use.
 */

#include "runtime.h"

enum { WORDS = 5, BITS = 32 * WORDS, SEQUENCE_LOG2 = 67, POWERS = SEQUENCE_LOG2 + 64 };

/* By columns: what becomes of each bit. */
struct matrix {
	uint32_t column[BITS][WORDS];
};

static struct matrix power[POWERS]; /* the 2^i-th */
static bool made;

static void step(uint32_t v[WORDS])
{
	const uint32_t t = v[0] ^ v[0] >> 2;

	memmove(v, v + 1, (WORDS - 1) * sizeof *v);
	v[4] = (v[3] ^ v[3] << 4) ^ (t ^ t << 1);
}

static void apply(const struct matrix *m, uint32_t v[WORDS])
{
	uint32_t result[WORDS] = {0};

	NVW_FOR(i, BITS) {
		for (unsigned w = 0; v[i / 32] >> i % 32 & 1 && w < WORDS; w++) {
			result[w] ^= m->column[i][w];
		}
	}
	memcpy(v, result, sizeof result);
}

static void make_powers(void)
{
	NVW_FOR(i, BITS) {
		power[0].column[i][i / 32] = 1u << i % 32;
		step(power[0].column[i]);
	}
	for (unsigned p = 1; p < POWERS; p++) {
		power[p] = power[p - 1];
		NVW_FOR(i, BITS) {
			apply(&power[p - 1], power[p].column[i]);
		}
	}
	made = true;
}

/* n steps, or n sequences of 2^67. */
void nvw_cuda_curand_skip(uint32_t v[WORDS], uint64_t n, int by_sequences)
{
	if (n && !made) {
		make_powers();
	}
	for (unsigned p = by_sequences ? SEQUENCE_LOG2 : 0; n; n >>= 1, p++) {
		NVW_DEEP_INVARIANT(p < NVW_COUNT(power));
		if (n & 1) {
			apply(&power[p], v);
		}
	}
}
