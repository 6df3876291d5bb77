/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernels of tests get that need some words of device memory and no more. */
#ifndef TESTS_EMU_WORDS_H
#define TESTS_EMU_WORDS_H

#include "common/rig.h"

struct words {
	uint64_t *a, *b;
	uint64_t n;
};

/* Words in device memory, so many bytes of each; 0: none. */
static inline struct words words_of(const struct rig *rig, uint64_t a_bytes, uint64_t b_bytes)
{
	return (struct words){.a = a_bytes ? nvw_alloc(rig->machine, a_bytes) : NULL,
		.b = b_bytes ? nvw_alloc(rig->machine, b_bytes) : NULL};
}

#endif
