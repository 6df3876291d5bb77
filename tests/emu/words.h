/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernels of tests get that need some words of device memory and no more. */
#ifndef TESTS_EMU_WORDS_H
#define TESTS_EMU_WORDS_H

#include "common/rig.h"

#include <nvw/kernel.h>

struct words {
	uint64_t *a, *b;
	uint64_t n;
};

/* Words in device memory, so many bytes of each; NULL: none. */
static inline struct words words_of(const struct rig *rig, uint64_t a_bytes, uint64_t b_bytes)
{
	struct words w = {0};

	if (a_bytes > 0) {
		w.a = nvw_alloc(rig->machine, a_bytes);
	}
	if (b_bytes > 0) {
		w.b = nvw_alloc(rig->machine, b_bytes);
	}
	return w;
}

/* A kernel's access of 1, 2, 4 or 8 bytes. */
static inline uint64_t load_bytes(const void *at, unsigned size)
{
	switch (size) {
	case 1:
		return nvw_load((const uint8_t *)at);
	case 2:
		return nvw_load((const uint16_t *)at);
	case 4:
		return nvw_load((const uint32_t *)at);
	default:
		return nvw_load((const uint64_t *)at);
	}
}

static inline void store_bytes(void *at, unsigned size, uint64_t value)
{
	switch (size) {
	case 1:
		nvw_store((uint8_t *)at, (uint8_t)value);
		break;
	case 2:
		nvw_store((uint16_t *)at, (uint16_t)value);
		break;
	case 4:
		nvw_store((uint32_t *)at, (uint32_t)value);
		break;
	default:
		nvw_store((uint64_t *)at, value);
	}
}

#endif
