/* SPDX-License-Identifier: BSD-3-Clause */
/* See crash_sum.h. */
#include <math.h>

#include <crashtest/group.h>

#include "crash_sum.h"

void crash_sum_begin(struct ct_result *sum)
{
	ct_result_begin(sum, CT_PERMITTED, CT_MODEL_OBSERVED);
	sum->states_possible_exact = true;
	sum->states_known = true;
}

/* What ct_result_add() leaves out, as kills have none of it. */
static void add_counts(struct ct_result *sum, const struct ct_result *r)
{
	const double of_others = sum->instants > 0 ? sum->states_possible_log2 : -INFINITY;

	sum->states_tested += r->states_tested;
	sum->states_met += r->states_met;
	sum->states_unread += r->states_unread;
	sum->states_settled += r->states_settled;
	sum->states_planned += r->states_planned;
	sum->instants_exhausted += r->instants_exhausted;
	sum->instants_by_reads += r->instants_by_reads;
	sum->instants_by_parts += r->instants_by_parts;
	sum->states_possible += r->states_possible;
	sum->states_possible_log2 = fmax(0, ct_log2_sum(of_others, r->states_possible_log2));
	sum->states_possible_exact = sum->states_possible_exact && r->states_possible_exact;
	sum->states_known = sum->states_known && r->states_known;
	sum->proved = sum->proved || r->proved;
	sum->acks += r->acks;
}

/* One whose last image is wrong has one state, which fails. */
void crash_sum_add(struct ct_result *sum, struct ct_result *r)
{
	if (r->without_crash && r->finding_count > 0) {
		r->states_tested = r->states_distinct = r->states_failing = r->finding[0].states = 1;
	}
	sum->model = r->model;
	add_counts(sum, r);
	ct_result_add(sum, r);
}

bool crash_sum_has(const struct ct_result *r, const char *text)
{
	return NVW_ANY(
		finding, r->finding, r->finding_count, ct_shape_hash(finding->text) == ct_shape_hash(text));
}

const char *crash_sum_first_new(const struct ct_result *sum, const struct ct_result *r)
{
	NVW_EACH(finding, r->finding, r->finding_count) {
		if (!crash_sum_has(sum, finding->text)) {
			return finding->text;
		}
	}
	return NULL;
}
