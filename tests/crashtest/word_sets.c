/* SPDX-License-Identifier: BSD-3-Clause */
/* See word_sets.h. */
#include "word_sets.h"

#include <string.h>
#include <crashtest/judge/process.h>

struct set permitted;
struct set *explored;

nvw_off place(unsigned word)
{
	return word < 2 ? 64 + 8 * word : 64 * (nvw_off)(word + 1);
}

struct state state_of(struct ct_image *image, const struct nvw_acks *acks)
{
	struct state s = {0};

	NVW_FOR(w, WORDS) {
		s.word[w] = ct_image_word(image, place(w));
	}
	NVW_FOR(k, ACKS_MAX) {
		s.acks |= (uint32_t)nvw_acked(acks, k) << k;
	}
	return s;
}

void add(struct set *set, const struct state *s)
{
	NVW_EACH(state, set->state, set->count) {
		if (memcmp(state, s, sizeof *s) == 0) {
			return;
		}
	}
	assert_true(set->count < STATES_MAX);
	set->state[set->count++] = *s;
}

bool has(const struct set *set, const struct state *s, bool at_least)
{
	return NVW_ANY(state, set->state, set->count,
		memcmp(state->word, s->word, sizeof s->word) == 0 &&
			(at_least ? (state->acks & s->acks) == s->acks : state->acks == s->acks));
}

void assert_same_states(enum ct_model model, const char *what, uint64_t seed)
{
	const char *const name = ct_model_info(model)->name;

	NVW_EACH(state, explored->state, explored->count) {
		if (!has(&permitted, state, model == CT_MODEL_BUFFERED)) {
			fail_msg("%s, %s, seed %llu: a state was explored that is forbidden", name, what,
				(unsigned long long)seed);
		}
	}
	NVW_EACH(state, permitted.state, permitted.count) {
		if (!has(explored, state, true)) {
			fail_msg("%s, %s, seed %llu: a permitted state was not explored", name, what,
				(unsigned long long)seed);
		}
	}
}

int note(void *context, struct ct_image *image, const struct nvw_acks *acks, struct nvw_findings *findings,
	volatile uint32_t *phase)
{
	(void)context;
	(void)findings;
	*phase = CT_PHASE_CHECK;
	explored->state[explored->count++] = state_of(image, acks);
	return 0;
}

int set_up(void **state)
{
	(void)state;
	explored = ct_shared_memory(sizeof *explored);
	return explored == NULL;
}
