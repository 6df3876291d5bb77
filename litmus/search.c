/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules, depth first and without stored states: an execution is a sequence of choices; the next execution
 * repeats the sequence up to the last choice with an untried alternative, and takes that. After the same
 * beginning an execution offers the same choices, because it starts on a new machine.
 */
#include <stdio.h>

#include "core/invariant.h"
#include "internal.h"

/* Each choice that is going to be repeated is one of those that were offered. */
__attribute__((unused)) static bool is_valid(const struct litmus_search *s)
{
	for (unsigned i = 0; !s->is_random && i < s->length; i++) {
		if (s->choice[i] >= s->count[i]) {
			return false;
		}
	}
	return s->length <= LITMUS_STEPS && s->turns <= LITMUS_STEPS && !(s->is_random && s->is_complete);
}

void litmus_search_start(struct litmus_search *s, uint64_t budget, uint64_t seed)
{
	s->random.state = nvw_mix64(seed);
	NVW_INVARIANT(budget > 0);
	s->budget = budget;
	s->done = 0;
	s->is_random = s->is_complete = false;
	s->length = 0;
}

void litmus_search_begin(struct litmus_search *s)
{
	NVW_DEEP_INVARIANT(is_valid(s));
	s->at = s->turns = 0;
	if (s->is_random) {
		s->length = 0;
	}
}

unsigned litmus_search_choose(struct litmus_search *s, unsigned count)
{
	const unsigned i = s->at;

	NVW_INVARIANT(count > 0 && count <= UINT8_MAX && i <= s->length);
	if (i == LITMUS_STEPS) { /* longer than any test: its rest is not searched */
		return 0;
	}
	s->at++;
	if (i == s->length) {
		s->choice[i] = s->is_random ? (uint8_t)nvw_random_below(&s->random, count) : 0;
		s->count[i] = (uint8_t)count;
		s->length++;
	}
	NVW_INVARIANT(s->count[i] == count); /* the same beginning offers the same */
	return s->choice[i];
}

/* If half of the budget is not enough, the other half is used for random schedules. */
bool litmus_search_next(struct litmus_search *s)
{
	NVW_DEEP_INVARIANT(is_valid(s) && s->at <= s->length);
	s->done++;
	while (!s->is_random && s->length && s->choice[s->length - 1] + 1 == s->count[s->length - 1]) {
		s->length--;
	}
	if (!s->is_random) {
		s->is_complete = !s->length;
		s->is_random = s->length && s->done >= (s->budget + 1) / 2;
	}
	if (s->length) {
		s->choice[s->length - 1]++;
	}
	NVW_DEEP_INVARIANT(is_valid(s));
	return !s->is_complete && s->done < s->budget;
}

void litmus_search_text(const struct litmus_search *s, char *text, size_t room)
{
	size_t n = 0;

	text[0] = 0;
	for (unsigned i = 0; i < s->turns && n < room; i++) {
		if (s->turn[i] >= 0) {
			n += (size_t)snprintf(text + n, room - n, "%sP%d", n ? " " : "", s->turn[i]);
		}
	}
}
