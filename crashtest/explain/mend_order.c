/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of findings. See mend_order.h. */
#include "mend_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "core/invariant.h"

struct ordering {
	struct ct_result *result;
	unsigned number[CT_FINDINGS_MAX]; /* of each finding before, from 1 */
};

static bool needs_no_crash(const struct ct_finding *f)
{
	return f->cause.kind == CT_CAUSE_LOGIC;
}

static bool is_before(const struct ct_finding *a, const struct ct_finding *b)
{
	const int orders[] = {
		/* negative: a is mended before b */
		NVW_ORDER(needs_no_crash(b), needs_no_crash(a)),
		NVW_ORDER(a->cure.behind, b->cure.behind),
		NVW_ORDER(a->sample, b->sample),
		NVW_ORDER(b->states, a->states),
		NVW_ORDER(a->first_time_ps, b->first_time_ps),
	};

	NVW_EACH_IN(order, orders) {
		if (*order != 0) {
			return *order < 0;
		}
	}
	return false;
}

/* Whether the finding whose cure takes finding i away has no place yet: it is one of those from place on. */
static bool waits(const struct ordering *o, unsigned i, unsigned place)
{
	NVW_DEEP_INVARIANT(i < o->result->finding_count);

	const unsigned by = o->result->finding[i].cure.cured_by;

	for (unsigned k = place; k < o->result->finding_count && by != 0; k++) {
		if (k != i && o->number[k] == by) {
			return true;
		}
	}
	return false;
}

/* The next one to mend of those from place on. Where each waits for another, none does. */
static unsigned choose(const struct ordering *o, unsigned place)
{
	const struct ct_result *const r = o->result;
	unsigned best = place;
	bool best_waits = waits(o, place, place);

	for (unsigned i = place + 1; i < r->finding_count; i++) {
		const bool i_waits = waits(o, i, place);

		if (i_waits < best_waits ||
			(i_waits == best_waits && is_before(&r->finding[i], &r->finding[best]))) {
			best = i;
			best_waits = i_waits;
		}
	}
	return best;
}

/* Finding from comes to place; those between move up by one. */
static void put(struct ordering *o, unsigned place, unsigned from, struct ct_finding *spare)
{
	struct ct_finding *const f = o->result->finding;
	const unsigned number = o->number[from];

	NVW_INVARIANT(place <= from && from < o->result->finding_count);
	*spare = f[from];
	memmove(&f[place + 1], &f[place], (from - place) * sizeof *f);
	memmove(&o->number[place + 1], &o->number[place], (from - place) * sizeof o->number[0]);
	f[place] = *spare;
	o->number[place] = number;
}

static void rename_cures(const struct ordering *o)
{
	struct ct_result *const r = o->result;
	unsigned now[CT_FINDINGS_MAX + 1] = {0};

	NVW_FOR(i, r->finding_count) {
		now[o->number[i]] = i + 1;
	}
	NVW_EACH(finding, r->finding, r->finding_count) {
		finding->cure.cured_by = now[finding->cure.cured_by];
	}
}

int ct_order_findings(struct ct_result *r)
{
	struct ordering o = {.result = r};
	struct ct_finding *const spare = malloc(sizeof *spare);

	NVW_INVARIANT(r->finding_count <= CT_FINDINGS_MAX);
	NVW_ALLOCATED(spare, "no memory to order findings");
	NVW_FOR(i, r->finding_count) {
		o.number[i] = i + 1;
	}
	NVW_FOR(place, r->finding_count) {
		put(&o, place, choose(&o, place), spare);
	}
	rename_cures(&o);
	free(spare);
	return 0;
}
