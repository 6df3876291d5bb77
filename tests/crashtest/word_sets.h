/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of the states that a small run can leave: a few words and what was acknowledged. Of one set the test
 * says itself that it is permitted, the other is noted by the explorer.
 */
#ifndef TESTS_CRASHTEST_WORD_SETS_H
#define TESTS_CRASHTEST_WORD_SETS_H

#include "common/test.h"

#include <stdbool.h>
#include <crashtest/crash.h>
#include <crashtest/states/image.h>

enum { POOL_BYTES = 4096, WORDS = 6, ITEMS = 4, GROUP = 2, ACKS_MAX = 8, STATES_MAX = 1 << 16 };

/* The words that are stored to; two of them share a line. */
nvw_off place(unsigned word);

struct state {
	uint64_t word[WORDS];
	uint32_t acks;
};

struct set {
	unsigned count;
	struct state state[STATES_MAX];
};

extern struct set permitted;
extern struct set *explored; /* filled by the explorer's process; several never run at once here */

struct state state_of(struct ct_image *image, const struct nvw_acks *acks);

void add(struct set *set, const struct state *s); /* unless it is there */

/* at_least: one with these words that has no fewer acknowledgements. */
bool has(const struct set *set, const struct state *s, bool at_least);

/* What is explored is permitted, and what is permitted is explored, with no fewer acknowledgements. Under
 * buffered epochs an earlier crash may have had fewer than the stores would allow. */
void assert_same_states(enum ct_model model, const char *what, uint64_t seed);

/* A judge that puts each state in explored. */
int note(void *context, struct ct_image *image, const struct nvw_acks *acks, struct nvw_findings *findings,
	volatile uint32_t *phase);

int set_up(void **state); /* makes explored */

#endif
