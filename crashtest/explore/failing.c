/* SPDX-License-Identifier: BSD-3-Clause */
/* The failing states of an exploration. See failing.h. */
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/order.h"
#include "core/search.h"

#include "failing.h"
#include "../group.h"

void ct_failing_add(struct ct_failing *to, uint64_t state, const char *text)
{
	if (!to) {
		return;
	}
	if (to->count == CT_FAILING_MAX) {
		to->lost = true;
		return;
	}
	to->at[to->count] = (struct ct_failed){.state = state, .shape = ct_shape_hash(text)};
	to->count++; /* last: a worker may die at any point */
}

int ct_failed_take(struct ct_failed_set *to, const struct ct_failing *from)
{
	struct ct_failed *const at = realloc(to->at, (to->count + from->count + 1) * sizeof *at);

	NVW_ALLOCATED(at, "no memory for the states that fail");
	memcpy(at + to->count, from->at, from->count * sizeof *at);
	to->at = at;
	to->count += from->count;
	to->some |= from->lost;
	return 0;
}

static int by_state(const void *a, const void *b)
{
	const struct ct_failed *const x = a, *const y = b;

	return NVW_OR(NVW_ORDER(x->state, y->state), NVW_ORDER(x->shape, y->shape));
}

static void drop_repeated(struct ct_failed_set *s)
{
	uint64_t kept = 0;

	NVW_EACH(one, s->at, s->count) {
		if (kept == 0 || by_state(&s->at[kept - 1], one)) {
			s->at[kept++] = *one;
		}
	}
	s->count = kept;
}

void ct_failed_sort(struct ct_failed_set *s)
{
	if (s->count > 0) {
		qsort(s->at, s->count, sizeof *s->at, by_state);
	}
	drop_repeated(s);
	s->some |= s->count > CT_FAILING_MAX;
}

bool ct_failed_has(const struct ct_failed_set *s, uint64_t state)
{
	const uint64_t first = NVW_FIRST(i, 0, s->count, s->at[i].state >= state);

	return first < s->count && s->at[first].state == state;
}

bool ct_failed_has_text(const struct ct_failed_set *s, const char *text)
{
	const uint64_t shape = ct_shape_hash(text);

	return NVW_ANY(failed, s->at, s->count, failed->shape == shape);
}
