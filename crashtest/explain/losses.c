/* SPDX-License-Identifier: BSD-3-Clause */
/* What a crash state has lost. See losses.h. */
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/invariant.h"
#include "core/order.h"

#include "losses.h"

struct state {
	struct ct_prefix *p;
	const uint8_t *image, *filled;
	unsigned unit_bytes;
};

/* The content of a unit as the run goes on. */
struct unit {
	nvw_off off; /* comes first: nvw_by_u64() orders by it */
	/* the first record that touches it after it was as the crash leaves it; 0: none so far */
	uint64_t next;
	bool matched;
	uint8_t now[NVW_LOG_LINE_BYTES];
};

static void note_content(const struct state *s, struct unit *u, uint64_t number)
{
	if (!memcmp(u->now, s->image + u->off, s->unit_bytes)) {
		u->matched = true;
		u->next = 0;
	} else if (u->next == 0) {
		u->next = number;
	}
}

static void follow_bytes(const struct state *s, struct unit *units, unsigned count, nvw_off off,
	const uint8_t *from, uint32_t bytes, uint64_t number)
{
	const unsigned n = s->unit_bytes;

	NVW_INVARIANT(n > 0);
	for (uint32_t i = 0, part; i < bytes; i += part) {
		const nvw_off at = off + i, within = at % n;
		const nvw_off begin = at - within;

		part = n - within < bytes - i ? (uint32_t)(n - within) : bytes - i;
		struct unit *const u = bsearch(&begin, units, count, sizeof *units, nvw_by_u64);

		if (u) {
			memcpy(u->now + within, from + i, part);
			note_content(s, u, number);
		}
	}
}

static void follow(const struct state *s, struct unit *units, unsigned count)
{
	if (count == 0) {
		return;
	}
	NVW_EACH(unit, units, count) {
		memcpy(unit->now, s->p->image.rw + unit->off, s->unit_bytes);
		note_content(s, unit, 0);
	}
	NVW_EACH(e, s->p->event, s->p->here) {
		if (e->kind == NVW_LOG_STORE || e->kind == NVW_LOG_HOST) {
			follow_bytes(s, units, count, e->store.off,
				e->kind == NVW_LOG_HOST ? s->p->data + e->count :
							  (const uint8_t *)&e->store.value,
				e->store.bytes, e->store.number);
		}
	}
}

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the lost stores of a finding");
}

/* The units in which the state differs from one that lost nothing. */
static int find_units(const struct state *s, struct unit **ret_units, unsigned *ret_count)
{
	unsigned capacity = 0;
	bool has_room = true;

	*ret_units = NULL;
	*ret_count = 0;
	ct_prefix_make(s->p, s->p->here, s->p->here, NULL);
	for (nvw_off off = 0; off < s->p->image.bytes && has_room; off += s->unit_bytes) {
		if (!s->filled[off / CT_PAGE] && !s->p->image.filled[off / CT_PAGE]) {
			off += CT_PAGE - s->unit_bytes; /* a hole in both: reading it would fill it */
			continue;
		}
		if (!memcmp(s->p->image.rw + off, s->image + off, s->unit_bytes)) {
			continue;
		}
		has_room = NVW_ROOM(*ret_units, capacity, *ret_count + 1);
		if (has_room) {
			(*ret_units)[(*ret_count)++] = (struct unit){.off = off};
		}
	}
	ct_prefix_undo(s->p);
	return has_room ? 0 : no_memory();
}

int ct_losses_find(struct ct_prefix *prefix, const uint8_t *image, const uint8_t *filled, unsigned unit_bytes,
	struct ct_losses *l, bool *ret_known)
{
	const struct state s = {.p = prefix, .image = image, .filled = filled, .unit_bytes = unit_bytes};
	struct unit *units;
	unsigned count;
	int error = find_units(&s, &units, &count);

	*ret_known = true;
	*l = (struct ct_losses){.unit_bytes = unit_bytes, .loss = calloc(count + 1, sizeof *l->loss)};
	if (!error && !l->loss) {
		error = no_memory();
	}
	if (!error) {
		follow(&s, units, count);
	}
	for (unsigned i = 0; i < count && !error; i++) {
		*ret_known &= units[i].matched && units[i].next != 0;
		l->loss[l->count++] = (struct ct_loss){.off = units[i].off, .from = units[i].next};
	}
	free(units);
	return error;
}
